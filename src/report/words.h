/* words.h - the words for what a document names by a key: statuses, marks, kinds, sources. */
#ifndef TOKGRID_REPORT_WORDS_H
#define TOKGRID_REPORT_WORDS_H

#include "model/result.h"
#include "report/lang.h"

const char *words_status(const struct lang *l, enum cell_status s);       /* "Over capacity" */
const char *words_status_brief(const struct lang *l, enum cell_status s); /* 8 columns at most */
const char *words_status_legend(const struct lang *l,
                                enum cell_status s);              /* a clause; valid: NULL */
const char *words_mark(const struct lang *l, unsigned bit_index); /* a clause */
const char *words_outcome(const struct lang *l, enum outcome o);  /* a clause; complete: NULL */
const char *words_prefill_mode(const struct lang *l, enum prefill_mode m);
const char *words_prompts(const struct lang *l, enum prompt_mode m);

/* The key itself, which is not printable yet, where there are no words for it; NULL for NULL. */
const char *words_kind(const struct lang *l, const char *kind);         /* "Measured" */
const char *words_machine_type(const struct lang *l, const char *type); /* "Discrete GPU" */
const char *words_token_source(const struct lang *l, const char *source);
const char *words_ended_by(const struct lang *l, const char *ended_by);
const char *words_transport(const struct lang *l, const char *transport);

#endif
