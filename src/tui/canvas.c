/* canvas.c - clipping, widths and the ASCII stand-ins. */
#include "tui/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { TEXT_MAX = 512, ELLIPSIS = 0x2026 };

static const struct stand_in {
    uint32_t cp;
    char ascii;
} stand_ins[] = {
    {0x00B7, '|'}, {0x00D7, 'x'}, {0x2013, '-'}, {ELLIPSIS, '~'}, {0x2039, '<'}, {0x203A, '>'},
    {0x2191, '^'}, {0x2193, 'v'}, {0x2219, '.'}, {0x2500, '-'},   {0x2501, '='}, {0x2502, '|'},
    {0x250C, '+'}, {0x2510, '+'}, {0x2514, '+'}, {0x2518, '+'},   {0x2581, '.'}, {0x2582, ','},
    {0x2583, ':'}, {0x2584, '-'}, {0x2585, '='}, {0x2586, '+'},   {0x2587, '*'}, {0x2588, '#'},
    {0x25B8, '>'}, {0x25CF, '*'},
};

static uint32_t ascii_for(uint32_t cp)
{
    if (cp < 0x80)
        return cp;
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++)
        if (stand_ins[i].cp == cp)
            return (uint32_t)stand_ins[i].ascii;
    return '?';
}

static size_t cell_count(const struct canvas *g)
{
    return (size_t)g->rows * (size_t)g->cols;
}

void canvas_init(struct canvas *g, int cols, int rows)
{
    *g = (struct canvas){0};
    canvas_resize(g, cols, rows);
}

void canvas_release(struct canvas *g)
{
    free(g->cells);
    *g = (struct canvas){0};
}

void canvas_resize(struct canvas *g, int cols, int rows)
{
    g->cols = cols < 1 ? 1 : cols;
    g->rows = rows < 1 ? 1 : rows;
    g->cells = mem_resize(g->cells, cell_count(g), sizeof *g->cells);
    canvas_clear(g);
}

void canvas_clear(struct canvas *g)
{
    for (size_t i = 0; i < cell_count(g); i++)
        g->cells[i] = (struct canvas_cell){.cp = ' '};
}

static bool is_inside(const struct canvas *g, int row, int col)
{
    return row >= 0 && row < g->rows && col >= 0 && col < g->cols;
}

/* What is left of a wide character when one of its halves is overwritten becomes a blank. */
static void put(struct canvas *g, int row, int col, uint32_t cp, enum style style)
{
    if (!is_inside(g, row, col))
        return;
    struct canvas_cell *cell = &g->cells[(size_t)row * (size_t)g->cols + (size_t)col];
    if (cell->cp == 0 && cp != 0 && col > 0)
        cell[-1].cp = ' ';
    if (col + 1 < g->cols && cell[1].cp == 0)
        cell[1].cp = ' ';
    *cell = (struct canvas_cell){.cp = cp, .style = style};
}

static int char_width(const struct canvas *g, uint32_t cp)
{
    char one[4];
    return g->ascii ? 1 : (int)text_width(one, text_utf8_encode(cp, one));
}

/* Marks without a width of their own are left out: a cell holds one code point. */
static int put_char(struct canvas *g, int row, int col, uint32_t cp, enum style style)
{
    int width = char_width(g, cp);
    if (width == 0)
        return 0;
    put(g, row, col, g->ascii ? ascii_for(cp) : cp, style);
    if (width == 2 && is_inside(g, row, col))
        put(g, row, col + 1, 0, style);
    return width;
}

static int printable_width(const struct canvas *g, const char *text, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += text_utf8_decode(text + i, n - i, &cp);
        width += char_width(g, cp);
    }
    return width;
}

int canvas_width(const struct canvas *g, const char *text)
{
    char clean[TEXT_MAX];
    return printable_width(g, clean, text_printable(clean, sizeof clean, text, strlen(text)));
}

int canvas_text(struct canvas *g, int row, int col, int room, enum style style, const char *text)
{
    char clean[TEXT_MAX];
    size_t n = text_printable(clean, sizeof clean, text, strlen(text));
    int used = 0;

    if (room > g->cols - col)
        room = g->cols - col;
    bool cut = printable_width(g, clean, n) > room;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += text_utf8_decode(clean + i, n - i, &cp);
        if (used + char_width(g, cp) > room - cut)
            break;
        used += put_char(g, row, col + used, cp, style);
    }
    if (cut && used < room)
        used += put_char(g, row, col + used, ELLIPSIS, style);
    return used;
}

int canvas_textf(struct canvas *g, int row, int col, int room, enum style style, const char *format,
                 ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return canvas_text(g, row, col, room, style, text);
}

int canvas_text_right(struct canvas *g, int row, int col, int room, enum style style,
                      const char *text)
{
    int width = canvas_width(g, text);
    int skip = width < room ? room - width : 0;
    return skip + canvas_text(g, row, col + skip, room - skip, style, text);
}

void canvas_fill(struct canvas *g, int row, int col, int count, enum style style, uint32_t cp)
{
    for (int i = 0; i < count; i++)
        put(g, row, col + i, g->ascii ? ascii_for(cp) : cp, style);
}
