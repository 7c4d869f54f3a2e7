/* prompt.c - sentences from shapes and word lists; the generator runs on, words are cut off at any
 * point, so a text of n words is the start of the text of n + 1. */
#include "load/prompt.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rand.h"
#include "base/text.h"
#include "load/prompt_words.h"

enum { MIN_FILE_WORDS = 50, SENTENCES_IN_PARAGRAPH = 7 };

void prompt_source_init(struct prompt_source *s, uint64_t seed)
{
    *s = (struct prompt_source){.seed = seed, .nonce = rng_entropy()};
    buf_init(&s->file, PROMPT_MAX_BYTES);
}

void prompt_source_release(struct prompt_source *s)
{
    buf_release(&s->file);
    free(s->word_at);
    s->word_at = NULL;
    s->file_words = 0;
}

static void index_words(struct prompt_source *s)
{
    size_t cap = 0;
    for (size_t i = 0; i < s->file.len;) {
        while (i < s->file.len && isspace((unsigned char)s->file.p[i]))
            i++;
        if (i == s->file.len)
            break;
        MEM_GROW(s->word_at, s->file_words, cap);
        s->word_at[s->file_words++] = i;
        while (i < s->file.len && !isspace((unsigned char)s->file.p[i]))
            i++;
    }
}

bool prompt_source_load(struct prompt_source *s, const char *path, struct err *err)
{
    if (!file_read(path, &s->file, err))
        return false;
    if (!text_utf8_valid(s->file.p, s->file.len) || memchr(s->file.p, '\0', s->file.len))
        return err_set(err, ERR_FORMAT, "%s is not UTF-8 text", path);
    index_words(s);
    return s->file_words >= MIN_FILE_WORDS ||
           err_set(err, ERR_FORMAT, "%s has %zu words; a prompt text needs at least %d", path,
                   s->file_words, MIN_FILE_WORDS);
}

uint64_t prompt_next_nonce(struct prompt_source *s)
{
    return rng_mix(s->nonce, s->nonces++);
}

static const struct word_class {
    char code;
    const char *const *words;
    uint32_t count;
} classes[] = {
    {'N', nouns, ARRAY_LEN(nouns)},
    {'A', adjectives, ARRAY_LEN(adjectives)},
    {'V', verbs, ARRAY_LEN(verbs)},
    {'R', adverbs, ARRAY_LEN(adverbs)},
    {'P', prepositions, ARRAY_LEN(prepositions)},
    {'D', determiners, ARRAY_LEN(determiners)},
    {'J', joiners, ARRAY_LEN(joiners)},
    {'O', openers, ARRAY_LEN(openers)},
};

static const char *pick_word(struct rng *rng, char code)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (classes[i].code == code)
            return classes[i].words[rng_below(rng, classes[i].count)];
    return "";
}

static void add_word(const char *word, bool first, struct buf *out)
{
    if (!first) {
        buf_addf(out, " %s", word);
        return;
    }
    buf_addc(out, (char)toupper((unsigned char)word[0]));
    buf_adds(out, word + 1);
}

/* One sentence of at most `words` words; returns how many were written. */
static size_t add_sentence(struct rng *rng, size_t words, struct buf *out)
{
    const char *shape = shapes[rng_below(rng, ARRAY_LEN(shapes))];
    size_t written = 0;

    for (; *shape; shape++) {
        if (*shape == ',')
            buf_addc(out, ',');
        if (*shape == ',' || *shape == ' ')
            continue;
        if (written == words)
            return written;
        add_word(pick_word(rng, *shape), written == 0, out);
        written++;
    }
    buf_addc(out, '.');
    return written;
}

static void add_file_words(const struct prompt_source *s, uint64_t stream, size_t words,
                           struct buf *out)
{
    /* every stream begins elsewhere in the file and goes round it; a file shorter than the context
     * repeats itself, which is the user's choice */
    size_t at = (size_t)(rng_mix(s->seed, stream) % s->file_words);
    while (words > 0) {
        size_t n = s->file_words - at < words ? s->file_words - at : words;
        size_t end = at + n < s->file_words ? s->word_at[at + n] : s->file.len;
        buf_add(out, s->file.p + s->word_at[at], end - s->word_at[at]);
        if (at + n == s->file_words)
            buf_addc(out, '\n');
        words -= n;
        at = 0;
    }
}

void prompt_add_text(const struct prompt_source *s, uint64_t stream, size_t words, struct buf *out)
{
    struct rng rng = {rng_mix(s->seed, stream)};

    if (s->file_words) {
        add_file_words(s, stream, words, out);
        return;
    }
    for (size_t sentences = 1; words > 0; sentences++) {
        words -= add_sentence(&rng, words, out);
        if (words > 0)
            buf_addc(out, sentences % SENTENCES_IN_PARAGRAPH == 0 ? '\n' : ' ');
    }
}

void prompt_add_context(const struct prompt_source *s, uint64_t nonce, uint64_t stream,
                        size_t words, struct buf *out)
{
    buf_addf(out, "%08" PRIx32 " ", (uint32_t)nonce);
    prompt_add_text(s, stream, words, out);
}

void prompt_add_task(const struct prompt_source *s, uint64_t number, struct buf *out)
{
    struct rng rng = {rng_mix(s->seed, ~number)};
    const char *kind = task_kinds[rng_below(&rng, ARRAY_LEN(task_kinds))];
    uint32_t first = rng_below(&rng, ARRAY_LEN(task_subjects));
    uint32_t other = (first + 1 + rng_below(&rng, ARRAY_LEN(task_subjects) - 1)) %
                     (uint32_t)ARRAY_LEN(task_subjects);
    buf_addf(out,
             "\n\nTask %" PRIu64 ": write %s about %s and %s. Be thorough, give many examples, "
             "and do not stop before everything has been said.",
             number + 1, kind, task_subjects[first], task_subjects[other]);
}

bool prompt_fit_from(size_t words_a, int64_t tokens_a, size_t words_b, int64_t tokens_b,
                     struct prompt_fit *ret)
{
    if (words_a == words_b)
        return false;
    double per_word = (double)(tokens_b - tokens_a) / ((double)words_b - (double)words_a);
    /* a word of 1/4 token or 20 tokens means that the counts cannot be trusted */
    if (!(per_word > 0.25 && per_word < 20))
        return false;
    ret->per_word = per_word;
    ret->overhead = (double)tokens_a - per_word * (double)words_a;
    return true;
}

size_t prompt_words_for(const struct prompt_fit *fit, int64_t tokens)
{
    double words = ((double)tokens - fit->overhead) / fit->per_word;
    return words > 0 ? (size_t)(words + 0.5) : 0;
}
