/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts of which more than a hundredth of the samples were lost (lost.h). */
#ifndef CTL_HOSTS_LOST_H
#define CTL_HOSTS_LOST_H

#include "../view/listing.h"
#include "pathprof/parcel_store.h"

/* Names those that the filter selects below the listing's table, or on standard error beside JSON.
 * -errno, error filled. */
int hosts_lost_tell(struct listing *listing, struct pathprof_store *store,
		    const struct pathprof_filter *filter, struct pathprof_error *error);

#endif
