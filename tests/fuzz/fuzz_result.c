/* fuzz_result.c - any bytes as a result document.
 *
 * What the reader accepts, the writer can write, the reader reads that again, and both texts are
 * identical. Every renderer survives it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/result.h"
#include "report/csv.h"
#include "report/markdown.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_text(const struct result *r, struct buf *out)
{
    buf_init(out, 64 << 20);
    if (!result_write_json(r, out))
        abort();
}

static void render(const struct result *r)
{
    static const struct table_options options[] = {
        {0}, {.width = 80, .colour = true}, {.width = 30, .ascii = true}};
    static const struct page_options english = {0};
    struct buf b;
    buf_init(&b, 64 << 20);
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        buf_reset(&b);
        if (!table_write(r, &options[i], &b))
            abort();
    }
    buf_reset(&b);
    if (!markdown_write(r, langs[1], &b) || !csv_write(r, &b) || !page_write(r, &english, &b) ||
        !svg_write_card(r, NULL, NULL, &b))
        abort();
    for (int kind = 0; kind < CHART_KINDS; kind++)
        svg_write_chart(r, (enum chart_kind)kind, NULL, &b);
    if (b.overflow)
        abort();
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct result first, again;
    struct err err = {0};
    struct buf a, b;

    if (!result_read_json((const char *)data, size, "input", &first, &err)) {
        if (!err.text[0] || strchr(err.text, '\n'))
            abort(); /* an error is one line, and there always is one */
        return 0;
    }
    write_text(&first, &a);
    if (!result_read_json(a.p, a.len, "output", &again, &err))
        abort();
    write_text(&again, &b);
    if (a.len != b.len || memcmp(a.p, b.p, a.len) != 0)
        abort();
    render(&first);
    result_release(&first);
    result_release(&again);
    buf_release(&a);
    buf_release(&b);
    return 0;
}
