/* cmd_check.c - tokgrid check: has a result become worse than another? For scripts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "cmd/commands.h"
#include "cmd/compare_files.h"
#include "report/words.h"

struct check_settings {
    const char *path, *against;
    double max_drop; /* 0.05 */
    int view;
    bool json;
};

/* A cell that is worse by more than is allowed, or lost its figure. */
struct drop {
    int64_t context;
    int level;
    struct comparison c;
    const char *status; /* of the cell that has no figure any more; NULL: it has one */
};

struct drops {
    struct drop *v;
    size_t n, cap;
    size_t compared;
};

static bool parse_percent(const char *name, const char *text, void *field, struct err *err)
{
    char digits[32];
    size_t n = strlen(text);
    double v;

    if (n > 0 && text[n - 1] == '%')
        n--;
    snprintf(digits, sizeof digits, "%.*s", (int)(n < sizeof digits ? n : 0), text);
    if (!num_parse_double(digits, &v) || !(v >= 0 && v < 100))
        return err_set(err, ERR_USAGE, "%s: '%s' is no percentage from 0%% to below 100%%", name,
                       text);
    *(double *)field = v / 100;
    return true;
}

/* What the base has and the run does not: a cell that was left out is no drop. */
static bool is_lost(const struct result *run, const struct comparison *c, int64_t context,
                    int level, const char **ret_status)
{
    const struct cell *cell = result_cell(run, context, level);
    if (!isfinite(c->base) || isfinite(c->other) || !cell || cell->status == STATUS_SKIPPED)
        return false;
    *ret_status = status_name(cell->status);
    return true;
}

static void find_drops(const struct compare_files *f, const struct check_settings *set,
                       struct drops *ret)
{
    const struct result *base = &f->results[0], *run = &f->results[1];

    for (size_t i = 0; i < f->axes.context_count; i++)
        for (size_t k = 0; k < f->axes.level_count; k++) {
            struct drop d = {.context = f->axes.contexts[i], .level = (int)f->axes.levels[k]};
            compare_cell(&views[set->view], base, run, d.context, d.level, &d.c);
            bool lost = is_lost(run, &d.c, d.context, d.level, &d.status);
            ret->compared += lost || d.c.verdict != COMPARE_UNKNOWN;
            if (!lost && !(d.c.gain_most < 1 - set->max_drop))
                continue;
            MEM_GROW(ret->v, ret->n, ret->cap);
            ret->v[ret->n++] = d;
        }
}

static void write_lines(const struct check_settings *set, const struct drops *drops,
                        struct buf *out)
{
    char context[NUM_TEXT_MAX], base[NUM_TEXT_MAX], other[NUM_TEXT_MAX];
    const struct view *view = &views[set->view];

    for (size_t i = 0; i < drops->n; i++) {
        const struct drop *d = &drops->v[i];
        buf_addf(out, "context %s, %d at once: %s %s -> ", num_size_text(context, d->context),
                 d->level, view_text(view, NULL, base, d->c.base), word(NULL, view->unit));
        if (d->status)
            buf_addf(out, "%s\n", d->status);
        else
            buf_addf(out, "%s, %.1f %% worse\n", view_text(view, NULL, other, d->c.other),
                     100 * (1 - d->c.gain));
    }
    buf_addf(out, "%zu of %zu cells are worse by more than %g %%, or gone\n", drops->n,
             drops->compared, 100 * set->max_drop);
}

static void write_json(const struct check_settings *set, const struct drops *drops, struct buf *out)
{
    json_t *cells = json_array();

    for (size_t i = 0; i < drops->n; i++) {
        const struct drop *d = &drops->v[i];
        json_array_append_new(
            cells, json_pack("{s:I, s:i, s:f, s:o, s:s?}", "context_tokens", (json_int_t)d->context,
                             "concurrency", d->level, "base", d->c.base, "other",
                             d->status ? json_null() : json_real(d->c.other), "status", d->status));
    }
    json_t *document = json_pack("{s:s, s:f, s:b, s:I, s:o}", "view", views[set->view].id,
                                 "max_drop", set->max_drop, "passed", drops->n == 0, "compared",
                                 (json_int_t)drops->compared, "worse", cells);
    json_write(document, out);
    json_decref(document);
}

static bool read_both(struct compare_files *f, const struct check_settings *set, struct err *err)
{
    if (!set->against)
        return err_set(err, ERR_USAGE, "--against BASE is missing: what is RUN held against?");
    return compare_files_add(f, set->against, err) && compare_files_add(f, set->path, err);
}

static int check(int argc, char **argv)
{
    struct check_settings set = {0};
    struct drops drops = {0};
    struct err err = {0};
    struct buf out;
    int code;

    if (!command_parse(&cmd_check, argc, argv, &set, &code))
        return code;
    struct compare_files *files = mem_alloc(sizeof *files);
    bool ok = read_both(files, &set, &err);
    if (ok)
        find_drops(files, &set, &drops);
    if (ok && drops.compared == 0)
        ok = err_set(&err, ERR_FORMAT, "%s and %s have no cell in common", set.path, set.against);
    buf_init(&out, SIZE_MAX / 2);
    if (ok)
        (set.json ? write_json : write_lines)(&set, &drops, &out);
    code = ok ? command_print(&out) : command_fail(&err);
    if (code == EXIT_CODE_DONE && drops.n > 0)
        code = EXIT_CODE_THRESHOLD;
    buf_release(&out);
    compare_files_release(files);
    free(files);
    free(drops.v);
    return code;
}

static const struct option_row rows[] = {
    {.name = "against",
     OPTION_STRING(struct check_settings, against),
     .value = "BASE",
     .help = "The result file to hold RUN against. Needed."},
    {.name = "max-drop",
     OPTION_CUSTOM(struct check_settings, max_drop, parse_percent),
     .value = "PERCENT",
     .initial = "5%",
     .help = "How much worse a cell may be."},
    COMPARE_VIEW_ROW(struct check_settings, view),
    {.name = "json",
     OPTION_FLAG(struct check_settings, json),
     .help = "Print one JSON object instead of lines."},
    {0},
};

static const struct operand_row operands[] = {
    {.name = "RUN", OPERAND_ONE(struct check_settings, path), .help = "The result file to check."},
    {0},
};

static const char *const examples[] = {
    "tokgrid check new.json --against base.json --max-drop 3%",
    "Exit code 3 when a cell has lost more than 3 %.",
    NULL,
};

const struct command cmd_check = {
    .name = "check",
    .summary = "Fail when a result is worse than another",
    .about =
        "Holds RUN against BASE cell by cell. A cell is worse when its figure is by more than "
        "--max-drop, and where both have 95 % intervals, when that is so at the near end of the "
        "ratio's interval; or when BASE has a figure and RUN, which planned the cell, has none. "
        "Cells that RUN left out are not compared. Exit code 3 when one is worse.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = check,
};
