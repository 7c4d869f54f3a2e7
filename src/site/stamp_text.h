/* stamp_text.h - Unix milliseconds as UTC text. */
#ifndef TOKGRID_SITE_STAMP_TEXT_H
#define TOKGRID_SITE_STAMP_TEXT_H

#include <stdint.h>

#include "base/clock.h"

/* "2026-11-30T10:13:26Z" into CLOCK_TEXT_MAX bytes; returns `out`. */
const char *stamp_text(int64_t unix_ms, char *out);

#endif
