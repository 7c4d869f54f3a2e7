/* report_reasons.c - the table. */
#include "site/report_reasons.h"

#include <string.h>

#include "base/mem.h"

const struct report_reason report_reasons[] = {
    {"implausible", SITE_REASON_IMPLAUSIBLE}, {"identity", SITE_REASON_IDENTITY},
    {"settings", SITE_REASON_SETTINGS},       {"spam", SITE_REASON_SPAM},
    {"private", SITE_REASON_PRIVATE},         {"other", SITE_REASON_OTHER},
};
const size_t report_reason_count = ARRAY_LEN(report_reasons);

const struct report_reason *report_reason_find(const char *name)
{
    for (size_t i = 0; i < report_reason_count; i++)
        if (strcmp(report_reasons[i].name, name) == 0)
            return &report_reasons[i];
    return NULL;
}
