/* test_credentials.c - the file of keys: what is written, what is refused, and who may read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cmd/credentials.h"
#include "cmd/site_client.h"

#define KEY_A "tgk_0123456789abcdef"
#define KEY_B "tgk_fedcba9876543210"

struct rig {
    char folder[64], config[80], path[120];
    struct arena arena;
    struct credentials known;
    struct err err;
};

static int setup(void **state)
{
    struct rig *r = mem_alloc(sizeof *r);
    snprintf(r->folder, sizeof r->folder, "/tmp/tokgrid-credentials-XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->config, sizeof r->config, "%s/config", r->folder);
    snprintf(r->path, sizeof r->path, "%s/tokgrid/credentials.json", r->config);
    assert_int_equal(setenv("XDG_CONFIG_HOME", r->config, 1), 0);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    char path[120];
    unlink(r->path);
    snprintf(path, sizeof path, "%s/tokgrid", r->config);
    rmdir(path);
    rmdir(r->config);
    rmdir(r->folder);
    arena_release(&r->arena);
    free(r);
    return 0;
}

static bool read_again(struct rig *r)
{
    return credentials_read(&r->arena, &r->known, &r->err);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void test_keeps_one_each(void **state)
{
    struct rig *r = *state;
    static const struct credential entries[] = {{"https://a.example", "ada", KEY_A},
                                                {"https://b.example", "bob \"B\"", KEY_B},
                                                {"https://a.example", "eve", KEY_B}};
    char folder[120];

    assert_true(read_again(r)); /* no file yet */
    assert_int_equal(r->known.n, 0);
    assert_string_equal(r->known.path, r->path);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        assert_true(credentials_put(&r->known, &entries[i], &r->err));
        assert_true(credentials_write(&r->known, &r->err));
        assert_true(read_again(r));
    }
    assert_int_equal(r->known.n, 2);
    assert_string_equal(credentials_find(&r->known, "https://a.example")->user, "eve");
    assert_string_equal(credentials_find(&r->known, "https://a.example")->key, KEY_B);
    assert_string_equal(credentials_find(&r->known, "https://b.example")->user, "bob \"B\"");
    assert_null(credentials_find(&r->known, "http://a.example"));
    assert_int_equal(mode_of(r->path), 0600);
    snprintf(folder, sizeof folder, "%s/tokgrid", r->config);
    assert_int_equal(mode_of(folder), 0700);
    credentials_remove(&r->known, "https://a.example");
    assert_true(credentials_write(&r->known, &r->err) && read_again(r));
    assert_int_equal(r->known.n, 1);
    assert_string_equal(r->known.v[0].site, "https://b.example");
}

/* Beside it stands what a crash left there, readable for all. */
static void test_private_from_the_start(void **state)
{
    struct rig *r = *state;
    static const struct credential entry = {"https://a.example", "ada", KEY_A};
    char beside[160];

    assert_true(read_again(r));
    assert_true(credentials_put(&r->known, &entry, &r->err));
    assert_true(credentials_write(&r->known, &r->err));
    snprintf(beside, sizeof beside, "%s.%ld.tmp", r->path, (long)getpid());
    assert_true(file_write_atomic(beside, "x", 1, &r->err));
    assert_int_equal(chmod(beside, 0666), 0);
    assert_true(credentials_write(&r->known, &r->err));
    assert_int_equal(mode_of(r->path), 0600);
    assert_int_equal(access(beside, F_OK), -1);
    /* and what others could read is believed no longer */
    assert_int_equal(chmod(r->path, 0640), 0);
    assert_false(read_again(r));
    assert_non_null(strstr(r->err.text, "chmod 600"));
    assert_null(strstr(r->err.text, KEY_A));
}

static void test_refuses(void **state)
{
    struct rig *r = *state;
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"", "not valid JSON"},
        {"[]", "not a file of tokgrid's keys"},
        {"{\"schema\": \"other/1\", \"sites\": []}", "not a file of tokgrid's keys"},
        {"{\"schema\": \"tokgrid-credentials/1\"}", "not a file of tokgrid's keys"},
        {"{\"schema\": \"tokgrid-credentials/1\", \"sites\": [{\"site\": \"https://a\"}]}",
         "entry 1"},
        {"{\"schema\": \"tokgrid-credentials/1\", \"sites\": [{\"site\": \"https://a\", "
         "\"user\": \"u\", \"key\": \"tgk_01234567\\r\\nX: y\"}]}",
         "entry 1"},
    };
    assert_true(read_again(r));
    assert_true(credentials_write(&r->known, &r->err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(file_write_private(r->path, rows[i].text, strlen(rows[i].text), &r->err));
        assert_false(read_again(r));
        assert_non_null(strstr(r->err.text, rows[i].error));
    }
    assert_int_equal(unlink(r->path), 0);
    assert_int_equal(mkfifo(r->path, 0600), 0);
    assert_false(read_again(r)); /* instead of waiting for somebody to write into it */
    assert_non_null(strstr(r->err.text, "is no file"));
}

