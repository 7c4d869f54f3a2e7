/* metrics_text.c - one line at a time, borrowed from the text; a line is right as a whole or
 * skipped. Sums look at a line's name first, since most lines are somebody else's. */
#include "load/metrics_text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"

struct cursor {
    const char *p, *end;
};

static bool at(const struct cursor *c, char wanted)
{
    return c->p < c->end && *c->p == wanted;
}

static bool eat(struct cursor *c, char wanted)
{
    bool there = at(c, wanted);
    c->p += there;
    return there;
}

static void skip_blanks(struct cursor *c)
{
    while (at(c, ' ') || at(c, '\t') || at(c, '\r'))
        c->p++;
}

static bool name_char(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
           (!first && c >= '0' && c <= '9');
}

static size_t read_name(struct cursor *c)
{
    const char *start = c->p;
    while (c->p < c->end && name_char(*c->p, c->p == start))
        c->p++;
    return (size_t)(c->p - start);
}

struct label {
    const char *name;
    size_t name_len;
    const char *value; /* escaped, without the quotes */
    size_t value_len;
};

/* name="value", then a comma or the end of the labels. */
static bool read_label(struct cursor *c, struct label *ret)
{
    skip_blanks(c);
    ret->name = c->p;
    ret->name_len = read_name(c);
    skip_blanks(c);
    if (ret->name_len == 0 || !eat(c, '='))
        return false;
    skip_blanks(c);
    if (!eat(c, '"'))
        return false;
    ret->value = c->p;
    while (c->p < c->end && *c->p != '"')
        c->p += *c->p == '\\' && c->end - c->p > 1 ? 2 : 1;
    ret->value_len = (size_t)(c->p - ret->value);
    if (!eat(c, '"'))
        return false;
    skip_blanks(c);
    bool ends = !eat(c, ',');
    skip_blanks(c);
    return !ends || c->p == c->end || at(c, '}');
}

/* {labels}, or nothing at all. */
static bool read_labels(struct cursor *c, struct metric_line *ret)
{
    struct label label;
    ret->labels = c->p;
    ret->labels_len = 0;
    if (!eat(c, '{'))
        return true;
    ret->labels = c->p;
    skip_blanks(c);
    while (!at(c, '}'))
        if (!read_label(c, &label))
            return false;
    ret->labels_len = (size_t)(c->p - ret->labels);
    return eat(c, '}');
}

static bool read_number(struct cursor *c, double *ret)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"NaN", NAN},        {"Inf", INFINITY},       {"+Inf", INFINITY},
                 {"-Inf", -INFINITY}, {"+Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    char text[64];
    size_t n = 0;
    while (c->p < c->end && !at(c, ' ') && !at(c, '\t') && !at(c, '\r')) {
        if (n == sizeof text - 1 || *c->p == '\0')
            return false;
        text[n++] = *c->p++;
    }
    text[n] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcasecmp(text, words[i].word) != 0)
            continue;
        *ret = words[i].value;
        return true;
    }
    return num_parse_double(text, ret);
}

/* name{labels} value [timestamp] [# exemplar] */
static bool read_line(struct cursor c, struct metric_line *ret)
{
    double timestamp;
    skip_blanks(&c);
    ret->name = c.p;
    ret->name_len = read_name(&c);
    skip_blanks(&c);
    if (ret->name_len == 0 || !read_labels(&c, ret))
        return false;
    skip_blanks(&c);
    if (!read_number(&c, &ret->value))
        return false;
    skip_blanks(&c);
    if (c.p < c.end && *c.p != '#' && !read_number(&c, &timestamp))
        return false;
    skip_blanks(&c);
    return c.p == c.end || *c.p == '#';
}

/* The next line, whatever it is. */
static bool next_line(const char *text, size_t n, size_t *pos, struct cursor *ret)
{
    if (*pos >= n)
        return false;
    const char *start = text + *pos;
    const char *lf = memchr(start, '\n', n - *pos);
    *ret = (struct cursor){start, lf ? lf : text + n};
    *pos = lf ? (size_t)(lf - text) + 1 : n;
    return true;
}

bool metrics_next(const char *text, size_t n, size_t *pos, struct metric_line *ret)
{
    struct cursor line;
    while (next_line(text, n, pos, &line))
        if (read_line(line, ret))
            return true;
    return false;
}

/* Unescape a label's value; false when it does not fit. */
static bool copy_value(const struct label *label, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < label->value_len; i++) {
        char c = label->value[i];
        if (c == '\\' && i + 1 < label->value_len) {
            c = label->value[++i];
            if (c == 'n')
                c = '\n';
        }
        if (used + 1 >= size)
            return false;
        out[used++] = c;
    }
    if (size == 0)
        return false;
    out[used] = '\0';
    return true;
}

