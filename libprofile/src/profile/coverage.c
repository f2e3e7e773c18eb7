// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Coverage by event (CCP table 1). */
#include "pathprof/compare.h"

#include <errno.h>

#include "pp_merge.h"

int pathprof_coverage(const struct pathprof_distribution *actual,
		      const struct pathprof_distribution *assumed,
		      struct pathprof_coverage *ret_coverage)
{
	struct pp_merge merge;
	struct pp_pair pair;
	long double weight = 0;
	size_t both = 0;

	if (!(actual->total > 0))
		return -ENODATA;
	pp_merge_init(&merge, actual, assumed);
	while (pp_merge_next(&merge, &pair)) {
		if (!(pair.a > 0) || !(pair.b > 0))
			continue;
		both++;
		weight += pair.a;
	}
	ret_coverage->static_share = (double)((long double)both / (long double)actual->touched_cnt);
	ret_coverage->dynamic_share = (double)(weight / actual->total);
	return 0;
}
