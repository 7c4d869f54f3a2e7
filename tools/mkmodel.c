/* mkmodel.c - writes a llama model file with random weights, so that a real engine can be
 * measured without downloading anything.
 *
 * The model speaks no language: it emits common English words at random, at the speed of a
 * model of its size. Its vocabulary is byte-level BPE, trained here on the words in
 * mkmodel_words.h, so ordinary prose costs about four characters a token and any bytes at all
 * can be encoded. The same options and seed always give the same bytes.
 *
 * GGUF version 3, all little-endian:
 *
 *     "GGUF" | u32 version | u64 tensors | u64 metadata pairs
 *     metadata pair:  string key | u32 type | value       (array: u32 type | u64 count | values)
 *     tensor info:    string name | u32 dims | u64 size[dims] | u32 type | u64 offset in data
 *     zero padding to 32 bytes, then the data, each tensor padded to 32 bytes
 *
 * where a string is u64 length and bytes without NUL, and size[0] is the row length.
 *
 * How sampling is steered: dimension 0 of the residual stream is a constant. Every embedding
 * row starts with the same number and no layer writes there, so output column 0 acts as a bias on
 * each token's logit: strongly negative for whatever is not a whole word, mildly for rare words. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkmodel_words.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "mkmodel writes numbers as they lie in memory: little-endian machines only"
#endif

#define ALIGN    32u
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Weight gains. With these the 40 likeliest tokens lie within about 2 nats of each other. */
#define GAIN_BIAS  0.3f   /* the constant in dimension 0, in square roots of the width */
#define BIAS_NEVER -60.0f /* on the logit of what must not be sampled; the norm about halves it */
#define BIAS_RANK  -0.5f  /* on a word's logit for each doubling of its rank; likewise */
#define GAIN_ATTN  1.6f   /* queries and keys: how sharply attention picks */
#define GAIN_LOGIT 1.5f   /* standard deviation of a word's logit */

static void die(int code, const char *what, const char *detail)
{
    fprintf(stderr, "mkmodel: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
    exit(code);
}

static void *must_alloc(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p)
        die(EXIT_FAILED, "out of memory", NULL);
    return p;
}

/* ---- vocabulary: byte-level BPE ------------------------------------------------------------
 *
 * Tokens 0-255 are the bytes. Training repeatedly joins the heaviest adjacent pair of the corpus
 * into a new token until every word of the corpus is one token. Control tokens come last. */

#define MAX_TOKENS   8192
#define MAX_UNITS    4096
#define MAX_UNIT_LEN 24
#define PAIR_SLOTS   65536u /* hash table of adjacent pairs, at most about 20,000 in use */

enum token_kind { KIND_NORMAL = 1, KIND_CONTROL = 3 }; /* numbers are the file format's */

struct token {
    char text[MAX_UNIT_LEN + 1]; /* raw bytes; a byte token may be NUL */
    size_t len;
    enum token_kind kind;
    int left, right; /* what it was merged from; -1 for bytes and control tokens */
    unsigned rank;   /* place in the word list from 1; 0 = not a word, never sampled */
};

/* A corpus entry: a word with its leading space, or a piece without. */
struct unit {
    int part[MAX_UNIT_LEN]; /* token ids; merging shortens it */
    size_t parts;
    uint64_t weight;
    bool is_word;
};

struct vocab {
    struct token token[MAX_TOKENS];
    int tokens, merges;
    struct unit unit[MAX_UNITS];
    size_t units;
};

/* In this order at the end of the vocabulary; the roles of the chat template are tokens too. */
enum control { CTL_BEGIN, CTL_END, CTL_SYSTEM, CTL_USER, CTL_ASSISTANT, CTL_TOOL, CTL_COUNT };
static const char *const control_text[CTL_COUNT] = {
    [CTL_BEGIN] = "<|begin|>",         [CTL_END] = "<|end|>",
    [CTL_SYSTEM] = "<|system|>",       [CTL_USER] = "<|user|>",
    [CTL_ASSISTANT] = "<|assistant|>", [CTL_TOOL] = "<|tool|>",
};
static const char chat_template[] =
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + "
    "'<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

static int vocab_add(struct vocab *v, const char *text, size_t len, enum token_kind kind)
{
    if (v->tokens == MAX_TOKENS || len > MAX_UNIT_LEN)
        die(EXIT_FAILED, "word list outgrew the vocabulary limits", NULL);
    struct token *t = &v->token[v->tokens];
    *t = (struct token){.len = len, .kind = kind, .left = -1, .right = -1};
    memcpy(t->text, text, len);
    return v->tokens++;
}

