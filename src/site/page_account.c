/* page_account.c - sign-in, sign-up, dashboard, device login, and users' own pages. */
#include <string.h>

#include "report/plain.h"
#include "site/site_pages.h"

/* ---- in and up ------------------------------------------------------------------------------- */

/* Who came to sign in may have to sign up, and goes on to the same page. */
static void end_form(struct frame *f, enum site_word send, const char *next)
{
    if (*next)
        put_hidden(f, "next", next);
    put_button(f, send);
    put(f, "</form>\n");
}

static void put_other_form(struct frame *f, enum site_word question, const char *path,
                           enum site_word name, const char *next)
{
    put(f, "<p>");
    put_word(f, question);
    put(f, " ");
    put_query_link(f, path, "next", *next ? next : NULL);
    put_word(f, name);
    put(f, "</a></p>\n");
}

void page_sign_in_write(struct frame *f, const char *user, const char *next)
{
    frame_begin(f, site_word(f->l, SITE_SIGN_IN_TITLE));
    frame_heading(f, site_word(f->l, SITE_SIGN_IN_TITLE), NULL);
    put_form(f, "/sign-in", NULL, false);
    put_field(f, SITE_FIELD_USER, "user", "text", user, NULL);
    put_field(f, SITE_FIELD_PASSWORD, "password", "password", NULL, NULL);
    end_form(f, SITE_SIGN_IN_TITLE, next);
    put_other_form(f, SITE_SIGN_IN_NEW, "/sign-up", SITE_SIGN_UP_TITLE, next);
    frame_end(f);
}

void page_sign_up_write(struct frame *f, const char *user, const char *next)
{
    frame_begin(f, site_word(f->l, SITE_SIGN_UP_TITLE));
    frame_heading(f, site_word(f->l, SITE_SIGN_UP_TITLE), site_word(f->l, SITE_SIGN_UP_LEAD));
    put_form(f, "/sign-up", NULL, false);
    put_field(f, SITE_FIELD_USER, "user", "text", user, site_word(f->l, SITE_FIELD_USER_HINT));
    put_field(f, SITE_FIELD_PASSWORD, "password", "password", NULL,
              site_word(f->l, SITE_FIELD_PASSWORD_HINT));
    end_form(f, SITE_SIGN_UP_TITLE, next);
    put_other_form(f, SITE_SIGN_UP_HAVE, "/sign-in", SITE_SIGN_IN_TITLE, next);
    frame_end(f);
}

/* ---- dashboard ------------------------------------------------------------------------------- */

static void write_heading(struct frame *f, enum site_word w, enum site_word by)
{
    put(f, "<h2>");
    put_word(f, w);
    put(f, "</h2><p class=\"by\">");
    put_word(f, by);
    put(f, "</p>\n");
}

static void write_upload(struct frame *f)
{
    put(f, "<section>");
    write_heading(f, SITE_UPLOAD_TITLE, SITE_UPLOAD_WORDS);
    put_form(f, "/dashboard/upload", NULL, true);
    put(f, "<p class=\"field\"><label for=\"run\">");
    put_word(f, SITE_UPLOAD_FILE);
    put(f, "</label><input type=\"file\" id=\"run\" name=\"run\" accept=\"application/json,.json\" "
           "required></p>\n<p class=\"field check\"><input type=\"checkbox\" id=\"draft\" "
           "name=\"draft\" value=\"1\"><label for=\"draft\">");
    put_word(f, SITE_UPLOAD_DRAFT);
    put(f, "</label></p>");
    put_button(f, SITE_UPLOAD_SEND);
    put(f, "</form></section>\n");
}

static void write_key(struct frame *f, const struct store_key *key)
{
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)key->id);
    put(f, "<tr><td class=\"text\">");
    put_text(f, key->label);
    put(f, "</td><td class=\"text\"><code>");
    put_text(f, key->prefix);
    put(f, "…</code></td><td>");
    put_day(f, key->created_ms);
    put(f, "</td><td>");
    put_day(f, key->used_ms);
    put(f, "</td><td>");
    put_form(f, "/dashboard/keys", id, false);
    put(f, "<button type=\"submit\"");
    html_attr(&f->html, "aria-label", site_word(f->l, SITE_KEYS_REVOKE));
    put(f, ">");
    put_word(f, SITE_KEYS_REVOKE);
    put(f, "</button></form></td></tr>\n");
}

static void write_keys(struct frame *f, const struct dashboard_page *p)
{
    static const enum site_word columns[] = {SITE_KEYS_LABEL, SITE_KEYS_KEY};
    put(f, "<section id=\"keys\">");
    write_heading(f, SITE_KEYS_TITLE, SITE_KEYS_WORDS);
    if (p->new_key) {
        put(f, "<div class=\"notice\" role=\"status\"><p>");
        put_word(f, SITE_KEYS_NEW);
        put(f, "</p><pre tabindex=\"0\"><code>");
        put_text(f, p->new_key);
        put(f, "</code></pre></div>\n");
    }
    if (p->keys.n > 0) {
        put(f, "<div class=\"scroll\" role=\"group\" tabindex=\"0\"");
        html_attr(&f->html, "aria-label", site_word(f->l, SITE_KEYS_TITLE));
        put(f, "><table class=\"rows list\"><thead><tr>");
        for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
            put(f, "<th scope=\"col\" class=\"text\">");
            put_word(f, columns[i]);
            put(f, "</th>");
        }
        put(f, "<th scope=\"col\">");
        put_word(f, SITE_KEYS_MADE);
        put(f, "</th><th scope=\"col\">");
        put_word(f, SITE_KEYS_USED);
        put(f, "</th><th scope=\"col\">");
        put_word(f, SITE_KEYS_REVOKE);
        put(f, "</th></tr></thead><tbody>");
        for (size_t i = 0; i < p->keys.n; i++)
            write_key(f, &p->keys.v[i]);
        put(f, "</tbody></table></div>\n");
    }
    put_form(f, "/dashboard/keys", NULL, false);
    put_field(f, SITE_KEYS_LABEL, "label", "text", NULL, site_word(f->l, SITE_KEYS_LABEL_HINT));
    put_button(f, SITE_KEYS_MAKE);
    put(f, "</form></section>\n");
}

