// SPDX-License-Identifier: GPL-2.0-or-later
/* Pauses that double: see pause.h. */
#include "pause.h"

#include "base/clock.h"

#define FIRST_NS (10 * PP_NSEC_PER_SEC)
#define MOST_NS  (900 * PP_NSEC_PER_SEC)

bool hub_pause_begin(struct hub_pause *pause, uint64_t now_ns)
{
	bool is_first = !pause->wait_ns;

	pause->wait_ns = is_first ? FIRST_NS : 2 * pause->wait_ns;
	if (pause->wait_ns > MOST_NS)
		pause->wait_ns = MOST_NS;
	pause->until_ns = now_ns + pause->wait_ns;
	return is_first;
}

bool hub_pause_is_on(const struct hub_pause *pause, uint64_t now_ns)
{
	return now_ns < pause->until_ns;
}

void hub_pause_end(struct hub_pause *pause)
{
	*pause = (struct hub_pause){.wait_ns = 0};
}
