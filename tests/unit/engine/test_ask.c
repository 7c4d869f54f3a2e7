/* test_ask.c - what a request asks for, and each way in which it can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ask.h"

static const struct ask_rules strict = {
    .served_model = "m", .context_limit = 100, .text_max_output = 16, .checks_model = true};
static const struct ask_rules lenient = {
    .served_model = "m", .context_limit = 100, .trims_output = true, .negative_is_all = true};

static struct tokens storage;
static struct token_memo memo;

/* Read a request; a chat when it has messages. The complaint is kept by the caller. */
static bool read_with(const struct ask_rules *rules, const char *json, struct ask *ask,
                      struct complaint *c)
{
    struct body body;
    struct err err;
    enum endpoint endpoint = strstr(json, "\"prompt\"") ? ENDPOINT_TEXT : ENDPOINT_CHAT;
    if (!body_read(json, strlen(json), 1000, &body, &err))
        fail_msg("%s: %s", json, err.text);
    bool ok = ask_read(&body, endpoint, rules, &storage, &memo, ask, c);
    body_release(&body);
    return ok;
}

static struct ask good(const struct ask_rules *rules, const char *json)
{
    struct ask ask;
    struct complaint c;
    if (!read_with(rules, json, &ask, &c))
        fail_msg("%s: complaint %d about %s: %s", json, (int)c.kind, c.param, c.text);
    return ask;
}

#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]"

static void fields_are_read(void **state)
{
    (void)state;
    struct ask ask = good(&strict, "{\"model\":\"m\"," HI ",\"stream\":true,\"stream_options\":{"
                                   "\"include_usage\":true,\"continuous_usage_stats\":true},"
                                   "\"max_tokens\":7,\"ignore_eos\":true,\"seed\":3,\"x\":[1]}");
    assert_true(ask.stream && ask.include_usage && ask.continuous_usage && ask.ignore_eos);
    assert_int_equal(ask.max_output, 7);
    assert_true(ask.has_seed);
    assert_int_equal(ask.seed, 3);
    assert_int_equal(ask.prompt.n, 10); /* start user \n Hi end \n start assist ant \n */

    ask = good(&strict, "{" HI ",\"max_tokens\":null,\"stream\":null,\"seed\":null}");
    assert_false(ask.stream || ask.include_usage || ask.ignore_eos || ask.has_seed);
    assert_int_equal(ask.max_output, 90);
    assert_int_equal(good(&strict, "{" HI ",\"max_completion_tokens\":5.0}").max_output, 5);
    assert_int_equal(good(&strict, "{" HI ",\"max_tokens\":5,\"min_tokens\":9}").min_output, 5);
    assert_string_equal(good(&strict, "{" HI ",\"rid\":\"a-1\"}").id, "a-1");
    assert_string_equal(good(&strict, "{" HI ",\"rid\":\"a\\\"b\"}").id, "");
}

static void prompts_come_in_several_forms(void **state)
{
    (void)state;
    assert_int_equal(good(&strict, "{\"prompt\":\"one two\"}").prompt.n, 2);
    assert_int_equal(good(&strict, "{\"prompt\":\"one two\"}").max_output, 16);
    assert_int_equal(good(&strict, "{\"prompt\":[\"one two\"]}").prompt.n, 2);
    assert_int_equal(good(&strict, "{\"prompt\":[5,6,7]}").prompt.n, 3);
    assert_int_equal(good(&strict, "{\"prompt\":[[5,6,7]]}").prompt.n, 3);
    assert_int_equal(good(&strict, "{\"messages\":[{\"role\":\"system\",\"content\":null},"
                                   "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                                   "\"a b\"},{\"type\":\"text\",\"text\":\" c\"}]}]}")
                         .prompt.n,
                     5 + 5 + 3 + 4);
}

static void limits(void **state)
{
    struct ask ask;
    struct complaint c;
    (void)state;
    assert_int_equal(good(&strict, "{" HI ",\"max_tokens\":90}").max_output, 90);
    assert_false(read_with(&strict, "{" HI ",\"max_tokens\":91}", &ask, &c));
    assert_int_equal(c.kind, COMPLAINT_TOO_LONG);
    assert_int_equal(c.prompt_tokens, 10);
    assert_int_equal(c.max_output, 91);
    assert_int_equal(c.limit, 100);
    assert_int_equal(good(&lenient, "{" HI ",\"max_tokens\":91}").max_output, 90);
    assert_int_equal(good(&lenient, "{" HI ",\"max_tokens\":-1}").max_output, 90);
    struct ask_rules bounded = lenient;
    bounded.bounds_output = true;
    assert_int_equal(good(&bounded, "{" HI ",\"max_tokens\":100}").max_output, 90);
    assert_false(read_with(&bounded, "{" HI ",\"max_tokens\":101}", &ask, &c));
    assert_int_equal(c.kind, COMPLAINT_VALUE);

    struct buf text;
    buf_init(&text, 4096);
    buf_adds(&text, "{\"prompt\":\"");
    for (int i = 0; i < 100; i++)
        buf_adds(&text, " w");
    buf_adds(&text, "\"}");
    assert_false(read_with(&lenient, text.p, &ask, &c));
    assert_int_equal(c.kind, COMPLAINT_TOO_LONG);
    assert_int_equal(c.prompt_tokens, 100);
    assert_int_equal(c.max_output, -1);
    buf_release(&text);
}

