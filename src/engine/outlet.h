/* outlet.h - how the events of one stream leave: each by a write of its own, unless a fault holds
 * the stream, bundles its events or cuts its writes. Private to engine/. */
#ifndef TOKGRID_ENGINE_OUTLET_H
#define TOKGRID_ENGINE_OUTLET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/face.h"
#include "engine/fault.h"
#include "net/loop.h"

struct outlet {
    /* given; borrowed */
    struct service *service;
    struct exchange *x;
    const struct fault *split, *bundle; /* NULL: not */
    /* The stream has ended, or `overflow`: more came while it was held than is kept, and somebody
     * has to end it. From outlet_finish or the loop; it may release the outlet. */
    void (*on_done)(void *ctx, bool overflow);
    void *ctx;

    /* its own */
    struct buf pending; /* what waits */
    int64_t bundled;    /* events in it */
    struct loop_timer release;
    bool head_sent, held;
    bool over; /* what is pending is all there will be */
};

/* Life cycle. Init the outlet whose first group is set. */
void outlet_init(struct outlet *o);
void outlet_release(struct outlet *o);

/* The response's head, unless it is out: also comes before the first event by itself. */
void outlet_head(struct outlet *o);

/* An event, copied where it has to wait; an empty one is none. */
void outlet_emit(struct outlet *o, const struct buf *event);

/* Keep everything back from now on for so long. */
void outlet_hold(struct outlet *o, int64_t ns);

/* No more comes: end the exchange, now or when it is no longer held. */
void outlet_finish(struct outlet *o);

#endif
