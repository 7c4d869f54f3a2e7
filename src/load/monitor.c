/* monitor.c - a polling thread and the arithmetic over its readings. */
#include "load/monitor.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"
#include "load/metrics_text.h"
#include "load/monitor_view.h"
#include "stats/summary.h"

enum { METRICS_MAX_BYTES = 16 << 20, LOAD_MAX_BYTES = 4 << 20, MAX_GPUS = 16 };

static const int64_t late_ns = 40 * NS_PER_MS;

struct monitor {
    struct endpoint const *endpoint;
    struct metrics_source source;
    struct hardware_probe *gpus;
    bool metrics;
    int64_t interval_ns;
    pthread_t thread;
    atomic_int stop;
    pthread_mutex_t lock;
    pthread_cond_t poked;
    bool poke;            /* guarded by lock */
    struct reading *list; /* guarded by lock, oldest first */
    size_t count, cap;    /* guarded by lock */
};

static double metric(const struct buf *text, const char *const *names, const char *model)
{
    double v;
    return metrics_sum_first(text->p, text->len, names, model, &v) ? v : NAN;
}

/* A reading in which nothing is known yet. */
static struct reading nothing_read(void)
{
    return (struct reading){.running = NAN,
                            .waiting = NAN,
                            .generated = NAN,
                            .prompt = NAN,
                            .preemptions = NAN,
                            .prefix_hits = NAN,
                            .prefill_s = NAN,
                            .prefills = NAN,
                            .kv_used = NAN,
                            .power_w = NAN};
}

bool monitor_read_load(struct fetcher *f, const struct metrics_source *source,
                       struct server_load *ret)
{
    struct fetch_reply reply = {0};
    struct err err;
    json_t *page = NULL;

    *ret = (struct server_load){NAN, NAN, NAN};
    if (!source->dialect->read_load)
        return false;
    buf_init(&reply.body, LOAD_MAX_BYTES);
    if (fetch(f, source->facts->load_path, NULL, 5 * NS_PER_S, &reply, &err) && reply.status == 200)
        page = json_loadb(reply.body.p, reply.body.len, 0, NULL);
    buf_release(&reply.body);
    bool ok = page && source->dialect->read_load(page, ret);
    json_decref(page);
    return ok;
}

static void read_figures(const struct buf *text, const struct metrics_source *source,
                         struct reading *ret)
{
    const struct metric_names *names = &source->dialect->metrics;
    const struct {
        double *to;
        const char *const *names;
    } rows[] = {
        {&ret->running, names->running},         {&ret->waiting, names->waiting},
        {&ret->generated, names->generated},     {&ret->prompt, names->prompt},
        {&ret->preemptions, names->preemptions}, {&ret->prefix_hits, names->prefix_hits},
        {&ret->prefill_s, names->prefill_s},     {&ret->prefills, names->prefills},
        {&ret->kv_used, names->kv_used},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        *rows[i].to = metric(text, rows[i].names, source->model);
}

bool monitor_read_metrics(struct fetcher *f, const struct metrics_source *source,
                          struct reading *ret)
{
    struct fetch_reply reply = {0};
    struct server_load load;
    struct err err;

