/* Both directions, every error of the reader, and the schema file against the tables. Reads files
 * relative to the root of the source tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "fill.h"
#include "model/result.h"

static const char minimal[] =
    "{\"schema\": \"tokgrid-run/1\", \"tool\": {\"name\": \"tokgrid\"}, \"kind\": \"measured\","
    " \"subject\": {}, \"prefill\": [], \"decode\": [%s]%s}";

static bool read_text(const char *text, struct result *r, struct err *err)
{
    return result_read_json(text, strlen(text), "run.json", r, err);
}

static void test_full_round_trip(void **state)
{
    struct result a, b;
    struct buf first, second;
    struct err err = {0};
    (void)state;
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    fill_result(&a, "quotes \" and \\ and \xE4\xBD\xA0 and\nnewline");
    assert_true(result_write_json(&a, &first));

    /* the made-up figures break invariants, so below the check */
    json_t *root = json_parse(first.p, first.len, "first", &err);
    assert_non_null(root);
    result_init(&b);
    if (!fields_read(&result_fields, root, &b, &err))
        fail_msg("%s", err.text);
    json_decref(root);
    assert_true(result_write_json(&b, &second));
    assert_string_equal(first.p, second.p);
    assert_string_equal(b.subject.model, a.subject.model);
    assert_int_equal(b.plan.duration_ns, a.plan.duration_ns);
    assert_int_equal(b.decode[1].marks, 5);
    assert_int_equal(b.hardware.gpu_count, 2);
    assert_null(strstr(first.p, "\"uuid\"")); /* private */
    assert_null(b.hardware.gpus[0].uuid);
    result_release(&a);
    result_release(&b);
    buf_release(&first);
    buf_release(&second);
}

static void test_empty_result(void **state)
{
    struct result a, b;
    struct buf first, second;
    struct err err = {0};
    (void)state;
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    result_init(&a);
    mem_set_string(&a.tool.name, "tokgrid");
    mem_set_string(&a.kind, "measured");
    assert_true(result_write_json(&a, &first));
    assert_true(read_text(first.p, &b, &err));
    assert_true(result_write_json(&b, &second));
    assert_string_equal(first.p, second.p);
    assert_true(isnan(b.server.kv_budget));
    result_release(&a);
    result_release(&b);
    buf_release(&second);

    buf_init(&second, 100); /* too small is the only way to fail */
    result_init(&a);
    assert_false(result_write_json(&a, &second));
    buf_release(&first);
    buf_release(&second);
}

