/* credentials.c - one small JSON document, read strictly and written privately. */
#include "cmd/credentials.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define SCHEMA "tokgrid-credentials/1"

enum { FILE_MAX_BYTES = 256 << 10, KEY_MAX_BYTES = 128 };

bool credential_key_valid(const char *key)
{
    size_t n = strlen(key);
    if (!text_starts(key, "tgk_") || n < 12 || n > KEY_MAX_BYTES)
        return false;
    for (const char *c = key; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    return true;
}

static bool find_path(struct arena *a, const char **ret, struct err *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && config[0] == '/')
        *ret = arena_printf(a, "%s/tokgrid/credentials.json", config);
    else if (home && home[0] == '/')
        *ret = arena_printf(a, "%s/.config/tokgrid/credentials.json", home);
    else
        return err_set(err, ERR_SYSTEM,
                       "there is no place to keep keys in: set HOME or XDG_CONFIG_HOME");
    return true;
}

static bool read_entry(json_t *entry, struct arena *a, struct credential *ret)
{
    const char *site = json_string_at(entry, "site"), *user = json_string_at(entry, "user"),
               *key = json_string_at(entry, "key");
    if (!site || !user || !key || !credential_key_valid(key))
        return false;
    *ret = (struct credential){
        .site = arena_strdup(a, site),
        .user = arena_strdup(a, user),
        .key = arena_strdup(a, key),
    };
    return true;
}

static bool read_document(const struct buf *text, struct arena *a, struct credentials *ret,
                          struct err *err)
{
    json_t *document = json_parse(text->p, text->len, ret->path, err);
    const char *schema = document ? json_string_at(document, "schema") : NULL;
    json_t *sites = document ? json_at(document, "sites") : NULL;
    bool ok = document != NULL;

    if (ok && (!schema || strcmp(schema, SCHEMA) != 0 || !json_is_array(sites) ||
               json_array_size(sites) > CREDENTIALS_MAX))
        ok =
            err_set(err, ERR_FORMAT, "%s is not a file of tokgrid's keys; move it away", ret->path);
    for (size_t i = 0; ok && i < json_array_size(sites); i++, ret->n++)
        if (!read_entry(json_array_get(sites, i), a, &ret->v[i]))
            ok = err_set(err, ERR_FORMAT, "%s: entry %zu has no site, user and key; move it away",
                         ret->path, i + 1);
    json_decref(document);
    return ok;
}

bool credentials_read(struct arena *a, struct credentials *ret, struct err *err)
{
    struct buf text;
    struct err why = {0};

    *ret = (struct credentials){0};
    if (!find_path(a, &ret->path, err))
        return false;
    buf_init(&text, FILE_MAX_BYTES);
    bool there = file_read_private(ret->path, &text, &why);
    bool ok = there ? read_document(&text, a, ret, err) : why.code == ERR_NOT_FOUND;
    if (!there && !ok)
        *err = why;
    buf_release(&text);
    return ok;
}

/* Folders above are the user's own business; the last one is ours. */
static bool make_folder(const char *path, struct err *err)
{
    char *folder = mem_strdup(path);
    bool ok;

    *strrchr(folder, '/') = '\0';
    ok = file_make_parent(folder, err) &&
         (mkdir(folder, 0700) == 0 || errno == EEXIST ||
          err_set(err, ERR_SYSTEM, "cannot create folder %s: %s", folder, strerror(errno)));
    free(folder);
    return ok;
}

bool credentials_write(const struct credentials *c, struct err *err)
{
    json_t *sites = json_array();
    struct buf text;

    for (size_t i = 0; i < c->n; i++)
        json_array_append_new(sites, json_pack("{s:s, s:s, s:s}", "site", c->v[i].site, "user",
                                               c->v[i].user, "key", c->v[i].key));
    json_t *document = json_pack("{s:s, s:o}", "schema", SCHEMA, "sites", sites);
    buf_init(&text, FILE_MAX_BYTES);
    bool ok = (json_write(document, &text) ||
               err_set(err, ERR_LIMIT, "%s would become too large", c->path)) &&
              make_folder(c->path, err) && file_write_private(c->path, text.p, text.len, err);
    json_decref(document);
    buf_release(&text);
    return ok;
}

const struct credential *credentials_find(const struct credentials *c, const char *site)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].site, site) == 0)
            return &c->v[i];
    return NULL;
}

bool credentials_put(struct credentials *c, const struct credential *entry, struct err *err)
{
    credentials_remove(c, entry->site);
    if (c->n == CREDENTIALS_MAX)
        return err_set(err, ERR_LIMIT, "there are keys of %d sites already; log out at some",
                       CREDENTIALS_MAX);
    c->v[c->n++] = *entry;
    return true;
}

void credentials_remove(struct credentials *c, const char *site)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].site, site) != 0)
            c->v[kept++] = c->v[i];
    c->n = kept;
}
