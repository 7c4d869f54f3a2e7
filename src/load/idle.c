/* idle.c - no cell begins while the server is still busy with something else.
 *
 * With metrics: running and waiting are 0 for half a second. Without: a one-token request must come
 * back about as fast as it did on the idle server at the start. */
#include "base/clock.h"
#include "base/num.h"
#include "load/session.h"

static const int64_t idle_for_ns = 500 * NS_PER_MS, silent_for_ns = 10 * NS_PER_S;

static bool canary_returns(struct session *s)
{
    /* twice the idle TTFT, and never less than 50 ms more than it: tiny servers answer in 2 ms,
     * where twice is within the noise of a scheduler */
    int64_t limit = 2 * s->idle_ttft_ns;
    if (limit < s->idle_ttft_ns + 50 * NS_PER_MS)
        limit = s->idle_ttft_ns + 50 * NS_PER_MS;
    if (!session_ask(s, "", "Say OK.", s->first_tokens, "canary", 0))
        return false;
    const struct record *r = &s->single.record;
    return r->first_token_at && r->first_token_at - r->send_at <= limit;
}

/* Metrics that stay away altogether: the server hangs or is gone, and waiting will not help. */
static bool is_silent(struct session *s, int64_t since)
{
    struct reading r;
    int64_t last_at = monitor_latest(s->monitor, &r) && r.at > since ? r.at : since;
    return clock_now() - last_at > silent_for_ns;
}

bool session_wait_idle(struct session *s, int64_t limit_ns)
{
    int64_t give_up_at = clock_now() + limit_ns;

    session_phase(s, PHASE_IDLE, 0);
    if (!monitor_has_metrics(s->monitor)) {
        while (!canary_returns(s)) {
            if (session_skipping(s) || clock_now() >= give_up_at)
                return false;
            loop_turn(s->loop, clock_now() + 200 * NS_PER_MS);
        }
        return true;
    }
    int64_t began_at = clock_now();
    while (!monitor_idle_since(s->monitor, s->last_activity_at, idle_for_ns)) {
        if (session_skipping(s) || clock_now() >= give_up_at || is_silent(s, began_at))
            return false;
        loop_turn(s->loop, clock_now() + 50 * NS_PER_MS);
    }
    return true;
}
