/* The two published matrices: everything their pages say is in the documents, holds the invariants,
 * and comes out of the renderer as the pages print it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "published.h"
#include "report/columns.h"
#include "report/table.h"

static void test_counts(void **state)
{
    static const struct {
        const char *name;
        size_t prefill, decode, valid, queued, over, looped;
    } cases[] = {
        {"qwen3-coder-30b", 5, 48, 11, 2, 34, 1},
        {"qwen3.5-27b", 4, 32, 6, 2, 24, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct result r;
        published_read(cases[i].name, &r);
        assert_int_equal(r.prefill_count, cases[i].prefill);
        assert_int_equal(r.decode_count, cases[i].decode);
        assert_int_equal(result_count_status(&r, STATUS_VALID), cases[i].valid);
        assert_int_equal(result_count_status(&r, STATUS_QUEUED), cases[i].queued);
        assert_int_equal(result_count_status(&r, STATUS_OVER_CAPACITY), cases[i].over);
        assert_int_equal(result_count_status(&r, STATUS_LOOPED), cases[i].looped);
        assert_string_equal(r.kind, "imported");
        assert_string_equal(r.tool.name, "llm-inference-bench");
        assert_string_equal(r.tool.version, "0.8.0");
        result_release(&r);
    }
}

static void test_values(void **state)
{
    struct result r;
    (void)state;
    published_read("qwen3-coder-30b", &r);
    const struct cell *c = result_cell(&r, 0, 16);
    assert_float_equal(c->total_tok_s, 933.6, 0);
    assert_float_equal(c->per_request_tok_s, 60.5, 0);
    assert_float_equal(c->ttft_ms.p50, 73, 0);
    assert_float_equal(c->itl_ms.p50, 16.5, 0);
    assert_float_equal(c->avg_active, 16, 0);
    assert_int_equal(c->output_tokens, 28000);
    assert_int_equal(c->ttft_ms.n, -1); /* not printed: unknown, not 0 */
    c = result_cell(&r, 16384, 2);
    assert_int_equal(c->status, STATUS_LOOPED);
    assert_int_equal(c->completed, 0);
    assert_true(isnan(c->total_tok_s));
    c = result_cell(&r, 139264, 1);
    assert_int_equal(c->status, STATUS_QUEUED);
    assert_float_equal(c->total_tok_s, 17.4, 0);
    assert_float_equal(result_prefill(&r, 131072)->ttft_ms.p50, 362642, 0);
    assert_string_equal(r.hardware.gpus[0].driver, "595.99.02");
    assert_float_equal(r.hardware.gpus[0].power_limit_w, 350, 0);
    assert_int_equal(r.plan.contexts[5], 139264);
    assert_int_equal(r.plan.max_output, 8192);
    assert_float_equal(r.server.context_limit, 147456, 0);
    assert_null(r.by);
    /* two lines of comments, then the command */
    assert_non_null(strstr(r.engine.launch_command, "head\n# 1x RTX 3090 24GB"));
    assert_non_null(strstr(r.engine.launch_command, "595.99.02\nvllm serve cyankiwi/"));
    result_release(&r);

    published_read("qwen3.5-27b", &r);
    c = result_cell(&r, 57344, 1);
    assert_int_equal(c->status, STATUS_QUEUED);
    assert_float_equal(c->total_tok_s, 28.3, 0);
    assert_float_equal(c->per_request_tok_s, 31.2, 0);
    assert_float_equal(c->itl_ms.p50, 32.1, 0);
    assert_float_equal(c->avg_active, 0.9, 0);
    assert_int_equal(result_cell(&r, 0, 16)->completed, -1);
    assert_string_equal(r.by, "@Sandberg");
    assert_null(r.engine.repository);
    assert_int_equal(r.hardware.cpu_cores, 8);
    result_release(&r);
}

static void test_documents_are_canonical(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(published_names); i++) {
        struct result r;
        struct buf text, again;
        published_read(published_names[i], &r);
        published_text(published_names[i], "json", &text);
        buf_init(&again, 1 << 20);
        assert_true(result_write_json(&r, &again));
        assert_string_equal(text.p, again.p);
        result_release(&r);
        buf_release(&text);
        buf_release(&again);
    }
}

/* "Prefill | 8K | 1 | Valid | ..." from the columns */
static void test_rows_as_printed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(published_names); i++) {
        struct result r;
        struct buf expected, got;
        size_t count;
        published_read(published_names[i], &r);
        published_text(published_names[i], "rows.txt", &expected);
        buf_init(&got, 1 << 20);
        struct measurement *all = measurements_of(&r, &count);
        assert_int_equal(count, r.prefill_count + r.decode_count);
        for (size_t m = 0; m < count; m++) {
            for (size_t c = 0; c < COLUMNS_MAIN; c++) {
                buf_adds(&got, c ? " | " : "");
                if (!column_add(&columns[c], &all[m], COLUMN_FULL, NULL, &got))
                    buf_adds(&got, "—");
            }
            buf_addc(&got, '\n');
        }
        assert_string_equal(got.p, expected.p);
        free(all);
        result_release(&r);
        buf_release(&expected);
        buf_release(&got);
    }
}

