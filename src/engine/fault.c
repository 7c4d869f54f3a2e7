/* fault.c - two tables, kinds and keys; a spec is read by walking them. */
#include "engine/fault.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rand.h"

enum key_type { KEY_COUNT, KEY_DURATION, KEY_NUMBER };

/* Which kinds have a key: those whose bit is set. */
#define HAS(kind) (1u << (kind))
#define ALL       (~0u)
#define AT_TOKEN                                                                                   \
    (HAS(FAULT_STALL) | HAS(FAULT_RESET) | HAS(FAULT_CUT) | HAS(FAULT_TRUNCATE) |                  \
     HAS(FAULT_ERROR) | HAS(FAULT_LOOP) | HAS(FAULT_PREEMPT))

static const struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    double min, max;
    unsigned kinds;
} keys[] = {
    {"token", KEY_COUNT, offsetof(struct fault, token), 0, 1e9, AT_TOKEN},
    {"for", KEY_DURATION, offsetof(struct fault, for_ns), 1e6, 3600e9,
     HAS(FAULT_STALL) | HAS(FAULT_SLOW_HEADERS)},
    {"events", KEY_COUNT, offsetof(struct fault, count), 2, 4096, HAS(FAULT_BUNDLE)},
    {"bytes", KEY_COUNT, offsetof(struct fault, count), 1, 65536, HAS(FAULT_SPLIT)},
    {"period", KEY_COUNT, offsetof(struct fault, count), 1, 100000, HAS(FAULT_LOOP)},
    {"sequences", KEY_COUNT, offsetof(struct fault, count), 1, 100000, HAS(FAULT_PREEMPT)},
    {"tokens", KEY_COUNT, offsetof(struct fault, count), 1, 1e9, HAS(FAULT_CUT_PROMPT)},
    {"factor", KEY_NUMBER, offsetof(struct fault, factor), 0, 1000, HAS(FAULT_WRONG_USAGE)},
    {"status", KEY_COUNT, offsetof(struct fault, status), 400, 599, HAS(FAULT_REFUSE)},
    {"retry-after", KEY_COUNT, offsetof(struct fault, retry_after_s), 1, 86400, HAS(FAULT_REFUSE)},
    {"request", KEY_COUNT, offsetof(struct fault, request), 1, 1e15, ALL},
    {"every", KEY_COUNT, offsetof(struct fault, every), 1, 1e15, ALL},
    {"from", KEY_COUNT, offsetof(struct fault, from), 1, 1e15, ALL},
    {"until", KEY_COUNT, offsetof(struct fault, until), 1, 1e15, ALL},
    {"open", KEY_COUNT, offsetof(struct fault, open), 1, 1e6, ALL},
    {"probability", KEY_NUMBER, offsetof(struct fault, probability), 0, 1, ALL},
    {"seed", KEY_COUNT, offsetof(struct fault, seed), 0, 1e18, ALL},
};

const struct fault_kind_row fault_kinds[FAULT_KINDS] = {
    [FAULT_STALL] = {"stall", "at `token` nothing is sent `for` a time"},
    [FAULT_RESET] = {"reset", "at `token` the connection is reset"},
    [FAULT_CUT] = {"cut", "at `token` the connection is closed within the message"},
    [FAULT_TRUNCATE] = {"truncate", "at `token` the stream ends without finish reason and [DONE]"},
    [FAULT_ERROR] = {"error", "at `token` the stream says an error and ends"},
    [FAULT_REFUSE] = {"refuse", "the answer is HTTP `status`, with `retry-after` seconds if given"},
    [FAULT_SLOW_HEADERS] = {"slow-headers", "the response's head comes `for` a time late"},
    [FAULT_BUNDLE] = {"bundle", "`events` token events come in one write"},
    [FAULT_SPLIT] = {"split", "writes are cut every `bytes` bytes, also inside of characters"},
    [FAULT_LOOP] = {"loop", "from `token` on the text repeats every `period` tokens"},
    [FAULT_PREEMPT] = {"preempt", "at `token` so many running `sequences` are thrown out"},
    [FAULT_WRONG_USAGE] = {"wrong-usage", "usage counts `factor` times the tokens"},
    [FAULT_CUT_PROMPT] = {"cut-prompt", "only the last `tokens` of the prompt are kept"},
};

