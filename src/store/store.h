/* store.h - results at rest: everything the site keeps, behind one interface.
 *
 * SQLite in one file, or PostgreSQL shared by any number of processes; callers cannot tell which.
 * No SQL is written outside this layer, and no name of a table is known outside it.
 *
 * HANDLE. One `struct store` per thread, never shared. It keeps one connection, which comes back by
 * itself after it was lost (what was under way then fails with ERR_CONNECT).
 *
 * MEMORY. What a function returns lies in the arena it was given and lives as long as that: a page
 * makes one arena, asks for all it needs, and releases it. Strings that do not exist are NULL,
 * figures NAN, times 0. Inputs are borrowed for the call. `ret` is filled only on success.
 *
 * TIME. Unix milliseconds in int64_t, named `..._ms`.
 *
 * ERRORS. Every function fails with one of these codes, and a line fit to print:
 *   ERR_NOT_FOUND  there is no such thing (or it is not theirs)
 *   ERR_EXISTS     a name or document is taken
 *   ERR_BUSY       others hold the store longer than we wait; the same call may work in a moment
 *   ERR_LIMIT      a bound of this interface was reached (keys of a user, length of a name)
 *   ERR_FORMAT     an argument from outside is not what it should be (a cursor, a name)
 *   ERR_DENIED     a password or secret is wrong, or has expired
 *   ERR_CONNECT    the database cannot be reached
 *   ERR_SYSTEM     anything else that the database reports
 * After a failure inside a transaction only store_rollback helps.
 *
 * ACTOR. Functions that change something write a line to the audit log in the same transaction, in
 * the name of the handle's actor (store_act_as).
 *
 * SECRETS. Passwords are kept as Argon2id strings; session tokens, API keys and device codes as
 * BLAKE2b hashes. Each is returned in clear exactly once, by the function that makes it. */
#ifndef TOKGRID_STORE_STORE_H
#define TOKGRID_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/uuid.h"
#include "model/result.h"

struct store;

/* ---- life cycle ------------------------------------------------------------------------------ */

struct store_options {
    bool create;             /* make the SQLite file when it is missing */
    bool migrate;            /* bring an older schema up to date; else that is an error */
    bool cheap_passwords;    /* Argon2id at its least cost: for tests */
    int64_t (*now_ms)(void); /* NULL: the wall clock */
};

/* `where`: a path, "sqlite:PATH", "postgresql://..." or "postgres://...". Several processes may
 * open and migrate the same database at once; one of them does it. A schema that is newer than
 * this program, or whose history differs, is an error. */
bool store_open(const char *where, const struct store_options *options, struct store **ret,
                struct err *err) ATTR_CHECK;
void store_close(struct store *s); /* NULL is fine; an open transaction is rolled back */

bool store_is_url(const char *where);                 /* of a server, not a file */
void store_where(const char *where, struct buf *out); /* the same without a password, to show */
int64_t store_now_ms(const struct store *s);

/* ---- transactions ---------------------------------------------------------------------------- */

/* Every function below is a transaction of its own; these make several one. They nest: only the
 * outermost commit writes, and after a failure inside, or a rollback at any depth, it fails.
 * SQLite takes its write lock here. */
bool store_begin(struct store *s, struct err *err) ATTR_CHECK;
bool store_commit(struct store *s, struct err *err) ATTR_CHECK;
void store_rollback(struct store *s); /* without a transaction: nothing */

/* Who acts from here on: a user (0: nobody signed in) and the address they come from, or a word
 * such as "command line". Borrowed until the next call. */
void store_act_as(struct store *s, int64_t user, const char *address);

/* ---- pages of rows --------------------------------------------------------------------------- */

/* Lists are read in pages. A cursor is opaque text that says after which row to go on, so rows
 * that appear meanwhile are neither skipped nor shown twice; it belongs to the same filter and
 * order, else ERR_FORMAT. It is safe in URLs and JSON. */
enum { STORE_CURSOR_MAX = 96, STORE_PAGE_MAX = 200, STORE_PAGE_DEFAULT = 50 };

struct store_page {
    const char *after; /* a cursor; NULL or "": the first page */
    int limit;         /* rows, 1..STORE_PAGE_MAX; 0: STORE_PAGE_DEFAULT */
};

/* ---- users ----------------------------------------------------------------------------------- */

