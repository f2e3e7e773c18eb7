// SPDX-License-Identifier: GPL-2.0-or-later
/* Lost samples: see lost.h. */
#include "lost.h"

#include <inttypes.h>
#include <stdio.h>

#define TOLD_FROM 0.01

void lost_add(struct lost *sum, const struct pathprof_totals *window)
{
	sum->read_cnt +=
		window->clock_samples > window->bursts ? window->clock_samples : window->bursts;
	sum->lost_cnt += window->drops[PATHPROF_DROP_QUEUE_FULL];
}

double lost_share(const struct lost *lost)
{
	const double all = (double)lost->read_cnt + (double)lost->lost_cnt;
	const double share = all > 0 ? (double)lost->lost_cnt / all : 0;

	return share > TOLD_FROM ? share : 0;
}

const char *lost_text(char *text, size_t text_size, const struct lost *lost)
{
	const double share = lost_share(lost);

	text[0] = '\0';
	if (share > 0)
		snprintf(text, text_size,
			 "%" PRIu64 " samples (%.1f%%) were lost, for pathprofd did not read them "
			 "in time: figures count too\nlittle of the moments when the CPUs were "
			 "busiest.\nFor the service, raise CPUWeight=; for a recording, "
			 "run less beside it.",
			 lost->lost_cnt, 100 * share);
	return text;
}
