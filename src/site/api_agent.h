/* api_agent.h - one document from which a program (or a language model with a shell) can begin:
 * what the site is, how to get a key, which calls there are, what a document must hold, which names
 * are known here. */
#ifndef TOKGRID_SITE_API_AGENT_H
#define TOKGRID_SITE_API_AGENT_H

#include "site/api_objects.h"

struct agent_facts {
    const char *origin; /* "https://example.org" */
    struct store_hardwares hardware;
    struct store_choices engines, quantizations;
};

extern const struct api_object api_agent;

json_t *agent_document(const struct agent_facts *facts, struct arena *a); /* the caller owns it */

#endif