enum {
    STORE_NAME_MIN = 2,  /* of a user: a-z 0-9 - _, beginning with a letter or digit; the case of */
    STORE_NAME_MAX = 39, /* letters is kept, and not told apart */
    STORE_PASSWORD_MIN = 8,
    STORE_PASSWORD_MAX = 1024,
};

struct store_user {
    int64_t id;
    const char *name;
    bool admin;
    bool disabled; /* may not sign in; keys and sessions do not work */
    bool has_password;
    int64_t created_ms;
    int64_t run_count; /* listed ones: public and flagged */
    int64_t key_count;
};

/* `password` NULL: an account without one, such as the owner of imported runs. The first user of
 * a store with a password is an admin when `admin_if_first`. ERR_EXISTS: the name is taken. */
bool store_user_create(struct store *s, const char *name, const char *password, bool admin_if_first,
                       struct arena *a, struct store_user *ret, struct err *err) ATTR_CHECK;
bool store_user_by_name(struct store *s, const char *name, struct arena *a, struct store_user *ret,
                        struct err *err) ATTR_CHECK;
bool store_user_by_id(struct store *s, int64_t id, struct arena *a, struct store_user *ret,
                      struct err *err) ATTR_CHECK;

/* ERR_DENIED when name or password is wrong or the account disabled; all take the same time. */
bool store_user_check(struct store *s, const char *name, const char *password, struct arena *a,
                      struct store_user *ret, struct err *err) ATTR_CHECK;

/* Ends every session of the user. */
bool store_user_set_password(struct store *s, int64_t user, const char *password,
                             struct err *err) ATTR_CHECK;
/* ERR_DENIED, here and below, when nobody would be left who can sign in and is an admin. */
bool store_user_set_admin(struct store *s, int64_t user, bool admin, struct err *err) ATTR_CHECK;
/* Disabling ends every session; the keys stay and do not work. */
bool store_user_set_disabled(struct store *s, int64_t user, bool disabled,
                             struct err *err) ATTR_CHECK;

struct store_users {
    struct store_user *v;
    size_t n;
    char next[STORE_CURSOR_MAX]; /* "" after the last page, here and in every list below */
};
/* By name; only those that begin with `prefix`, whatever the case (NULL or "": all). */
bool store_users(struct store *s, const char *prefix, const struct store_page *page,
                 struct arena *a, struct store_users *ret, struct err *err) ATTR_CHECK;

/* Whether this name could be a user's; ERR_FORMAT says what is wrong. */
bool store_name_check(const char *name, struct err *err) ATTR_CHECK;

/* A lower-case copy for look-ups: ASCII letters only, as user names and ids have. Names with the
 * same key are one user's. */
char *store_key_of(struct arena *a, const char *name);

/* ---- sessions -------------------------------------------------------------------------------- */

enum { STORE_TOKEN_MAX = 48 }; /* a secret as text, NUL included */

struct store_session {
    int64_t id;
    struct store_user user;
    char csrf[STORE_TOKEN_MAX]; /* for the forms of this session; made from its token */
    int64_t created_ms, expires_ms;
};

/* `token` goes into the cookie. */
bool store_session_create(struct store *s, int64_t user, int64_t lifetime_ms,
                          char token[STORE_TOKEN_MAX], struct err *err) ATTR_CHECK;
bool store_session_find(struct store *s, const char *token, struct arena *a,
                        struct store_session *ret, struct err *err) ATTR_CHECK; /* ERR_DENIED */
bool store_session_end(struct store *s, const char *token, struct err *err) ATTR_CHECK;

/* ---- API keys -------------------------------------------------------------------------------- */

enum { STORE_KEYS_MAX = 10, STORE_KEY_TEXT_MAX = 48, STORE_LABEL_MAX = 64 };

struct store_key {
    int64_t id;
    const char *label;
    const char *prefix;          /* "tgk_3f9c01ab": what may be shown again */
    int64_t created_ms, used_ms; /* used_ms: within the minute */
};
struct store_keys {
    struct store_key *v;
    size_t n;
};

/* `key`: "tgk_" and 40 hex digits. ERR_LIMIT beyond STORE_KEYS_MAX. */
bool store_key_create(struct store *s, int64_t user, const char *label,
                      char key[STORE_KEY_TEXT_MAX], struct err *err) ATTR_CHECK;
bool store_key_find(struct store *s, const char *key, struct arena *a, struct store_user *ret,
                    struct err *err) ATTR_CHECK; /* its user; ERR_DENIED */
