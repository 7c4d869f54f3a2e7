/* test_face.c - every face's tables and shapes: whatever it writes is JSON, and says what it must.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/face.h"

static const struct face *face_at(size_t i)
{
    return face_find(service_faces[i]);
}

static void every_name_has_its_face(void **state)
{
    (void)state;
    for (size_t i = 0; service_faces[i]; i++) {
        assert_non_null(face_at(i));
        assert_string_equal(face_at(i)->name, service_faces[i]);
    }
    assert_null(face_find("tgi"));
}

static void routes_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; service_faces[i]; i++)
        for (const struct route *r = face_at(i)->routes; r->path; r++) {
            assert_true(r->path[0] == '/' && r->handle);
            assert_true(strcmp(r->method, "GET") == 0 || strcmp(r->method, "POST") == 0);
            for (const struct route *other = face_at(i)->routes; other < r; other++)
                assert_true(strcmp(r->path, other->path) != 0 ||
                            strcmp(r->method, other->method) != 0);
        }
}

static void each_complaint_is_an_error_in_json(void **state)
{
    (void)state;
    for (size_t i = 0; service_faces[i]; i++)
        for (int kind = 0; kind <= COMPLAINT_BUSY; kind++) {
            struct complaint c;
            struct buf out;
            complain(&c, (enum complaint_kind)kind, "param", "what \"was\" wrong");
            c.status = kind == COMPLAINT_BUSY ? 429 : 0;
            c.prompt_tokens = 9000;
            c.limit = 8192;
            buf_init(&out, 8192);
            int status = face_at(i)->complain(&c, &out);
            assert_in_range(status, 400, 599);
            if (kind == COMPLAINT_BUSY)
                assert_int_equal(status, 429);
            if (kind == COMPLAINT_TOO_LONG)
                assert_non_null(strstr(out.p, "8192"));
            json_t *root = json_loadb(out.p, out.len, 0, NULL);
            if (!json_is_object(root))
                fail_msg("%s, complaint %d: %s", service_faces[i], kind, out.p);
            json_decref(root);
            buf_release(&out);
        }
}

/* The next "data: JSON\n\n" of *at; its document. */
static json_t *next_event(const char **at)
{
    const char *end = strstr(*at, "\n\n");
    assert_true(end && text_starts(*at, "data: "));
    json_t *root = json_loadb(*at + 6, (size_t)(end - *at) - 6, 0, NULL);
    if (!root)
        fail_msg("no JSON: %.*s", (int)(end - *at), *at);
    *at = end + 2;
    return root;
}

struct seen {
    struct buf text;
    const char *finish;
    char finish_text[32];
    int64_t completion_tokens; /* of the last usage; -1 none */
    int events, with_usage;
};

static void see(struct seen *seen, const char *p, enum endpoint endpoint)
{
    while (*p) {
        json_t *e = next_event(&p);
        const char *text = json_string_at(e, endpoint == ENDPOINT_CHAT ? "choices.0.delta.content"
                                                                       : "choices.0.text");
        const char *finish = json_string_at(e, "choices.0.finish_reason");
        assert_string_equal(json_string_at(e, "id"), "id-1");
        assert_string_equal(json_string_at(e, "model"), "a \"model\"");
        assert_true(json_is_array(json_at(e, "choices")));
        buf_adds(&seen->text, text ? text : "");
        if (finish)
            snprintf(seen->finish_text, sizeof seen->finish_text, "%s", finish);
        seen->with_usage += json_int_at(e, "usage.completion_tokens", &seen->completion_tokens);
        seen->events++;
        json_decref(e);
    }
}

/* A whole stream of three tokens, as completion.c writes it. */
static void stream(const struct face *face, struct answer a, struct seen *seen)
{
    struct buf out, tail;

    buf_init(&out, 65536);
    buf_init(&tail, 4096);
    if (a.endpoint == ENDPOINT_CHAT)
        face->opener(&a, &out);
    for (a.completion_tokens = 1; a.completion_tokens < 3; a.completion_tokens++) {
        buf_reset(&tail);
        face->frame(&a, &out, &tail);
        buf_addf(&out, " w%s", tail.p);
        face->usage_part(&a, &out);
        buf_adds(&out, "}\n\n");
    }
    a.finish = "length";
    face->last(&a, " z", 2, &out);
    face->ending(&a, &out);
    see(seen, out.p, a.endpoint);
    buf_release(&out);
    buf_release(&tail);
}

static void streams_say_all_and_usage_when_asked(void **state)
{
    (void)state;
    for (size_t i = 0; service_faces[i]; i++)
        for (int n = 0; n < 6; n++) {
            struct answer a = {.endpoint = n % 2 ? ENDPOINT_TEXT : ENDPOINT_CHAT,
                               .id = "id-1",
                               .model = "a \"model\"",
                               .created = 1700000000,
                               .include_usage = n >= 2,
                               .continuous_usage = n >= 4,
                               .cached_in_usage = n >= 4,
                               .prompt_tokens = 10,
                               .cached_tokens = 4};
            struct seen seen = {.completion_tokens = -1};
            buf_init(&seen.text, 1000);
            stream(face_at(i), a, &seen);
            assert_string_equal(seen.text.p, " w w z");
            assert_string_equal(seen.finish_text, "length");
            bool always = strcmp(service_faces[i], "llama.cpp") == 0 && n % 2 == 1;
            assert_int_equal(seen.completion_tokens, a.include_usage || always ? 3 : -1);
            bool continuous = a.continuous_usage && (strcmp(service_faces[i], "vllm") == 0 ||
                                                     strcmp(service_faces[i], "sglang") == 0);
            assert_int_equal(seen.with_usage, continuous                  ? seen.events
                                              : a.include_usage || always ? 1
                                                                          : 0);
            buf_release(&seen.text);
        }
}

static void an_answer_in_one_piece(void **state)
{
    (void)state;
    for (size_t i = 0; service_faces[i]; i++)
        for (int n = 0; n < 2; n++) {
            const struct answer a = {.endpoint = n ? ENDPOINT_TEXT : ENDPOINT_CHAT,
                                     .id = "id-1",
                                     .model = "m",
                                     .cached_in_usage = true,
                                     .prompt_tokens = 10,
                                     .completion_tokens = 3,
                                     .cached_tokens = 4,
                                     .finish = "stop"};
            struct buf out;
            int64_t v;
            buf_init(&out, 65536);
            face_at(i)->whole(&a, " w\xc3\xa9 \"q\"", 8, &out);
            json_t *root = json_loadb(out.p, out.len, 0, NULL);
            if (!root)
                fail_msg("%s: %s", service_faces[i], out.p);
            assert_string_equal(
                json_string_at(root, n ? "choices.0.text" : "choices.0.message.content"),
                " w\xc3\xa9 \"q\"");
            assert_string_equal(json_string_at(root, "choices.0.finish_reason"), "stop");
            assert_true(json_int_at(root, "usage.total_tokens", &v) && v == 13);
            assert_true(json_int_at(root, "usage.prompt_tokens_details.cached_tokens", &v));
            assert_int_equal(v, 4);
            json_decref(root);
            buf_release(&out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_has_its_face),
        cmocka_unit_test(routes_are_told_apart),
        cmocka_unit_test(each_complaint_is_an_error_in_json),
        cmocka_unit_test(streams_say_all_and_usage_when_asked),
        cmocka_unit_test(an_answer_in_one_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
