/* run_draft.h - a run on its way into the store: what its document says, as rows.
 *
 * Describe (pure), resolve (find or make what it is grouped by), then insert or update the run's
 * row and insert its parts: the document, the cells, the flags. All but the first inside the
 * transaction that store_lock_visible began. */
#ifndef TOKGRID_STORE_RUN_DRAFT_H
#define TOKGRID_STORE_RUN_DRAFT_H

#include "store/identity.h"
#include "store/store.h"

enum { DIGEST_BYTES = 32, DIGEST_TEXT_MAX = 2 * DIGEST_BYTES + 1 };

struct draft {
    const struct store_run_new *in;
    char digest[DIGEST_TEXT_MAX];
    const char *document_id;
    struct model_identity model;
    struct store_hardware hardware;
    int64_t model_id, base_id, organization_id, hardware_id, engine_id, quantization_id;
    const char *tool, *title, *engine_version, *backend, *launch_command;
    double single, total, prefill, ttft;
    int64_t valid;
};

/* in->document_bytes is within bounds. Strings are in the arena. */
void draft_describe(struct draft *d, struct arena *a);

bool draft_resolve(struct store *s, struct draft *d, struct arena *a, struct err *err) ATTR_CHECK;

bool draft_insert_run(struct store *s, const struct draft *d, enum store_run_state state,
                      const char *uid, int64_t *ret_id, struct err *err) ATTR_CHECK;
bool draft_update_run(struct store *s, const struct draft *d, int64_t run,
                      enum store_run_state state, int revision, struct err *err) ATTR_CHECK;
bool draft_insert_parts(struct store *s, const struct draft *d, int64_t run, int revision,
                        const char *note, struct err *err) ATTR_CHECK;

#endif
