/* synthetic.h - made-up runs that satisfy every check: for tests of the store and for filling one.
 *
 * The same number gives the same run, on every machine. What they say is invented: real names of
 * models and cards with speeds that only have a plausible shape. */
#ifndef TOKGRID_TESTS_SYNTHETIC_H
#define TOKGRID_TESTS_SYNTHETIC_H

#include <stdint.h>

#include "base/buf.h"
#include "model/result.h"

/* The run of this number; release it. About fifty cells. */
void synthetic_run(uint64_t number, struct result *ret);

/* Its document, appended. */
void synthetic_document(const struct result *r, struct buf *out);

#endif
