/* page_admin.c - moderation: the queue, users, the audit log; and its pieces on a run's own page.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "site/publish.h"
#include "site/report_reasons.h"
#include "site/site_pages.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

/* The bound in words of the page's language; false: the document does not tell it. */
static bool put_bound(struct frame *f, const struct store_flag *flag, const struct result *r)
{
    char context[NUM_TEXT_MAX], level[NUM_TEXT_MAX], figure[NUM_TEXT_MAX], most[NUM_TEXT_MAX];
    if (!r || strcmp(flag->code, "above_bound") != 0)
        return false;
    const struct cell *cell = result_cell(r, flag->context_tokens, flag->concurrency);
    int tokens;
    double bound = publication_bound(r, &tokens);
    if (!cell || isnan(bound) || tokens > 1 || isnan(cell->per_request_tok_s))
        return false;
    site_say_admin_above_bound(f->l, html_scratch(&f->html),
                               .context = num_size_text(context, flag->context_tokens),
                               .concurrency = lang_number(f->rl, level, flag->concurrency, 0),
                               .figure = lang_number(f->rl, figure, cell->per_request_tok_s, 1),
                               .bound = lang_number(f->rl, most, bound, 1));
    html_text_scratch(&f->html);
    return true;
}

/* A link to the cell, or that it is about the whole. */
static void put_cell_link(struct frame *f, const struct store_flag *flag, const char *uid)
{
    char context[NUM_TEXT_MAX], id[NUM_TEXT_MAX], level[NUM_TEXT_MAX];
    if (flag->context_tokens < 0) {
        put_word(f, SITE_ADMIN_WHOLE_RUN);
        return;
    }
    num_size_text(context, flag->context_tokens);
    num_size_text(id, flag->context_tokens);
    put(f, "<a href=\"");
    put_href(f, "/runs", uid);
    put(f, "#c-");
    for (char *c = id; *c; c++) /* as the page spells it */
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
    html_text(&f->html, id);
    put(f, "-");
    html_int(&f->html, flag->concurrency > 0 ? flag->concurrency : 1);
    put(f, "\">");
    if (flag->concurrency > 0)
        site_say_admin_cell(f->l, html_scratch(&f->html), .context = context,
                            .concurrency = lang_number(f->rl, level, flag->concurrency, 0));
    else
        site_say_admin_prefill_cell(f->l, html_scratch(&f->html), .context = context);
    html_text_scratch(&f->html);
    put(f, "</a>");
}

void put_flags(struct frame *f, const struct store_flags *flags, const char *uid,
               const struct result *result)
{
    if (flags->n == 0)
        return;
    put(f, "<ul class=\"flags\">");
    for (size_t i = 0; i < flags->n; i++) {
        const struct store_flag *flag = &flags->v[i];
        put(f, "<li>");
        if (strcmp(flag->code, STORE_FLAG_MODERATOR) == 0) {
            site_say_admin_by_moderator(f->l, html_scratch(&f->html), .text = flag->text);
            html_text_scratch(&f->html);
        } else if (!put_bound(f, flag, result)) {
            put_cell_link(f, flag, uid);
            put(f, ": ");
            put_text(f, flag->text);
        }
        put(f, "</li>");
    }
    put(f, "</ul>");
}

void put_decision_form(struct frame *f, const struct store_run *run, bool on_its_page)
{
    char id[UUID_TEXT_MAX + 8];
    snprintf(id, sizeof id, "reason-%s", run->uid);
    put_form(f, "/admin/runs", run->uid, false);
    if (on_its_page)
        put_hidden(f, "from", "run");
    put(f, "<p class=\"field\"><label");
    html_attr(&f->html, "for", id);
    put(f, ">");
    put_word(f, SITE_ADMIN_REASON);
    put(f, "</label><input type=\"text\" name=\"reason\" maxlength=\"300\"");
    html_attr(&f->html, "id", id);
    put(f, "><small>");
    put_word(f, SITE_ADMIN_REASON_HINT);
    put(f, "</small></p>\n<p class=\"actions choices\">");
    put_button_value(f, SITE_ADMIN_ACCEPT, "decision", "accept");
    put_button_value(f, SITE_ADMIN_FLAG, "decision", "flag");
    put_button_value(f, SITE_ADMIN_WITHDRAW, "decision", "withdraw");
    if (run->verified)
        put_button_value(f, SITE_ADMIN_UNVERIFY, "decision", "unverify");
    else
        put_button_value(f, SITE_ADMIN_VERIFY, "decision", "verify");
    put(f, "</p></form>\n");
}

