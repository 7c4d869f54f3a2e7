/* metrics_text.h - reads the Prometheus text exposition format (and its OpenMetrics cousin).
 *
 * Values of one metric are summed over all its label sets: a server with several engines or ranks
 * shows one series each. Label values can be asked for as well, since some engines put facts there.
 * Lines that are not understood are skipped; nothing a server sends can do more than that. The text
 * is borrowed for the call, nothing is kept. */
#ifndef TOKGRID_LOAD_METRICS_TEXT_H
#define TOKGRID_LOAD_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* One series line: name, labels as raw text between the braces, value. */
struct metric_line {
    const char *name;
    size_t name_len;
    const char *labels;
    size_t labels_len;
    double value;
};

/* Iterate: *pos starts at 0; false at the end. Comments and bad lines are skipped. */
bool metrics_next(const char *text, size_t n, size_t *pos, struct metric_line *ret);

/* The value of one label of a line, unescaped into out; false when absent or longer than size. */
bool metrics_label(const struct metric_line *line, const char *label, char *out, size_t size);

/* Sum over all series whose name is exactly `name`, or those of them that have a certain label:
 * `name{label="value"}`; false when there is none. Left out are NaN series; ranks that repeat one
 * another's figures (pp_rank above 0, and all but the first tp_rank of each dp_rank); and, where
 * some series say that they are `model`'s (model_name; NULL: any), those that say they are
 * another's. */
bool metrics_sum(const char *text, size_t n, const char *name, const char *model, double *ret);

/* The same for the first name of a NULL-ended list that exists: metrics get renamed. */
bool metrics_sum_first(const char *text, size_t n, const char *const *names, const char *model,
                       double *ret);

/* Sum of a label that holds a number ("kv_cache_size_tokens") over the series of `name`. Labels
 * that are no number ("None") are absent. */
bool metrics_sum_label(const char *text, size_t n, const char *name, const char *label,
                       double *ret);

#endif
