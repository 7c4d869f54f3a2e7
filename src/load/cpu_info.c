/* cpu_info.c - walks the "key : value" lines of cpuinfo once, a block for each processor. */
#include "load/cpu_info.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "load/sysfile.h"

/* MIDR implementer and part numbers, as Arm and its licensees publish them. */
static const struct arm_core {
    unsigned implementer, part;
    const char *name;
} arm_cores[] = {
    {0x41, 0xd03, "ARM Cortex-A53"},    {0x41, 0xd05, "ARM Cortex-A55"},
    {0x41, 0xd07, "ARM Cortex-A57"},    {0x41, 0xd08, "ARM Cortex-A72"},
    {0x41, 0xd09, "ARM Cortex-A73"},    {0x41, 0xd0a, "ARM Cortex-A75"},
    {0x41, 0xd0b, "ARM Cortex-A76"},    {0x41, 0xd0c, "ARM Neoverse-N1"},
    {0x41, 0xd0d, "ARM Cortex-A77"},    {0x41, 0xd40, "ARM Neoverse-V1"},
    {0x41, 0xd41, "ARM Cortex-A78"},    {0x41, 0xd42, "ARM Cortex-A78AE"},
    {0x41, 0xd44, "ARM Cortex-X1"},     {0x41, 0xd49, "ARM Neoverse-N2"},
    {0x41, 0xd4b, "ARM Cortex-A78C"},   {0x41, 0xd4f, "ARM Neoverse-V2"},
    {0x41, 0xd83, "ARM Neoverse-V3AE"}, {0x41, 0xd84, "ARM Neoverse-V3"},
    {0x41, 0xd85, "ARM Cortex-X925"},   {0x41, 0xd87, "ARM Cortex-A725"},
    {0x41, 0xd8e, "ARM Neoverse-N3"},   {0x48, 0xd01, "HiSilicon Kunpeng 920"},
    {0x4e, 0x004, "NVIDIA Carmel"},     {0x51, 0x001, "Qualcomm Oryon"},
    {0xc0, 0xac3, "Ampere-1"},          {0xc0, 0xac4, "Ampere-1A"},
};

/* Remove the n bytes at p from the string they stand in. */
static void cut(char *p, size_t n)
{
    memmove(p, p + n, strlen(p + n) + 1);
}

static void cut_marks(char *name)
{
    static const char *const marks[] = {"(R)", "(TM)", "(C)"};
    for (char *p = name; *p;) {
        size_t n = 0;
        for (size_t i = 0; i < ARRAY_LEN(marks) && n == 0; i++)
            if (strncasecmp(p, marks[i], strlen(marks[i])) == 0)
                n = strlen(marks[i]);
        if (n > 0)
            cut(p, n);
        else
            p++;
    }
}

/* "13th Gen Intel Core" -> "Intel Core" */
static void cut_generation(char *name)
{
    size_t n = strspn(name, "0123456789");
    if (n > 0 && strncmp(name + n, "th Gen ", 7) == 0)
        cut(name, n + 7);
}

/* Everything from the first of these on says what the name already says. */
static void cut_tail(char *name)
{
    static const char *const tails[] = {" @ ", " with Radeon", " w/ Radeon", " CPU @"};
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        char *tail = strstr(name, tails[i]);
        if (tail)
            *tail = '\0';
    }
}

/* Drop the last word if it is `word`, or ends with it where `as_suffix`. */
static bool cut_last_word(char *name, const char *word, bool as_suffix)
{
    char *last = strrchr(name, ' ');
    if (!last || (as_suffix ? !text_ends(last, word) : strcmp(last + 1, word) != 0))
        return false;
    *last = '\0';
    return true;
}

static void squeeze_spaces(char *name)
{
    char *out = name;
    for (const char *p = name; *p; p++)
        if (*p != ' ' || (out > name && out[-1] != ' '))
            *out++ = *p;
    while (out > name && out[-1] == ' ')
        out--;
    *out = '\0';
}

