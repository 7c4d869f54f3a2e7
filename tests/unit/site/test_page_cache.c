/* Kept pages: given out in the version they were made in, and within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "site/page_cache.h"

static void keep(struct page_cache *c, const char *key, int64_t version, const char *text,
                 const char *packed)
{
    struct response r;
    response_init(&r);
    r.cache = CACHE_CHECK;
    buf_adds(&r.body, text);
    buf_adds(&r.packed, packed);
    page_cache_put(c, key, version, &r);
    response_release(&r);
}

/* What is kept, or "" for nothing. */
static const char *kept(struct page_cache *c, const char *key, int64_t version)
{
    static char text[200];
    struct response r;
    response_init(&r);
    bool found = page_cache_get(c, key, version, &r);
    snprintf(text, sizeof text, "%s%s%s", found ? r.body.p : "", r.packed.len ? "+" : "",
             r.packed.p);
    if (found)
        assert_int_equal(r.cache, CACHE_CHECK);
    response_release(&r);
    return text;
}

static void test_versions(void **state)
{
    struct page_cache *c = page_cache_new(64, 1 << 20);
    (void)state;
    assert_string_equal(kept(c, "/en/", 1), "");
    keep(c, "/en/", 1, "one", "zip");
    assert_string_equal(kept(c, "/en/", 1), "one+zip");
    assert_string_equal(kept(c, "/en/", 2), "");
    assert_string_equal(kept(c, "/zh/", 1), "");
    keep(c, "/en/", 2, "two", "");
    assert_string_equal(kept(c, "/en/", 2), "two");
    assert_string_equal(kept(c, "/en/", 1), ""); /* never an older one */
    page_cache_free(c);
    page_cache_free(NULL);
}

static void test_bounds(void **state)
{
    struct page_cache *one = page_cache_new(1, 1 << 20), *small = page_cache_new(64, 10);
    (void)state;
    keep(one, "/a", 1, "a", "");
    keep(one, "/b", 1, "b", "");
    assert_string_equal(kept(one, "/a", 1), ""); /* the same slot */
    assert_string_equal(kept(one, "/b", 1), "b");
    keep(small, "/a", 1, "12345", "");
    assert_string_equal(kept(small, "/a", 1), "12345");
    keep(small, "/b", 1, "12345", "6");
    assert_string_equal(kept(small, "/b", 1), "");
    keep(small, "/b", 1, "12345", "6789");
    assert_string_equal(kept(small, "/b", 1), "12345+6789"); /* room was made */
    page_cache_free(one);
    page_cache_free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
