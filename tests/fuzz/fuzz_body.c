/* fuzz_body.c - a request's document means the same with its long strings taken aside as to the
 * JSON parser alone, and whatever it is can be asked for a completion: it is taken within the
 * limits, or refused with a complaint. The input stands alone, and then inside a string that is
 * long enough. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ask.h"
#include "engine/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAD = 4200, MANY = 1 << 20 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void ask_both_ways(const struct body *body)
{
    static const struct ask_rules rules = {
        .served_model = "m", .context_limit = 64, .checks_model = true};
    struct tokens tokens = {.max = 128};
    struct token_memo memo = {0};
    struct complaint c;
    struct ask ask;

    for (int i = 0; i < 2; i++) {
        if (ask_read(body, (enum endpoint)i, &rules, &tokens, &memo, &ask, &c))
            must(ask.prompt.n > 0 && ask.max_output > 0 &&
                 (int64_t)ask.prompt.n + ask.max_output <= rules.context_limit);
        else
            must(c.param[0] != '\0' || c.text[0] != '\0');
    }
    tokens_release(&tokens);
    token_memo_release(&memo);
}

/* Both readings of the document agree; when it is an object, also about its member "a". */
static void compare(const char *p, size_t n)
{
    struct body body;
    struct err err;
    const char *text;
    size_t length;

    json_t *plain = json_loadb(p, n, JSON_DECODE_ANY, NULL);
    bool read = body_read(p, n, MANY, &body, &err);
    must(read == (plain != NULL));
    if (read) {
        const json_t *wanted = json_object_get(plain, "a");
        bool is_text = body_string(&body, json_object_get(body.root, "a"), &text, &length);
        must(is_text == json_is_string(wanted));
        must(!is_text || (length == json_string_length(wanted) &&
                          memcmp(text, json_string_value(wanted), length) == 0));
        ask_both_ways(&body);
        body_release(&body);
    }
    json_decref(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text;

    compare((const char *)data, size);
    buf_init(&text, size + 2 * PAD);
    buf_adds(&text, "{\"a\":\"");
    buf_add_repeat(&text, 'x', PAD);
    buf_add(&text, data, size);
    buf_adds(&text, "\"}");
    compare(text.p, text.len);
    buf_release(&text);
    return 0;
}
