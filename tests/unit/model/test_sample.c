/* The file of samples: its lines, its digest, and what is left after a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "model/sample.h"

static char path[] = "/tmp/tokgrid-samples-XXXXXX";

static int setup(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static struct token_stamp stamps[] = {
    {1500000, 1}, /* rounded: 1,500 us */
    {2500499, 0}, /* 2,500 */
    {3500500, 2}, /* 3,501 */
    {INT64_C(9000000000), 4096},
};

static struct sample full(void)
{
    struct sample s = {
        .phase = "decode",
        .context_tokens = 16384,
        .concurrency = 4,
        .stream = 3,
        .repeat = 1,
        .outcome = OUTCOME_CANCELLED,
        .send_ns = 1000000,
        .headers_ns = 1200000,
        .first_event_ns = 1300000,
        .first_token_ns = 1500000,
        .first_visible_ns = -1,
        .second_token_ns = 2500499,
        .last_token_ns = INT64_C(9000000000),
        .close_ns = INT64_C(9000001000),
        .connect_ns = 70000,
        .prompt_tokens = 16391,
        .completion_tokens = 4099,
        .cached_tokens = -1,
        .events = 4,
        .reads = 3,
        .bytes = 812,
        .http_status = 200,
        .retried = true,
        .finish = "length",
        .stamps = stamps,
        .stamp_count = 4,
    };
    memcpy(s.error, "said \"no\"\n", 11);
    return s;
}

static const char full_line[] =
    "{\"phase\":\"decode\",\"context_tokens\":16384,\"concurrency\":4,\"stream\":3,\"repeat\":1,"
    "\"outcome\":\"cancelled\",\"send_us\":1000,\"headers_us\":200,\"first_event_us\":300,"
    "\"first_token_us\":500,\"first_visible_us\":null,\"second_token_us\":1500,"
    "\"last_token_us\":8999000,\"close_us\":8999001,\"connect_us\":70,\"prompt_tokens\":16391,"
    "\"completion_tokens\":4099,\"cached_tokens\":null,\"events\":4,\"reads\":3,\"bytes\":812,"
    "\"http_status\":200,\"retried\":true,\"finish\":\"length\",\"error\":\"said "
    "\\\"no\\\"\\u000a\","
    "\"stamps\":[500,1,1000,0,1001,2,8996499,4096]}\n";

/* What the file holds, as far as it can be decompressed. The caller frees. */
static char *unpack(bool *ret_complete)
{
    struct buf file, text;
    struct err err = {0};
    buf_init(&file, 1 << 20);
    buf_init(&text, 1 << 22);
    assert_true(file_read(path, &file, &err));
    ZSTD_DCtx *d = ZSTD_createDCtx();
    ZSTD_inBuffer in = {file.p, file.len, 0};
    size_t left = 1;
    for (;;) {
        char block[4096];
        ZSTD_outBuffer out = {block, sizeof block, 0};
        left = ZSTD_decompressStream(d, &out, &in);
        assert_false(ZSTD_isError(left));
        buf_add(&text, block, out.pos);
        if (left == 0 || (in.pos == in.size && out.pos < sizeof block))
            break;
    }
    *ret_complete = left == 0;
    ZSTD_freeDCtx(d);
    buf_release(&file);
    return buf_detach(&text);
}

