/* lang.c - look-ups in the generated tables; numbers and dates by the language's own forms. */
#include "report/lang.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/plain.h"

const struct lang *lang_find(const char *code)
{
    size_t n = strcspn(code, "_-.@");
    for (size_t i = 0; langs[i]; i++)
        if (strlen(langs[i]->code) == n && memcmp(langs[i]->code, code, n) == 0)
            return langs[i];
    return NULL;
}

const char *word(const struct lang *l, enum word w)
{
    return (l ? l : langs[0])->text[w];
}

void lang_fill_text(struct buf *out, const char *text, const char *const *values)
{
    enum { PLACEHOLDERS_END = 9 }; /* bytes 1 to 8 stand for values */
    for (const char *p = text; *p; p++) {
        if (*p > 0 && *p < PLACEHOLDERS_END)
            buf_adds(out, values[*p - 1]);
        else
            buf_addc(out, *p);
    }
}

void lang_fill(const struct lang *l, struct buf *out, enum word w, const char *const *values)
{
    lang_fill_text(out, word(l, w), values);
}

void lang_fill_count(const struct lang *l, struct buf *out, enum word w, int64_t n,
                     const char **values)
{
    char text[NUM_TEXT_MAX];
    values[0] = lang_number(l, text, (double)n, 0);
    lang_fill(l, out, n == 1 ? w : (enum word)(w + 1), values);
}

/* Most of the time of a page goes into numbers, so those of usual size do not go through printf.
 * Writes digits and a point; false when only printf rounds right: huge, or close to a tie. */
static bool plain_digits(double v, int decimals, char *out)
{
    static const double powers[] = {1, 10, 100, 1000};
    char digits[24];
    size_t n = 0, used = 0;
    double scaled = fabs(v) * powers[decimals], whole = floor(scaled);
    if (!(scaled < 1e12) || fabs(scaled - whole - 0.5) < 1e-4)
        return false;
    uint64_t left = (uint64_t)whole + (scaled - whole > 0.5);
    if (v < 0 && left > 0)
        out[used++] = '-';
    for (; left > 0 || n < (size_t)decimals + 1; left /= 10)
        digits[n++] = (char)('0' + left % 10);
    for (; n > 0; n--) {
        out[used++] = digits[n - 1];
        if (n - 1 == (size_t)decimals && decimals > 0)
            out[used++] = '.';
    }
    out[used] = '\0';
    return true;
}

static size_t add_part(char *out, size_t used, const char *part, size_t n)
{
    if (used + n >= NUM_TEXT_MAX)
        return used;
    memcpy(out + used, part, n);
    return used + n;
}

const char *lang_number(const struct lang *l, char *out, double v, int decimals)
{
    char plain[NUM_TEXT_MAX] = "";
    size_t used = 0;
    if (!isfinite(v)) {
        snprintf(out, NUM_TEXT_MAX, "%s", word(l, WORD_NUMBER_NONE));
        return out;
    }
    if (decimals > 3 || !plain_digits(v, decimals, plain))
        snprintf(plain, sizeof plain, "%.*f", decimals, v);
    const char *group = word(l, WORD_NUMBER_GROUP), *point = word(l, WORD_NUMBER_POINT);
    size_t group_len = strlen(group), whole = strcspn(plain, ".");
    size_t sign = *plain == '-';
    for (size_t i = 0; plain[i]; i++) {
        if (i > sign && i < whole && (whole - i) % 3 == 0)
            used = add_part(out, used, group, group_len);
        if (plain[i] == '.')
            used = add_part(out, used, point, strlen(point));
        else
            used = add_part(out, used, plain + i, 1);
    }
    out[used] = '\0';
    return out;
}

const char *lang_rate(const struct lang *l, char *out, double tok_s)
{
    return lang_number(l, out, tok_s, tok_s >= 999.95 ? 0 : 1);
}

const char *lang_brief(const struct lang *l, char *out, double v)
{
    double size = fabs(v);
    return lang_number(l, out, v, size >= 9.95 || size == 0 ? 0 : size >= 0.995 ? 1 : 2);
}

/* Digits of `stamp` where the form has 'd', any of its other characters as they are. */
static bool has_form(const char *stamp, const char *form)
{
    for (; *form; form++, stamp++)
        if (*form == 'd' ? *stamp < '0' || *stamp > '9' : *stamp != *form)
            return false;
    return true;
}

void lang_date(const struct lang *l, const char *stamp, struct buf *out)
{
    static const enum word months[] = {
        WORD_DATE_MONTH_1, WORD_DATE_MONTH_2,  WORD_DATE_MONTH_3,  WORD_DATE_MONTH_4,
        WORD_DATE_MONTH_5, WORD_DATE_MONTH_6,  WORD_DATE_MONTH_7,  WORD_DATE_MONTH_8,
        WORD_DATE_MONTH_9, WORD_DATE_MONTH_10, WORD_DATE_MONTH_11, WORD_DATE_MONTH_12,
    };
    char year[5] = "", day[3] = "", clock[6] = "";
    if (!has_form(stamp, "dddd-dd-ddTdd:dd")) {
        plain_add(out, stamp);
        return;
    }
    size_t month = (size_t)(stamp[5] - '0') * 10 + (size_t)(stamp[6] - '0');
    if (month < 1 || month > ARRAY_LEN(months)) {
        plain_add(out, stamp);
        return;
    }
    memcpy(year, stamp, 4);
    memcpy(day, stamp + (stamp[8] == '0' ? 9 : 8), stamp[8] == '0' ? 1 : 2);
    memcpy(clock, stamp + 11, 5);
    say_date_form(l, out, .day = day, .month = word(l, months[month - 1]), .year = year,
                  .clock = clock);
}

void lang_duration(const struct lang *l, double seconds, struct buf *out)
{
    char a[NUM_TEXT_MAX], b[NUM_TEXT_MAX];
    double whole = round(seconds);
    if (seconds < 59.95) {
        say_time_seconds(
            l, out, .seconds = lang_number(l, a, seconds, fabs(seconds - whole) < 0.05 ? 0 : 1));
    } else if (whole < 3600) {
        say_time_minutes(l, out, .minutes = lang_number(l, a, floor(whole / 60), 0),
                         .seconds = lang_number(l, b, fmod(whole, 60), 0));
    } else {
        double minutes = round(seconds / 60);
        say_time_hours(l, out, .hours = lang_number(l, a, floor(minutes / 60), 0),
                       .minutes = lang_number(l, b, fmod(minutes, 60), 0));
    }
}
