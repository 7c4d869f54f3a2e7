/* dialect_mlx.c - mlx-lm: Python's http.server, HTTP/1.0, nothing told beyond a list of models.
 *
 * The list is the machine's whole cache of models, and naming one loads (or fetches) it: never one
 * that was not asked for. Cards have no owner, which with that Server header gives it away. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "load/dialect.h"

static const char *detect(struct pages *pages)
{
    const struct page *page = pages_get(pages, "/v1/models");
    json_t *card = json_at(page->json, "data.0");
    bool shows = text_starts(page->server, "BaseHTTP/") && json_string_at(card, "id") &&
                 !json_object_get(card, "owned_by");
    return shows ? "the Server header, and cards without owner" : NULL;
}

const struct dialect dialect_mlx = {
    .name = "mlx-lm",
    .repository = "github.com/ml-explore/mlx-lm",
    .detect = detect,
};