/* What others put there is not read, and nothing that stands there makes anybody wait. */
static void test_strange_files(void **state)
{
    struct rig *r = *state;
    char target[160];

    assert_true(read_again(r));
    assert_true(credentials_write(&r->known, &r->err));
    if (geteuid() == 0) { /* nobody else can give files away */
        assert_int_equal(chown(r->path, 1, 1), 0);
        assert_false(read_again(r));
        assert_non_null(strstr(r->err.text, "another user"));
    }
    assert_int_equal(unlink(r->path), 0);
    assert_int_equal(mkfifo(r->path, 0600), 0);
    assert_false(read_again(r));
    assert_non_null(strstr(r->err.text, "is no file"));
    assert_int_equal(unlink(r->path), 0);
    assert_int_equal(mkdir(r->path, 0700), 0);
    assert_false(read_again(r));
    assert_int_equal(rmdir(r->path), 0);
    /* a link is followed for reading, and replaced when keys are written, not what it leads to */
    snprintf(target, sizeof target, "%s/target", r->folder);
    assert_true(file_write_atomic(target, "{}", 2, &r->err));
    assert_int_equal(symlink(target, r->path), 0);
    assert_false(read_again(r));
    assert_non_null(strstr(r->err.text, "chmod 600"));
    assert_true(credentials_write(&r->known, &r->err) && read_again(r));
    struct stat st;
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 2);
    assert_int_equal(lstat(r->path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(unlink(target), 0);
}

static void test_keys(void **state)
{
    static const char *const bad[] = {"",
                                      "tgk_",
                                      "x",
                                      "tgk_short",
                                      "hf_0123456789abc",
                                      "tgk_01234567 9",
                                      "tgk_01234567\n",
                                      "tgk_01234567\xC3\xA9"};
    char longest[200];
    (void)state;
    assert_true(credential_key_valid(KEY_A));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(credential_key_valid(bad[i]));
    snprintf(longest, sizeof longest, "tgk_%0150d", 0);
    assert_false(credential_key_valid(longest));
}

/* Which site an address means, and which may get a key. */
static void test_sites(void **state)
{
    static const struct {
        const char *given, *text; /* text NULL: refused */
        bool safe;
    } rows[] = {
        {"https://Site.Example", "https://site.example", true},
        {"https://site.example:443/", "https://site.example", true},
        {"site.example", "https://site.example", true},
        {"site.example:8443", "https://site.example:8443", true},
        {"http://site.example", "http://site.example", false},
        {"http://127.0.0.1.site.example", "http://127.0.0.1.site.example", false},
        {"localhost:8080", "http://localhost:8080", true},
        {"http://127.0.0.1:8080", "http://127.0.0.1:8080", true},
        {"http://[::1]:8080", "http://[::1]:8080", true},
        {"https://site.example/en", NULL, false},
        {"https://u:p@site.example", NULL, false},
        {"unix:/run/site", NULL, false},
        {"ftp://site.example", NULL, false},
        {"https://site.example\r\nX: y", NULL, false},
    };
    struct site site;
    struct err err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool ok = site_parse(rows[i].given, &site, &err);
        if (ok != (rows[i].text != NULL))
            fail_msg("'%s': %s", rows[i].given, ok ? site.text : err.text);
        if (!ok)
            continue;
        assert_string_equal(site.text, rows[i].text);
        assert_int_equal(site_may_have_key(&site, false, &err), rows[i].safe);
        assert_true(site_may_have_key(&site, true, &err));
    }
}

static void test_choice(void **state)
{
    static const struct credentials none = {0},
                                    one = {.v = {{"https://a.example", "u", KEY_A}}, .n = 1},
                                    two = {.v = {{"https://a.example", "u", KEY_A},
                                                 {"https://b.example", "u", KEY_A}},
                                           .n = 2};
    struct site site;
    struct err err;
    (void)state;
    assert_true(site_choose("https://c.example", &two, &site, &err));
    assert_string_equal(site.text, "https://c.example");
    assert_true(site_choose(NULL, &one, &site, &err) && site_choose("", &one, &site, &err));
    assert_string_equal(site.text, "https://a.example");
    assert_false(site_choose(NULL, &none, &site, &err));
    assert_non_null(strstr(err.text, "tokgrid login"));
    assert_false(site_choose(NULL, &two, &site, &err));
    assert_non_null(strstr(err.text, "https://b.example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_keeps_one_each, setup, teardown),
        cmocka_unit_test_setup_teardown(test_private_from_the_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strange_files, setup, teardown),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_sites),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
