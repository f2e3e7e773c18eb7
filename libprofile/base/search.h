/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Binary search in what is sorted: the lowest index in [low, high) for which a condition holds, and
 * high where it holds for none. From the first index for which it holds on, it must hold for all.
 *
 *     at = pp_first(i, 0, list->cnt, list->items[i].start > address);
 *
 * `i` is a name that only the condition sees. bsearch() is for whoever has a comparison function
 * and needs no neighbour.
 */
#ifndef PP_BASE_SEARCH_H
#define PP_BASE_SEARCH_H

#include <stddef.h>

#define pp_first(i, low, high, condition)                                                          \
	({                                                                                         \
		size_t low_ = (low), high_ = (high);                                               \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (condition)                                                             \
				high_ = (i);                                                       \
			else                                                                       \
				low_ = (i) + 1;                                                    \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
