/* Moderators' pages and what others see of them: every value is text, every form has its token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "site/report_reasons.h"
#include "site/site_pages.h"

static char hostile[] = "\"><script>alert(1)</script>\xE2\x80\xAE";
static char uid[] = "01939b3e-7c00-7000-8000-000000000001";

struct rig {
    struct buf out;
    struct frame f;
    struct site_assets assets;
    struct params query;
};

static void set_up(struct rig *t, const struct site_lang *l)
{
    *t = (struct rig){0};
    buf_init(&t->out, 1 << 20);
    site_assets_init(&t->assets);
    frame_init(&t->f, l, &t->out);
    t->f.assets = &t->assets;
    t->f.query = &t->query;
    t->f.csrf = "the-token";
    t->f.viewer = "mod";
    t->f.viewer_is_admin = true;
    t->f.path = "/admin";
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

/* As many tokens as forms that change something, and nothing of the hostile text as markup. */
static void tear_down(struct rig *t)
{
    assert_int_equal(count(t->out.p, "method=\"post\""), count(t->out.p, "the-token"));
    assert_null(strstr(t->out.p, "<script>alert"));
    assert_null(strstr(t->out.p, "\xE2\x80\xAE"));
    assert_null(strstr(t->out.p, " style="));
    frame_release(&t->f);
    site_assets_release(&t->assets);
    params_release(&t->query);
    buf_release(&t->out);
}

static const struct store_run run = {
    .uid = uid,
    .state = STORE_RUN_FLAGGED,
    .created_ms = INT64_C(1796000000000),
    .owner_name = hostile,
    .title = hostile,
    .kind = hostile,
    .single_tok_s = NAN,
    .total_tok_s = NAN,
    .prefill_tok_s = NAN,
    .ttft_ms = NAN,
};

static void test_queue(void **state)
{
    struct store_flag flags[] = {
        {"above_bound", hostile, 16384, 4},
        {"above_bound", hostile, 8192, 0},
        {STORE_FLAG_MODERATOR, hostile, -1, 0},
        {"odd", hostile, -1, 0},
    };
    struct store_report reports[] = {
        {.id = 7, .run_uid = uid, .reason = "spam", .text = hostile, .reporter = hostile},
        {.id = 8, .run_uid = uid, .reason = hostile, .text = ""},
    };
    struct store_queue_row row = {.run = run, .flag_count = 4, .report_count = 2};
    (void)state;
    for (size_t i = 0; site_langs[i]; i++) {
        struct admin_page p = {.queue = {.v = &row, .n = 1, .next = "more"}};
        p.parts = mem_alloc(sizeof *p.parts);
        p.parts->flags = (struct store_flags){flags, ARRAY_LEN(flags)};
        p.parts->reports = (struct store_reports){.v = reports, .n = ARRAY_LEN(reports)};
        struct rig t;
        set_up(&t, site_langs[i]);
        t.f.waiting = 1234;
        page_admin_write(&t.f, &p);
        assert_non_null(strstr(t.out.p, "#c-16k-4\">"));
        assert_non_null(strstr(t.out.p, "#c-8k-1\">"));
        assert_non_null(strstr(t.out.p, "<b>1,234</b>"));
        assert_non_null(strstr(t.out.p, "/admin/reports/7\""));
        assert_non_null(strstr(t.out.p, "after=more"));
        assert_int_equal(count(t.out.p, "name=\"decision\""), 4);
        tear_down(&t);
        free(p.parts);
    }
}

static void test_empty_queue(void **state)
{
    const struct admin_page p = {0};
    struct rig t;
    (void)state;
    set_up(&t, site_langs[0]);
    page_admin_write(&t.f, &p);
    assert_non_null(strstr(t.out.p, "Nothing is waiting."));
    assert_null(strstr(t.out.p, "class=\"count\""));
    tear_down(&t);
    set_up(&t, site_langs[0]);
    t.f.viewer_is_admin = false;
    t.f.path = "/runs";
    frame_begin(&t.f, "x");
    assert_null(strstr(t.out.p, "/admin"));
    tear_down(&t);
}

