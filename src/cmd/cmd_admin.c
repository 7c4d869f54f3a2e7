/* cmd_admin.c - tokgrid admin: moderation of a store, by whoever owns it. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/store_option.h"
#include "site/stamp_text.h"
#include "store/secret.h"
#include "store/store.h"

struct admin_settings {
    const char *db, *action, *name;
    const char *reason;
    bool moderator, no_moderator, disable, enable, new_password;
    const char *base;                 /* what a model is made from */
    const char *user, *about, *event; /* what the log is narrowed to */
    int64_t limit;
    bool json;
};

/* One action under way: what it found goes into `out`, or into `rows` with --json. */
struct admin {
    const struct admin_settings *set;
    struct store *s;
    struct arena a;
    struct buf out;
    json_t *rows; /* NULL: as text */
    int64_t left; /* rows that may still be printed */
    struct err err;
};

/* ---- output ---------------------------------------------------------------------------------- */

/* Names and texts come from whoever uploaded them. */
static const char *safe(struct admin *t, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    char *copy = arena_alloc(&t->a, n + 1);
    text_printable(copy, n + 1, text ? text : "", n);
    return n ? copy : "-";
}

static const char *stamp(struct admin *t, int64_t unix_ms)
{
    char *text = arena_alloc(&t->a, CLOCK_TEXT_MAX);
    return stamp_text(unix_ms, text);
}

static json_t *json_text(const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    return value ? value : json_null();
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void write_queue_row(struct admin *t, const struct store_queue_row *row,
                            const struct store_flags *flags, const struct store_reports *reports)
{
    buf_addf(&t->out, "%s  %s  %s\n", row->run.uid, store_run_state_name(row->run.state),
             safe(t, row->run.title));
    for (size_t i = 0; i < flags->n; i++) {
        const struct store_flag *f = &flags->v[i];
        if (f->context_tokens >= 0)
            buf_addf(&t->out, "    flag    %lld x %d: %s\n", (long long)f->context_tokens,
                     f->concurrency, safe(t, f->text));
        else
            buf_addf(&t->out, "    flag    %s\n", safe(t, f->text));
    }
    for (size_t i = 0; i < reports->n; i++)
        buf_addf(&t->out, "    report  %s by %s: %s\n", safe(t, reports->v[i].reason),
                 safe(t, reports->v[i].reporter), safe(t, reports->v[i].text));
}

static json_t *queue_row_json(const struct store_queue_row *row, const struct store_flags *flags,
                              const struct store_reports *reports)
{
    json_t *list = json_array(), *told = json_array();
    for (size_t i = 0; i < flags->n; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:I, s:i}", "code", json_text(flags->v[i].code),
                                        "text", json_text(flags->v[i].text), "context_tokens",
                                        (json_int_t)flags->v[i].context_tokens, "concurrency",
                                        flags->v[i].concurrency));
    for (size_t i = 0; i < reports->n; i++)
        json_array_append_new(
            told, json_pack("{s:I, s:o, s:o, s:o}", "id", (json_int_t)reports->v[i].id, "reason",
                            json_text(reports->v[i].reason), "text", json_text(reports->v[i].text),
                            "by", json_text(reports->v[i].reporter)));
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "id", json_text(row->run.uid), "state",
                     store_run_state_name(row->run.state), "title", json_text(row->run.title),
                     "user", json_text(row->run.owner_name), "flags", list, "reports", told);
}

static bool queue_page(struct admin *t, const struct store_page *page, char *next)
{
    struct store_queue queue;
    if (!store_queue(t->s, page, &t->a, &queue, &t->err))
        return false;
    for (size_t i = 0; i < queue.n; i++) {
        struct store_flags flags;
        struct store_reports reports;
        if (!store_run_flags(t->s, queue.v[i].run.id, &t->a, &flags, &t->err) ||
            !store_run_reports(t->s, queue.v[i].run.id, &t->a, &reports, &t->err))
            return false;
        if (t->rows)
            json_array_append_new(t->rows, queue_row_json(&queue.v[i], &flags, &reports));
        else
            write_queue_row(t, &queue.v[i], &flags, &reports);
    }
    t->left -= (int64_t)queue.n;
    memcpy(next, queue.next, STORE_CURSOR_MAX);
    return true;
}

/* ---- users ----------------------------------------------------------------------------------- */