static void test_minimal_document(void **state)
{
    char text[512];
    struct result r;
    struct err err = {0};
    (void)state;
    snprintf(text, sizeof text, minimal,
             "{\"context_tokens\": 0, \"concurrency\": 1, \"status\": \"skipped\"}", "");
    if (!read_text(text, &r, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r.decode_count, 1);
    assert_int_equal(r.decode[0].completed, -1);
    assert_true(isnan(r.decode[0].ttft_ms.p50));
    assert_int_equal(r.decode[0].status, STATUS_SKIPPED);
    result_release(&r);
}

#define CELL "\"context_tokens\": 0, \"concurrency\": 1, \"status\": \"skipped\""

static void test_reader_errors(void **state)
{
    static const struct {
        const char *cell, *rest, *error;
    } cases[] = {
        {"", ", \"foo\": 1", "run.json: unknown field 'foo'"},
        {"5", "", "run.json: decode[0]: expected an object, found a number"},
        {"{\"concurrency\": 1}", "", "run.json: decode[0].context_tokens: this field is missing"},
        {"{" CELL ", \"bar\": null}", "", "run.json: decode[0]: unknown field 'bar'"},
        {"{" CELL ", \"total_tok_s\": \"fast\"}", "",
         "run.json: decode[0].total_tok_s: expected a number or null, found a string"},
        {"{" CELL "}, {" CELL ", \"ttft_ms\": {\"p50\": \"x\"}}", "",
         "run.json: decode[1].ttft_ms.p50: expected a number or null, found a string"},
        {"{" CELL ", \"ttft_ms\": 3}", "",
         "run.json: decode[0].ttft_ms: expected an object or null, found a number"},
        {"{" CELL ", \"total_tok_s\": -5}", "",
         "run.json: decode[0].total_tok_s: -5 is outside 0 to 1e+15"},
        {"{" CELL ", \"waiting_share\": 1.5}", "",
         "run.json: decode[0].waiting_share: 1.5 is outside 0 to 1"},
        {"{" CELL ", \"completed\": 1.5}", "",
         "run.json: decode[0].completed: expected a whole number, found 1.5"},
        {"{" CELL ", \"completed\": \"1\"}", "",
         "run.json: decode[0].completed: expected a whole number or null, found a string"},
        {"{" CELL ", \"repeats\": 3000000000}", "",
         "run.json: decode[0].repeats: 3000000000 is outside 0 to 2.14748e+09"},
        {"{" CELL ", \"marks\": [\"unsteady\", \"odd\"]}", "",
         "run.json: decode[0].marks[1]: 'odd' is not one of client_limited, unsteady, cache_hit, "
         "prompt_off, foreign_load, preempted, throttled, retried, inferred, over_capacity, "
         "hidden_tokens, buffered"},
        {"{" CELL ", \"marks\": {}}", "",
         "run.json: decode[0].marks: expected an array, found an object"},
        {"{" CELL ", \"reason\": [1]}", "",
         "run.json: decode[0].reason: expected a string or null, found an array"},
        {"{" CELL ", \"started_at\": \"yesterday\"}", "",
         "run.json: decode[0].started_at: expected a time such as 2026-11-30T10:13:26Z, found "
         "'yesterday'"},
        {"{" CELL ", \"token_source\": \"guess\"}", "",
         "run.json: decode[0].token_source: 'guess' is not one of usage_stream, usage_final, "
         "events"},
        {"{" CELL ", \"ci95\": {\"method\": \"magic\"}}", "",
         "run.json: decode[0].ci95.method: 'magic' is not one of batch_means, t_repeats"},
        {"{" CELL ", \"client\": {\"limited\": 1}}", "",
         "run.json: decode[0].client.limited: expected true or false, found a number"},
        {"{\"context_tokens\": 0, \"concurrency\": 0, \"status\": \"skipped\"}", "",
         "run.json: decode[0].concurrency: 0 is outside 1 to 16384"},
        {"{\"context_tokens\": null, \"concurrency\": 1, \"status\": \"skipped\"}", "",
         "run.json: decode[0].context_tokens: expected a whole number, found null"},
        {"{\"context_tokens\": 0, \"concurrency\": 1, \"status\": \"fine\"}", "",
         "run.json: decode[0].status: 'fine' is not one of valid, queued, over_capacity, looped, "
         "error, skipped"},
        {"{" CELL "}, {" CELL "}", "", "run.json: decode[1] (0 x 1): this cell is there twice"},
        {"", ", \"id\": \"7\"", "run.json: id: expected a UUID, found '7'"},
        {"", ", \"plan\": {\"contexts\": [0, -1]}",
         "run.json: plan.contexts[1]: -1 is outside 0 to 1e+15"},
        {"", ", \"plan\": {\"contexts\": [2, 1]}",
         "run.json: plan: contexts, concurrency and prefill must ascend"},
        {"", ", \"plan\": {\"preset\": \"slow\"}",
         "run.json: plan.preset: 'slow' is not one of quick, standard, full"},
        {"", ", \"plan\": {\"duration_s\": 1e7}",
         "run.json: plan.duration_s: 10000000 is outside 0 to 1e+06"},
        {"", ", \"notes\": [null]", "run.json: notes[0]: expected a string, found null"},
        {"", ", \"telemetry\": 5",
         "run.json: telemetry: expected an object or an array or null, found a number"},
        {"", ", \"telemetry\": [1.7976931348623157e308]",
         "run.json: telemetry: nested deeper than 32 levels, or a number out of range"},
        {"", ", \"engine\": null", "run.json: engine: expected an object, found null"},
        {"", ", \"samples\": {\"blake2b\": \"00\"}",
         "run.json: samples.blake2b: expected 64 hex digits, found '00'"},
        {"", ", \"server\": {\"url\": \"http://me:secret@host:8000/v1\"}",
         "run.json: server.url: a user name or password stands in it"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[1024];
        struct result r;
        struct err err = {0};
        snprintf(text, sizeof text, minimal, cases[i].cell, cases[i].rest);
        assert_false(read_text(text, &r, &err));
        assert_string_equal(err.text, cases[i].error);
        assert_int_equal(err.code, ERR_FORMAT);
    }
}

static void test_top_level_errors(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"[]", "run.json: expected an object, found an array"},
        {"{}", "run.json: schema: this field is missing"},
        {"{\"schema\": 1}", "run.json: schema: expected a string, found a number"},
        {"{\"schema\": \"tokgrid-run/2\", \"new\": 1}",
         "run.json: schema: 'tokgrid-run/2' is not known here: this program reads tokgrid-run/1"},
        {"{\"schema\": \"tokgrid-run/1\"}", "run.json: tool: this field is missing"},
        {"{\n  \"schema\": \"tok",
         "run.json is not valid JSON: line 2, column 16: premature end of input near '\"tok'"},
        {"{\"schema\": \"tokgrid-run/1\", \"schema\": \"tokgrid-run/1\"}",
         "run.json is not valid JSON: line 1, column 36: duplicate object key near '\"schema\"'"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct result r;
        struct err err = {0};
        assert_false(read_text(cases[i].text, &r, &err));
        assert_string_equal(err.text, cases[i].error);
    }
}

static void test_limits(void **state)
{
    struct result r;
    struct err err = {0};
    char text[4096];
    struct buf b;
    (void)state;
    char *big = mem_alloc(RESULT_MAX_BYTES + 2);
    memset(big, ' ', RESULT_MAX_BYTES + 1);
    assert_false(result_read_json(big, RESULT_MAX_BYTES + 1, "run.json", &r, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    free(big);

    buf_init(&b, 1 << 16);
    buf_adds(&b, ", \"telemetry\": ");
    buf_add_repeat(&b, '[', 33);
    buf_add_repeat(&b, ']', 33);
    snprintf(text, sizeof text, minimal, "", b.p);
    assert_false(read_text(text, &r, &err));
    assert_non_null(strstr(err.text, "telemetry: nested deeper"));
    buf_reset(&b);
    buf_adds(&b, ", \"hardware\": {\"gpus\": [{}");
    for (int i = 0; i < 16; i++)
        buf_adds(&b, ",{}");
    buf_adds(&b, "]}");
    snprintf(text, sizeof text, minimal, "", b.p);
    assert_false(read_text(text, &r, &err));
    assert_string_equal(err.text, "run.json: hardware.gpus: more than 16 elements");
    buf_release(&b);
}

/* What a figure may be in memory but not in a document. */
static void test_writer_keeps_the_reader_happy(void **state)
{
    struct result r, back;
    struct cell c;
    struct buf out;
    struct err err = {0};
    (void)state;
    buf_init(&out, 1 << 20);
    result_init(&r);
    mem_set_string(&r.tool.name, "bad \xFF utf-8 \xC2\x9B"
                                 "31m \x1B[0m");
    mem_set_string(&r.kind, "measured");
    mem_set_string(&r.engine.flags, "not json");
    mem_set_string(&r.telemetry, "{\"watt\": [1, 2.5]}");
    r.run.idle_ttft_ms = INFINITY;
    cell_init(&c, 0, 1);
    c.total_tok_s = 1e300;
    c.waiting_share = 1.0000000001;
    c.client.cpu_pct = -1e-9;
    c.ready_s = 0.1 + 0.2;
    c.drain_s = 3;
    result_add_cell_take(&r, &c);
    assert_true(result_write_json(&r, &out));
    assert_null(strchr(out.p, 0x1B));
    assert_null(strstr(out.p, "\xC2\x9B"));
    assert_non_null(strstr(out.p, "\"ready_s\": 0.3,"));
    assert_non_null(strstr(out.p, "\"drain_s\": 3,"));
    if (!read_text(out.p, &back, &err))
        fail_msg("%s", err.text);
    assert_string_equal(back.tool.name, "bad \xEF\xBF\xBD utf-8 \xEF\xBF\xBD"
                                        "31m \x1B[0m");
    assert_null(back.engine.flags);
    assert_string_equal(back.telemetry, "{\"watt\":[1,2.5]}");
    assert_true(isnan(back.run.idle_ttft_ms));
    assert_float_equal(back.decode[0].total_tok_s, 1e15, 1);
    assert_float_equal(back.decode[0].waiting_share, 1, 0);
    assert_float_equal(back.decode[0].client.cpu_pct, 0, 0);
    result_release(&r);
    result_release(&back);
    buf_release(&out);
}

/* The schema file */

static json_t *schema;

static json_t *properties_of(const struct field_table *t)
{
    char path[80];
    if (t == &result_fields)
        return json_at(schema, "properties");
    snprintf(path, sizeof path, "$defs.%s.properties", t->name);
    return json_at(schema, path);
}

static bool is_required(const struct field_table *t, const char *name)
{
    char path[80] = "required";
    size_t i;
    json_t *v;
    if (t != &result_fields)
        snprintf(path, sizeof path, "$defs.%s.required", t->name);
    json_array_foreach(json_at(schema, path), i,
                       v) if (strcmp(json_string_value(v), name) == 0) return true;
    return false;
}

/* enum of a property, of its items, or of the definition that either refers to */
static json_t *enum_of(json_t *property)
{
    json_t *p = property;
    const char *ref = json_string_at(p, "$ref");
    if (ref) {
        char path[80];
        snprintf(path, sizeof path, "$defs.%s", ref + strlen("#/$defs/"));
        p = json_at(schema, path);
    }
    json_t *words = json_at(p, "enum");
    return words ? words : json_at(p, "items.enum");
}

static void check_words(const struct field *f, json_t *property)
{
    json_t *words = enum_of(property);
    size_t n = 0;
    for (; f->words[n]; n++)
        assert_string_equal(json_string_value(json_array_get(words, n)), f->words[n]);
    json_t *rest = json_array_get(words, n); /* null, where it is allowed */
    assert_true(rest == NULL || json_is_null(rest));
    assert_true(json_array_size(words) <= n + 1);
}

static void check_range(const struct field *f, json_t *property)
{
    double low = NAN, high = NAN;
    assert_true(json_number_at(property, "minimum", &low));
    assert_true(json_number_at(property, "maximum", &high));
    assert_float_equal(low, f->min, 0);
    assert_float_equal(high, field_max(f), 0);
}

static void check_table(const struct field_table *t)
{
    json_t *properties = properties_of(t);
    size_t shown = 0;
    if (!properties)
        fail_msg("the schema does not define %s", t->name);
    for (size_t i = 0; i < t->count; i++) {
        const struct field *f = &t->rows[i];
        json_t *p = json_object_get(properties, f->name);
        if (f->flags & FIELD_PRIVATE) {
            assert_null(p);
            continue;
        }
        shown++;
        if (!p)
            fail_msg("the schema lacks %s.%s", t->name, f->name);
        if (!json_string_at(p, "description"))
            fail_msg("the schema does not describe %s.%s", t->name, f->name);
        assert_int_equal(is_required(t, f->name), (f->flags & FIELD_REQUIRED) != 0);
        if (f->kind == FIELD_CONST)
            assert_string_equal(json_string_at(p, "const"), f->words[0]);
        else if (f->words)
            check_words(f, p);
        if (f->kind == FIELD_NUMBER || f->kind == FIELD_INT || f->kind == FIELD_I64 ||
            f->kind == FIELD_SECONDS)
            check_range(f, p);
        if (f->kind == FIELD_STRUCT)
            check_table(f->table);
        if (f->kind == FIELD_LIST && f->list->item.kind == FIELD_STRUCT)
            check_table(f->list->item.table);
    }
    assert_int_equal(json_object_size(properties), shown);
}

static void test_schema_agrees_with_the_tables(void **state)
{
    struct buf b;
    struct err err = {0};
    (void)state;
    buf_init(&b, 1 << 20);
    if (!file_read("schema/tokgrid-run-1.schema.json", &b, &err))
        fail_msg("%s", err.text);
    schema = json_parse(b.p, b.len, "schema", &err);
    if (!schema)
        fail_msg("%s", err.text);
    check_table(&result_fields);
    json_decref(schema);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_round_trip),
        cmocka_unit_test(test_empty_result),
        cmocka_unit_test(test_minimal_document),
        cmocka_unit_test(test_reader_errors),
        cmocka_unit_test(test_top_level_errors),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_writer_keeps_the_reader_happy),
        cmocka_unit_test(test_schema_agrees_with_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
