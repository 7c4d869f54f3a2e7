/* context.c - texts of exact length.
 *
 * Where the server can count a prompt without running it, each text is fitted by asking; elsewhere
 * the words-to-tokens line from calibration decides, corrected once a real prompt_tokens was seen.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "load/session.h"

enum { FIT_ROUNDS = 6 };

/* The task's length is part of a prompt's; tasks differ by some ten tokens, which is within the
 * tolerance of any context. */
static const uint64_t typical_task = 0;

static bool count(struct session *s, const char *context, int64_t *ret)
{
    struct buf text;
    if (!s->counts_before)
        return false;
    buf_init(&text, PROMPT_MAX_BYTES + 4096);
    buf_adds(&text, context);
    prompt_add_task(&s->prompts, typical_task, &text);
    bool ok = s->dialect->count_tokens(s->fetcher, s->model, text.p, ret);
    *ret += ok ? s->count_offset : 0;
    buf_release(&text);
    return ok;
}

/* Words that make this text the wanted length: a few secant steps on the server's own count. */
static size_t fit_words(struct session *s, int64_t tokens, uint64_t nonce, uint64_t stream,
                        struct buf *text)
{
    size_t words = prompt_words_for(&s->fit, tokens);
    for (int round = 0; round < FIT_ROUNDS && !session_stopping(s); round++) {
        int64_t counted;
        buf_reset(text);
        prompt_add_context(&s->prompts, nonce, stream, words, text);
        if (!count(s, text->p, &counted))
            break;
        double step = (double)(tokens - counted) / s->fit.per_word;
        if (fabs(step) < 0.75 || (double)words + step < 0)
            break;
        words = (size_t)((double)words + (step > 0 ? ceil(step - 0.5) : floor(step + 0.5)));
    }
    buf_reset(text);
    prompt_add_context(&s->prompts, nonce, stream, words, text);
    return words;
}

static void make_text(struct session *s, struct row_context *row)
{
    struct buf text;
    buf_init(&text, PROMPT_MAX_BYTES);
    row->words =
        fit_words(s, row->context_tokens, prompt_next_nonce(&s->prompts), row->text, &text);
    buf_reset(&row->escaped);
    request_escape(text.p, text.len, &row->escaped);
    buf_release(&text);
}

static struct row_context *find(struct session *s, int64_t context_tokens)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (s->rows[i]->context_tokens == context_tokens)
            return s->rows[i];
    return NULL;
}

struct row_context *session_context(struct session *s, int64_t context_tokens)
{
    struct row_context *row = find(s, context_tokens);
    if (row)
        return row;
    MEM_GROW(s->rows, s->row_count, s->row_cap);
    row = s->rows[s->row_count++] = mem_alloc(sizeof *row);
    row->context_tokens = context_tokens;
    row->text = s->next_text++;
    buf_init(&row->escaped, PROMPT_MAX_BYTES * 2);
    if (context_tokens > 0)
        make_text(s, row);
    return row;
}

void session_cold_context(struct session *s, const struct row_context *row, struct buf *ret_escaped)
{
    struct buf text;
    buf_init(&text, PROMPT_MAX_BYTES);
    prompt_add_context(&s->prompts, prompt_next_nonce(&s->prompts), row->text, row->words, &text);
    buf_reset(ret_escaped);
    request_escape(text.p, text.len, ret_escaped);
    buf_release(&text);
}

void session_own_context(struct session *s, int64_t context_tokens, struct row_context *ret)
{
    *ret = (struct row_context){.context_tokens = context_tokens, .text = s->next_text++};
    buf_init(&ret->escaped, PROMPT_MAX_BYTES * 2);
    if (context_tokens > 0)
        make_text(s, ret);
}

void row_context_release(struct row_context *row)
{
    buf_release(&row->escaped);
}

bool session_prompt_is_off(int64_t context_tokens, double prompt_tokens)
{
    double wanted = (double)context_tokens;
    return wanted > 0 && prompt_tokens > 0 && fabs(prompt_tokens - wanted) > fmax(0.02 * wanted, 8);
}

bool session_prompt_is_cut(const struct session *s, int64_t context_tokens, int64_t prompt_tokens)
{
    /* without a context there is the template and the task: as long as in calibration */
    double least = context_tokens > 0 ? 0.95 * (double)context_tokens - 8 : 0.5 * s->fit.overhead;
    return s->counts_prompt && prompt_tokens > 0 && (double)prompt_tokens < least;
}

void session_cut_words(int64_t context_tokens, int64_t prompt_tokens, char *out, size_t size)
{
    char wanted[NUM_TEXT_MAX], left[NUM_TEXT_MAX];
    num_grouped(left, (double)prompt_tokens, 0);
    if (context_tokens > 0)
        snprintf(out, size,
                 "the server cut the prompt: %s of %s tokens were left; is the context it was "
                 "started with smaller?",
                 left, num_grouped(wanted, (double)context_tokens, 0));
    else
        snprintf(out, size, "the server cut the prompt: %s tokens were left", left);
}

bool session_correct_length(struct session *s, struct row_context *row, int64_t prompt_tokens)
{
    if (row->words == 0 || !session_prompt_is_off(row->context_tokens, (double)prompt_tokens))
        return false;
    double per_word = ((double)prompt_tokens - s->fit.overhead) / (double)row->words;
    /* half or double what was calibrated is no matter of estimation: the server cut the prompt */
    if (per_word < s->fit.per_word / 1.5 || per_word > s->fit.per_word * 1.5)
        return false;
    s->fit.per_word = per_word;
    make_text(s, row);
    return true;
}