bool store_keys(struct store *s, int64_t user, struct arena *a, struct store_keys *ret,
                struct err *err) ATTR_CHECK;
bool store_key_delete(struct store *s, int64_t user, int64_t key, struct err *err) ATTR_CHECK;

/* ---- device login ---------------------------------------------------------------------------- */

/* A program without a browser asks for two codes, shows the user one, and polls with the other
 * until a signed-in user has typed the first one in and agreed. */
enum {
    STORE_USER_CODE_MAX = 10,              /* "BCDF-GHJK": no vowels, no digits */
    STORE_DEVICE_LIFE_MS = 15 * 60 * 1000, /* then the codes mean nothing */
    STORE_DEVICE_POLL_MS = 5000,           /* between polls, less is STORE_DEVICE_SLOW_DOWN */
};

enum store_device_state {
    STORE_DEVICE_PENDING,
    STORE_DEVICE_SLOW_DOWN,
    STORE_DEVICE_APPROVED, /* once; the codes are gone then */
    STORE_DEVICE_DENIED,
    STORE_DEVICE_EXPIRED,   /* or never existed */
    STORE_DEVICE_KEY_LIMIT, /* approved by a user who has STORE_KEYS_MAX keys */
};

struct store_device {
    const char *label; /* what asks: "tokgrid on bench-box" */
    int64_t created_ms, expires_ms;
};

bool store_device_start(struct store *s, const char *label, char device_code[STORE_TOKEN_MAX],
                        char user_code[STORE_USER_CODE_MAX], struct err *err) ATTR_CHECK;
/* What the user is about to agree to. Case, spaces and the dash of the code do not matter. */
bool store_device_find(struct store *s, const char *user_code, struct arena *a,
                       struct store_device *ret, struct err *err) ATTR_CHECK;
bool store_device_decide(struct store *s, const char *user_code, int64_t user, bool approve,
                         struct err *err) ATTR_CHECK;
/* On STORE_DEVICE_APPROVED a key of that user was made and is in `key`. */
bool store_device_poll(struct store *s, const char *device_code, enum store_device_state *ret,
                       char key[STORE_KEY_TEXT_MAX], struct err *err) ATTR_CHECK;

/* ---- runs ------------------------------------------------------------------------------------ */

enum store_run_state {
    STORE_RUN_DRAFT,     /* its owner sees it */
    STORE_RUN_PUBLIC,    /* listed and ranked */
    STORE_RUN_FLAGGED,   /* the same, with a warning: a figure is implausible */
    STORE_RUN_WITHDRAWN, /* its owner and admins see it; others learn that it is gone */
    STORE_RUN_STATES,
};
const char *store_run_state_name(enum store_run_state s); /* "draft" */
bool store_run_state_from_name(const char *name, enum store_run_state *ret);
bool store_run_is_listed(enum store_run_state s); /* public or flagged */

/* Why a run is flagged: by a check of its figures, or by a moderator. */
struct store_flag {
    const char *code;       /* "above_bound": a word of the caller's */
    const char *text;       /* one sentence */
    int64_t context_tokens; /* the cell; -1: the whole run */
    int concurrency;        /* 0: the prefill row */
};

struct store_run_new {
    int64_t owner;
    const struct result *result; /* what the document says: already read and checked */
    const char *document;        /* its exact bytes, at most RESULT_MAX_BYTES */
    size_t document_bytes;
    enum store_run_state state;     /* draft or public */
    const struct store_flag *flags; /* with any, public becomes flagged */
    size_t flag_count;
};

/* One measurement of a run as a row: a decode cell, or a prefill row (`concurrency` 0). */
struct store_cell {
    int64_t context_tokens;
    int concurrency;
    enum cell_status status;
    unsigned marks;
    double total_tok_s, per_request_tok_s, ttft_ms, itl_ms, avg_active, tok_per_joule;
    bool flagged;
};

