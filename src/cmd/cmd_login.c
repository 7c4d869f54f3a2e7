/* cmd_login.c - tokgrid login: a key for a site, by a code that is typed there or by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/credentials.h"
#include "cmd/site_client.h"

struct login_settings {
    const char *site, *key, *label, *cacert;
    bool insecure_http, json;
};

enum {
    KEY_INPUT_MAX = 4096,
    TRIES = 3,
    INTERVAL_MAX_S = 60, /* whatever the site says */
    LIFE_MAX_S = 3600,
};

struct login {
    const struct login_settings *set;
    struct arena arena;
    struct credentials known;
    struct site site;
};

/* A document with one text in it, in the arena. */
static const char *document_of(struct login *l, const char *name, const char *text)
{
    struct buf b;
    buf_init(&b, 4096);
    buf_addf(&b, "{\"%s\": ", name);
    buf_add_json_string(&b, text, strlen(text));
    buf_addc(&b, '}');
    const char *document = arena_strndup(&l->arena, b.p, b.len);
    buf_release(&b);
    return document;
}

/* The code to type and where, on standard error: the output is for the outcome. */
static void show_code(const struct login *l, json_t *start)
{
    char where[300], code[64];
    const char *uri = json_string_at(start, "verification_uri"),
               *typed = json_string_at(start, "user_code");

    text_printable(where, sizeof where, uri, strlen(uri));
    text_printable(code, sizeof code, typed, strlen(typed));
    fprintf(stderr,
            "Open %s, sign in to %s there, and enter the code\n\n    %s\n\n"
            "Waiting for that; Ctrl-C ends it.\n",
            where, l->site.text, code);
}

static int64_t seconds_at(json_t *document, const char *name, int64_t otherwise, int64_t max)
{
    int64_t v;
    if (!json_int_at(document, name, &v) || v < 1)
        v = otherwise;
    return v < max ? v : max;
}

/* One poll. The key, "" for not yet, or NULL for never. */
static const char *poll_once(struct login *l, struct site_client *c, const char *body,
                             int64_t *interval_s, struct err *err)
{
    static const struct {
        const char *code, *words;
    } ends[] = {
        {"access_denied", "the login was refused there"},
        {"expired_token", "the code has expired; run 'tokgrid login' again"},
        {"key_limit_exceeded", "this user has as many keys as there may be; revoke one there"},
    };
    const struct fetch_request request = {
        .method = "POST", .path = "/api/v1/device/token", .body = body, .body_bytes = strlen(body)};
    struct site_answer answer;
    const char *key = NULL;

    if (!site_ask(c, &request, &answer, err)) {
        site_answer_release(&answer);
        return NULL;
    }
    bool pending = strcmp(answer.code, "authorization_pending") == 0,
         slower = strcmp(answer.code, "slow_down") == 0 || answer.status == 429;
    if (slower && *interval_s < INTERVAL_MAX_S)
        *interval_s += 5;
    if (answer.status == 200) {
        key = json_string_at(answer.json, "key");
        key = arena_strdup(&l->arena, key ? key : "none");
    } else if (pending || slower) {
        key = "";
    } else {
        site_refused(c, &answer, err);
        for (size_t i = 0; i < ARRAY_LEN(ends); i++)
            if (strcmp(answer.code, ends[i].code) == 0)
                err_set(err, ERR_DENIED, "%s: %s", l->site.text, ends[i].words);
    }
    site_answer_release(&answer);
    return key;
}

static const char *poll(struct login *l, struct site_client *c, json_t *start, struct err *err)
{
    const char *body = document_of(l, "device_code", json_string_at(start, "device_code"));
    int64_t interval_s = seconds_at(start, "interval", 5, INTERVAL_MAX_S);
    int64_t until = clock_now() + seconds_at(start, "expires_in", 900, LIFE_MAX_S) * NS_PER_S;

    while (site_wait(interval_s * NS_PER_S, err)) {
        const char *key = poll_once(l, c, body, &interval_s, err);
        if (!key || *key)
            return key;
        if (clock_now() > until) {
            err_set(err, ERR_TIMEOUT, "%s: nobody entered the code in time", l->site.text);
            return NULL;
        }
    }
    return NULL;
}

/* RFC 8628: a code to poll with, and one for a person to type. NULL: an error. */
static const char *device_login(struct login *l, struct err *err)
{
    const struct site_options how = {.ca_file = l->set->cacert, .tries = TRIES};
    const char *body = document_of(l, "label", l->set->label);
    const struct fetch_request request = {
        .method = "POST", .path = "/api/v1/device/code", .body = body, .body_bytes = strlen(body)};
    struct site_client *c = site_client_new(&l->site, &how, err);
    struct site_answer answer = {0};
    const char *key = NULL;

    if (c && site_ask(c, &request, &answer, err)) {
        if (answer.status != 200) {
            site_refused(c, &answer, err);
        } else if (!json_string_at(answer.json, "device_code") ||
                   !json_string_at(answer.json, "user_code") ||
                   !json_string_at(answer.json, "verification_uri")) {
            err_set(err, ERR_PROTOCOL, "%s begins no login: it is no tokgrid site", l->site.text);
        } else {
            show_code(l, answer.json);
            key = poll(l, c, answer.json, err);
        }
    }
    site_answer_release(&answer);
    site_client_free(c);
    return key;
}

