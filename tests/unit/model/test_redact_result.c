/* test_redact_result.c - secrets and names in every kind of field of a result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/redact_result.h"

static void fill(struct result *r)
{
    result_init(r);
    mem_set_string(&r->kind, "measured");
    mem_set_string(&r->subject.model, "org/model");
    mem_set_string(&r->engine.launch_command, "HF_TOKEN=abc serve /srv/home/bob/m --host 10.1.2.3");
    mem_set_string(&r->engine.flags, "{\"api_key\": \"abc\", \"path\": \"/srv/home/bob\"}");
    mem_set_string(&r->server.url, "http://10.1.2.3:8000/x");
    result_add_fact(r, "model_path", "/srv/home/bob/m", "GET http://10.1.2.3:8000/props");
    result_add_event(r, "warning", "key sk-abcdefghijkl refused");
    result_add_note(r, "fine");
    result_add_note(r, "https://bob:pw@files.example/");
}

static void test_all_fields(void **state)
{
    static const struct redact_names nobody = {0};
    static const struct {
        const char *field, *before, *after;
        size_t secrets, names;
    } rows[] = {
        {"engine.launch_command", "HF_TOKEN=<3 bytes> serve /srv/home/bob/m --host 10.1.2.3",
         "HF_TOKEN=*** serve /srv/home/***/m --host ***", 1, 2},
        {"engine.flags", "{\"api_key\": \"<3 bytes>\", \"path\": \"/srv/home/bob\"}",
         "{\"api_key\": \"***\", \"path\": \"/srv/home/***\"}", 1, 1},
        {"server.url", "http://10.1.2.3:8000/x", "http://***:8000/x", 0, 1},
        {"server.facts[0].value", "/srv/home/bob/m", "/srv/home/***/m", 0, 1},
        {"server.facts[0].source", "GET http://10.1.2.3:8000/props", "GET http://***:8000/props", 0,
         1},
        {"events[0].text", "key <15 bytes> refused", "key *** refused", 1, 0},
        {"notes[1]", "https://<6 bytes>@files.example/", "https://***@files.example/", 1, 0},
    };
    struct redactions found;
    struct arena a = {0};
    struct result r;
    struct buf out;
    (void)state;
    fill(&r);
    assert_string_equal(redact_find_secret(&r, &a), "engine.launch_command");
    redact_result(&r, &nobody, &a, &found);
    assert_int_equal(found.n, ARRAY_LEN(rows));
    for (size_t i = 0; i < found.n; i++) {
        assert_string_equal(found.v[i].field, rows[i].field);
        assert_string_equal(found.v[i].before, rows[i].before);
        assert_string_equal(found.v[i].after, rows[i].after);
        assert_int_equal(found.v[i].secrets, rows[i].secrets);
        assert_int_equal(found.v[i].names, rows[i].names);
    }
    buf_init(&out, RESULT_MAX_BYTES);
    assert_true(result_write_json(&r, &out));
    assert_non_null(strstr(out.p, "\"HF_TOKEN=*** serve /srv/home/***/m --host ***\""));
    assert_null(strstr(out.p, "bob"));
    assert_null(strstr(out.p, "10.1.2.3"));
    assert_null(redact_find_secret(&r, &a));
    redact_result(&r, &nobody, &a, &found);
    assert_int_equal(found.n, 0);
    buf_release(&out);
    result_release(&r);
    arena_release(&a);
}

/* Without names only secrets go; this machine's own addresses are no secret to anybody. */
static void test_names_are_optional(void **state)
{
    static const char *const own[] = {"http://localhost:8000", "http://127.0.0.1", "http://[::1]:1",
                                      "unix:/run/x", "http://***:8000"};
    static const struct redact_names nobody = {0};
    struct redactions found;
    struct arena a = {0};
    struct result r;
    (void)state;
    fill(&r);
    redact_result(&r, NULL, &a, &found);
    assert_int_equal(found.n, 4);
    assert_string_equal(r.server.url, "http://10.1.2.3:8000/x");
    assert_string_equal(r.server.facts[0].value, "/srv/home/bob/m");
    result_release(&r);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        result_init(&r);
        mem_set_string(&r.server.url, own[i]);
        redact_result(&r, &nobody, &a, &found);
        assert_int_equal(found.n, 0);
        result_release(&r);
    }
    arena_release(&a);
}

/* Whatever quotes do: what was cleaned holds no secret when it is read again. */
static void test_clean_stays_clean(void **state)
{
    static const char *const parts[] = {"--api-key", "=",  "\"", "'", " ",   "\\", "a:b", ";",
                                        "TOKEN=x",   "\n", "#",  "@", "://", "{",  "***"};
    struct redactions found;
    struct arena a = {0};
    struct buf command;
    struct result r;
    uint64_t state_of = 1;
    (void)state;
    buf_init(&command, 4096);
    for (int i = 0; i < 20000; i++) {
        buf_reset(&command);
        for (int k = 0; k < 9; k++) {
            state_of = state_of * 6364136223846793005u + 1442695040888963407u;
            buf_adds(&command, parts[(state_of >> 33) % ARRAY_LEN(parts)]);
        }
        result_init(&r);
        mem_set_string(&r.engine.launch_command, command.p);
        redact_result(&r, NULL, &a, &found);
        if (redact_find_secret(&r, &a))
            fail_msg("'%s' became '%s'", command.p, r.engine.launch_command);
        result_release(&r);
        arena_reset(&a);
    }
    buf_release(&command);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_names_are_optional),
        cmocka_unit_test(test_clean_stays_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
