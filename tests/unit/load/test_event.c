/* test_event.c - payloads as servers send them against what they say, by the fast reader and by the
 * full one; error bodies; escapes; ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "load/event.h"

enum { TEXT_MAX_BYTES = 1 << 20 };

/* --- helpers ---------------------------------------------------------------------------------- */

/* What a payload should say; what is not mentioned is absent. Counts are written plus one, so that
 * 0 means "not said". */
struct want {
    const char *payload;
    bool slow; /* event_scan must leave it to event_parse */
    enum event_kind kind;
    enum channel channel;
    const char *text, *finish, *error, *id; /* plain */
    bool done, has_error;
    int code;
    int64_t prompt1, completion1, cached1, reasoning1;
    const char *error_type;
    double prompt_ms1;
};

static void check_text(struct slice got, const char *want)
{
    struct buf plain;
    buf_init(&plain, TEXT_MAX_BYTES);
    event_unescape(got, &plain);
    assert_string_equal(plain.p, want ? want : "");
    buf_release(&plain);
}

static void check_event(const struct event *e, const struct want *w)
{
    assert_int_equal(e->kind, w->kind);
    assert_int_equal(e->channel, w->channel);
    check_text(e->text, w->text);
    check_text(e->finish, w->finish);
    check_text(e->error, w->error);
    check_text(e->id, w->id);
    if (w->error_type)
        check_text(e->error_type, w->error_type);
    assert_int_equal(e->done_flag, w->done);
    assert_int_equal(e->has_error, w->has_error || w->error);
    assert_int_equal(e->error_code, w->code);
    assert_int_equal(e->prompt_tokens, w->prompt1 - 1);
    assert_int_equal(e->completion_tokens, w->completion1 - 1);
    assert_int_equal(e->cached_tokens, w->cached1 - 1);
    assert_int_equal(e->reasoning_tokens, w->reasoning1 - 1);
    assert_int_equal(e->has_usage, w->prompt1 > 0 || w->completion1 > 0);
    if (w->prompt_ms1 > 0)
        assert_true(e->prompt_ms == w->prompt_ms1 - 1);
    else
        assert_true(isnan(e->prompt_ms));
}

/* Both readers, on an exact copy, so that a read past the end shows under a sanitizer. */
static void check_rows(const struct want *rows, size_t count)
{
    struct buf scratch;
    buf_init(&scratch, TEXT_MAX_BYTES);
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(rows[i].payload);
        char *copy = mem_array(n, 1);
        struct event e;
        memcpy(copy, rows[i].payload, n);
        if (event_scan(NULL, copy, n, &e) == rows[i].slow)
            fail_msg("event_scan %s: %s", rows[i].slow ? "accepts" : "refuses", rows[i].payload);
        if (!rows[i].slow)
            check_event(&e, &rows[i]);
        event_parse(copy, n, &scratch, &e);
        check_event(&e, &rows[i]);
        event_read(NULL, copy, n, &scratch, &e);
        check_event(&e, &rows[i]);
        free(copy);
    }
    buf_release(&scratch);
}

/* --- text ------------------------------------------------------------------------------------- */

#define CHOICE(members) "{\"choices\":[{\"index\":0," members "}]}"
#define DELTA(members)  CHOICE("\"delta\":{" members "},\"finish_reason\":null")
#define FULL_CHUNK(members)                                                                        \
    "{\"id\":\"c-7\",\"object\":\"chat.completion.chunk\",\"created\":1924948800,"                 \
    "\"model\":\"lake\",\"choices\":[{\"index\":0,\"delta\":{" members                             \
    "},\"logprobs\":null,\"finish_reason\":null,\"token_ids\":null}]}"

