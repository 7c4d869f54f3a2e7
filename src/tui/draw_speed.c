/* draw_speed.c - how fast it goes now, how it went in the last minutes, and who carries the load.
 */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "tui/draw_parts.h"

/* Above this share of one CPU the client may limit the measurement (measurement.md section 10). */
static const double busy_client_pct = 75;

static double trace_peak(const struct progress *p, int first, int count)
{
    double peak = 0;
    for (int i = first; i < count; i++)
        if (isfinite(p->trace[i]) && p->trace[i] > peak)
            peak = p->trace[i];
    return peak;
}

/* The newest seconds as columns of block characters, `rows` high; a column for each second. */
static double draw_trace(const struct frame *f, int row, int rows, int col, int width)
{
    const struct progress *p = f->p;
    int count = p->trace_count < 0                ? 0
                : p->trace_count > PROGRESS_TRACE ? PROGRESS_TRACE
                                                  : p->trace_count;
    int first = count > width ? count - width : 0;
    double peak = trace_peak(p, first, count);

    for (int i = first; i < count && peak > 0; i++) {
        double share = p->trace[i] > 0 ? p->trace[i] / peak : 0;
        int eighths = isfinite(share) ? (int)lround(share * rows * 8) : 0;
        if (eighths == 0 && share > 0)
            eighths = 1;
        for (int r = rows - 1; r >= 0 && eighths > 0; r--, eighths -= 8)
            canvas_fill(f->g, row + r, col + i - first, 1, STYLE_TRACE,
                        0x2580 + (uint32_t)(eighths > 8 ? 8 : eighths));
    }
    return peak;
}

static bool has_gauges(const struct progress *p)
{
    return isfinite(p->running) || isfinite(p->waiting);
}

static void add_server(struct pen *pen, const struct progress *p, bool is_short)
{
    double running = isfinite(p->running) ? p->running : 0;
    double waiting = isfinite(p->waiting) ? p->waiting : 0;
    pen_add(pen, STYLE_PLAIN, is_short ? "%.0f run " : "%.0f running, ", running);
    pen_add(pen, waiting > 0 ? STYLE_WARNING : STYLE_PLAIN, is_short ? "%.0f wait" : "%.0f waiting",
            waiting);
}

static enum style client_style(const struct progress *p)
{
    return p->client_cpu_pct > busy_client_pct ? STYLE_WARNING : STYLE_PLAIN;
}

static double finite_or_zero(double v)
{
    return isfinite(v) ? v : 0;
}

/* One line of everything that is not the speed itself. */
static void draw_load(const struct frame *f, struct pen pen)
{
    const struct progress *p = f->p;
    bool is_short = pen.end - pen.col < 76;

    pen_add(&pen, STYLE_PLAIN, "%d/%d streams", p->streams_with_token, p->concurrency);
    pen_add(&pen, STYLE_DIM, " · ");
    if (has_gauges(p)) {
        if (!is_short)
            pen_add(&pen, STYLE_DIM, "server ");
        add_server(&pen, p, is_short);
        pen_add(&pen, STYLE_DIM, " · ");
    }
    pen_add(&pen, STYLE_DIM, is_short ? "CPU " : "client ");
    pen_add(&pen, client_style(p), is_short ? "%.0f%%" : "%.0f %% CPU, lag %.1f ms",
            finite_or_zero(p->client_cpu_pct), finite_or_zero(p->client_lag_ms));
}

static void draw_tall(const struct frame *f, int row)
{
    enum { LABEL = 10, VALUES = 34, PEAK = 14 };
    static const char *const labels[] = {"Speed", "Streams", "Server", "Client"};
    const struct progress *p = f->p;
    char rate[NUM_TEXT_MAX];
    struct pen pens[ARRAY_LEN(labels)];

    for (int i = 0; i < (int)ARRAY_LEN(labels); i++) {
        pens[i] = (struct pen){f->g, row + i, f->left + LABEL, f->left + VALUES - 1};
        canvas_text(f->g, row + i, f->left, LABEL - 1, STYLE_DIM, labels[i]);
    }
    pen_add(&pens[0], STYLE_STRONG, "%s", rate_text(rate, p->tok_s, 9));
    pen_add(&pens[0], STYLE_PLAIN, " tok/s");
    pen_add(&pens[1], STYLE_PLAIN, "%d of %d decoding", p->streams_with_token, p->concurrency);
    if (has_gauges(p))
        add_server(&pens[2], p, false);
    else
        pen_add(&pens[2], STYLE_DIM, "no metrics");
    pen_add(&pens[3], client_style(p), "%.0f %% CPU, lag %.1f ms",
            finite_or_zero(p->client_cpu_pct), finite_or_zero(p->client_lag_ms));
    double peak = draw_trace(f, row, 4, f->left + VALUES, f->width - VALUES - PEAK);
    if (peak > 0)
        canvas_textf(f->g, row, f->left + f->width - PEAK + 1, PEAK - 1, STYLE_DIM, "peak %s",
                     rate_text(rate, peak, 8));
}

void draw_speed(const struct frame *f, int row, int rows)
{
    enum { RATE = 9, UNIT = 7 };
    char rate[NUM_TEXT_MAX];

    if (rows >= 4) {
        draw_tall(f, row);
        return;
    }
    canvas_text_right(f->g, row, f->left, RATE, STYLE_STRONG, rate_text(rate, f->p->tok_s, RATE));
    canvas_text(f->g, row, f->left + RATE, UNIT, STYLE_PLAIN, " tok/s");
    int col = f->left + RATE + UNIT + 1;
    if (rows == 1) {
        draw_load(f, (struct pen){f->g, row, col, f->left + f->width});
        return;
    }
    draw_trace(f, row, 1, col, f->left + f->width - col);
    draw_load(f, (struct pen){f->g, row + 1, f->left, f->left + f->width});
}
