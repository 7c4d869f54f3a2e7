/* test_proxy.c - who stands in between, by the headers of one page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/num.h"
#include "load/proxy.h"

static void test_recognise(void **state)
{
    static const struct {
        struct page page;
        const char *name, *source; /* NULL: nobody */
    } rows[] = {
        {{.path = "/v1/models", .server = "nginx/1.27.1"},
         "nginx",
         "GET /v1/models, header server"},
        {{.path = "/v1/models", .server = "istio-envoy"}, "envoy", "GET /v1/models, header server"},
        {{.path = "/x", .server = "cloudflare", .cf_ray = "0a1b-FRA"},
         "cloudflare",
         "GET /x, header cf-ray"},
        {{.path = "/x", .via = "1.1 google"}, "1.1 google", "GET /x, header via"},
        {{.path = "/x", .server = "uvicorn", .litellm = "1.80.0"},
         "litellm",
         "GET /x, header x-litellm-version"},
        /* the program that serves is none in between */
        {{.path = "/x", .server = "uvicorn"}, NULL, NULL},
        {{.path = "/x", .server = "BaseHTTP/0.6 Python/3.12.4"}, NULL, NULL},
        {{.path = "/x"}, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct known_text found = {.value = ""};
        if (proxy_recognise(&rows[i].page, &found) != (rows[i].name != NULL))
            fail_msg("row %zu: %s", i, found.value);
        assert_string_equal(found.value, rows[i].name ? rows[i].name : "");
        assert_string_equal(found.source, rows[i].source ? rows[i].source : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recognise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
