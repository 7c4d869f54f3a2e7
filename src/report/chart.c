/* chart.c - axes, lines, then which line is which, beside the drawing where no line can be. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/chart_axes.h"

enum { SHAPES = 6 };

/* The names of the lines, in columns at the right; none for a single line. */
struct legend {
    size_t rows; /* of a column */
    double left, pitch, column_width;
};

struct drawing {
    const struct chart *c;
    const struct lang *l;
    struct html *h;
    struct legend legend;
    double right; /* where the axes end */
    struct axis x, y;
};

static const char *x_text(const struct drawing *d, char *out, double v)
{
    return d->c->x_size ? num_size_text(out, llround(v)) : lang_number(d->l, out, v, 0);
}

static const char *y_text(const struct drawing *d, char *out, double v)
{
    return d->c->decimals < 0 ? lang_rate(d->l, out, v) : lang_number(d->l, out, v, d->c->decimals);
}

static bool has_place(const struct drawing *d, const struct chart_point *p)
{
    return !d->c->y_log || p->y > 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* "16K: 73.1 (1), 194.6 (4)." for each line */
static void add_description(const struct drawing *d, struct buf *out)
{
    char x[NUM_TEXT_MAX], y[NUM_TEXT_MAX];
    say_chart_axes(d->l, out, .y = word(d->l, d->c->y_name), .x = word(d->l, d->c->x_name));
    for (size_t i = 0; i < d->c->count; i++) {
        const struct chart_series *s = &d->c->series[i];
        buf_addf(out, " %s%s", s->name, word(d->l, WORD_LIST_COLON));
        for (size_t k = 0; k < s->count; k++)
            buf_addf(out, "%s%s (%s)", k ? word(d->l, WORD_LIST_COMMA) : "",
                     y_text(d, y, s->points[k].y), x_text(d, x, s->points[k].x));
        buf_adds(out, word(d->l, WORD_LIST_STOP));
    }
}

static void write_alternative(const struct drawing *d)
{
    struct html *h = d->h;
    html_raw(h, "<title id=\"chart-");
    html_text(h, d->c->id);
    html_raw(h, "-title\">");
    html_text(h, word(d->l, d->c->title));
    html_raw(h, "</title><desc id=\"chart-");
    html_text(h, d->c->id);
    html_raw(h, "-desc\">");
    add_description(d, html_scratch(h));
    html_text_scratch(h);
    html_raw(h, "</desc>");
}

static void begin_text(const struct drawing *d, double x, double y)
{
    html_raw(d->h, "<text");
    html_attr_number(d->h, "x", x);
    html_attr_number(d->h, "y", y);
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void write_grid(const struct drawing *d)
{
    html_raw(d->h, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < d->y.tick_count; i++) {
        html_raw(d->h, "M");
        html_number(d->h, CHART_LEFT);
        html_raw(d->h, " ");
        html_number(d->h, axis_place(&d->y, d->y.ticks[i]));
        html_raw(d->h, "H");
        html_number(d->h, d->right);
    }
    html_raw(d->h, "\"/>");
}

static void write_ticks(const struct drawing *d)
{
    char text[NUM_TEXT_MAX];
    html_raw(d->h, "<g class=\"tick y\">");
    for (size_t i = 0; i < d->y.tick_count; i++) {
        begin_text(d, CHART_LEFT - 6, axis_place(&d->y, d->y.ticks[i]) + 4);
        html_raw(d->h, ">");
        html_text(d->h, lang_brief(d->l, text, d->y.ticks[i]));
        html_raw(d->h, "</text>");
    }
    html_raw(d->h, "</g><g class=\"tick x\">");
    for (size_t i = 0; i < d->x.tick_count; i++) {
        begin_text(d, axis_place(&d->x, d->x.ticks[i]), CHART_BOTTOM + 18);
        html_raw(d->h, ">");
        html_text(d->h, x_text(d, text, d->x.ticks[i]));
        html_raw(d->h, "</text>");
    }
    html_raw(d->h, "</g><g class=\"axis\">");
    begin_text(d, 0, CHART_TOP - 22);
    html_raw(d->h, ">");
    html_text(d->h, word(d->l, d->c->y_name));
    html_raw(d->h, "</text>");
    begin_text(d, d->right, CHART_BOTTOM + 38);
    html_raw(d->h, " class=\"end\">");
    html_text(d->h, word(d->l, d->c->x_name));
    html_raw(d->h, "</text></g>");
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void write_point(const struct drawing *d, double x, double y)
{
    html_number(d->h, x);
    html_raw(d->h, " ");
    html_number(d->h, y);
}

static void write_line(const struct drawing *d, const struct chart_series *s)
{
    bool first = true;
    html_raw(d->h, "<path class=\"line\" d=\"");
    for (size_t k = 0; k < s->count; k++) {
        if (!has_place(d, &s->points[k]))
            continue;
        if (first)
            html_raw(d->h, "M");
        else
            html_raw(d->h, "L");
        write_point(d, axis_place(&d->x, s->points[k].x), axis_place(&d->y, s->points[k].y));
        first = false;
    }
    html_raw(d->h, "\"/>");
}

static bool has_interval(const struct drawing *d, const struct chart_point *p)
{
    return isfinite(p->low) && isfinite(p->high) && (!d->c->y_log || p->low > 0);
}

bool chart_has_intervals(const struct chart *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->series[i].count; k++)
            if (isfinite(c->series[i].points[k].low))
                return true;
    return false;
}

static void write_intervals(const struct drawing *d, const struct chart_series *s)
{
    bool any = false;
    for (size_t k = 0; k < s->count; k++) {
        const struct chart_point *p = &s->points[k];
        if (!has_interval(d, p))
            continue;
        if (!any)
            html_raw(d->h, "<path class=\"ci\" d=\"");
        any = true;
        double x = axis_place(&d->x, p->x), low = axis_place(&d->y, p->low),
               high = axis_place(&d->y, p->high);
        html_raw(d->h, "M");
        write_point(d, x - 3, low);
        html_raw(d->h, "h6m-3 0V");
        html_number(d->h, high);
        html_raw(d->h, "m-3 0h6");
    }
    if (any)
        html_raw(d->h, "\"/>");
}

static void write_shape(const struct drawing *d, size_t shape)
{
    switch (shape % SHAPES) {
    case 0: html_raw(d->h, "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"); break;    /* disc */
    case 1: html_raw(d->h, "m-3.5-3.5h7v7h-7z"); break;                     /* square */
    case 2: html_raw(d->h, "m0-5l5 5l-5 5l-5-5z"); break;                   /* diamond */
    case 3: html_raw(d->h, "m0-5l4.6 8h-9.2z"); break;                      /* triangle */
    case 4: html_raw(d->h, "m0 5l4.6-8h-9.2z"); break;                      /* triangle, down */
    case 5: html_raw(d->h, "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"); break; /* cross */
    }
}

/* Each marker names its numbers to a pointer that rests on it. */
static void write_markers(const struct drawing *d, const struct chart_series *s, size_t shape)
{
    char x[NUM_TEXT_MAX], y[NUM_TEXT_MAX];
    for (size_t k = 0; k < s->count; k++) {
        const struct chart_point *p = &s->points[k];
        if (!has_place(d, p))
            continue;
        html_raw(d->h, "<path class=\"dot\" d=\"M");
        write_point(d, axis_place(&d->x, p->x), axis_place(&d->y, p->y));
        write_shape(d, shape);
        html_raw(d->h, "\"><title>");
        say_chart_point(d->l, html_scratch(d->h), .name = s->name, .y = y_text(d, y, p->y),
                        .x = x_text(d, x, p->x));
        html_text_scratch(d->h);
        html_raw(d->h, "</title></path>");
    }
}

static void begin_series(const struct drawing *d, size_t i)
{
    enum { LOOKS = 8 }; /* in chart.css: a colour and a dash each */
    html_raw(d->h, "<g class=\"s s");
    html_int(d->h, (long long)(i % LOOKS));
    html_raw(d->h, "\">");
}

/* ---- names of lines -------------------------------------------------------------------------- */

enum { LEGEND_GAP = 14, SAMPLE_WIDTH = 26, SAMPLE_GAP = 6 };

/* Lines below each other as long as there is room for them, closer when there are many. */
static struct legend legend_of(const struct chart *c)
{
    enum { ROOMY = 22, CLOSE = 15, AIR = 12 };
    static const double letter =
        9.8; /* of the widest of the usual fonts, in the largest size of page.css */
    const size_t fit = (CHART_BOTTOM - CHART_TOP) / ROOMY;
    struct legend g = {.left = CHART_WIDTH};
    size_t longest = 0;
    if (c->count < 2)
        return g;
    for (size_t i = 0; i < c->count; i++) {
        size_t width = text_width(c->series[i].name, strlen(c->series[i].name));
        longest = width > longest ? width : longest;
    }
    g.pitch = c->count > fit ? CLOSE : ROOMY;
    g.rows = (size_t)((CHART_BOTTOM - CHART_TOP) / g.pitch) + 1;
    g.column_width = SAMPLE_WIDTH + SAMPLE_GAP + letter * (double)longest;
    size_t columns = (c->count + g.rows - 1) / g.rows;
    g.left -= (double)columns * g.column_width + (double)(columns - 1) * AIR;
    g.column_width += AIR;
    return g;
}

static void write_sample(const struct drawing *d, size_t series, double x, double y)
{
    begin_series(d, series);
    html_raw(d->h, "<path class=\"line\" d=\"M");
    write_point(d, x, y);
    html_raw(d->h, "h");
    html_number(d->h, SAMPLE_WIDTH);
    html_raw(d->h, "\"/><path class=\"dot\" d=\"M");
    write_point(d, x + SAMPLE_WIDTH / 2.0, y);
    write_shape(d, series);
    html_raw(d->h, "\"/></g>");
}

static void write_legend(const struct drawing *d)
{
    for (size_t i = 0; d->legend.rows > 0 && i < d->c->count; i++) {
        size_t column = i / d->legend.rows, row = i % d->legend.rows;
        double x = d->legend.left + (double)column * d->legend.column_width;
        double y = CHART_TOP + (double)row * d->legend.pitch;
        write_sample(d, i, x, y);
        begin_text(d, x + SAMPLE_WIDTH + SAMPLE_GAP, y + 4);
        html_raw(d->h, " class=\"name\">");
        html_text(d->h, d->c->series[i].name);
        html_raw(d->h, "</text>");
    }
}

/* ---- the element ----------------------------------------------------------------------------- */

static void begin_svg(const struct drawing *d, bool standalone)
{
    struct html *h = d->h;
    html_raw(h, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\"");
    html_raw(h, " aria-labelledby=\"chart-");
    html_text(h, d->c->id);
    html_raw(h, "-title chart-");
    html_text(h, d->c->id);
    html_raw(h, "-desc\"");
    if (standalone)
        html_raw(h, " width=\"810\" height=\"585\" viewBox=\"-20 -50 540 390\">");
    else
        html_raw(h, " viewBox=\"0 0 500 320\">");
    write_alternative(d);
    if (!standalone)
        return;
    html_raw(h, "<style>");
    html_asset(h, &chart_style);
    html_raw(h, "</style><rect class=\"paper\" x=\"-20\" y=\"-50\" width=\"540\" height=\"390\"/>"
                "<text class=\"title\" x=\"0\" y=\"-18\">");
    html_text(h, word(d->l, d->c->title));
    html_raw(h, "</text>");
}

void chart_write(const struct chart *c, const struct lang *l, bool standalone, struct html *h)
{
    struct drawing d = {.c = c, .l = l, .h = h, .legend = legend_of(c), .y = axis_y(c)};
    d.right = d.legend.left - (d.legend.rows > 0 ? LEGEND_GAP : 0);
    d.x = axis_x(c, d.right);
    begin_svg(&d, standalone);
    write_grid(&d);
    write_ticks(&d);
    for (size_t i = 0; i < c->count; i++) {
        begin_series(&d, i);
        write_line(&d, &c->series[i]);
        write_intervals(&d, &c->series[i]);
        write_markers(&d, &c->series[i], i);
        html_raw(h, "</g>");
    }
    write_legend(&d);
    html_raw(h, "</svg>");
}
