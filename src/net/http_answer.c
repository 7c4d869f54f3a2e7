/* http_answer.c - names of statuses, the date once a second, and the lines of a head. */
#include "net/http_answer.h"

#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"

static const struct status_row {
    int status;
    const char *name;
} statuses[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

/* A reason may be empty: clients go by the number. */
static const char *status_name(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return "";
}

/* RFC 9110, 5.6.7; in English whatever the locale, so without strftime. */
static const char *date(void)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    static _Thread_local char line[64];
    static _Thread_local time_t shown;
    time_t now = (time_t)(clock_realtime() / NS_PER_S);
    struct tm t;

    if (now == shown || !gmtime_r(&now, &t))
        return line;
    shown = now;
    snprintf(line, sizeof line, "%.3s, %02d %.3s %d %02d:%02d:%02d GMT",
             days + (ptrdiff_t)3 * t.tm_wday, t.tm_mday, months + (ptrdiff_t)3 * t.tm_mon,
             t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
    return line;
}

void http_answer_head(const struct http_answer *a, struct buf *out)
{
    buf_addf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", a->status, status_name(a->status), date());
    if (a->content_type)
        buf_addf(out, "Content-Type: %s\r\n", a->content_type);
    if (a->headers)
        buf_adds(out, a->headers);
    if (a->length >= 0)
        buf_addf(out, "Content-Length: %lld\r\n", (long long)a->length);
    if (a->chunked)
        buf_adds(out, "Transfer-Encoding: chunked\r\n");
    buf_addf(out, "Connection: %s\r\n\r\n", a->keep_alive ? "keep-alive" : "close");
}

bool http_status_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}
