/* Tables of answers: what is written for each kind, what does not exist, and the schema of both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "site/api_table.h"

enum colour { RED, GREEN };
static const char *const colours[] = {"red", "green", NULL};

struct wheel {
    int spokes;
};
struct cart {
    const char *name, *extra;
    char tag[8];
    int load;
    int64_t bytes, seen_ms;
    double speed;
    bool new;
    enum colour colour;
    const char *const *notes;
    const char *papers;
    struct wheel spare, *wheels;
    size_t wheel_count;
};

#define OF struct wheel
static const struct api_field wheel_fields[] = {
    ROW(spokes, "spokes", API_INT, API_ZERO_NULL, NULL)};
#undef OF
static const struct api_object wheel = TABLE("Wheel", struct wheel, wheel_fields, NULL);

#define OF struct cart
static const struct api_field cart_fields[] = {
    ROW(name, "name", API_TEXT, API_NULL, "Its name."),
    ROW(extra, "extra", API_TEXT, API_ABSENT, NULL),
    ROW(tag, "tag", API_CHARS, API_NULL, NULL),
    ROW(load, "load", API_INT, API_MINUS_NULL, NULL),
    ROW(bytes, "bytes", API_I64, 0, NULL),
    ROW(seen_ms, "seen_at", API_TIME, API_NULL, NULL),
    ROW(speed, "speed", API_NUMBER, API_NULL, NULL),
    ROW(new, "new", API_BOOL, 0, NULL),
    ROW_CHOICE(colour, "colour", colours, NULL),
    ROW(notes, "notes", API_TEXTS, 0, NULL),
    ROW(papers, "papers", API_JSON, API_NULL, NULL),
    ROW_OBJECT(spare, "spare", &wheel, NULL),
    ROW_LIST(wheels, wheel_count, "wheels", &wheel, NULL),
};
#undef OF
static const struct api_object cart = TABLE("Cart", struct cart, cart_fields, "Goes on wheels.");

static void assert_json(json_t *got, const char *expected)
{
    char *text = json_dumps(got, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(got);
}

static void test_values(void **state)
{
    static const char *const notes[] = {"a", "b", NULL};
    struct wheel wheels[] = {{8}, {0}};
    const struct cart full = {.name = "x",
                              .extra = "y",
                              .tag = "t",
                              .load = 0,
                              .bytes = INT64_C(1) << 40,
                              .seen_ms = 1000,
                              .speed = 0.5,
                              .new = true,
                              .colour = GREEN,
                              .notes = notes,
                              .papers = "{\"a\": [1]}",
                              .spare = {3},
                              .wheels = wheels,
                              .wheel_count = 2};
    (void)state;
    assert_json(api_write(&cart, &full),
                "{\"name\":\"x\",\"extra\":\"y\",\"tag\":\"t\",\"load\":0,\"bytes\":1099511627776,"
                "\"seen_at\":\"1970-01-01T00:00:01Z\",\"speed\":0.5,\"new\":true,"
                "\"colour\":\"green\",\"notes\":[\"a\",\"b\"],\"papers\":{\"a\":[1]},"
                "\"spare\":{\"spokes\":3},\"wheels\":[{\"spokes\":8},{\"spokes\":null}]}");
}

/* Null where there is nothing, and where what there is cannot stand in JSON. */
static void test_nothing(void **state)
{
    static const double speeds[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(speeds); i++) {
        const struct cart none = {.name = i ? "\xff\xfe" : NULL,
                                  .load = -1,
                                  .speed = speeds[i],
                                  .papers = i ? "{" : NULL};
        assert_json(api_write(&cart, &none),
                    "{\"name\":null,\"tag\":null,\"load\":null,\"bytes\":0,\"seen_at\":null,"
                    "\"speed\":null,\"new\":false,\"colour\":\"red\",\"notes\":[],\"papers\":null,"
                    "\"spare\":{\"spokes\":null},\"wheels\":[]}");
    }
}

static void test_begins_with(void **state)
{
    static const struct api_field more[] = {
        {.name = "late", .kind = API_BOOL, .offset = offsetof(struct cart, new)}};
    static const struct api_object later = {
        .name = "Later", .begins_with = &wheel, .fields = more, .count = 1};
    const struct cart c = {.new = true};
    (void)state;
    assert_json(api_write(&later, &c), "{\"spokes\":null,\"late\":true}");
    assert_json(api_schema(&later),
                "{\"type\":\"object\",\"additionalProperties\":false,"
                "\"required\":[\"spokes\",\"late\"],\"properties\":{"
                "\"spokes\":{\"type\":[\"integer\",\"null\"]},\"late\":{\"type\":\"boolean\"}}}");
}

static void test_schema(void **state)
{
    static const struct {
        const char *at, *expected;
    } cases[] = {
        {"properties.name", "{\"type\":[\"string\",\"null\"],\"description\":\"Its name.\"}"},
        {"properties.extra", "{\"type\":\"string\"}"},
        {"properties.load", "{\"type\":[\"integer\",\"null\"]}"},
        {"properties.seen_at", "{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}"},
        {"properties.colour", "{\"type\":\"string\",\"enum\":[\"red\",\"green\"]}"},
        {"properties.notes", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
        {"properties.spare", "{\"$ref\":\"#/components/schemas/Wheel\"}"},
        {"properties.wheels",
         "{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Wheel\"}}"},
    };
    json_t *schema = api_schema(&cart);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_json(json_incref(json_at(schema, cases[i].at)), cases[i].expected);
    assert_string_equal(json_string_at(schema, "description"), "Goes on wheels.");
    assert_int_equal(json_array_size(json_at(schema, "required")), cart.count - 1);
    assert_true(json_is_false(json_at(schema, "additionalProperties")));
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_begins_with),
        cmocka_unit_test(test_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
