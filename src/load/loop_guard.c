/* loop_guard.c - the smallest period of every suffix by the prefix function of the reversed text.
 *
 * For text read backwards, prefix[i] is the length of the longest proper prefix of its first i + 1
 * bytes that is also their suffix; those i + 1 bytes then have the smallest period
 * i + 1 - prefix[i]. Read forwards, that is the smallest period of the suffix of length i + 1. A
 * suffix that repeats with any period repeats with its smallest, so no other needs to be tried. */
#include "load/loop_guard.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* Room beyond the history, so that moving it to the front happens once per LOOP_SLACK bytes; and
 * the share of the history, an eighth, that must be new for another look. */
enum { LOOP_SLACK = LOOP_MAX_PERIOD, GROWTH = 8 };

void loop_text_reset(struct loop_text *t)
{
    t->len = 0;
    t->unchecked = 0;
}

void loop_text_release(struct loop_text *t)
{
    free(t->history);
    *t = (struct loop_text){0};
}

/* Storage for n more bytes; it doubles up to its fixed maximum. */
static void make_room(struct loop_text *t, size_t n)
{
    const size_t max = LOOP_HISTORY + LOOP_SLACK;
    if (t->len + n > max) {
        size_t keep = LOOP_HISTORY - n;
        memmove(t->history, t->history + t->len - keep, keep);
        t->len = keep;
    }
    if (t->len + n > t->cap) {
        size_t cap = t->cap ? t->cap : LOOP_MIN_CHARS;
        while (cap < t->len + n)
            cap *= 2;
        t->cap = cap < max ? cap : max;
        t->history = mem_resize(t->history, t->cap, 1);
    }
}

void loop_text_add(struct loop_text *t, const char *p, size_t n)
{
    if (n == 0)
        return;
    t->unchecked += n;
    if (n > LOOP_HISTORY) {
        p += n - LOOP_HISTORY;
        n = LOOP_HISTORY;
    }
    make_room(t, n);
    memcpy(t->history + t->len, p, n);
    t->len += n;
}

/* Byte i of the text read backwards. */
static char back(const char *newest, size_t i)
{
    return newest[-(ptrdiff_t)i];
}

static size_t blanks_at_tail(const char *newest, size_t n)
{
    size_t i = 0;
    while (i < n && isspace((unsigned char)back(newest, i)))
        i++;
    return i;
}

/* The period of the shortest suffix that counts as a loop; 0: none. */
static size_t find_period(const char *newest, size_t n)
{
    size_t blanks = blanks_at_tail(newest, n), period = 0;
    uint32_t *prefix = mem_array(n, sizeof *prefix);
    for (size_t i = 1; i < n && period == 0; i++) {
        size_t k = prefix[i - 1];
        while (k > 0 && back(newest, i) != back(newest, k))
            k = prefix[k - 1];
        if (back(newest, i) == back(newest, k))
            k++;
        prefix[i] = (uint32_t)k;
        size_t length = i + 1, smallest = length - k;
        if (length >= LOOP_MIN_CHARS && smallest <= length / LOOP_MIN_CYCLES &&
            smallest <= LOOP_MAX_PERIOD && smallest > blanks)
            period = smallest;
    }
    free(prefix);
    return period;
}

static void describe(const char *newest, size_t n, size_t period, struct loop_finding *ret)
{
    size_t length = period;
    while (length < n && back(newest, length) == back(newest, length - period))
        length++;
    ret->period = period;
    ret->cycles = length / period;
    const char *cycle = newest + 1 - period;
    size_t shown = period;
    while (shown > 1 && ((unsigned char)*cycle & 0xC0) == 0x80) { /* begins inside a character */
        cycle++;
        shown--;
    }
    text_printable(ret->excerpt, sizeof ret->excerpt, cycle, shown);
}

bool loop_text_check(struct loop_text *t, bool force, struct loop_finding *ret)
{
    if (t->len < LOOP_MIN_CHARS || (!force && t->unchecked * (GROWTH + 1) < t->len))
        return false;
    t->unchecked = 0;
    size_t n = t->len < LOOP_HISTORY ? t->len : LOOP_HISTORY;
    const char *newest = t->history + t->len - 1;
    size_t period = find_period(newest, n);
    if (period == 0)
        return false;
    describe(newest, n, period, ret);
    return true;
}
