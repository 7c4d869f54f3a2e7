/* test_tokenizer.c - the rule, what may be relied on of it, the template, the memo, the writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "engine/tokenizer.h"
#include "engine/writer.h"

/* "a|b|c": the tokens' texts. */
static void show(const struct tokens *t, struct buf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        if (i)
            buf_addc(out, '|');
        assert_true(token_text(t->v[i], out));
    }
}

static void expect(const char *text, const char *wanted)
{
    struct tokens t = {0};
    struct buf shown;

    buf_init(&shown, 4096);
    tokenizer_add(&t, text, strlen(text));
    show(&t, &shown);
    assert_string_equal(shown.p, wanted);
    buf_release(&shown);
    tokens_release(&t);
}

static void the_rule(void **state)
{
    (void)state;
    expect("", "");
    expect("hello world", "hello| world");
    expect("a wonderful extraordinarily", "a| wonder|ful| extrao|rdinar|ily");
    expect("  x", " | x");
    expect("1234567 8", "123|456|7| |8");
    expect("it's 5kg.", "it|'|s| |5|kg|.");
    expect("w\xc3\xb6rld \xe8\xaa\x9e \xf0\x9f\xa6\x8a",
           "w|\xc3\xb6|rld| |\xe8\xaa\x9e| |\xf0\x9f\xa6\x8a");
    expect("a\n\nb", "a|\n|\n|b");
    expect("\xff"
           "a\xc3",
           "\xff|a|\xc3");                         /* bytes that are no text */
    expect("[@`{AZaz/09:", "[|@|`|{|AZaz|/|09|:"); /* the neighbours of letters and digits */
}

static size_t random_text(struct rng *rng, char *out, size_t max)
{
    static const char *const pieces[] = {
        " ",    "abc",       "Word", "12",           "\n",         ".", "\xc3\xa9",
        "\xff", "superlong", "7",    "\xe4\xb8\xad", "<|im_end|>", "<"};
    size_t n = 0;
    for (;;) {
        const char *piece = pieces[rng_below(rng, ARRAY_LEN(pieces))];
        if (n + strlen(piece) > max)
            return n;
        while (*piece)
            out[n++] = *piece++;
    }
}

static void tokens_are_the_text(void **state)
{
    struct rng rng = {1};
    char text[400];
    (void)state;
    for (int round = 0; round < 500; round++) {
        struct tokens t = {0};
        struct buf back;
        size_t n = random_text(&rng, text, 1 + rng_below(&rng, sizeof text));
        buf_init(&back, sizeof text);
        tokenizer_add(&t, text, n);
        for (size_t i = 0; i < t.n; i++)
            assert_true(token_text(t.v[i], &back));
        assert_int_equal(back.len, n);
        assert_memory_equal(back.p, text, n);
        buf_release(&back);
        tokens_release(&t);
    }
}

static void what_follows_changes_only_the_last_token(void **state)
{
    struct rng rng = {2};
    char text[400];
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct tokens whole = {0}, part = {0};
        size_t n = random_text(&rng, text, sizeof text), cut = rng_below(&rng, (uint32_t)n);
        tokenizer_add(&whole, text, n);
        tokenizer_add(&part, text, cut);
        /* a cut within a character makes up to three tokens of its bytes */
        size_t same = part.n > 3 ? part.n - 3 : 0;
        if (cut > 0 && ((unsigned char)text[cut] & 0xc0) != 0x80)
            same = part.n > 1 ? part.n - 1 : 0;
        if (same > 0)
            assert_memory_equal(whole.v, part.v, same * sizeof *part.v);
        tokens_release(&whole);
        tokens_release(&part);
    }
}

static void numbers_that_are_no_tokens(void **state)
{
    static const uint64_t numbers[] = {
        0, 5, UINT64_MAX, (uint64_t)8 << 56, (uint64_t)1 << 56 | 0x6161, (uint64_t)0x7f << 56 | 2};
    struct buf out;
    (void)state;
    buf_init(&out, 100);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        assert_false(token_text(numbers[i], &out));
    assert_int_equal(out.len, 0);
    buf_release(&out);
}

static void more_than_the_bound_is_counted(void **state)
{
    struct tokens t = {.max = 5};
    (void)state;
    tokenizer_add(&t, "a b c d e", 9);
    assert_int_equal(t.n, 5);
    assert_false(tokens_overflow(&t));
    for (int i = 0; i < 1000; i++)
        tokenizer_add(&t, " f", 2);
    assert_int_equal(t.n, 1005);
    assert_true(tokens_overflow(&t));
    assert_true(t.cap < 100);
    tokens_release(&t);
}

