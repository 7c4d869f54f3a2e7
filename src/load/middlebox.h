/* middlebox.h - tells a limit of something on the way from a fault of the engine.
 *
 * Load balancers and proxies cut requests off that have said nothing for a while, at ages that are
 * well known (60, 100, 125, 300 s), some with a status of their own. The engine behind them has not
 * failed and is likely still at work. */
#ifndef TOKGRID_LOAD_MIDDLEBOX_H
#define TOKGRID_LOAD_MIDDLEBOX_H

#include <stdbool.h>
#include <stdint.h>

/* A request failed at that age, with this HTTP status (0 or 200: the connection broke) and so many
 * tokens. */
bool middlebox_gave_up(int http_status, int64_t tokens, int64_t age_ns);

#endif