static void test_lines_and_digest(void **state)
{
    struct err err = {0};
    struct sample s = full();
    char digest[65], expected[65];
    unsigned char hash[32];
    int64_t requests;
    bool complete;
    struct buf file;
    (void)state;

    struct sample_file *f = samples_open(path, &err);
    assert_non_null(f);
    samples_add(f, &s);
    s = (struct sample){.phase = "prefill",
                        .send_ns = -1,
                        .headers_ns = -1,
                        .prompt_tokens = -1,
                        .outcome = OUTCOME_REJECTED};
    samples_add(f, &s);
    assert_true(samples_close(f, digest, &requests, &err));
    assert_int_equal(requests, 2);

    char *text = unpack(&complete);
    assert_true(complete);
    assert_memory_equal(text, full_line, sizeof full_line - 1);
    const char *second = text + sizeof full_line - 1;
    json_t *line = json_parse(second, strlen(second), "line", &err);
    assert_non_null(line);
    assert_string_equal(json_string_at(line, "outcome"), "rejected");
    assert_true(json_is_null(json_at(line, "send_us")));
    assert_int_equal(json_array_size(json_at(line, "stamps")), 0);
    json_decref(line);
    free(text);

    buf_init(&file, 1 << 20);
    assert_true(file_read(path, &file, &err));
    crypto_generichash(hash, sizeof hash, (const unsigned char *)file.p, file.len, NULL, 0);
    sodium_bin2hex(expected, sizeof expected, hash, sizeof hash);
    assert_string_equal(digest, expected);
    buf_release(&file);
}

static void test_readable_up_to_the_last_flush(void **state)
{
    struct err err = {0};
    struct sample s = full();
    char digest[65];
    int64_t requests;
    bool complete;
    (void)state;
    struct sample_file *f = samples_open(path, &err);
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        samples_add(f, &s);
    assert_true(samples_flush(f, &err));
    samples_add(f, &s); /* never flushed: what a crash would lose */

    char *text = unpack(&complete);
    assert_false(complete);
    assert_true(strlen(text) >= 1000 * (sizeof full_line - 1));
    assert_memory_equal(text + 999 * (sizeof full_line - 1), full_line, sizeof full_line - 1);
    free(text);
    assert_true(samples_close(f, digest, &requests, &err));
    assert_int_equal(requests, 1001);
}

static void test_a_long_request(void **state)
{
    struct err err = {0};
    struct sample s = full();
    char digest[65];
    int64_t requests, sum = 0;
    bool complete;
    enum { MANY = 30000 };
    (void)state;
    struct token_stamp *many = mem_array(MANY, sizeof *many);
    for (int i = 0; i < MANY; i++)
        many[i] = (struct token_stamp){.at_ns = 1000000 + (i + 1) * INT64_C(7777777), .tokens = 1};
    s.stamps = many;
    s.stamp_count = MANY;
    struct sample_file *f = samples_open(path, &err);
    assert_non_null(f);
    samples_add(f, &s);
    assert_true(samples_close(f, digest, &requests, &err));
    char *text = unpack(&complete);
    json_t *line = json_parse(text, strlen(text), "line", &err);
    json_t *array = json_at(line, "stamps");
    for (size_t i = 0; i < json_array_size(array); i += 2)
        sum += json_integer_value(json_array_get(array, i));
    /* differences of rounded stamps add up to the rounded end: 30,000 x 7,777.777 us */
    assert_int_equal(sum, 233333310);
    json_decref(line);
    free(text);
    free(many);
}

static void test_errors(void **state)
{
    struct err err = {0};
    struct sample s = full();
    char digest[65];
    int64_t requests;
    (void)state;
    assert_null(samples_open("/nonexistent/folder/samples.zst", &err));
    assert_non_null(strstr(err.text, "cannot write /nonexistent/folder/samples.zst"));

    struct sample_file *f = samples_open("/dev/full", &err);
    if (!f)
        skip();
    samples_add(f, &s);
    assert_false(samples_flush(f, &err));
    assert_string_equal(err.text, "cannot write /dev/full: No space left on device");
    samples_add(f, &s); /* still harmless */
    assert_false(samples_close(f, digest, &requests, &err));
}

static void test_outcome_names(void **state)
{
    (void)state;
    assert_string_equal(outcome_name(OUTCOME_COMPLETE), "complete");
    assert_string_equal(outcome_name(OUTCOME_CANCELLED), "cancelled");
    assert_string_equal(outcome_name(OUTCOME_TIMED_OUT), "timed_out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_and_digest),
        cmocka_unit_test(test_readable_up_to_the_last_flush),
        cmocka_unit_test(test_a_long_request),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_outcome_names),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
