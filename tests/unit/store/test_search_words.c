/* test_search_words.c - texts and queries become words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/search_words.h"

static void test_texts(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"Qwen3.5-27B on RTX 3090 24GB", "qwen3 5 27b on rtx 3090 rtx3090 24gb"},
        {"A  B", "a b"},
        {"大模型", "大模 大 模 模型 模 型"},
        {"大模 型", "大模 大 模 型"},
        {"vLLM模型", "vllm 模型 模 型"},
        {"ＡＢＣ１２", "abc12"},
        {"Éé ÀÆ", "éé àæ"},
        {"ПРИВЕТ Ёж", "привет ёж"},
        {"ΑΒΓ", "αβγ"},
        {"a\xff"
         "b",
         "a b"},
        {"x😀y", "x y"},
        {"カタカナ", "カタ カ タ タカ タ カ カナ カ ナ"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        buf_init(&out, 4000);
        search_text_words(cases[i][0], &out);
        assert_string_equal(out.p, cases[i][1]);
        buf_release(&out);
    }
}

static void test_queries(void **state)
{
    static const char *const cases[][2] = {
        {"rtx 3090", "rtx* 3090*"},
        {"RTX3090 rtx3090", "rtx3090*"},
        {"大模型", "大模 模型"},
        {"模", "模"},
        {"vllm 模型", "vllm* 模型"},
        {"\"a' OR b*\\", "a* or* b*"},
        {" ", ""},
        {"a b c d e f g h i j k l m n", "a* b* c* d* e* f* g* h* i* j* k* l*"},
    };
    struct search_word words[SEARCH_QUERY_WORDS];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        size_t n = search_query_words(cases[i][0], words);
        buf_init(&out, 4000);
        for (size_t k = 0; k < n; k++)
            buf_addf(&out, "%s%s%s", k ? " " : "", words[k].text, words[k].pair ? "" : "*");
        assert_string_equal(out.p, cases[i][1]);
        buf_release(&out);
    }
}

/* Whatever a text is, what comes of it is bounded and has single blanks. */
static void test_bounds(void **state)
{
    struct buf text, out;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_init(&out, 1 << 20);
    for (int i = 0; i < 5000; i++)
        buf_addf(&text, "word%d 模型", i);
    buf_add_repeat(&text, 'x', 5000);
    search_text_words(text.p, &out);
    size_t words = 1;
    for (const char *p = out.p; *p; p++) {
        words += *p == ' ';
        assert_true(*p != ' ' || p[1] != ' ');
    }
    assert_in_range(words, SEARCH_WORDS_MAX, SEARCH_WORDS_MAX + 3);
    buf_reset(&text);
    buf_reset(&out);
    buf_add_repeat(&text, 'x', 5000);
    search_text_words(text.p, &out);
    assert_int_equal(out.len, SEARCH_WORD_MAX);
    buf_release(&text);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
