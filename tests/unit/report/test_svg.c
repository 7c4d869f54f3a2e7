/* Pictures: well-formed, escaped, as large as asked; names of lines that do not collide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "hostile.h"
#include "markup.h"
#include "published.h"
#include "report/svg.h"

static void expect_text(const struct buf *svg, const char *const *has)
{
    struct markup m;
    markup_read(&m, svg->p);
    for (; *has; has++)
        if (!strstr(m.text.p, *has))
            fail_msg("missing: %s\nin:\n%s", *has, m.text.p);
    markup_release(&m);
    assert_harmless(svg, false);
}

static void test_card(void **state)
{
    static const char *const en[] = {"\nQwen3.5-27B-AWQ-4bit on RTX 3090 24GB\n",
                                     "vllm · 0.32.0 · AWQ 4-bit",
                                     "\n180.5*\n",
                                     "\nOver capacity\n",
                                     "by @Sandberg · llm-inference-bench v0.8.0 · Imported · * "
                                     "Requests queued",
                                     NULL};
    static const char *const zh[] = {"Qwen3.5-27B-AWQ-4bit，运行于 RTX 3090 24GB", "超出容量",
                                     "持续解码 · ", "<!> 可疑", NULL};
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    published_read("qwen3.5-27b", &r);
    assert_true(svg_write_card(&r, NULL, NULL, &b));
    assert_non_null(strstr(b.p, "width=\"1200\" height=\"630\" viewBox=\"0 0 1200 630\""));
    expect_text(&b, en);
    buf_reset(&b);
    assert_true(svg_write_card(&r, lang_find("zh"), "<!> 可疑", &b));
    expect_text(&b, zh);
    buf_release(&b);
    buf_init(&b, 100);
    assert_false(svg_write_card(&r, NULL, NULL, &b));
    buf_release(&b);
    result_release(&r);
}

static void test_large_matrix_is_thinned_out(void **state)
{
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    result_init(&r);
    for (int i = 0; i < PLAN_MAX_CONTEXTS; i++) {
        for (int k = 0; k < PLAN_MAX_LEVELS; k++) {
            struct cell c;
            cell_init(&c, i * 1024, k + 1);
            c.total_tok_s = 1 + i + k;
            result_add_cell_take(&r, &c);
        }
    }
    assert_true(svg_write_card(&r, NULL, NULL, &b));
    size_t rects = 0;
    for (const char *p = b.p; (p = strstr(p, "<rect rx")); p++)
        rects++;
    assert_int_equal(rects, 7 * 9);
    assert_non_null(strstr(b.p, ">31K</text>")); /* both ends are there */
    assert_non_null(strstr(b.p, ">0</text>"));
    assert_non_null(strstr(b.p, ">32</text>"));
    result_release(&r);
    buf_release(&b);
}

static void test_charts(void **state)
{
    static const char *const has[CHART_KINDS][4] = {
        {"Decode against concurrency", "0: 122.5 (1), 213.2 (2), 363.3 (4), 591.6 (8), 933.6 (16).",
         "16K: 194.6 at 4", NULL},
        {"Decode against context", "× 1: 124.6 (0), 73.4 (16K), 51.8 (32K)", NULL},
        {"Prefill against context", "Prefill: 3,531 (8K), 2,227 (16K)", NULL},
        {"Share of full concurrency reached", "128K: 100 (1).", NULL},
    };
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    published_read("qwen3-coder-30b", &r);
    for (int kind = 0; kind < CHART_KINDS; kind++) {
        buf_reset(&b);
        assert_true(svg_write_chart(&r, (enum chart_kind)kind, NULL, &b));
        expect_text(&b, has[kind]);
        /* no room for levels that never ran: 32, 64 and 128 */
        assert_null(strstr(b.p, ">64</text>"));
    }
    result_release(&r);
    result_init(&r); /* nothing to draw */
    for (int kind = 0; kind < CHART_KINDS; kind++)
        assert_false(svg_write_chart(&r, (enum chart_kind)kind, NULL, &b));
    result_release(&r);
    buf_release(&b);
}

