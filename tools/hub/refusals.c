// SPDX-License-Identifier: GPL-2.0-or-later
/* Refusals in the log: see refusals.h. */
#include "refusals.h"

#include <stdio.h>
#include <xxhash.h>

#include "base/clock.h"

#define MINUTE_NS (60 * PP_NSEC_PER_SEC)

/* A number of lines allowed at once, and the time after which one more is allowed. */
struct ration {
	uint64_t lines, cost_ns;
};
static const struct ration known = {60, MINUTE_NS / 2}, strangers = {30, MINUTE_NS};

static bool spend(uint64_t *full_ns, const struct ration *ration, uint64_t now_ns)
{
	uint64_t from_ns = *full_ns > now_ns ? *full_ns : now_ns;

	if (from_ns - now_ns > (ration->lines - 1) * ration->cost_ns)
		return false;
	*full_ns = from_ns + ration->cost_ns;
	return true;
}

/* Returns the entry of the key, else a free one or the one with the oldest line, which is
 * reused. */
static size_t place_of(const struct hub_refusals *refusals, uint64_t key)
{
	size_t oldest = 0;

	for (size_t i = 0; i < HUB_REFUSALS_KEPT; i++) {
		if (refusals->said[i].key == key)
			return i;
		if (refusals->said[i].said_ns < refusals->said[oldest].said_ns)
			oldest = i;
	}
	return oldest;
}

static bool take_known(struct hub_refusals *refusals, uint64_t key, uint64_t now_ns)
{
	size_t at = place_of(refusals, key);

	if (refusals->said[at].key == key && now_ns - refusals->said[at].said_ns < MINUTE_NS)
		return false;
	if (!spend(&refusals->known_full_ns, &known, now_ns))
		return false;
	refusals->said[at].key = key;
	refusals->said[at].said_ns = now_ns;
	return true;
}

bool hub_refusals_take(struct hub_refusals *refusals, uint64_t key, uint64_t now_ns)
{
	bool is_said = key ? take_known(refusals, key, now_ns)
			   : spend(&refusals->strangers_full_ns, &strangers, now_ns);

	if (is_said)
		refusals->last_ns = now_ns;
	refusals->unsaid_cnt += !is_said;
	return is_said;
}

uint64_t hub_refusals_key(const char *tenant, const char *name, unsigned int status)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "%u/%s/%s", status, tenant, name);
	size_t bytes = len < 0 ? 0 : (size_t)len;

	return XXH3_64bits(text, bytes < sizeof(text) ? bytes : sizeof(text) - 1) | 1;
}

uint64_t hub_refusals_unsaid(struct hub_refusals *refusals, uint64_t now_ns)
{
	uint64_t cnt = refusals->unsaid_cnt;

	refusals->unsaid_cnt = 0;
	refusals->last_ns = now_ns;
	return cnt;
}

bool hub_refusals_is_due(const struct hub_refusals *refusals, uint64_t now_ns)
{
	return refusals->unsaid_cnt && now_ns - refusals->last_ns >= MINUTE_NS;
}
