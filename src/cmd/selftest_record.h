/* selftest_record.h - the last selftest of this machine, kept for the results measured later.
 *
 * One JSON document in $XDG_STATE_HOME/tokgrid/selftest.json (~/.local/state where that is not
 * set). It names the host's CPU, kernel and tokgrid's version: a home folder can be shared by
 * several machines, and a client of another version is another client. */
#ifndef TOKGRID_CMD_SELFTEST_RECORD_H
#define TOKGRID_CMD_SELFTEST_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "load/selftest.h"

/* The document for these rows; `realtime`: client and server had that priority. The caller owns it.
 */
json_t *selftest_document(const struct selftest_row *rows, size_t count, const char *transport,
                          bool realtime);

bool selftest_record_write(json_t *document, struct err *err) ATTR_CHECK;

/* The document of this machine and this version as text, owned by the caller; NULL: there is none.
 */
char *selftest_record_read(void);

#endif