static void unit_add(struct vocab *v, const char *text, size_t len, bool is_word)
{
    char spaced[MAX_UNIT_LEN];
    size_t lead = is_word ? 1 : 0;
    if (v->units == MAX_UNITS || lead + len > MAX_UNIT_LEN)
        die(EXIT_FAILED, "word list outgrew the vocabulary limits", NULL);
    spaced[0] = ' ';
    memcpy(spaced + lead, text, len);

    struct unit *u = &v->unit[v->units];
    u->parts = lead + len;
    for (size_t i = 0; i < u->parts; i++)
        u->part[i] = (unsigned char)spaced[i];
    for (size_t i = 0; i < v->units; i++)
        if (v->unit[i].parts == u->parts &&
            memcmp(v->unit[i].part, u->part, u->parts * sizeof u->part[0]) == 0)
            return;
    u->is_word = is_word;
    u->weight = UINT64_C(1000000000) / (v->units + 8);
    v->units++;
}

static void units_add(struct vocab *v, const char *list, bool is_word)
{
    while (*list) {
        size_t len = strcspn(list, " ");
        if (len)
            unit_add(v, list, len, is_word);
        list += len + (list[len] == ' ');
    }
}

struct pair {
    uint32_t key; /* left id * MAX_TOKENS + right id + 1; 0 = free slot */
    uint64_t weight;
};

/* The heaviest adjacent pair; ties go to the smaller ids. False when all units are one token. */
static bool best_pair(const struct vocab *v, struct pair *slots, int *ret_left, int *ret_right)
{
    struct pair best = {0, 0};
    memset(slots, 0, PAIR_SLOTS * sizeof *slots);
    for (size_t i = 0; i < v->units; i++) {
        const struct unit *u = &v->unit[i];
        for (size_t j = 0; j + 1 < u->parts; j++) {
            uint32_t key = (uint32_t)u->part[j] * MAX_TOKENS + (uint32_t)u->part[j + 1] + 1;
            uint32_t at = (key * 2654435761u) % PAIR_SLOTS;
            while (slots[at].key && slots[at].key != key)
                at = (at + 1) % PAIR_SLOTS;
            slots[at].key = key;
            slots[at].weight += u->weight;
        }
    }
    for (size_t at = 0; at < PAIR_SLOTS; at++)
        if (slots[at].weight > best.weight ||
            (slots[at].weight == best.weight && slots[at].key < best.key))
            best = slots[at];
    if (!best.key)
        return false;
    *ret_left = (int)((best.key - 1) / MAX_TOKENS);
    *ret_right = (int)((best.key - 1) % MAX_TOKENS);
    return true;
}

static void unit_merge(struct unit *u, int left, int right, int merged)
{
    size_t kept = 0;
    for (size_t j = 0; j < u->parts; j++) {
        bool hit = j + 1 < u->parts && u->part[j] == left && u->part[j + 1] == right;
        u->part[kept++] = hit ? merged : u->part[j];
        j += hit;
    }
    u->parts = kept;
}

static void vocab_train(struct vocab *v)
{
    struct pair *slots = must_alloc(PAIR_SLOTS, sizeof *slots);
    int left, right;
    while (best_pair(v, slots, &left, &right)) {
        char text[2 * MAX_UNIT_LEN];
        const struct token *l = &v->token[left], *r = &v->token[right];
        memcpy(text, l->text, l->len);
        memcpy(text + l->len, r->text, r->len);
        int merged = vocab_add(v, text, l->len + r->len, KIND_NORMAL);
        v->token[merged].left = left;
        v->token[merged].right = right;
        v->merges++;
        for (size_t i = 0; i < v->units; i++)
            unit_merge(&v->unit[i], left, right, merged);
    }
    free(slots);
}

static struct vocab *vocab_new(void)
{
    struct vocab *v = must_alloc(1, sizeof *v);
    for (int byte = 0; byte < 256; byte++)
        vocab_add(v, (char[]){(char)byte}, 1, KIND_NORMAL);
    for (size_t i = 0; i < COUNT(mkmodel_words); i++)
        units_add(v, mkmodel_words[i], true);
    for (size_t i = 0; i < COUNT(mkmodel_pieces); i++)
        units_add(v, mkmodel_pieces[i], false);
    vocab_train(v);

