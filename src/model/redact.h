/* redact.h - what in a text is a secret or a private name, and the text without it.
 *
 * The one place that decides this: for what is stored, for what is sent, and for what a site
 * refuses. A secret is, in a command, the value of an option, variable, header or JSON member whose
 * name speaks of a key, token, password or secret (--api-key X, --hf-token=X, HF_TOKEN=X,
 * Authorization: X); in prose that of NAME=X only, and in JSON a string under such a name; anywhere
 * the user part of a URL, what follows "Bearer" and has a digit, and words with the well-known
 * prefixes of tokens (hf_, sk-, ghp_, ...). A private name is that of a home folder (in "home" or
 * "Users"), and the user and hosts that the caller names. Each is replaced by ***, quotes included
 * where it is a word of its own; everything else stays as it is, comments and line breaks included.
 * What holds *** already is left alone. */
#ifndef TOKGRID_MODEL_REDACT_H
#define TOKGRID_MODEL_REDACT_H

#include <stddef.h>

#include "base/buf.h"

enum redact_form { REDACT_COMMAND, REDACT_PROSE, REDACT_JSON };
enum redact_kind { REDACT_SECRET, REDACT_NAME };

struct redact_span {
    size_t at, n; /* bytes of the text */
    enum redact_kind kind;
};

/* In the order of the text, none within another. Zeroed ones are empty. */
struct redact_spans {
    struct redact_span *v;
    size_t n, cap;
};
void redact_spans_release(struct redact_spans *spans);

/* Fill `out` anew with the secrets of the text. */
void redact_find(const char *text, enum redact_form form, struct redact_spans *out);

struct redact_names {
    const char *user;     /* counts in user@host; NULL: none. Folders of homes count anyway */
    const char *hosts[2]; /* with a dot anywhere, else where a host stands; NULL: none */
};

/* Add the private names outside of the spans that are there. */
void redact_find_names(const char *text, const struct redact_names *names,
                       struct redact_spans *spans);

/* Append the text with *** in place of the spans; or with secrets as <12 bytes> and names as they
 * are, to show its owner what was taken out. */
void redact_write(const char *text, const struct redact_spans *spans, struct buf *out);
void redact_write_masked(const char *text, const struct redact_spans *spans, struct buf *out);

/* Append `command` without its secrets; returns how many were taken out. */
int redact_command(const char *command, struct buf *out);

#endif
