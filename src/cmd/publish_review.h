/* publish_review.h - a result on its way to a site: the bytes that would be sent, and what a person
 * should see before they are.
 *
 * The document is the file as it is, byte for byte, unless something was taken out of it or added;
 * then it is written anew, and what changed is listed field by field. */
#ifndef TOKGRID_CMD_PUBLISH_REVIEW_H
#define TOKGRID_CMD_PUBLISH_REVIEW_H

#include <jansson.h>

#include "base/arena.h"
#include "model/redact_result.h"
#include "model/result.h"

struct review {
    const char *path;
    struct result result; /* as it would be sent */
    struct buf document;  /* the bytes */
    struct buf packed;    /* the same as gzip */
    char digest[65];      /* BLAKE2b of `document`, hex */
    struct redactions redactions;
    const char *note;     /* added; NULL: none */
    const char *hardware; /* the file it was added from; NULL: none */
    const char **doubts;  /* why a site would flag it, in the arena */
    size_t doubt_count;
    struct arena *arena; /* borrowed */
    bool read;           /* result is filled */
};

struct review_options {
    const char *note;     /* NULL: none */
    const char *hardware; /* a file for a result that says nothing of its hardware; NULL: none */
    bool keep_names;      /* take only secrets out */
};

/* Read the file strictly, take out what nobody should see, and check what is left like a site does.
 * Release in either case. */
bool review_read(struct review *r, const char *path, const struct review_options *options,
                 struct arena *a, struct err *err) ATTR_CHECK;
void review_release(struct review *r);

/* Where it goes; NULL where that is not known. */
struct review_target {
    const char *site, *user;
    bool draft;
};

/* Lines for a terminal: what it is, each change as before and after, what a site would flag, size,
 * digest, site, user. */
void review_write(const struct review *r, const struct review_target *to, struct buf *out);

/* The same for programs: {"bytes", "packed_bytes", "blake2b", "redactions": [...], ...}; the caller
 * owns it. */
json_t *review_json(const struct review *r);

#endif
