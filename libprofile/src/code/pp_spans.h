/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Address ranges that belong to something and may lie in one another: which is the innermost at an
 * address?
 *
 *     pp_spans_add(&spans, start, end, item); ...
 *     pp_spans_nest(&spans);
 *     item = pp_spans_at(&spans, address);
 *
 * Workload: debug information's 10^2 to 10^6 ranges, added once, then looked up often. They are
 * sorted by start, the wider first. The innermost one at an address is the last that begins before
 * the address, or one around that; `outer` is the next wider one. If ranges are equal, the one with
 * the greater item is the inner one. Ranges that overlap without one lying in the other come from
 * broken files: either is found.
 *
 * Locking: the owner's. Ownership: the spans own their array; {0} is an empty one.
 */
#ifndef PP_SPANS_H
#define PP_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

#define PP_SPANS_NONE UINT32_MAX

struct pp_span {
	uint64_t start, end;
	uint32_t item, outer;
};

struct pp_spans {
	struct pp_span *spans;
	uint32_t cnt, room;
};

/* Ignores an empty range. -ENOMEM. */
int pp_spans_add(struct pp_spans *spans, uint64_t start, uint64_t end, uint32_t item);
void pp_spans_nest(struct pp_spans *spans);
/* PP_SPANS_NONE: the address is in none. Call it only after pp_spans_nest(). */
uint32_t pp_spans_at(const struct pp_spans *spans, uint64_t address);
void pp_spans_release(struct pp_spans *spans);

#endif