struct store_run {
    int64_t id;      /* of this store */
    const char *uid; /* a UUIDv7: its name in URLs; newer ones sort later */
    enum store_run_state state;
    int revision; /* 1, 2, ... */
    int64_t created_ms, updated_ms;
    int64_t owner;
    const char *owner_name;
    const char *model;          /* as models name it (store_model_name) */
    const char *base;           /* of the group */
    const char *organization;   /* NULL: none */
    const char *hardware;       /* slug */
    const char *hardware_title; /* "2x RTX 3090 24GB" */
    const char *hardware_class; /* "DISCRETE_GPU" */
    const char *engine, *engine_version, *quantization, *backend;
    const char *kind;           /* "measured", "simulated", "imported" */
    const char *tool;           /* "tokgrid 0.1.0" */
    const char *title;          /* "Qwen3.5-27B on RTX 3090 24GB" */
    const char *measured_at;    /* UTC text of the document */
    const char *launch_command; /* its first 4,000 bytes */
    bool verified;
    double single_tok_s, total_tok_s, prefill_tok_s; /* its best valid cells */
    double ttft_ms;                                  /* of its shortest cold prefill */
    int64_t document_bytes;
    const char *document_digest;     /* BLAKE2b-256, hex: an ETag */
    int64_t valid_cells, cell_count; /* decode */
};

/* Stores the document, its rows, and what they are grouped by: model, organization, hardware.
 * ERR_EXISTS when this user has stored the same document, or one with its id: *ret_uid (may be
 * NULL) then names that run. */
bool store_run_add(struct store *s, const struct store_run_new *run, char ret_uid[UUID_TEXT_MAX],
                   struct err *err) ATTR_CHECK;

/* A new document under the same uid; the old one is kept. `note` says why. States stay, but for
 * public and flagged, which follow `flags`. */
bool store_run_revise(struct store *s, const char *uid, const struct store_run_new *run,
                      const char *note, struct err *err) ATTR_CHECK;

/* Removes the run and all its documents for good. */
bool store_run_delete(struct store *s, const char *uid, struct err *err) ATTR_CHECK;

/* The owner's decision. A draft that has flags is published as flagged. What was published before
 * and has flags is not made public again: ERR_DENIED, a moderator has to look at it. */
bool store_run_set_state(struct store *s, const char *uid, enum store_run_state state,
                         const char *reason, struct err *err) ATTR_CHECK;
bool store_run_set_verified(struct store *s, const char *uid, bool verified,
                            struct err *err) ATTR_CHECK;

bool store_run_get(struct store *s, const char *uid, struct arena *a, struct store_run *ret,
                   struct err *err) ATTR_CHECK;
/* Who may see it: everybody what is listed; its owner and admins the rest. NULL: not signed in. */
bool store_run_visible(const struct store_run *run, const struct store_user *viewer);

/* The document's exact bytes, appended to `out`. Revision 0 is the current one. */
bool store_run_document(struct store *s, const char *uid, int revision, struct buf *out,
                        struct err *err) ATTR_CHECK;

struct store_cells {
    struct store_cell *v; /* prefill rows first, then by context and concurrency */
    size_t n;
};
bool store_run_cells(struct store *s, int64_t run, struct arena *a, struct store_cells *ret,
                     struct err *err) ATTR_CHECK;

struct store_flags {
    struct store_flag *v;
    size_t n;
};
bool store_run_flags(struct store *s, int64_t run, struct arena *a, struct store_flags *ret,
                     struct err *err) ATTR_CHECK;

struct store_revision {
    int revision;
    int64_t created_ms;
    const char *author, *note, *document_digest;
    int64_t document_bytes;
};
struct store_revisions {
    struct store_revision *v; /* newest first */
    size_t n;
};
bool store_run_history(struct store *s, int64_t run, struct arena *a, struct store_revisions *ret,
                       struct err *err) ATTR_CHECK;

/* What lists and boards may be narrowed to; NULL members ask for nothing. A name that nothing has
 * gives an empty list, not an error. */
struct store_filter {
    const char *model;          /* exactly this repackaging */
    const char *base;           /* all repackagings of a model: its group's name or any member's */
    const char *organization;   /* */
    const char *hardware;       /* slug: exactly this configuration */
    const char *card;           /* slug: this card, whatever their number */
    const char *hardware_class; /* */
    const char *engine, *quantization, *kind;
    const char *user; /* name */
    bool verified;    /* only these */
};

enum store_run_order { STORE_RUNS_NEWEST, STORE_RUNS_FASTEST }; /* by total_tok_s */

struct store_runs {
    struct store_run *v;
    struct store_cells *cells; /* one for each row when asked for, else NULL; of each cell only
                                  its place, status and total speed */
    size_t n;
    char next[STORE_CURSOR_MAX];
};