    unsigned rank = 0;
    for (size_t i = 0; i < v->units; i++)
        if (v->unit[i].is_word)
            v->token[v->unit[i].part[0]].rank = ++rank;
    v->token[','].rank = v->token['.'].rank = 8;
    for (int c = 0; c < CTL_COUNT; c++)
        vocab_add(v, control_text[c], strlen(control_text[c]), KIND_CONTROL);
    return v;
}

/* ---- output: bytes, strings, metadata ------------------------------------------------------ */

struct out {
    FILE *file;
    const char *path;
    uint64_t pos;
};

static void put(struct out *o, const void *data, size_t len)
{
    if (fwrite(data, 1, len, o->file) != len) {
        remove(o->path);
        die(EXIT_FAILED, "cannot write", o->path);
    }
    o->pos += len;
}

static void put_u32(struct out *o, uint32_t x)
{
    put(o, &x, sizeof x);
}

static void put_u64(struct out *o, uint64_t x)
{
    put(o, &x, sizeof x);
}

static void put_str(struct out *o, const char *text)
{
    put_u64(o, strlen(text));
    put(o, text, strlen(text));
}

static void put_padding(struct out *o)
{
    static const char zeros[ALIGN];
    put(o, zeros, (size_t)(-o->pos % ALIGN));
}

/* Byte-level BPE files write each byte as one printable character: itself if printable in
 * Latin-1, else the next code point from U+0100 on. All fit two bytes of UTF-8. */
static size_t spell(const struct token *t, char *ret_text)
{
    size_t len = 0;
    if (t->kind == KIND_CONTROL) {
        memcpy(ret_text, t->text, t->len);
        return t->len;
    }
    for (size_t i = 0; i < t->len; i++) {
        unsigned byte = (unsigned char)t->text[i], code = byte;
        if (byte <= 32)
            code = 0x100 + byte;
        else if (byte >= 127 && byte <= 160)
            code = 0x100 + 33 + (byte - 127);
        else if (byte == 173)
            code = 0x100 + 33 + 34;
        if (code < 0x80) {
            ret_text[len++] = (char)code;
        } else {
            ret_text[len++] = (char)(0xC0 | code >> 6);
            ret_text[len++] = (char)(0x80 | (code & 0x3F));
        }
    }
    return len;
}

/* Value types of the format that are used here. */
enum meta_type {
    META_U32 = 4,
    META_I32 = 5,
    META_F32 = 6,
    META_BOOL = 7,
    META_STR = 8,
    META_ARRAY = 9
};

struct meta {
    const char *key;
    enum meta_type type;
    uint32_t u32; /* META_BOOL too */
    float f32;
    const char *str;
    void (*array)(struct out *, const struct vocab *); /* META_ARRAY: type, count, values */
};

static void put_tokens(struct out *o, const struct vocab *v)
{
    char text[2 * MAX_UNIT_LEN];
    put_u32(o, META_STR);
    put_u64(o, (uint64_t)v->tokens);
    for (int i = 0; i < v->tokens; i++) {
        size_t len = spell(&v->token[i], text);
        put_u64(o, len);
        put(o, text, len);
    }
}

static void put_token_types(struct out *o, const struct vocab *v)
{
    put_u32(o, META_I32);
    put_u64(o, (uint64_t)v->tokens);
    for (int i = 0; i < v->tokens; i++)
        put_u32(o, v->token[i].kind);
}

static void put_merges(struct out *o, const struct vocab *v)
{
    char text[4 * MAX_UNIT_LEN + 1];
    put_u32(o, META_STR);
    put_u64(o, (uint64_t)v->merges);
    for (int i = 256; i < 256 + v->merges; i++) {
        size_t len = spell(&v->token[v->token[i].left], text);
        text[len++] = ' ';
        len += spell(&v->token[v->token[i].right], text + len);
        put_u64(o, len);
        put(o, text, len);
    }
}

/* ---- model shape and tensors --------------------------------------------------------------- */

enum tensor_type { TYPE_F32 = 0, TYPE_F16 = 1, TYPE_Q8_0 = 8 }; /* numbers are the format's */

static const struct type_info {
    const char *name;
    enum tensor_type type;
    uint32_t file_type; /* general.file_type */
    unsigned block, block_bytes;
} type_table[] = {
    {"f32", TYPE_F32, 0, 1, 4},
    {"f16", TYPE_F16, 1, 1, 2},
    {"q8_0", TYPE_Q8_0, 7, 32, 34},
};