static void each_wrong_request_has_its_complaint(void **state)
{
    static const struct {
        const char *json;
        enum complaint_kind kind;
        const char *param;
    } rows[] = {
        {"[]", COMPLAINT_TYPE, "body"},
        {"3", COMPLAINT_TYPE, "body"},
        {"{}", COMPLAINT_MISSING, "messages"},
        {"{\"messages\":null}", COMPLAINT_MISSING, "messages"},
        {"{\"messages\":\"x\"}", COMPLAINT_TYPE, "messages"},
        {"{\"messages\":[]}", COMPLAINT_VALUE, "messages"},
        {"{\"messages\":[1]}", COMPLAINT_TYPE, "messages.role"},
        {"{\"messages\":[{\"role\":4}]}", COMPLAINT_TYPE, "messages.role"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":4}]}", COMPLAINT_TYPE, "messages.content"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
         COMPLAINT_VALUE, "messages.content"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[5]}]}", COMPLAINT_VALUE,
         "messages.content"},
        {"{" HI ",\"model\":\"other\"}", COMPLAINT_MODEL, "model"},
        {"{" HI ",\"model\":5}", COMPLAINT_TYPE, "model"},
        {"{" HI ",\"stream\":\"yes\"}", COMPLAINT_TYPE, "stream"},
        {"{" HI ",\"stream_options\":[]}", COMPLAINT_TYPE, "stream_options"},
        {"{" HI ",\"stream_options\":{\"include_usage\":1}}", COMPLAINT_TYPE,
         "stream_options.include_usage"},
        {"{" HI ",\"max_tokens\":\"x\"}", COMPLAINT_TYPE, "max_tokens"},
        {"{" HI ",\"max_tokens\":1.5}", COMPLAINT_TYPE, "max_tokens"},
        {"{" HI ",\"max_tokens\":1e300}", COMPLAINT_TYPE, "max_tokens"},
        {"{" HI ",\"max_tokens\":0}", COMPLAINT_VALUE, "max_tokens"},
        {"{" HI ",\"max_tokens\":-1}", COMPLAINT_VALUE, "max_tokens"},
        {"{" HI ",\"max_tokens\":-9223372036854775807}", COMPLAINT_VALUE, "max_tokens"},
        {"{" HI ",\"max_tokens\":9223372036854775807}", COMPLAINT_VALUE, "max_tokens"},
        {"{" HI ",\"n\":2}", COMPLAINT_VALUE, "n"},
        {"{" HI ",\"temperature\":\"hot\"}", COMPLAINT_TYPE, "temperature"},
        {"{" HI ",\"seed\":{}}", COMPLAINT_TYPE, "seed"},
        {"{\"prompt\":null}", COMPLAINT_MISSING, "prompt"},
        {"{\"prompt\":\"\"}", COMPLAINT_VALUE, "prompt"},
        {"{\"prompt\":[]}", COMPLAINT_VALUE, "prompt"},
        {"{\"prompt\":[\"a\",\"b\"]}", COMPLAINT_VALUE, "prompt"},
        {"{\"prompt\":[1,\"b\"]}", COMPLAINT_TYPE, "prompt"},
        {"{\"prompt\":[-1]}", COMPLAINT_TYPE, "prompt"},
        {"{\"prompt\":{}}", COMPLAINT_TYPE, "prompt"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ask ask;
        struct complaint c = {0};
        if (read_with(&strict, rows[i].json, &ask, &c))
            fail_msg("%s is taken", rows[i].json);
        if (c.kind != rows[i].kind || strcmp(c.param, rows[i].param) != 0)
            fail_msg("%s: complaint %d about %s: %s", rows[i].json, (int)c.kind, c.param, c.text);
    }
}

static int release(void **state)
{
    (void)state;
    tokens_release(&storage);
    token_memo_release(&memo);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read),
        cmocka_unit_test(prompts_come_in_several_forms),
        cmocka_unit_test(limits),
        cmocka_unit_test(each_wrong_request_has_its_complaint),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
