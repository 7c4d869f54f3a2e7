/* result_fields.h - the tables that describe a result, for the walks of fields.h.
 *
 * result_fields is the whole document; every other table hangs below it. The schema file says the
 * same for other programs, and a test holds the two together. */
#ifndef TOKGRID_MODEL_RESULT_FIELDS_H
#define TOKGRID_MODEL_RESULT_FIELDS_H

#include "model/fields.h"
#include "model/result.h"

extern const struct field_table result_fields, cell_fields, prefill_fields, machine_fields;

/* Words that stand for enums, NULL-ended, indexed by their values. */
extern const char *const status_names[STATUS_COUNT + 1];
extern const char *const mark_names[MARK_COUNT + 1];
extern const char *const prompt_mode_names[];
extern const char *const prefill_mode_names[];
extern const char *const capacity_rule_names[];
extern const char *const preset_names[];

#endif
