/* The route table: every row can be reached, reads what it should, and tells apart what it is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "site/routes.h"

static void find(const char *target, enum request_method method, struct request *r,
                 struct route_match *ret)
{
    struct err err;
    request_init(r);
    r->method = method;
    assert_true(request_parse_target(r, target, &err));
    routes_find(r, ret);
}

static void test_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        struct buf target;
        buf_init(&target, 200);
        for (const char *p = routes[i].path; *p;) {
            if (text_starts(p, "{lang}")) {
                buf_adds(&target, "zh");
                p += 6;
            } else if (*p == '{') {
                buf_adds(&target, "x");
                p += strcspn(p, "}") + 1;
            } else {
                buf_addc(&target, *p++);
            }
        }
        struct request r;
        struct route_match m;
        find(target.p, routes[i].method, &r, &m);
        assert_ptr_equal(m.route, &routes[i]);
        assert_true(m.arg_count <= ROUTE_MAX_ARGS);
        request_release(&r);
        buf_release(&target);
    }
}

/* What changes something is a form with a token, or takes a key. */
static void test_changes_are_guarded(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        bool api = route->flags & ROUTE_API;
        assert_true(api == text_starts(route->path, "/api/"));
        assert_non_null(route->handle);
        assert_true(api == (route->api != NULL));
        if (route->method != METHOD_GET && !api)
            assert_true(route->flags & ROUTE_FORM);
        if (route->method != METHOD_GET && api && !text_starts(route->path, "/api/v1/device/") &&
            strcmp(route->path, "/api/v1/calculator") != 0)
            assert_int_equal(route->need, NEED_KEY);
    }
}

/* What a user does by a form is limited as it is by the API; signing out is free, and the code of a
 * device has a limit of its own. */
static void test_forms_are_limited(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        bool form = (route->flags & ROUTE_FORM) && route->need == NEED_USER &&
                    !text_ends(route->path, "/sign-out") && !text_ends(route->path, "/device");
        assert_int_equal(form, route->limit != LIMIT_NONE);
    }
}

static void test_others(void **state)
{
    static const struct {
        const char *target;
        enum request_method method;
        const char *allow, *lang;
    } cases[] = {
        {"/en/nothing", METHOD_GET, "", "en"},
        {"/zh/nothing/x", METHOD_POST, "", "zh"},
        {"/de/runs", METHOD_GET, "", NULL},
        {"/EN/runs", METHOD_GET, "", NULL},
        {"/en/runs", METHOD_POST, "GET, HEAD", "en"},
        {"/", METHOD_DELETE, "GET, HEAD", NULL},
        {"/api/v1/runs", METHOD_PATCH, "POST, GET, HEAD", NULL},
        {"/en/sign-in", METHOD_OTHER, "GET, HEAD, POST", "en"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request r;
        struct route_match m;
        find(cases[i].target, cases[i].method, &r, &m);
        assert_null(m.route);
        assert_string_equal(m.allow, cases[i].allow);
        if (cases[i].lang)
            assert_string_equal(m.lang->code, cases[i].lang);
        else
            assert_null(m.lang);
        request_release(&r);
    }
}

/* A row with an end takes only what ends so; the whole segment is its argument. */
static void test_ends(void **state)
{
    static const struct {
        const char *target, *path;
    } cases[] = {
        {"/en/runs/abc.svg", "/{lang}/runs/{uid}.svg"},
        {"/runs/abc.svg", "/runs/{uid}.svg"},
        {"/en/runs/.svg", "/{lang}/runs/{uid}.svg"},
        {"/en/runs/abc", "/{lang}/runs/{uid}"},
        {"/en/runs/abcsvg", "/{lang}/runs/{uid}"},
        {"/en/runs/svg", "/{lang}/runs/{uid}"},
        {"/runs/abc", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request r;
        struct route_match m;
        find(cases[i].target, METHOD_GET, &r, &m);
        if (!cases[i].path) {
            assert_null(m.route);
        } else {
            assert_string_equal(m.route->path, cases[i].path);
            assert_string_equal(m.args[0], strrchr(cases[i].target, '/') + 1);
        }
        request_release(&r);
    }
}

static void test_arguments(void **state)
{
    struct request r;
    struct route_match m;
    (void)state;
    find("/en/models/Qwen/Qwen3.5-27B", METHOD_GET, &r, &m);
    assert_int_equal(m.arg_count, 2);
    assert_string_equal(m.args[0], "Qwen");
    assert_string_equal(m.args[1], "Qwen3.5-27B");
    request_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_changes_are_guarded),
        cmocka_unit_test(test_forms_are_limited),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