static const struct want texts[] = {
    {FULL_CHUNK("\"content\":\" heron\""), .channel = CHANNEL_CONTENT, .text = " heron",
     .id = "c-7"},
    {FULL_CHUNK("\"role\":\"assistant\",\"content\":\"\""), .id = "c-7"},
    /* absent, null, "" and " " */
    {.payload = DELTA("")},
    {.payload = DELTA("\"content\":null")},
    {.payload = DELTA("\"content\":\"\"")},
    {DELTA("\"content\":\" \""), .channel = CHANNEL_CONTENT, .text = " "},
    {DELTA("\"content\":\"null\""), .channel = CHANNEL_CONTENT, .text = "null"},
    {.payload = DELTA("\"content\":5")},
    {.payload = DELTA("\"content\":[{\"type\":\"text\",\"text\":\"a\"}]")},
    {.payload = DELTA("\"role\":\"assistant\",\"refusal\":null,\"content\":\"\"")},
    {.payload = CHOICE("\"delta\":null")},
    {.payload = CHOICE("\"delta\":\"x\"")},
    /* reasoning under its names; a text in two fields is one event */
    {DELTA("\"reasoning\":\"Let\""), .channel = CHANNEL_REASONING, .text = "Let"},
    {DELTA("\"reasoning_content\":\"Let\""), .channel = CHANNEL_REASONING, .text = "Let"},
    {DELTA("\"content\":\"\",\"reasoning\":\"Hmm\""), .channel = CHANNEL_REASONING, .text = "Hmm"},
    {DELTA("\"content\":null,\"reasoning\":\"\",\"reasoning_content\":\"Hm\""),
     .channel = CHANNEL_REASONING, .text = "Hm"},
    {DELTA("\"reasoning\":\"Now\",\"reasoning_content\":\"Now\",\"reasoning_details\":[{\"type\":"
           "\"reasoning.text\",\"text\":\"Now\"}]"),
     .channel = CHANNEL_REASONING, .text = "Now"},
    {DELTA("\"reasoning\":\"end\",\"content\":\"Blue\""), .channel = CHANNEL_CONTENT,
     .text = "Blue"},
    /* tool calls: the first arguments that say something */
    {.payload = DELTA(
         "\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\""
         ":\"tide\",\"arguments\":\"\"}}]")},
    {DELTA("\"tool_calls\":[{\"function\":{\"arguments\":\"\"}},{\"function\":{\"arguments\":"
           "\"{\\\"a\\\"\"}},{\"function\":{\"arguments\":\"later\"}}]"),
     .channel = CHANNEL_TOOL, .text = "{\"a\""},
    {.payload = DELTA("\"tool_calls\":null")},
    {.payload = DELTA(
         "\"tool_calls\":[null,[],{},{\"function\":null},{\"function\":{\"arguments\":{}}}]")},
    /* text completions */
    {CHOICE("\"text\":\"a\",\"logprobs\":null"), .channel = CHANNEL_CONTENT, .text = "a"},
    {.payload = CHOICE("\"text\":\"\"")},
    /* Ollama's own streams */
    {"{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}",
     .channel = CHANNEL_CONTENT, .text = "Hi"},
    {"{\"message\":{\"content\":\"\",\"thinking\":\"Hmm\"},\"done\":false}",
     .channel = CHANNEL_REASONING, .text = "Hmm"},
    {"{\"response\":\"a\",\"done\":false}", .channel = CHANNEL_CONTENT, .text = "a"},
    {"{\"response\":\"\",\"thinking\":\"b\"}", .channel = CHANNEL_REASONING, .text = "b"},
    /* several choices: the first that says something, by the full reader */
    {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}},{\"index\":1,\"delta\":{\"content\":"
     "\"b\"},\"finish_reason\":\"stop\"}]}",
     .slow = true, .channel = CHANNEL_CONTENT, .text = "b", .finish = "stop"},
    /* the same names elsewhere say nothing */
    {.payload =
         "{\"content\":\"x\",\"delta\":{\"content\":\"x\"},\"text\":\"x\",\"choices\":[{"
         "\"content\":\"x"
         "\",\"message\":{\"content\":\"x\"},\"logprobs\":{\"content\":[{\"token\":\"a\"}]}}]}"},
    {.payload = "{\"choices\":{\"delta\":{\"content\":\"x\"}}}"},
    {.payload = "{\"choices\":null}"},
    {.payload = "{\"choices\":[null]}"},
    {.payload = "{\"choices\":[[{\"delta\":{\"content\":\"x\"}}]]}"},
    {.payload = "{}"},
    {.payload = " { } \r\n"},
    /* large arrays are walked over */
    {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":{\"content\":[{\"token\":\"a\","
     "\"logprob\":-0.25,\"bytes\":[97],\"top_logprobs\":[{\"logprob\":-2.5e-1},{\"logprob\":-9999.0"
     "}]}]},\"token_ids\":[1,22,333]}],\"prompt_token_ids\":[0,1,2,3,151643]}",
     .channel = CHANNEL_CONTENT, .text = "a"},
};

