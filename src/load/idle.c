/* idle.c - no cell begins while the server is still busy with something else.
 *
 * With metrics: running and waiting are 0 for half a second. Without: what the server's own page
 * about its load says, where it has one, and then a canary: a few tokens must come back about as
 * fast as they did on the idle server at the start. Work that goes on for requests that were closed
 * long ago shows in both: a canary waits behind it, or is decoded more slowly beside it. */
#include "base/clock.h"
#include "base/num.h"
#include "load/session.h"

static const int64_t idle_for_ns = 500 * NS_PER_MS, silent_for_ns = 10 * NS_PER_S,
                     leaving_ns = 50 * NS_PER_MS;

/* Twice as long as on the idle server, and a little more: where an answer takes 2 ms, twice is
 * within the noise of a scheduler. */
static bool as_fast_as_idle(int64_t took, int64_t idle, int64_t noise)
{
    return took <= 2 * idle || took <= idle + noise;
}

static bool canary_returns(struct session *s, int64_t give_up_at)
{
    enum { TOKENS = 8 };
    const struct record *r = &s->single.record;
    /* where answers come in one piece their first token comes with the last */
    int64_t tokens = s->first_tokens + (s->idle_itl_ns ? TOKENS : 0);

    /* not asked again meanwhile: in a queue the second would only stand behind the first */
    if (!session_ask_until(s, "", "Say OK.", tokens, "canary", 0, give_up_at))
        return false;
    /* whatever is wrong, it is not that somebody else is served */
    if (r->http_status && outcome_is_failure(r->outcome) && r->outcome != OUTCOME_REJECTED)
        return true;
    if (!r->first_token_at)
        return false;
    if (!as_fast_as_idle(r->first_token_at - r->send_at, s->idle_ttft_ns, 50 * NS_PER_MS))
        return false;
    int64_t gaps = r->token_events - 1;
    return s->idle_itl_ns == 0 || gaps < TOKENS / 2 ||
           as_fast_as_idle((r->last_token_at - r->first_token_at) / gaps, s->idle_itl_ns,
                           10 * NS_PER_MS);
}

static bool says_busy(struct session *s)
{
    struct server_load load;
    return monitor_read_load(s->fetcher, &s->metrics, &load) &&
           (load.running > 0 || load.waiting > 0);
}

static bool wait_by_canary(struct session *s, int64_t give_up_at)
{
    /* a moment for the server to see that we have left */
    while (clock_now() < s->last_activity_at + leaving_ns && !session_skipping(s))
        loop_turn(s->loop, s->last_activity_at + leaving_ns);
    while (says_busy(s) || !canary_returns(s, give_up_at)) {
        if (session_skipping(s) || clock_now() >= give_up_at)
            return false;
        const struct record *r = &s->single.record; /* no answer at all: is anybody there? */
        if (outcome_is_failure(r->outcome) && !r->http_status && !session_server_alive(s))
            return false;
        loop_turn(s->loop, clock_now() + 200 * NS_PER_MS);
    }
    return true;
}

/* Metrics that stay away altogether: the server hangs or is gone, and waiting will not help. */
static bool is_silent(struct session *s, int64_t since)
{
    struct reading r;
    int64_t last_at = monitor_latest(s->monitor, &r) && r.at > since ? r.at : since;
    return clock_now() - last_at > silent_for_ns;
}

static bool wait_by_metrics(struct session *s, int64_t give_up_at)
{
    int64_t began_at = clock_now();
    while (!monitor_idle_since(s->monitor, s->last_activity_at, idle_for_ns)) {
        if (session_skipping(s) || clock_now() >= give_up_at || is_silent(s, began_at))
            return false;
        loop_turn(s->loop, clock_now() + 50 * NS_PER_MS);
    }
    return true;
}

bool session_wait_idle(struct session *s, int64_t limit_ns)
{
    int64_t give_up_at = clock_now() + limit_ns;

    session_phase(s, PHASE_IDLE, 0);
    if (monitor_has_metrics(s->monitor))
        return wait_by_metrics(s, give_up_at);
    /* the wait after a cell is the one before the next: nothing was asked since */
    if (s->idle_at && s->idle_at >= s->last_activity_at)
        return true;
    bool idle = wait_by_canary(s, give_up_at);
    s->idle_at = idle ? clock_now() : 0;
    return idle;
}
