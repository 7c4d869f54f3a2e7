/* cmd_publish.c - tokgrid publish: shows what would be sent, asks, sends it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "cmd/commands.h"
#include "cmd/credentials.h"
#include "cmd/publish_review.h"
#include "cmd/site_client.h"
#include "cmd/terminal.h"

struct publish_settings {
    const char *path, *site, *key, *note, *hardware, *save, *cacert;
    bool draft, dry_run, yes, keep_names, insecure_http, json;
};

enum { TRIES = 4, URL_MAX = 420 };

struct publishing {
    const struct publish_settings *set;
    struct arena arena;
    struct credentials known;
    struct site site;
    const char *key, *user; /* NULL: nobody is logged in */
    struct review review;
    bool has_site;
};

/* What came of it. */
struct published {
    char id[40], state[32], url[URL_MAX];
    bool existed; /* the site had it before */
    json_t *flags;
};

/* ---- where it goes, and by whose key --------------------------------------------------------- */

/* A key that was given is for the site that was given with it, and for no other. */
static bool use_given_key(struct publishing *p, const char *key, struct err *err)
{
    if (!p->set->site || !*p->set->site)
        return err_set(err, ERR_USAGE,
                       "a key was given, but not for which site: --site URL, or TOKGRID_SITE");
    if (!credential_key_valid(key))
        return err_set(err, ERR_USAGE, "this is no key of a tokgrid site: they begin with tgk_");
    p->key = arena_strdup(&p->arena, key);
    return site_parse(p->set->site, &p->site, err) &&
           site_may_have_key(&p->site, p->set->insecure_http, err);
}

/* A dry run does without, and shows what is known. */
static bool use_login(struct publishing *p, struct err *err)
{
    const char *given = p->set->site;

    if (!credentials_read(&p->arena, &p->known, err)) {
        if (!p->set->dry_run)
            return false;
        p->known.n = 0;
    }
    if (p->set->dry_run && (!given || !*given) && p->known.n != 1)
        return true;
    if (!site_choose(given, &p->known, &p->site, err))
        return false;
    const struct credential *entry = credentials_find(&p->known, p->site.text);
    if (!entry)
        return p->set->dry_run ||
               err_set(err, ERR_DENIED, "there is no login at %s: run 'tokgrid login %s' first",
                       p->site.text, p->site.text);
    p->key = entry->key;
    p->user = entry->user;
    return true;
}