static void test_text(void **state)
{
    (void)state;
    check_rows(texts, ARRAY_LEN(texts));
}

/* --- escapes ---------------------------------------------------------------------------------- */

static const struct want escapes[] = {
    {DELTA("\"content\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), .channel = CHANNEL_CONTENT,
     .text = "\"\\/\b\f\n\r\t"},
    {DELTA("\"content\":\"\\u00e9\\u20AC\\uFFFD\""), .channel = CHANNEL_CONTENT,
     .text = "\u00e9\u20ac\ufffd"},
    {DELTA("\"content\":\"\\ud83e\\uDD8a\""), .channel = CHANNEL_CONTENT, .text = "\U0001f98a"},
    {DELTA("\"content\":\"caf\u00e9 \u20ac \U0001f98a and more than eight plain bytes\""),
     .channel = CHANNEL_CONTENT,
     .text = "caf\u00e9 \u20ac \U0001f98a and more than eight plain bytes"},
    /* half a character is U+FFFD, not an error */
    {DELTA("\"content\":\"fox \\ud83e\""), .slow = true, .channel = CHANNEL_CONTENT,
     .text = "fox \ufffd"},
    {DELTA("\"content\":\"\\udd8a\\ud83e\\u0041\\\\ud83e\""), .slow = true,
     .channel = CHANNEL_CONTENT, .text = "\ufffd\ufffdA\\ud83e"},
    {DELTA("\"content\":\"\xe2\x82 \xff\""), .slow = true, .channel = CHANNEL_CONTENT,
     .text = "\ufffd\ufffd \ufffd"},
    /* keys are compared as they stand; an escaped one is left to the full reader */
    {"{\"\\u0063hoices\":[{\"text\":\"a\"}]}", .slow = true, .channel = CHANNEL_CONTENT,
     .text = "a"},
    {CHOICE("\"finish_reason\":\"\\u0073top\""), .slow = true, .finish = "stop"},
};

static void test_escapes(void **state)
{
    struct event e;
    struct buf plain;
    (void)state;
    check_rows(escapes, ARRAY_LEN(escapes));
    buf_init(&plain, 64);
    assert_true(event_scan(NULL, "{\"response\":\"a\\u0000b\"}", 23, &e));
    event_unescape(e.text, &plain);
    assert_int_equal(plain.len, 3);
    assert_memory_equal(plain.p, "a\0b", 3);
    buf_release(&plain);
}

/* event_unescape on its own, also on what no reader hands out. */
static void test_unescape(void **state)
{
    static const struct {
        const char *escaped, *plain;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"\\n", "\n"},
        {"a\\", "a\ufffd"},
        {"\\u12", "u12"},
        {"\\uD83EX", "\ufffdX"},
        {"\\q", "q"},
        {"\\\u00e9", "\ufffd\u00e9"},
        {"\\ud83e\\n", "\ufffd\n"},
        {"\\ud83e\\u0041", "\ufffd"
                           "A"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_text((struct slice){rows[i].escaped, strlen(rows[i].escaped)}, rows[i].plain);
}

/* --- ends and usage --------------------------------------------------------------------------- */

static const struct want ends[] = {
    {CHOICE("\"delta\":{},\"finish_reason\":\"stop\""), .finish = "stop"},
    {CHOICE("\"finish_reason\":\"length\",\"delta\":{\"content\":\"a\"}"), .finish = "length",
     .channel = CHANNEL_CONTENT, .text = "a"},
    {.payload = CHOICE("\"finish_reason\":null")},
    {.payload = CHOICE("\"finish_reason\":\"\"")},
    {.payload = CHOICE("\"finish_reason\":\"null\"")},
    {.payload = CHOICE("\"finish_reason\":7")},
    {"{\"response\":\"\",\"done\":true,\"done_reason\":\"stop\",\"total_duration\":5000000,"
     "\"prompt_eval_count\":26,\"eval_count\":298}",
     .done = true, .finish = "stop", .prompt1 = 27, .completion1 = 299},
    {"{\"done\":true,\"done_reason\":\"\"}", .done = true},
    {.payload = "{\"done\":null}"},
    {.payload = "{\"done\":\"true\"}"},
    {"[DONE]", .kind = EVENT_DONE},
    {" [DONE]\r\n", .kind = EVENT_DONE},
    {"", .kind = EVENT_EMPTY},
    {" \t\r\n", .kind = EVENT_EMPTY},
};

#define USAGE(members)   "{\"choices\":[],\"usage\":{" members "}}"
#define TIMINGS(members) "{\"choices\":[],\"timings\":{" members "}}"

static const struct want usages[] = {
    {USAGE("\"prompt_tokens\":31,\"completion_tokens\":12,\"total_tokens\":43"), .prompt1 = 32,
     .completion1 = 13},
    {USAGE("\"prompt_tokens\":0,\"completion_tokens\":0"), .prompt1 = 1, .completion1 = 1},
    {USAGE("\"prompt_tokens\":900,\"completion_tokens\":40,\"prompt_tokens_details\":{"
           "\"cached_tokens\":832}"),
     .prompt1 = 901, .completion1 = 41, .cached1 = 833},
    {USAGE("\"completion_tokens\":64,\"completion_tokens_details\":{\"reasoning_tokens\":63}"),
     .completion1 = 65, .reasoning1 = 64},
    {USAGE("\"completion_tokens\":64,\"reasoning_tokens\":0"), .completion1 = 65, .reasoning1 = 1},
    {USAGE("\"reasoning_tokens\":5,\"completion_tokens\":64,\"completion_tokens_details\":{"
           "\"reasoning_tokens\":63}"),
     .completion1 = 65, .reasoning1 = 64},
    {USAGE("\"prompt_tokens\":9,\"prompt_tokens_details\":null,\"prompt_time\":0.03"),
     .prompt1 = 10},
    {.payload = USAGE("")},
    {.payload = "{\"choices\":[],\"usage\":null}"},
    {.payload = "{\"choices\":[],\"usage\":[1]}"},
    {.payload = USAGE("\"prompt_tokens\":\"31\",\"completion_tokens\":null")},
    /* numbers that are no plain integers are judged by the full reader */
    {USAGE("\"prompt_tokens\":31.0,\"completion_tokens\":1e1"), .slow = true, .prompt1 = 32,
     .completion1 = 11},
    {USAGE("\"prompt_tokens\":31.5,\"completion_tokens\":-1"), .slow = true},
    {USAGE("\"prompt_tokens\":1234567890123456"), .slow = true},
    {"{\"seed\":18446744073709551615,\"usage\":{\"completion_tokens\":3}}", .slow = true,
     .completion1 = 4},
    /* llama.cpp's timings count only without usage; the cached part must be told */
    {TIMINGS("\"cache_n\":64,\"prompt_n\":20,\"prompt_ms\":50.125,\"predicted_n\":40"),
     .prompt1 = 85, .completion1 = 41, .cached1 = 65, .prompt_ms1 = 51.125},
    {TIMINGS("\"prompt_n\":20,\"predicted_n\":40"), .completion1 = 41},
    {"{\"usage\":{\"prompt_tokens\":84,\"completion_tokens\":39},\"timings\":{\"cache_n\":64,"
     "\"prompt_n\":21,\"prompt_ms\":5e1,\"predicted_n\":40}}",
     .slow = true, .prompt1 = 85, .completion1 = 40, .cached1 = 65, .prompt_ms1 = 51},
    {TIMINGS("\"prompt_ms\":0"), .prompt_ms1 = 1},
    {.payload = TIMINGS("\"prompt_ms\":null")},
    {TIMINGS("\"prompt_ms\":-1.5"), .slow = true},
    {TIMINGS("\"prompt_ms\":12.345678901234567890"), .slow = true,
     .prompt_ms1 = 1 + 12.345678901234567890},
};

static void test_ends(void **state)
{
    (void)state;
    check_rows(ends, ARRAY_LEN(ends));
}

static void test_usage(void **state)
{
    (void)state;
    check_rows(usages, ARRAY_LEN(usages));
}

static void test_finish_kind(void **state)
{
    static const struct {
        const char *finish;
        enum finish_kind kind;
    } rows[] = {
        {"", FINISH_NONE},
        {"null", FINISH_NONE},
        {"stop", FINISH_DONE},
        {"length", FINISH_DONE},
        {"tool_calls", FINISH_DONE},
        {"function_call", FINISH_DONE},
        {"eos", FINISH_DONE},
        {"eos_token", FINISH_DONE},
        {"stop_sequence", FINISH_DONE},
        {"max_tokens", FINISH_DONE},
        {"end_turn", FINISH_DONE},
        {"content_filter", FINISH_DONE},
        {"SAFETY", FINISH_DONE},
        {"abort", FINISH_FAILED},
        {"aborted", FINISH_FAILED},
        {"ABORT", FINISH_FAILED},
        {"error", FINISH_FAILED},
        {"cancelled", FINISH_FAILED},
        {"canceled", FINISH_FAILED},
        {"parse_error", FINISH_FAILED},
        {"unknown", FINISH_FAILED},
        {"failed", FINISH_FAILED},
        {"timeout", FINISH_FAILED},
        {"unknown_stop", FINISH_DONE},
        {"abor", FINISH_DONE},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice s = {rows[i].finish, strlen(rows[i].finish)};
        assert_int_equal(event_finish_kind(s), rows[i].kind);
    }
}

/* --- errors inside a stream ------------------------------------------------------------------- */

static const struct want errors[] = {
    /* in a choice; with its type; two of them are not for the fast reader to choose from */
    {"{\"choices\":[{\"error\":{\"message\":\"m\",\"code\":502},\"finish_reason\":\"stop\"}]}",
     .finish = "stop", .error = "m", .code = 502},
    {"{\"choices\":[{\"error\":\"m\"}]}", .error = "m"},
    {.payload = "{\"choices\":[{\"error\":null}]}"},
    {"{\"error\":\"later\",\"error_type\":\"overloaded\"}", .error = "later",
     .error_type = "overloaded"},
    {"{\"choices\":[{\"error\":{\"code\":1}}],\"error\":{\"message\":\"m\"}}", .slow = true,
     .error = "m", .code = 1},
    {"{\"error\":{\"object\":\"error\",\"message\":\"input (9100 tokens) is too long\",\"type\":"
     "\"BadRequestError\",\"param\":null,\"code\":400}}",
     .error = "input (9100 tokens) is too long", .code = 400},
    {"{\"choices\":[],\"error\":{\"code\":502,\"message\":\"at capacity\"}}",
     .error = "at capacity", .code = 502},
    {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}],"
     "\"error\":{\"code\":\"server_error\",\"message\":\"gone\"}}",
     .error = "gone", .finish = "error"},
    {"{\"error\":{\"code\":\"429\",\"message\":\"slow down\"}}", .error = "slow down", .code = 429},
    {"{\"error\":{\"message\":\"Model is busy\",\"http_status_code\":422}}",
     .error = "Model is busy", .code = 422},
    {"{\"error\":\"busy\",\"error_type\":\"overloaded\"}", .error = "busy"},
    {"{\"error\":\"busy\",\"code\":503}", .error = "busy", .code = 503},
    {"{\"error\":{\"message\":\"a\\\"b\"},\"message\":\"c\"}", .error = "a\"b"},
    {"{\"error\":{\"type\":\"x\"},\"message\":\"Channel closed\"}", .error = "Channel closed"},
    {"{\"error\":{}}", .has_error = true},
    {"{\"error\":{\"code\":1234567890123}}", .has_error = true}, /* no int: no code */
    {"{\"error\":503}", .slow = true, .has_error = true, .code = 503},
    {"{\"error\":true}", .slow = true, .has_error = true},
    {"{\"error\":[\"a\"]}", .slow = true, .has_error = true},
    {"{\"object\":\"error\",\"message\":\"context length is 8192\",\"type\":\"BadRequestError\","
     "\"param\":null,\"code\":400}",
     .error = "context length is 8192", .code = 400},
    {"{\"message\":\"too long\",\"type\":\"invalid_request_error\",\"code\":\"400\",\"param\":null,"
     "\"object\":\"error\"}",
     .error = "too long", .code = 400},
    {"{\"detail\":\"Not Found\"}", .error = "Not Found"},
    {"{\"msg\":\"no healthy upstream\",\"http_status_code\":503}", .error = "no healthy upstream",
     .code = 503},
    {"{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"extra field\"}]}", .slow = true,
     .error = "extra field"},
    {"{\"detail\":{\"msg\":\"Server is busy\",\"type\":\"service_unavailable\"}}", .slow = true,
     .error = "Server is busy"},
    /* no errors */
    {DELTA("\"content\":\"x\""), .channel = CHANNEL_CONTENT, .text = "x"},
    {"{\"choices\":[{\"text\":\"x\"}],\"error\":null}", .channel = CHANNEL_CONTENT, .text = "x"},
    {.payload = "{\"error\":null}"},
    {.payload = "{\"error\":\"\"}"},
    {"{\"error\":false}", .slow = true},
    {"{\"error\":0}", .slow = true},
    {.payload = "{\"choices\":[],\"message\":\"queued\",\"code\":7}"},
    {.payload = "{\"done\":false,\"msg\":\"loading\"}"},
    {.payload = "{\"code\":400}"},
    {.payload = "{\"object\":\"list\"}"},
};

