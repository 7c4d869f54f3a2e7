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
    kept_page_take(&r, "W/\"tag\"");
    page_cache_put(c, key, version, r.kept);
    response_release(&r);
}

/* What is kept, or "" for nothing. */
static const char *kept(struct page_cache *c, const char *key, int64_t version)
{
    static char text[200];
    struct kept_page *page = page_cache_get(c, key, version);
    if (!page)
        return "";
    snprintf(text, sizeof text, "%s%s%s", page->body.p, page->packed.len ? "+" : "",
             page->packed.p);
    assert_int_equal(page->cache, CACHE_CHECK);
    assert_string_equal(page->tag, "W/\"tag\"");
    kept_page_drop(page);
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
    struct page_cache *one = page_cache_new(1, 1 << 20), *small = page_cache_new(64, 12);
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
    keep(small, "/c", 1, "one that is larger than all room", "");
    assert_string_equal(kept(small, "/c", 1), "");
    assert_string_equal(kept(small, "/b", 1), "12345+6789"); /* it has driven out nothing */
    page_cache_free(one);
    page_cache_free(small);
}

/* Who sends a page has it until the end, whatever takes its place meanwhile. */
static void test_held(void **state)
{
    struct page_cache *c = page_cache_new(1, 1 << 20);
    (void)state;
    keep(c, "/a", 1, "first", "zip");
    struct kept_page *page = page_cache_get(c, "/a", 1);
    keep(c, "/a", 2, "second", "");
    page_cache_free(c);
    assert_non_null(page);
    assert_string_equal(page->body.p, "first");
    assert_string_equal(page->packed.p, "zip");
    assert_int_equal(page->holders, 1);
    kept_page_drop(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
