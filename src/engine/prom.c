/* prom.c - the text exposition format, version 0.0.4. */
#include "engine/prom.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void prom_observe(struct prom_histogram *h, double value)
{
    size_t i = 0;
    assert(h->bound_count <= PROM_MAX_BUCKETS);
    while (i < h->bound_count && value > h->bounds[i])
        i++;
    h->bucket[i]++;
    h->n++;
    h->sum += value;
}

void prom_label(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\n') {
            buf_adds(out, "\\n");
            continue;
        }
        if (*value == '"' || *value == '\\')
            buf_addc(out, '\\');
        buf_addc(out, *value);
    }
    buf_addc(out, '"');
}

static void add_number(struct prom *p, double v)
{
    if (!p->python)
        buf_addf(p->out, "%g", v);
    else if (v == floor(v) && fabs(v) < 1e15)
        buf_addf(p->out, "%.1f", v);
    else
        buf_addf(p->out, "%.17g", v);
}

static void add_head(struct prom *p, const char *name, const char *suffix, const char *type,
                     const char *help)
{
    buf_addf(p->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix, type);
}

/* One line; `label` may be NULL. Labels are in alphabetical order. */
static void add_sample(struct prom *p, const char *name, const char *suffix, const char *label,
                       const char *label_value, double value)
{
    char own[160] = "";

    if (label)
        snprintf(own, sizeof own, "%s=\"%s\"", label, label_value);
    bool first = p->after && strcmp(own, p->after) < 0;
    const char *parts[] = {p->before, first ? own : p->after, first ? p->after : own};
    const char *between = "{";
    buf_addf(p->out, "%s%s", name, suffix);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!parts[i] || !*parts[i])
            continue;
        buf_addf(p->out, "%s%s", between, parts[i]);
        between = ",";
    }
    buf_adds(p->out, *between == ',' ? "} " : " ");
    add_number(p, value);
    buf_addc(p->out, '\n');
}

/* "x_total" was created as "x_created". */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name), suffix = strlen("_total");
    return n > suffix && strcmp(name + n - suffix, "_total") == 0 ? n - suffix : n;
}

static void add_created(struct prom *p, const char *name, const char *help, const char *label,
                        const struct prom_part *parts, size_t n)
{
    char stem[120];

    if (p->created_at <= 0)
        return;
    snprintf(stem, sizeof stem, "%.*s", (int)stem_length(name), name);
    add_head(p, stem, "_created", "gauge", help);
    for (size_t i = 0; i < n; i++)
        add_sample(p, stem, "_created", label, parts[i].label_value, p->created_at);
}

void prom_parts(struct prom *p, const char *name, const char *type, const char *help,
                const char *label, const struct prom_part *parts, size_t n)
{
    add_head(p, name, "", type, help);
    for (size_t i = 0; i < n; i++)
        add_sample(p, name, "", label, parts[i].label_value, parts[i].value);
    if (strcmp(type, "counter") == 0)
        add_created(p, name, help, label, parts, n);
}

void prom_value(struct prom *p, const char *name, const char *type, const char *help, double value)
{
    const struct prom_part part = {.value = value};
    prom_parts(p, name, type, help, NULL, &part, 1);
}

void prom_histogram_write(struct prom *p, const char *name, const char *help,
                          const struct prom_histogram *h)
{
    const struct prom_part part = {.label_value = ""};
    uint64_t upto = 0;
    char bound[32];

    add_head(p, name, "", "histogram", help);
    for (size_t i = 0; i <= h->bound_count; i++) {
        upto += h->bucket[i];
        if (i == h->bound_count)
            snprintf(bound, sizeof bound, "+Inf");
        else if (h->bounds[i] == floor(h->bounds[i]))
            snprintf(bound, sizeof bound, "%.1f", h->bounds[i]);
        else
            snprintf(bound, sizeof bound, "%.15g", h->bounds[i]);
        add_sample(p, name, "_bucket", "le", bound, (double)upto);
    }
    add_sample(p, name, "_count", NULL, NULL, (double)h->n);
    add_sample(p, name, "_sum", NULL, NULL, h->sum);
    add_created(p, name, help, NULL, &part, 1);
}