struct shape {
    uint32_t layers, width, heads, kv_heads, head_size, ffn, context;
    const struct type_info *type;
    const char *name;
};

static const struct shape presets[] = {
    {2, 64, 4, 2, 16, 192, 131072, &type_table[0], "tiny"},
    {4, 640, 4, 2, 64, 2560, 131072, &type_table[0], "demo"},
};

enum role { ROLE_EMBED, ROLE_OUTPUT, ROLE_NORM, ROLE_ATTN, ROLE_INNER, ROLE_RESIDUAL };

/* One row for each tensor of a layer; sizes are picked from the shape by size_of. */
enum size { SIZE_ONE, SIZE_WIDTH, SIZE_HEADS, SIZE_KV, SIZE_FFN, SIZE_VOCAB };
struct tensor {
    const char *name;
    enum role role;
    enum size cols, rows; /* rows SIZE_ONE: a vector */
};
static const struct tensor outer_tensors[] = {
    {"token_embd.weight", ROLE_EMBED, SIZE_WIDTH, SIZE_VOCAB},
    {"output_norm.weight", ROLE_NORM, SIZE_WIDTH, SIZE_ONE},
    {"output.weight", ROLE_OUTPUT, SIZE_WIDTH, SIZE_VOCAB},
};
static const struct tensor layer_tensors[] = {
    {"attn_norm.weight", ROLE_NORM, SIZE_WIDTH, SIZE_ONE},
    {"attn_q.weight", ROLE_ATTN, SIZE_WIDTH, SIZE_HEADS},
    {"attn_k.weight", ROLE_ATTN, SIZE_WIDTH, SIZE_KV},
    {"attn_v.weight", ROLE_INNER, SIZE_WIDTH, SIZE_KV},
    {"attn_output.weight", ROLE_RESIDUAL, SIZE_HEADS, SIZE_WIDTH},
    {"ffn_norm.weight", ROLE_NORM, SIZE_WIDTH, SIZE_ONE},
    {"ffn_gate.weight", ROLE_INNER, SIZE_WIDTH, SIZE_FFN},
    {"ffn_up.weight", ROLE_INNER, SIZE_WIDTH, SIZE_FFN},
    {"ffn_down.weight", ROLE_RESIDUAL, SIZE_FFN, SIZE_WIDTH},
};

struct model {
    struct shape shape;
    const struct vocab *vocab;
    uint64_t random; /* generator state */
};

static uint32_t size_of(const struct model *m, enum size size)
{
    switch (size) {
    case SIZE_WIDTH: return m->shape.width;
    case SIZE_HEADS: return m->shape.heads * m->shape.head_size;
    case SIZE_KV: return m->shape.kv_heads * m->shape.head_size;
    case SIZE_FFN: return m->shape.ffn;
    case SIZE_VOCAB: return (uint32_t)m->vocab->tokens;
    default: return 1;
    }
}

/* About normal with deviation 1: the sum of four uniform 16-bit numbers from one splitmix64
 * step. No libm, so that every machine writes the same file. */
