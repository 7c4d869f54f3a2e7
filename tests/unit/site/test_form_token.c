/* Tokens of forms: of the cookie, unlike others', compared whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "site/form_token.h"

static void test_tokens(void **state)
{
    char a[FORM_TOKEN_MAX], b[FORM_TOKEN_MAX], of_a[FORM_TOKEN_MAX], again[FORM_TOKEN_MAX],
        of_b[FORM_TOKEN_MAX];
    (void)state;
    form_token_secret(a);
    form_token_secret(b);
    assert_int_equal(strlen(a), 40);
    assert_string_not_equal(a, b);
    form_token_of(a, of_a);
    form_token_of(a, again);
    form_token_of(b, of_b);
    assert_string_equal(of_a, again);
    assert_string_not_equal(of_a, of_b);
    assert_string_not_equal(of_a, a); /* a page does not give the cookie away */
}

static void test_equal(void **state)
{
    (void)state;
    assert_true(form_token_equal("abc", "abc"));
    assert_false(form_token_equal("abc", "abd"));
    assert_false(form_token_equal("abc", "ab"));
    assert_false(form_token_equal("", "")); /* no token is no permission */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
