/* setup.h - the Hardware, Engine, Run and Conditions blocks: labels with their values.
 *
 * Shared by every format. What a row adds is printable (plain.h) and not yet escaped; a row that
 * adds nothing is not shown, nor is a block without rows. */
#ifndef TOKGRID_REPORT_SETUP_H
#define TOKGRID_REPORT_SETUP_H

#include "report/headline.h"

struct setup_row {
    enum word label;
    report_part_fn *add;
};

struct setup_block {
    enum word title;
    const struct setup_row *rows;
    size_t count;
};

enum { SETUP_BLOCKS = 4 };
extern const struct setup_block setup_blocks[SETUP_BLOCKS];

#endif
