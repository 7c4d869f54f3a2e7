/* client_network.h - whom a limit by address counts as one client.
 *
 * Whoever has one IPv6 address has the 2^64 others of its network as well (RFC 4291, 2.5.4: subnets
 * are /64), so the network is what is counted. An IPv4 address is counted as it is, also where it
 * comes as an IPv4-mapped one. */
#ifndef TOKGRID_SITE_CLIENT_NETWORK_H
#define TOKGRID_SITE_CLIENT_NETWORK_H

enum { CLIENT_NETWORK_MAX = 64 };

/* "2001:db8:1:2:3:4:5:6" becomes "2001:db8:1:2::/64"; what is no IPv6 address stays as it is. */
void client_network(const char *address, char out[CLIENT_NETWORK_MAX]);

#endif
