/* cell_rig.h - a decode cell without a server: streams whose tokens the test makes, at instants it
 * chooses. Times are milliseconds since some moment; the window is [1000, 1000 + duration). */
#ifndef TOKGRID_TESTS_CELL_RIG_H
#define TOKGRID_TESTS_CELL_RIG_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "load/cell.h"

enum { RIG_T0_MS = 1000, RIG_STREAMS = 8 };

struct cell_rig {
    struct session s;
    struct run_options options;
    struct run_control control;
    struct result result;
    struct cell cell;
    struct cell_run run;
    struct row_context row;
    struct transport transport;
    struct lane lanes[RIG_STREAMS];
    struct window_view view; /* of the server: nothing is known */
};

static inline int64_t rig_unread(const struct lane *lane)
{
    (void)lane;
    return 7;
}

static inline void cell_rig_init(struct cell_rig *r, int concurrency, int64_t duration_ms)
{
    static const struct transport_ops ops = {.kind = "none", .unread = rig_unread};
    static const struct run_listener nobody;
    memset(r, 0, sizeof *r);
    result_init(&r->result);
    r->result.plan.duration_ns = duration_ms * NS_PER_MS;
    r->s.options = &r->options;
    r->s.control = &r->control;
    r->s.result = &r->result;
    r->s.listener = &nobody;
    r->s.token_source = TOKENS_EVENTS;
    r->transport.ops = &ops;
    cell_init(&r->cell, 0, concurrency);
    r->run.s = &r->s;
    r->run.cell = &r->cell;
    r->run.row = &r->row;
    r->run.count = concurrency;
    r->run.streams = mem_array((size_t)concurrency, sizeof *r->run.streams);
    for (int i = 0; i < concurrency; i++) {
        struct cell_stream *cs = &r->run.streams[i];
        r->lanes[i].transport = &r->transport;
        cs->run = &r->run;
        cs->stream.lane = &r->lanes[i];
        cs->stream.user = cs;
        cs->stream.index = i;
    }
    tally_init(&r->run.tally, r->result.plan.duration_ns);
    r->view = monitor_window_none();
}

static inline void cell_rig_release(struct cell_rig *r)
{
    tally_release(&r->run.tally);
    for (int i = 0; i < r->run.count; i++)
        free(r->run.streams[i].stream.stamps);
    free(r->run.streams);
    cell_release(&r->cell);
    result_release(&r->result);
}

static inline int64_t rig_ms(double ms)
{
    return llround(ms * (double)NS_PER_MS);
}

static inline void rig_open(struct cell_rig *r, double at_ms)
{
    cell_open_window(&r->run, rig_ms(at_ms), r->result.plan.duration_ns);
}

static inline void rig_close(struct cell_rig *r)
{
    cell_close_window(&r->run);
    memset(r->run.tally.cpu_ns, 0,
           sizeof r->run.tally.cpu_ns); /* the thread's real time is no part of a test */
}

static inline void rig_send(struct cell_rig *r, int stream, double at_ms)
{
    r->run.streams[stream].stream.stamp_count = 0;
    r->run.streams[stream].stream.record = (struct record){.planned_at = rig_ms(at_ms),
                                                           .send_at = rig_ms(at_ms),
                                                           .prompt_tokens = -1,
                                                           .completion_tokens = -1,
                                                           .cached_tokens = -1,
                                                           .reasoning_tokens = -1,
                                                           .prompt_ms = NAN};
}

static inline void rig_token(struct cell_rig *r, int stream, double at_ms, int64_t tokens)
{
    struct stream *s = &r->run.streams[stream].stream;
    if (!s->record.first_token_at)
        s->record.first_token_at = rig_ms(at_ms);
    s->record.last_token_at = rig_ms(at_ms);
    s->record.token_events++;
    MEM_GROW(s->stamps, s->stamp_count, s->stamp_cap);
    s->stamps[s->stamp_count++] = (struct token_stamp){rig_ms(at_ms), (int32_t)tokens};
    cell_on_token(&r->run, s, rig_ms(at_ms), tokens);
}

/* `count` tokens, one event each, from at_ms on. */
static inline void rig_tokens(struct cell_rig *r, int stream, double at_ms, double every_ms,
                              int count)
{
    for (int i = 0; i < count; i++)
        rig_token(r, stream, at_ms + i * every_ms, 1);
}

static inline void rig_end(struct cell_rig *r, int stream, double at_ms, enum outcome outcome)
{
    struct cell_stream *cs = &r->run.streams[stream];
    cs->stream.record.outcome = outcome;
    cs->stream.record.close_at = rig_ms(at_ms);
    cell_end_request(&r->run, cs);
}

#endif
