/* test_prompt.c - generated and given text: repeatable, of exact length, without a period. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
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
#include "base/text.h"
#include "load/prompt.h"

static void text_of(const struct prompt_source *s, uint64_t stream, size_t words, struct buf *out)
{
    buf_reset(out);
    prompt_add_text(s, stream, words, out);
}

static size_t count_words(const char *p)
{
    size_t n = 0;
    for (bool in_word = false; *p; p++) {
        n += !isspace((unsigned char)*p) && !in_word;
        in_word = !isspace((unsigned char)*p);
    }
    return n;
}

static void write_file(char *path, size_t size, const char *p, size_t n)
{
    struct err err;
    snprintf(path, size, "/tmp/tokgrid-prompt-%d.txt", (int)getpid());
    if (!file_write_atomic(path, p, n, &err))
        fail_msg("%s", err.text);
}

/* --- generated --- */

/* The seed is stored in results, so the text it stands for may never change. */
static void test_same_seed_same_text(void **state)
{
    struct prompt_source a, b, c;
    struct buf x, y;
    (void)state;
    buf_init(&x, 1 << 20);
    buf_init(&y, 1 << 20);
    prompt_source_init(&a, 42);
    prompt_source_init(&b, 42);
    prompt_source_init(&c, 43);
    text_of(&a, 5, 2000, &x);
    text_of(&b, 5, 2000, &y);
    assert_string_equal(x.p, y.p);
    text_of(&c, 5, 2000, &y);
    assert_string_not_equal(x.p, y.p);
    text_of(&a, 0, 12, &x);
    assert_string_equal(x.p, "Over the loud reason, a field cut this voice. "
                             "Nevertheless, another rare");
    prompt_source_release(&a);
    prompt_source_release(&b);
    prompt_source_release(&c);
    prompt_source_release(&c);
    buf_release(&x);
    buf_release(&y);
}

/* Exactly n words, and the text of n is the beginning of the text of n + 1. */
static void check_lengths(const struct prompt_source *s, uint64_t stream, size_t most)
{
    struct buf shorter, longer;
    buf_init(&shorter, 1 << 20);
    buf_init(&longer, 1 << 20);
    for (size_t n = 0; n <= most; n++) {
        text_of(s, stream, n, &longer);
        if (count_words(longer.p) != n)
            fail_msg("stream %" PRIu64 ": %zu words instead of %zu", stream, count_words(longer.p),
                     n);
        if (strncmp(longer.p, shorter.p, shorter.len) != 0)
            fail_msg("stream %" PRIu64 ": %zu words do not begin like %zu", stream, n, n - 1);
        text_of(s, stream, n, &shorter);
    }
    buf_release(&shorter);
    buf_release(&longer);
}

static void test_exact_words_and_prefixes(void **state)
{
    struct prompt_source s;
    (void)state;
    prompt_source_init(&s, 7);
    for (uint64_t stream = 0; stream < 8; stream++)
        check_lengths(&s, stream, 400);
    check_lengths(&s, UINT64_MAX, 50);
    prompt_source_release(&s);
}

