/* serve_report.c - a run reported to the moderators, by form and by the API. */
#include <string.h>

#include "site/api_call.h"
#include "site/api_objects.h"
#include "site/report_reasons.h"
#include "site/serve.h"

/* False: answered. Only what is listed can be reported; drafts are nobody else's business. */
static bool add(struct visit *v, const char *uid, const char *reason, const char *text)
{
    struct store_run run;
    if (!serve_find_run(v, uid, &run))
        return false;
    if (store_report_add(v->store, run.uid, reason, text, &v->err))
        return true;
    visit_fail_err(v, &v->err);
    return false;
}

void serve_report_form(struct visit *v)
{
    const char *uid = v->match.args[0];
    const char *reason = visit_form(v, "reason"), *text = visit_form(v, "text");
    if (!report_reason_find(reason))
        visit_fail(v, 422, "invalid", site_word(v->lang, SITE_REPORT_NO_REASON), "reason");
    else if (strlen(text) > STORE_REPORT_TEXT_MAX)
        visit_fail(v, 422, "limit", site_word(v->lang, SITE_REPORT_LONG), "text");
    else if (add(v, uid, reason, text))
        response_redirect(v->response,
                          arena_printf(&v->arena, "/%s/runs/%s?reported=1", v->lang->code, uid));
}

void serve_api_report(struct visit *v)
{
    const char *text = api_value(v, "text");
    const struct api_report report = {
        .run = v->match.args[0], .reason = api_value(v, "reason"), .text = text ? text : ""};
    if (add(v, report.run, report.reason, report.text))
        api_answer(v, 201, &api_report, &report);
}
