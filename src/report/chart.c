/* chart.c - axes, lines, then names of lines where they have room. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/chart_axes.h"

enum { SHAPES = 6, LINE_HEIGHT = 14 };

struct drawing {
    const struct chart *c;
    const struct lang *l;
    struct html *h;
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
        html_number(d->h, CHART_RIGHT);
    }
    html_raw(d->h, "\"/>");
}

static void write_ticks(const struct drawing *d)
{
    char text[NUM_TEXT_MAX];
    html_raw(d->h, "<g class=\"tick y\">");
    for (size_t i = 0; i < d->y.tick_count; i++) {
        begin_text(d, CHART_LEFT - 8, axis_place(&d->y, d->y.ticks[i]) + 4);
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
    begin_text(d, 0, CHART_TOP - 20);
    html_raw(d->h, ">");
    html_text(d->h, word(d->l, d->c->y_name));
    html_raw(d->h, "</text>");
    begin_text(d, CHART_RIGHT, CHART_BOTTOM + 38);
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

struct label {
    double x, y, at_y; /* where it would stand, where it does */
    double width;
    size_t series;
};

static bool collide(const struct label *a, const struct label *b)
{
    bool beside = a->x + a->width < b->x || b->x + b->width < a->x;
    return !beside && fabs(a->at_y - b->at_y) < LINE_HEIGHT - 0.5;
}

/* Labels come ascending in y; each moves down until it is free of those before. */
static void move_apart(struct label *labels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!collide(&labels[k], &labels[i]))
                continue;
            labels[i].at_y = labels[k].at_y + LINE_HEIGHT;
            k = (size_t)-1; /* what it moved onto may be in the way as well */
        }
    }
}

/* A stack that ran over the bottom moves up as a whole: rarely more than two or three names. */
static void keep_inside(struct label *labels, size_t count)
{
    double over = 0;
    for (size_t i = 0; i < count; i++)
        over = fmax(over, labels[i].at_y - CHART_BOTTOM);
    for (size_t i = count; over > 0 && i > 0; i--) {
        struct label *label = &labels[i - 1];
        label->at_y = fmin(label->at_y, CHART_BOTTOM - LINE_HEIGHT * (double)(count - i));
    }
}

static size_t place_labels(const struct drawing *d, struct label *labels)
{
    static const double letter = 7.4;
    size_t count = 0;
    for (size_t i = 0; i < d->c->count; i++) {
        const struct chart_series *s = &d->c->series[i];
        const struct chart_point *p = &s->points[s->count - 1];
        if (!has_place(d, p))
            continue;
        struct label label = {.x = axis_place(&d->x, p->x) + 9,
                              .y = axis_place(&d->y, p->y),
                              .width = letter * (double)text_width(s->name, strlen(s->name)),
                              .series = i};
        label.at_y = label.y;
        size_t at = count++;
        for (; at > 0 && labels[at - 1].y > label.y; at--)
            labels[at] = labels[at - 1];
        labels[at] = label;
    }
    move_apart(labels, count);
    keep_inside(labels, count);
    return count;
}

static void write_labels(const struct drawing *d)
{
    struct label labels[CHART_MAX];
    size_t count = d->c->count > 1 ? place_labels(d, labels) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct label *label = &labels[i];
        begin_series(d, label->series);
        begin_text(d, label->x, label->at_y + 4);
        html_raw(d->h, " class=\"name\">");
        html_text(d->h, d->c->series[label->series].name);
        html_raw(d->h, "</text></g>");
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
        html_raw(h, " width=\"840\" height=\"600\" viewBox=\"-20 -50 600 410\">");
    else
        html_raw(h, " viewBox=\"0 0 560 340\">");
    write_alternative(d);
    if (!standalone)
        return;
    html_raw(h, "<style>");
    html_asset(h, &chart_style);
    html_raw(h, "</style><rect class=\"paper\" x=\"-20\" y=\"-50\" width=\"600\" height=\"410\"/>"
                "<text class=\"title\" x=\"0\" y=\"-18\">");
    html_text(h, word(d->l, d->c->title));
    html_raw(h, "</text>");
}

void chart_write(const struct chart *c, const struct lang *l, bool standalone, struct html *h)
{
    struct drawing d = {.c = c, .l = l, .h = h, .x = axis_x(c), .y = axis_y(c)};
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
    write_labels(&d);
    html_raw(h, "</svg>");
}
