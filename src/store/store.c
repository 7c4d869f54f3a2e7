/* store.c - the handle: opening, transactions, pages, sums. */
#include "store/store.h"

#include <ctype.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "store/migrate.h"
#include "store/store_parts.h"

int64_t store_now_ms(const struct store *s)
{
    return s->options.now_ms ? s->options.now_ms() : clock_realtime() / NS_PER_MS;
}

bool store_open(const char *where, const struct store_options *options, struct store **ret,
                struct err *err)
{
    if (sodium_init() < 0)
        return err_set(err, ERR_SYSTEM, "the system gives no random numbers");
    struct store *s = mem_alloc(sizeof *s);
    s->names = names_new();
    s->options = *options;
    if (!db_open(where, options->create, &s->db, err) ||
        !migrate_to(s->db, 0, options->migrate, store_now_ms(s), err)) {
        store_close(s);
        return false;
    }
    *ret = s;
    return true;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->db) {
        while (db_depth(s->db) > 0)
            db_rollback(s->db);
        db_close(s->db);
    }
    names_free(s->names);
    free(s);
}

bool store_is_url(const char *where)
{
    return db_kind_of(where) == DB_POSTGRES;
}

void store_where(const char *where, struct buf *out)
{
    if (!store_is_url(where)) {
        buf_adds(out, db_path_of(where));
        return;
    }
    const char *host = strstr(where, "//") + 2;
    size_t authority = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', authority);
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    const char *query = strchr(host, '?'); /* it may hold a password too */
    size_t end = query ? (size_t)(query - where) : strlen(where);
    if (colon) {
        buf_add(out, where, (size_t)(colon - where));
        buf_adds(out, ":***");
        buf_add(out, at, end - (size_t)(at - where));
    } else {
        buf_add(out, where, end);
    }
}

bool store_begin(struct store *s, struct err *err)
{
    return db_begin(s->db, err);
}

bool store_commit(struct store *s, struct err *err)
{
    return db_commit(s->db, err);
}

void store_rollback(struct store *s)
{
    db_rollback(s->db);
}

void store_act_as(struct store *s, int64_t user, const char *address)
{
    s->actor = user;
    s->address = address;
}

bool store_no_such(struct err *err, const char *thing, const char *name)
{
    char shown[200];

    text_printable(shown, sizeof shown, name, strlen(name));
    return err_set(err, ERR_NOT_FOUND, "there is no %s '%s'", thing, shown);
}

bool store_text_check(const char *what, const char *text, size_t max, struct err *err)
{
    size_t n = strlen(text);

    if (n == 0)
        return err_set(err, ERR_FORMAT, "%s is empty", what);
    if (n > max)
        return err_set(err, ERR_LIMIT, "%s is longer than %zu bytes", what, max);
    for (const char *p = text; *p; p++)
        if (iscntrl((unsigned char)*p))
            return err_set(err, ERR_FORMAT, "%s has a control character in it", what);
    return true;
}

char *store_key_of(struct arena *a, const char *name)
{
    char *key = arena_strdup(a, name);

    for (char *p = key; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p + 'a' - 'A');
    return key;
}

/* ---- pages ---- */

/* The score's bits, the id, the list: 16 + 16 + 8 hex digits. */
enum { CURSOR_DIGITS = 40 };

static bool hex_number(const char *p, size_t n, uint64_t *ret)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++) {
        const char *digits = "0123456789abcdef";
        const char *d = p[i] ? strchr(digits, p[i]) : NULL;
        if (!d)
            return false;
        v = v << 4 | (uint64_t)(d - digits);
    }
    *ret = v;
    return true;
}

static bool read_cursor(struct pager *p, const char *text)
{
    uint64_t score, id, list;

    if (strlen(text) != CURSOR_DIGITS || !hex_number(text, 16, &score) ||
        !hex_number(text + 16, 16, &id) || !hex_number(text + 32, 8, &list) || list != p->list)
        return false;
    memcpy(&p->score, &score, sizeof p->score);
    p->id = (int64_t)id;
    p->begun = true;
    return p->score == p->score; /* no NAN */
}

bool pager_init(struct pager *p, const struct store_page *page, uint32_t list, struct err *err)
{
    *p = (struct pager){.limit = STORE_PAGE_DEFAULT, .list = list};
    if (!page)
        return true;
    if (page->limit < 0 || page->limit > STORE_PAGE_MAX)
        return err_set(err, ERR_FORMAT, "a page has 1 to %d rows", STORE_PAGE_MAX);
    if (page->limit > 0)
        p->limit = page->limit;
    if (page->after && *page->after && !read_cursor(p, page->after))
        return err_set(err, ERR_FORMAT, "this cursor does not belong to this list");
    return true;
}

void pager_next(const struct pager *p, double score, int64_t id, char out[STORE_CURSOR_MAX])
{
    uint64_t bits;

    memcpy(&bits, &score, sizeof bits);
    snprintf(out, STORE_CURSOR_MAX, "%016" PRIx64 "%016" PRIx64 "%08" PRIx32, bits, (uint64_t)id,
             p->list);
}

struct db_value pager_limit(const struct pager *p)
{
    return db_int(p->limit + 1);
}

uint32_t pager_hash(uint32_t h, const char *text)
{
    h = (h ^ (text ? 1 : 2)) * UINT32_C(0x01000193); /* FNV-1a */
    for (; text && *text; text++)
        h = (h ^ (unsigned char)*text) * UINT32_C(0x01000193);
    return h;
}

/* ---- sums ---- */

bool tally_add(struct store *s, const char *name, int64_t n, struct err *err)
{
    return DB_RUN(s->db, err, "UPDATE tally SET n = n + ? WHERE name = ?", db_int(n),
                  db_text(name));
}

bool store_lock_visible(struct store *s, struct err *err)
{
    return tally_add(s, "version", 1, err);
}

bool store_version(struct store *s, int64_t *ret, struct err *err)
{
    struct db_rows rows;

    if (!DB_QUERY(s->db, &rows, err, "SELECT n FROM tally WHERE name = 'version'"))
        return false;
    int64_t version = db_next(&rows) ? db_get_int(&rows) : 0;
    if (!db_end(&rows, err))
        return false;
    *ret = version;
    return true;
}
