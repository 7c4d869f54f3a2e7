/* stamp_text.c - one conversion. */
#include "site/stamp_text.h"

const char *stamp_text(int64_t unix_ms, char *out)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm tm;
    out[0] = '\0';
    if (!gmtime_r(&seconds, &tm) || strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        out[0] = '\0';
    return out;
}