static void write_password(struct frame *f)
{
    put(f, "<section id=\"own-password\">");
    write_heading(f, SITE_PASSWORD_TITLE, SITE_PASSWORD_WORDS);
    put_form(f, "/dashboard/password", NULL, false);
    /* whose password it is, for a browser that keeps it */
    put(f, "<input type=\"text\" name=\"user\" autocomplete=\"username\" hidden");
    html_attr(&f->html, "value", f->viewer);
    put(f, ">");
    put_field(f, SITE_PASSWORD_NOW, "password", "password", NULL, NULL);
    put_field(f, SITE_PASSWORD_NEW, "new_password", "password", NULL,
              site_word(f->l, SITE_FIELD_PASSWORD_HINT));
    put_button(f, SITE_PASSWORD_CHANGE);
    put(f, "</form></section>\n");
}

void page_dashboard_write(struct frame *f, const struct dashboard_page *p)
{
    frame_begin(f, site_word(f->l, SITE_DASHBOARD_TITLE));
    frame_heading(f, site_word(f->l, SITE_DASHBOARD_TITLE), NULL);
    put_form(f, "/sign-out", NULL, false);
    put(f, "<p class=\"facts\">");
    put_link(f, "/users", f->viewer);
    put_text(f, f->viewer);
    put(f, "</a> ");
    put_button(f, SITE_SIGN_OUT);
    put(f, "</p></form>\n");
    if (p->password_changed) {
        put(f, "<p class=\"notice\" role=\"status\">");
        put_word(f, SITE_PASSWORD_CHANGED);
        put(f, "</p>\n");
    }
    write_upload(f);
    put(f, "<section>");
    write_heading(f, SITE_DASHBOARD_RUNS, SITE_DASHBOARD_RUNS_WORDS);
    if (p->runs.n > 0)
        put(f, "<ul class=\"runs\">\n");
    for (size_t i = 0; i < p->runs.n; i++)
        put_run_card(f, &p->runs.v[i], NULL);
    if (p->runs.n > 0)
        put(f, "</ul>");
    put_pager(f, "/dashboard", p->runs.next);
    put(f, "</section>\n");
    write_keys(f, p);
    put_setups(f, &p->setups);
    write_password(f);
    frame_end(f);
}

/* ---- device login ---------------------------------------------------------------------------- */

void page_device_write(struct frame *f, const struct device_page *p)
{
    frame_begin(f, site_word(f->l, SITE_DEVICE_TITLE));
    frame_heading(f, site_word(f->l, SITE_DEVICE_TITLE), site_word(f->l, SITE_DEVICE_LEAD));
    put_form(f, "/device", NULL, false);
    if (!p->device) {
        put_field(f, SITE_DEVICE_CODE, "code", "text", p->code,
                  site_word(f->l, SITE_DEVICE_CODE_HINT));
        put_button(f, SITE_DEVICE_GO_ON);
    } else {
        put_hidden(f, "code", p->code);
        put(f, "<p>");
        put_word(f, SITE_DEVICE_ASKS);
        put(f, " <b>");
        put_text(f, p->device->label);
        put(f, "</b> · <code>");
        put_text(f, p->code);
        put(f, "</code></p><p class=\"actions\"><button type=\"submit\" name=\"answer\" "
               "value=\"yes\">");
        put_word(f, SITE_DEVICE_ALLOW);
        put(f, "</button> <button type=\"submit\" name=\"answer\" value=\"no\">");
        put_word(f, SITE_DEVICE_REFUSE);
        put(f, "</button></p>");
    }
    put(f, "</form>\n");
    frame_end(f);
}

/* ---- a user ---------------------------------------------------------------------------------- */

void page_user_write(struct frame *f, const struct user_page *p)
{
    frame_begin(f, p->user.name);
    frame_heading(f, p->user.name, NULL);
    put(f, "<p class=\"facts\">");
    site_say_model_counts(f->l, html_scratch(&f->html), .n = p->user.run_count);
    html_text_scratch(&f->html);
    put(f, " · ");
    put_word(f, SITE_USER_SINCE);
    put(f, " ");
    put_day(f, p->user.created_ms);
    put(f, "</p>\n");
    put_hidden_heading(f, SITE_RUNS_TITLE);
    put(f, "<ul class=\"runs\">\n");
    for (size_t i = 0; i < p->runs.n; i++)
        put_run_card(f, &p->runs.v[i], p->runs.cells ? &p->runs.cells[i] : NULL);
    put(f, "</ul>\n");
    put_pager(f, NULL, p->runs.next);
    frame_end(f);
}