/* Listed runs. `with_cells` adds the rows for small heat tables. */
bool store_runs(struct store *s, const struct store_filter *filter, enum store_run_order order,
                const struct store_page *page, bool with_cells, struct arena *a,
                struct store_runs *ret, struct err *err) ATTR_CHECK;

/* A user's own, in every state, newest first. */
bool store_runs_of(struct store *s, int64_t user, const struct store_page *page, struct arena *a,
                   struct store_runs *ret, struct err *err) ATTR_CHECK;

/* ---- boards ---------------------------------------------------------------------------------- */

/* A board ranks the valid cells of listed runs by one class of metric; classes never mix. A class
 * is ranked at a point: a context, a concurrency, both, or neither. Where one is left open, each
 * run stands with its best cell. Only `total` and `per_joule` have a concurrency to choose. Cells
 * whose tokens were only counted as events and prefill rows that a cache helped are not ranked;
 * simulated runs only among themselves, when the filter's kind asks for them. */
enum store_metric {
    STORE_SINGLE,    /* decode tok/s of one stream */
    STORE_TOTAL,     /* decode tok/s over all streams */
    STORE_PREFILL,   /* prompt tok/s, cold */
    STORE_TTFT,      /* milliseconds to the first token, cold: less is better */
    STORE_PER_JOULE, /* decode tokens per joule, all GPUs */
    STORE_METRICS,
};
const char *store_metric_name(enum store_metric m); /* "single", "total", "prefill", ... */
bool store_metric_from_name(const char *name, enum store_metric *ret);
bool store_metric_has_concurrency(enum store_metric m); /* may be asked at one */
bool store_metric_less_is_better(enum store_metric m);

struct store_board {
    enum store_metric metric;
    int64_t context_tokens; /* -1: any */
    int concurrency;        /* 0: any */
    struct store_filter filter;
    bool newest; /* in this order instead of best first */
};

struct store_board_row {
    double value;
    struct store_run run;
    struct store_cell cell;
};
struct store_board_rows {
    struct store_board_row *v;
    size_t n;
    char next[STORE_CURSOR_MAX];
};
bool store_board(struct store *s, const struct store_board *board, const struct store_page *page,
                 struct arena *a, struct store_board_rows *ret, struct err *err) ATTR_CHECK;

/* The best of a base model (all its repackagings) on each hardware it ran on, and the best of each
 * base model on one hardware; at any context and concurrency, best first, STORE_PAGE_MAX at most.
 */
bool store_board_of_base(struct store *s, const char *base, enum store_metric metric,
                         struct arena *a, struct store_board_rows *ret, struct err *err) ATTR_CHECK;
bool store_board_of_hardware(struct store *s, const char *slug, enum store_metric metric,
                             struct arena *a, struct store_board_rows *ret,
                             struct err *err) ATTR_CHECK;

/* The points at which a class has rows, for the choices of a form: ascending, "any" first. */
struct store_points {
    int64_t *contexts; /* -1: any */
    int *levels;       /* 0: any */
    size_t context_count, level_count;
};
bool store_board_points(struct store *s, enum store_metric metric, struct arena *a,
                        struct store_points *ret, struct err *err) ATTR_CHECK;

/* ---- what runs are grouped by ---------------------------------------------------------------- */

/* A model is a Hugging Face id, or the served name where a result has none. Quantized repackagings
 * ("cyankiwi/Qwen3.5-27B-AWQ-4bit", "unsloth/Qwen3.5-27B-GGUF") stand in one group with the model
 * they are made from; the group is named by the original where it is known, else by the part of
 * the name they share. Letters' case does not matter in look-ups. */
struct store_model {
    const char *name;                 /* "Qwen/Qwen3.5-27B" */
    const char *base;                 /* its group's name */
    const char *organization;         /* "Qwen"; NULL: none */
    int64_t run_count;                /* listed; of a group: of all members */
    int64_t variant_count;            /* of a group: members with runs */
    double single_tok_s, total_tok_s; /* best */
    int64_t last_run_ms;
};
struct store_models {
    struct store_model *v;
    size_t n;
    char next[STORE_CURSOR_MAX];
};

enum store_group_order { STORE_BY_RUNS, STORE_BY_NAME, STORE_BY_NEWEST, STORE_BY_SPEED };

/* Groups with listed runs, of one organization or (NULL) of all: an organization's groups are
 * those in which one of its models has runs. */
bool store_bases(struct store *s, const char *organization, enum store_group_order order,
                 const struct store_page *page, struct arena *a, struct store_models *ret,
                 struct err *err) ATTR_CHECK;
