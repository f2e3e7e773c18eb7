// SPDX-License-Identifier: GPL-2.0-or-later
/* Shares of tenants and certificates: see share.h. */
#include "share.h"

#include <string.h>

void hub_share_add(struct hub_share *share, const struct hub_owner *owner,
		   const struct hub_owner *other, size_t amount)
{
	if (strcmp(owner->tenant, other->tenant) != 0)
		return;
	share->tenant += amount;
	if (strcmp(owner->reader, other->reader) == 0)
		share->reader += amount;
}

const char *hub_share_judge(const struct hub_share *share, size_t more,
			    const struct hub_share *most)
{
	if (share->tenant > most->tenant || more > most->tenant - share->tenant)
		return "this tenant's readers ask for too much at once: ask again when some of "
		       "their answers are there";
	if (share->reader > most->reader || more > most->reader - share->reader)
		return "this certificate asks for too much at once: ask again when some of its "
		       "answers are there";
	return NULL;
}
