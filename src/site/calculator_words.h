/* calculator_words.h - the calculator's inputs in words. */
#ifndef TOKGRID_SITE_CALCULATOR_WORDS_H
#define TOKGRID_SITE_CALCULATOR_WORDS_H

#include "site/site_words.h"

enum site_word calculator_field_word(const char *name);    /* of calculator_fields */
enum site_word calculator_group_word(const char *heading); /* of calculator_fields */
enum site_word calculator_choice_word(const char *choice);

/* Of calculator_corrections: its name, and what it does. */
enum site_word calculator_correction_word(const char *name);
enum site_word calculator_correction_means(const char *name);

#endif