/* The group of this name, or in which a model of this name is. Here and below, what has no listed
 * run is not found: a draft's names are as private as the draft. */
bool store_base_get(struct store *s, const char *name, struct arena *a, struct store_model *ret,
                    struct err *err) ATTR_CHECK;
/* Its members, most runs first, STORE_PAGE_MAX at most. */
bool store_base_models(struct store *s, const char *base, struct arena *a, struct store_models *ret,
                       struct err *err) ATTR_CHECK;
/* A moderator's word on what a model is made from. */
bool store_model_set_base(struct store *s, const char *name, const char *base,
                          struct err *err) ATTR_CHECK;

/* How a result's model is called here. */
void store_model_name(const struct result *r, struct buf *out);

struct store_organization {
    const char *name;
    int64_t run_count, model_count;
    double single_tok_s, total_tok_s;
    int64_t last_run_ms;
};
struct store_organizations {
    struct store_organization *v;
    size_t n;
    char next[STORE_CURSOR_MAX];
};
bool store_organizations(struct store *s, enum store_group_order order,
                         const struct store_page *page, struct arena *a,
                         struct store_organizations *ret, struct err *err) ATTR_CHECK;
bool store_organization_get(struct store *s, const char *name, struct arena *a,
                            struct store_organization *ret, struct err *err) ATTR_CHECK;

/* Hardware is class, name, count and memory of what the model ran on; "NVIDIA GeForce RTX 3090",
 * "RTX 3090" and "Geforce RTX3090" are one. A slug names it in URLs: "2x-rtx-3090-24gb". */
struct store_hardware {
    const char *slug;
    const char *title; /* "2x RTX 3090 24GB" */
    const char *class; /* "DISCRETE_GPU", "UNIFIED", "CPU_ONLY" */
    const char *name;  /* "RTX 3090" */
    const char *card;  /* slug of the same with count 1; of a mixture its own */
    int count;         /* GPUs; 0: none */
    int memory_gb;     /* of one; 0: unknown */
    int64_t run_count;
    double single_tok_s, total_tok_s;
    int64_t last_run_ms;
};
struct store_hardwares {
    struct store_hardware *v;
    size_t n;
    char next[STORE_CURSOR_MAX];
};
/* `class` and `card` narrow, or are NULL. */
bool store_hardwares(struct store *s, const char *class, const char *card,
                     enum store_group_order order, const struct store_page *page, struct arena *a,
                     struct store_hardwares *ret, struct err *err) ATTR_CHECK;
bool store_hardware_get(struct store *s, const char *slug, struct arena *a,
                        struct store_hardware *ret, struct err *err) ATTR_CHECK;

/* What a machine is called here; strings in the arena, counters 0. */
void store_hardware_of(const struct machine *m, struct arena *a, struct store_hardware *ret);

/* The names that filters may ask for, most runs first, STORE_PAGE_MAX at most. */
struct store_choice {
    const char *name;
    int64_t run_count;
};
struct store_choices {
    struct store_choice *v;
    size_t n;
};
bool store_engines(struct store *s, struct arena *a, struct store_choices *ret,
                   struct err *err) ATTR_CHECK;
bool store_quantizations(struct store *s, struct arena *a, struct store_choices *ret,
                         struct err *err) ATTR_CHECK;

/* ---- search ---------------------------------------------------------------------------------- */

enum store_found_kind {
    STORE_FOUND_MODEL,
    STORE_FOUND_ORGANIZATION,
    STORE_FOUND_HARDWARE,
    STORE_FOUND_USER,
    STORE_FOUND_RUN,
    STORE_FOUND_KINDS,
};

struct store_found {
    enum store_found_kind kind;
    const char *key;   /* model, organization or user name, hardware slug, run uid */
    const char *title; /* to show */
};
struct store_founds {
    struct store_found *v;
    size_t n;
};

enum { STORE_QUERY_MAX = 200 };

/* What holds every word of the query: Latin words from their beginning, Chinese, Japanese and
 * Korean by pairs of characters, both regardless of case, width and punctuation. By kind in the
 * order above, `limit` of each at most; runs newest first, the others by run count. A query
 * without a word in it finds nothing. Only what is listed is found. */
bool store_search(struct store *s, const char *query, int limit, struct arena *a,
                  struct store_founds *ret, struct err *err) ATTR_CHECK;

