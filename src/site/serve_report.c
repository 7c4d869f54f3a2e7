/* serve_report.c - a run reported to the moderators, by form and by the API. */
#include <string.h>

#include "site/report_reasons.h"
#include "site/serve.h"

enum { REPORTS_AN_HOUR = 20 };

/* False: answered. Only what is listed can be reported; drafts are nobody else's business. */
static bool add(struct visit *v, const char *uid, const char *reason, const char *text)
{
    struct store_run run;
    const char *user = arena_printf(&v->arena, "%lld", (long long)v->user.id);
    if (!serve_find_run(v, uid, &run) ||
        !visit_limit(v, "report", user, REPORTS_AN_HOUR, INT64_C(3600000)))
        return false;
    if (!report_reason_find(reason)) {
        visit_fail(v, 422, "invalid", site_word(v->lang, SITE_REPORT_NO_REASON), "reason");
        return false;
    }
    if (strlen(text) > STORE_REPORT_TEXT_MAX) {
        visit_fail(v, 422, "limit", site_word(v->lang, SITE_REPORT_LONG), "text");
        return false;
    }
    if (store_report_add(v->store, run.uid, reason, text, &v->err))
        return true;
    visit_fail_err(v, &v->err);
    return false;
}

void serve_report_form(struct visit *v)
{
    const char *uid = v->match.args[0];
    if (!add(v, uid, visit_form(v, "reason"), visit_form(v, "text")))
        return;
    response_redirect(v->response,
                      arena_printf(&v->arena, "/%s/runs/%s?reported=1", v->lang->code, uid));
}

void serve_api_report(struct visit *v)
{
    struct body_text fields[] = {{.name = "reason"}, {.name = "text", .optional = true}};
    const char *uid = v->match.args[0];
    if (!serve_body_texts(v, fields, ARRAY_LEN(fields)) ||
        !add(v, uid, fields[0].value, fields[1].value))
        return;
    visit_json(v, 201,
               json_pack("{s:s, s:s, s:s}", "run", uid, "reason", fields[0].value, "text",
                         fields[1].value));
}
