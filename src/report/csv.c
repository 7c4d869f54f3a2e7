/* csv.c - the columns of columns.h, quoted. */
#include "report/csv.h"

#include <stdlib.h>
#include <string.h>

#include "report/columns.h"
#include "report/plain.h"

void csv_text(const char *s, struct buf *out)
{
    /* some programs skip blanks before they look for a formula */
    const char *begin = s + strspn(s, " ");
    bool formula = *begin && strchr("=+-@\t\r\n", *begin);
    bool quote = s[strcspn(s, ",\"\r\n")] || *s == ' ' || (*s && s[strlen(s) - 1] == ' ');
    buf_adds(out, quote ? "\"" : "");
    buf_adds(out, formula ? "'" : "");
    for (const char *p = s; *p; p++)
        buf_adds(out, *p == '"' ? "\"\"" : (char[]){*p, '\0'});
    buf_adds(out, quote ? "\"" : "");
}

static void write_header(struct buf *out)
{
    for (size_t c = 0; c < column_count; c++)
        buf_addf(out, "%s%s", c ? "," : "", columns[c].key);
    buf_adds(out, "\r\n");
}

static void write_rows(const struct result *r, struct buf *out)
{
    size_t count;
    struct measurement *all = measurements_of(r, &count);
    struct buf value;
    buf_init(&value, 8 * PLAIN_MAX);
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < column_count; c++) {
            buf_reset(&value);
            buf_adds(out, c ? "," : "");
            if (!column_add(&columns[c], &all[i], COLUMN_DATA, NULL, &value))
                continue;
            if (column_is_text(&columns[c]))
                csv_text(value.p, out);
            else
                buf_add(out, value.p, value.len);
        }
        buf_adds(out, "\r\n");
    }
    buf_release(&value);
    free(all);
}

bool csv_write(const struct result *r, struct buf *out)
{
    write_header(out);
    write_rows(r, out);
    return !out->overflow;
}