static void show_user(struct admin *t, const struct store_user *u)
{
    if (t->rows) {
        json_array_append_new(
            t->rows, json_pack("{s:o, s:b, s:b, s:b, s:o, s:I, s:I}", "name", json_text(u->name),
                               "moderator", u->admin, "disabled", u->disabled, "password",
                               u->has_password, "created_at", json_text(stamp(t, u->created_ms)),
                               "runs", (json_int_t)u->run_count, "keys", (json_int_t)u->key_count));
        return;
    }
    buf_addf(&t->out, "%-39s  %s  %lld run%s%s%s%s\n", safe(t, u->name), stamp(t, u->created_ms),
             (long long)u->run_count, u->run_count == 1 ? "" : "s", u->admin ? ", moderator" : "",
             u->disabled ? ", disabled" : "", u->has_password ? "" : ", without password");
}

static bool users_page(struct admin *t, const struct store_page *page, char *next)
{
    struct store_users users;
    if (!store_users(t->s, t->set->name, page, &t->a, &users, &t->err))
        return false;
    for (size_t i = 0; i < users.n; i++)
        show_user(t, &users.v[i]);
    t->left -= (int64_t)users.n;
    memcpy(next, users.next, STORE_CURSOR_MAX);
    return true;
}

/* A password that nobody chose, said once: what stands on a command line, others can read. */
static bool give_password(struct admin *t, const struct store_user *user)
{
    char password[STORE_TOKEN_MAX];
    secret_token(password);
    if (!store_user_set_password(t->s, user->id, password, &t->err))
        return false;
    if (t->rows)
        json_array_append_new(t->rows, json_pack("{s:s}", "new_password", password));
    else
        buf_addf(&t->out, "new password: %s\n", password);
    return true;
}

static bool change_user(struct admin *t)
{
    const struct admin_settings *set = t->set;
    struct store_user user;
    if (!set->name)
        return err_set(&t->err, ERR_USAGE, "usage: tokgrid admin user NAME [--moderator] ...");
    if ((set->moderator && set->no_moderator) || (set->disable && set->enable))
        return err_set(&t->err, ERR_USAGE, "these options contradict each other");
    if (!store_user_by_name(t->s, set->name, &t->a, &user, &t->err))
        return false;
    if ((set->enable && !store_user_set_disabled(t->s, user.id, false, &t->err)) ||
        (set->moderator && !store_user_set_admin(t->s, user.id, true, &t->err)) ||
        (set->no_moderator && !store_user_set_admin(t->s, user.id, false, &t->err)) ||
        (set->disable && !store_user_set_disabled(t->s, user.id, true, &t->err)) ||
        (set->new_password && !give_password(t, &user)) ||
        !store_user_by_id(t->s, user.id, &t->a, &user, &t->err))
        return false;
    show_user(t, &user);
    return true;
}

/* ---- models ---------------------------------------------------------------------------------- */

static bool change_model(struct admin *t)
{
    const struct admin_settings *set = t->set;
    struct store_model base;
    if (!set->name)
        return err_set(&t->err, ERR_USAGE, "usage: tokgrid admin model NAME [--base NAME]");
    if ((set->base && !store_model_set_base(t->s, set->name, set->base, &t->err)) ||
        !store_base_get(t->s, set->name, &t->a, &base, &t->err))
        return false;
    if (t->rows)
        json_array_append_new(t->rows,
                              json_pack("{s:o, s:o, s:I}", "name", json_text(set->name), "base",
                                        json_text(base.name), "runs", (json_int_t)base.run_count));
    else
        buf_addf(&t->out, "%s is counted with %s: %lld runs\n", safe(t, set->name),
                 safe(t, base.name), (long long)base.run_count);
    return true;
}

/* ---- the audit log --------------------------------------------------------------------------- */

static bool audit_page(struct admin *t, const struct store_page *page, char *next)
{
    const struct store_audit_filter filter = {
        .target = t->set->about, .action = t->set->event, .user = t->set->user};
    struct store_audit log;
    if (!store_audit(t->s, &filter, page, &t->a, &log, &t->err))
        return false;
    for (size_t i = 0; i < log.n; i++) {
        const struct store_audit_row *row = &log.v[i];
        if (t->rows)
            json_array_append_new(
                t->rows,
                json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "at", json_text(stamp(t, row->at_ms)),
                          "action", json_text(row->action), "user", json_text(row->actor), "from",
                          json_text(row->address), "about", json_text(row->target), "detail",
                          json_text(row->detail)));
        else
            buf_addf(&t->out, "%s  %-16s %s  %s  %s  %s\n", stamp(t, row->at_ms),
                     safe(t, row->action), safe(t, row->actor), safe(t, row->address),
                     safe(t, row->target), row->detail ? safe(t, row->detail) : "");
    }
    t->left -= (int64_t)log.n;
    memcpy(next, log.next, STORE_CURSOR_MAX);
    return true;
}