/* ---- saved setups ---------------------------------------------------------------------------- */

/* A user's own hardware and engine settings, as JSON text of the caller's making. */
enum { STORE_SETUPS_MAX = 50, STORE_SETUP_BYTES_MAX = 64 << 10 };

struct store_setup {
    int64_t id;
    const char *name, *body;
    bool is_default;
    int64_t updated_ms;
};
struct store_setups {
    struct store_setup *v; /* by name */
    size_t n;
};
bool store_setups(struct store *s, int64_t user, struct arena *a, struct store_setups *ret,
                  struct err *err) ATTR_CHECK;
/* Makes or replaces the one of that name; a default takes that from the others. */
bool store_setup_put(struct store *s, int64_t user, const char *name, const char *body,
                     bool is_default, int64_t *ret_id, struct err *err) ATTR_CHECK;
bool store_setup_set_default(struct store *s, int64_t user, int64_t setup,
                             struct err *err) ATTR_CHECK;
bool store_setup_delete(struct store *s, int64_t user, int64_t setup, struct err *err) ATTR_CHECK;

/* ---- idempotent requests --------------------------------------------------------------------- */

/* A request that carries a key of its sender's takes effect once, however often it is sent and to
 * whichever process:
 *
 *     store_begin
 *     store_replay_claim  -> REPLAY_DONE:   roll back, send the stored answer again
 *                            REPLAY_OTHER:  roll back, refuse: the key was used for another request
 *                            REPLAY_NEW:    do it, store_replay_save(the answer), store_commit
 *
 * A claim holds off the same key elsewhere until the transaction ends; if the process dies, it
 * never was. Answers are kept for STORE_REPLAY_LIFE_MS. */
enum { STORE_REPLAY_KEY_MAX = 128, STORE_REPLAY_LIFE_MS = 24 * 60 * 60 * 1000 };

enum store_replay_state { REPLAY_NEW, REPLAY_DONE, REPLAY_OTHER };

struct store_replay {
    enum store_replay_state state;
    int status; /* HTTP status and body of the answer, when REPLAY_DONE */
    const char *body;
};
/* `request` is what must be the same: method, path and body, hashed here. */
bool store_replay_claim(struct store *s, int64_t user, const char *key, const void *request,
                        size_t request_bytes, struct arena *a, struct store_replay *ret,
                        struct err *err) ATTR_CHECK;
bool store_replay_save(struct store *s, int64_t user, const char *key, int status, const char *body,
                       struct err *err) ATTR_CHECK;

/* ---- rate limits ----------------------------------------------------------------------------- */

/* A bucket that holds `limit` and fills up again evenly over `window_ms`; kept here so that all
 * processes share it. One write per call: for sign-in, sign-up and uploads, not for reading. */
struct store_rate {
    bool allowed; /* and one was taken */
    int limit, remaining;
    int64_t retry_ms; /* until one is there again; 0 when allowed */
    int64_t reset_ms; /* Unix time when the bucket is full again */
};
/* `key` says what is limited and for whom: "upload:user:17". */
bool store_rate_take(struct store *s, const char *key, int limit, int64_t window_ms,
                     struct store_rate *ret, struct err *err) ATTR_CHECK;

/* ---- reports, moderation, audit -------------------------------------------------------------- */

enum { STORE_REPORT_TEXT_MAX = 2000 };

struct store_report {
    int64_t id;
    const char *run_uid, *run_title;
    const char *reporter; /* name; NULL: not signed in */
    const char *reason;   /* a word of the caller's: "implausible" */
    const char *text;
    int64_t created_ms;
    int64_t resolved_ms; /* 0: open */
    const char *resolved_by, *resolution;
};
struct store_reports {
    struct store_report *v;
    size_t n;
    char next[STORE_CURSOR_MAX];
};
/* By the actor. One open report per run and user: another replaces its text. */
bool store_report_add(struct store *s, const char *run_uid, const char *reason, const char *text,
                      struct err *err) ATTR_CHECK;
bool store_reports(struct store *s, bool open, const struct store_page *page, struct arena *a,
                   struct store_reports *ret, struct err *err) ATTR_CHECK; /* oldest first */
/* The open ones of one run, oldest first, STORE_PAGE_MAX at most. */
bool store_run_reports(struct store *s, int64_t run, struct arena *a, struct store_reports *ret,
                       struct err *err) ATTR_CHECK;
