/* middlebox.c - two small tables: statuses, and ages with a second's grace. */
#include "load/middlebox.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"

bool middlebox_gave_up(int http_status, int64_t tokens, int64_t age_ns)
{
    static const int statuses[] = {504, 522, 524}; /* gateway time-out, and Cloudflare's */
    static const int64_t ages_s[] = {60, 100, 125, 300};

    if (tokens > 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (http_status == statuses[i])
            return true;
    bool broke = http_status == 0 || http_status == 200 || http_status >= 500;
    for (size_t i = 0; broke && i < ARRAY_LEN(ages_s); i++)
        if (llabs(age_ns - ages_s[i] * NS_PER_S) <= NS_PER_S)
            return true;
    return false;
}
