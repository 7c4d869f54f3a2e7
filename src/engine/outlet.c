/* outlet.c - a buffer for what waits, and a timer that ends the wait. */
#include "engine/outlet.h"

#include "base/clock.h"

enum { PENDING_MAX = 8 << 20 };

static void send_bytes(struct outlet *o, const char *p, size_t n)
{
    size_t piece = o->split ? (size_t)o->split->count : n;

    outlet_head(o);
    for (; n > 0; p += piece, n -= piece) {
        piece = piece < n ? piece : n;
        exchange_write(o->x, p, piece);
    }
}

static void send_pending(struct outlet *o)
{
    send_bytes(o, o->pending.p, o->pending.len);
    buf_reset(&o->pending);
    o->bundled = 0;
}

static void on_release(void *ctx)
{
    struct outlet *o = ctx;

    o->held = false;
    outlet_head(o);
    if (o->pending.overflow)
        o->on_done(o->ctx, true);
    else if (o->over)
        outlet_finish(o);
    else
        send_pending(o);
}

void outlet_init(struct outlet *o)
{
    buf_init(&o->pending, PENDING_MAX);
    o->release = (struct loop_timer){.fn = on_release, .ctx = o};
}

void outlet_release(struct outlet *o)
{
    loop_timer_cancel(o->service->loop, &o->release);
    buf_release(&o->pending);
}

void outlet_head(struct outlet *o)
{
    if (!o->head_sent)
        service_start_stream(o->service, o->x);
    o->head_sent = true;
}

void outlet_emit(struct outlet *o, const struct buf *event)
{
    if (event->len == 0)
        return;
    if (!o->held && !o->bundle) {
        send_bytes(o, event->p, event->len);
        return;
    }
    buf_add(&o->pending, event->p, event->len);
    o->bundled++;
    if (!o->held && o->bundled >= o->bundle->count)
        send_pending(o);
}

void outlet_hold(struct outlet *o, int64_t ns)
{
    o->held = true;
    loop_timer_set(o->service->loop, &o->release, clock_now() + ns);
}

void outlet_finish(struct outlet *o)
{
    if (o->held) {
        o->over = true;
        return;
    }
    send_pending(o);
    exchange_end(o->x);
    o->on_done(o->ctx, false);
}
