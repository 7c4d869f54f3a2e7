/* prompt.h - the text that is sent: varied, seeded, of exact length, never cached by accident.
 *
 * A prompt is   nonce + context text + task.   The nonce stands at the very front, so that no
 * prefix cache can know it; the text is made of sentences with a large vocabulary and has no period
 * shorter than any context; the task at the end is what the model is asked to write. The same seed
 * gives the same text on every machine; nonces are new in every run.
 *
 * Length: the text is cut at whole words. How many words give how many tokens is learned from the
 * server (prompt_fit), since only its tokenizer and chat template count. */
#ifndef TOKGRID_LOAD_PROMPT_H
#define TOKGRID_LOAD_PROMPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { PROMPT_MAX_BYTES = 64 << 20 };

struct prompt_source {
    uint64_t seed;           /* of the text; stored in the result */
    uint64_t nonce;          /* of this run; not stored */
    _Atomic uint64_t nonces; /* how many were handed out */
    struct buf file;         /* the user's own text; empty: generated */
    size_t *word_at;         /* where each word of the file begins */
    size_t file_words;
};

void prompt_source_init(struct prompt_source *s, uint64_t seed);
void prompt_source_release(struct prompt_source *s);

/* Use this text instead of generated sentences. It must be UTF-8 with at least 50 words. */
bool prompt_source_load(struct prompt_source *s, const char *path, struct err *err) ATTR_CHECK;

/* A nonce no earlier prompt had, whichever thread asks. */
uint64_t prompt_next_nonce(struct prompt_source *s);

/* Append `words` words of the text that belongs to `stream` (each stream number is another text;
 * each shorter text of a stream is the beginning of every longer one). */
void prompt_add_text(const struct prompt_source *s, uint64_t stream, size_t words, struct buf *out);

/* Append "[nonce] text" (words may be 0) - what streams of a cell share. */
void prompt_add_context(const struct prompt_source *s, uint64_t nonce, uint64_t stream,
                        size_t words, struct buf *out);

/* Append the task of that number, after a blank line: each number asks for something else. */
void prompt_add_task(const struct prompt_source *s, uint64_t number, struct buf *out);

/* Tokens as a function of words: tokens = overhead + per_word * words. */
struct prompt_fit {
    double overhead, per_word;
};

/* From two counted prompts with different numbers of words. */
bool prompt_fit_from(size_t words_a, int64_t tokens_a, size_t words_b, int64_t tokens_b,
                     struct prompt_fit *ret);
size_t prompt_words_for(const struct prompt_fit *fit,
                        int64_t tokens); /* 0 when it cannot be less */

#endif
