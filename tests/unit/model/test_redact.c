/* test_redact.c - commands with secrets, and what is left of them; commands without, untouched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/redact.h"

static void check(const char *command, const char *wanted, int count)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    int found = redact_command(command, &out);
    if (strcmp(out.p, wanted) != 0 || found != count)
        fail_msg("'%s' became '%s' (%d), not '%s'", command, out.p, found, wanted);
    buf_release(&out);
}

static void test_secrets_go(void **state)
{
    static const struct {
        const char *command, *left;
        int count;
    } rows[] = {
        /* options, with the value beside them or in the next word */
        {"vllm serve m --api-key abc --port 1", "vllm serve m --api-key *** --port 1", 1},
        {"vllm serve m --api-key=abc --port 1", "vllm serve m --api-key=*** --port 1", 1},
        {"x --hf-token abc", "x --hf-token ***", 1},
        {"x --API_KEY abc", "x --API_KEY ***", 1},
        {"x --password p --admin-secret s", "x --password *** --admin-secret ***", 2},
        {"x --ssl-key k --key k2", "x --ssl-key *** --key ***", 2},
        {"x --auth a:b", "x --auth ***", 1},
        {"x --api-key\tabc", "x --api-key\t***", 1},
        {"x --api-key", "x --api-key", 0},
        {"x --api-key --port 1", "x --api-key --port 1", 0},
        {"x --api-key= --port 1", "x --api-key= --port 1", 0},
        /* on the next line */
        {"x --api-key \\\n    abc \\\n  --port 1", "x --api-key \\\n    *** \\\n  --port 1", 1},
        {"x --api-key \\\r\n abc", "x --api-key \\\r\n ***", 1},
        {"x --api-key\nabc", "x --api-key\n***", 1},
        /* in quotes, with blanks inside */
        {"x --api-key 'a b c' --port 1", "x --api-key *** --port 1", 1},
        {"x --api-key=\"a b c\" --port 1", "x --api-key=*** --port 1", 1},
        {"x --api-key \"a\\\" b\" y", "x --api-key *** y", 1},
        {"x --api-key a\\ b y", "x --api-key *** y", 1},
        {"x '--api-key=a b' y", "x '--api-key=***' y", 1},
        /* variables */
        {"HF_TOKEN=hf_abc vllm serve m", "HF_TOKEN=*** vllm serve m", 1},
        {"export OPENAI_API_KEY=\"x y\"; run", "export OPENAI_API_KEY=***; run", 1},
        {"docker run -e HUGGING_FACE_HUB_TOKEN=abc -e A=b i",
         "docker run -e HUGGING_FACE_HUB_TOKEN=*** -e A=b i", 1},
        {"env WANDB_KEY=1 AWS_SECRET_ACCESS_KEY=2 x",
         "env WANDB_KEY=*** AWS_SECRET_ACCESS_KEY=*** x", 2},
        {"docker run --env=HF_TOKEN=abc i", "docker run --env=HF_TOKEN=*** i", 1},
        /* URLs */
        {"x --proxy https://user:pw@host/p", "x --proxy https://***@host/p", 1},
        {"x http://tok@h:80 y", "x http://***@h:80 y", 1},
        {"x --u=https://u:p@ss:w@host y", "x --u=https://***@host y", 1},
        {"x 'https://u:p@h/a@b' y", "x 'https://***@h/a@b' y", 1},
        {"x a=https://u:p@h,b=https://v:q@i", "x a=https://***@h,b=https://***@i", 2},
        /* by their looks alone */
        {"login hf_abcdefghijkl", "login ***", 1},
        {"x sk-abcdefghijkl, y", "x ***, y", 1},
        {"x \"sk-abcdefghijkl\" y", "x \"***\" y", 1},
        {"x --config a=1,b=ghp_abcdefghijkl,c=2", "x --config a=1,b=***,c=2", 1},
        {"x AKIAABCDEFGHIJKL glpat-abcdefghij", "x *** ***", 2},
        {"x gsk_abcdefghijkl xai-abcdefghijkl AIzaabcdefghij", "x *** *** ***", 3},
        {"x ghs_abcdefghijkl xoxp-abcdefghijkl pplx-abcdefghijkl", "x *** *** ***", 3},
        /* headers and JSON */
        {"curl -H \"Authorization: Bearer abc\" u", "curl -H \"Authorization:***\" u", 1},
        {"curl -H 'X-Api-Key: abc' u", "curl -H 'X-Api-Key:***' u", 1},
        {"curl -H Authorization:abc u", "curl -H Authorization:*** u", 1},
        {"x --c '{\"a\": 1, \"api_key\": \"abc\", \"b\": 2}' y",
         "x --c '{\"a\": 1, \"api_key\":***' y", 1},
        {"x --c '{\"a\": \"hf_abcdefghijkl\", \"b\": 2}' y", "x --c '{\"a\": \"***\", \"b\": 2}' y",
         1},
        /* what is no shell any more must not hide one either */
        {"# don't stop\nx --api-key abc", "# don't stop\nx --api-key ***", 1},
        {"x # it's mine: --api-key abc\ny", "x # it's mine: --api-key ***\ny", 1},
        {"x don't --api-key abc", "x don't --api-key ***", 1},
        {"x \" --api-key abc", "x \" --api-key ***", 1},
        {"x --api-key 'abc", "x --api-key ***", 1},
        {"x --api-key abc\\", "x --api-key ***", 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(rows[i].command, rows[i].left, rows[i].count);
}

