// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of what was counted: see import_counts.h. */
#include "import_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int pp_import_counts_new(struct pp_import_counts **ret_counts)
{
	struct pp_import_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	/* Early in boot there may be no entropy yet; then where it lies has to do. */
	if (getrandom(&counts->seed, sizeof(counts->seed), GRND_NONBLOCK) < 0)
		counts->seed = (uint64_t)(uintptr_t)counts;
	*ret_counts = counts;
	return 0;
}

void pp_import_counts_free(struct pp_import_counts *counts)
{
	free(counts);
}

void pp_import_counts_clear(struct pp_import_counts *counts)
{
	counts->edge_cnt = 0;
	if (counts->path_cnt)
		memset(counts->paths, 0, sizeof(counts->paths));
	counts->path_cnt = counts->walked_cnt = 0;
	memset(counts->edges, 0, sizeof(counts->edges));
	memset(counts->walked, 0, sizeof(counts->walked));
}