/* The key that was given, or NULL for none; `-` reads it from standard input. */
static bool given_key(struct login *l, const char **ret, struct err *err)
{
    struct buf input;
    bool ok = true;

    *ret = NULL;
    if (l->set->key && strcmp(l->set->key, "-") == 0) {
        buf_init(&input, KEY_INPUT_MAX);
        ok = file_read("-", &input, err);
        while (input.len > 0 && strchr(" \t\r\n", input.p[input.len - 1]))
            input.p[--input.len] = '\0';
        *ret = arena_strndup(&l->arena, input.p, input.len);
        buf_release(&input);
        return ok;
    }
    char *key = command_take_secret(l->set->key, "TOKGRID_KEY");
    *ret = arena_strdup(&l->arena, key);
    free(key);
    return ok;
}

static bool keep(struct login *l, const char *key, const char **ret_user, struct err *err)
{
    const struct site_options how = {.key = key, .ca_file = l->set->cacert, .tries = TRIES};
    struct site_client *c = NULL;

    if (!credential_key_valid(key))
        return err_set(err, ERR_USAGE, "this is no key of a tokgrid site: they begin with tgk_");
    c = site_client_new(&l->site, &how, err);
    bool ok = c && site_user(c, &l->arena, ret_user, err);
    site_client_free(c);
    const struct credential entry = {.site = l->site.text, .user = ok ? *ret_user : "", .key = key};
    return ok && credentials_put(&l->known, &entry, err) && credentials_write(&l->known, err);
}

static bool run(struct login *l, struct buf *out, struct err *err)
{
    const char *key, *user = NULL, *site = l->set->site ? l->set->site : getenv("TOKGRID_SITE");

    if (!given_key(l, &key, err))
        return false;
    site_catch_interrupts(); /* until here a signal ends the program, also while it reads a key */
    if (key && (!site || !*site))
        return err_set(err, ERR_USAGE,
                       "a key was given, but not for which site: tokgrid login https://SITE");
    if (!credentials_read(&l->arena, &l->known, err) ||
        !site_choose(site, &l->known, &l->site, err) ||
        !site_may_have_key(&l->site, l->set->insecure_http, err))
        return false;
    if (!key)
        key = device_login(l, err);
    if (!key || !keep(l, key, &user, err))
        return false;
    if (l->set->json) {
        json_t *document =
            json_pack("{s:s, s:s, s:s}", "site", l->site.text, "user", user, "file", l->known.path);
        json_write(document, out);
        json_decref(document);
    } else {
        buf_addf(out, "logged in at %s as %s; the key is in %s\n", l->site.text, user,
                 l->known.path);
    }
    return true;
}

static int login(int argc, char **argv)
{
    struct login_settings set = {0};
    struct login l = {.set = &set};
    struct err err = {0};
    struct buf out;
    int code;

    if (!command_parse(&cmd_login, argc, argv, &set, &code))
        return code;
    buf_init(&out, 8192);
    code = run(&l, &out, &err) ? command_print(&out) : command_fail(&err);
    buf_release(&out);
    arena_release(&l.arena);
    return code;
}

static const struct option_row rows[] = {
    {.name = "key",
     OPTION_STRING(struct login_settings, key),
     .value = "KEY",
     .env = "TOKGRID_KEY",
     .otherwise = "asked for at the site, by a code",
     .help = "A key that was made on the site's dashboard; - reads it from standard input."},
    {.name = "label",
     OPTION_STRING(struct login_settings, label),
     .value = "NAME",
     .initial = "tokgrid",
     .help = "What the new key is called on the dashboard, where it can be revoked."},
    SITE_HTTP_ROW(struct login_settings),
    SITE_OPTION_ROWS(struct login_settings),
    {0},
};

static const struct operand_row operands[] = {
    {.name = "SITE",
     OPERAND_MAYBE(struct login_settings, site),
     .help =
         "The site's address. Without it that of TOKGRID_SITE, or, for a login by code, the only "
         "one there is a login for."},
    {0},
};

static const char *const examples[] = {
    "tokgrid login https://tokgrid.example",
    "Shows a code to enter at the site, and waits until that was done.",
    "tokgrid login https://tokgrid.example --key - <key.txt",
    "With a key of one's own.",
    NULL,
};

const struct command cmd_login = {
    .name = "login",
    .summary = "Get a key for a site, to publish there",
    .about =
        "Shows a code and the page of the site to enter it at, waits until somebody who is signed "
        "in there has agreed, and keeps the key that the site then gives. With --key, no code is "
        "needed. The key is verified, and kept in tokgrid/credentials.json under XDG_CONFIG_HOME "
        "or ~/.config, where nobody else can read it. It is sent to this site only.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = login,
};
