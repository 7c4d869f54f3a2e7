/* curl_setup.c - every option two handles have in common, set in one place. */
#include "net/curl_setup.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/version.h"

void curl_lists_release(struct curl_lists *lists)
{
    if (lists->headers)
        curl_slist_free_all(lists->headers);
    if (lists->connect_to)
        curl_slist_free_all(lists->connect_to);
    *lists = (struct curl_lists){0};
}

static void set_headers(CURL *easy, const struct endpoint *e, bool json_body,
                        struct curl_lists *lists)
{
    static const char *const fixed[] = {
        "Accept: text/event-stream, application/json", "Accept-Encoding: identity",
        "Cache-Control: no-cache", "Expect:", /* no 100-continue round trip before a long prompt */
    };
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        lists->headers = curl_slist_append(lists->headers, fixed[i]);
    if (json_body)
        lists->headers = curl_slist_append(lists->headers, "Content-Type: application/json");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lists->headers);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "tokgrid/" TOKGRID_VERSION);
    if (e->options.api_key) {
        /* by option, not by header line: libcurl then keeps it from other hosts and from traces */
        curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, e->options.api_key);
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    }
}

/* The one address that was found, whatever DNS says meanwhile. */
static void set_address(CURL *easy, const struct endpoint *e, struct curl_lists *lists)
{
    char connect_to[128];
    bool v6 = strchr(e->address_text, ':') != NULL;

    if (e->url.unix_path[0]) {
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, e->url.unix_path);
        return;
    }
    snprintf(connect_to, sizeof connect_to, "::%s%s%s:%s", v6 ? "[" : "", e->address_text,
             v6 ? "]" : "", e->url.port);
    lists->connect_to = curl_slist_append(NULL, connect_to);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, lists->connect_to);
}

void curl_set_common(CURL *easy, const struct endpoint *e, const char *path, bool json_body,
                     struct curl_lists *lists)
{
    char host[300], url[1400];

    curl_lists_release(lists);
    snprintf(url, sizeof url, "%s://%s%s%s", e->url.tls ? "https" : "http",
             url_host_header(&e->url, host, sizeof host), e->url.prefix, path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(e->options.connect_timeout_ns / NS_PER_MS));
    if (!e->options.use_proxy) {
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
        set_address(easy, e, lists);
    }
    if (e->options.ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, e->options.ca_file);
    if (e->options.insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    set_headers(easy, e, json_body, lists);
}

void curl_error(struct err *err, CURLcode code, bool connecting)
{
    static const struct {
        CURLcode code;
        enum err_code as;
        const char *words;
    } rows[] = {
        {CURLE_COULDNT_CONNECT, ERR_CONNECT, "cannot connect"},
        {CURLE_COULDNT_RESOLVE_HOST, ERR_CONNECT, "cannot find the host"},
        {CURLE_OPERATION_TIMEDOUT, ERR_TIMEOUT, "no answer in time"},
        {CURLE_PEER_FAILED_VERIFICATION, ERR_CONNECT, "the server's certificate is not trusted"},
        {CURLE_SSL_CONNECT_ERROR, ERR_CONNECT, "TLS: the peer broke the protocol"},
        {CURLE_UNSUPPORTED_PROTOCOL, ERR_PROTOCOL, "the answer is not HTTP"},
        {CURLE_WEIRD_SERVER_REPLY, ERR_PROTOCOL, "the answer is not HTTP"},
        {CURLE_GOT_NOTHING, ERR_CLOSED,
         "the server closed the connection without an answer; does it want https?"},
        {CURLE_PARTIAL_FILE, ERR_CLOSED,
         "the server closed the connection in the middle of its answer"},
        {CURLE_RECV_ERROR, ERR_CLOSED, "connection lost"},
        {CURLE_SEND_ERROR, ERR_CLOSED, "connection lost"},
        {CURLE_ABORTED_BY_CALLBACK, ERR_INTERRUPT, "interrupted"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].code == code) {
            err_set(err, rows[i].as, "%s", rows[i].words);
            return;
        }
    err_set(err, connecting ? ERR_CONNECT : ERR_PROTOCOL, "%s", curl_easy_strerror(code));
}
