// SPDX-License-Identifier: GPL-2.0-or-later
/* One budget of time for the work of several places: see turns.h. */
#include "turns.h"

#define REST 4 /* times as long as the work */

bool hub_turns_rest(const struct hub_turns *turns, uint64_t now_ns)
{
	return now_ns < turns->rest_until_ns;
}

bool hub_turns_work(struct hub_turns *turns, size_t cnt, hub_turns_fn *work, void *context)
{
	for (size_t i = 0; i < cnt; i++) {
		size_t at = turns->next < cnt ? turns->next : 0;

		turns->next = at + 1;
		if (work(context, at))
			return true;
	}
	return false;
}

void hub_turns_spend(struct hub_turns *turns, uint64_t begin_ns, uint64_t end_ns)
{
	turns->rest_until_ns = end_ns + REST * (end_ns - begin_ns);
}
