/* The calls of the API: rows are whole, and what is made of them is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "site/api_operations.h"
#include "site/openapi.h"

static const struct route *route_of(const struct operation *op)
{
    for (size_t i = 0; i < route_count; i++)
        if (routes[i].api == op)
            return &routes[i];
    return NULL;
}

/* Every row has an id of its own and an answer; what is limited by user has one; each part of a
 * path is described. */
static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct operation *op = routes[i].api;
        const struct api_param *path[ROUTE_MAX_ARGS];
        struct api_refusal refusals[OPERATION_REFUSALS];
        size_t parts = 0;
        if (!op)
            continue;
        assert_true(text_starts(routes[i].path, API_ROOT "/"));
        assert_ptr_equal(route_of(op), &routes[i]);
        assert_true(op->answers[0].status >= 200);
        assert_true(op->limit == LIMIT_NONE || api_limits[op->limit].by_address ||
                    routes[i].need == NEED_KEY);
        assert_true(op->limit != LIMIT_NONE || routes[i].method == METHOD_GET ||
                    op == &operation_calculate_body);
        assert_true(!(op->flags & TAKES_RUN) == !(routes[i].flags & ROUTE_UPLOAD));
        for (const char *p = routes[i].path; (p = strchr(p, '{')); p++)
            parts++;
        assert_int_equal(operation_path_params(&routes[i], path), parts);
        size_t n = operation_refusals(&routes[i], refusals);
        for (size_t k = 1; k < n; k++)
            assert_true(refusals[k - 1].status < refusals[k].status);
    }
}

static void assert_curl(const struct operation *op, const char *expected)
{
    struct buf b;
    buf_init(&b, 4096);
    operation_curl(route_of(op), "https://x.example", &b);
    assert_string_equal(b.p, expected);
    buf_release(&b);
}

static void test_examples(void **state)
{
    (void)state;
    assert_curl(&operation_runs, "curl 'https://x.example/api/v1/runs?limit=20'");
    assert_curl(&operation_run_create,
                "curl -H \"Authorization: Bearer $TOKGRID_KEY\" \\\n"
                "     -H \"Content-Type: application/json\" --data-binary @run.json \\\n"
                "     'https://x.example/api/v1/runs'");
    assert_curl(&operation_key_delete, "curl -X DELETE -H \"Authorization: Bearer $TOKGRID_KEY\" "
                                       "'https://x.example/api/v1/keys/1'");
    assert_curl(&operation_key_create, "curl -H \"Authorization: Bearer $TOKGRID_KEY\" \\\n"
                                       "     -H \"Content-Type: application/json\" \\\n"
                                       "     -d '{\"label\": \"bench-box\"}' \\\n"
                                       "     'https://x.example/api/v1/keys'");
}

/* Every reference leads somewhere. */
static void check_refs(json_t *document, json_t *node, size_t *count)
{
    static const char root[] = "#/components/";
    const char *name, *ref = json_string_value(json_object_get(node, "$ref"));
    json_t *child;
    size_t i;
    if (ref) {
        assert_true(text_starts(ref, root));
        const char *rest = ref + sizeof root - 1, *slash = strchr(rest, '/');
        assert_non_null(slash);
        bool schema = text_starts(rest, "schemas/");
        json_t *from = json_at(document, schema ? "components.schemas" : "components.headers");
        if (!json_object_get(from, slash + 1))
            fail_msg("%s leads nowhere", ref);
        (*count)++;
    }
    json_object_foreach(node, name, child) check_refs(document, child, count);
    json_array_foreach(node, i, child) check_refs(document, child, count);
}

static void test_document(void **state)
{
    json_t *document = openapi_document();
    size_t refs = 0, operations = 0, calls = 0;
    const char *path, *verb;
    json_t *item, *row;
    (void)state;
    assert_string_equal(json_string_at(document, "openapi"), "3.1.0");
    check_refs(document, document, &refs);
    assert_true(refs > 100);
    json_object_foreach(json_at(document, "paths"), path, item)
    {
        json_object_foreach(item, verb, row) operations +=
            json_object_get(row, "responses") != NULL;
    }
    for (size_t i = 0; i < route_count; i++)
        calls += routes[i].api != NULL;
    assert_int_equal(operations, calls);
    /* the run's document keeps nothing of an address of its own */
    json_t *run = json_at(document, "components.schemas.RunDocument");
    assert_non_null(run);
    assert_null(json_object_get(run, "$id"));
    assert_null(json_object_get(run, "$defs"));
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
