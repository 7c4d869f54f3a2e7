/* run_draft.c - from a result to rows: identities and their ids, the best figures, the statements.
 */
#include "store/run_draft.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/store_parts.h"

enum {
    COMPRESSION_LEVEL = 6,
    CELL_VALUES = 13, /* of one row, for statements of several */
    RUN_VALUES_MAX = 48,
    COMMAND_MAX_BYTES = 4000, /* lists carry it along; all of it is in the document */
};

/* ---- what a run is grouped by ---- */

/* The id of a row with this key, made when there is none; NULL name: 0. */
struct keyed {
    const char *find, *insert;
};
#define KEYED(table)                                                                               \
    {                                                                                              \
        "SELECT id FROM " table " WHERE key = ?",                                                  \
            "INSERT INTO " table " (key, name) VALUES (?, ?) RETURNING id"                         \
    }
static const struct keyed organizations = KEYED("organization"), bases = KEYED("base"),
                          engines = KEYED("engine"), quantizations = KEYED("quantization");

static bool one_id(struct store *s, const char *sql, const struct db_value *values, size_t n,
                   int64_t *ret, struct err *err)
{
    struct db_rows rows;

    if (!db_query(s->db, sql, values, n, &rows, err))
        return false;
    *ret = db_next(&rows) ? db_get_int(&rows) : 0;
    return db_end(&rows, err);
}

static bool id_of(struct store *s, const struct keyed *t, const char *key, const char *name,
                  int64_t *ret, struct err *err)
{
    const struct db_value values[] = {db_text(key), db_text(name)};

    *ret = 0;
    if (!name || !*name)
        return true;
    if (!one_id(s, t->find, values, 1, ret, err))
        return false;
    return *ret || one_id(s, t->insert, values, 2, ret, err);
}

static bool id_of_name(struct store *s, const struct keyed *t, const char *name, struct arena *a,
                       int64_t *ret, struct err *err)
{
    const char *tidy = name ? identity_tidy(a, name) : NULL;

    return id_of(s, t, tidy ? store_key_of(a, tidy) : NULL, tidy, ret, err);
}

/* A group is named by the original as soon as that is known. */
static bool name_base(struct store *s, const struct draft *d, struct err *err)
{
    if (!d->model.original)
        return true;
    return DB_RUN(s->db, err,
                  "UPDATE base SET name = ? WHERE id = ? AND NOT EXISTS "
                  "(SELECT 1 FROM model m WHERE m.base_id = base.id AND m.name = base.name)",
                  db_text(d->model.name), db_int(d->base_id));
}

static bool find_model(struct store *s, struct draft *d, struct err *err)
{
    struct db_rows rows;
    const struct model_identity *m = &d->model;

    if (!DB_QUERY(s->db, &rows, err, "SELECT id, base_id, organization_id FROM model WHERE key = ?",
                  db_text(m->key)))
        return false;
    if (db_next(&rows)) {
        d->model_id = db_get_int(&rows);
        d->base_id = db_get_int(&rows);
        d->organization_id = db_get_int(&rows);
    }
    return db_end(&rows, err);
}

static bool make_model(struct store *s, struct draft *d, struct arena *a, struct err *err)
{
    const struct model_identity *m = &d->model;
    const struct db_value *values;

    if (!id_of(s, &bases, m->stem_key, m->original ? m->name : m->stem, &d->base_id, err) ||
        !id_of_name(s, &organizations, m->organization, a, &d->organization_id, err) ||
        !name_base(s, d, err))
        return false;
    values = (const struct db_value[]){db_text(m->name), db_text(m->key), db_int(d->base_id),
                                       db_id(d->organization_id)};
    return one_id(s,
                  "INSERT INTO model (name, key, base_id, organization_id) VALUES (?, ?, ?, ?) "
                  "RETURNING id",
                  values, 4, &d->model_id, err);
}

static bool hardware_id(struct store *s, struct draft *d, struct err *err)
{
    const struct store_hardware *h = &d->hardware;
    const struct db_value values[] = {db_text(h->slug),    db_text(h->title), db_text(h->class),
                                      db_text(h->name),    db_text(h->card),  db_int(h->count),
                                      db_int(h->memory_gb)};

    if (!one_id(s, "SELECT id FROM hardware WHERE slug = ?", values, 1, &d->hardware_id, err))
        return false;
    return d->hardware_id ||
           one_id(s,
                  "INSERT INTO hardware (slug, title, class, name, card, gpus, memory_gb) "
                  "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
                  values, ARRAY_LEN(values), &d->hardware_id, err);
}