static void test_errors(void **state)
{
    (void)state;
    check_rows(errors, ARRAY_LEN(errors));
}

/* --- what is no payload ----------------------------------------------------------------------- */

static const struct want malformed[] = {
    {"model crashed", .slow = true, .kind = EVENT_MALFORMED},
    {"[DONE", .slow = true, .kind = EVENT_MALFORMED},
    {"[DONE] x", .slow = true, .kind = EVENT_MALFORMED},
    {"[]", .slow = true, .kind = EVENT_MALFORMED},
    {"\"text\"", .slow = true, .kind = EVENT_MALFORMED},
    {"null", .slow = true, .kind = EVENT_MALFORMED},
    {"{", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\"", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1,", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1,}", .slow = true, .kind = EVENT_MALFORMED},
    {"{,}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":[1,]}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":[,1]}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":[1 2]}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":[1}}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1]", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\" 1}", .slow = true, .kind = EVENT_MALFORMED},
    {"{a:1}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1} x", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1}{}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":01}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":-}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1.}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":.5}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":1e}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":+1}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":NaN}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":nul}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":True}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":\"x}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":\"\\x\"}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":\"\\u12\"}", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":\"\\", .slow = true, .kind = EVENT_MALFORMED},
    {"{\"a\":\"\n\"}", .slow = true, .kind = EVENT_MALFORMED},
    {"{'a':1}", .slow = true, .kind = EVENT_MALFORMED},
};

