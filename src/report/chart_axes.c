/* chart_axes.c - round numbers for axes: ticks are 1, 2 or 5 times a power of ten. */
#include "report/chart_axes.h"

#include <math.h>

double axis_place(const struct axis *a, double v)
{
    double low = a->log ? log(a->low) : a->low, high = a->log ? log(a->high) : a->high;
    double at = a->log ? log(v) : v;
    double share = high > low ? (at - low) / (high - low) : 0.5;
    return a->from + share * (a->to - a->from);
}

struct axis axis_x(const struct chart *c, double right)
{
    enum { INSET = 21, ROOM = 42 };
    struct axis a = {.log = c->x_log, .from = CHART_LEFT + INSET, .to = right - INSET};
    size_t count = c->x_tick_count;
    a.low = count && a.log ? c->x_ticks[0] : 0;
    a.high = count ? c->x_ticks[count - 1] : 1;
    double least = count ? axis_place(&a, c->x_ticks[0]) : 0, last = INFINITY;
    for (size_t i = count; i > 0; i--) { /* both ends, and what has room between them */
        double at = axis_place(&a, c->x_ticks[i - 1]);
        bool end = i == 1 || i == count;
        if (last - at < ROOM || (!end && at - least < ROOM))
            continue;
        a.ticks[a.tick_count++] = c->x_ticks[i - 1];
        last = at;
    }
    return a;
}

/* The extent of all values, intervals included. */
static void extent(const struct chart *c, double *ret_least, double *ret_most)
{
    double least = NAN, most = NAN;
    for (size_t i = 0; i < c->count; i++) {
        for (size_t k = 0; k < c->series[i].count; k++) {
            const struct chart_point *p = &c->series[i].points[k];
            bool low_fits = !c->y_log || p->low > 0;
            if (c->y_log && !(p->y > 0))
                continue;
            least = fmin(fmin(least, p->y), low_fits ? p->low : NAN);
            most = fmax(fmax(most, p->y), p->high);
        }
    }
    *ret_least = isnan(least) ? 1 : least;
    *ret_most = isnan(most) ? 1 : most;
}

/* The i-th number of ..., 0.5, 1, 2, 5, 10, ... */
static double round_number(int i)
{
    static const double digits[] = {1, 2, 5};
    int digit = (i % 3 + 3) % 3, power = (i - digit) / 3;
    return digits[digit] * pow(10, power);
}

/* The last round number that is not above v. */
static int round_below(double v)
{
    int i = 3 * (int)floor(log10(v)) - 1;
    while (round_number(i + 1) <= v * (1 + 1e-9))
        i++;
    return i;
}

static void log_ticks(struct axis *a, double least, double most)
{
    enum { FEW = 8 };
    int first = round_below(least), last = round_below(most);
    if (round_number(last) < most * (1 - 1e-9))
        last++;
    last += last == first;
    a->low = round_number(first);
    a->high = round_number(last);
    bool decades = last - first + 1 > FEW;
    for (int i = first; i <= last && a->tick_count < CHART_TICKS_MAX; i++)
        if (!decades || i % 3 == 0)
            a->ticks[a->tick_count++] = round_number(i);
}

static void linear_ticks(struct axis *a, double most)
{
    enum { STEPS = 5 };
    double step = round_number(round_below(fmax(most, 1e-9) / STEPS));
    if (most / step > 1.6 * STEPS)
        step = round_number(round_below(step) + 1);
    a->high = ceil(most / step - 1e-9) * step;
    int count = (int)lround(a->high / step) + 1;
    for (int i = 0; i < count && i < CHART_TICKS_MAX; i++)
        a->ticks[a->tick_count++] = step * i;
}

struct axis axis_y(const struct chart *c)
{
    static const double wide = 4; /* a logarithmic axis over less has too few round numbers */
    struct axis a = {.from = CHART_BOTTOM, .to = CHART_TOP};
    double least, most;
    extent(c, &least, &most);
    a.log = c->y_log && most / least >= wide;
    if (a.log)
        log_ticks(&a, least, most);
    else
        linear_ticks(&a, fmax(most, c->y_top));
    return a;
}
