/* store_search.c - keeping search entries, and asking for them by word.
 *
 * Both databases index the words that search_words.c makes; they never change while an entry
 * is there. One word of every entry says its kind,
 * so that asking for one kind never walks over the others. */
#include <stdio.h>
#include <string.h>

#include "store/search_words.h"
#include "store/store_parts.h"

enum { WORDS_MAX_BYTES = 64 << 10, MATCH_MAX_BYTES = 4 << 10 };

/* Unlikely in a text; harmless there. */
static void kind_word(enum store_found_kind kind, char out[16])
{
    snprintf(out, 16, "zzkind%d", (int)kind);
}

_Static_assert(STORE_FOUND_RUN == 4, "as in the triggers of 0002_search.sqlite.sql");

bool search_put(struct store *s, enum store_found_kind kind, const char *key, const char *title,
                const char *text, int64_t weight, struct err *err)
{
    struct buf words;
    char mark[16];

    kind_word(kind, mark);
    buf_init(&words, WORDS_MAX_BYTES);
    buf_adds(&words, mark);
    search_text_words(text, &words);
    /* the words of what is there already are the same: only its weight changes */
    bool fine =
        DB_RUN(s->db, err,
               "INSERT INTO search_entry (kind, key, title, words, weight) "
               "VALUES (?, ?, ?, ?, ?) "
               "ON CONFLICT (kind, key) DO UPDATE SET weight = excluded.weight",
               db_int(kind), db_text(key), db_text(title), db_text(words.p), db_int(weight));
    buf_release(&words);
    return fine;
}

bool search_remove(struct store *s, enum store_found_kind kind, const char *key, struct err *err)
{
    return DB_RUN(s->db, err, "DELETE FROM search_entry WHERE kind = ? AND key = ?", db_int(kind),
                  db_text(key));
}

/* "zzkind0" "qwen"* for FTS5, 'zzkind0' & 'qwen':* for PostgreSQL; words have no quotes in them.
 * FTS5 has the runs in an index of their own: the word of their kind stands in each of them, and
 * would be walked through for nothing. */
static void match_text(enum db_kind db, enum store_found_kind kind, const struct search_word *words,
                       size_t n, struct buf *out)
{
    char mark[16];

    kind_word(kind, mark);
    if (db != DB_SQLITE)
        buf_addf(out, "'%s'", mark);
    else if (kind != STORE_FOUND_RUN)
        buf_addf(out, "\"%s\"", mark);
    for (size_t i = 0; i < n; i++) {
        if (db == DB_SQLITE)
            buf_addf(out, " \"%s\"%s", words[i].text, words[i].pair ? "" : "*");
        else
            buf_addf(out, " & '%s'%s", words[i].text, words[i].pair ? "" : ":*");
    }
}

static bool ask(struct store *s, enum store_found_kind kind, const char *match, int limit,
                struct db_rows *rows, struct err *err)
{
    bool newest = kind == STORE_FOUND_RUN;

    if (db_kind(s->db) == DB_SQLITE)
        return newest
                   ? DB_QUERY(s->db, rows, err,
                              "SELECT e.key, e.title FROM (SELECT rowid AS id FROM search_runs "
                              "WHERE search_runs MATCH ? ORDER BY rowid DESC LIMIT ?) i "
                              "JOIN search_entry e ON e.id = i.id ORDER BY e.id DESC",
                              db_text(match), db_int(limit))
                   : DB_QUERY(s->db, rows, err,
                              "SELECT e.key, e.title FROM (SELECT rowid AS id FROM search_groups "
                              "WHERE search_groups MATCH ?) i JOIN search_entry e ON e.id = i.id "
                              "ORDER BY e.weight DESC, e.id LIMIT ?",
                              db_text(match), db_int(limit));
    return newest ? DB_QUERY(s->db, rows, err,
                             "SELECT key, title FROM search_entry WHERE lexemes @@ "
                             "CAST(? AS tsquery) ORDER BY id DESC LIMIT ?",
                             db_text(match), db_int(limit))
                  : DB_QUERY(s->db, rows, err,
                             "SELECT key, title FROM search_entry WHERE lexemes @@ "
                             "CAST(? AS tsquery) ORDER BY weight DESC, id LIMIT ?",
                             db_text(match), db_int(limit));
}

static bool find_kind(struct store *s, enum store_found_kind kind, const struct search_word *words,
                      size_t n, int limit, struct arena *a, struct store_founds *list,
                      struct err *err)
{
    struct buf match;
    struct db_rows rows;

    buf_init(&match, MATCH_MAX_BYTES);
    match_text(db_kind(s->db), kind, words, n, &match);
    bool fine = ask(s, kind, match.p, limit, &rows, err);
    if (fine) {
        for (int i = 0; i < limit && db_next(&rows); i++) {
            struct store_found *f = &list->v[list->n++];
            f->kind = kind;
            f->key = db_get_text(&rows, a);
            f->title = db_get_text(&rows, a);
        }
        fine = db_end(&rows, err);
    }
    buf_release(&match);
    return fine;
}

bool store_search(struct store *s, const char *query, int limit, struct arena *a,
                  struct store_founds *ret, struct err *err)
{
    struct search_word words[SEARCH_QUERY_WORDS];
    struct store_founds list = {0};

    if (strlen(query) > STORE_QUERY_MAX)
        return err_set(err, ERR_FORMAT, "a query has at most %d bytes", STORE_QUERY_MAX);
    if (limit < 1 || limit > STORE_PAGE_MAX)
        return err_set(err, ERR_FORMAT, "a search gives 1 to %d of each kind", STORE_PAGE_MAX);
    size_t n = search_query_words(query, words);
    list.v = arena_array(a, (size_t)limit * STORE_FOUND_KINDS, sizeof *list.v);
    for (int kind = 0; n > 0 && kind < STORE_FOUND_KINDS; kind++)
        if (!find_kind(s, (enum store_found_kind)kind, words, n, limit, a, &list, err))
            return false;
    *ret = list;
    return true;
}
