/* cmd_import.c - tokgrid import: result files straight into a store, by whoever may write to it. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/commands.h"
#include "cmd/store_option.h"
#include "model/redact_result.h"
#include "model/result.h"
#include "site/publish.h"
#include "store/store.h"

struct import_settings {
    const char *db, *owner;
    bool draft, json;
    struct operand_list files;
};

/* Keys are for nobody; a document that holds one is written anew without. */
static bool take_secrets_out(const char *path, struct buf *text, struct arena *a, struct err *err)
{
    struct result r;
    struct redactions found;

    if (!result_read_json(text->p, text->len, path, &r, err))
        return false;
    redact_result(&r, NULL, a, &found);
    bool fine = true;
    if (found.n > 0) {
        buf_reset(text);
        fine = result_write_json(&r, text) || err_set(err, ERR_LIMIT, "%s: too large", path);
    }
    result_release(&r);
    return fine;
}

/* Whoever the document names, as far as that can be a user's name; else "local". */
static const char *owner_name(const struct import_settings *set, const struct result *r)
{
    struct err ignored;
    const char *by = r->by ? r->by + strspn(r->by, "@") : NULL;

    if (set->owner)
        return set->owner;
    return by && store_name_check(by, &ignored) ? by : "local";
}

static bool find_owner(struct store *s, const char *name, struct arena *a, int64_t *ret,
                       struct err *err)
{
    struct store_user user;

    if (!store_user_by_name(s, name, a, &user, err)) {
        if (err->code != ERR_NOT_FOUND || !store_user_create(s, name, NULL, false, a, &user, err))
            return false;
    }
    *ret = user.id;
    return true;
}

/* The same checks as for everybody else: what the site would flag is flagged here too. */
static bool store_one(struct store *s, const struct import_settings *set, const char *path,
                      const struct buf *text, struct arena *a, char uid[UUID_TEXT_MAX],
                      struct err *err)
{
    struct publication p;
    int64_t owner;
    bool fine = publication_read(&p, text->p, text->len, a, err) &&
                find_owner(s, owner_name(set, &p.result), a, &owner, err) &&
                publication_store(s, &p, owner, set->draft, uid, err);

    publication_release(&p);
    return fine || err_prefix(err, "%s", path);
}

static bool import_one(struct store *s, const struct import_settings *set, const char *path,
                       struct arena *a, struct buf *out, struct err *err)
{
    struct store_run run;
    struct buf text;
    char uid[UUID_TEXT_MAX];

    buf_init(&text, RESULT_MAX_BYTES);
    bool fine = file_read(path, &text, err) && take_secrets_out(path, &text, a, err) &&
                store_one(s, set, path, &text, a, uid, err) && store_run_get(s, uid, a, &run, err);
    if (fine && set->json)
        buf_addf(out, "{\"id\":\"%s\",\"state\":\"%s\"}\n", uid, store_run_state_name(run.state));
    else if (fine)
        buf_addf(out, "%s%s\n", uid, run.state == STORE_RUN_FLAGGED ? " flagged" : "");
    buf_release(&text);
    return fine;
}

static int import(int argc, char **argv)
{
    struct import_settings set = {0};
    struct err err = {0};
    struct store *s;
    struct arena a = {0};
    struct buf out;
    int code;

    if (!command_parse(&cmd_import, argc, argv, &set, &code))
        return code;
    if (!store_option_open(set.db, true, &s, &err))
        return command_fail(&err);
    store_act_as(s, 0, "command line");
    code = EXIT_CODE_DONE;
    for (size_t i = 0; i < set.files.n; i++) {
        buf_init(&out, 1024);
        int outcome = import_one(s, &set, set.files.v[i], &a, &out, &err) ? command_print(&out)
                                                                          : command_fail(&err);
        code = outcome == EXIT_CODE_DONE ? code : outcome;
        buf_release(&out);
    }
    store_close(s);
    arena_release(&a);
    return code;
}

static const struct option_row rows[] = {
    STORE_OPTION_ROW(struct import_settings, db),
    {.name = "owner",
     OPTION_STRING(struct import_settings, owner),
     .value = "NAME",
     .otherwise = "who the result says published it, or \"local\"",
     .help = "Whose runs these become. A user of that name who does not exist yet is made, "
             "without a password."},
    {.name = "draft",
     OPTION_FLAG(struct import_settings, draft),
     .help = "Keep the runs as drafts, which only their owner sees."},
    {.name = "json",
     OPTION_FLAG(struct import_settings, json),
     .help = "Print one JSON object for each run."},
    {0},
};

static const struct operand_row operands[] = {
    {.name = "RUN",
     OPERAND_LIST(struct import_settings, files),
     .help = "Result files; - reads one from standard input."},
    {0},
};

static const char *const examples[] = {
    "tokgrid import runs/*.json",
    "Put all results into tokgrid.db, as user local.",
    "tokgrid import run.json --db postgresql://tokgrid@db.example/tokgrid --owner ada",
    "Into a shared store, as a user's.",
    NULL,
};

const struct command cmd_import = {
    .name = "import",
    .summary = "Put result files into the site's store",
    .about =
        "Reads result files, checks each against the schema and the invariants that every result "
        "satisfies, and puts it into a store without going through the site: for the store's own "
        "operator. A figure above what memory bandwidth allows flags the run, as it does on the "
        "site. Prints the new run's id, and behind it that it is flagged. Keys and passwords in it "
        "are taken out first. A run "
        "that its owner has in the store already is an error; so is a file that is not what it "
        "should be: each is named, the other files are imported all the same, and the exit code "
        "is 1. The store is made when it does not exist.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = import,
};