static void test_malformed(void **state)
{
    (void)state;
    check_rows(malformed, ARRAY_LEN(malformed));
}

/* A known key twice is a doubt wherever it stands; an unknown one is nobody's business. */
static void test_duplicates(void **state)
{
    static const struct want rows[] = {
        {.payload = "{\"a\":1,\"a\":2}"},
        {"{\"choices\":[],\"choices\":[{\"text\":\"a\"}]}", .slow = true,
         .channel = CHANNEL_CONTENT, .text = "a"},
        {DELTA("\"content\":\"a\",\"content\":\"b\""), .slow = true, .channel = CHANNEL_CONTENT,
         .text = "b"},
        {USAGE("\"prompt_tokens\":1,\"prompt_tokens\":2"), .slow = true, .prompt1 = 3},
        {"{\"error\":null,\"error\":\"x\"}", .slow = true, .error = "x"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

/* Nesting: 32 levels are walked, the 33rd is left to the full reader. */
static void test_depth(void **state)
{
    (void)state;
    for (size_t depth = 30; depth <= 34; depth++) {
        struct buf payload, scratch;
        struct event e;
        buf_init(&payload, 4096);
        buf_init(&scratch, 4096);
        buf_adds(&payload, "{\"response\":\"a\",\"deep\":");
        buf_add_repeat(&payload, '[', depth - 1);
        buf_add_repeat(&payload, ']', depth - 1);
        buf_addc(&payload, '}');
        assert_int_equal(event_scan(NULL, payload.p, payload.len, &e), depth <= 32);
        event_read(NULL, payload.p, payload.len, &scratch, &e);
        check_text(e.text, "a");
        buf_release(&payload);
        buf_release(&scratch);
    }
}

/* The fast reader points into the payload; the full one into scratch, as long as it has room. */
static void test_slices(void **state)
{
    static const char payload[] = "{\"id\":\"r1\",\"response\":\"a\\nb\"}";
    struct buf scratch, tiny;
    struct event e;
    (void)state;
    buf_init(&scratch, 64);
    buf_init(&tiny, 2);
    assert_true(event_scan(NULL, payload, sizeof payload - 1, &e));
    assert_ptr_equal(e.id.p, payload + 7);
    assert_int_equal(e.text.n, 4);
    event_parse(payload, sizeof payload - 1, &scratch, &e);
    assert_ptr_equal(e.text.p, scratch.p);
    assert_memory_equal(e.text.p, "a\\nb", 4);
    event_parse(payload, sizeof payload - 1, &tiny, &e);
    assert_int_equal(e.kind, EVENT_MALFORMED);
    assert_int_equal(e.text.n, 0);
    buf_release(&scratch);
    buf_release(&tiny);
}

/* --- error bodies ----------------------------------------------------------------------------- */

static void test_error_body(void **state)
{
    static const struct {
        const char *body, *message; /* NULL: none */
    } rows[] = {
        {"{\"object\":\"error\",\"message\":\"context length is 8192\",\"code\":400}",
         "context length is 8192"},
        {"{\"error\":{\"message\":\"nested\",\"code\":400}}", "nested"},
        /* vLLM 0.32 to a prompt that is too long (the number is the limit and one), and to no key
         */
        {"{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, "
         "your "
         "prompt contains at least 8193 input tokens. (parameter=input_tokens, value=8193)\","
         "\"type\":\"BadRequestError\",\"param\":\"input_tokens\",\"code\":400}}",
         "This model's maximum context length is 8192 tokens. However, your prompt contains at "
         "least "
         "8193 input tokens. (parameter=input_tokens, value=8193)"},
        {"{\"error\":\"Unauthorized\"}", "Unauthorized"},
        {"{\"error\":{\"code\":400,\"message\":\"too long\",\"type\":\"exceed_context_size_error\","
         "\"n_prompt_tokens\":9000,\"n_ctx\":8192}}",
         "too long (n_prompt_tokens 9000, n_ctx 8192)"},
        {"{\"error\":{\"message\":\"too long\",\"n_ctx\":8192}}", "too long (n_ctx 8192)"},
        {"{\"error\":\"Input validation error\",\"error_type\":\"validation\"}",
         "Input validation error"},
        {"{\"detail\":\"Not Found\"}", "Not Found"},
        {"{\"detail\":[{\"loc\":[\"body\",\"max_tokens\"],\"msg\":\"must be positive\"},{\"loc\":["
         "\"body\",\"messages\",0],\"msg\":\"bad role\"},{\"msg\":\"alone\"},{\"x\":1},\"text\"]}",
         "body.max_tokens: must be positive; body.messages.0: bad role; alone; text"},
        {"{\"detail\":{\"msg\":\"Server is busy\",\"type\":\"service_unavailable\"}}",
         "Server is busy"},
        {"{\"msg\":\"no healthy upstream\"}", "no healthy upstream"},
        {"[{\"error\":{\"message\":\"in a list\"}}]", "in a list"},
        {"{\"error\":\"first\"}\n{\"error\":\"second\"}\n", "first"},
        {" \"just text\" ", "just text"},
        {"{\"error\":{\"message\":\"two\\nlines\\u0007 \\u202e\"}}", "two lines? ?"},
        {"<html>\r\n<head><TITLE>504 Gateway&nbsp;Time-out</TITLE></head>\r\n<body></body></html>",
         "504 Gateway Time-out"},
        {"<html><style>p { x: <b> }</style><script>if (a < b) c();</script><!-- <p>no --><body>\n"
         "   <h1>Bad &lt;request&gt; &amp; more</h1>\n\n<p>words</p></body>",
         "Bad <request> & more words"},
        {"<!DOCTYPE html><title></title><p>body text", "body text"},
        {"<title>unfinished", "unfinished"},
        {"502 Bad Gateway\r\n", "502 Bad Gateway"},
        {"[Errno 111] Connection refused", "[Errno 111] Connection refused"},
        {"{broken", "{broken"},
        {"", NULL},
        {" \r\n", NULL},
        {"{}", NULL},
        {"{\"error\":{}}", NULL},
        {"{\"error\":{\"message\":\"\"}}", NULL},
        {"[]", NULL},
        {"\"\"", NULL},
        {"<html></html>", NULL},
        {"<script", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf message;
        size_t n = strlen(rows[i].body);
        char *copy = mem_array(n, 1);
        memcpy(copy, rows[i].body, n);
        buf_init(&message, 1024);
        bool any = event_error_body(copy, n, &message);
        assert_string_equal(message.p, rows[i].message ? rows[i].message : "");
        assert_int_equal(any, rows[i].message != NULL);
        buf_release(&message);
        free(copy);
    }
}

/* A server that sends a megabyte back gets a sentence made of its beginning. */
static void test_error_kinds(void **state)
{
    static const struct {
        const char *words;
        int code;
        enum error_kind kind;
    } rows[] = {
        {"", 0, ERROR_OTHER},
        {"it broke", 500, ERROR_OTHER},
        {"no such field", 400, ERROR_REQUEST},
        {"Input validation error", 422, ERROR_REQUEST},
        {"Model is busy", 422, ERROR_OVERLOAD}, /* the words before the code */
        {"Model is overloaded", 500, ERROR_OVERLOAD},
        {"upstream at capacity", 502, ERROR_OVERLOAD},
        {"", 429, ERROR_OVERLOAD},
        {"", 503, ERROR_OVERLOAD},
        {"", 504, ERROR_TIMEOUT},
        {"", 524, ERROR_TIMEOUT},
        {"", 600, ERROR_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (event_error_kind(rows[i].words, rows[i].code) != rows[i].kind)
            fail_msg("%d %s", rows[i].code, rows[i].words);
}

static void test_error_body_is_bounded(void **state)
{
    struct buf body, message;
    (void)state;
    buf_init(&body, 4 << 20);
    buf_init(&message, 4096);
    buf_adds(&body, "{\"error\":{\"message\":\"");
    buf_add_repeat(&body, 'x', 1 << 20);
    buf_adds(&body, "\"}}");
    assert_true(event_error_body(body.p, body.len, &message));
    assert_int_equal(message.len, 500);
    buf_reset(&message);
    buf_reset(&body);
    buf_adds(&body, "<p>");
    buf_add_repeat(&body, ' ', 1 << 15);
    buf_adds(&body, "late words");
    buf_add_repeat(&body, '<', 1 << 20);
    assert_true(event_error_body(body.p, body.len, &message));
    assert_string_equal(message.p, "late words");
    buf_release(&body);
    buf_release(&message);
}

/* Events that begin alike, and what makes them differ: a memo changes nothing but the time. */
static void test_memo(void **state)
{
    static const char *const payloads[] = {
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}",
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two\"}}],\"usage\":{"
        "\"prompt_tokens\":3,\"completion_tokens\":2}}",
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":"
        "\"stop\"}]}",
        /* the key again, which the scanner leaves to the parser */
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\",\"content\":\"y\"}}]"
        "}",
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\u00e9\\n\"}}]}",
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":", /* ends there */
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"open",
        "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":null}}]}",
        "{\"id\":\"b\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"another id\"}}]}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\"hm\",\"content\":\"\"}}],\"id\":\"c\"}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\"\",\"content\":\"so\"}}],\"id\":\"c\"}",
        "{\"error\":{\"message\":\"m\"},\"choices\":[{\"text\":\"t\"}]}",
        "{\"error\":{\"message\":\"m\"},\"choices\":[{\"text\":\"u\"}]}",
        "[DONE]",
    };
    struct event_memo *memo = event_memo_new();
    (void)state;
    /* every payload behind every other */
    for (size_t i = 0; i < ARRAY_LEN(payloads) * ARRAY_LEN(payloads); i++) {
        const char *pair[] = {payloads[i / ARRAY_LEN(payloads)], payloads[i % ARRAY_LEN(payloads)]};
        for (size_t k = 0; k < 2; k++) {
            struct event with, without;
            size_t n = strlen(pair[k]);
            bool known = event_scan(NULL, pair[k], n, &without);
            assert_int_equal(event_scan(memo, pair[k], n, &with), known);
            if (!known)
                continue;
            assert_int_equal(with.kind, without.kind);
            assert_int_equal(with.channel, without.channel);
            assert_int_equal(with.completion_tokens, without.completion_tokens);
            assert_int_equal(with.has_error, without.has_error);
            const struct slice a[] = {with.text, with.id, with.finish, with.error};
            const struct slice b[] = {without.text, without.id, without.finish, without.error};
            for (size_t f = 0; f < ARRAY_LEN(a); f++) {
                assert_int_equal(a[f].n, b[f].n);
                assert_true(a[f].n == 0 || a[f].p == b[f].p);
            }
        }
    }
    free(memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memo),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_unescape),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_finish_kind),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_error_body),
        cmocka_unit_test(test_error_kinds),
        cmocka_unit_test(test_error_body_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
