/* test_fault.c - specs, files, and whom a fault hits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/num.h"
#include "engine/fault.h"

static struct fault parse(const char *spec)
{
    struct faults f = {0};
    struct err err = {0};
    if (!faults_add(&f, spec, "--fault", &err))
        fail_msg("%s: %s", spec, err.text);
    assert_int_equal(f.n, 1);
    return f.list[0];
}

static void every_kind_has_a_line_and_stands_alone(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_KINDS; i++) {
        assert_non_null(fault_kinds[i].name);
        assert_non_null(fault_kinds[i].help);
        struct fault f = parse(fault_kinds[i].name);
        assert_int_equal(f.kind, i);
        assert_true(f.probability == 1);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(fault_kinds[i].name, fault_kinds[k].name);
    }
}

static void keys_are_read(void **state)
{
    (void)state;
    struct fault f = parse("stall:token=40,for=500ms,every=3");
    assert_int_equal(f.token, 40);
    assert_int_equal(f.for_ns, 500 * NS_PER_MS);
    assert_int_equal(f.every, 3);
    f = parse("refuse:status=429,retry-after=2,probability=0.25,seed=7");
    assert_int_equal(f.status, 429);
    assert_int_equal(f.retry_after_s, 2);
    assert_true(f.probability == 0.25);
    assert_int_equal(f.seed, 7);
    assert_int_equal(parse("refuse").status, 503);
    assert_int_equal(parse("bundle:events=8").count, 8);
    assert_int_equal(parse("split:bytes=3").count, 3);
    assert_int_equal(parse("cut-prompt:tokens=4k").count, 4096);
    assert_true(parse("wrong-usage:factor=0.5").factor == 0.5);
}

static void bad_specs_name_what_is_wrong(void **state)
{
    static const struct {
        const char *spec, *words;
    } rows[] = {
        {"", "'' is no fault; there are stall, reset"},
        {"explode", "'explode' is no fault"},
        {"stall:", "'' is no key of stall; it takes token, for, request"},
        {"stall:bytes=3", "'bytes' is no key of stall"},
        {"refuse:token=3", "'token' is no key of refuse"},
        {"stall:for", "for wants a time of at most 1h00m, not ''"},
        {"stall:for=never", "for wants a time of at most 1h00m, not 'never'"},
        {"stall:for=2h", "not '2h'"},
        {"bundle:events=1", "events wants a number from 2 to 4096, not '1'"},
        {"refuse:status=200", "status wants a number from 400 to 599, not '200'"},
        {"loop:probability=1.5", "probability wants a number from 0 to 1, not '1.5'"},
        {"loop:every=0", "every wants a number from 1"},
        {"loop:period=4,,every=2", "'' is no key of loop"},
        {"wrong-usage:factor=nan", "factor wants a number from 0 to 1000, not 'nan'"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct faults f = {0};
        struct err err = {0};
        assert_false(faults_add(&f, rows[i].spec, "--fault", &err));
        assert_int_equal(err.code, ERR_USAGE);
        assert_int_equal(f.n, 0);
        if (!strstr(err.text, rows[i].words) || strncmp(err.text, "--fault: ", 9) != 0)
            fail_msg("%s: %s", rows[i].spec, err.text);
    }
}

static void there_is_an_end_to_them(void **state)
{
    struct faults f = {0};
    struct err err = {0};
    char spec[500];
    (void)state;
    for (int i = 0; i < FAULTS_MAX; i++)
        assert_true(faults_add(&f, "loop", "x", &err));
    assert_false(faults_add(&f, "loop", "x", &err));
    memset(spec, 'x', sizeof spec - 1);
    spec[sizeof spec - 1] = '\0';
    f.n = 0;
    assert_false(faults_add(&f, spec, "x", &err));
}

static void a_file_of_them(void **state)
{
    static const char good[] = "# what goes wrong\n\n  stall:token=1 # here\r\nreset\n\tloop  ";
    static const char bad[] = "loop\n\nstall:x=1\nreset\n";
    char path[] = "/tmp/tokgrid-faults-XXXXXX";
    struct faults f = {0};
    struct err err = {0};
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_true(file_write_atomic(path, good, sizeof good - 1, &err));
    if (!faults_read(&f, path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(f.n, 3);
    assert_int_equal(f.list[0].kind, FAULT_STALL);
    assert_int_equal(f.list[2].kind, FAULT_LOOP);
    assert_true(file_write_atomic(path, bad, sizeof bad - 1, &err));
    assert_false(faults_read(&f, path, &err));
    assert_non_null(strstr(err.text, ":3: 'x' is no key of stall"));
    unlink(path);
    assert_false(faults_read(&f, path, &err));
}

static bool hits(const char *spec, int64_t request, int64_t open)
{
    struct faults f = {0};
    struct err err = {0};
    const struct fault *picked[FAULT_KINDS];
    assert_true(faults_add(&f, spec, "x", &err));
    faults_pick(&f, request, open, picked);
    for (int i = 0; i < FAULT_KINDS; i++)
        assert_true(picked[i] == NULL || i == FAULT_LOOP);
    return picked[FAULT_LOOP] != NULL;
}

static void whom_a_fault_hits(void **state)
{
    (void)state;
    assert_true(hits("loop", 1, 1));
    assert_true(hits("loop:request=3", 3, 1));
    assert_false(hits("loop:request=3", 4, 1));
    assert_true(hits("loop:every=2", 4, 1));
    assert_false(hits("loop:every=2", 5, 1));
    assert_false(hits("loop:from=10", 9, 1));
    assert_true(hits("loop:from=10,until=12", 12, 1));
    assert_false(hits("loop:from=10,until=12", 13, 1));
    assert_false(hits("loop:open=4", 1, 3));
    assert_true(hits("loop:open=4", 1, 4));
    assert_false(hits("loop:every=2,open=4", 3, 9)); /* all of its conditions */
    assert_false(hits("loop:probability=0", 1, 1));
}

static void probability_is_drawn_by_the_seed(void **state)
{
    int count = 0, differ = 0;
    (void)state;
    for (int64_t i = 1; i <= 4000; i++) {
        bool hit = hits("loop:probability=0.25,seed=1", i, 1);
        assert_int_equal(hit, hits("loop:probability=0.25,seed=1", i, 1));
        count += hit;
        differ += hit != hits("loop:probability=0.25,seed=2", i, 1);
    }
    assert_in_range(count, 900, 1100);
    assert_true(differ > 1000);
}

static void the_first_of_a_kind_wins(void **state)
{
    struct faults f = {0};
    struct err err = {0};
    const struct fault *picked[FAULT_KINDS];
    (void)state;
    assert_true(faults_add(&f, "stall:token=1,every=2", "x", &err));
    assert_true(faults_add(&f, "stall:token=2", "x", &err));
    assert_true(faults_add(&f, "split", "x", &err));
    faults_pick(&f, 2, 1, picked);
    assert_int_equal(picked[FAULT_STALL]->token, 1);
    assert_non_null(picked[FAULT_SPLIT]);
    faults_pick(&f, 3, 1, picked);
    assert_int_equal(picked[FAULT_STALL]->token, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_line_and_stands_alone),
        cmocka_unit_test(keys_are_read),
        cmocka_unit_test(bad_specs_name_what_is_wrong),
        cmocka_unit_test(there_is_an_end_to_them),
        cmocka_unit_test(a_file_of_them),
        cmocka_unit_test(whom_a_fault_hits),
        cmocka_unit_test(probability_is_drawn_by_the_seed),
        cmocka_unit_test(the_first_of_a_kind_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
