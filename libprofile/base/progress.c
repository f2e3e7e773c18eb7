// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Decides when progress is reported: see progress.h. */
#include "progress.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "units.h"

#define AFTER_S       2
#define AFTER_S_LIMIT 1000000

uint64_t pp_progress_after_ns(void)
{
	const char *text = getenv("PATHPROF_PROGRESS_SECONDS");
	uint64_t seconds = AFTER_S;
	int r = text ? pp_count_parse(text, &seconds) : 0;

	if (r == -ERANGE || seconds > AFTER_S_LIMIT)
		seconds = AFTER_S_LIMIT;
	return seconds * PP_NSEC_PER_SEC;
}
