/* event.c - the meaning of a payload's fields, the full reader, and escapes both ways. */
#include "load/event.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"
#include "load/event_fields.h"

/* --- what fields mean ------------------------------------------------------------------------- */

void event_fields_init(struct event_fields *f)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < COUNT_COUNT; i++)
        f->count[i] = -1;
    f->prompt_ms = NAN;
}

static bool slice_is(struct slice s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static const enum channel channels[TEXT_GENERATED] = {
    [TEXT_CONTENT] = CHANNEL_CONTENT,
    [TEXT_REASONING] = CHANNEL_REASONING,
    [TEXT_REASONING_CONTENT] = CHANNEL_REASONING,
    [TEXT_ARGUMENTS] = CHANNEL_TOOL,
    [TEXT_TEXT] = CHANNEL_CONTENT,
    [TEXT_MESSAGE_CONTENT] = CHANNEL_CONTENT,
    [TEXT_MESSAGE_THINKING] = CHANNEL_REASONING,
    [TEXT_RESPONSE] = CHANNEL_CONTENT,
    [TEXT_THINKING] = CHANNEL_REASONING,
};

static void settle_text(const struct event_fields *f, struct event *ret)
{
    for (size_t i = 0; i < TEXT_GENERATED; i++) {
        if (f->text[i].n == 0)
            continue;
        ret->channel = channels[i];
        ret->text = f->text[i];
        return;
    }
}

static void settle_finish(const struct event_fields *f, struct event *ret)
{
    ret->finish = f->text[TEXT_FINISH_REASON];
    if (ret->finish.n == 0 || slice_is(ret->finish, "null"))
        ret->finish = f->text[TEXT_DONE_REASON];
    if (slice_is(ret->finish, "null"))
        ret->finish.n = 0;
    ret->done_flag = f->done;
}

/* The usage object speaks before Ollama's counts, and these before llama.cpp's timings, where the
 * prompt is known only when the cached part is told as well. */
static void settle_usage(const struct event_fields *f, struct event *ret)
{
    const int64_t *c = f->count;
    ret->prompt_tokens = c[COUNT_PROMPT];
    ret->completion_tokens = c[COUNT_COMPLETION];
    ret->cached_tokens = c[COUNT_CACHED] >= 0 ? c[COUNT_CACHED] : c[COUNT_TIMED_CACHE];
    ret->prompt_ms = f->prompt_ms;
    ret->reasoning_tokens = c[COUNT_REASONING] >= 0 ? c[COUNT_REASONING] : c[COUNT_REASONING_FLAT];
    if (ret->prompt_tokens < 0 && ret->completion_tokens < 0) {
        ret->prompt_tokens = c[COUNT_PROMPT_EVAL];
        ret->completion_tokens = c[COUNT_EVAL];
    }
    if (ret->prompt_tokens < 0 && ret->completion_tokens < 0) {
        ret->completion_tokens = c[COUNT_TIMED_PREDICTED];
        if (c[COUNT_TIMED_PROMPT] >= 0 && c[COUNT_TIMED_CACHE] >= 0)
            ret->prompt_tokens = c[COUNT_TIMED_PROMPT] + c[COUNT_TIMED_CACHE];
    }
    ret->has_usage = ret->prompt_tokens >= 0 || ret->completion_tokens >= 0;
}

/* "400" -> 400; "context_length_exceeded" -> 0. */
static int code_of(struct slice s)
{
    int code = 0;
    if (s.n > 9)
        return 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return 0;
        code = code * 10 + (s.p[i] - '0');
    }
    return code;
}

static int settle_code(const struct event_fields *f)
{
    const int64_t numbers[] = {f->count[COUNT_ERROR_CODE],   code_of(f->text[TEXT_ERROR_CODE]),
                               f->count[COUNT_ERROR_STATUS], f->count[COUNT_CODE],
                               code_of(f->text[TEXT_CODE]),  f->count[COUNT_STATUS]};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (numbers[i] > 0 && numbers[i] <= INT_MAX)
            return (int)numbers[i];
    return 0;
}

/* Some servers name an error, others only send its text; a text beside an answer is no error. */
static void settle_error(const struct event_fields *f, struct event *ret)
{
    static const enum text_field messages[] = {TEXT_ERROR_MESSAGE, TEXT_ERROR, TEXT_MESSAGE,
                                               TEXT_DETAIL, TEXT_MSG};
    for (size_t i = 0; i < ARRAY_LEN(messages) && ret->error.n == 0; i++)
        ret->error = f->text[messages[i]];
    ret->has_error = f->error || f->text[TEXT_ERROR].n > 0 ||
                     slice_is(f->text[TEXT_OBJECT], "error") || (ret->error.n > 0 && !f->answers);
    if (!ret->has_error) {
        ret->error.n = 0;
        return;
    }
    ret->error_code = settle_code(f);
    ret->error_type = f->text[TEXT_ERROR_TYPE];
    if (ret->error_type.n == 0)
        ret->error_type = f->text[TEXT_TYPE_OF_ERROR];
}

