/* cmd_compare.c - tokgrid compare: results cell by cell. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/compare_files.h"
#include "cmd/terminal.h"
#include "report/compare_report.h"

struct compare_settings {
    const char *base;
    struct operand_list others;
    int view;
    bool json;
};

static const char *const letters[COMPARE_MAX] = {"A", "B", "C", "D"};

static struct compare_pair pair_of(const struct compare_files *f, size_t other, int view)
{
    return (struct compare_pair){
        .base = &f->results[0],
        .other = &f->results[other],
        .base_name = letters[0],
        .other_name = letters[other],
        .view = &views[view],
        .axes = &f->axes,
    };
}

static void write_table(const struct compare_files *f, int view, struct buf *out)
{
    const struct table_options options = terminal_table_options(NULL, false);
    char path[400];

    for (size_t i = 0; i < f->n; i++) {
        text_printable(path, sizeof path, f->paths[i], strlen(f->paths[i]));
        buf_addf(out, "%s  %s\n", letters[i], path);
    }
    for (size_t i = 1; i < f->n; i++) {
        const struct compare_pair pair = pair_of(f, i, view);
        buf_addc(out, '\n');
        compare_table(&pair, false, &options, out);
    }
}

static void write_json(const struct compare_files *f, int view, struct buf *out)
{
    json_t *list = json_array();

    for (size_t i = 1; i < f->n; i++) {
        const struct compare_pair pair = pair_of(f, i, view);
        json_t *one = compare_json(&pair);
        json_object_set_new(one, "base", json_string(f->paths[0]));
        json_object_set_new(one, "other", json_string(f->paths[i]));
        json_array_append_new(list, one);
    }
    json_t *document = json_pack("{s:o}", "comparisons", list);
    json_write(document, out);
    json_decref(document);
}

static int compare(int argc, char **argv)
{
    struct compare_settings set = {0};
    struct err err = {0};
    struct buf out;
    int code;

    if (!command_parse(&cmd_compare, argc, argv, &set, &code))
        return code;
    struct compare_files *files = mem_alloc(sizeof *files);
    bool ok = compare_files_add(files, set.base, &err);
    for (size_t i = 0; ok && i < set.others.n; i++)
        ok = compare_files_add(files, set.others.v[i], &err);
    buf_init(&out, SIZE_MAX / 2);
    if (ok && set.json)
        write_json(files, set.view, &out);
    else if (ok)
        write_table(files, set.view, &out);
    code = ok ? command_print(&out) : command_fail(&err);
    buf_release(&out);
    compare_files_release(files);
    free(files);
    return code;
}

static const struct option_row rows[] = {
    COMPARE_VIEW_ROW(struct compare_settings, view),
    {.name = "json",
     OPTION_FLAG(struct compare_settings, json),
     .help = "Print one JSON object instead of tables."},
    {0},
};

static const struct operand_row operands[] = {
    {.name = "A",
     OPERAND_ONE(struct compare_settings, base),
     .help = "The result file that the others are held against."},
    {.name = "B", OPERAND_LIST(struct compare_settings, others), .help = "One to three more."},
    {0},
};

static const char *const examples[] = {
    "tokgrid compare before.json after.json",
    "Every cell: both figures, their ratio with its interval, better or worse.",
    NULL,
};

const struct command cmd_compare = {
    .name = "compare",
    .summary = "Hold results against each other, cell by cell",
    .about =
        "Prints for every cell that two results have the figure of both, their ratio, and whether "
        "that is better, worse or the same. Totals that have 95 % intervals give the ratio one, "
        "too: it is better or worse when 1 lies outside of it. Without intervals, a difference "
        "of up to 5 % counts as the same.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = compare,
};
