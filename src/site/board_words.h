/* board_words.h - the classes of metric in words, and their tables, for whichever page shows one.
 */
#ifndef TOKGRID_SITE_BOARD_WORDS_H
#define TOKGRID_SITE_BOARD_WORDS_H

#include "site/frame.h"
#include "store/store.h"

enum site_word metric_word(enum store_metric m);
enum site_word metric_unit(enum store_metric m);
void put_metric(struct frame *f, enum store_metric m, double value);

/* The table; `first_rank` 0: without ranks; `sortable`: with links to the leaderboard's orders. */
void put_board_rows(struct frame *f, const struct store_board *board,
                    const struct store_board_rows *rows, int64_t first_rank, bool sortable);

#endif
