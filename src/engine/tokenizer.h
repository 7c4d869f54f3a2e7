/* tokenizer.h - the emulated tokenizer: text to numbers by a rule, no vocabulary needed.
 *
 *   token = [space] letter{1,6}  |  digit{1,3}  |  any other code point  |  a byte that is no UTF-8
 *
 * Letters and digits are ASCII's. English has about 1.3 such tokens a word, as with the tokenizers
 * of current models. What follows a text never changes its tokens but the last, so a prompt that
 * continues another one shares its prefix, block by block, in the engine's cache.
 *
 * A token is its own text: the low seven bytes hold it, the first one lowest, the top byte holds
 * its length. So equal text has equal numbers, different text has different ones, and every number
 * can be turned back. All are below 2^63. The marks of the chat template are tokens of their own.
 *
 * Memory: a list keeps `max` tokens at most and only counts those beyond. */
#ifndef TOKGRID_ENGINE_TOKENIZER_H
#define TOKGRID_ENGINE_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct tokens {
    uint64_t *v;
    size_t n; /* v[0 .. n) or, when n > max, v[0 .. max) */
    size_t cap;
    size_t max; /* 0: no bound */
};

void tokens_release(struct tokens *t); /* zeroed or released ones are fine */
void tokens_add(struct tokens *t, uint64_t token);
bool tokens_overflow(const struct tokens *t); /* not all of them were kept */

/* Append the tokens of a text. */
void tokenizer_add(struct tokens *t, const char *text, size_t n);

/* The same, where "<|im_start|>" and "<|im_end|>" in the text are the template's marks. */
void tokenizer_add_marked(struct tokens *t, const char *text, size_t n);

/* Append a token's text; false when the number is no token. */
bool token_text(uint64_t token, struct buf *out);

/* The chat template, a message at a time:
 *     <|im_start|>ROLE \n TEXT <|im_end|> \n     and at the end     <|im_start|>assistant \n
 * The first two write tokens around a message's text, template_text writes the same as text. */
void template_open(struct tokens *t, const char *role, size_t n);
void template_close(struct tokens *t);
void template_text(struct buf *out, const char *role, const char *text, size_t n);
void template_text_end(struct buf *out);

/* A text remembered with its tokens: the requests of one measurement share a long beginning, which
 * is then compared and copied instead of read anew. Zeroed is empty. */
struct token_memo {
    char *text;
    size_t text_len, text_cap;
    uint64_t *tokens;
    uint32_t *ends; /* where each token's text ends */
    size_t n, cap;
};
void token_memo_release(struct token_memo *m);

/* tokenizer_add that uses and renews the memo when the text is long. */
void tokenizer_add_memo(struct tokens *t, const char *text, size_t n, struct token_memo *m);

#endif
