/* near.c - edit distance with swaps (optimal string alignment), three rows of the table at a time.
 */
#include "cmd/near.h"

#include <string.h>

#include "base/text.h"

enum { NEAR_MAX = 48 }; /* longer words are compared by no one */

static size_t least(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][NEAR_MAX + 1]; /* row i is in rows[i % 3] */

    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3], *before = rows[(i - 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least(before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], now[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void near_offer(struct near *n, const char *candidate)
{
    size_t typed = strlen(n->word), length = strlen(candidate);
    if (typed == 0 || typed > NEAR_MAX || length > NEAR_MAX)
        return;
    size_t slips = distance(n->word, typed, candidate, length);
    if (slips > (typed + 2) / 3) {
        if (typed < 3 || !text_starts(candidate, n->word))
            return;
        slips = NEAR_MAX; /* a beginning: better than nothing, worse than a slip */
    }
    if (!n->match || slips < n->distance) {
        n->match = candidate;
        n->distance = slips;
    }
}
