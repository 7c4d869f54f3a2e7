/* store_parts.h - what the files of store.h share. Private to this layer. */
#ifndef TOKGRID_STORE_STORE_PARTS_H
#define TOKGRID_STORE_STORE_PARTS_H

#include "store/db.h"
#include "store/store.h"
#include "store/store_names.h"

struct store {
    struct db *db;
    struct store_options options;
    int64_t actor;       /* user id; 0: nobody */
    const char *address; /* borrowed */
    struct names *names;
};

/* Always false: there is no such `thing`. */
bool store_no_such(struct err *err, const char *thing, const char *name);

/* Names and labels from outside: not empty, at most `max` bytes, no control characters. */
bool store_text_check(const char *what, const char *text, size_t max, struct err *err) ATTR_CHECK;

/* ---- pages ---- */

/* Where a page begins and how long it is. `list` is a number of the caller's for what is listed
 * and how (a hash of filter and order): a cursor of another list is refused. */
struct pager {
    bool begun; /* there is a place to go on after */
    double score;
    int64_t id;
    int limit;
    uint32_t list;
};
bool pager_init(struct pager *p, const struct store_page *page, uint32_t list,
                struct err *err) ATTR_CHECK;
/* What to go on after: the last row of this page. */
void pager_next(const struct pager *p, double score, int64_t id, char out[STORE_CURSOR_MAX]);
/* Rows to ask for: one more than the page has, which tells whether there is another. */
struct db_value pager_limit(const struct pager *p);

uint32_t pager_hash(uint32_t h, const char *text); /* chained; NULL counts too */

/* ---- sums ---- */

/* Add to a row of the tally. */
bool tally_add(struct store *s, const char *name, int64_t n, struct err *err) ATTR_CHECK;

/* First in every transaction that changes what visitors see: grows the version, and holds off the
 * others that do the same. So counters cannot deadlock and ids come in the order of commits. */
bool store_lock_visible(struct store *s, struct err *err) ATTR_CHECK;

/* ---- users ---- */

#define USER_COLUMNS                                                                               \
    "u.id, u.name, u.admin, u.disabled, CASE WHEN u.password IS NULL THEN 0 ELSE 1 END, "          \
    "u.created_ms, u.run_count, u.key_count"
void read_user(struct db_rows *rows, struct arena *a, struct store_user *ret);

/* A key of this user, inside a transaction; *ret_full when there are too many. */
bool add_key(struct store *s, int64_t user, const char *label, char key[STORE_KEY_TEXT_MAX],
             bool *ret_full, struct err *err) ATTR_CHECK;

/* ---- runs ---- */

#define RUN_COLUMNS                                                                                \
    "r.id, r.uid, r.state, r.revision, r.created_ms, r.updated_ms, r.owner_id, r.model_id, "       \
    "r.base_id, r.organization_id, r.hardware_id, r.class, r.engine_id, r.engine_version, "        \
    "r.quantization_id, r.backend, r.kind, r.tool, r.title, r.measured_at, r.launch_command, "     \
    "r.verified, r.single, r.total, r.prefill, r.ttft, r.document_bytes, r.document_digest, "      \
    "r.valid_count, r.cell_count"
/* After names_begin. Where a name cannot be looked up, there are no more rows, and db_end fails. */
void read_run(struct store *s, struct db_rows *rows, struct arena *a, struct store_run *ret);

#define CELL_COLUMNS                                                                               \
    "c.context_tokens, c.concurrency, c.status, c.marks, c.total, c.per_request, c.ttft, c.itl, "  \
    "c.active, c.per_joule, c.flagged"
void read_cell(struct db_rows *rows, struct store_cell *ret);

/* What a filter's names are here. `nothing`: one of them is unknown, so nothing passes. */
struct filter_ids {
    bool nothing;
    int64_t model, base, organization, hardware, engine, quantization, user;
    const char *card, *class, *kind;
    bool verified;
};
bool filter_resolve(struct store *s, const struct store_filter *f, struct arena *a,
                    struct filter_ids *ret, struct err *err) ATTR_CHECK;
uint32_t filter_hash(uint32_t h, const struct store_filter *f);
/* Conditions on a table with run's columns, whose alias is t; each begins with " AND ". */
void filter_add(struct db_pieces *p, const struct filter_ids *f);

bool find_base(struct store *s, const char *name, int64_t *ret_id, struct err *err) ATTR_CHECK;

/* ---- what follows from a run being listed or not ---- */

/* Board rows, counters, search entries of a run; the run's `listed` says so already. */
bool ranks_add(struct store *s, int64_t run, struct err *err) ATTR_CHECK;
bool ranks_remove(struct store *s, int64_t run, struct err *err) ATTR_CHECK;
/* Whether the board rows of a listed run are those that its cells make. */
bool ranks_check(struct store *s, int64_t run, bool *ret_right, struct err *err) ATTR_CHECK;

/* ---- search ---- */

bool search_put(struct store *s, enum store_found_kind kind, const char *key, const char *title,
                const char *text, int64_t weight, struct err *err) ATTR_CHECK;
bool search_remove(struct store *s, enum store_found_kind kind, const char *key,
                   struct err *err) ATTR_CHECK;

/* Read all rows into an array in the arena: `list` has v and n; `read` handles one row. */
#define READ_ALL(rows, a, list, cap, read_one)                                                     \
    do {                                                                                           \
        (list)->v = arena_array((a), (size_t)(cap), sizeof *(list)->v);                            \
        (list)->n = 0;                                                                             \
        while ((list)->n < (size_t)(cap) && db_next(rows)) {                                       \
            read_one;                                                                              \
            (list)->n++;                                                                           \
        }                                                                                          \
    } while (0)

#endif
