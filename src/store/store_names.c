/* store_names.c - a slot for each id modulo the number of slots, so that no number of users makes
 * it grow; what a slot holds is right for the version of the store under which it was read. */
#include "store/store_names.h"

#include <stdlib.h>

#include "store/store_parts.h"

enum { SLOTS = 1024 };

struct slot {
    int64_t id; /* 0: empty */
    int64_t version;
    char *name, *title;
};

struct names {
    int64_t version;
    int64_t inside; /* negative and never twice the same: what is read inside a transaction may be
                       rolled back, and serves until the next names_begin only */
    struct slot slots[NAME_KINDS][SLOTS];
};

static const char *const queries[NAME_KINDS] = {
    [NAME_USER] = "SELECT name, NULL FROM users WHERE id = ?",
    [NAME_MODEL] = "SELECT name, NULL FROM model WHERE id = ?",
    [NAME_BASE] = "SELECT name, NULL FROM base WHERE id = ?",
    [NAME_ORGANIZATION] = "SELECT name, NULL FROM organization WHERE id = ?",
    [NAME_HARDWARE] = "SELECT slug, title FROM hardware WHERE id = ?",
    [NAME_ENGINE] = "SELECT name, NULL FROM engine WHERE id = ?",
    [NAME_QUANTIZATION] = "SELECT name, NULL FROM quantization WHERE id = ?",
};

struct names *names_new(void)
{
    return mem_alloc(sizeof(struct names));
}

static void set(struct slot *slot, int64_t id, const char *name, const char *title)
{
    slot->id = id;
    mem_set_string(&slot->name, name);
    mem_set_string(&slot->title, title);
}

void names_free(struct names *n)
{
    if (!n)
        return;
    for (size_t kind = 0; kind < NAME_KINDS; kind++)
        for (size_t i = 0; i < SLOTS; i++)
            set(&n->slots[kind][i], 0, NULL, NULL);
    free(n);
}

bool names_begin(struct store *s, struct err *err)
{
    if (db_depth(s->db) == 0)
        return store_version(s, &s->names->version, err);
    s->names->version = --s->names->inside;
    return true;
}

static bool fill(struct store *s, enum name_kind kind, int64_t id, struct slot *slot,
                 struct err *err)
{
    const struct db_value value = db_int(id);
    struct arena a = {0};
    struct db_rows rows;

    if (!db_query(s->db, queries[kind], &value, 1, &rows, err))
        return false;
    if (db_next(&rows)) {
        const char *name = db_get_text(&rows, &a), *title = db_get_text(&rows, &a);
        set(slot, id, name, title);
    } else {
        set(slot, 0, NULL, NULL);
    }
    slot->version = s->names->version;
    arena_release(&a);
    return db_end(&rows, err);
}

bool names_get(struct store *s, enum name_kind kind, int64_t id, struct arena *a,
               const char **ret_name, const char **ret_title, struct err *err)
{
    struct slot *slot = &s->names->slots[kind][(uint64_t)id % SLOTS];

    if (id && (slot->id != id || slot->version != s->names->version) &&
        !fill(s, kind, id, slot, err))
        return false;
    bool known = id && slot->id == id;
    *ret_name = known ? arena_strdup(a, slot->name) : NULL;
    if (ret_title)
        *ret_title = known ? arena_strdup(a, slot->title) : NULL;
    return true;
}
