// SPDX-License-Identifier: GPL-2.0-or-later
/* Hosts that lost samples: see hosts_lost.h. */
#include "hosts_lost.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/lost.h"
#include "../text/text.h"

/* More hosts than these are given as a number. */
#define NAMED_MAX 8

struct losers {
	struct pathprof_store *store;
	char *named; /* "web1 8220 (29.1%), web2 90 (3.0%)"; NULL: there is none */
	size_t cnt;
	struct pathprof_error *error;
};

static void name_loser(struct losers *losers, const char *name, const struct lost *lost)
{
	const double share = lost_share(lost);
	_cleanup_free_ char *safe = text_escape(name), *before = NULL;

	if (!(share > 0) || losers->cnt++ >= NAMED_MAX)
		return;
	before = losers->named;
	losers->named = ctl_printf("%s%s%s %" PRIu64 " (%.1f%%)", before ?: "", before ? ", " : "",
				   safe, lost->lost_cnt, 100 * share);
}

static int add(void *context, const struct pathprof_host_row *row)
{
	struct losers *losers = context;
	struct pathprof_host_samples samples;
	int r = pathprof_store_host_samples(losers->store, row, &samples, losers->error);

	if (r < 0)
		return r;
	name_loser(losers, row->host.name, &(struct lost){samples.read_cnt, samples.lost_cnt});
	return 0;
}

static char *text_of(const struct losers *losers)
{
	_cleanup_free_ char *more = NULL;

	if (losers->cnt > NAMED_MAX)
		more = ctl_printf(" and of %zu more", losers->cnt - NAMED_MAX);
	return ctl_printf("for pathprofd did not read them in time: %s%s; CPU leaves "
			  "them out, and so do the figures of top",
			  losers->named, more ?: "");
}

static void tell(struct listing *listing, const struct losers *losers)
{
	_cleanup_free_ char *text = text_of(losers);

	if (listing->json)
		ctl_note("samples lost, %s", text);
	else
		listing->footer = ctl_printf("Samples lost, %s.", text);
}

int hosts_lost_tell(struct listing *listing, struct pathprof_store *store,
		    const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct losers losers = {.store = store, .error = error};
	int r = pathprof_store_hosts(store, filter, add, &losers, error);

	if (r == 0 && losers.named)
		tell(listing, &losers);
	free(losers.named);
	return r;
}
