/* grid.c - widths first, then lines. */
#include "report/grid.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/plain.h"

void grid_init(struct grid *g, size_t columns, size_t gap, const bool *left, bool ascii)
{
    *g = (struct grid){.columns = columns, .gap = gap, .left = left, .ascii = ascii};
}

void grid_release(struct grid *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->cells[i].text);
    free(g->cells);
    *g = (struct grid){0};
}

void grid_add(struct grid *g, const char *text, int look)
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 2); /* bounded by the text */
    if (g->ascii)
        plain_add_ascii(&b, text);
    else
        buf_adds(&b, text);
    MEM_GROW(g->cells, g->count, g->cap);
    g->cells[g->count++] = (struct grid_cell){buf_detach(&b), look};
}

static size_t width_of(const char *text)
{
    return text_width(text, strlen(text));
}

static size_t column_width(const struct grid *g, size_t column)
{
    size_t widest = 0;
    for (size_t i = column; i < g->count; i += g->columns) {
        size_t w = width_of(g->cells[i].text);
        widest = w > widest ? w : widest;
    }
    return widest;
}

size_t grid_width(const struct grid *g)
{
    size_t total = 0;
    for (size_t c = 0; c < g->columns; c++)
        total += column_width(g, c) + (c ? g->gap : 0);
    return total;
}

const char *grid_look_code(int look)
{
    /* dark text on six greens of the 256-colour cube: readable whatever the terminal's own colours
     */
    static const char *const codes[] = {
        "",
        "\033[1m",
        "\033[2m",
        "\033[30;48;5;230m",
        "\033[30;48;5;194m",
        "\033[30;48;5;157m",
        "\033[30;48;5;120m",
        "\033[30;48;5;83m",
        "\033[30;48;5;40m",
    };
    return codes[look];
}

/* Padding lies inside the colour, so that a heat map has no holes, but never at a line's end. */
static void draw_cell(const struct grid *g, size_t i, size_t width, bool colour, bool last,
                      struct buf *out)
{
    const struct grid_cell *cell = &g->cells[i];
    size_t column = i % g->columns, pad = width - width_of(cell->text);
    bool left = g->left && g->left[column];
    const char *code = colour ? grid_look_code(cell->look) : "";
    buf_adds(out, code);
    if (!left)
        buf_add_repeat(out, ' ', pad);
    buf_adds(out, cell->text);
    if (left && !last)
        buf_add_repeat(out, ' ', pad);
    buf_adds(out, *code ? GRID_LOOK_END : "");
}

static size_t columns_used(const struct grid *g, size_t row)
{
    size_t n = g->columns;
    while (n > 1 && !*g->cells[row + n - 1].text)
        n--;
    return n;
}

void grid_draw(const struct grid *g, size_t indent, bool colour, struct buf *out)
{
    size_t *widths = mem_array(g->columns, sizeof *widths);
    for (size_t c = 0; c < g->columns; c++)
        widths[c] = column_width(g, c);
    for (size_t row = 0; row + g->columns <= g->count; row += g->columns) {
        size_t used = columns_used(g, row);
        buf_add_repeat(out, ' ', indent);
        for (size_t c = 0; c < used; c++) {
            buf_add_repeat(out, ' ', c ? g->gap : 0);
            draw_cell(g, row + c, widths[c], colour, c + 1 == used, out);
        }
        buf_addc(out, '\n');
    }
    free(widths);
}