static void event_init(struct event *ret, enum event_kind kind)
{
    *ret = (struct event){
        .kind = kind,
        .prompt_tokens = -1,
        .completion_tokens = -1,
        .cached_tokens = -1,
        .reasoning_tokens = -1,
        .prompt_ms = NAN,
    };
}

void event_settle(const struct event_fields *f, struct event *ret)
{
    event_init(ret, EVENT_CHUNK);
    settle_text(f, ret);
    settle_finish(f, ret);
    settle_usage(f, ret);
    settle_error(f, ret);
    ret->id = f->text[TEXT_ID];
}

static struct slice trim(struct slice s)
{
    static const char space[] = " \t\r\n";
    while (s.n > 0 && memchr(space, s.p[0], sizeof space - 1)) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && memchr(space, s.p[s.n - 1], sizeof space - 1))
        s.n--;
    return s;
}

bool event_is_plain(const char *p, size_t n, struct event *ret)
{
    struct slice s = trim((struct slice){p, n});
    event_init(ret, s.n == 0 ? EVENT_EMPTY : EVENT_DONE);
    return s.n == 0 || slice_is(s, "[DONE]");
}

/* --- the full reader -------------------------------------------------------------------------- */

static void take_text(struct event_fields *f, enum text_field field, const json_t *v)
{
    if (json_is_string(v) && f->text[field].n == 0)
        f->text[field] = (struct slice){json_string_value(v), json_string_length(v)};
}

static void take_count(struct event_fields *f, enum count_field field, const json_t *v)
{
    double d = json_number_value(v); /* 0 when it is none */
    if (json_is_number(v) && d >= 0 && d < 1e15 && d == floor(d))
        f->count[field] = (int64_t)d;
}

static void take_code(struct event_fields *f, enum text_field text, enum count_field count,
                      const json_t *v)
{
    take_text(f, text, v);
    take_count(f, count, v);
}

static void take_error(struct event_fields *f, const json_t *error)
{
    take_text(f, TEXT_ERROR, error);
    take_text(f, TEXT_ERROR_MESSAGE, json_object_get(error, "message"));
    take_text(f, TEXT_ERROR_TYPE, json_object_get(error, "type"));
    take_code(f, TEXT_ERROR_CODE, COUNT_ERROR_CODE, json_object_get(error, "code"));
    take_count(f, COUNT_ERROR_STATUS, json_object_get(error, "http_status_code"));
    take_count(f, COUNT_ERROR_CODE, error); /* "error": 503 */
    f->error |= json_is_object(error) || json_is_array(error) || json_is_true(error) ||
                json_number_value(error) != 0;
}

static void take_choices(struct event_fields *f, const json_t *choices)
{
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);
        const json_t *delta = json_object_get(choice, "delta");
        const json_t *tools = json_object_get(delta, "tool_calls");
        take_error(f, json_object_get(choice, "error"));
        take_text(f, TEXT_TEXT, json_object_get(choice, "text"));
        take_text(f, TEXT_FINISH_REASON, json_object_get(choice, "finish_reason"));
        take_text(f, TEXT_CONTENT, json_object_get(delta, "content"));
        take_text(f, TEXT_REASONING, json_object_get(delta, "reasoning"));
        take_text(f, TEXT_REASONING_CONTENT, json_object_get(delta, "reasoning_content"));
        for (size_t k = 0; k < json_array_size(tools); k++) {
            const json_t *function = json_object_get(json_array_get(tools, k), "function");
            take_text(f, TEXT_ARGUMENTS, json_object_get(function, "arguments"));
        }
    }
}

