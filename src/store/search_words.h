/* search_words.h - the words by which a text is found, the same for both databases.
 *
 * Letters and digits are words; case, full-width forms and punctuation do not count. Chinese,
 * Japanese and Korean are written without spaces, so there every two neighbours are a word: a
 * query of two characters or more finds them wherever they stand. Pure. */
#ifndef TOKGRID_STORE_SEARCH_WORDS_H
#define TOKGRID_STORE_SEARCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum {
    SEARCH_WORD_MAX = 64,   /* bytes; longer ones are cut */
    SEARCH_WORDS_MAX = 400, /* of one text; the rest is not found */
    SEARCH_QUERY_WORDS = 12,
};

struct search_word {
    char text[SEARCH_WORD_MAX + 1]; /* lower case */
    bool pair;                      /* CJK: found whole; others also by their beginning */
};

/* The words of a query, at most SEARCH_QUERY_WORDS; returns how many. */
size_t search_query_words(const char *query, struct search_word out[SEARCH_QUERY_WORDS]);

/* The words of a text to be found, separated by single blanks, appended to `out`. Besides the
 * words of a query also each lone CJK character, and letters with the number behind them as one
 * ("rtx", "3090", "rtx3090"). */
void search_text_words(const char *text, struct buf *out);

#endif