static float random_normal(struct model *m)
{
    uint64_t z = (m->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    int sum = (int)((z & 0xFFFF) + (z >> 16 & 0xFFFF) + (z >> 32 & 0xFFFF) + (z >> 48));
    return (float)(sum - 131070) * (1.7320508f / 65536.0f);
}

static float row_bias(const struct token *t)
{
    float bias = 0;
    if (!t->rank)
        return BIAS_NEVER;
    for (unsigned rank = t->rank; rank > 1; rank /= 2)
        bias += BIAS_RANK;
    return bias;
}

static void fill_row(struct model *m, enum role role, uint32_t row, float *cells, uint32_t cols)
{
    float gain = 1.0f / sqrtf((float)cols), constant = GAIN_BIAS / gain;
    const struct token *token = role == ROLE_OUTPUT ? &m->vocab->token[row] : NULL;
    bool zero = (role == ROLE_RESIDUAL && row == 0) || (token && !token->rank);

    if (role == ROLE_EMBED)
        gain = 1;
    else if (role == ROLE_ATTN)
        gain *= GAIN_ATTN;
    else if (role == ROLE_OUTPUT)
        gain *= GAIN_LOGIT;
    for (uint32_t i = 0; i < cols; i++) {
        float x = role == ROLE_NORM ? 1.0f : random_normal(m) * gain;
        cells[i] = zero ? 0.0f : x;
    }
    if (role == ROLE_EMBED)
        cells[0] = constant;
    if (token)
        cells[0] = row_bias(token) / constant;
}

/* IEEE half, rounded to nearest; what is too small for a normal half becomes zero. */
static uint16_t to_half(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, mag = (bits & 0x7FFFFFFF) + 0x1000;
    if (mag < 113u << 23)
        return (uint16_t)sign;
    return (uint16_t)(sign | ((mag >> 13) - (112u << 10)));
}

static void put_row(struct out *o, const float *cells, uint32_t cols, enum tensor_type type)
{
    for (uint32_t i = 0; type == TYPE_F16 && i < cols; i++)
        put(o, &(uint16_t){to_half(cells[i])}, 2);
    for (uint32_t i = 0; type == TYPE_Q8_0 && i < cols; i += 32) {
        int8_t quant[32];
        float most = 0;
        for (uint32_t j = 0; j < 32; j++)
            most = fmaxf(most, fabsf(cells[i + j]));
        for (uint32_t j = 0; j < 32; j++)
            quant[j] = (int8_t)(most > 0 ? lroundf(cells[i + j] / most * 127.0f) : 0);
        put(o, &(uint16_t){to_half(most / 127.0f)}, 2);
        put(o, quant, sizeof quant);
    }
    if (type == TYPE_F32)
        put(o, cells, cols * sizeof *cells);
}

/* Vectors stay F32, as in every file of this format. */
static const struct type_info *type_of(const struct model *m, const struct tensor *t)
{
    return t->rows == SIZE_ONE ? &type_table[0] : m->shape.type;
}

static void put_tensor_info(struct out *o, const struct model *m, const struct tensor *t,
                            const char *name, uint64_t *offset)
{
    const struct type_info *type = type_of(m, t);
    uint64_t cols = size_of(m, t->cols), rows = size_of(m, t->rows);
    put_str(o, name);
    put_u32(o, t->rows == SIZE_ONE ? 1 : 2);
    put_u64(o, cols);
    if (t->rows != SIZE_ONE)
        put_u64(o, rows);
    put_u32(o, type->type);
    put_u64(o, *offset);
    *offset += cols / type->block * type->block_bytes * rows;
    *offset += -*offset % ALIGN;
}

static void put_tensor_data(struct out *o, struct model *m, const struct tensor *t)
{
    uint32_t cols = size_of(m, t->cols), rows = size_of(m, t->rows);
    float *cells = must_alloc(cols, sizeof *cells);
    for (uint32_t row = 0; row < rows; row++) {
        fill_row(m, t->role, row, cells, cols);
        put_row(o, cells, cols, type_of(m, t)->type);
    }
    free(cells);
    put_padding(o);
}

/* ---- the file ------------------------------------------------------------------------------ */

static void put_header(struct out *o, const struct model *m, const char *name)
{
    const struct shape *s = &m->shape;
    const struct vocab *v = m->vocab;
    uint32_t control = (uint32_t)(v->tokens - CTL_COUNT);
    const struct meta table[] = {
        {"general.architecture", META_STR, .str = "llama"},
        {"general.name", META_STR, .str = name},
        {"general.description", META_STR, .str = "Random weights. Emits random common words."},
        {"general.alignment", META_U32, .u32 = ALIGN},
        {"general.file_type", META_U32, .u32 = s->type->file_type},
        {"general.quantization_version", META_U32, .u32 = 2},
        {"llama.vocab_size", META_U32, .u32 = (uint32_t)v->tokens},
        {"llama.context_length", META_U32, .u32 = s->context},
        {"llama.embedding_length", META_U32, .u32 = s->width},
        {"llama.block_count", META_U32, .u32 = s->layers},
        {"llama.feed_forward_length", META_U32, .u32 = s->ffn},
        {"llama.attention.head_count", META_U32, .u32 = s->heads},
        {"llama.attention.head_count_kv", META_U32, .u32 = s->kv_heads},
        {"llama.attention.key_length", META_U32, .u32 = s->head_size},
        {"llama.attention.value_length", META_U32, .u32 = s->head_size},
        {"llama.attention.layer_norm_rms_epsilon", META_F32, .f32 = 1e-5f},
        {"llama.rope.dimension_count", META_U32, .u32 = s->head_size},
        {"llama.rope.freq_base", META_F32, .f32 = 500000.0f},
        {"tokenizer.ggml.model", META_STR, .str = "gpt2"},
        {"tokenizer.ggml.pre", META_STR, .str = "llama-bpe"},
        {"tokenizer.ggml.tokens", META_ARRAY, .array = put_tokens},
        {"tokenizer.ggml.token_type", META_ARRAY, .array = put_token_types},
        {"tokenizer.ggml.merges", META_ARRAY, .array = put_merges},
        {"tokenizer.ggml.bos_token_id", META_U32, .u32 = control + CTL_BEGIN},
        {"tokenizer.ggml.eos_token_id", META_U32, .u32 = control + CTL_END},
        {"tokenizer.ggml.padding_token_id", META_U32, .u32 = control + CTL_END},
        {"tokenizer.ggml.add_bos_token", META_BOOL, .u32 = 1},
        {"tokenizer.chat_template", META_STR, .str = chat_template},
    };

    put(o, "GGUF", 4);
    put_u32(o, 3);
    put_u64(o, COUNT(outer_tensors) + s->layers * COUNT(layer_tensors));
    put_u64(o, COUNT(table));
    for (size_t i = 0; i < COUNT(table); i++) {
        put_str(o, table[i].key);
        put_u32(o, table[i].type);
        switch (table[i].type) {
        case META_STR: put_str(o, table[i].str); break;
        case META_F32: put(o, &table[i].f32, 4); break;
        case META_BOOL: put(o, &table[i].u32, 1); break;
        case META_ARRAY: table[i].array(o, v); break;
        default: put_u32(o, table[i].u32); break;
        }
    }
}

static void put_model(struct out *o, struct model *m, const char *name)
{
    uint64_t offset = 0;
    char full[64];
    put_header(o, m, name);
    for (size_t i = 0; i < COUNT(outer_tensors); i++)
        put_tensor_info(o, m, &outer_tensors[i], outer_tensors[i].name, &offset);
    for (uint32_t layer = 0; layer < m->shape.layers; layer++)
        for (size_t i = 0; i < COUNT(layer_tensors); i++) {
            snprintf(full, sizeof full, "blk.%u.%s", (unsigned)layer, layer_tensors[i].name);
            put_tensor_info(o, m, &layer_tensors[i], full, &offset);
        }
    put_padding(o);
    for (size_t i = 0; i < COUNT(outer_tensors); i++)
        put_tensor_data(o, m, &outer_tensors[i]);
    for (uint32_t layer = 0; layer < m->shape.layers; layer++)
        for (size_t i = 0; i < COUNT(layer_tensors); i++)
            put_tensor_data(o, m, &layer_tensors[i]);
}

/* ---- command line -------------------------------------------------------------------------- */

static const char usage[] =
    "usage: mkmodel [--size tiny|demo] [--layers N] [--width N] [--heads N] [--kv-heads N]\n"
    "               [--ffn N] [--context N] [--type f32|f16|q8_0] [--seed S] [-o FILE]\n"
    "\n"
    "Writes a GGUF llama model with random weights, for measuring engines without a download.\n"
    "\n"
    "  --size NAME    tiny (for tests, the default) or demo (about 100 MB)\n"
    "  --layers N     override one number of that size; so do --width, --heads,\n"
    "                 --kv-heads, --ffn (all sizes) and --context (trained context length)\n"
    "  --type NAME    how weights are stored\n"
    "  --seed S       number that decides the weights (default 1)\n"
    "  -o FILE        output (default tokgrid-random-weights-SIZE.gguf)\n";

static uint64_t parse_number(const char *option, const char *text, uint64_t min, uint64_t max)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < min || n > max) {
        fprintf(stderr, "mkmodel: --%s wants a number from %llu to %llu, not '%s'\n", option,
                (unsigned long long)min, (unsigned long long)max, text);
        exit(EXIT_USAGE);
    }
    return n;
}

