/* redact.h - takes secrets out of launch commands before they are stored or shown.
 *
 * What counts as a secret: the value of an option, variable, header or JSON member whose name
 * speaks of a key, token, password or secret (--api-key X, --hf-token=X, HF_TOKEN=X, Authorization:
 * X), the user part of a URL, and words with the well-known prefixes of tokens (hf_, sk-, ghp_,
 * ...). It is replaced by ***, with quotes and up to the end of its word where it is one of several
 * things in it; everything else stays as it is, comments and line breaks included. */
#ifndef TOKGRID_MODEL_REDACT_H
#define TOKGRID_MODEL_REDACT_H

#include "base/buf.h"

/* Append `command` without its secrets; returns how many were taken out. */
int redact_command(const char *command, struct buf *out);

#endif
