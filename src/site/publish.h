/* publish.h - a document on its way into the store: read, checked, judged. The one way in, for
 * forms, the API and the command line alike.
 *
 * What is published is the exact document, so nothing here changes it: what may not be shown, such
 * as a secret (model/redact.h), is refused with the name of the field. */
#ifndef TOKGRID_SITE_PUBLISH_H
#define TOKGRID_SITE_PUBLISH_H

#include "base/arena.h"
#include "store/store.h"

struct publication {
    struct result result;
    const char *document; /* borrowed */
    size_t bytes;
    struct store_flag *flags; /* why moderators should look; in the arena */
    size_t flag_count;
    const char *field; /* static or in the arena: what the error is about; NULL: the document */
};

/* False: not fit to be stored, the reason in `err` as a line, the field in `p->field`. Release in
 * either case. */
bool publication_read(struct publication *p, const char *document, size_t n, struct arena *a,
                      struct err *err) ATTR_CHECK;
void publication_release(struct publication *p);

/* What memory bandwidth allows one request, tok/s: every token needs the weights read once, or,
 * where the launch command tells of drafted tokens, every so many (*ret_tokens, 1 else). From the
 * document's facts; a bandwidth above the data sheet of the hardware it names is not believed. NAN:
 * unknown. */
double publication_bound(const struct result *r, int *ret_tokens);

bool publication_store(struct store *s, const struct publication *p, int64_t owner, bool draft,
                       char ret_uid[UUID_TEXT_MAX], struct err *err) ATTR_CHECK;
/* As the next revision of a run of that owner. */
bool publication_revise(struct store *s, const char *uid, const struct publication *p,
                        int64_t owner, const char *note, struct err *err) ATTR_CHECK;

#endif
