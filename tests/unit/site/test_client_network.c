/* Whom a limit by address counts as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "site/client_network.h"

static void test_networks(void **state)
{
    static const struct {
        const char *address, *network;
    } cases[] = {
        {"192.0.2.7", "192.0.2.7"},
        {"::ffff:192.0.2.7", "192.0.2.7"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
        {"2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"},
        {"2001:DB8:1:2::1", "2001:db8:1:2::/64"},
        {"[2001:db8:1:2::9]:4711", "2001:db8:1:2::/64"},
        {"2001:db8:1:3::1", "2001:db8:1:3::/64"},
        {"fe80::1%eth0", "fe80::/64"},
        {"::1", "::/64"},
        {"unknown", "unknown"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char network[CLIENT_NETWORK_MAX];
        client_network(cases[i].address, network);
        assert_string_equal(network, cases[i].network);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