/* A line of the table with its columns joined as in the expected rows: two blanks or more separate
 * columns there. */
static void join_columns(const char *line, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t blanks = strspn(line + i, " ");
        if (blanks >= 2)
            buf_adds(out, " | ");
        else
            buf_add(out, line + i, blanks);
        i += blanks;
        if (i < n)
            buf_addc(out, line[i++]);
    }
    buf_addc(out, '\n');
}

static void test_table_shows_the_rows(void **state)
{
    static const struct table_options unlimited = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(published_names); i++) {
        struct result r;
        struct buf expected, table, joined;
        published_read(published_names[i], &r);
        published_text(published_names[i], "rows.txt", &expected);
        buf_init(&table, 1 << 20);
        buf_init(&joined, 1 << 20);
        table_measurements(&r, &unlimited, &table);
        const char *line = table.p;
        for (int head = 0; head < 3; head++) /* title, sentence, names */
            line = strchr(line, '\n') + 1;
        for (; *line; line += strcspn(line, "\n") + 1)
            join_columns(line, strcspn(line, "\n"), &joined);
        assert_string_equal(joined.p, expected.p);
        assert_non_null(
            strstr(table.p, "Phase             Context  Requests at once  Status           Total "
                            "tok/s  Per request tok/s"));
        result_release(&r);
        buf_release(&expected);
        buf_release(&table);
        buf_release(&joined);
    }
}

static void test_page_says_what_the_published_one_does(void **state)
{
    static const char *const coder[] = {
        "Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit on RTX 3090 24GB\n",
        "vllm · 0.32.0 · AWQ 4-bit\n",
        "6 contexts (0–136K) × 8 concurrency levels (1–128) · prefill at 8K, 16K, 32K, 64K, 128K\n",
        "Type         Discrete GPU\n",
        "GPU          RTX 3090\n",
        "VRAM         24 GB\n",
        "CPU          AMD Ryzen 9 7900X (12C)\n",
        "RAM          32 GB\n",
        "OS           Ubuntu 24.04.5\n",
        "Engine        vllm\n",
        "Version       0.32.0\n",
        "Quantization  AWQ 4-bit\n",
        "Backend       cuda\n",
        "Repository    github.com/vllm-project/vllm\n",
        "Build         vllm/vllm-openai:v0.32.0-x86_64\n",
        "Served model          bench\n",
        "Revision              main\n",
        "Benchmark tool        llm-inference-bench v0.8.0\n",
        "Decode test           Fixed duration\n",
        "Prefill mode          Measured during decode warm-up\n",
        "Time per measurement  30 s\n",
        "Max output            8,192 tokens\n",
        "  # Untuned out-of-the-box baseline. Spec decode: none. KV cache: int4_per_token_head\n",
        "  # 1x RTX 3090 24GB (Zagitta/gpu-unlock), 350 W limit (VBIOS max), PCIe Gen4 x16 | AMD",
        "\n  vllm serve cyankiwi/Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit --max-model-len 147456 ",
        "8K context  3,531    2,337 ms TTFT\n",
        "64K context  686.0   94,695 ms TTFT\n",
        "Requests queued: ",
        "Looped: ",
        "Over capacity: ",
    };
    static const char *const other[] = {
        "Qwen3.5-27B-AWQ-4bit on RTX 3090 24GB\n",
        "4 contexts (0–56K) × 8 concurrency levels (1–128) · prefill at 8K, 16K, 32K, 56K\n",
        "by @Sandberg · llm-inference-bench v0.8.0 · Imported\n",
        "CPU          Intel Core i7-9700K (8C)\n",
        "56K context  839.0  67,195 ms TTFT\n",
    };
    static const struct table_options unlimited = {0};
    struct result r;
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    published_read("qwen3-coder-30b", &r);
    assert_true(table_write(&r, &unlimited, &b));
    for (size_t i = 0; i < ARRAY_LEN(coder); i++)
        if (!strstr(b.p, coder[i]))
            fail_msg("missing: %s", coder[i]);
    result_release(&r);
    buf_reset(&b);
    published_read("qwen3.5-27b", &r);
    assert_true(table_write(&r, &unlimited, &b));
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        if (!strstr(b.p, other[i]))
            fail_msg("missing: %s", other[i]);
    assert_null(strstr(b.p, "Looped: ")); /* only legends of what occurs */
    result_release(&r);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_documents_are_canonical),
        cmocka_unit_test(test_rows_as_printed),
        cmocka_unit_test(test_table_shows_the_rows),
        cmocka_unit_test(test_page_says_what_the_published_one_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
