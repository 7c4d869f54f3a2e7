/* serve_setups.c - saved setups: by form, from a run of one's own, one of them the default. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/redact.h"
#include "site/serve.h"
#include "site/site_pages.h"

enum { SETUP_TEXT_MAX = 8000 };

/* A key in it would be sent to every program that fetches the setup. */
bool serve_setup_has_secret(const json_t *settings)
{
    struct redact_spans spans = {0};
    const char *command = json_string_value(json_object_get(settings, "launch_command"));
    char *text = json_dumps(settings, JSON_COMPACT);
    redact_find(text ? text : "", REDACT_JSON, &spans);
    bool found = spans.n > 0;
    redact_find(command ? command : "", REDACT_COMMAND, &spans);
    found = found || spans.n > 0;
    redact_spans_release(&spans);
    free(text);
    return found;
}

/* Takes the body's reference. */
static void save(struct visit *v, const char *name, json_t *body, bool is_default)
{
    int64_t id;
    char *text = json_dumps(body, JSON_COMPACT);
    bool ok = text && store_setup_put(v->store, v->user.id, name, text, is_default, &id, &v->err);
    free(text);
    json_decref(body);
    if (ok)
        visit_redirect(v, "/dashboard", NULL);
    else if (v->err.code == ERR_LIMIT || v->err.code == ERR_FORMAT)
        serve_show_dashboard(v, NULL, arena_strdup(&v->arena, v->err.text), 422);
    else
        visit_fail_err(v, &v->err);
}

void serve_setup_save(struct visit *v)
{
    const char *problem = NULL;
    json_t *body = json_object();
    for (size_t i = 0; i < SETUP_FIELDS; i++) {
        const char *text = visit_form(v, setup_fields[i].name);
        if (strlen(text) > SETUP_TEXT_MAX)
            problem = site_word(v->lang, SITE_SETUP_LONG);
        else if (*text)
            json_object_set_new(body, setup_fields[i].name, json_string(text));
    }
    if (serve_setup_has_secret(body))
        problem = site_word(v->lang, SITE_SETUP_SECRET);
    if (!problem) {
        save(v, visit_form(v, "name"), body, *visit_form(v, "default") != '\0');
        return;
    }
    json_decref(body);
    serve_show_dashboard(v, NULL, problem, 422);
}

void serve_run_setup(struct visit *v)
{
    struct store_run run;
    char name[STORE_LABEL_MAX + 1];
    if (!serve_find_run(v, v->match.args[0], &run))
        return;
    if (run.owner != v->user.id) {
        visit_fail(v, 403, "forbidden", site_word(v->lang, SITE_ERROR_NOT_YOURS), NULL);
        return;
    }
    const char *const texts[SETUP_FIELDS] = {run.model,        run.hardware_title,
                                             run.engine,       run.engine_version,
                                             run.quantization, run.launch_command};
    json_t *body = json_object();
    for (size_t i = 0; i < SETUP_FIELDS; i++)
        if (texts[i] && *texts[i])
            json_object_set_new(body, setup_fields[i].name, json_string(texts[i]));
    text_printable(name, sizeof name, run.title, strlen(run.title));
    save(v, name, body, false);
}

void serve_setup_change(struct visit *v)
{
    int64_t id;
    const char *change = visit_form(v, "change");
    bool is_default = strcmp(change, "default") == 0;
    if (!serve_id(v, v->match.args[0], &id))
        return;
    if (!is_default && strcmp(change, "delete") != 0) {
        visit_fail(v, 400, "invalid", site_word(v->lang, SITE_ERROR_FORM), "change");
        return;
    }
    bool ok = is_default ? store_setup_set_default(v->store, v->user.id, id, &v->err)
                         : store_setup_delete(v->store, v->user.id, id, &v->err);
    if (ok)
        visit_redirect(v, "/dashboard", NULL);
    else
        visit_fail_err(v, &v->err);
}
