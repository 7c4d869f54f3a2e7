/* The frame: hostile names become text and encoded addresses; links keep the language. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "site/frame.h"

struct rig {
    struct buf out;
    struct frame f;
    struct site_assets assets;
};

static void set_up(struct rig *t, const char *lang)
{
    buf_init(&t->out, 1 << 20);
    site_assets_init(&t->assets);
    frame_init(&t->f, site_lang_find(lang), &t->out);
    t->f.assets = &t->assets;
}

static void tear_down(struct rig *t)
{
    frame_release(&t->f);
    site_assets_release(&t->assets);
    buf_release(&t->out);
}

static void test_hostile_names(void **state)
{
    static const char *const names[] = {
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "a'b\"c",
        "javascript:alert(1)",
        "\xE2\x80\xAEtxt",
        "a/../../b",
        "../x",
        "a//b",
        "/",
        "?q=1#x",
        "a&b=c",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct rig t;
        set_up(&t, "en");
        put_link(&t.f, "/models", names[i]);
        assert_null(strstr(t.out.p, "/../"));
        put_text(&t.f, names[i]);
        put(&t.f, "</a>");
        assert_null(strstr(t.out.p, "<script"));
        assert_null(strstr(t.out.p, "<img"));
        assert_ptr_equal(strstr(t.out.p, "<a href=\"/en/models/"), t.out.p);
        assert_null(strstr(t.out.p, "\xE2\x80\xAE"));
        tear_down(&t);
    }
}

static void test_names_in_paths(void **state)
{
    static const struct {
        const char *name, *path;
    } cases[] = {
        {"Qwen/Qwen3.5-27B", "Qwen/Qwen3.5-27B"},
        {"local model", "local%20model"},
        {"a/b/c", "a%2Fb%2Fc"},
        {"../x", "..%2Fx"},
        {"x/..", "x%2F.."},
        {"/x", "%2Fx"},
        {"x/", "x%2F"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b, 200);
        path_add_name(&b, cases[i].name);
        assert_string_equal(b.p, cases[i].path);
        buf_release(&b);
    }
}

static void test_query_links(void **state)
{
    struct params query = {0};
    struct rig t;
    (void)state;
    params_add(&query, "engine", "vllm \"x\"");
    params_add(&query, "after", "cursor");
    params_add(&query, "order", "name");
    set_up(&t, "zh");
    t.f.query = &query;
    put_query_link(&t.f, "/runs", "order", "fastest");
    assert_string_equal(t.out.p, "<a href=\"/zh/runs?engine=vllm%20%22x%22&amp;order=fastest\">");
    buf_reset(&t.out);
    put_query_link(&t.f, "/runs", "engine", NULL);
    assert_string_equal(t.out.p, "<a href=\"/zh/runs?order=name\">");
    tear_down(&t);
    params_release(&query);
}

static void test_document(void **state)
{
    (void)state;
    for (size_t i = 0; site_langs[i]; i++) {
        struct params none = {0};
        struct rig t;
        set_up(&t, site_langs[i]->code);
        t.f.query = &none;
        t.f.problem = "<b>no</b>";
        t.f.viewer = "<i>";
        frame_begin(&t.f, "A <title>");
        frame_heading(&t.f, "A <title>", NULL);
        put_number(&t.f, NAN, 1);
        put_day(&t.f, INT64_C(1796000000000));
        frame_end(&t.f);
        assert_non_null(strstr(t.out.p, "<title>A &lt;title&gt; · tokgrid</title>"));
        assert_non_null(strstr(t.out.p, "&lt;b&gt;no"));
        assert_non_null(strstr(t.out.p, "&lt;i&gt;"));
        assert_non_null(strstr(t.out.p, "<time datetime=\"2026-11-30T"));
        assert_null(strstr(t.out.p, "<style"));
        assert_null(strstr(t.out.p, " style="));
        assert_null(strstr(t.out.p, "onclick"));
        tear_down(&t);
    }
}

static void test_forms_have_tokens(void **state)
{
    struct rig t;
    (void)state;
    set_up(&t, "en");
    t.f.csrf = "to\"ken";
    put_form(&t.f, "/sign-out", NULL, false);
    assert_non_null(strstr(t.out.p, "<form method=\"post\" action=\"/en/sign-out\">"));
    assert_non_null(strstr(t.out.p, "name=\"csrf\" value=\"to&quot;ken\""));
    tear_down(&t);
}

static void test_languages(void **state)
{
    static const struct {
        const char *header, *code;
    } cases[] = {
        {NULL, "en"},
        {"", "en"},
        {"zh-CN,zh;q=0.9,en;q=0.8", "zh"},
        {"de, en;q=0.5", "en"},
        {"en;q=0.3, zh;q=0.7", "zh"},
        {"zhx", "en"},
        {"*;q=0.1", "en"},
        {"zh;q=bad", "en"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(site_lang_accepted(cases[i].header)->code, cases[i].code);
    assert_null(site_lang_find("zh-CN"));
    assert_null(site_lang_find("../en"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_names_in_paths),
        cmocka_unit_test(test_query_links),   cmocka_unit_test(test_document),
        cmocka_unit_test(test_languages),     cmocka_unit_test(test_forms_have_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