static bool find_target(struct publishing *p, struct err *err)
{
    char *key = command_take_secret(p->set->key, "TOKGRID_KEY");
    bool ok = key ? use_given_key(p, key, err) : use_login(p, err);
    free(key);
    p->has_site = p->site.text[0] != '\0';
    return ok;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool show(const struct publishing *p, struct err *err)
{
    const struct review_target to = {
        .site = p->has_site ? p->site.text : NULL, .user = p->user, .draft = p->set->draft};
    FILE *where = p->set->json ? stderr : stdout;
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    review_write(&p->review, &to, &out);
    bool ok = fwrite(out.p, 1, out.len, where) == out.len && fflush(where) == 0;
    buf_release(&out);
    return ok || err_set(err, ERR_SYSTEM, "cannot write what would be sent");
}

static bool agreed(const struct publishing *p, struct err *err)
{
    char answer[16] = "";

    if (p->set->yes)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(err, ERR_USAGE,
                       "nobody can be asked here: --yes publishes without, --dry-run only shows");
    fprintf(stderr, "Publish it? [y/N] ");
    if (!fgets(answer, sizeof answer, stdin))
        fputc('\n', stderr);
    if (site_interrupted())
        return err_set(err, ERR_INTERRUPT, "interrupted; nothing was sent");
    return strcmp(answer, "y\n") == 0 || strcmp(answer, "Y\n") == 0 ||
           strcmp(answer, "yes\n") == 0 || err_set(err, ERR_DENIED, "nothing was sent");
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool take_outcome(const struct publishing *p, const struct site_answer *answer,
                         struct published *ret, struct err *err)
{
    const char *id = json_string_at(answer->json, "id"),
               *state = json_string_at(answer->json, "state");

    *ret = (struct published){.existed = answer->status == 409};
    if (ret->existed)
        id = answer->id;
    if (!id || !uuid_valid(id))
        return err_set(err, ERR_PROTOCOL, "%s took it, but does not say as which run",
                       p->site.text);
    if (!state)
        state = ret->existed ? "known" : "public";
    text_printable(ret->state, sizeof ret->state, state, strlen(state));
    snprintf(ret->id, sizeof ret->id, "%s", id);
    snprintf(ret->url, sizeof ret->url, "%s/%s/runs/%s", p->site.text, lang_of_locale()->code, id);
    ret->flags = json_incref(json_at(answer->json, "flags"));
    return true;
}

/* The same bytes to be kept in the same way make the same key, so a retry stores nothing twice. */
static bool send_run(struct publishing *p, struct site_client *c, struct published *ret,
                     struct err *err)
{
    const char *kept = p->set->draft ? "draft" : "public";
    const char *once =
        arena_printf(&p->arena, "Idempotency-Key: tokgrid-%s-%s", p->review.digest, kept);
    const char *const headers[] = {"Content-Encoding: gzip", once, NULL};
    const struct fetch_request request = {
        .method = "POST",
        .path = arena_printf(&p->arena, "/api/v1/runs?state=%s", kept),
        .body = p->review.packed.p,
        .body_bytes = p->review.packed.len,
        .headers = headers,
    };
    struct site_answer answer;

    bool ok = site_ask(c, &request, &answer, err);
    if (ok && (answer.status == 201 || (answer.status == 409 && *answer.id)))
        ok = take_outcome(p, &answer, ret, err);
    else if (ok)
        ok = site_refused(c, &answer, err);
    site_answer_release(&answer);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void write_flags(const struct published *o)
{
    char text[300];
    for (size_t i = 0; i < json_array_size(o->flags); i++) {
        const char *s = json_string_at(json_array_get(o->flags, i), "text");
        text_printable(text, sizeof text, s ? s : "", s ? strlen(s) : 0);
        fprintf(stderr, "tokgrid: flagged: %s\n", text);
    }
}

/* `o` NULL: it was a dry run. */
static int print_outcome(const struct publishing *p, const struct published *o)
{
    json_t *document = review_json(&p->review);
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    if (p->set->json) {
        json_object_set_new(document, "site",
                            p->has_site ? json_string(p->site.text) : json_null());
        json_object_set_new(document, "dry_run", json_boolean(!o));
    }
    if (p->set->json && o) {
        json_object_set_new(document, "id", json_string(o->id));
        json_object_set_new(document, "state", json_string(o->state));
        json_object_set_new(document, "existed", json_boolean(o->existed));
        json_object_set_new(document, "url", json_string(o->url));
    }
    if (p->set->json)
        json_write(document, &out);
    else if (o && o->existed)
        buf_addf(&out, "The site has this document already: %s\n", o->url);
    else if (o)
        buf_addf(&out, "%s\n", o->url);
    json_decref(document);
    int code = command_print(&out);
    buf_release(&out);
    return code;
}

static bool publish_it(struct publishing *p, struct published *ret, struct err *err)
{
    const struct site_options how = {.key = p->key, .ca_file = p->set->cacert, .tries = TRIES};
    struct site_client *c = site_client_new(&p->site, &how, err);

    bool ok = c && site_user(c, &p->arena, &p->user, err) && show(p, err) && agreed(p, err) &&
              send_run(p, c, ret, err);
    site_client_free(c);
    return ok;
}

static int run(struct publishing *p)
{
    const struct publish_settings *set = p->set;
    const struct review_options options = {
        .note = set->note, .hardware = set->hardware, .keep_names = set->keep_names};
    struct published outcome = {0};
    struct err err = {0};

    if (!find_target(p, &err) || !review_read(&p->review, set->path, &options, &p->arena, &err))
        return command_fail(&err);
    site_catch_interrupts(); /* until here a signal ends the program, also while it reads a pipe */
    if (set->save &&
        !file_write_atomic(set->save, p->review.document.p, p->review.document.len, &err))
        return command_fail(&err);
    if (set->dry_run)
        return show(p, &err) ? print_outcome(p, NULL) : command_fail(&err);
    if (!publish_it(p, &outcome, &err))
        return command_fail(&err);
    write_flags(&outcome);
    int code = print_outcome(p, &outcome);
    json_decref(outcome.flags);
    return code;
}

static int publish(int argc, char **argv)
{
    struct publish_settings set = {0};
    struct publishing p = {.set = &set};
    int code;

    if (!command_parse(&cmd_publish, argc, argv, &set, &code))
        return code;
    code = run(&p);
    review_release(&p.review);
    arena_release(&p.arena);
    return code;
}

static const struct option_row rows[] = {
    {.name = "site",
     OPTION_STRING(struct publish_settings, site),
     .value = "URL",
     .env = "TOKGRID_SITE",
     .otherwise = "the only one there is a login for",
     .help = "Where to publish."},
    {.name = "draft",
     OPTION_FLAG(struct publish_settings, draft),
     .help = "Keep it a draft, which only its owner sees."},
    {.name = "note",
     OPTION_STRING(struct publish_settings, note),
     .value = "TEXT",
     .help = "Add a note to the run."},
    {.name = "hardware",
     OPTION_STRING(struct publish_settings, hardware),
     .value = "FILE",
     .help = "Add what the server ran on, to a result that does not say it: a JSON file as "
             "'tokgrid hardware --json' prints it."},
    {.name = "keep-names",
     OPTION_FLAG(struct publish_settings, keep_names),
     .help = "Leave the names of hosts, users and home folders in it. Keys and passwords go in "
             "any case."},
    {.name = "dry-run",
     OPTION_FLAG(struct publish_settings, dry_run),
     .group = "Before it is sent",
     .help = "Show what would be sent, and send nothing. No login is needed."},
    {.name = "save",
     OPTION_STRING(struct publish_settings, save),
     .value = "FILE",
     .help = "Write exactly the bytes that would be sent, not yet compressed, there."},
    {.name = "yes",
     .letter = 'y',
     OPTION_FLAG(struct publish_settings, yes),
     .help = "Do not ask. Needed where there is no terminal."},
    {.name = "key",
     OPTION_STRING(struct publish_settings, key),
     .value = "KEY",
     .env = "TOKGRID_KEY",
     .otherwise = "the login's",
     .group = "The site",
     .help = "A key to publish with, for the site that --site names. Better in the variable: "
             "arguments stay in a shell's history."},
    SITE_HTTP_ROW(struct publish_settings),
    SITE_OPTION_ROWS(struct publish_settings),
    {0},
};

static const struct operand_row operands[] = {
    {.name = "RUN",
     OPERAND_ONE(struct publish_settings, path),
     .help = "A result file; - reads one from standard input."},
    {0},
};

static const char *const examples[] = {
    "tokgrid publish runs/demo.json",
    "Shows what would be sent, asks, and prints the page's address.",
    "tokgrid publish runs/demo.json --dry-run --save sent.json",
    "Only looks, and keeps the document for a closer look.",
    "tokgrid publish run.json --site https://tokgrid.example --yes --json",
    "In a script, with TOKGRID_KEY in its environment.",
    NULL,
};

const struct command cmd_publish = {
    .name = "publish",
    .summary = "Publish a result at a site",
    .about =
        "Reads a result file, checks it against the schema and the invariants that every result "
        "satisfies, and takes out of all its texts what is nobody's business: keys, tokens and "
        "passwords, names of home folders, this machine's name, and the name of the measured "
        "server when it is another machine. Each change is shown as before and after, with the "
        "secret itself hidden; then what a site would flag, size, digest, site and user. Nothing "
        "is "
        "sent before you agree.\n\n"
        "The same document is stored once, however often it is sent; when the site has it, its "
        "address is printed. A site that is busy or gone is tried four times.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = publish,
};
