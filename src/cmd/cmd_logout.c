/* cmd_logout.c - tokgrid logout: forgets a site's key, and revokes it there if that can be done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/credentials.h"
#include "cmd/site_client.h"

struct logout_settings {
    const char *site, *cacert;
    bool keep_key, json;
};

/* The number under which the site knows the key: its list has their beginnings. */
static bool find_number(struct site_client *c, const char *key, int64_t *ret, struct err *err)
{
    const struct fetch_request request = {.method = "GET", .path = "/api/v1/keys"};
    struct site_answer answer;
    size_t matches = 0;

    bool ok = site_ask(c, &request, &answer, err);
    if (ok && answer.status != 200)
        ok = site_refused(c, &answer, err);
    json_t *keys = ok ? json_at(answer.json, "keys") : NULL;
    for (size_t i = 0; i < json_array_size(keys); i++) {
        json_t *row = json_array_get(keys, i);
        const char *prefix = json_string_at(row, "prefix");
        if (prefix && *prefix && text_starts(key, prefix) && json_int_at(row, "id", ret))
            matches++;
    }
    site_answer_release(&answer);
    if (ok && matches != 1)
        return err_set(err, ERR_NOT_FOUND, "the site lists %zu keys that begin like this one",
                       matches);
    return ok;
}

static bool revoke(const struct site *site, const char *key, const char *ca_file, struct err *err)
{
    const struct site_options how = {.key = key, .ca_file = ca_file, .tries = 1};
    struct site_client *c = site_client_new(site, &how, err);
    struct site_answer answer = {0};
    char path[64];
    int64_t number = 0;

    bool ok = c && find_number(c, key, &number, err);
    if (ok) {
        snprintf(path, sizeof path, "/api/v1/keys/%lld", (long long)number);
        const struct fetch_request request = {.method = "DELETE", .path = path};
        ok = site_ask(c, &request, &answer, err) &&
             (answer.status == 204 || site_refused(c, &answer, err));
    }
    site_answer_release(&answer);
    site_client_free(c);
    return ok;
}

static bool forget(const struct logout_settings *set, struct arena *a, struct buf *out,
                   struct err *err)
{
    const char *given = set->site ? set->site : getenv("TOKGRID_SITE");
    struct credentials known;
    struct site site;
    struct err why = {0};

    if (!credentials_read(a, &known, err) || !site_choose(given, &known, &site, err))
        return false;
    const struct credential *entry = credentials_find(&known, site.text);
    if (!entry)
        return err_set(err, ERR_NOT_FOUND, "there is no login at %s", site.text);
    const char *key = entry->key;
    bool revoked = !set->keep_key && revoke(&site, key, set->cacert, &why);
    credentials_remove(&known, site.text);
    if (!credentials_write(&known, err))
        return false;
    if (set->json) {
        json_t *document = json_pack("{s:s, s:b, s:s?}", "site", site.text, "revoked", revoked,
                                     "reason", why.code ? why.text : NULL);
        json_write(document, out);
        json_decref(document);
    } else if (revoked) {
        buf_addf(out, "logged out at %s; the key was revoked there\n", site.text);
    } else if (set->keep_key) {
        buf_addf(out, "logged out at %s; the key still works\n", site.text);
    } else {
        buf_addf(out,
                 "logged out at %s; the key was not revoked (%s), which its dashboard can do\n",
                 site.text, why.text);
    }
    return true;
}

static int logout(int argc, char **argv)
{
    struct logout_settings set = {0};
    struct arena a = {0};
    struct err err = {0};
    struct buf out;
    int code;

    if (!command_parse(&cmd_logout, argc, argv, &set, &code))
        return code;
    site_catch_interrupts();
    buf_init(&out, 8192);
    code = forget(&set, &a, &out, &err) ? command_print(&out) : command_fail(&err);
    buf_release(&out);
    arena_release(&a);
    return code;
}

static const struct option_row rows[] = {
    {.name = "keep-key",
     OPTION_FLAG(struct logout_settings, keep_key),
     .help = "Do not revoke the key: it is used elsewhere, too."},
    SITE_OPTION_ROWS(struct logout_settings),
    {0},
};

static const struct operand_row operands[] = {
    {.name = "SITE",
     OPERAND_MAYBE(struct logout_settings, site),
     .help = "The site's address. Without it that of TOKGRID_SITE, or the only one there is a "
             "login for."},
    {0},
};

static const char *const examples[] = {
    "tokgrid logout",
    "Where there is a login at one site only.",
    NULL,
};

const struct command cmd_logout = {
    .name = "logout",
    .summary = "Revoke and forget the key of a site",
    .about = "Asks the site to revoke the key that tokgrid login got, and forgets it. A key that "
             "cannot be revoked, because the site is gone or knows it no longer, is forgotten all "
             "the same; the output says so.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = logout,
};
