/* terminal.h - what is on the other side of standard output, and which language it wants. */
#ifndef TOKGRID_CMD_TERMINAL_H
#define TOKGRID_CMD_TERMINAL_H

#include <stdbool.h>

#include "report/lang.h"
#include "report/table.h"

bool terminal_is_mono(void); /* NO_COLOR is set, or TERM=dumb */

/* The language of messages as POSIX looks it up (LC_ALL, LC_MESSAGES, LANG); English where there is
 * none of that name. Never NULL. */
const struct lang *lang_of_locale(void);

/* How tables look there: as wide as the terminal and in colour, or unlimited and plain when the
 * output goes elsewhere (`redirected`, or no terminal). `lang` NULL: that of the locale, and
 * English where the locale can show nothing but ASCII. */
struct table_options terminal_table_options(const struct lang *lang, bool redirected);

#endif
