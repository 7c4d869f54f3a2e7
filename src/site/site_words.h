/* site_words.h - the words of the site, one catalogue a language beside the report's.
 *
 * SITE_X for each key of lang/<code>.msg and site_say_x() for each text with placeholders are made
 * by tools/make-words; numbers, dates and the words of results come from report/lang.h in the same
 * language. Where a function takes a language it may not be NULL. */
#ifndef TOKGRID_SITE_SITE_WORDS_H
#define TOKGRID_SITE_SITE_WORDS_H

#include "report/lang.h"
#include "site/lang_words.h"

struct site_lang {
    const char *code;
    const char *const *text; /* by enum site_word */
};

extern const struct site_lang *const site_langs[]; /* English first; ends with NULL */

const struct site_lang *site_lang_find(const char *code); /* exactly this code; NULL: none */

/* What an Accept-Language header prefers among ours; English without one. */
const struct site_lang *site_lang_accepted(const char *header);

const char *site_word(const struct site_lang *l, enum site_word w);
const struct lang *site_report_lang(const struct site_lang *l);

#endif