/* What a key is when it is not given. */
static const struct fault defaults[FAULT_KINDS] = {
    [FAULT_STALL] = {.token = 8, .for_ns = NS_PER_S},
    [FAULT_RESET] = {.token = 8},
    [FAULT_CUT] = {.token = 8},
    [FAULT_TRUNCATE] = {.token = 8},
    [FAULT_ERROR] = {.token = 8},
    [FAULT_REFUSE] = {.status = 503},
    [FAULT_SLOW_HEADERS] = {.for_ns = NS_PER_S},
    [FAULT_BUNDLE] = {.count = 4},
    [FAULT_SPLIT] = {.count = 1},
    [FAULT_LOOP] = {.count = 16},
    [FAULT_PREEMPT] = {.token = 8, .count = 1},
    [FAULT_WRONG_USAGE] = {.factor = 1.25},
    [FAULT_CUT_PROMPT] = {.count = 512},
};

/* "token, for, request, ..."; without `common` only those that not every kind has. */
static void list_keys(enum fault_kind kind, bool common, struct buf *out)
{
    const char *before = "";
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (!(keys[i].kinds & HAS(kind)) || (!common && keys[i].kinds == ALL))
            continue;
        buf_addf(out, "%s%s", before, keys[i].name);
        before = ", ";
    }
}

void faults_describe(struct buf *out)
{
    const char *before = "";

    for (int i = 0; i < FAULT_KINDS; i++) {
        buf_addf(out, "%-13s %s\n%-13s keys: ", fault_kinds[i].name, fault_kinds[i].help, "");
        list_keys((enum fault_kind)i, false, out);
        buf_addc(out, '\n');
    }
    buf_adds(out,
             "every kind    which requests are hit, by number, by how many are open, by chance\n"
             "              keys: ");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i].kinds == ALL) {
            buf_addf(out, "%s%s", before, keys[i].name);
            before = ", ";
        }
    buf_addc(out, '\n');
}

static bool find_kind(const char *name, enum fault_kind *ret, const char *where, struct err *err)
{
    struct buf all;

    for (int i = 0; i < FAULT_KINDS; i++)
        if (strcmp(fault_kinds[i].name, name) == 0) {
            *ret = (enum fault_kind)i;
            return true;
        }
    buf_init(&all, 512);
    for (size_t i = 0; i < FAULT_KINDS; i++)
        buf_addf(&all, "%s%s", i ? ", " : "", fault_kinds[i].name);
    err_set(err, ERR_USAGE, "%s: '%.60s' is no fault; there are %s", where, name, all.p);
    buf_release(&all);
    return false;
}

static bool set_value(const struct key *key, const char *text, struct fault *f)
{
    char *to = (char *)f + key->offset;
    int64_t n = 0;
    double v = 0;
    bool ok = key->type == KEY_DURATION ? num_parse_duration_ns(text, &n)
              : key->type == KEY_COUNT  ? num_parse_size(text, &n)
                                        : num_parse_double(text, &v);

    if (key->type != KEY_NUMBER)
        v = (double)n;
    if (!ok || !(v >= key->min && v <= key->max))
        return false;
    if (key->type == KEY_NUMBER)
        *(double *)(void *)to = v;
    else
        *(int64_t *)(void *)to = n;
    return true;
}

