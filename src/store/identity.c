/* identity.c - takes names apart: packaging off a model's, vendors' decoration off a card's. */
#include "store/identity.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "store/store.h"

char *identity_tidy(struct arena *a, const char *text)
{
    char *out = arena_alloc(a, IDENTITY_NAME_MAX + 1);
    size_t n = 0, left = strlen(text);

    while (left > 0) {
        uint32_t cp;
        char bytes[4];
        size_t used = text_utf8_decode(text, left, &cp);
        bool space = cp <= ' ' || cp == 0x7f || cp == 0xa0 || cp == 0x3000;
        text += used;
        left -= used;
        if (space && (n == 0 || out[n - 1] == ' '))
            continue;
        size_t size = text_utf8_encode(space ? ' ' : cp, bytes);
        if (n + size > IDENTITY_NAME_MAX)
            break;
        memcpy(out + n, bytes, size);
        n += size;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return out;
}

static char *lower(struct arena *a, const char *s)
{
    char *out = arena_strdup(a, s);

    for (char *p = out; *p; p++)
        *p = (char)(isascii(*p) ? tolower((unsigned char)*p) : *p);
    return out;
}

/* Lower-case letters, digits and dots; dashes between. Bytes of other scripts stay. */
static char *slug(struct arena *a, const char *text)
{
    char *out = lower(a, text), *to = out;

    for (const char *p = out; *p; p++) {
        bool kept = !isascii(*p) || isalnum((unsigned char)*p) || *p == '.';
        if (kept)
            *to++ = *p;
        else if (to > out && to[-1] != '-')
            *to++ = '-';
    }
    while (to > out && (to[-1] == '-' || to[-1] == '.'))
        to--;
    *to = '\0';
    return out;
}

/* ---- models ---- */

/* Words at the end of a name that speak of packaging: formats, number types, tools, methods. */
static const char *const packaging[] = {
    "awq",    "gptq",    "gguf",      "ggml",    "exl2",        "exl3",       "fp16",
    "bf16",   "fp8",     "fp6",       "fp4",     "nvfp4",       "mxfp4",      "mxfp6",
    "mxfp8",  "int8",    "int4",      "int3",    "nf4",         "bnb",        "mlx",
    "onnx",   "qat",     "hqq",       "aqlm",    "autoround",   "marlin",     "imatrix",
    "i1",     "dwq",     "ud",        "unsloth", "dynamic",     "quantized",  "quant",
    "quants", "w4a16",   "w8a16",     "w8a8",    "w4a8",        "w4a4",       "g32",
    "g64",    "g128",    "gs32",      "gs64",    "gs128",       "4bits",      "8bits",
    "block",  "channel", "symmetric", "sym",     "asym",        "compressed", "tensors",
    "ct",     "bit",     "e4m3",      "e5m2",    "smoothquant", "fp8a16",     "openvino",
    "mixed",  "autofp8", "calib",     "hf",
};

/* Who publishes mostly other people's models. */
static const char *const repackagers[] = {
    "unsloth",       "bartowski",   "TheBloke",      "lmstudio-community",
    "mlx-community", "cyankiwi",    "QuantTrio",     "RedHatAI",
    "neuralmagic",   "nm-testing",  "ggml-org",      "mradermacher",
    "turboderp",     "ModelCloud",  "casperhansen",  "hugging-quants",
    "kaitchup",      "stelterlab",  "MaziyarPanahi", "second-state",
    "Intel",         "solidrust",   "LoneStriker",   "NousResearch-GGUF",
    "ubergarm",      "cpatonn",     "btbtyler09",    "OpenVINO",
    "amd",           "ISTA-DASLab",
};

static bool among(const char *word, size_t n, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == n && strncasecmp(list[i], word, n) == 0)
            return true;
    return false;
}

static bool all_digits(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)p[i]))
            return false;
    return n > 0;
}

static bool same_word(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(p, word, n) == 0;
}

/* Q4, IQ3, TQ1: the first part of llama.cpp's names. */
static bool is_llama_type(const char *p, size_t n)
{
    if (n > 1 && (*p == 'i' || *p == 'I' || *p == 't' || *p == 'T')) {
        p++;
        n--;
    }
    return n == 2 && (*p == 'q' || *p == 'Q') && isdigit((unsigned char)p[1]);
}

/* 4bit, 4.5bpw (whose dot is no separator here) */
static bool is_width(const char *p, size_t n)
{
    size_t digits = 0;

    while (digits < n && (isdigit((unsigned char)p[digits]) || p[digits] == '.'))
        digits++;
    return digits > 0 &&
           (same_word(p + digits, n - digits, "bit") || same_word(p + digits, n - digits, "bpw"));
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == ' ' || c == '.';
}

/* Where the last word of name[0..n) begins. A dot inside a number belongs to it. */
static size_t last_word(const char *name, size_t n)
{
    size_t at = n;

    while (at > 0 && (!is_separator(name[at - 1]) ||
                      (name[at - 1] == '.' && at < n && at > 1 &&
                       isdigit((unsigned char)name[at]) && isdigit((unsigned char)name[at - 2]))))
        at--;
    return at;
}