static void check_shape(const struct shape *s)
{
    if (s->heads % s->kv_heads)
        die(EXIT_USAGE, "--heads must be a multiple of --kv-heads", NULL);
    if (s->width % s->type->block || s->heads * s->head_size % s->type->block ||
        s->ffn % s->type->block)
        die(EXIT_USAGE, "--type q8_0 wants --width and --ffn in multiples of 32", NULL);
}

/* Everything the command line decides. */
struct request {
    struct shape shape;
    uint64_t seed;
    const char *path;
};

static const struct shape *find_preset(const char *name)
{
    for (size_t i = 0; i < COUNT(presets); i++)
        if (strcmp(name, presets[i].name) == 0)
            return &presets[i];
    die(EXIT_USAGE, "--size wants tiny or demo, not", name);
    return NULL;
}

static const struct type_info *find_type(const char *name)
{
    for (size_t i = 0; i < COUNT(type_table); i++)
        if (strcmp(name, type_table[i].name) == 0)
            return &type_table[i];
    die(EXIT_USAGE, "--type wants f32, f16 or q8_0, not", name);
    return NULL;
}

static void parse_arguments(int argc, char **argv, struct request *ret)
{
    static const struct {
        const char *name;
        size_t offset; /* of the number in struct shape */
        uint32_t max;
    } numbers[] = {
        {"layers", offsetof(struct shape, layers), 256},
        {"width", offsetof(struct shape, width), 65536},
        {"heads", offsetof(struct shape, heads), 1024},
        {"kv-heads", offsetof(struct shape, kv_heads), 1024},
        {"ffn", offsetof(struct shape, ffn), 1u << 20},
        {"context", offsetof(struct shape, context), 1u << 30},
    };
    enum { OPT_HELP = 256, OPT_SIZE, OPT_TYPE, OPT_SEED, OPT_NUMBER };
    struct option options[COUNT(numbers) + 5] = {
        {"help", no_argument, NULL, OPT_HELP},
        {"size", required_argument, NULL, OPT_SIZE},
        {"type", required_argument, NULL, OPT_TYPE},
        {"seed", required_argument, NULL, OPT_SEED},
    };
    const struct shape *preset = &presets[0];
    const struct type_info *type = NULL;
    uint32_t over[COUNT(numbers)] = {0};
    int opt;

    for (size_t i = 0; i < COUNT(numbers); i++)
        options[4 + i] =
            (struct option){numbers[i].name, required_argument, NULL, OPT_NUMBER + (int)i};
    while ((opt = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
        switch (opt) {
        case '?': exit(EXIT_USAGE); /* getopt has said why, in one line */
        case OPT_HELP: fputs(usage, stdout); exit(0);
        case OPT_SIZE: preset = find_preset(optarg); break;
        case OPT_TYPE: type = find_type(optarg); break;
        case OPT_SEED: ret->seed = parse_number("seed", optarg, 0, UINT64_MAX); break;
        case 'o': ret->path = optarg; break;
        default:
            opt -= OPT_NUMBER;
            over[opt] = (uint32_t)parse_number(numbers[opt].name, optarg, 1, numbers[opt].max);
        }
    }
    if (optind < argc)
        die(EXIT_USAGE, "unexpected argument", argv[optind]);
    ret->shape = *preset;
    if (type)
        ret->shape.type = type;
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (over[i])
            memcpy((char *)&ret->shape + numbers[i].offset, &over[i], sizeof over[i]);
    check_shape(&ret->shape);
}

int main(int argc, char **argv)
{
    struct request req = {.seed = 1};
    char default_path[64], part[4096], name[64];

    parse_arguments(argc, argv, &req);
    snprintf(default_path, sizeof default_path, "tokgrid-random-weights-%s.gguf", req.shape.name);
    if (!req.path)
        req.path = default_path;
    if ((size_t)snprintf(part, sizeof part, "%s.part", req.path) >= sizeof part)
        die(EXIT_USAGE, "-o is too long", NULL);
    snprintf(name, sizeof name, "tokgrid random-weights %s", req.shape.name);

    /* Written aside and renamed, so that a file under its final name is always whole. */
    struct vocab *vocab = vocab_new();
    struct model model = {.shape = req.shape, .vocab = vocab, .random = req.seed};
    struct out out = {.file = fopen(part, "wb"), .path = part};
    if (!out.file)
        die(EXIT_FAILED, "cannot create", part);
    put_model(&out, &model, name);
    if (fclose(out.file) != 0 || rename(part, req.path) != 0) {
        remove(part);
        die(EXIT_FAILED, "cannot write", req.path);
    }
    printf("%s: %.1f MB, %d tokens, %u layers, width %u, %s, seed %llu\n", req.path,
           (double)out.pos / 1e6, vocab->tokens, (unsigned)req.shape.layers,
           (unsigned)req.shape.width, req.shape.type->name, (unsigned long long)req.seed);
    free(vocab);
    return 0;
}