static void take_counts(struct event_fields *f, const json_t *root)
{
    const json_t *usage = json_object_get(root, "usage");
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    const json_t *output = json_object_get(usage, "completion_tokens_details");
    const json_t *timings = json_object_get(root, "timings");
    const json_t *prompt_ms = json_object_get(timings, "prompt_ms");
    take_count(f, COUNT_PROMPT, json_object_get(usage, "prompt_tokens"));
    take_count(f, COUNT_COMPLETION, json_object_get(usage, "completion_tokens"));
    take_count(f, COUNT_CACHED, json_object_get(details, "cached_tokens"));
    take_count(f, COUNT_REASONING, json_object_get(output, "reasoning_tokens"));
    take_count(f, COUNT_REASONING_FLAT, json_object_get(usage, "reasoning_tokens"));
    take_count(f, COUNT_PROMPT_EVAL, json_object_get(root, "prompt_eval_count"));
    take_count(f, COUNT_EVAL, json_object_get(root, "eval_count"));
    take_count(f, COUNT_TIMED_PROMPT, json_object_get(timings, "prompt_n"));
    take_count(f, COUNT_TIMED_CACHE, json_object_get(timings, "cache_n"));
    take_count(f, COUNT_TIMED_PREDICTED, json_object_get(timings, "predicted_n"));
    if (json_is_number(prompt_ms) && json_number_value(prompt_ms) >= 0)
        f->prompt_ms = json_number_value(prompt_ms);
}

static void take_detail(struct event_fields *f, const json_t *detail)
{
    if (json_is_array(detail)) /* FastAPI lists what is wrong; the first one names it */
        detail = json_array_get(detail, 0);
    take_text(f, TEXT_DETAIL, detail);
    take_text(f, TEXT_DETAIL, json_object_get(detail, "msg"));
    take_text(f, TEXT_DETAIL, json_object_get(detail, "message"));
}

static void take_root(struct event_fields *f, const json_t *root)
{
    const json_t *message = json_object_get(root, "message");
    event_fields_init(f);
    take_text(f, TEXT_ID, json_object_get(root, "id"));
    take_text(f, TEXT_OBJECT, json_object_get(root, "object"));
    take_choices(f, json_object_get(root, "choices"));
    take_counts(f, root);
    take_error(f, json_object_get(root, "error"));
    take_text(f, TEXT_TYPE_OF_ERROR, json_object_get(root, "error_type"));
    take_detail(f, json_object_get(root, "detail"));
    take_text(f, TEXT_MESSAGE, message);
    take_text(f, TEXT_MESSAGE_CONTENT, json_object_get(message, "content"));
    take_text(f, TEXT_MESSAGE_THINKING, json_object_get(message, "thinking"));
    take_text(f, TEXT_RESPONSE, json_object_get(root, "response"));
    take_text(f, TEXT_THINKING, json_object_get(root, "thinking"));
    take_text(f, TEXT_DONE_REASON, json_object_get(root, "done_reason"));
    take_text(f, TEXT_MSG, json_object_get(root, "msg"));
    take_code(f, TEXT_CODE, COUNT_CODE, json_object_get(root, "code"));
    take_count(f, COUNT_STATUS, json_object_get(root, "http_status_code"));
    f->done = json_is_true(json_object_get(root, "done"));
    f->answers = json_object_get(root, "choices") || json_object_get(root, "usage") ||
                 json_object_get(root, "response") || json_object_get(root, "done");
}

/* --- escapes ---------------------------------------------------------------------------------- */

static const char escaped_letters[] = "bfnrt\"\\/";
static const char plain_letters[] = "\b\f\n\r\t\"\\/";

/* Append s with what JSON needs escaped, in the shortest form: never longer than it was sent. */
static void add_escaped(struct buf *out, struct slice s)
{
    size_t done = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        const char *known = c ? strchr(plain_letters, c) : NULL;
        buf_add(out, s.p + done, i - done);
        if (known)
            buf_addf(out, "\\%c", escaped_letters[known - plain_letters]);
        else
            buf_addf(out, "\\u%04x", c);
        done = i + 1;
    }
    if (done < s.n)
        buf_add(out, s.p + done, s.n - done);
}

int event_unicode_escape(const char *p, size_t n)
{
    int unit = 0;
    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = p[i] ? strchr(digits, p[i] | (p[i] > '9' ? 0x20 : 0)) : NULL;
        if (!digit)
            return -1;
        unit = unit * 16 + (int)(digit - digits);
    }
    return unit;
}

/* The character that the escape at p stands for (a pair of them for one beyond the BMP), and the
 * escape's length. Half a pair is U+FFFD; an escape that JSON does not know is its own letter. */
static size_t decode_escape(const char *p, size_t n, uint32_t *ret_cp)
{
    int unit = event_unicode_escape(p, n);
    *ret_cp = 0xFFFD;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        int low = event_unicode_escape(p + 6, n - 6);
        if (low < 0xDC00 || low > 0xDFFF)
            return 6;
        *ret_cp = 0x10000u + (((uint32_t)unit & 0x3FF) << 10 | ((uint32_t)low & 0x3FF));
        return 12;
    }
    if (unit >= 0) {
        *ret_cp = unit >= 0xDC00 && unit <= 0xDFFF ? 0xFFFD : (uint32_t)unit;
        return 6;
    }
    if (n < 2)
        return n;
    const char *known = p[1] ? strchr(escaped_letters, p[1]) : NULL;
    if (known)
        *ret_cp = (unsigned char)plain_letters[known - escaped_letters];
    else if ((unsigned char)p[1] < 0x80)
        *ret_cp = (unsigned char)p[1];
    else
        return 1; /* the longer character behind the backslash is read as itself */
    return 2;
}

