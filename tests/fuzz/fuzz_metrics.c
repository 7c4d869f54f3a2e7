/* fuzz_metrics.c - every line handed out lies inside the text, and a sum asked for by name is the
 * sum of the lines of that name. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "load/metrics_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAME_MAX_LEN = 64 };

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_line(const struct metric_line *line, const char *text, size_t size)
{
    char small[4], large[256];
    check(line->name_len > 0 && line->name >= text);
    check(line->name + line->name_len <= line->labels);
    check(line->labels + line->labels_len <= text + size);
    bool fits = metrics_label(line, "le", small, sizeof small);
    if (fits) {
        check(metrics_label(line, "le", large, sizeof large));
        check(strcmp(small, large) == 0);
    }
    metrics_label(line, "engine", large, sizeof large);
    check(!metrics_label(line, "le", large, 0));
}

static void check_sum(const char *text, size_t size, const char *name)
{
    struct metric_line line;
    double sum = 0, said = 0;
    bool any = false, replicas = false;
    char rank[16];
    for (size_t pos = 0; metrics_next(text, size, &pos, &line);) {
        if (line.name_len != strlen(name) || memcmp(line.name, name, line.name_len) != 0 ||
            isnan(line.value))
            continue;
        replicas |= metrics_label(&line, "tp_rank", rank, sizeof rank) ||
                    metrics_label(&line, "pp_rank", rank, sizeof rank);
        sum += line.value;
        any = true;
    }
    bool found = metrics_sum(text, size, name, "m", &said);
    metrics_sum(text, size, name, NULL, &said);
    check(replicas ? !found || any : found == any);
    if (any && !replicas)
        check(said == sum || (isnan(said) && isnan(sum)));
    metrics_sum_label(text, size, name, "le", &said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct metric_line line;
    size_t pos = 0, last = 0;
    while (metrics_next(text, size, &pos, &line)) {
        char name[NAME_MAX_LEN];
        check(pos > last && pos <= size);
        last = pos;
        check_line(&line, text, size);
        if (line.name_len >= sizeof name ||
            last > 4096) /* sums look at everything: keep it square */
            continue;
        memcpy(name, line.name, line.name_len);
        name[line.name_len] = '\0';
        check_sum(text, size, name);
    }
    check(pos <= size);
    return 0;
}
