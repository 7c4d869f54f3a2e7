/* redact_result.h - a result without the secrets and private names in it, and what they were.
 *
 * All texts of the document are looked at, by the table of its fields: the launch command as a
 * command, embedded documents as JSON, the rest as prose (redact.h says what that means). */
#ifndef TOKGRID_MODEL_REDACT_RESULT_H
#define TOKGRID_MODEL_REDACT_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "model/redact.h"
#include "model/result.h"

/* What was taken out of one field; strings in the arena. */
struct redaction {
    const char *field;     /* "engine.launch_command", "events[3].text" */
    const char *before;    /* secrets are shown as <12 bytes> */
    const char *after;     /* as it stands in the result now */
    size_t secrets, names; /* how many of each */
};

struct redactions {
    struct redaction *v; /* in the arena */
    size_t n;
};

/* Take the secrets out of *r, and with `names` private names, too: NULL leaves them all. To those
 * that are given, the host of server.url is added when it is another machine. */
void redact_result(struct result *r, const struct redact_names *names, struct arena *a,
                   struct redactions *ret);

/* The first field that holds a secret, in the arena; NULL: none does. */
const char *redact_find_secret(const struct result *r, struct arena *a);

#endif
