/* lang.h - the words, numbers and dates of a report in the reader's language.
 *
 * Every text that a renderer writes comes from lang/<code>.msg, compiled into tables by
 * tools/make-words, which also makes lang_words.h: WORD_X for each key and, for a text with
 * placeholders, a call that names them:
 *
 *     say_cell_name(l, out, .context = "16K", .level = "4");
 *
 * So a misspelt key or placeholder does not compile, and `make check` finds a key that a language
 * lacks or that no code uses.
 *
 * Words are ours and need no escaping for a terminal; values that fill placeholders are the
 * caller's business (plain.h). Where a function takes a language, NULL means English. */
#ifndef TOKGRID_REPORT_LANG_H
#define TOKGRID_REPORT_LANG_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/num.h"
#include "report/lang_words.h"

struct lang {
    const char *code;        /* BCP 47: "en" */
    const char *const *text; /* by enum word */
};

extern const struct lang *const langs[]; /* English first; ends with NULL */

const struct lang *lang_find(const char *code); /* "zh", "zh_CN.UTF-8", "zh-Hant"; NULL: none */

const char *word(const struct lang *l, enum word w);

/* A text of a catalogue with its placeholders filled, in the order make-words gave them: for
 * catalogues beside this one. */
void lang_fill_text(struct buf *out, const char *text, const char *const *values);

/* Figures: "17,744.5". NAN and infinities are words. `out` has NUM_TEXT_MAX bytes and is returned.
 */
const char *lang_number(const struct lang *l, char *out, double v, int decimals);

/* A rate as the matrix prints it: "3,531", "686.0". */
const char *lang_rate(const struct lang *l, char *out, double tok_s);

/* A ratio or another figure that needs no more than two or three digits: "9.9", "16", "0.36". */
const char *lang_brief(const struct lang *l, char *out, double v);

/* "30 November 2026, 10:13 UTC" from "2026-11-30T10:13:26Z"; other text as it is, printable. */
void lang_date(const struct lang *l, const char *stamp, struct buf *out);

/* "1 h 5 min", "1 min 15 s", "2.5 s" */
void lang_duration(const struct lang *l, double seconds, struct buf *out);

#endif