void event_unescape(struct slice s, struct buf *out)
{
    while (s.n > 0) {
        const char *escape = memchr(s.p, '\\', s.n);
        size_t plain = escape ? (size_t)(escape - s.p) : s.n;
        buf_add(out, s.p, plain);
        s.p += plain;
        s.n -= plain;
        if (s.n > 0) {
            uint32_t cp;
            char utf8[4];
            size_t length = decode_escape(s.p, s.n, &cp);
            buf_add(out, utf8, text_utf8_encode(cp, utf8));
            s.p += length;
            s.n -= length;
        }
    }
}

/* --- event_parse ------------------------------------------------------------------------------ */

/* Copy the payload with U+FFFD for what keeps a strict parser from reading it although its meaning
 * is clear: bytes that are no UTF-8, and half surrogate pairs. Servers cut characters in the
 * middle; that must not lose the event. */
static void add_repaired(struct buf *out, const char *p, size_t n)
{
    while (n > 0) {
        uint32_t cp;
        char utf8[4];
        size_t length;
        if (*p == '\\') {
            length = decode_escape(p, n, &cp);
            if (cp == 0xFFFD && length == 6)
                buf_adds(out, "\\ufffd");
            else
                buf_add(out, p, length);
        } else {
            length = text_utf8_decode(p, n, &cp);
            buf_add(out, utf8, text_utf8_encode(cp, utf8));
        }
        p += length;
        n -= length;
    }
}

/* Counts that do not fit an integer are read as reals rather than refused. */
static json_t *load(const char *p, size_t n)
{
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_t *root = json_loadb(p, n, flags, NULL);
    if (root)
        return root;
    struct buf repaired;
    buf_init(&repaired, n * 3); /* one byte becomes at most three */
    add_repaired(&repaired, p, n);
    if (repaired.len != n || memcmp(repaired.p, p, n) != 0)
        root = json_loadb(repaired.p, repaired.len, flags, NULL);
    buf_release(&repaired);
    return root;
}

void event_parse(const char *p, size_t n, struct buf *scratch, struct event *ret)
{
    buf_reset(scratch);
    if (event_is_plain(p, n, ret))
        return;
    event_init(ret, EVENT_MALFORMED);
    json_t *root = n > 0 ? load(p, n) : NULL;
    if (json_is_object(root)) {
        struct event_fields fields;
        struct event found;
        struct slice *const slices[] = {&found.text, &found.finish, &found.error, &found.error_type,
                                        &found.id};
        size_t ends[ARRAY_LEN(slices)];
        take_root(&fields, root);
        event_settle(&fields, &found);
        for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
            add_escaped(scratch, *slices[i]);
            ends[i] = scratch->len;
        }
        for (size_t i = 0; i < ARRAY_LEN(slices); i++) { /* only now scratch stays where it is */
            size_t start = i ? ends[i - 1] : 0;
            *slices[i] = (struct slice){scratch->p + start, ends[i] - start};
        }
        if (!scratch->overflow)
            *ret = found;
    }
    json_decref(root);
}

void event_read(struct event_memo *memo, const char *p, size_t n, struct buf *scratch,
                struct event *ret)
{
    if (!event_scan(memo, p, n, ret))
        event_parse(p, n, scratch, ret);
}

/* --- how a request ended ---------------------------------------------------------------------- */

/* Only failures are listed: a reason that nobody knows is still an end that the server meant. */
static const struct {
    const char *word;
    bool prefix;
} failures[] = {
    {"abort", true},                            /* vLLM, SGLang: also "aborted", "abort_by_user" */
    {"error", true},                            /* OpenRouter */
    {"cancel", true},                           /* cancelled, canceled */
    {"fail", true},                             /* failed, failure */
    {"timeout", false}, {"parse_error", false}, /* LMDeploy */
    {"unknown", false},
};

enum finish_kind event_finish_kind(struct slice finish)
{
    if (finish.n == 0 || slice_is(finish, "null"))
        return FINISH_NONE;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        size_t len = strlen(failures[i].word);
        bool fits = failures[i].prefix ? finish.n >= len : finish.n == len;
        if (fits && strncasecmp(finish.p, failures[i].word, len) == 0)
            return FINISH_FAILED;
    }
    return FINISH_DONE;
}
