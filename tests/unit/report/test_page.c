/* The page: every fact of the published ones, both languages, hostile strings, size, structure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "hostile.h"
#include "large.h"
#include "markup.h"
#include "published.h"
#include "report/page.h"
#include "report/views.h"

static void write_page(const struct result *r, const char *lang, struct buf *out)
{
    const struct page_options o = {.lang = lang_find(lang)};
    buf_init(out, 16 << 20);
    assert_true(page_write(r, &o, out));
    assert_harmless(out, false);
}

/* Each line of a file is somewhere in the text. */
static void expect_lines(const char *name, const char *ending, const char *text)
{
    struct buf lines;
    published_text(name, ending, &lines);
    size_t count = 0;
    for (char *line = lines.p, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (!strstr(text, line))
            fail_msg("%s: missing: %s", name, line);
        count++;
    }
    assert_true(count > 30);
    buf_release(&lines);
}

static void test_every_fact_of_the_published_pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(published_names); i++) {
        struct result r;
        struct buf page;
        struct markup m;
        published_read(published_names[i], &r);
        write_page(&r, "en", &page);
        markup_read(&m, page.p);
        char *text = markup_squeezed(m.text.p);
        expect_lines(published_names[i], "rows.txt", text);
        expect_lines(published_names[i], "facts.txt", text);
        free(text);
        markup_release(&m);
        buf_release(&page);
        result_release(&r);
    }
}

static void test_chinese(void **state)
{
    static const char *const has[] = {
        "Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit，运行于 RTX 3090 24GB",
        "6 种上下文长度（0 至 136K） × 8 档并发（1 至 128） · 预填充测点 8K、16K、32K、64K、128K",
        "持续解码 | 128K | 1 | 请求排队 | 18.4 | 18.5 | 688 ms | 54.1 ms | 1.0 | 0 | 552 | 30.0 s",
        "超出容量： 未运行，因为在此上下文长度下",
        "数据说明了什么",
        "驱动 595.99.02",
    };
    struct result r;
    struct buf page;
    struct markup m;
    (void)state;
    published_read("qwen3-coder-30b", &r);
    write_page(&r, "zh", &page);
    assert_non_null(strstr(page.p, "<html lang=\"zh\">"));
    markup_read(&m, page.p);
    char *text = markup_squeezed(m.text.p);
    for (size_t i = 0; i < ARRAY_LEN(has); i++)
        if (!strstr(text, has[i]))
            fail_msg("missing: %s", has[i]);
    /* no English sentence is left but what the document itself says, and the raw document */
    assert_null(strstr(text, "Requests queued"));
    assert_null(strstr(text, "Latencies"));
    free(text);
    markup_release(&m);
    buf_release(&page);
    result_release(&r);
}

static void test_anchors_and_views(void **state)
{
    struct result r;
    struct buf page;
    struct markup m;
    (void)state;
    published_read("qwen3-coder-30b", &r);
    write_page(&r, "en", &page);
    markup_read(&m, page.p);
    for (size_t i = 0; i < r.decode_count; i++) {
        char id[64], context[NUM_TEXT_MAX];
        num_size_text(context, r.decode[i].context_tokens);
        snprintf(id, sizeof id, "c-%s-%d", context, r.decode[i].concurrency);
        for (char *c = id; *c; c++)
            *c = *c == 'K' ? 'k' : *c;
        if (!markup_has_id(&m, id))
            fail_msg("no anchor %s", id);
    }
    assert_true(markup_has_id(&m, "p-128k-1"));
    for (size_t i = 0; i < view_count; i++) {
        char id[64];
        snprintf(id, sizeof id, "view-%s", views[i].id);
        assert_int_equal(markup_has_id(&m, id), strcmp(views[i].id, "bound") != 0);
    }
    /* every link on the page has its target */
    for (const char *p = page.p; (p = strstr(p, " href=\"#")); p++) {
        char id[64];
        snprintf(id, sizeof id, "%.*s", (int)strcspn(p + 8, "\""), p + 8);
        if (!markup_has_id(&m, id))
            fail_msg("a link to %s, which is not there", id);
    }
    markup_release(&m);
    result_add_fact(&r, "weight_bytes_per_token", "1900000000", "given");
    result_add_fact(&r, "memory_bandwidth_bytes_s", "936200000000", "given");
    buf_release(&page);
    write_page(&r, "en", &page);
    assert_non_null(strstr(page.p, "id=\"view-bound\""));
    assert_non_null(strstr(page.p, "492.7 tok/s for one request: 936 GB/s (given), "
                                   "1.9 GB of weights a token (given)"));
    buf_release(&page);
    result_release(&r);
}

