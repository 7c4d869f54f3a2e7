/* site_words.c - look-ups in the generated tables. */
#include "site/site_words.h"

#include <string.h>
#include <strings.h>

#include "base/num.h"

const struct site_lang *site_lang_find(const char *code)
{
    for (size_t i = 0; site_langs[i]; i++)
        if (strcmp(site_langs[i]->code, code) == 0)
            return site_langs[i];
    return NULL;
}

/* "zh-CN;q=0.8": its weight, 1 without one. */
static double weight_of(const char *p, size_t n)
{
    char text[16] = "";
    const char *q = memmem(p, n, "q=", 2);
    double weight;
    if (!q)
        return 1;
    size_t left = n - (size_t)(q + 2 - p), size = strcspn(q + 2, " ,;");
    size = size < left ? size : left;
    if (size >= sizeof text)
        return 0;
    memcpy(text, q + 2, size);
    return num_parse_double(text, &weight) ? weight : 0;
}

const struct site_lang *site_lang_accepted(const char *header)
{
    const struct site_lang *best = NULL;
    double best_weight = 0;
    for (const char *p = header; p && *p; p += *p == ',') {
        p += strspn(p, " \t");
        size_t n = strcspn(p, ",");
        for (size_t i = 0; site_langs[i]; i++) {
            size_t size = strlen(site_langs[i]->code);
            bool same = n >= size && strncasecmp(p, site_langs[i]->code, size) == 0 &&
                        (n == size || strchr("-; ", p[size]));
            if (same && weight_of(p, n) > best_weight) {
                best = site_langs[i];
                best_weight = weight_of(p, n);
            }
        }
        p += n;
    }
    return best ? best : site_langs[0];
}

const char *site_word(const struct site_lang *l, enum site_word w)
{
    return l->text[w];
}

const struct lang *site_report_lang(const struct site_lang *l)
{
    return lang_find(l->code);
}

void site_fill(const struct site_lang *l, struct buf *out, enum site_word w,
               const char *const *values)
{
    lang_fill_text(out, site_word(l, w), values);
}

void site_fill_count(const struct site_lang *l, struct buf *out, enum site_word w, int64_t n,
                     const char **values)
{
    char text[NUM_TEXT_MAX];
    values[0] = lang_number(site_report_lang(l), text, (double)n, 0);
    site_fill(l, out, n == 1 ? w : (enum site_word)(w + 1), values);
}