bool store_report_resolve(struct store *s, int64_t report, const char *resolution,
                          struct err *err) ATTR_CHECK;

/* What waits for a moderator: flagged runs nobody has looked at, and runs with open reports. A run
 * leaves it by store_run_reviewed, which settles its open reports too. */
struct store_queue_row {
    struct store_run run;
    int64_t flag_count, report_count;
};
struct store_queue {
    struct store_queue_row *v; /* oldest first */
    size_t n;
    char next[STORE_CURSOR_MAX];
};
bool store_queue(struct store *s, const struct store_page *page, struct arena *a,
                 struct store_queue *ret, struct err *err) ATTR_CHECK;
/* Counted up to here: it is asked for with every page of a moderator's. */
enum { STORE_WAITING_MAX = 1000 };
bool store_queue_count(struct store *s, int64_t *ret, struct err *err) ATTR_CHECK;
/* The moderator's decision, and why: a state to put it in (its own to leave it). Public takes its
 * flags away; of a run that is withdrawn that is all, its owner may publish it then. Flagged and
 * withdrawn need a reason, which becomes a flag of the run with the code STORE_FLAG_MODERATOR: it
 * survives revisions, and keeps the owner from publishing anew. A draft is its owner's alone:
 * ERR_DENIED. */
#define STORE_FLAG_MODERATOR "moderator"
bool store_run_reviewed(struct store *s, const char *uid, enum store_run_state state,
                        const char *reason, struct err *err) ATTR_CHECK;

/* The same by the names of buttons and commands, and the two that say whether somebody has checked
 * a run: "accept", "flag", "withdraw", "verify", "unverify". ERR_FORMAT: there is no such decision.
 */
extern const char *const store_decisions[]; /* ends with NULL */
bool store_run_decide(struct store *s, const char *uid, const char *decision, const char *reason,
                      struct err *err) ATTR_CHECK;

struct store_audit_row {
    int64_t id, at_ms;
    const char *actor; /* user name; NULL: nobody signed in */
    const char *address;
    const char *action; /* "run.add": a noun and a verb */
    const char *target; /* uid, name or id */
    const char *detail;
};
struct store_audit {
    struct store_audit_row *v; /* newest first */
    size_t n;
    char next[STORE_CURSOR_MAX];
};
struct store_audit_filter {
    const char *target, *action, *user; /* exactly; NULL: any. `user` is the actor's name */
};
/* `filter` NULL: everything. */
bool store_audit(struct store *s, const struct store_audit_filter *filter,
                 const struct store_page *page, struct arena *a, struct store_audit *ret,
                 struct err *err) ATTR_CHECK;
extern const char *const store_audit_actions[]; /* what the log may hold; ends with NULL */
/* For what happens outside this layer, such as a failed sign-in. */
bool store_audit_add(struct store *s, const char *action, const char *target, const char *detail,
                     struct err *err) ATTR_CHECK;

/* ---- counts and upkeep ----------------------------------------------------------------------- */

struct store_counts {
    int64_t runs, cells; /* listed */
    int64_t drafts, flagged, withdrawn;
    int64_t bases, models, organizations, hardware, users;
    int64_t open_reports;
};
bool store_counts(struct store *s, struct store_counts *ret, struct err *err) ATTR_CHECK;

/* Grows whenever anything that visitors see has changed, by any process: pages made under one
 * version are right as long as it stays. One row read. */
bool store_version(struct store *s, int64_t *ret, struct err *err) ATTR_CHECK;

/* Removes what has expired: sessions, device codes, answers kept for replays, full buckets. In
 * pieces, so that it never holds the store for long. Once a minute is enough. */
bool store_expire(struct store *s, struct err *err) ATTR_CHECK;

/* Verifies the schema's history, the database's own integrity, that every document can be read and
 * is what its digest says, and that counters and rows agree with the runs. Findings are lines in
 * `out`; false only when the check itself could not be made. */
bool store_check(struct store *s, struct buf *out, int64_t *ret_findings,
                 struct err *err) ATTR_CHECK;

/* A consistent copy of an SQLite store in a new file, while others go on using it. */
bool store_backup(struct store *s, const char *path, struct err *err) ATTR_CHECK;

/* Everything of `from` into `to`, a store of the other kind or the same, which must be empty. One
 * transaction. */
bool store_copy(struct store *from, struct store *to, int64_t *ret_rows,
                struct err *err) ATTR_CHECK;

#endif
