/* Packing and unpacking; a bomb ends at the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "site/gzip.h"

static void test_round_trip(void **state)
{
    struct buf packed, plain;
    struct err err;
    (void)state;
    char *text = mem_array(300000, 1);
    for (size_t i = 0; i < 300000; i++)
        text[i] = (char)('a' + i * i % 7);
    buf_init(&packed, 1 << 20);
    buf_init(&plain, 1 << 20);
    assert_true(gzip_pack(text, 300000, &packed));
    assert_true(packed.len < 300000);
    assert_true(gzip_unpack(packed.p, packed.len, &plain, &err));
    assert_int_equal(plain.len, 300000);
    assert_memory_equal(plain.p, text, 300000);
    /* two members, one after the other, are one text */
    size_t one = packed.len;
    buf_reset(&plain);
    buf_add(&packed, packed.p, one);
    assert_true(gzip_unpack(packed.p, packed.len, &plain, &err));
    assert_int_equal(plain.len, 600000);
    buf_release(&packed);
    buf_release(&plain);
    free(text);
}

static void test_bomb(void **state)
{
    struct buf packed, plain;
    struct err err;
    (void)state;
    char *zeros = mem_array(64 << 20, 1);
    buf_init(&packed, 128 << 20);
    buf_init(&plain, 1 << 20);
    assert_true(gzip_pack(zeros, 64 << 20, &packed));
    assert_false(gzip_unpack(packed.p, packed.len, &plain, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(plain.len <= 1 << 20);
    buf_release(&packed);
    buf_release(&plain);
    free(zeros);
}

static void test_broken(void **state)
{
    static const char *const broken[] = {"", "plain text", "\x1f\x8b",
                                         "\x1f\x8b\x08\x00zzzzzzzzzz"};
    struct buf packed, plain;
    struct err err;
    (void)state;
    buf_init(&plain, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        buf_reset(&plain);
        assert_false(gzip_unpack(broken[i], strlen(broken[i]), &plain, &err));
        assert_int_equal(err.code, ERR_FORMAT);
    }
    buf_init(&packed, 1 << 20);
    assert_true(gzip_pack("some text, some text, some text", 31, &packed));
    for (size_t cut = 1; cut < packed.len; cut++) {
        buf_reset(&plain);
        assert_false(gzip_unpack(packed.p, packed.len - cut, &plain, &err));
    }
    buf_add(&packed, "garbage behind it", 17);
    buf_reset(&plain);
    assert_false(gzip_unpack(packed.p, packed.len, &plain, &err));
    buf_release(&packed);
    buf_release(&plain);
}

static void test_accepted(void **state)
{
    static const struct {
        const char *header;
        bool accepted;
    } cases[] = {
        {NULL, false},         {"", false},
        {"gzip", true},        {"br, gzip", true},
        {"GZIP;q=0.5", true},  {"gzip;q=0", false},
        {"gzip;q=0.0", false}, {"identity", false},
        {"gzipped", false},    {"deflate,gzip ;q=1", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (gzip_accepted(cases[i].header) != cases[i].accepted)
            fail_msg("wrong about %s", cases[i].header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
