/* What a client sends: taken apart exactly, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "site/web_request.h"

static bool parse(struct request *r, const char *target)
{
    struct err err;
    request_init(r);
    return request_parse_target(r, target, &err);
}

static void test_paths(void **state)
{
    static const struct {
        const char *target;
        const char *segments[4];
    } cases[] = {
        {"/", {NULL}},
        {"/en", {"en", NULL}},
        {"/en/", {"en", NULL}},
        {"/en/models/Qwen/Qwen3.5-27B", {"en", "models", "Qwen", "Qwen3.5-27B"}},
        {"/en/models/a%2Fb", {"en", "models", "a/b", NULL}},
        {"/en/a%20b+c", {"en", "a b+c", NULL}},
        {"/zh/%E4%B8%AD", {"zh", "\xE4\xB8\xAD", NULL}},
        {"/en/...", {"en", "...", NULL}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request r;
        assert_true(parse(&r, cases[i].target));
        for (size_t k = 0; k < 4 && cases[i].segments[k]; k++)
            assert_string_equal(r.path[k], cases[i].segments[k]);
        request_release(&r);
    }
}

static void test_refused_targets(void **state)
{
    static const char *const targets[] = {
        "",
        "en",
        "*",
        "http://x/",
        "//evil.example/",
        "/en//runs",
        "/../etc",
        "/en/..",
        "/en/%2e%2e",
        "/en/.%2E/x",
        "/en/.",
        "/en/%2e",
        "/en/%00",
        "/en/%zz",
        "/en/%4",
        "/en/%",
        "/en/%ff",
        "/en/%c0%af",
        "/en/%0d%0a",
        "/en/%7f",
        "/1/2/3/4/5/6/7/8/9",
        "/en?a=%ff",
        "/en?a=%0",
        "/en?=x",
        "/en?a=%00",
        "/en/\xFF",
        "/en?%41%00=1",
        "/en/%ed%a0%80",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct request r;
        if (parse(&r, targets[i]))
            fail_msg("accepted: %s", targets[i]);
        request_release(&r);
    }
}

static void test_long_target(void **state)
{
    char target[REQUEST_MAX_TARGET + 2];
    struct request r;
    (void)state;
    memset(target, 'a', sizeof target);
    target[0] = '/';
    target[sizeof target - 1] = '\0';
    assert_false(parse(&r, target));
    request_release(&r);
}

static void test_query(void **state)
{
    struct request r;
    int64_t n;
    (void)state;
    assert_true(parse(&r, "/en?q=a+b%26c&&empty=&flag&n=12&bad=1x&q=second"));
    assert_string_equal(params_get(&r.query, "q"), "a b&c");
    assert_string_equal(params_get(&r.query, "empty"), "");
    assert_non_null(params_find(&r.query, "flag"));
    assert_null(params_find(&r.query, "other"));
    assert_true(params_int(&r.query, "n", &n));
    assert_int_equal(n, 12);
    assert_false(params_int(&r.query, "bad", &n));
    request_release(&r);
}

static void test_too_many_parameters(void **state)
{
    struct buf b;
    struct request r;
    (void)state;
    buf_init(&b, REQUEST_MAX_TARGET);
    buf_adds(&b, "/en?");
    for (int i = 0; i <= REQUEST_MAX_PARAMS; i++)
        buf_adds(&b, "a=1&");
    assert_false(parse(&r, b.p));
    request_release(&r);
    buf_release(&b);
}

static bool parse_form(struct request *r, const char *type, const char *body, size_t n)
{
    struct err err;
    request_init(r);
    r->header[HEADER_CONTENT_TYPE] = mem_strdup(type);
    buf_add(&r->body, body, n);
    return request_parse_form(r, &err);
}

#define MULTIPART "multipart/form-data; boundary=xyz"

static void test_forms(void **state)
{
    static const char multipart[] =
        "--xyz\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\ntoken\r\n"
        "--xyz\r\nContent-Disposition: form-data; name=\"run\"; filename=\"a.json\"\r\n"
        "Content-Type: application/json\r\n\r\n{\"a\":\r\n\"--xy\"}\0\xFF\r\n--xyz--\r\n";
    struct request r;
    (void)state;
    assert_true(
        parse_form(&r, "application/x-www-form-urlencoded; charset=utf-8", "a=1&b=x%0Ay", 11));
    assert_string_equal(params_get(&r.form, "b"), "x\ny");
    request_release(&r);

    assert_true(parse_form(&r, MULTIPART, multipart, sizeof multipart - 1));
    assert_string_equal(params_get(&r.form, "csrf"), "token");
    const struct param *file = params_find(&r.form, "run");
    assert_non_null(file);
    assert_string_equal(file->file_name, "a.json");
    assert_int_equal(file->size, 16);
    assert_memory_equal(file->value, "{\"a\":\r\n\"--xy\"}", 14);
    assert_string_equal(params_get(&r.form, "run"), ""); /* a file is no text */
    request_release(&r);
}

static void test_refused_forms(void **state)
{
    static const struct {
        const char *type, *body;
    } cases[] = {
        {"text/plain", "a=1"},
        {"application/json", "{}"},
        {"application/x-www-form-urlencoded", "a=%zz"},
        {"application/x-www-form-urlencoded", "a=%FF"},
        {"application/x-www-form-urlencoded", "a=%01"},
        {"multipart/form-data", "--xyz--\r\n"},
        {"multipart/form-data; boundary=", "----\r\n"},
        {MULTIPART, ""},
        {MULTIPART, "--xyz"},
        {MULTIPART, "--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue"},
        {MULTIPART, "--xyz\r\nContent-Disposition: form-data\r\n\r\nvalue\r\n--xyz--"},
        {MULTIPART, "--xyz\r\nno end of headers\r\n--xyz--"},
        {MULTIPART, "--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\xFF\r\n--xyz--"},
        {MULTIPART, "--xyz\r\nContent-Disposition: form-data; name=\"\xFF\"\r\n\r\nx\r\n--xyz--"},
        {MULTIPART, "preamble\r\n--xyz--"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request r;
        if (parse_form(&r, cases[i].type, cases[i].body, strlen(cases[i].body)))
            fail_msg("accepted form %zu", i);
        request_release(&r);
    }
}

static void test_cookies(void **state)
{
    struct request r;
    (void)state;
    request_init(&r);
    request_parse_cookies(&r, "a=1; b=x=y;c=; =no; noequals;  d=4; bad=\xFF");
    assert_string_equal(params_get(&r.cookies, "a"), "1");
    assert_string_equal(params_get(&r.cookies, "b"), "x=y");
    assert_string_equal(params_get(&r.cookies, "d"), "4");
    assert_null(params_find(&r.cookies, "noequals"));
    assert_null(params_find(&r.cookies, "bad"));
    request_release(&r);
}

static void test_encoding(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 200);
    url_add_encoded(&b, "a b/c?d=\"<&>'\n\xE4\xB8\xAD:@-._~");
    assert_string_equal(b.p, "a%20b%2Fc%3Fd%3D%22%3C%26%3E%27%0A%E4%B8%AD:@-._~");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_refused_targets),
        cmocka_unit_test(test_long_target),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_refused_forms),
        cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_too_many_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
