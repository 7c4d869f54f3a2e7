/* proxy.h - recognises programs that stand between us and the engine, by the headers they leave.
 *
 * Times taken through them are theirs as well: they may hold a stream back, strip its usage, cut it
 * off, or go on working when we have left. */
#ifndef TOKGRID_LOAD_PROXY_H
#define TOKGRID_LOAD_PROXY_H

#include <stdbool.h>

#include "load/dialect.h"
#include "load/pages.h"

/* Name and the header that told; false when nothing shows, which proves nothing. */
bool proxy_recognise(const struct page *page, struct known_text *ret);

#endif