static void test_streams_differ(void **state)
{
    enum { STREAMS = 64 };
    struct prompt_source s;
    struct buf texts[STREAMS];
    (void)state;
    prompt_source_init(&s, 7);
    for (size_t i = 0; i < STREAMS; i++) {
        buf_init(&texts[i], 1 << 16);
        text_of(&s, i, 20, &texts[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(texts[i].p, texts[k].p);
    }
    for (size_t i = 0; i < STREAMS; i++)
        buf_release(&texts[i]);
    prompt_source_release(&s);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* FNV-1a over eight words from p. */
static uint64_t hash_words(const char *p)
{
    uint64_t h = 14695981039346656037u;
    for (int words = 0; *p && words < 8; p++) {
        h = (h ^ (unsigned char)*p) * 1099511628211u;
        words += isspace((unsigned char)*p) != 0;
    }
    return h;
}

/* As long as the longest context: the smallest period of all of it is (nearly) its length, and
 * hardly any eight words in a row come twice. */
static void test_no_period(void **state)
{
    enum { WORDS = 130000 };
    struct prompt_source s;
    struct buf text;

    (void)state;
    buf_init(&text, 4 << 20);
    prompt_source_init(&s, 3);
    text_of(&s, 1, WORDS, &text);
    uint32_t *border = mem_array(text.len, sizeof *border);
    for (size_t i = 1; i < text.len; i++) {
        uint32_t k = border[i - 1];
        while (k > 0 && text.p[i] != text.p[k])
            k = border[k - 1];
        border[i] = k + (text.p[i] == text.p[k]);
        if (border[i] > 200)
            fail_msg("%u bytes from the beginning come again at %zu", border[i], i);
    }
    assert_true(border[text.len - 1] < 64);
    free(border);

    uint64_t *hashes = mem_array(WORDS, sizeof *hashes);
    size_t n = 0, twice = 0;
    for (size_t i = 0; i < text.len && n < WORDS; i++)
        if (i == 0 || isspace((unsigned char)text.p[i - 1]))
            hashes[n++] = hash_words(text.p + i);
    assert_int_equal(n, WORDS);
    qsort(hashes, n, sizeof *hashes, compare_hashes);
    for (size_t i = 1; i < n; i++)
        twice += hashes[i] == hashes[i - 1];
    assert_true(twice < WORDS / 1000);
    free(hashes);
    prompt_source_release(&s);
    buf_release(&text);
}

/* It has to be natural, and it has to survive any tokenizer and JSON: plain ASCII sentences. */
static void test_text_is_plain(void **state)
{
    struct prompt_source s;
    struct buf text;
    size_t sentences = 0;
    (void)state;
    buf_init(&text, 1 << 20);
    prompt_source_init(&s, 11);
    text_of(&s, 0, 5000, &text);
    assert_true(isupper((unsigned char)text.p[0]));
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (!isalpha((unsigned char)c) && !strchr(" ,.\n", c))
            fail_msg("'%c' at %zu", c, i);
        if (c == ' ' && i + 1 < text.len)
            assert_true(isalpha((unsigned char)text.p[i + 1]));
        sentences += c == '.';
    }
    assert_true(sentences > 5000 / 16 && sentences < 5000 / 4);
    prompt_source_release(&s);
    buf_release(&text);
}

/* --- nonces, contexts, tasks --- */

static void test_nonces(void **state)
{
    enum { MANY = 20000 };
    struct prompt_source s, other;
    uint64_t *seen = mem_array(MANY, sizeof *seen);
    (void)state;
    prompt_source_init(&s, 1);
    prompt_source_init(&other, 1);
    for (size_t i = 0; i < MANY / 2; i++) {
        seen[i] = prompt_next_nonce(&s);
        seen[MANY / 2 + i] = prompt_next_nonce(&other); /* the same seed, another run */
    }
    qsort(seen, MANY, sizeof *seen, compare_hashes);
    for (size_t i = 1; i < MANY; i++)
        assert_true(seen[i] != seen[i - 1]);
    prompt_source_release(&s);
    prompt_source_release(&other);
    free(seen);
}

static void test_context(void **state)
{
    struct prompt_source s;
    struct buf context, text;
    (void)state;
    buf_init(&context, 1 << 16);
    buf_init(&text, 1 << 16);
    prompt_source_init(&s, 1);
    prompt_add_context(&s, 0x1234abcdu, 4, 0, &context);
    assert_string_equal(context.p, "1234abcd ");
    buf_reset(&context);
    prompt_add_context(&s, 7, 4, 30, &context); /* the nonce at the very front, then the text */
    text_of(&s, 4, 30, &text);
    assert_memory_equal(context.p, "00000007 ", 9);
    assert_string_equal(context.p + 9, text.p);
    prompt_source_release(&s);
    buf_release(&context);
    buf_release(&text);
}

/* Each number asks for something of its own, with two different subjects. */
static void test_tasks(void **state)
{
    struct prompt_source s;
    struct buf task, again;
    char number[40];
    (void)state;
    buf_init(&task, 4096);
    buf_init(&again, 4096);
    prompt_source_init(&s, 1);
    for (uint64_t i = 0; i < 3000; i++) {
        buf_reset(&task);
        buf_reset(&again);
        prompt_add_task(&s, i, &task);
        prompt_add_task(&s, i, &again);
        assert_string_equal(task.p, again.p);
        snprintf(number, sizeof number, "\n\nTask %" PRIu64 ": write ", i + 1);
        assert_memory_equal(task.p, number, strlen(number));
        const char *first = strstr(task.p, " about ") + 7, *and = strstr(first, " and ");
        const char *end = strchr(and, '.');
        size_t a = (size_t)(and-first), b = (size_t)(end - and) - 5;
        if (a == b && memcmp(first, and+5, a) == 0)
            fail_msg("task %" PRIu64 ": %s", i, task.p);
    }
    prompt_source_release(&s);
    buf_release(&task);
    buf_release(&again);
}

/* --- words and tokens --- */

static void test_fit(void **state)
{
    static const struct {
        size_t words_a;
        int64_t tokens_a;
        size_t words_b;
        int64_t tokens_b;
        bool ok;
        double overhead, per_word;
    } rows[] = {
        {100, 140, 300, 400, true, 10, 1.3},
        {300, 400, 100, 140, true, 10, 1.3}, /* in either order */
        {0, 25, 1000, 1025, true, 25, 1},
        {100, 90, 200, 190, true, -10, 1}, /* whatever that is */
        {100, 140, 100, 150, false, 0, 0},
        {100, 140, 300, 140, false, 0, 0}, /* the server counts nothing */
        {100, 140, 300, 190, false, 0, 0}, /* 0.25: too little to be true */
        {100, 140, 300, 191, true, 114.5, 0.255},
        {100, 140, 300, 4140, false, 0, 0}, /* 20: too much */
        {100, 400, 300, 140, false, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct prompt_fit fit = {-1, -1};
        bool ok = prompt_fit_from(rows[i].words_a, rows[i].tokens_a, rows[i].words_b,
                                  rows[i].tokens_b, &fit);
        if (ok != rows[i].ok)
            fail_msg("row %zu", i);
        assert_true(fabs(fit.overhead - (ok ? rows[i].overhead : -1)) < 1e-9);
        assert_true(fabs(fit.per_word - (ok ? rows[i].per_word : -1)) < 1e-9);
    }
}

static void test_words_for(void **state)
{
    const struct prompt_fit fit = {.overhead = 10, .per_word = 1.25};
    (void)state;
    assert_int_equal(prompt_words_for(&fit, 10), 0);
    assert_int_equal(prompt_words_for(&fit, 0), 0);
    assert_int_equal(prompt_words_for(&fit, -5), 0);
    assert_int_equal(prompt_words_for(&fit, 11), 1); /* 0.8 */
    assert_int_equal(prompt_words_for(&fit, 135), 100);
    assert_int_equal(prompt_words_for(&fit, 131072), 104850); /* 104,849.6 */
}

/* --- the user's own text --- */

static void test_refused_files(void **state)
{
    static const struct {
        const char *p;
        size_t n, times;
        const char *why; /* NULL: accepted */
    } rows[] = {
        {"word ", 5, 50, NULL},
        {"word\n", 5, 49, "has 49 words"},
        {"", 0, 1, "has 0 words"},
        {" \n\t", 3, 100, "has 0 words"},
        {"\xC3\xA9t\xC3\xA9 ", 6, 50, NULL},
        {"caf\xE9 ", 5, 50, "not UTF-8"},
        {"a\0b ", 4, 50, "not UTF-8"},
    };
    char path[64];
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct prompt_source s;
        struct err err = {0};
        buf_reset(&text);
        for (size_t k = 0; k < rows[i].times; k++)
            buf_add(&text, rows[i].p, rows[i].n);
        write_file(path, sizeof path, text.p, text.len);
        prompt_source_init(&s, 1);
        bool ok = prompt_source_load(&s, path, &err);
        if (ok != !rows[i].why || (!ok && !strstr(err.text, rows[i].why)))
            fail_msg("row %zu: %s", i, err.text);
        prompt_source_release(&s);
    }
    unlink(path);
    struct prompt_source s;
    struct err err = {0};
    prompt_source_init(&s, 1);
    assert_false(prompt_source_load(&s, path, &err));
    assert_int_equal(err.code, ERR_SYSTEM);
    prompt_source_release(&s);
    buf_release(&text);
}

/* Words in the file's order, round and round, from a place that depends on the stream. */
static void test_file_text(void **state)
{
    enum { WORDS = 61 };
    static const char *const gaps[] = {" ", "\n", "  ", "\r\n\r\n", "\t"};
    char path[64];
    struct prompt_source s;
    struct err err;
    struct buf text;
    bool starts[WORDS] = {false};
    size_t places = 0;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_adds(&text, "  ");
    for (unsigned i = 0; i < WORDS; i++) /* the last one ends with the file */
        buf_addf(&text, "w%u,%s", i, i + 1 < WORDS ? gaps[i % ARRAY_LEN(gaps)] : "");
    write_file(path, sizeof path, text.p, text.len);
    prompt_source_init(&s, 9);
    assert_true(prompt_source_load(&s, path, &err));
    assert_int_equal(s.file_words, WORDS);
    for (uint64_t stream = 0; stream < 200; stream++) {
        text_of(&s, stream, 3 * WORDS + 5, &text);
        unsigned first = WORDS, at = 0;
        const char *p = text.p;
        for (; *p; at++) {
            char wanted[16];
            if (at == 0)
                for (first = 0; first < WORDS; first++)
                    if (snprintf(wanted, sizeof wanted, "w%u,", first) > 0 &&
                        text_starts(p, wanted))
                        break;
            snprintf(wanted, sizeof wanted, "w%u,", (first + at) % WORDS);
            assert_true(text_starts(p, wanted));
            p += strlen(wanted);
            p += strspn(p, " \t\r\n");
        }
        assert_int_equal(at, 3 * WORDS + 5);
        places += !starts[first];
        starts[first] = true;
    }
    assert_true(places > WORDS / 2);
    check_lengths(&s, 0, 3 * WORDS);
    check_lengths(&s, 1, 3 * WORDS);
    prompt_source_release(&s);
    unlink(path);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_text),
        cmocka_unit_test(test_exact_words_and_prefixes),
        cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_no_period),
        cmocka_unit_test(test_text_is_plain),
        cmocka_unit_test(test_nonces),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_words_for),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_file_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