void cpu_name_clean(char *name)
{
    cut_marks(name);
    squeeze_spaces(name);
    cut_generation(name);
    cut_tail(name);
    cut_last_word(name, "Processor", false);
    if (!cut_last_word(name, "-Core", true))
        cut_last_word(name, "-Cores", true);
    cut_last_word(name, "CPU", false);
    char *word = strstr(name, " CPU ");
    if (word && text_starts(name, "Intel"))
        cut(word, 4);
}

/* The number in "0xd0c" or "12"; false for anything else. */
static bool parse_number(const char *s, unsigned *ret)
{
    int64_t decimal;
    if (sysfile_parse_hex(s, ret))
        return true;
    if (!num_parse_i64(s, &decimal) || decimal < 0 || decimal > INT32_MAX)
        return false;
    *ret = (unsigned)decimal;
    return true;
}

struct scan {
    struct cpu_info *info;
    unsigned implementer, package; /* of the processor being read */
    uint64_t *pairs;               /* package << 32 | core, one for each processor that has it */
    size_t pair_count, pair_cap;
};

/* Big and little cores of one chip: "ARM Cortex-X925 + ARM Cortex-A725". */
static void add_arm_core(struct scan *s, unsigned part)
{
    char *name = s->info->name;
    for (size_t i = 0; i < ARRAY_LEN(arm_cores); i++) {
        const struct arm_core *core = &arm_cores[i];
        size_t used = strlen(name);
        if (core->implementer != s->implementer || core->part != part)
            continue;
        if (!strstr(name, core->name))
            snprintf(name + used, CPU_NAME_MAX - used, "%s%s", used ? " + " : "", core->name);
        return;
    }
}

static void take_field(struct scan *s, const char *key, const char *value)
{
    unsigned number;
    if (strcmp(key, "processor") == 0 && parse_number(value, &number)) {
        s->info->threads++;
        s->package = 0;
    } else if (strcmp(key, "model name") == 0 && !s->info->name[0]) {
        text_printable(s->info->name, CPU_NAME_MAX, value, strlen(value));
        cpu_name_clean(s->info->name);
    } else if (strcmp(key, "physical id") == 0 && parse_number(value, &number)) {
        s->package = number;
    } else if (strcmp(key, "core id") == 0 && parse_number(value, &number)) {
        MEM_GROW(s->pairs, s->pair_count, s->pair_cap);
        s->pairs[s->pair_count++] = (uint64_t)s->package << 32 | number;
    } else if (strcmp(key, "CPU implementer") == 0 && parse_number(value, &number)) {
        s->implementer = number;
    } else if (strcmp(key, "CPU part") == 0 && parse_number(value, &number)) {
        add_arm_core(s, number);
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int count_distinct(uint64_t *v, size_t n)
{
    int distinct = 0;
    if (n > 0)
        qsort(v, n, sizeof *v, compare_u64);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || v[i] != v[i - 1];
    return distinct;
}

void cpu_info_parse(const char *text, struct cpu_info *ret)
{
    struct scan s = {.info = ret};

    *ret = (struct cpu_info){0};
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *colon = memchr(text, ':', n);
        char key[24], value[CPU_NAME_MAX];
        if (colon) {
            size_t key_len = (size_t)(colon - text);
            const char *v = colon + 1;
            size_t value_len = n - key_len - 1;
            while (key_len > 0 && isspace((unsigned char)text[key_len - 1]))
                key_len--;
            while (value_len > 0 && isspace((unsigned char)*v))
                v++, value_len--;
            text_printable(key, sizeof key, text, key_len);
            text_printable(value, sizeof value, v, value_len);
            take_field(&s, key, value);
        }
        text += n + (text[n] == '\n');
    }
    ret->cores = count_distinct(s.pairs, s.pair_count);
    free(s.pairs);
}