    *ret = nothing_read();
    if (!source->dialect->metrics.running[0])
        return false;
    buf_init(&reply.body, METRICS_MAX_BYTES);
    int64_t before = clock_now();
    bool ok = fetch(f, source->facts->metrics_path, NULL, 5 * NS_PER_S, &reply, &err) &&
              reply.status == 200;
    if (ok) {
        read_figures(&reply.body, source, ret);
        if (source->dialect->counts_when_done)
            ret->generated =
                monitor_read_load(f, source, &load) ? ret->generated + load.generated : NAN;
        ok = !isnan(ret->running) && !isnan(ret->waiting);
    }
    ret->took = clock_now() - before;
    ret->at = before + ret->took / 2;
    buf_release(&reply.body);
    return ok;
}

/* An answer that took much longer than the quickest one was held up on the way, and its counters
 * may be of any moment since they were asked for: better to count from its neighbours. */
static void distrust_late(struct reading *r, int64_t *quickest)
{
    if (r->took < *quickest)
        *quickest = r->took;
    if (r->took > 2 * *quickest + late_ns)
        r->generated = r->prompt = r->preemptions = r->prefix_hits = NAN;
}

static void read_gpus(struct monitor *m, struct reading *r)
{
    struct gpu_reading gpus[MAX_GPUS];
    size_t n = m->gpus ? hardware_probe_read(m->gpus, gpus, MAX_GPUS) : 0;
    r->power_w = n ? 0 : NAN;
    r->has_gpu = n > 0;
    for (size_t i = 0; i < n; i++) {
        r->power_w += gpus[i].power_w;
        r->throttled |= gpus[i].throttled_hw || gpus[i].throttled_thermal;
    }
}

/* Until `until`, or somebody pokes. */
static void wait_until(struct monitor *m, int64_t until)
{
    const struct timespec at = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    pthread_mutex_lock(&m->lock);
    while (!m->poke && pthread_cond_timedwait(&m->poked, &m->lock, &at) == 0)
        ;
    m->poke = false;
    pthread_mutex_unlock(&m->lock);
}

void monitor_poke(struct monitor *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->poke = true;
    pthread_cond_signal(&m->poked);
    pthread_mutex_unlock(&m->lock);
}

static void *poll_thread(void *ctx)
{
    struct monitor *m = ctx;
    struct fetcher *f = fetcher_new(m->endpoint, &m->stop);
    int64_t next_at = clock_now(), quickest = INT64_MAX / 4;

    while (!atomic_load(&m->stop)) {
        struct reading r;
        if (m->metrics && monitor_read_metrics(f, &m->source, &r)) {
            distrust_late(&r, &quickest);
        } else {
            /* an unanswered poll is no reading; without metrics the GPUs alone are one */
            r = nothing_read();
            r.at = clock_now();
        }
        read_gpus(m, &r);
        if (!isnan(r.running) || r.has_gpu) {
            pthread_mutex_lock(&m->lock);
            MEM_GROW(m->list, m->count, m->cap);
            m->list[m->count++] = r;
            pthread_mutex_unlock(&m->lock);
        }
        next_at += m->interval_ns;
        int64_t now = clock_now();
        if (next_at < now)
            next_at = now; /* a slow answer does not lead to a burst of polls */
        wait_until(m, next_at);
    }
    fetcher_free(f);
    return NULL;
}

/* Conditions wait by the wall clock unless told otherwise. */
static void init_condition(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

struct monitor *monitor_start(const struct endpoint *e, const struct metrics_source *source,
                              bool metrics, struct hardware_probe *gpus, int64_t interval_ns)
{
    struct monitor *m = mem_alloc(sizeof *m);
    sigset_t all, old;

    m->endpoint = e;
    m->source = *source;
    m->metrics = metrics;
    m->gpus = gpus;
    m->interval_ns = interval_ns;
    pthread_mutex_init(&m->lock, NULL);
    init_condition(&m->poked);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int problem = pthread_create(&m->thread, NULL, poll_thread, m);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (problem) {
        pthread_cond_destroy(&m->poked);
        pthread_mutex_destroy(&m->lock);
        free(m);
        return NULL;
    }
    return m;
}

void monitor_stop(struct monitor *m)
{
    if (!m)
        return;
    atomic_store(&m->stop, 1);
    monitor_poke(m);
    pthread_join(m->thread, NULL);
    pthread_cond_destroy(&m->poked);
    pthread_mutex_destroy(&m->lock);
    free(m->list);
    free(m);
}

int64_t monitor_cpu(const struct monitor *m)
{
    return m ? clock_cpu_of(m->thread) : 0;
}

bool monitor_has_metrics(const struct monitor *m)
{
    return m && m->metrics;
}

bool monitor_latest(struct monitor *m, struct reading *ret)
{
    pthread_mutex_lock(&m->lock);
    size_t n = m->count;
    while (n > 0 && m->metrics && isnan(m->list[n - 1].running))
        n--;
    if (n > 0)
        *ret = m->list[n - 1];
    pthread_mutex_unlock(&m->lock);
    return n > 0;
}

bool monitor_view_idle(const struct reading *list, size_t n, int64_t since, int64_t for_ns)
{
    int64_t first = 0, last = 0;

    for (size_t i = n; i > 0 && list[i - 1].at >= since; i--) {
        const struct reading *r = &list[i - 1];
        if (isnan(r->running))
            continue;
        if (!(r->running == 0 && r->waiting == 0))
            break; /* busy before; it may have been idle long enough since */
        first = r->at;
        last = last ? last : r->at;
    }
    return last != 0 && last - first >= for_ns;
}

bool monitor_idle_since(struct monitor *m, int64_t since, int64_t for_ns)
{
    pthread_mutex_lock(&m->lock);
    bool idle = monitor_view_idle(m->list, m->count, since, for_ns);
    pthread_mutex_unlock(&m->lock);
    return idle;
}

/* A counter at an instant, between the two readings around it. NAN outside of what was read.
 * Counters that go down (a request that ended between two pages) are held at their highest value.
 */
static double counter_at(const struct reading *list, size_t n, size_t offset, int64_t at)
{
    double before = NAN, highest = -INFINITY;
    int64_t before_at = 0;
    for (size_t i = 0; i < n; i++) {
        double v = *(const double *)((const char *)&list[i] + offset);
        if (isnan(v) || v < highest)
            continue;
        highest = v;
        if (list[i].at >= at) {
            if (isnan(before))
                return list[i].at == at ? v : NAN;
            double share = (double)(at - before_at) / (double)(list[i].at - before_at);
            return before + (v - before) * share;
        }
        before = v;
        before_at = list[i].at;
    }
    return NAN;
}

static double growth(const struct reading *list, size_t n, size_t offset, int64_t from, int64_t to)
{
    return counter_at(list, n, offset, to) - counter_at(list, n, offset, from);
}

struct window_view monitor_window_none(void)
{
    return (struct window_view){.running = NAN,
                                .running_held = NAN,
                                .waiting = NAN,
                                .waiting_share = NAN,
                                .kv_used_max = NAN,
                                .generated = NAN,
                                .preemptions = NAN,
                                .prefix_hits = NAN,
                                .power_w = NAN,
                                .energy_j = NAN};
}

struct window_view monitor_view(const struct reading *list, size_t count, int64_t from, int64_t to)
{
    struct window_view view = monitor_window_none();
    int64_t *at = mem_array(count + 1, sizeof *at);
    double *running = mem_array(count + 1, sizeof *running);
    double *waiting = mem_array(count + 1, sizeof *waiting);
    double *power = mem_array(count + 1, sizeof *power);
    int64_t *power_at = mem_array(count + 1, sizeof *power_at);
    size_t n = 0, powers = 0;
    double before = NAN;

    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &list[i];
        if (r->at < from || r->at >= to)
            continue;
        view.readings++;
        if (!isnan(r->power_w)) {
            power_at[powers] = r->at;
            power[powers++] = r->power_w;
        }
        view.throttled |= r->throttled;
        if (isnan(r->running)) /* a poll that failed says nothing about the server */
            continue;
        at[n] = r->at;
        running[n] = r->running;
        waiting[n++] = r->waiting;
        view.kv_used_max = fmax(view.kv_used_max, r->kv_used);
        /* one reading may catch a request and its replacement together; two in a row do not */
        if (!isnan(before))
            view.running_held = fmax(view.running_held, fmin(before, r->running));
        before = r->running;
    }
    if (n > 0) {
        view.running = step_average(at, running, n, from, to);
        view.waiting = step_average(at, waiting, n, from, to);
        view.waiting_share = step_share_above(at, waiting, n, from, to, 0);
    }
    if (powers > 1) {
        view.energy_j = trapezoid(power_at, power, powers, from, to);
        view.power_w = view.energy_j / ns_to_s(to - from);
    }
    view.generated = growth(list, count, offsetof(struct reading, generated), from, to);
    view.preemptions = growth(list, count, offsetof(struct reading, preemptions), from, to);
    view.prefix_hits = growth(list, count, offsetof(struct reading, prefix_hits), from, to);
    free(at);
    free(running);
    free(waiting);
    free(power);
    free(power_at);
    return view;
}

struct window_view monitor_window(struct monitor *m, int64_t from, int64_t to)
{
    pthread_mutex_lock(&m->lock);
    struct window_view view = monitor_view(m->list, m->count, from, to);
    pthread_mutex_unlock(&m->lock);
    return view;
}

bool monitor_settled(struct monitor *m, int64_t to)
{
    bool read = false, counts = false;

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->count; i++) {
        read |= m->list[i].at >= to;
        counts |= !isnan(m->list[i].generated);
    }
    if (counts)
        read = !isnan(counter_at(m->list, m->count, offsetof(struct reading, generated), to));
    pthread_mutex_unlock(&m->lock);
    return read;
}

void monitor_forget(struct monitor *m, int64_t before)
{
    size_t gone = 0;
    pthread_mutex_lock(&m->lock);
    while (gone < m->count && m->list[gone].at < before)
        gone++;
    if (gone)
        memmove(m->list, m->list + gone, (m->count - gone) * sizeof *m->list);
    m->count -= gone;
    pthread_mutex_unlock(&m->lock);
}
