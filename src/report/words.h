/* words.h - the sentences of a report, in one place, so that every format says the same. */
#ifndef TOKGRID_REPORT_WORDS_H
#define TOKGRID_REPORT_WORDS_H

#include "model/result.h"

extern const char words_none[];       /* a figure that does not exist: "—" */
extern const char words_prefill[];    /* "Prefill" */
extern const char words_decode[];     /* "Sustained decode" */
extern const char words_prefill_by[]; /* what the prefill strip shows */
extern const char words_decode_by[];  /* what the matrix shows */
extern const char words_medians[];    /* what the table of measurements shows */
extern const char words_warm_ttft[];  /* why TTFT of decode cells is short */
extern const char words_starred[];    /* the star behind a figure */

const char *words_status_legend(enum cell_status s); /* a clause; NULL for valid */
const char *words_status_brief(enum cell_status s);  /* at most 8 columns: "over cap" */
const char *words_kind(const char *kind);            /* "Measured", "Simulated", "Imported" */
const char *words_machine_type(const char *type);    /* "Discrete GPU" */
const char *words_prefill_mode(enum prefill_mode m); /* "Measured during decode warm-up" */
const char *words_token_source(const char *source);  /* a clause */

#endif