/* ---- actions --------------------------------------------------------------------------------- */

typedef bool page_fn(struct admin *t, const struct store_page *page, char *next);

static bool all_pages(struct admin *t, page_fn *show)
{
    char next[STORE_CURSOR_MAX] = "", after[STORE_CURSOR_MAX];
    do {
        memcpy(after, next, sizeof after);
        const struct store_page page = {
            .after = after, .limit = (int)(t->left < STORE_PAGE_MAX ? t->left : STORE_PAGE_MAX)};
        if (!show(t, &page, next))
            return false;
    } while (*next && t->left > 0);
    return true;
}

static bool decide(struct admin *t)
{
    struct store_run run;
    if (!t->set->name)
        return err_set(&t->err, ERR_USAGE, "usage: tokgrid admin %s RUN [--reason TEXT]",
                       t->set->action);
    if (!store_run_decide(t->s, t->set->name, t->set->action, t->set->reason, &t->err) ||
        !store_run_get(t->s, t->set->name, &t->a, &run, &t->err))
        return false;
    if (t->rows)
        json_array_append_new(t->rows,
                              json_pack("{s:o, s:s, s:b}", "id", json_text(run.uid), "state",
                                        store_run_state_name(run.state), "verified", run.verified));
    else
        buf_addf(&t->out, "%s  %s%s\n", run.uid, store_run_state_name(run.state),
                 run.verified ? ", verified" : "");
    return true;
}

enum { TAKES_NAME = 1, TAKES_REASON = 2, CHANGES_USER = 4, NARROWS_LOG = 8, CHANGES_MODEL = 16 };

struct action {
    const char *name;
    int takes;
    page_fn *show; /* of lists, and what says that one is empty */
    const char *nothing;
    bool (*run)(struct admin *t);
};

static bool find_action(const char *name, struct action *ret, struct err *err)
{
    static const struct action actions[] = {
        {.name = "queue", .show = queue_page, .nothing = "nothing is waiting"},
        {.name = "users",
         .takes = TAKES_NAME,
         .show = users_page,
         .nothing = "there is no such user"},
        {.name = "user", .takes = TAKES_NAME | CHANGES_USER, .run = change_user},
        {.name = "model", .takes = TAKES_NAME | CHANGES_MODEL, .run = change_model},
        {.name = "audit", .takes = NARROWS_LOG, .show = audit_page, .nothing = "nothing matches"},
    };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (strcmp(actions[i].name, name) == 0) {
            *ret = actions[i];
            return true;
        }
    for (size_t i = 0; store_decisions[i]; i++)
        if (strcmp(store_decisions[i], name) == 0) {
            *ret =
                (struct action){store_decisions[i], TAKES_NAME | TAKES_REASON, NULL, NULL, decide};
            return true;
        }
    return err_set(err, ERR_USAGE,
                   "'%s' is not one of queue, accept, flag, withdraw, verify, unverify, users, "
                   "user, model, audit",
                   name);
}

/* `users ada --moderator` would make nobody a moderator without a word. */
static bool all_is_meant(const struct admin_settings *set, const struct action *action,
                         struct err *err)
{
    const struct {
        bool given;
        const char *what;
        int takes;
        const char *with;
    } rows[] = {
        {set->name, "name", TAKES_NAME, "decisions, user, users and model"},
        {set->reason, "--reason", TAKES_REASON, "decisions on a RUN"},
        {set->moderator, "--moderator", CHANGES_USER, "user NAME"},
        {set->no_moderator, "--no-moderator", CHANGES_USER, "user NAME"},
        {set->disable, "--disable", CHANGES_USER, "user NAME"},
        {set->enable, "--enable", CHANGES_USER, "user NAME"},
        {set->new_password, "--new-password", CHANGES_USER, "user NAME"},
        {set->base, "--base", CHANGES_MODEL, "model NAME"},
        {set->user, "--user", NARROWS_LOG, "audit"},
        {set->event, "--event", NARROWS_LOG, "audit"},
        {set->about, "--about", NARROWS_LOG, "audit"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].given && !(rows[i].takes & action->takes))
            return err_set(err, ERR_USAGE, "'admin %s' takes no %s: it belongs to %s", action->name,
                           rows[i].what, rows[i].with);
    return true;
}

static bool act(struct admin *t)
{
    struct action action = {0};

    if (!find_action(t->set->action, &action, &t->err) || !all_is_meant(t->set, &action, &t->err))
        return false;
    if (action.run)
        return action.run(t);
    bool ok = all_pages(t, action.show);
    if (ok && !t->rows && t->out.len == 0)
        buf_addf(&t->out, "%s\n", action.nothing);
    return ok;
}