/* K, M, XL, 0 behind Q4: the rest of llama.cpp's names. */
static const char *const llama_tails[] = {"k",   "s", "m", "l",  "xl", "xs",
                                          "xxs", "0", "1", "nl", "xxl"};

/* Length of `name` without the words of packaging at its end; its first word always stays. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name);

    for (;;) {
        size_t end = n, at = last_word(name, end);
        while (at > 1 && among(name + at, end - at, llama_tails, ARRAY_LEN(llama_tails))) {
            end = at - 1;
            at = last_word(name, end);
        }
        bool packed = at > 0 && is_llama_type(name + at, end - at);
        if (!packed) { /* the tails were no tails */
            end = n;
            at = last_word(name, end);
            packed = at > 0 && (is_width(name + at, end - at) ||
                                among(name + at, end - at, packaging, ARRAY_LEN(packaging)));
            /* "4-bit" */
            if (packed && same_word(name + at, end - at, "bit") && at > 1) {
                size_t before = last_word(name, at - 1);
                if (before > 0 && all_digits(name + before, at - 1 - before))
                    at = before;
            }
        }
        if (!packed)
            return n;
        n = at - 1;
        while (n > 0 && is_separator(name[n - 1]))
            n--;
    }
}

/* "org/name": the only form that Hugging Face has. */
static bool is_hub_id(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash && slash > name && slash[1] && !strchr(slash + 1, '/') && !strchr(name, ' ') &&
           *name != '.' && *name != '~' && !text_ends(name, ".gguf");
}

/* What a server's owner called the model: often a path to a file or folder. */
static const char *base_name(const char *name, struct arena *a)
{
    size_t n = strlen(name);

    while (n > 1 && (name[n - 1] == '/' || name[n - 1] == '\\'))
        n--;
    size_t at = n;
    while (at > 0 && name[at - 1] != '/' && name[at - 1] != '\\')
        at--;
    char *base = arena_strndup(a, name + at, n - at);
    if (text_ends(base, ".gguf"))
        base[strlen(base) - strlen(".gguf")] = '\0';
    return base;
}

void identity_of_name(const char *name, struct arena *a, struct model_identity *ret)
{
    const char *tidy = identity_tidy(a, name);

    if (!is_hub_id(tidy))
        tidy = base_name(tidy, a);
    if (!*tidy)
        tidy = "unknown model";
    const char *slash = strchr(tidy, '/');
    const char *last = slash ? slash + 1 : tidy;
    size_t stem = stem_length(last);

    ret->name = tidy;
    ret->key = lower(a, tidy);
    ret->organization = slash ? arena_strndup(a, tidy, (size_t)(slash - tidy)) : NULL;
    ret->stem = arena_strndup(a, last, stem);
    char *key = lower(a, ret->stem);
    for (char *p = key; *p; p++)
        if (*p == '_' || *p == ' ')
            *p = '-';
    ret->stem_key = key;
    ret->original = slash && last[stem] == '\0' &&
                    !among(tidy, (size_t)(slash - tidy), repackagers, ARRAY_LEN(repackagers));
}

void identity_of_model(const struct result *r, struct arena *a, struct model_identity *ret)
{
    const char *name = r->subject.model ? r->subject.model : r->subject.served_model;

    identity_of_name(name ? name : "", a, ret);
}

void store_model_name(const struct result *r, struct buf *out)
{
    struct arena a = {0};
    struct model_identity model;

    identity_of_model(r, &a, &model);
    buf_adds(out, model.name);
    arena_release(&a);
}

/* ---- hardware ---- */

/* Words that say nothing about which card it is. */
static const char *const decoration[] = {
    "nvidia",   "amd", "intel", "geforce",   "corporation", "inc.",
    "graphics", "gpu", "cpu",   "processor", "@",
};

/* "RTX3090" -> "RTX 3090" */
static const char *const series[] = {"RTX", "GTX", "RX"};

static void drop_marks(char *s)
{
    static const char *const marks[] = {"(R)", "(r)", "(TM)", "(tm)", "(C)", "\u00ae", "\u2122"};

    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        for (char *at; (at = strstr(s, marks[i]));) {
            size_t n = strlen(marks[i]);
            *at = ' '; /* "Core(TM)i7" has no other space */
            memmove(at + 1, at + n, strlen(at + n) + 1);
        }
}

static void add_word(struct buf *out, const char *word, size_t n)
{
    if (out->len > 0)
        buf_addc(out, ' ');
    for (size_t i = 0; i < ARRAY_LEN(series); i++) {
        size_t k = strlen(series[i]);
        if (n >= k && strncasecmp(word, series[i], k) == 0 &&
            (n == k || isdigit((unsigned char)word[k]))) {
            buf_adds(out, series[i]);
            if (n > k)
                buf_addc(out, ' ');
            word += k;
            n -= k;
            break;
        }
    }
    buf_add(out, word, n);
}

