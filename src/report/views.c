/* views.c - one row for each figure. */
#include "report/views.h"

#include <math.h>
#include <string.h>

static double total_of(const struct result *r, const struct cell *c)
{
    (void)r;
    return c->total_tok_s;
}

static double each_of(const struct result *r, const struct cell *c)
{
    (void)r;
    return c->per_request_tok_s;
}

static double ttft_of(const struct result *r, const struct cell *c)
{
    (void)r;
    return c->ttft_ms.p50;
}

static double itl_of(const struct result *r, const struct cell *c)
{
    (void)r;
    return c->itl_ms.p50;
}

static double fact_of(const struct result *r, const char *name)
{
    const struct fact *f = result_fact(r, name);
    double v;
    return f && f->value && num_parse_double(f->value, &v) && v > 0 ? v : NAN;
}

void bound_get(const struct result *r, struct bound *ret)
{
    ret->bytes_per_token = fact_of(r, "weight_bytes_per_token");
    ret->bytes_s = fact_of(r, "memory_bandwidth_bytes_s");
    ret->tok_s = ret->bytes_s / ret->bytes_per_token;
}

static double bound_of(const struct result *r, const struct cell *c)
{
    struct bound bound;
    bound_get(r, &bound);
    return 100 * c->per_request_tok_s / bound.tok_s;
}

const struct view views[] = {
    {"total", WORD_VIEW_TOTAL, WORD_DECODE_BY, WORD_UNIT_TOK_S, -1, total_of},
    {"each", WORD_VIEW_EACH, WORD_VIEW_EACH_BY, WORD_UNIT_TOK_S, -1, each_of},
    {"ttft", WORD_VIEW_TTFT, WORD_VIEW_TTFT_BY, WORD_UNIT_MS, 0, ttft_of},
    {"itl", WORD_VIEW_ITL, WORD_VIEW_ITL_BY, WORD_UNIT_MS, 1, itl_of},
    {"bound", WORD_VIEW_BOUND, WORD_VIEW_BOUND_BY, WORD_UNIT_PERCENT, 0, bound_of},
};
const size_t view_count = ARRAY_LEN(views);

bool view_has_any(const struct view *v, const struct result *r)
{
    for (size_t i = 0; i < r->decode_count; i++)
        if (status_has_numbers(r->decode[i].status) && isfinite(v->value(r, &r->decode[i])))
            return true;
    return false;
}

const char *view_text(const struct view *v, const struct lang *l, char *out, double value)
{
    return v->decimals < 0 ? lang_rate(l, out, value) : lang_number(l, out, value, v->decimals);
}

void scale_init(struct scale *s)
{
    s->least = s->most = NAN;
}

void scale_add(struct scale *s, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    s->least = fmin(s->least, value); /* fmin and fmax ignore NAN */
    s->most = fmax(s->most, value);
}

struct scale scale_of(const struct view *v, const struct result *r)
{
    struct scale s;
    scale_init(&s);
    for (size_t i = 0; i < r->decode_count; i++)
        if (status_has_numbers(r->decode[i].status))
            scale_add(&s, v->value(r, &r->decode[i]));
    return s;
}

int scale_step(const struct scale *s, double value, int steps)
{
    if (!(value > 0) || !isfinite(value) || !(s->least > 0))
        return -1;
    double span = log(s->most / s->least);
    double place = span > 0 ? log(value / s->least) / span : 1;
    return (int)lround(fmin(fmax(place, 0), 1) * (steps - 1));
}
