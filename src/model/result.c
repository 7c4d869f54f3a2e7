/* result.c - life cycle, adding and finding. What a struct holds is known to the tables of
 * result_fields.c; nothing here names a field twice. */
#include "model/result.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "model/result_fields.h"

void machine_release(struct machine *m)
{
    fields_release(&machine_fields, m);
}

void result_init(struct result *r)
{
    fields_init(&result_fields, r);
}

void result_release(struct result *r)
{
    fields_release(&result_fields, r);
}

void cell_init(struct cell *c, int64_t context_tokens, int concurrency)
{
    fields_init(&cell_fields, c);
    c->context_tokens = context_tokens;
    c->concurrency = concurrency;
}

void cell_release(struct cell *c)
{
    fields_release(&cell_fields, c);
}

void prefill_row_init(struct prefill_row *p, int64_t context_tokens)
{
    fields_init(&prefill_fields, p);
    p->context_tokens = context_tokens;
}

void prefill_row_release(struct prefill_row *p)
{
    fields_release(&prefill_fields, p);
}

struct cell *result_add_cell_take(struct result *r, struct cell *c)
{
    MEM_GROW(r->decode, r->decode_count, r->decode_cap);
    r->decode[r->decode_count] = *c;
    memset(c, 0, sizeof *c);
    return &r->decode[r->decode_count++];
}

struct prefill_row *result_add_prefill_take(struct result *r, struct prefill_row *p)
{
    MEM_GROW(r->prefill, r->prefill_count, r->prefill_cap);
    r->prefill[r->prefill_count] = *p;
    memset(p, 0, sizeof *p);
    return &r->prefill[r->prefill_count++];
}

static char *dup_or_null(const char *s)
{
    return s ? mem_strdup(s) : NULL;
}

void result_add_fact(struct result *r, const char *name, const char *value, const char *source)
{
    for (size_t i = 0; i < r->server.fact_count; i++) {
        struct fact *known = &r->server.facts[i];
        if (strcmp(known->name, name) != 0)
            continue;
        mem_set_string(&known->value, value);
        mem_set_string(&known->source, source);
        return;
    }
    MEM_GROW(r->server.facts, r->server.fact_count, r->server.fact_cap);
    r->server.facts[r->server.fact_count++] = (struct fact){
        .name = mem_strdup(name), .value = dup_or_null(value), .source = dup_or_null(source)};
}

enum { LINE_MAX_BYTES = 4096 }; /* of an event or a note; the rest is cut off */

ATTR_PRINTF(1, 0)
static char *format_line(const char *format, va_list args)
{
    char text[LINE_MAX_BYTES];
    vsnprintf(text, sizeof text, format, args);
    return mem_strdup(text);
}

const struct fact *result_fact(const struct result *r, const char *name)
{
    for (size_t i = 0; i < r->server.fact_count; i++)
        if (r->server.facts[i].name && strcmp(r->server.facts[i].name, name) == 0)
            return &r->server.facts[i];
    return NULL;
}

void result_add_event(struct result *r, const char *level, const char *format, ...)
{
    va_list args;
    if (r->event_count >= RESULT_MAX_EVENTS)
        return;
    MEM_GROW(r->events, r->event_count, r->event_cap);
    struct result_event *e = &r->events[r->event_count++];
    *e = (struct result_event){.level = mem_strdup(level)};
    clock_utc_text(e->at);
    va_start(args, format);
    e->text = format_line(format, args);
    va_end(args);
}

void result_add_note(struct result *r, const char *format, ...)
{
    va_list args;
    MEM_GROW(r->notes, r->note_count, r->note_cap);
    va_start(args, format);
    r->notes[r->note_count++] = format_line(format, args);
    va_end(args);
}

struct cell *result_cell(const struct result *r, int64_t context_tokens, int concurrency)
{
    for (size_t i = 0; i < r->decode_count; i++)
        if (r->decode[i].context_tokens == context_tokens &&
            r->decode[i].concurrency == concurrency)
            return &r->decode[i];
    return NULL;
}

struct prefill_row *result_prefill(const struct result *r, int64_t context_tokens)
{
    for (size_t i = 0; i < r->prefill_count; i++)
        if (r->prefill[i].context_tokens == context_tokens)
            return &r->prefill[i];
    return NULL;
}

size_t result_count_status(const struct result *r, enum cell_status s)
{
    size_t n = 0;
    for (size_t i = 0; i < r->decode_count; i++)
        n += r->decode[i].status == s;
    return n;
}
