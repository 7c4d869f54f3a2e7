/* page_setups.c - a user's saved setups, within the dashboard. */
#include <string.h>

#include "base/json.h"
#include "report/plain.h"
#include "site/site_pages.h"

const struct setup_field setup_fields[SETUP_FIELDS] = {
    {"model", SITE_SETUP_MODEL},
    {"hardware", SITE_SETUP_HARDWARE},
    {"engine", SITE_SETUP_ENGINE},
    {"engine_version", SITE_SETUP_VERSION},
    {"quantization", SITE_SETUP_QUANTIZATION},
    {"launch_command", SITE_SETUP_COMMAND}, /* the last one: it is long */
};

static void write_command(struct frame *f, const char *command)
{
    struct buf lines;
    buf_init(&lines, 2 * (size_t)PLAIN_COMMAND_MAX);
    plain_add_command(&lines, command);
    put(f, "<div class=\"wide\"><dt>");
    put_word(f, setup_fields[SETUP_FIELDS - 1].word);
    put(f, "</dt><dd><pre tabindex=\"0\"><code>");
    html_text(&f->html, lines.p);
    put(f, "</code></pre></dd></div>");
    buf_release(&lines);
}

/* What the body holds, as far as it is ours; programs may keep more in it. */
static void write_body(struct frame *f, const char *body)
{
    struct err ignored;
    json_t *document = json_parse(body, strlen(body), "setup", &ignored);
    put(f, "<dl class=\"setup\">");
    for (size_t i = 0; i < SETUP_FIELDS; i++) {
        const char *text = json_string_value(json_object_get(document, setup_fields[i].name));
        if (!text || !*text)
            continue;
        if (i + 1 == SETUP_FIELDS) {
            write_command(f, text);
            continue;
        }
        put(f, "<div><dt>");
        put_word(f, setup_fields[i].word);
        put(f, "</dt><dd>");
        put_text(f, text);
        put(f, "</dd></div>");
    }
    put(f, "</dl>");
    json_decref(document);
}

static void write_setup(struct frame *f, const struct store_setup *setup)
{
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)setup->id);
    put(f, "<li class=\"waiting\"><h3>");
    put_text(f, setup->name);
    if (setup->is_default) {
        put(f, " <span class=\"badge good\">");
        put_word(f, SITE_SETUP_DEFAULT);
        put(f, "</span>");
    }
    put(f, "</h3><p class=\"meta\">");
    put_day(f, setup->updated_ms);
    put(f, "</p>");
    write_body(f, setup->body);
    put_form(f, "/dashboard/setups", id, false);
    put(f, "<p class=\"actions choices\">");
    if (!setup->is_default)
        put_button_value(f, SITE_SETUP_MAKE_DEFAULT, "change", "default");
    put_button_value(f, SITE_SETUPS_DELETE, "change", "delete");
    put(f, "</p></form></li>\n");
}

static void write_new(struct frame *f)
{
    put(f, "<details class=\"more\"><summary>");
    put_word(f, SITE_SETUP_ADD);
    put(f, "</summary>\n");
    put_form(f, "/dashboard/setups", NULL, false);
    put_field(f, SITE_SETUP_NAME, "name", "text", NULL, site_word(f->l, SITE_SETUP_NAME_HINT));
    for (size_t i = 0; i + 1 < SETUP_FIELDS; i++)
        put_field(f, setup_fields[i].word, setup_fields[i].name, "text", NULL, NULL);
    put_area(f, setup_fields[SETUP_FIELDS - 1].word, setup_fields[SETUP_FIELDS - 1].name, NULL);
    put(f, "<p class=\"field check\"><input type=\"checkbox\" id=\"default\" name=\"default\" "
           "value=\"1\"><label for=\"default\">");
    put_word(f, SITE_SETUP_IS_DEFAULT);
    put(f, "</label></p>");
    put_button(f, SITE_SETUP_SAVE);
    put(f, "</form></details>\n");
}

void put_setups(struct frame *f, const struct store_setups *setups)
{
    put(f, "<section id=\"setups\"><h2>");
    put_word(f, SITE_SETUPS_TITLE);
    put(f, "</h2><p class=\"by\">");
    put_word(f, SITE_SETUPS_WORDS);
    put(f, "</p>\n");
    if (setups->n > 0) {
        put(f, "<ul class=\"queue\">\n");
        for (size_t i = 0; i < setups->n; i++)
            write_setup(f, &setups->v[i]);
        put(f, "</ul>\n");
    }
    write_new(f);
    put(f, "</section>\n");
}