bool draft_resolve(struct store *s, struct draft *d, struct arena *a, struct err *err)
{
    const struct result *r = d->in->result;

    if (!find_model(s, d, err) || (!d->model_id && !make_model(s, d, a, err)))
        return false;
    return hardware_id(s, d, err) &&
           id_of_name(s, &engines, r->engine.name, a, &d->engine_id, err) &&
           id_of_name(s, &quantizations, r->subject.quantization, a, &d->quantization_id, err);
}

/* ---- its figures ---- */

static double larger(double a, double b)
{
    return isfinite(b) && (!isfinite(a) || b > a) ? b : a;
}

static void sum_up(struct draft *d)
{
    const struct result *r = d->in->result;
    int64_t shortest = INT64_MAX;

    d->single = d->total = 0;
    d->prefill = d->ttft = (double)NAN;
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        if (c->status != STATUS_VALID)
            continue;
        d->valid++;
        d->total = larger(d->total, c->total_tok_s);
        if (c->concurrency == 1)
            d->single = larger(d->single, c->total_tok_s);
    }
    for (size_t i = 0; i < r->prefill_count; i++) {
        const struct prefill_row *p = &r->prefill[i];
        if (p->status != STATUS_VALID)
            continue;
        d->prefill = larger(d->prefill, p->total_tok_s);
        if (p->context_tokens < shortest && isfinite(p->ttft_ms.p50)) {
            shortest = p->context_tokens;
            d->ttft = p->ttft_ms.p50;
        }
    }
}

/* A row holds as much of a text as pages show; never half a character. */
static const char *cut(struct arena *a, const char *s, size_t max)
{
    if (!s || strlen(s) <= max)
        return s;
    while (max > 0 && ((unsigned char)s[max] & 0xc0) == 0x80)
        max--;
    return arena_strndup(a, s, max);
}

void draft_describe(struct draft *d, struct arena *a)
{
    const struct result *r = d->in->result;
    unsigned char hash[DIGEST_BYTES];

    crypto_generichash(hash, sizeof hash, (const unsigned char *)d->in->document,
                       d->in->document_bytes, NULL, 0);
    sodium_bin2hex(d->digest, sizeof d->digest, hash, sizeof hash);
    d->document_id = r->id ? store_key_of(a, r->id) : d->digest;
    identity_of_model(r, a, &d->model);
    store_hardware_of(&r->hardware, a, &d->hardware);
    const char *slash = strrchr(d->model.name, '/');
    d->title = arena_printf(a, "%s on %s", slash ? slash + 1 : d->model.name, d->hardware.title);
    if (r->tool.name)
        d->tool = arena_printf(a, "%s %s", r->tool.name, r->tool.version ? r->tool.version : "");
    d->tool = cut(a, d->tool, IDENTITY_NAME_MAX);
    d->engine_version = cut(a, r->engine.version, IDENTITY_NAME_MAX);
    d->backend = cut(a, r->engine.backend, IDENTITY_NAME_MAX);
    d->launch_command = cut(a, r->engine.launch_command, COMMAND_MAX_BYTES);
    sum_up(d);
}

/* ---- its rows ---- */

static bool insert_document(struct store *s, const struct draft *d, int64_t run, int revision,
                            const char *note, struct err *err)
{
    size_t room = ZSTD_compressBound(d->in->document_bytes);
    void *body = mem_alloc(room);
    size_t n = ZSTD_compress(body, room, d->in->document, d->in->document_bytes, COMPRESSION_LEVEL);
    bool fine = !ZSTD_isError(n) || err_set(err, ERR_SYSTEM, "the document cannot be compressed");

    fine = fine && DB_RUN(s->db, err,
                          "INSERT INTO document (run_id, revision, author_id, created_ms, note, "
                          "digest, bytes, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                          db_int(run), db_int(revision), db_id(s->actor ? s->actor : d->in->owner),
                          db_int(store_now_ms(s)), db_text(note), db_text(d->digest),
                          db_int((int64_t)d->in->document_bytes), db_blob(body, n));
    free(body);
    return fine;
}

