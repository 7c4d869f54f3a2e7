/* report_reasons.h - why somebody reports a run: one table for the form, the API and the queue. */
#ifndef TOKGRID_SITE_REPORT_REASONS_H
#define TOKGRID_SITE_REPORT_REASONS_H

#include <stddef.h>

#include "site/site_words.h"

struct report_reason {
    const char *name; /* "implausible": in forms, the API and the store */
    enum site_word word;
};
extern const struct report_reason report_reasons[];
extern const size_t report_reason_count;

const struct report_reason *report_reason_find(const char *name); /* NULL: there is none */

#endif