static void test_needs_nothing_else_and_allows_nothing_else(void **state)
{
    struct result r;
    struct buf page;
    (void)state;
    published_read("qwen3.5-27b", &r);
    write_page(&r, "en", &page);
    assert_non_null(strstr(page.p, "default-src 'none'; style-src 'sha256-"));
    assert_null(strstr(page.p, "unsafe"));
    assert_null(strstr(page.p, " src="));
    assert_null(strstr(page.p, "<link"));
    assert_null(strstr(page.p, "url("));
    assert_null(strstr(page.p, "@import"));
    buf_release(&page);
    result_release(&r);
}

static void test_document_can_be_taken_out_again(void **state)
{
    struct result r, again;
    struct buf page, before, after;
    struct err err = {0};
    (void)state;
    published_read("qwen3-coder-30b", &r);
    write_page(&r, "zh", &page);
    const char *begin = strstr(page.p, "id=\"document\">") + strlen("id=\"document\">");
    size_t n = (size_t)(strstr(begin, "</pre>") - begin);
    if (!result_read_json(begin, n, "page", &again, &err))
        fail_msg("%s", err.text);
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    assert_true(result_write_json(&r, &before) && result_write_json(&again, &after));
    assert_string_equal(before.p, after.p);
    buf_release(&before);
    buf_release(&after);
    buf_release(&page);
    result_release(&r);
    result_release(&again);
}

static void test_hostile(void **state)
{
    static const char *const live[] = {"<script>alert", "<!-- @team", "javascript:x)<"};
    char *text = hostile_long();
    (void)state;
    for (size_t l = 0; langs[l]; l++) {
        struct result r;
        struct buf page;
        struct markup m;
        hostile_result(&r, text);
        write_page(&r, langs[l]->code, &page);
        for (size_t i = 0; i < ARRAY_LEN(live); i++)
            assert_null(strstr(page.p, live[i]));
        markup_read(&m, page.p);
        assert_non_null(strstr(m.text.p, "<script>alert(1)</script>")); /* as text */
        markup_release(&m);
        size_t scripts = 0;
        for (const char *p = page.p; (p = strstr(p, "<script")); p++)
            scripts++;
        assert_int_equal(scripts, 1);
        buf_release(&page);
        result_release(&r);
    }
    free(text);
}

static void test_size(void **state)
{
    struct result r;
    struct buf page;
    struct markup m;
    (void)state;
    large_result(&r);
    write_page(&r, "en", &page);
    markup_read(&m, page.p);
    assert_non_null(strstr(m.text.p, "Percentiles, gaps and intervals"));
    assert_non_null(strstr(m.text.p, "tok/J"));
    markup_release(&m);
    if (page.len > 300000)
        fail_msg("%zu bytes", page.len);
    buf_release(&page);
    result_release(&r);
}

static void test_empty_and_too_small(void **state)
{
    const struct page_options o = {0};
    struct result r;
    struct buf page;
    struct markup m;
    (void)state;
    result_init(&r);
    write_page(&r, "en", &page);
    markup_read(&m, page.p);
    assert_non_null(strstr(m.text.p, "unknown model on an unknown machine"));
    assert_null(strstr(m.text.p, "Sustained decode"));
    assert_null(strstr(m.text.p, "All measurements"));
    assert_null(strstr(m.text.p, "Charts"));
    markup_release(&m);
    buf_release(&page);
    buf_init(&page, 1000);
    assert_false(page_write(&r, &o, &page));
    buf_release(&page);
    result_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fact_of_the_published_pages),
        cmocka_unit_test(test_chinese),
        cmocka_unit_test(test_anchors_and_views),
        cmocka_unit_test(test_needs_nothing_else_and_allows_nothing_else),
        cmocka_unit_test(test_document_can_be_taken_out_again),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_empty_and_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
