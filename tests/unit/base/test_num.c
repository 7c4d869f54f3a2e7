/* test_num.c - numbers out of text and into it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"

static void test_i64(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t want;
    } rows[] = {
        {"0", true, 0},
        {"-7", true, -7},
        {"+42", true, 42},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"0x10", false, 0},
        {"--1", false, 0},
        {"1k", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = 99;
        assert_int_equal(num_parse_i64(rows[i].text, &v), rows[i].ok);
        assert_int_equal(v, rows[i].ok ? rows[i].want : 99);
    }
}

/* The nearest double, as the compiler reads the same digits. */
static void test_double(void **state)
{
    static const struct {
        const char *text;
        double want; /* NAN: refused */
    } rows[] = {
        {"0", 0},
        {"0.3", 0.3},
        {"0.1", 0.1},
        {"-2.5", -2.5},
        {"+.5", 0.5},
        {"5.", 5},
        {"122.5", 122.5},
        {"1e3", 1000},
        {"1E-3", 0.001},
        {"1.5e+2", 150},
        {"0.42", 0.42},
        {"1924948800.789", 1924948800.789},
        {"0.000123456789", 0.000123456789},
        {"3.141592653589793", 3.141592653589793},
        {"1e22", 1e22},
        {"1e-400", 0},
        {"0e999", 0},
        {"0.0e-9999", 0},
        {"1e400", NAN},
        {"1e99999999999", NAN},
        {"", NAN},
        {".", NAN},
        {"-", NAN},
        {"-.", NAN},
        {"1e", NAN},
        {"1e+", NAN},
        {"1,5", NAN},
        {"1.2.3", NAN},
        {" 1", NAN},
        {"1 ", NAN},
        {"nan", NAN},
        {"inf", NAN},
        {"0x1p3", NAN},
        {"1_000", NAN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double v = 99;
        bool ok = num_parse_double(rows[i].text, &v);
        if (ok == isnan(rows[i].want) || (ok && v != rows[i].want) || (!ok && v != 99))
            fail_msg("%s: %s %.17g", rows[i].text, ok ? "read as" : "refused", v);
    }
}

/* More digits than a double has, and the far ends: within a few units in the last place. */
static void test_long_double(void **state)
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"123456789012345678901234", 123456789012345678901234.0},
        {"0.1234567890123456789012", 0.1234567890123456789012},
        {"0.000000000000000000000000123456789012345678", 0.123456789012345678e-24},
        {"1.7976931348623e308", 1.7976931348623e308},
        {"1.25e-290", 1.25e-290},
        {"-98765432109876543210e-5", -987654321098765.4321},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double v;
        assert_true(num_parse_double(rows[i].text, &v));
        assert_true(fabs(v / rows[i].want - 1) < 1e-14);
    }
}

static void test_size(void **state)
{
    static const struct {
        const char *text;
        int64_t want; /* -1: refused */
    } rows[] = {
        {"0", 0},        {"4096", 4096},     {"16k", 16384}, {"16K", 16384}, {"1m", 1048576},
        {"1M", 1048576}, {"2G", 2147483648}, {"1.5k", 1536}, {"-1", -1},     {"", -1},
        {"k", -1},       {"16 k", -1},       {"16kb", -1},   {"1e30", -1},   {"16kk", -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = -1;
        assert_int_equal(num_parse_size(rows[i].text, &v), rows[i].want >= 0);
        assert_int_equal(v, rows[i].want);
    }
}

static void test_duration(void **state)
{
    static const struct {
        const char *text;
        int64_t want; /* -1: refused */
    } rows[] = {
        {"30", 30 * NS_PER_S},
        {"30s", 30 * NS_PER_S},
        {"2m", 120 * NS_PER_S},
        {"2min", 120 * NS_PER_S},
        {"1h", 3600 * NS_PER_S},
        {"500ms", 500 * NS_PER_MS},
        {"250us", 250 * NS_PER_US},
        {"0", 0},
        {"0.5s", 500 * NS_PER_MS},
        {"0.3s", 300 * NS_PER_MS},
        {"1.1", 1100 * NS_PER_MS},
        {"-1s", -1},
        {"s", -1},
        {"1d", -1},
        {"1 s", -1},
        {"1h30m", -1},
        {"9e18h", -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = -1;
        assert_int_equal(num_parse_duration_ns(rows[i].text, &v), rows[i].want >= 0);
        assert_int_equal(v, rows[i].want);
    }
}

static void test_size_text(void **state)
{
    static const struct {
        int64_t n;
        const char *want;
    } rows[] = {{0, "0"},           {1000, "1000"},       {1024, "1K"},
                {16384, "16K"},     {57344, "56K"},       {1048576, "1M"},
                {1572864, "1536K"}, {1048577, "1048577"}, {-1024, "-1024"}};
    char out[NUM_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(num_size_text(out, rows[i].n), rows[i].want);
}

static void test_grouped(void **state)
{
    static const struct {
        double v;
        int decimals;
        const char *want;
    } rows[] = {
        {0, 0, "0"},
        {999, 0, "999"},
        {1000, 0, "1,000"},
        {17744, 0, "17,744"},
        {122.5, 1, "122.5"},
        {1234567.891, 2, "1,234,567.89"},
        {-1234, 0, "-1,234"},
        {-0.2, 0, "0"},
        {-0.04, 1, "0.0"},
        {999.6, 0, "1,000"},
        {NAN, 1, "n/a"},
        {1e30, 0, "1,000,000,000,000,000,000"},
        {-INFINITY, 0, "-1,000,000,000,000,000,000"},
    };
    char out[NUM_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(num_grouped(out, rows[i].v, rows[i].decimals), rows[i].want);
}

static void test_duration_text(void **state)
{
    static const struct {
        double s;
        const char *want;
    } rows[] = {{0, "0s"},     {0.25, "0.2s"},    {2, "2s"},       {9.5, "9.5s"},
                {12.4, "12s"}, {59.6, "1m"},      {60, "1m"},      {75, "1m15s"},
                {600, "10m"},  {3599.7, "1h00m"}, {3660, "1h01m"}, {90000, "25h00m"}};
    char out[NUM_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(num_duration_text(out, (int64_t)(rows[i].s * 1e9)), rows[i].want);
}

static void test_bytes_text(void **state)
{
    static const struct {
        double bytes;
        const char *want;
    } rows[] = {{0, "0 B"},         {999, "999 B"},     {1000, "1.0 kB"},   {24e9, "24.0 GB"},
                {999960, "1.0 MB"}, {1.5e12, "1.5 TB"}, {3e18, "3000.0 PB"}};
    char out[NUM_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(num_bytes_text(out, rows[i].bytes), rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_i64),         cmocka_unit_test(test_double),
        cmocka_unit_test(test_long_double), cmocka_unit_test(test_size),
        cmocka_unit_test(test_duration),    cmocka_unit_test(test_size_text),
        cmocka_unit_test(test_grouped),     cmocka_unit_test(test_duration_text),
        cmocka_unit_test(test_bytes_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
