/* progress.c - one picture, copied under a lock. */
#include "model/progress.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

const char *phase_words(enum run_phase p)
{
    static const char *const words[] = {
        [PHASE_PROBE] = "asking the server what it is",
        [PHASE_CALIBRATE] = "calibrating prompt lengths",
        [PHASE_WARMUP] = "warming up",
        [PHASE_PREFILL] = "measuring prefill",
        [PHASE_IDLE] = "waiting until the server is idle",
        [PHASE_RAMP] = "starting the streams",
        [PHASE_SETTLE] = "settling",
        [PHASE_WINDOW] = "counting",
        [PHASE_DRAIN] = "ending the streams",
        [PHASE_DONE] = "done",
    };
    return words[p];
}

void progress_init(struct progress *p)
{
    memset(p, 0, sizeof *p);
    p->eta_ns = -1;
    p->running = p->waiting = NAN;
    p->tok_s = p->client_cpu_pct = p->client_lag_ms = NAN;
    for (size_t i = 0; i < PLAN_MAX_CONTEXTS; i++) {
        p->prefill_tok_s[i] = p->prefill_ttft_ms[i] = NAN;
        for (size_t j = 0; j < PLAN_MAX_LEVELS; j++) {
            struct progress_cell *c = &p->cells[i][j];
            c->total_tok_s = c->ttft_ms = c->itl_ms = NAN;
        }
    }
}

void progress_box_init(struct progress_box *box)
{
    pthread_mutex_init(&box->lock, NULL);
    progress_init(&box->now);
}

void progress_box_release(struct progress_box *box)
{
    pthread_mutex_destroy(&box->lock);
}

void progress_put(struct progress_box *box, const struct progress *p)
{
    pthread_mutex_lock(&box->lock);
    box->now = *p;
    pthread_mutex_unlock(&box->lock);
}

void progress_get(struct progress_box *box, struct progress *out)
{
    pthread_mutex_lock(&box->lock);
    *out = box->now;
    pthread_mutex_unlock(&box->lock);
}

void progress_add_event(struct progress *p, const char *text)
{
    if (p->event_count == PROGRESS_EVENTS) {
        memmove(p->events[0], p->events[1], sizeof p->events - sizeof p->events[0]);
        p->event_count--;
    }
    text_printable(p->events[p->event_count++], PROGRESS_TEXT, text, strlen(text));
}
