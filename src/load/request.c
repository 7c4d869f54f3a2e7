/* request.c - the body's text; key order is fixed, so equal requests are equal bytes. */
#include "load/request.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void request_escape(const char *text, size_t n, struct buf *out)
{
    size_t start = out->len;
    buf_add_json_string(out, text, n);
    if (out->overflow)
        return;
    /* drop the quotes */
    memmove(out->p + start, out->p + start + 1, out->len - start - 2);
    out->len -= 2;
    out->p[out->len] = '\0';
}

void request_opening(const char *model, struct buf *out)
{
    buf_adds(out, "{\"model\":");
    buf_add_json_string(out, model, strlen(model));
    buf_adds(out, ",\"messages\":[{\"role\":\"user\",\"content\":\"");
}

void request_ending(const struct request_shape *shape, const char *task, int64_t max_tokens,
                    const char *rid, struct buf *out)
{
    request_escape(task, strlen(task), out);
    buf_addf(out, "\"}],\"%s\":%" PRId64 ",\"stream\":true",
             shape->max_completion_tokens ? "max_completion_tokens" : "max_tokens", max_tokens);
    if (shape->stream_options)
        buf_addf(out, ",\"stream_options\":{\"include_usage\":true%s}",
                 shape->continuous_usage ? ",\"continuous_usage_stats\":true" : "");
    if (shape->ignore_eos)
        buf_adds(out, ",\"ignore_eos\":true");
    if (shape->min_tokens)
        buf_addf(out, ",\"min_tokens\":%" PRId64, max_tokens);
    if (rid)
        buf_addf(out, ",\"rid\":\"%s\"", rid);
    if (!isnan(shape->temperature))
        buf_addf(out, ",\"temperature\":%g", shape->temperature);
    buf_addc(out, '}');
}