static bool is_flagged(const struct draft *d, int64_t context_tokens, int concurrency)
{
    for (size_t i = 0; i < d->in->flag_count; i++)
        if (d->in->flags[i].context_tokens == context_tokens &&
            d->in->flags[i].concurrency == concurrency)
            return true;
    return false;
}

static double per_joule(const struct cell *c)
{
    if (c->power_w > 0)
        return c->total_tok_s / c->power_w;
    if (c->energy_j > 0 && c->output_tokens > 0)
        return (double)c->output_tokens / c->energy_j;
    return (double)NAN;
}

/* Rows of a statement that inserts several at once. */
struct cell_rows {
    struct store *s;
    struct db_pieces p;
    struct err *err;
    bool fine;
};

static void flush_cells(struct cell_rows *w)
{
    if (w->p.n > 0 && w->fine)
        w->fine = db_pieces_run(w->s->db, &w->p, w->err);
    db_pieces_release(&w->p);
    db_pieces_init(&w->p);
}

static void add_cell(struct cell_rows *w, int64_t run, const struct store_cell *c, bool ranked)
{
    const struct db_value values[CELL_VALUES] = {db_int(run),
                                                 db_int(c->context_tokens),
                                                 db_int(c->concurrency),
                                                 db_int(c->status),
                                                 db_int(c->marks),
                                                 db_int(c->flagged),
                                                 db_int(ranked),
                                                 db_real(c->total_tok_s),
                                                 db_real(c->per_request_tok_s),
                                                 db_real(c->ttft_ms),
                                                 db_real(c->itl_ms),
                                                 db_real(c->avg_active),
                                                 db_real(c->tok_per_joule)};

    if (w->p.n + CELL_VALUES > DB_PIECE_VALUES)
        flush_cells(w);
    if (w->p.n == 0)
        DB_ADD(&w->p, "INSERT INTO cell (run_id, context_tokens, concurrency, status, marks, "
                      "flagged, ranked, total, per_request, ttft, itl, active, per_joule) VALUES ");
    db_pieces_add(&w->p,
                  w->p.n == 0 ? "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                              : ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  values, CELL_VALUES);
}

static bool insert_cells(struct store *s, const struct draft *d, int64_t run, struct err *err)
{
    const struct result *r = d->in->result;
    struct cell_rows w = {.s = s, .err = err, .fine = true};

    db_pieces_init(&w.p);
    for (size_t i = 0; i < r->prefill_count && w.fine; i++) {
        const struct prefill_row *p = &r->prefill[i];
        const struct store_cell c = {.context_tokens = p->context_tokens,
                                     .status = p->status,
                                     .marks = p->marks,
                                     .flagged = is_flagged(d, p->context_tokens, 0),
                                     .total_tok_s = p->total_tok_s,
                                     .per_request_tok_s = (double)NAN,
                                     .ttft_ms = p->ttft_ms.p50,
                                     .itl_ms = (double)NAN,
                                     .avg_active = (double)NAN,
                                     .tok_per_joule = (double)NAN};
        add_cell(&w, run, &c, p->status == STATUS_VALID && !(p->marks & MARK_CACHE_HIT));
    }
    for (size_t i = 0; i < r->decode_count && w.fine; i++) {
        const struct cell *c = &r->decode[i];
        const struct store_cell row = {.context_tokens = c->context_tokens,
                                       .concurrency = c->concurrency,
                                       .status = c->status,
                                       .marks = c->marks,
                                       .flagged = is_flagged(d, c->context_tokens, c->concurrency),
                                       .total_tok_s = c->total_tok_s,
                                       .per_request_tok_s = c->per_request_tok_s,
                                       .ttft_ms = c->ttft_ms.p50,
                                       .itl_ms = c->itl_ms.p50,
                                       .avg_active = c->avg_active,
                                       .tok_per_joule = per_joule(c)};
        bool counted = c->token_source && strcmp(c->token_source, "events") == 0;
        add_cell(&w, run, &row, c->status == STATUS_VALID && !counted);
    }
    flush_cells(&w);
    db_pieces_release(&w.p);
    return w.fine;
}

static bool insert_flags(struct store *s, const struct draft *d, int64_t run, struct err *err)
{
    for (size_t i = 0; i < d->in->flag_count; i++) {
        const struct store_flag *f = &d->in->flags[i];
        if (!DB_RUN(s->db, err,
                    "INSERT INTO flag (run_id, code, text, context_tokens, concurrency) "
                    "VALUES (?, ?, ?, ?, ?)",
                    db_int(run), db_text(f->code), db_text(f->text), db_int(f->context_tokens),
                    db_int(f->concurrency)))
            return false;
    }
    return true;
}

/* The columns that follow from the document, in the order of both statements below. */
static size_t document_values(const struct draft *d, struct db_value *out)
{
    const struct result *r = d->in->result;
    const struct db_value values[] = {
        db_text(d->document_id),
        db_text(d->digest),
        db_int((int64_t)d->in->document_bytes),
        db_int(d->model_id),
        db_int(d->base_id),
        db_id(d->organization_id),
        db_int(d->hardware_id),
        db_text(d->hardware.card),
        db_text(d->hardware.class),
        db_id(d->engine_id),
        db_id(d->quantization_id),
        db_text(d->engine_version),
        db_text(d->backend),
        db_text(r->kind ? r->kind : "measured"),
        db_text(d->tool),
        db_text(d->title),
        db_text(*r->run.started_at ? r->run.started_at : NULL),
        db_text(d->launch_command),
        db_real(d->single),
        db_real(d->total),
        db_real(d->prefill),
        db_real(d->ttft),
        db_int((int64_t)r->decode_count),
        db_int(d->valid),
        db_int((int64_t)d->in->flag_count),
    };

    memcpy(out, values, sizeof values);
    return ARRAY_LEN(values);
}

bool draft_insert_run(struct store *s, const struct draft *d, enum store_run_state state,
                      const char *uid, int64_t *ret_id, struct err *err)
{
    int64_t now = store_now_ms(s);
    struct db_value v[RUN_VALUES_MAX] = {db_text(uid),
                                         db_int(state),
                                         db_int(store_run_is_listed(state)),
                                         db_int(state == STORE_RUN_FLAGGED),
                                         db_int(1),
                                         db_int(now),
                                         db_int(now),
                                         db_int(d->in->owner)};
    size_t n = 8 + document_values(d, v + 8);

    return one_id(s,
                  "INSERT INTO run (uid, state, listed, waiting, revision, created_ms, updated_ms, "
                  "owner_id, document_id, document_digest, document_bytes, model_id, base_id, "
                  "organization_id, hardware_id, card, class, engine_id, quantization_id, "
                  "engine_version, backend, kind, tool, title, measured_at, launch_command, "
                  "single, total, prefill, ttft, cell_count, valid_count, flag_count) VALUES "
                  "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                  "?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                  v, n, ret_id, err);
}

bool draft_update_run(struct store *s, const struct draft *d, int64_t run,
                      enum store_run_state state, int revision, struct err *err)
{
    struct db_value v[RUN_VALUES_MAX] = {db_int(state), db_int(store_run_is_listed(state)),
                                         db_int(state == STORE_RUN_FLAGGED), db_int(revision),
                                         db_int(store_now_ms(s))};
    size_t n = 5 + document_values(d, v + 5);

    v[n++] = db_int(run);
    return db_run(s->db,
                  "UPDATE run SET state = ?, listed = ?, "
                  "waiting = CASE WHEN ? = 1 OR report_count > 0 THEN 1 ELSE 0 END, revision = ?, "
                  "updated_ms = ?, document_id = ?, document_digest = ?, document_bytes = ?, "
                  "model_id = ?, base_id = ?, organization_id = ?, hardware_id = ?, card = ?, "
                  "class = ?, engine_id = ?, quantization_id = ?, engine_version = ?, "
                  "backend = ?, kind = ?, tool = ?, title = ?, measured_at = ?, "
                  "launch_command = ?, single = ?, total = ?, prefill = ?, ttft = ?, "
                  "cell_count = ?, valid_count = ?, flag_count = ?, verified = 0 WHERE id = ?",
                  v, n, NULL, err);
}

bool draft_insert_parts(struct store *s, const struct draft *d, int64_t run, int revision,
                        const char *note, struct err *err)
{
    return insert_document(s, d, run, revision, note, err) && insert_cells(s, d, run, err) &&
           insert_flags(s, d, run, err);
}
