/* client_network.c - the first half of an IPv6 address. */
#include "site/client_network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void client_network(const char *address, char out[CLIENT_NETWORK_MAX])
{
    char text[INET6_ADDRSTRLEN], bare[CLIENT_NETWORK_MAX];
    struct in6_addr ip;

    /* in brackets or with a zone, as some proxies write it */
    snprintf(bare, sizeof bare, "%s", address + (*address == '['));
    bare[strcspn(bare, "]%")] = '\0';
    if (inet_pton(AF_INET6, bare, &ip) != 1) {
        snprintf(out, CLIENT_NETWORK_MAX, "%s", address);
    } else if (IN6_IS_ADDR_V4MAPPED(&ip)) {
        inet_ntop(AF_INET, &ip.s6_addr[12], out, CLIENT_NETWORK_MAX);
    } else {
        memset(&ip.s6_addr[8], 0, 8);
        snprintf(out, CLIENT_NETWORK_MAX, "%s/64",
                 inet_ntop(AF_INET6, &ip, text, sizeof text) ? text : bare);
    }
}
