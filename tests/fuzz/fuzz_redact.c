/* fuzz_redact.c - any text in each form: what is found lies within it, in order, and what is
 * written in its place holds no secret any more where the text is a result's.
 *
 * A text that is a result document is redacted as `tokgrid publish` does it: a site then finds no
 * secret in it, and it reads again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/redact_result.h"
#include "model/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_spans(const char *text, const struct redact_spans *spans)
{
    size_t at = 0, n = strlen(text);
    for (size_t i = 0; i < spans->n; i++) {
        must(spans->v[i].at >= at && spans->v[i].n <= n && spans->v[i].at <= n - spans->v[i].n);
        at = spans->v[i].at + spans->v[i].n;
    }
}

static void check_text(const char *text)
{
    static const struct redact_names names = {.user = "ada", .hosts = {"bench-box", "10.0.0.7"}};
    for (int form = REDACT_COMMAND; form <= REDACT_JSON; form++) {
        struct redact_spans spans = {0};
        struct buf out;
        redact_find(text, (enum redact_form)form, &spans);
        check_spans(text, &spans);
        redact_find_names(text, &names, &spans);
        check_spans(text, &spans);
        buf_init(&out, SIZE_MAX / 2);
        redact_write(text, &spans, &out);
        redact_write_masked(text, &spans, &out);
        buf_release(&out);
        redact_spans_release(&spans);
    }
}

static void check_result(const char *text)
{
    static const struct redact_names names = {.user = "ada", .hosts = {"bench-box"}};
    struct arena a = {0};
    struct result r, again;
    struct redactions redactions;
    struct err err = {0};
    struct buf out;

    if (!result_read_json(text, strlen(text), "input", &r, &err))
        return;
    redact_result(&r, &names, &a, &redactions);
    must(!redact_find_secret(&r, &a));
    buf_init(&out, RESULT_MAX_BYTES);
    must(result_write_json(&r, &out));
    must(result_read_json(out.p, out.len, "again", &again, &err));
    must(!redact_find_secret(&again, &a));
    buf_release(&out);
    result_release(&again);
    result_release(&r);
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size);
    check_text(text);
    check_result(text);
    free(text);
    return 0;
}
