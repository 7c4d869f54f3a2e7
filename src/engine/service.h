/* service.h - the emulated engine as a server: HTTP in front, one face, the scheduler behind.
 *
 * The layer's front door. Everything runs on the loop's thread, from loop_turn. A request for a
 * completion becomes a stream of events at the times the engine decides; pages about the engine
 * (models, metrics, tokenizing) are answered at once. Every response says by its Server header what
 * answers, and the models list holds an "emulator" object, so that no client can take the figures
 * for an engine's. */
#ifndef TOKGRID_ENGINE_SERVICE_H
#define TOKGRID_ENGINE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/fault.h"
#include "engine/profile.h"
#include "net/loop.h"

/* Names of the faces, NULL-ended, and their default. */
extern const char *const service_faces[];

struct service_options {
    const char *face; /* one of service_faces */
    const struct profile *profile;
    double speed;
    const char *host; /* NULL: 127.0.0.1 */
    uint16_t port;    /* 0: the system picks one */
    const char *api_key;
    bool no_metrics;      /* as an engine started without them */
    bool cached_in_usage; /* usage tells cached prompt tokens also where that has to be asked for */
    const struct faults *faults; /* NULL: none */
};

struct service_counts {
    int64_t requests;                            /* for completions, refused ones included */
    int64_t completed, aborted, refused, broken; /* broken: by a fault */
    int64_t prompt_tokens, generated_tokens;
    int64_t late_ns; /* see engine_stats */
};

/* The loop is borrowed, as is all that the options point to. NULL: err says why. */
struct service *service_new(struct loop *loop, const struct service_options *options,
                            struct err *err) ATTR_CHECK;
void service_free(struct service *s);
const char *service_url(const struct service *s);
void service_read_counts(const struct service *s, struct service_counts *ret);

#endif