/* A memory size that the name repeats: "24GB", "80G". */
static bool is_memory(const char *p, size_t n, long long gb)
{
    size_t digits = 0;
    long long v = 0;

    for (; digits < n && digits < 6 && isdigit((unsigned char)p[digits]); digits++)
        v = v * 10 + (p[digits] - '0');
    return digits > 0 && gb > 0 && v == gb &&
           (same_word(p + digits, n - digits, "GB") || same_word(p + digits, n - digits, "G") ||
            same_word(p + digits, n - digits, "GiB"));
}

/* "AMD Radeon RX 7900 XTX" is called RX 7900 XTX; "AMD Radeon 8060S" keeps its Radeon. */
static bool is_redundant(const char *word, size_t n, const char *rest)
{
    if (among(word, n, decoration, ARRAY_LEN(decoration)))
        return true;
    return same_word(word, n, "radeon") && strncasecmp(rest, " RX", 3) == 0;
}

static void plain_name(const char *name, long long gb, struct arena *a, struct buf *out)
{
    char *text = identity_tidy(a, name);
    size_t began = out->len;
    struct buf words;

    drop_marks(text);
    text = identity_tidy(a, text);
    buf_init(&words, 4 * IDENTITY_NAME_MAX);
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (!is_redundant(p, n, p + n) && !is_memory(p, n, gb))
            add_word(&words, p, n);
        p += n;
        p += strspn(p, " ");
    }
    /* "A100-SXM4-80GB" */
    char *dash = strrchr(words.p, '-');
    if (dash && is_memory(dash + 1, strlen(dash + 1), gb))
        *dash = '\0';
    buf_adds(out, *words.p ? words.p : text);
    if (out->len == began)
        buf_adds(out, "unknown");
    buf_release(&words);
}

struct cards {
    const char *name;
    long long gb;
    int count;
};

static size_t group_cards(const struct machine *m, struct arena *a, struct cards *out)
{
    size_t n = 0;

    for (int i = 0; i < m->gpu_count; i++) {
        const struct gpu *g = &m->gpus[i];
        bool shares = m->type && strcmp(m->type, "UNIFIED") == 0 && !g->vram_bytes;
        long long gb = memory_gb(shares ? m->ram_bytes : g->vram_bytes);
        struct buf name;
        size_t k = 0;

        buf_init(&name, 4 * IDENTITY_NAME_MAX);
        plain_name(g->name ? g->name : "unknown GPU", gb, a, &name);
        while (k < n && (out[k].gb != gb || strcasecmp(out[k].name, name.p) != 0))
            k++;
        if (k == n)
            out[n++] = (struct cards){.name = arena_strdup(a, name.p), .gb = gb};
        out[k].count++;
        buf_release(&name);
    }
    return n;
}

static void add_card(const struct cards *c, bool counted, struct buf *out)
{
    if (counted && c->count > 1)
        buf_addf(out, "%dx ", c->count);
    buf_adds(out, c->name);
    if (c->gb > 0)
        buf_addf(out, " %lldGB", c->gb);
}

/* Of other classes the class is part of the slug: the same name may be a card, too. */
static char *slug_of(struct arena *a, const char *class, const char *title)
{
    static const char *const prefixes[][2] = {{"UNIFIED", "unified-"}, {"CPU_ONLY", "cpu-"}};
    const char *prefix = "";

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (strcmp(class, prefixes[i][0]) == 0)
            prefix = prefixes[i][1];
    return arena_printf(a, "%s%s", prefix, slug(a, title));
}

static void name_cards(const struct cards *cards, size_t n, struct arena *a,
                       struct store_hardware *ret)
{
    struct buf title, name, single;

    buf_init(&title, 8 << 10);
    buf_init(&name, 8 << 10);
    buf_init(&single, 8 << 10);
    for (size_t i = 0; i < n; i++) {
        buf_adds(&title, i ? " + " : "");
        add_card(&cards[i], true, &title);
        buf_adds(&name, i ? " + " : "");
        buf_adds(&name, cards[i].name);
        add_card(&cards[i], false, &single);
        ret->count += cards[i].count;
    }
    ret->title = identity_tidy(a, title.p);
    ret->name = identity_tidy(a, name.p);
    ret->memory_gb = n == 1 ? (int)cards[0].gb : 0;
    ret->slug = slug_of(a, ret->class, ret->title);
    ret->card = n == 1 ? slug_of(a, ret->class, identity_tidy(a, single.p)) : ret->slug;
    buf_release(&title);
    buf_release(&name);
    buf_release(&single);
}

void store_hardware_of(const struct machine *m, struct arena *a, struct store_hardware *ret)
{
    struct cards cards[MACHINE_MAX_GPUS];
    size_t n = group_cards(m, a, cards);

    *ret = (struct store_hardware){0};
    ret->class = m->type ? arena_strdup(a, m->type) : n > 0 ? "DISCRETE_GPU" : "CPU_ONLY";
    if (n == 0) {
        struct buf name;
        buf_init(&name, 4 * IDENTITY_NAME_MAX);
        plain_name(m->cpu ? m->cpu : "unknown CPU", 0, a, &name);
        cards[n++] =
            (struct cards){.name = identity_tidy(a, name.p), .gb = memory_gb(m->ram_bytes)};
        buf_release(&name);
    }
    name_cards(cards, n, a, ret);
}