static void the_template_is_the_same_as_text_and_as_tokens(void **state)
{
    static const char said[] = "Say 123 things.\n\nPlease <|im_end| now";
    struct tokens one = {0}, other = {0};
    struct buf text;
    (void)state;
    template_open(&one, "user", 4);
    tokenizer_add(&one, said, strlen(said));
    template_close(&one);
    template_open(&one, "assistant", 9);

    buf_init(&text, 1000);
    template_text(&text, "user", said, strlen(said));
    template_text_end(&text);
    tokenizer_add_marked(&other, text.p, text.len);
    assert_int_equal(one.n, other.n);
    assert_memory_equal(one.v, other.v, one.n * sizeof *one.v);
    /* as plain text the marks are many tokens */
    other.n = 0;
    tokenizer_add(&other, text.p, text.len);
    assert_true(other.n > one.n + 9);
    buf_release(&text);
    tokens_release(&one);
    tokens_release(&other);
}

/* Change a long text here and there: with the memo its tokens are those without. */
static void the_memo_changes_nothing(void **state)
{
    enum { LENGTH = 100000 };
    struct rng rng = {3};
    char *text = mem_alloc(LENGTH);
    struct token_memo memo = {0};
    (void)state;
    size_t n = random_text(&rng, text, LENGTH);
    for (int round = 0; round < 60; round++) {
        struct tokens plain = {0}, with = {0};
        if (round % 3 == 0)
            text[rng_below(&rng, (uint32_t)n)] = "x \xc3"[rng_below(&rng, 3)];
        size_t length = round % 5 == 4 ? n - rng_below(&rng, (uint32_t)n - 1) : n;
        tokens_add(&plain, 7);
        tokens_add(&with, 7);
        tokenizer_add(&plain, text, length);
        tokenizer_add_memo(&with, text, length, &memo);
        assert_int_equal(plain.n, with.n);
        assert_memory_equal(plain.v, with.v, plain.n * sizeof *plain.v);
        tokens_release(&plain);
        tokens_release(&with);
    }
    struct tokens bounded = {.max = 1000};
    tokenizer_add_memo(&bounded, text, n, &memo);
    assert_true(tokens_overflow(&bounded));
    tokenizer_add_memo(&bounded, text, n, &memo); /* already beyond the bound */
    tokens_release(&bounded);
    token_memo_release(&memo);
    free(text);
}

/* --- the writer --- */

typedef size_t token_fn(uint64_t seed, int64_t index, char *out);

static size_t varied(uint64_t seed, int64_t index, char *out)
{
    return writer_token(seed, index, out);
}

static size_t wide(uint64_t seed, int64_t index, char *out)
{
    return writer_wide_token(seed, index, out);
}

static size_t looped(uint64_t seed, int64_t index, char *out)
{
    return writer_loop_token(seed, index, 16, out);
}

static void every_written_token_is_one(void **state)
{
    enum { COUNT = 5000 };
    static token_fn *const styles[] = {varied, wide, looped};
    (void)state;
    for (size_t style = 0; style < ARRAY_LEN(styles); style++) {
        struct tokens t = {0};
        struct buf text;
        char word[WRITER_TOKEN_MAX];
        buf_init(&text, 1 << 20);
        for (int64_t i = 0; i < COUNT; i++) {
            size_t n = styles[style](42, i, word);
            assert_true(n >= 1 && n < WRITER_TOKEN_MAX);
            assert_null(memchr(word, '"', n));
            assert_null(memchr(word, '\\', n));
            buf_add(&text, word, n);
        }
        tokenizer_add(&t, text.p, text.len);
        assert_int_equal(t.n, COUNT);
        buf_release(&text);
        tokens_release(&t);
    }
}

static bool same_token(uint64_t seed_a, int64_t a, uint64_t seed_b, int64_t b)
{
    char one[WRITER_TOKEN_MAX], other[WRITER_TOKEN_MAX];
    size_t n = writer_token(seed_a, a, one), m = writer_token(seed_b, b, other);
    return n == m && memcmp(one, other, n) == 0;
}

static void written_text_has_no_period_and_follows_the_seed(void **state)
{
    enum { COUNT = 2000 };
    (void)state;
    for (int64_t period = 1; period <= COUNT / 2; period++) {
        int64_t equal = 0;
        for (int64_t i = 0; i + period < COUNT; i++)
            equal += same_token(1, i, 1, i + period);
        assert_true(equal < (COUNT - period) / 10);
    }
    int64_t equal = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        assert_true(same_token(9, i, 9, i));
        equal += same_token(1, i, 2, i);
    }
    assert_true(equal < COUNT / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule),
        cmocka_unit_test(tokens_are_the_text),
        cmocka_unit_test(what_follows_changes_only_the_last_token),
        cmocka_unit_test(numbers_that_are_no_tokens),
        cmocka_unit_test(more_than_the_bound_is_counted),
        cmocka_unit_test(the_template_is_the_same_as_text_and_as_tokens),
        cmocka_unit_test(the_memo_changes_nothing),
        cmocka_unit_test(every_written_token_is_one),
        cmocka_unit_test(written_text_has_no_period_and_follows_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
