/* calculator_presets.h - cards and models whose figures the calculator's form can be filled with.
 *
 * Cards: memory as sold, bandwidth of the data sheet, dense half-precision peak. Models: from their
 * published configurations. */
#ifndef TOKGRID_SITE_CALCULATOR_PRESETS_H
#define TOKGRID_SITE_CALCULATOR_PRESETS_H

#include <stddef.h>

enum { PRESET_MAX_VALUES = 14 };

struct calculator_preset {
    const char *name;
    struct {
        const char *field, *value; /* as calculator_set takes them; NULL ends */
    } values[PRESET_MAX_VALUES];
};

extern const struct calculator_preset card_presets[], model_presets[];
extern const size_t card_preset_count, model_preset_count;

/* The value that a preset gives a field; NULL: none. */
const char *calculator_preset_value(const struct calculator_preset *p, const char *field);

#endif