static double number_at(const char *p)
{
    char text[32];
    double v = 0;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(p, "\""), p);
    assert_true(num_parse_double(text, &v));
    return v;
}

/* Where the names of lines stand: `<text x="99.7" y="340" class="name">`. */
static void assert_names_apart(const char *svg)
{
    double x[CHART_MAX], y[CHART_MAX];
    size_t count = 0;
    for (const char *p = svg; (p = strstr(p, "<text x=\"")); p++) {
        const char *at_y = strstr(p, " y=\"") + 4;
        if (!text_starts(at_y + strcspn(at_y, "\""), "\" class=\"name\""))
            continue;
        x[count] = number_at(p + 9);
        y[count++] = number_at(at_y);
    }
    assert_true(count > 1);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (x[i] == x[k] && y[i] - y[k] < 13 && y[k] - y[i] < 13)
                fail_msg("names at %g,%g and %g,%g", x[i], y[i], x[k], y[k]);
}

static void test_names_of_lines_do_not_collide(void **state)
{
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    for (int spread = 0; spread < 20; spread++) { /* from one heap to well apart */
        result_init(&r);
        for (int i = 0; i < PLAN_MAX_CONTEXTS; i++) {
            struct cell c;
            cell_init(&c, i * 1024, 1);
            c.total_tok_s = 100 + i * spread * 0.37;
            c.per_request_tok_s = c.total_tok_s;
            c.avg_active = 1;
            result_add_cell_take(&r, &c);
        }
        buf_reset(&b);
        assert_true(svg_write_chart(&r, CHART_DECODE, NULL, &b));
        assert_names_apart(b.p);
        buf_reset(&b);
        assert_true(svg_write_chart(&r, CHART_SHARE, NULL, &b));
        assert_names_apart(b.p);
        result_release(&r);
    }
    buf_release(&b);
}

/* Figures no drawing can place: every kind of chart survives them. */
static void test_odd_figures(void **state)
{
    static const double odd[] = {0, 1e-300, 1e15, 1e300, 5};
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        result_init(&r);
        for (int level = 1; level < 4; level++) {
            struct cell c;
            struct prefill_row p;
            cell_init(&c, 0, level);
            c.total_tok_s = c.per_request_tok_s = c.avg_active = odd[i];
            c.ci95.low = -1;
            c.ci95.high = level == 2 ? odd[i] * 2 : 3;
            result_add_cell_take(&r, &c);
            prefill_row_init(&p, level);
            p.total_tok_s = odd[i];
            result_add_prefill_take(&r, &p);
        }
        for (int kind = 0; kind < CHART_KINDS; kind++) {
            struct markup m;
            buf_reset(&b);
            assert_true(svg_write_chart(&r, (enum chart_kind)kind, NULL, &b));
            markup_read(&m, b.p);
            markup_release(&m);
            assert_null(strstr(b.p, "nan"));
            assert_null(strstr(b.p, "inf"));
        }
        buf_reset(&b);
        assert_true(svg_write_card(&r, NULL, NULL, &b));
        result_release(&r);
    }
    buf_release(&b);
}

static void test_hostile(void **state)
{
    char *text = hostile_long();
    struct result r;
    struct buf b;
    struct markup m;
    (void)state;
    buf_init(&b, 1 << 22);
    hostile_result(&r, text);
    assert_true(svg_write_card(&r, NULL, NULL, &b));
    assert_harmless(&b, false);
    assert_null(strstr(b.p, "<script"));
    markup_read(&m, b.p);
    markup_release(&m);
    for (int kind = 0; kind < CHART_KINDS; kind++) {
        buf_reset(&b);
        svg_write_chart(&r, (enum chart_kind)kind, lang_find("zh"), &b);
        assert_harmless(&b, false);
        markup_read(&m, b.p);
        markup_release(&m);
    }
    result_release(&r);
    buf_release(&b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_card),        cmocka_unit_test(test_large_matrix_is_thinned_out),
        cmocka_unit_test(test_charts),      cmocka_unit_test(test_names_of_lines_do_not_collide),
        cmocka_unit_test(test_odd_figures), cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