static void put_admin_tab(struct frame *f, const char *path, enum site_word label)
{
    size_t n = strcspn(f->path, "?");
    put_place(f, path, label, strlen(path) == n && memcmp(f->path, path, n) == 0);
}

static void put_admin_tabs(struct frame *f)
{
    put(f, "<ul class=\"tabs\">");
    put_admin_tab(f, "/admin", SITE_ADMIN_QUEUE);
    put_admin_tab(f, "/admin/users", SITE_ADMIN_USERS);
    put_admin_tab(f, "/admin/audit", SITE_ADMIN_AUDIT);
    put(f, "</ul>\n");
}

static void put_heads(struct frame *f, enum site_word label, const enum site_word *words, size_t n)
{
    put(f, "<div class=\"scroll\" role=\"group\" tabindex=\"0\"");
    html_attr(&f->html, "aria-label", site_word(f->l, label));
    put(f, "><table class=\"rows list\"><thead><tr>");
    for (size_t i = 0; i < n; i++) {
        put(f, "<th scope=\"col\" class=\"text\">");
        put_word(f, words[i]);
        put(f, "</th>");
    }
    put(f, "</tr></thead>\n<tbody>");
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void write_report(struct frame *f, const struct store_report *report)
{
    const struct report_reason *reason = report_reason_find(report->reason);
    char id[24], field[40];
    snprintf(id, sizeof id, "%lld", (long long)report->id);
    snprintf(field, sizeof field, "resolution-%s", id);
    put(f, "<li><p><b>");
    if (reason)
        put_word(f, reason->word);
    else
        put_text(f, report->reason);
    put(f, "</b> · ");
    if (report->reporter) {
        put_link(f, "/users", report->reporter);
        put_text(f, report->reporter);
        put(f, "</a>");
    } else {
        put_word(f, SITE_ADMIN_REPORTER_NONE);
    }
    put(f, " · ");
    put_moment(f, report->created_ms);
    put(f, "</p>");
    if (report->text && *report->text) {
        put(f, "<blockquote>");
        put_text(f, report->text);
        put(f, "</blockquote>");
    }
    put_form(f, "/admin/reports", id, false);
    put(f, "<p class=\"line\"><label");
    html_attr(&f->html, "for", field);
    put(f, ">");
    put_word(f, SITE_ADMIN_RESOLUTION);
    put(f, "</label> <input type=\"text\" name=\"resolution\" required maxlength=\"300\"");
    html_attr(&f->html, "id", field);
    put(f, "> ");
    put_button(f, SITE_ADMIN_RESOLVE);
    put(f, "</p></form></li>");
}

static void write_waiting(struct frame *f, const struct store_run *run,
                          const struct store_flags *flags, const struct store_reports *reports)
{
    put(f, "<li class=\"waiting\"><h3>");
    put_link(f, "/runs", run->uid);
    put_text(f, run->title);
    put(f, "</a></h3><p class=\"meta\">");
    put_link(f, "/users", run->owner_name);
    put_text(f, run->owner_name);
    put(f, "</a> · ");
    put_moment(f, run->created_ms);
    put(f, " ");
    put_run_badges(f, run);
    put(f, "</p>");
    if (flags->n > 0) {
        put(f, "<h4>");
        put_word(f, SITE_ADMIN_FLAGS);
        put(f, "</h4>");
        put_flags(f, flags, run->uid, NULL);
    }
    if (reports->n > 0) {
        put(f, "<h4>");
        put_word(f, SITE_ADMIN_REPORTS);
        put(f, "</h4><ul class=\"reports\">");
        for (size_t i = 0; i < reports->n; i++)
            write_report(f, &reports->v[i]);
        put(f, "</ul>");
    }
    put_decision_form(f, run, false);
    put(f, "</li>\n");
}

void page_admin_write(struct frame *f, const struct admin_page *p)
{
    frame_begin(f, site_word(f->l, SITE_ADMIN_TITLE));
    frame_heading(f, site_word(f->l, SITE_ADMIN_TITLE), site_word(f->l, SITE_ADMIN_LEAD));
    put_admin_tabs(f);
    put_hidden_heading(f, SITE_ADMIN_QUEUE);
    if (p->queue.n == 0) {
        put_empty(f, SITE_ADMIN_NOTHING);
    } else {
        put(f, "<ul class=\"queue\">\n");
        for (size_t i = 0; i < p->queue.n; i++)
            write_waiting(f, &p->queue.v[i].run, &p->parts[i].flags, &p->parts[i].reports);
        put(f, "</ul>\n");
    }
    put_pager(f, "/admin", p->queue.next);
    frame_end(f);
}

/* ---- users ----------------------------------------------------------------------------------- */

static void write_rights(struct frame *f, const struct store_user *u)
{
    const struct {
        bool holds;
        enum site_word word;
    } rights[] = {
        {u->admin, SITE_USERS_MODERATOR},
        {u->disabled, SITE_USERS_DISABLED},
        {!u->has_password, SITE_USERS_NO_PASSWORD},
        {!u->admin && !u->disabled && u->has_password, SITE_USERS_ACTIVE},
    };
    bool first = true;
    for (size_t i = 0; i < ARRAY_LEN(rights); i++) {
        if (!rights[i].holds)
            continue;
        if (!first)
            put(f, " · ");
        put_word(f, rights[i].word);
        first = false;
    }
}

static void write_user(struct frame *f, const struct store_user *u)
{
    put(f, "<tr><td class=\"text\">");
    put_link(f, "/users", u->name);
    put_text(f, u->name);
    put(f, "</a></td><td class=\"text\">");
    put_day(f, u->created_ms);
    put(f, "</td><td class=\"text\">");
    put_count(f, u->run_count);
    put(f, "</td><td class=\"text\">");
    put_count(f, u->key_count);
    put(f, "</td><td class=\"text\">");
    write_rights(f, u);
    put(f, "</td><td class=\"text doing\">");
    put_form(f, "/admin/users", u->name, false);
    if (u->disabled)
        put_button_value(f, SITE_USERS_ENABLE, "change", "enable");
    else
        put_button_value(f, SITE_USERS_DISABLE, "change", "disable");
    put(f, " ");
    if (u->admin)
        put_button_value(f, SITE_USERS_DEMOTE, "change", "no-moderator");
    else
        put_button_value(f, SITE_USERS_PROMOTE, "change", "moderator");
    put(f, "</form></td></tr>\n");
}

/* A text that a list is narrowed by. */
static void put_filter_text(struct frame *f, enum site_word label, const char *name,
                            const char *value)
{
    put(f, "<p class=\"field\"><label");
    html_attr(&f->html, "for", name);
    put(f, ">");
    put_word(f, label);
    put(f, "</label><input type=\"text\" maxlength=\"80\" autocapitalize=\"none\"");
    html_attr(&f->html, "id", name);
    html_attr(&f->html, "name", name);
    html_attr(&f->html, "value", value ? value : "");
    put(f, "></p>");
}

void page_admin_users_write(struct frame *f, const struct admin_users_page *p)
{
    static const enum site_word heads[] = {SITE_USERS_NAME, SITE_USERS_SINCE,  SITE_COLUMN_RUNS,
                                           SITE_USERS_KEYS, SITE_USERS_RIGHTS, SITE_USERS_CHANGE};
    frame_begin(f, site_word(f->l, SITE_ADMIN_USERS));
    frame_heading(f, site_word(f->l, SITE_ADMIN_USERS), site_word(f->l, SITE_USERS_LEAD));
    put_admin_tabs(f);
    put(f, "<form class=\"filters\" method=\"get\" action=\"");
    put_href(f, "/admin/users", NULL);
    put(f, "\">");
    put_filter_text(f, SITE_USERS_SEARCH, "q", p->prefix);
    put_button(f, SITE_USERS_FIND);
    put(f, "</form>\n");
    if (p->users.n == 0) {
        put_empty(f, SITE_USERS_NONE);
    } else {
        put_heads(f, SITE_ADMIN_USERS, heads, ARRAY_LEN(heads));
        for (size_t i = 0; i < p->users.n; i++)
            write_user(f, &p->users.v[i]);
        put(f, "</tbody></table></div>\n");
    }
    put_pager(f, "/admin/users", p->users.next);
    frame_end(f);
}

/* ---- the audit log --------------------------------------------------------------------------- */

/* What an action is about, as a link where it has a page; what was deleted leads to an error page
 * that says so. */
static void write_target(struct frame *f, const struct store_audit_row *row)
{
    static const struct {
        const char *action, *path;
    } places[] = {{"run.", "/runs"}, {"report.add", "/runs"}, {"user.", "/users"}};
    for (size_t i = 0; row->target && i < ARRAY_LEN(places); i++) {
        if (!text_starts(row->action, places[i].action))
            continue;
        put_link(f, places[i].path, row->target);
        put_text(f, row->target);
        put(f, "</a>");
        return;
    }
    put_text(f, row->target);
}

static void write_event(struct frame *f, const struct store_audit_row *row)
{
    put(f, "<tr><td class=\"text\">");
    put_moment(f, row->at_ms);
    put(f, "</td><td class=\"text\"><code>");
    put_text(f, row->action);
    put(f, "</code></td><td class=\"text\">");
    put_text(f, row->actor);
    put(f, "</td><td class=\"text\">");
    put_text(f, row->address);
    put(f, "</td><td class=\"text\">");
    write_target(f, row);
    put(f, "</td><td class=\"text\">");
    put_text(f, row->detail);
    put(f, "</td></tr>\n");
}

static void write_audit_form(struct frame *f, const struct store_audit_filter *filter)
{
    put(f, "<form class=\"filters\" method=\"get\" action=\"");
    put_href(f, "/admin/audit", NULL);
    put(f, "\">");
    put_select(f, SITE_AUDIT_ACTION, "action");
    put_option(f, "", site_word(f->l, SITE_FILTER_ALL), false);
    for (size_t i = 0; store_audit_actions[i]; i++)
        put_option(f, store_audit_actions[i], store_audit_actions[i],
                   filter->action && strcmp(filter->action, store_audit_actions[i]) == 0);
    put_select_end(f);
    put_filter_text(f, SITE_AUDIT_USER, "user", filter->user);
    put_filter_text(f, SITE_AUDIT_TARGET, "target", filter->target);
    put_button(f, SITE_FILTER_APPLY);
    put(f, "</form>\n");
}

void page_admin_audit_write(struct frame *f, const struct admin_audit_page *p)
{
    static const enum site_word heads[] = {SITE_AUDIT_TIME,   SITE_AUDIT_ACTION,
                                           SITE_AUDIT_USER,   SITE_AUDIT_ADDRESS,
                                           SITE_AUDIT_TARGET, SITE_AUDIT_DETAIL};
    frame_begin(f, site_word(f->l, SITE_ADMIN_AUDIT));
    frame_heading(f, site_word(f->l, SITE_ADMIN_AUDIT), site_word(f->l, SITE_AUDIT_LEAD));
    put_admin_tabs(f);
    write_audit_form(f, &p->filter);
    if (p->log.n == 0) {
        put_empty(f, SITE_AUDIT_NONE);
    } else {
        put_heads(f, SITE_ADMIN_AUDIT, heads, ARRAY_LEN(heads));
        for (size_t i = 0; i < p->log.n; i++)
            write_event(f, &p->log.v[i]);
        put(f, "</tbody></table></div>\n");
    }
    put_pager(f, "/admin/audit", p->log.next);
    frame_end(f);
}