static bool is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

bool metrics_label(const struct metric_line *line, const char *label, char *out, size_t size)
{
    struct cursor c = {line->labels, line->labels + line->labels_len};
    struct label found;
    while (c.p < c.end && read_label(&c, &found))
        if (is_same(found.name, found.name_len, label, strlen(label)))
            return copy_value(&found, out, size);
    return false;
}

/* Has the line the label that a selector, {label="value"}, asks for? */
static bool is_selected(const struct metric_line *line, const char *selector)
{
    struct cursor c = {line->labels, line->labels + line->labels_len};
    struct cursor s = {selector, selector + strlen(selector)};
    struct label wanted, label;

    if (!eat(&s, '{'))
        return true;
    if (!read_label(&s, &wanted))
        return false;
    while (c.p < c.end && read_label(&c, &label))
        if (is_same(label.name, label.name_len, wanted.name, wanted.name_len))
            return is_same(label.value, label.value_len, wanted.value, wanted.value_len);
    return false;
}

/* The next series of exactly this name, and with the label that may stand behind it. */
static bool next_of(const char *text, size_t n, size_t *pos, const char *name,
                    struct metric_line *ret)
{
    size_t len = strcspn(name, "{");
    struct cursor line;
    while (next_line(text, n, pos, &line)) {
        skip_blanks(&line);
        if ((size_t)(line.end - line.p) > len && memcmp(line.p, name, len) == 0 &&
            !name_char(line.p[len], false) && read_line(line, ret) && is_selected(ret, name + len))
            return true;
    }
    return false;
}

/* The number of one of a line's ranks; 0 where it has none. */
static int64_t rank_of(const struct metric_line *line, const char *label)
{
    char text[16];
    int64_t rank;
    bool told = metrics_label(line, label, text, sizeof text) && num_parse_i64(text, &rank);
    return told && rank >= 0 ? rank : 0;
}

/* The first tensor-parallel rank of each data-parallel one: 0, unless the tensor ranks are numbered
 * through, as where attention alone is data-parallel. */
enum { DP_RANKS = 256 };
struct first_ranks {
    int64_t tp[DP_RANKS];
};

static void find_first_ranks(const char *text, size_t n, const char *name, struct first_ranks *ret)
{
    struct metric_line line;
    for (size_t i = 0; i < DP_RANKS; i++)
        ret->tp[i] = INT64_MAX;
    for (size_t pos = 0; next_of(text, n, &pos, name, &line);) {
        int64_t dp = rank_of(&line, "dp_rank"), tp = rank_of(&line, "tp_rank");
        if (dp < DP_RANKS && tp < ret->tp[dp])
            ret->tp[dp] = tp;
    }
}

/* One of several ranks that work on the same requests, and not the first. */
static bool is_replica(const struct metric_line *line, const struct first_ranks *first)
{
    int64_t dp = rank_of(line, "dp_rank"), tp = rank_of(line, "tp_rank");
    return rank_of(line, "pp_rank") > 0 || (dp < DP_RANKS && tp != first->tp[dp]);
}

bool metrics_sum(const char *text, size_t n, const char *name, const char *model, double *ret)
{
    struct metric_line line;
    struct first_ranks first;
    char of[256];
    double all = 0, ours = 0;
    size_t any = 0, named = 0;

    find_first_ranks(text, n, name, &first);
    for (size_t pos = 0; next_of(text, n, &pos, name, &line);) {
        if (isnan(line.value) || is_replica(&line, &first))
            continue;
        all += line.value;
        any++;
        if (!model || !metrics_label(&line, "model_name", of, sizeof of) || strcmp(of, model) != 0)
            continue;
        ours += line.value;
        named++;
    }
    if (any)
        *ret = named ? ours : all;
    return any > 0;
}

bool metrics_sum_first(const char *text, size_t n, const char *const *names, const char *model,
                       double *ret)
{
    for (; *names; names++)
        if (metrics_sum(text, n, *names, model, ret))
            return true;
    return false;
}

bool metrics_sum_label(const char *text, size_t n, const char *name, const char *label, double *ret)
{
    struct metric_line line;
    char value[64];
    double number, sum = 0;
    bool any = false;
    for (size_t pos = 0; next_of(text, n, &pos, name, &line);) {
        if (!metrics_label(&line, label, value, sizeof value) || !num_parse_double(value, &number))
            continue;
        sum += number;
        any = true;
    }
    if (any)
        *ret = sum;
    return any;
}