static bool bad_value(const struct key *key, const char *text, const char *where, struct err *err)
{
    char most[NUM_TEXT_MAX];

    if (key->type == KEY_DURATION)
        return err_set(err, ERR_USAGE, "%s: %s wants a time of at most %s, not '%.60s'", where,
                       key->name, num_duration_text(most, (int64_t)key->max), text);
    return err_set(err, ERR_USAGE, "%s: %s wants a number from %.15g to %.15g, not '%.60s'", where,
                   key->name, key->min, key->max, text);
}

/* One "name=value" of the spec, cut out of it. */
static bool read_pair(char *pair, struct fault *f, const char *where, struct err *err)
{
    char *equals = strchr(pair, '=');
    struct buf names;

    if (equals)
        *equals = '\0';
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (strcmp(keys[i].name, pair) != 0 || !(keys[i].kinds & HAS(f->kind)))
            continue;
        const char *value = equals ? equals + 1 : "";
        return set_value(&keys[i], value, f) || bad_value(&keys[i], value, where, err);
    }
    buf_init(&names, 512);
    list_keys(f->kind, true, &names);
    err_set(err, ERR_USAGE, "%s: '%.60s' is no key of %s; it takes %s", where, pair,
            fault_kinds[f->kind].name, names.p);
    buf_release(&names);
    return false;
}

bool faults_add(struct faults *f, const char *spec, const char *where, struct err *err)
{
    char text[400];
    enum fault_kind kind;

    if (f->n == FAULTS_MAX)
        return err_set(err, ERR_USAGE, "%s: more than %d faults", where, FAULTS_MAX);
    if (strlen(spec) >= sizeof text)
        return err_set(err, ERR_USAGE, "%s: a fault is at most %zu characters long", where,
                       sizeof text - 1);
    snprintf(text, sizeof text, "%s", spec);
    char *rest = strchr(text, ':');
    if (rest)
        *rest++ = '\0';
    if (!find_kind(text, &kind, where, err))
        return false;
    struct fault fault = defaults[kind];
    fault.kind = kind;
    fault.probability = 1;
    while (rest) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma++ = '\0';
        if (!read_pair(rest, &fault, where, err))
            return false;
        rest = comma;
    }
    f->list[f->n++] = fault;
    return true;
}

/* A line without its comment and the blanks around it; NULL when nothing is left. */
static char *trim_line(char *line)
{
    line[strcspn(line, "#\r")] = '\0';
    line += strspn(line, " \t");
    size_t n = strlen(line);
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        line[--n] = '\0';
    return n > 0 ? line : NULL;
}

bool faults_read(struct faults *f, const char *path, struct err *err)
{
    struct buf text;
    char where[300];
    bool ok;
    int number = 1;

    buf_init(&text, 1 << 20);
    ok = file_read(path, &text, err);
    for (char *line = text.p, *next; ok && line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *spec = trim_line(line);
        snprintf(where, sizeof where, "%s:%d", path, number);
        ok = !spec || faults_add(f, spec, where, err);
    }
    buf_release(&text);
    return ok;
}

/* The same for the same seed, request and fault, whatever else happens. */
static double draw(const struct fault *f, int64_t request, size_t index)
{
    return (double)(rng_mix(rng_mix(f->seed, index), (uint64_t)request) >> 11) * 0x1p-53;
}

static bool applies(const struct fault *f, size_t index, int64_t request, int64_t open)
{
    return (f->request == 0 || request == f->request) &&
           (f->every == 0 || request % f->every == 0) && request >= f->from &&
           (f->until == 0 || request <= f->until) && open >= f->open &&
           draw(f, request, index) < f->probability;
}

void faults_pick(const struct faults *f, int64_t request, int64_t open,
                 const struct fault *ret[FAULT_KINDS])
{
    for (size_t i = 0; i < FAULT_KINDS; i++)
        ret[i] = NULL;
    for (size_t i = 0; i < f->n; i++)
        if (!ret[f->list[i].kind] && applies(&f->list[i], i, request, open))
            ret[f->list[i].kind] = &f->list[i];
}
