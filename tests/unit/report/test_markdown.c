/* Tables of the right shape, and text that cannot become markup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hostile.h"
#include "published.h"
#include "report/markdown.h"

/* Every line that begins with '|' has as many columns as the line before it, if that does too. */
static void assert_tables(const char *text)
{
    size_t last = 0;
    bool code = false;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t n = strcspn(line, "\n"), bars = 0;
        if (text_starts(line, "```"))
            code = !code;
        for (size_t i = 0; i < n; i++) {
            if (line[i] == '\\')
                i++;
            else
                bars += line[i] == '|';
        }
        if (code || line[0] != '|') {
            last = 0;
            continue;
        }
        if (last)
            assert_int_equal(bars, last);
        last = bars;
    }
}

static void test_published(void **state)
{
    static const char *const has[] = {
        "### Qwen3.5-27B-AWQ-4bit on RTX 3090 24GB\n",
        "vllm · 0.32.0 · AWQ 4-bit<br>\n",
        "by @<!-- -->Sandberg · llm-inference-bench v0.8.0 · Imported<br>\n",
        "| 56K | 839.0 | 67,195 ms |\n",
        "| 56K | **28.3**<br>Requests queued<br>3,332 ms TTFT | Over capacity |",
        "| Sustained decode | 16K | 2 | Valid | 70.6 | 34.9 | 1,391 ms | 28.6 ms | 2.0 | 0 | 2,116 "
        "| 30.0 s |\n",
        "| Phase | Context | Requests at once | Status | Total tok/s | Per request tok/s | TTFT | "
        "Time between tokens | Average active requests | Completed requests | Output tokens | "
        "Measured for |\n",
        "- CPU: Intel Core i7-9700K (8C)\n",
        "**What the figures say**\n\n- Prefill falls from 1,804 tok/s at 8K to 839.0 tok/s at "
        "56K: ",
        "```sh\n# Untuned out-of-the-box",
        "\nvllm serve cyankiwi/Qwen3.5-27B-AWQ-4bit --max-model-len 65536 ",
    };
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    published_read("qwen3.5-27b", &r);
    assert_true(markdown_write(&r, NULL, &b));
    for (size_t i = 0; i < ARRAY_LEN(has); i++)
        if (!strstr(b.p, has[i]))
            fail_msg("missing: %s", has[i]);
    assert_tables(b.p);
    result_release(&r);
    buf_release(&b);
}

static void test_text(void **state)
{
    static const struct {
        const char *text, *markdown;
    } cases[] = {
        {"plain text, 1-2 (3)", "plain text, 1-2 (3)"},
        {"a|b", "a\\|b"},
        {"`code`", "\\`code\\`"},
        {"**b** _i_ ~~s~~", "\\*\\*b\\*\\* \\_i\\_ \\~\\~s\\~\\~"},
        {"[a](b) ![c](d)", "\\[a\\](b) \\!\\[c\\](d)"},
        {"<script>&amp;", "&lt;script&gt;&amp;amp;"},
        {"\\|", "\\\\\\|"},
        {"@team #12", "@<!-- -->team #<!-- -->12"},
        {"https://x.org", "https\\://x.org"},
        {"WWW.x.org", "WWW\\.x.org"},
        {"$x$", "\\$x\\$"},
        {"12:30", "12:30"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b, 1024);
        markdown_text(cases[i].text, &b);
        assert_string_equal(b.p, cases[i].markdown);
        buf_release(&b);
    }
}

static void test_hostile(void **state)
{
    char *text = hostile_long();
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 22);
    hostile_result(&r, text);
    assert_true(markdown_write(&r, NULL, &b));
    assert_harmless(&b, false);
    assert_tables(b.p);
    /* outside of the launch command nothing of it is live */
    char *fence = strstr(b.p, "````sh\n");
    assert_non_null(fence);
    const char *end = strstr(fence + 5, "\n````\n");
    assert_non_null(end);
    memset(fence, ' ', (size_t)(end - fence));
    assert_null(strstr(b.p, "<script"));
    assert_null(strstr(b.p, "@team"));
    assert_null(strstr(b.p, "https://"));
    assert_null(strstr(b.p, "[a]("));
    result_release(&r);
    buf_release(&b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
