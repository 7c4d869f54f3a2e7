/* num.c - one table of units each for sizes and times reads and prints them. */
#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The only caller of strtoll in the tree; everything else parses through here. */
bool num_parse_i64(const char *s, int64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char)s[s[0] == '-' || s[0] == '+']))
        return false;
    errno = 0;
    long long v = (strtoll)(s, &end, 10);
    if (errno || *end)
        return false;
    *ret = v;
    return true;
}

/* digits * 10^exponent, rounded once for the numbers that people write: squaring keeps the powers
 * of ten exact up to 10^22 and more, and a long double holds 18 digits. */
static double scaled(uint64_t digits, int exponent)
{
    long double power = 1, square = 10;
    for (int left = exponent < 0 ? -exponent : exponent; left > 0; left /= 2) {
        if (left % 2 == 1)
            power *= square;
        square *= square;
    }
    if (digits == 0)
        return 0;
    return (double)(exponent < 0 ? (long double)digits / power : (long double)digits * power);
}

/* The exponent behind a number, "e-3"; *p moves past it. 0 when there is none. */
static int read_exponent(const char **p)
{
    const char *s = *p;
    if (*s != 'e' && *s != 'E')
        return 0;
    bool down = *++s == '-';
    s += *s == '-' || *s == '+';
    if (!isdigit((unsigned char)*s))
        return 0;
    int exponent = 0;
    for (; isdigit((unsigned char)*s); s++)
        if (exponent < 1000)
            exponent = exponent * 10 + (*s - '0');
    *p = s;
    return down ? -exponent : exponent;
}

/* Reads a leading decimal number, without strtod's hex, inf, nan and locale. Digits past the 18th
 * only count for their place. */
static bool leading_number(const char *s, double *ret, const char **ret_end)
{
    uint64_t digits = 0;
    int exponent = 0;
    bool point = false, any = false;
    const char *p = s + (*s == '-' || *s == '+');
    for (; isdigit((unsigned char)*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        bool kept = digits < UINT64_C(100000000000000000);
        if (kept)
            digits = digits * 10 + (uint64_t)(*p - '0');
        exponent += (kept ? 0 : 1) - (point ? 1 : 0);
    }
    if (!any)
        return false;
    exponent += read_exponent(&p);
    double v = scaled(digits, exponent);
    *ret = *s == '-' ? -v : v;
    *ret_end = p;
    return true;
}

bool num_parse_double(const char *s, double *ret)
{
    const char *end;
    double v;
    if (!leading_number(s, &v, &end) || *end || !isfinite(v))
        return false;
    *ret = v;
    return true;
}

static const struct unit {
    const char *name;
    double factor;
} size_units[] =
    {
        {"", 1},          {"k", 1024.0},       {"K", 1024.0},       {"m", 1048576.0},
        {"M", 1048576.0}, {"g", 1073741824.0}, {"G", 1073741824.0},
},
  time_units[] = {
      {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9},
};

static bool parse_unit(const char *s, const struct unit *units, size_t count, int64_t *ret)
{
    const char *end;
    double v;
    if (!leading_number(s, &v, &end) || v < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        v = round(v * units[i].factor);
        if (v > 9e18)
            return false;
        *ret = (int64_t)v;
        return true;
    }
    return false;
}

bool num_parse_size(const char *s, int64_t *ret)
{
    return parse_unit(s, size_units, sizeof size_units / sizeof size_units[0], ret);
}

bool num_parse_duration_ns(const char *s, int64_t *ret_ns)
{
    return parse_unit(s, time_units, sizeof time_units / sizeof time_units[0], ret_ns);
}

const char *num_size_text(char *out, int64_t n)
{
    if (n > 0 && n % 1048576 == 0)
        snprintf(out, NUM_TEXT_MAX, "%lldM", (long long)(n / 1048576));
    else if (n > 0 && n % 1024 == 0)
        snprintf(out, NUM_TEXT_MAX, "%lldK", (long long)(n / 1024));
    else
        snprintf(out, NUM_TEXT_MAX, "%lld", (long long)n);
    return out;
}

const char *num_grouped(char *out, double v, int decimals)
{
    char plain[NUM_TEXT_MAX];
    if (isnan(v)) {
        snprintf(out, NUM_TEXT_MAX, "n/a");
        return out;
    }
    snprintf(plain, sizeof plain, "%.*f", decimals, fabs(v) < 1e18 ? v : copysign(1e18, v));
    const char *digits = plain + (plain[0] == '-');
    size_t whole = strcspn(digits, ".");
    size_t used = 0;
    if (plain[0] == '-' && strspn(digits, "0.") != strlen(digits))
        out[used++] = '-';
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    snprintf(out + used, NUM_TEXT_MAX - used, "%s", digits + whole);
    return out;
}

const char *num_duration_text(char *out, int64_t ns)
{
    long long s = (long long)llround((double)ns / 1e9);
    if (ns < 10 * NS_PER_S && ns % NS_PER_S != 0)
        snprintf(out, NUM_TEXT_MAX, "%.1fs", ns_to_s(ns));
    else if (s < 60)
        snprintf(out, NUM_TEXT_MAX, "%llds", s);
    else if (s < 3600 && s % 60 == 0)
        snprintf(out, NUM_TEXT_MAX, "%lldm", s / 60);
    else if (s < 3600)
        snprintf(out, NUM_TEXT_MAX, "%lldm%02llds", s / 60, s % 60);
    else
        snprintf(out, NUM_TEXT_MAX, "%lldh%02lldm", s / 3600, s % 3600 / 60);
    return out;
}

const char *num_bytes_text(char *out, double bytes)
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t i = 0;
    while (bytes >= 999.5 && i + 1 < sizeof names / sizeof names[0]) {
        bytes /= 1000;
        i++;
    }
    snprintf(out, NUM_TEXT_MAX, i == 0 ? "%.0f %s" : "%.1f %s", bytes, names[i]);
    return out;
}