static void test_users(void **state)
{
    struct store_user users[] = {
        {.name = "ada", .admin = true, .has_password = true, .created_ms = 1},
        {.name = hostile, .disabled = true},
        {.name = "bob", .has_password = true},
    };
    const struct admin_users_page p = {.prefix = hostile, .users = {.v = users, .n = 3}};
    (void)state;
    for (size_t i = 0; site_langs[i]; i++) {
        struct rig t;
        set_up(&t, site_langs[i]);
        page_admin_users_write(&t.f, &p);
        assert_int_equal(count(t.out.p, "value=\"disable\""), 2);
        assert_int_equal(count(t.out.p, "value=\"enable\""), 1);
        assert_int_equal(count(t.out.p, "value=\"no-moderator\""), 1);
        assert_int_equal(count(t.out.p, "value=\"moderator\""), 2);
        tear_down(&t);
    }
}

static void test_audit(void **state)
{
    struct store_audit_row rows[] = {
        {.id = 1,
         .at_ms = INT64_C(1796000000000),
         .actor = hostile,
         .address = hostile,
         .action = "run.review",
         .target = uid,
         .detail = hostile},
        {.id = 2, .action = hostile, .target = hostile},
        {.id = 3, .action = "user.admin", .target = "ada"},
    };
    const struct admin_audit_page p = {
        .filter = {.target = hostile, .action = "run.review", .user = hostile},
        .log = {.v = rows, .n = ARRAY_LEN(rows)},
    };
    (void)state;
    for (size_t i = 0; site_langs[i]; i++) {
        struct rig t;
        set_up(&t, site_langs[i]);
        page_admin_audit_write(&t.f, &p);
        assert_non_null(strstr(t.out.p, "value=\"run.review\" selected"));
        assert_non_null(strstr(t.out.p, "/users/ada\""));
        assert_non_null(strstr(t.out.p, "/runs/01939b3e-7c00-7000-8000-000000000001\""));
        tear_down(&t);
    }
}

static void test_setups(void **state)
{
    struct store_setup setups[] = {
        {.id = 1,
         .name = hostile,
         .is_default = true,
         .body = "{\"engine\": \"<b>vllm\", \"launch_command\": \"a \\\\\\n  b <i>\", \"x\": [1]}"},
        {.id = 2, .name = "two", .body = "no JSON"},
        {.id = 3, .name = "three", .body = "[]"},
    };
    const struct store_setups list = {setups, ARRAY_LEN(setups)};
    (void)state;
    for (size_t i = 0; site_langs[i]; i++) {
        struct rig t;
        set_up(&t, site_langs[i]);
        put_setups(&t.f, &list);
        assert_non_null(strstr(t.out.p, "&lt;b&gt;vllm"));
        assert_non_null(strstr(t.out.p, "a \\\n  b &lt;i&gt;"));
        assert_int_equal(count(t.out.p, "value=\"default\""), 2);
        assert_int_equal(count(t.out.p, "value=\"delete\""), 3);
        tear_down(&t);
    }
}

/* What a title holds ends neither the link of the Markdown nor the attribute of the head. */
static void test_shared(void **state)
{
    static char title[] = "a](http://evil) [b\\ \"><script>alert(1)</script>";
    struct run_page p = {.run = run, .origin = "https://example.org"};
    struct result r;
    struct rig t;
    (void)state;
    result_init(&r);
    p.run.title = title;
    p.run.owner_name = "ada";
    p.run.hardware_title = "2x RTX 3090 24GB";
    p.result = &r;
    set_up(&t, site_langs[0]);
    assert_true(page_run_write(&t.f, &p));
    assert_non_null(strstr(t.out.p, "[![a\\](http://evil) \\[b\\\\"));
    assert_non_null(strstr(t.out.p, "](https://example.org/en/runs/01939b3e-7c00-7000-8000-"
                                    "000000000001.svg)]("));
    assert_non_null(strstr(t.out.p, "content=\"Flagged: "));
    tear_down(&t);
    p.run.state = STORE_RUN_WITHDRAWN;
    set_up(&t, site_langs[0]);
    assert_true(page_run_write(&t.f, &p));
    assert_null(strstr(t.out.p, "og:image"));
    assert_null(strstr(t.out.p, "[!["));
    tear_down(&t);
    result_release(&r);
}

static void test_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < report_reason_count; i++)
        assert_ptr_equal(report_reason_find(report_reasons[i].name), &report_reasons[i]);
    assert_null(report_reason_find(""));
    assert_null(report_reason_find("Spam"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue),   cmocka_unit_test(test_empty_queue),
        cmocka_unit_test(test_users),   cmocka_unit_test(test_audit),
        cmocka_unit_test(test_setups),  cmocka_unit_test(test_shared),
        cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
