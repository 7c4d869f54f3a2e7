/* publish.c - what a document must hold before the public sees it, and what makes it doubtful. */
#include "site/publish.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "model/gpu_bandwidth.h"
#include "model/redact_result.h"
#include "report/views.h"

/* How far above what memory bandwidth allows a figure may lie: data sheets round, clocks vary. */
static const double BOUND_SLACK = 1.05;

static bool check_names(struct publication *p, struct err *err)
{
    const struct result *r = &p->result;
    const char *model =
        r->subject.model && *r->subject.model ? r->subject.model : r->subject.served_model;
    p->field = "subject.model";
    if (!model || !*model)
        return err_set(err, ERR_FORMAT, "subject.model: a published run names its model");
    if (strlen(model) > 200 || model[strspn(model, "./")] == '\0')
        return err_set(err, ERR_FORMAT, "subject.model: this is no model's name");
    p->field = "hardware";
    if (r->hardware.gpu_count == 0 && (!r->hardware.cpu || !*r->hardware.cpu))
        return err_set(err, ERR_FORMAT,
                       "hardware: a published run says on what it was measured; 'tokgrid run' and "
                       "'tokgrid publish' add it by --hardware FILE");
    p->field = "decode";
    if (r->decode_count == 0 && r->prefill_count == 0)
        return err_set(err, ERR_FORMAT, "decode: there is no measurement in it");
    return true;
}

/* A document that holds a secret is refused, not repaired: its owner should know. */
static bool check_secrets(struct publication *p, struct arena *a, struct err *err)
{
    p->field = redact_find_secret(&p->result, a);
    return !p->field || err_set(err, ERR_FORMAT,
                                "%.100s: it holds a key or a password; put *** there", p->field);
}

/* Tokens of one verification pass: more than engines are run with, so that no honest run is flagged
 * and a wild one is. */
enum { DRAFTED_MOST = 16 };

/* Drafted tokens let one request pass what reading the weights once for each token allows. */
static bool speculates(const struct result *r)
{
    const char *command = r->engine.launch_command, *flags = r->engine.flags;
    return (command &&
            (text_find_nocase(command, "speculative") || text_find_nocase(command, "draft"))) ||
           (flags && (text_find_nocase(flags, "speculative") || text_find_nocase(flags, "draft")));
}

double publication_bound(const struct result *r, int *ret_tokens)
{
    struct bound bound;
    bound_get(r, &bound);
    *ret_tokens = speculates(r) ? DRAFTED_MOST : 1;
    /* fmin passes over what is not known */
    double bytes_s = fmin(bound.bytes_s, machine_bandwidth(&r->hardware, NULL));
    return *ret_tokens * bytes_s / bound.bytes_per_token;
}

static const char *describe(const struct cell *c, double bound, int tokens, struct arena *a)
{
    if (tokens == 1)
        return arena_printf(a,
                            "One request got %.1f tok/s; reading the weights once for each token "
                            "allows %.1f tok/s.",
                            c->per_request_tok_s, bound);
    return arena_printf(a,
                        "One request got %.1f tok/s; reading the weights once for every %d drafted "
                        "tokens allows %.1f tok/s.",
                        c->per_request_tok_s, tokens, bound);
}

static void find_doubts(struct publication *p, struct arena *a)
{
    const struct result *r = &p->result;
    int tokens;
    double bound = publication_bound(r, &tokens);
    p->flags = arena_array(a, r->decode_count, sizeof *p->flags);
    for (size_t i = 0; i < r->decode_count; i++) {
        const struct cell *c = &r->decode[i];
        if (!status_has_numbers(c->status) || !(c->per_request_tok_s > bound * BOUND_SLACK))
            continue;
        p->flags[p->flag_count++] = (struct store_flag){
            .code = "above_bound",
            .text = describe(c, bound, tokens, a),
            .context_tokens = c->context_tokens,
            .concurrency = c->concurrency,
        };
    }
}

bool publication_read(struct publication *p, const char *document, size_t n, struct arena *a,
                      struct err *err)
{
    *p = (struct publication){.document = document, .bytes = n};
    if (n > RESULT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "the document is larger than %d bytes", RESULT_MAX_BYTES);
    if (!result_read_json(document, n, "run", &p->result, err) || !check_names(p, err) ||
        !check_secrets(p, a, err))
        return false;
    p->field = NULL;
    find_doubts(p, a);
    return true;
}

void publication_release(struct publication *p)
{
    result_release(&p->result);
}

static struct store_run_new as_new(const struct publication *p, int64_t owner, bool draft)
{
    return (struct store_run_new){
        .owner = owner,
        .result = &p->result,
        .document = p->document,
        .document_bytes = p->bytes,
        .state = draft ? STORE_RUN_DRAFT : STORE_RUN_PUBLIC,
        .flags = p->flags,
        .flag_count = p->flag_count,
    };
}

bool publication_store(struct store *s, const struct publication *p, int64_t owner, bool draft,
                       char ret_uid[UUID_TEXT_MAX], struct err *err)
{
    const struct store_run_new run = as_new(p, owner, draft);
    return store_run_add(s, &run, ret_uid, err);
}

bool publication_revise(struct store *s, const char *uid, const struct publication *p,
                        int64_t owner, const char *note, struct err *err)
{
    const struct store_run_new run = as_new(p, owner, false);
    return store_run_revise(s, uid, &run, note, err);
}