static int admin(int argc, char **argv)
{
    struct admin_settings set = {0};
    struct admin t = {.set = &set};
    int code;

    if (!command_parse(&cmd_admin, argc, argv, &set, &code))
        return code;
    if (!store_option_open(set.db, false, &t.s, &t.err))
        return command_fail(&t.err);
    store_act_as(t.s, 0, "command line");
    t.rows = set.json ? json_array() : NULL;
    t.left = set.limit;
    buf_init(&t.out, 64 << 20);
    if (act(&t)) {
        if (t.rows)
            json_write(t.rows, &t.out);
        code = command_print(&t.out);
    } else {
        code = command_fail(&t.err);
    }
    json_decref(t.rows);
    buf_release(&t.out);
    store_close(t.s);
    arena_release(&t.a);
    return code;
}

static const struct option_row rows[] = {
    STORE_OPTION_ROW(struct admin_settings, db),
    {.name = "reason",
     OPTION_STRING(struct admin_settings, reason),
     .value = "TEXT",
     .help = "Why. Its owner reads it; needed to flag or withdraw a run."},
    {.name = "json",
     OPTION_FLAG(struct admin_settings, json),
     .help = "Print one JSON array of what was asked for or changed."},
    {.name = "limit",
     OPTION_INT(struct admin_settings, limit),
     .min = 1,
     .max = 100000,
     .value = "N",
     .initial = "200",
     .help = "At most so many rows of a list."},
    {.name = "moderator",
     OPTION_FLAG(struct admin_settings, moderator),
     .group = "A user",
     .help = "Make the user a moderator."},
    {.name = "no-moderator",
     OPTION_FLAG(struct admin_settings, no_moderator),
     .help = "A moderator no longer. The last one stays."},
    {.name = "disable",
     OPTION_FLAG(struct admin_settings, disable),
     .help = "The user cannot sign in any more, and keys do not work; runs stay."},
    {.name = "enable", OPTION_FLAG(struct admin_settings, enable), .help = "The contrary."},
    {.name = "new-password",
     OPTION_FLAG(struct admin_settings, new_password),
     .help = "Make a password at random and print it this once. Ends the user's sessions."},
    {.name = "base",
     OPTION_STRING(struct admin_settings, base),
     .value = "NAME",
     .group = "A model",
     .help = "What it is made from: the model under whose name its runs are counted."},
    {.name = "user",
     OPTION_STRING(struct admin_settings, user),
     .value = "NAME",
     .group = "The audit log",
     .help = "What this user did."},
    {.name = "event",
     OPTION_STRING(struct admin_settings, event),
     .value = "NAME",
     .help = "This kind of action, such as run.review."},
    {.name = "about",
     OPTION_STRING(struct admin_settings, about),
     .value = "NAME",
     .help = "What was done to this run or user."},
    {0},
};

static const struct operand_row operands[] = {
    {.name = "ACTION",
     OPERAND_ONE(struct admin_settings, action),
     .help = "queue: what waits for a moderator, with flags and open reports, oldest first. accept "
             "RUN: keep it public and take its flags away; of a withdrawn run, let its owner "
             "publish it again. flag RUN, withdraw RUN: with a reason. verify RUN, unverify RUN: "
             "whether somebody has checked it. users [NAME]: those whose name begins so. user "
             "NAME: show or change one. model NAME: what it is counted with, or with --base "
             "shall be. audit: the log, newest first."},
    {.name = "NAME",
     OPERAND_MAYBE(struct admin_settings, name),
     .help = "A run's id, a user's or a model's name."},
    {0},
};

static const char *const examples[] = {
    "tokgrid admin queue",
    "What is waiting in tokgrid.db.",
    "tokgrid admin withdraw 01939b3e-7c00-7000-8000-000000000001 --reason 'not this card'",
    "Take a run off the lists; its owner reads why.",
    "tokgrid admin user ada --moderator",
    "Give somebody the moderators' pages of the site.",
    "tokgrid admin audit --event user.admin --json",
    "Who was made a moderator, for a program.",
    NULL,
};

const struct command cmd_admin = {
    .name = "admin",
    .summary = "Moderate the site's store: queue, users, models, audit log",
    .about = "For the owner of a store: what moderators do on the site's pages, from a shell. "
             "Every action is written into the audit log. Runs that were flagged by a check of "
             "their figures, or that visitors reported, wait in the queue until somebody decides.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = admin,
};