static void test_the_rest_stays(void **state)
{
    static const char *const commands[] = {
        "",
        " \n\t",
        "\\",
        "'",
        "x",
        "vllm serve Qwen/Qwen3-Coder-30B --max-num-batched-tokens 8192 --port 8000",
        "x --tokenizer Qwen/Tok --tokenizer-mode auto --max-tokens=5 --skip-tokenizer-init",
        "x --kv-cache-dtype int4_per_token_head --quantization=fp8_per_token",
        "x --speculative-config '{\"num_speculative_tokens\": 3, \"method\": \"mtp\"}'",
        "x --override '{\"eos_token_id\": [1, 2], \"pad_token\": \"<p>\"}' --stop-token-ids 1,2",
        "x --enable-auto-tool-choice --auto-resume yes --author me",
        "x --served-model-name qwen:7b --hf-overrides '{\"a\": {\"b\": 1}}'",
        "x http://127.0.0.1:8000/v1 https://h/p@q me@example.com",
        "llama-server -hf unsloth/Qwen3-GGUF:Q4_K_M --slots -ngl 99 \\\n  -c 65536 # all of it",
        "x sk-short hf_short --monkey business --keys 3",
        "docker run --gpus all -v ~/.cache/huggingface:/data/huggingface -p 8000:8000 i",
        "x --chat-template \"{{ a['b'] }}\" --reasoning-parser qwen3",
        "A=b C='d e' x \xC3\xA9 \xFF",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        check(commands[i], commands[i], 0);
}

/* A second pass finds nothing new to change: what is stored can be read in and stored again. */
static void test_stable(void **state)
{
    static const char command[] = "HF_TOKEN=hf_abcdefghijkl x --api-key \"a b\" https://u:p@h "
                                  "-H 'Authorization: Bearer q' \\\n --token t";
    struct buf once, twice;
    (void)state;
    buf_init(&once, 4096);
    buf_init(&twice, 4096);
    assert_int_equal(redact_command(command, &once), 5);
    redact_command(once.p, &twice);
    assert_string_equal(once.p, twice.p);
    buf_release(&once);
    buf_release(&twice);
}

/* Each form, with and without names: what is left, and what its owner is shown. */
static void test_forms(void **state)
{
    static const struct redact_names names = {.user = "alice",
                                              .hosts = {"gpu1.example.net", "vllm"}};
    static const struct {
        enum redact_form form;
        bool names;
        const char *text, *left, *shown;
    } rows[] = {
        {REDACT_COMMAND, false, "x --api-key abc", "x --api-key ***", "x --api-key <3 bytes>"},
        {REDACT_COMMAND, false, "x --api-key '***' --token=*** -H 'Authorization:***'", NULL, NULL},
        {REDACT_COMMAND, false, "x --api-key=\"a b\" --y \"c d\"", "x --api-key=*** --y \"c d\"",
         "x --api-key=<5 bytes> --y \"c d\""},
        {REDACT_COMMAND, false, "x https://u:p@h/srv/home/alice", "x https://***@h/srv/home/alice",
         "x https://<3 bytes>@h/srv/home/alice"},
        /* prose: a colon ends a clause, an option is spoken of, an assignment is one */
        {REDACT_PROSE, false, "auth: failed; the token: is wrong, --api-key was not given", NULL,
         NULL},
        {REDACT_PROSE, false, "it's HF_TOKEN=abc don't", "it's HF_TOKEN=*** don't",
         "it's HF_TOKEN=<3 bytes> don't"},
        {REDACT_PROSE, false, "see https://u:p@h, (sk-abcdefghijkl)", "see https://***@h, (***)",
         "see https://<3 bytes>@h, (<15 bytes>)"},
        {REDACT_PROSE, false, "-H \"Authorization: Bearer abcdefg1\"; A_KEY=b",
         "-H \"Authorization: Bearer ***\"; A_KEY=***",
         "-H \"Authorization: Bearer <8 bytes>\"; A_KEY=<1 bytes>"},
        {REDACT_PROSE, false, "bearer abcdefg1;A_KEY=b", "bearer ***;A_KEY=***",
         "bearer <8 bytes>;A_KEY=<1 bytes>"},
        {REDACT_COMMAND, false, "x # -H 'Authorization: Bearer abcdefg1'",
         "x # -H 'Authorization: Bearer ***'", "x # -H 'Authorization: Bearer <8 bytes>'"},
        {REDACT_PROSE, false, "a bearer authentication, a Bearer token, Bearer *** is wanted", NULL,
         NULL},
        {REDACT_PROSE, false, "sk-learn, eyJ, 128 max_tokens=5", NULL, NULL},
        {REDACT_JSON, false, "{\"api_key\": \"a\\\"b\", \"max_tokens\": 5, \"x\": [\"y\"]}",
         "{\"api_key\": \"***\", \"max_tokens\": 5, \"x\": [\"y\"]}",
         "{\"api_key\": \"<4 bytes>\", \"max_tokens\": 5, \"x\": [\"y\"]}"},
        {REDACT_JSON, false, "{\"tokens\":[\"a\"],\"token\":[\"b\",{\"c\":\"d\"}]}",
         "{\"tokens\":[\"a\"],\"token\":[\"***\",{\"c\":\"d\"}]}",
         "{\"tokens\":[\"a\"],\"token\":[\"<1 bytes>\",{\"c\":\"d\"}]}"},
        {REDACT_JSON, false, "[\"a\\nsk-abcdefghijkl\\u0020hf_abcdefghijkl\\\\\"]",
         "[\"a\\n***\\u0020***\\\\\"]", "[\"a\\n<15 bytes>\\u0020<15 bytes>\\\\\"]"},
        {REDACT_JSON, false, "[\"unfinished", NULL, NULL},
        {REDACT_JSON, false, "[\"a\\", NULL, NULL},
        /* names */
        {REDACT_COMMAND, true, "llama-server -m /srv/home/bob/m.gguf -v \"/Volumes/Users/Bob B/x\"",
         "llama-server -m /srv/home/***/m.gguf -v \"/Volumes/Users/*** B/x\"",
         "llama-server -m /srv/home/bob/m.gguf -v \"/Volumes/Users/Bob B/x\""},
        {REDACT_PROSE, true, "C:\\Users\\bob\\m /srv/home/bob:/srv/home/*** /srv/home/",
         "C:\\Users\\***\\m /srv/home/***:/srv/home/*** /srv/home/",
         "C:\\Users\\bob\\m /srv/home/bob:/srv/home/*** /srv/home/"},
        {REDACT_PROSE, true, "alice@gpu1.example.net malice@x alice GPU1.EXAMPLE.NET:80",
         "***@*** malice@x alice ***:80",
         "alice@gpu1.example.net malice@x alice GPU1.EXAMPLE.NET:80"},
        {REDACT_PROSE, true, "agpu1.example.net gpu1.example.net2 x.gpu1.example.net", NULL, NULL},
        /* a machine that is called as a program is */
        {REDACT_COMMAND, true, "vllm serve vllm/m --host vllm # http://vllm vllm:80 vllm.x",
         "vllm serve vllm/m --host *** # http://*** ***:80 vllm.x",
         "vllm serve vllm/m --host vllm # http://vllm vllm:80 vllm.x"},
        /* a secret hides the name in it */
        {REDACT_COMMAND, true, "x --api-key /srv/home/bob /srv/home/eve",
         "x --api-key *** /srv/home/***", "x --api-key <13 bytes> /srv/home/eve"},
    };
    struct redact_spans spans = {0};
    struct buf out;
    (void)state;
    buf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        redact_find(rows[i].text, rows[i].form, &spans);
        if (rows[i].names)
            redact_find_names(rows[i].text, &names, &spans);
        buf_reset(&out);
        redact_write(rows[i].text, &spans, &out);
        assert_string_equal(out.p, rows[i].left ? rows[i].left : rows[i].text);
        buf_reset(&out);
        redact_write_masked(rows[i].text, &spans, &out);
        assert_string_equal(out.p, rows[i].shown ? rows[i].shown : rows[i].text);
    }
    redact_spans_release(&spans);
    buf_release(&out);
}

/* A text that a peer made long costs time in proportion to its length, not to its square. */
static void test_long(void **state)
{
    static const char *const pieces[] = {"\"", "'", "\\", "a=", "://", "/home", "a\" ", "\":"};
    static const struct redact_names names = {.user = "a", .hosts = {"a.b", "a"}};
    struct redact_spans spans = {0};
    struct buf text;
    (void)state;
    buf_init(&text, 8 << 20);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        buf_reset(&text);
        while (text.len < 1 << 20)
            buf_adds(&text, pieces[i]);
        for (int form = REDACT_COMMAND; form <= REDACT_JSON; form++) {
            redact_find(text.p, (enum redact_form)form, &spans);
            redact_find_names(text.p, &names, &spans);
        }
    }
    redact_spans_release(&spans);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets_go), cmocka_unit_test(test_the_rest_stays),
        cmocka_unit_test(test_stable),     cmocka_unit_test(test_forms),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
