// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl vacuum: drops old windows until a size and an age hold. */
#include "../ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/json.h"
#include "base/plural.h"

static void report(const struct ctl_options *options, uint64_t removed, uint64_t bytes)
{
	char size[32];

	if (options->json) {
		_cleanup_json_ json_t *object = json_object();

		json_add_count(object, "windows_removed", removed);
		json_add_count(object, "bytes", bytes);
		json_dumpf(object, stdout, 0);
		putchar('\n');
		return;
	}
	printf("%" PRIu64 " %s removed, %s left on disk\n", removed,
	       pp_plural(removed, "window", "windows"), text_bytes(size, sizeof(size), bytes));
}

int cmd_vacuum(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_retention retention = {options->max_bytes, options->max_age_ns};
	struct pathprof_error error = {""};
	uint64_t removed = 0, bytes = 0;
	int r = ctl_no_operands(options);

	if (r)
		return r;
	if (!retention.max_bytes && !retention.max_age_ns)
		return ctl_usage(options, "--max-size or --max-age is needed");
	r = ctl_db_open(&store, options, PATHPROF_STORE_WRITE);
	if (r)
		return r;
	r = pathprof_store_retain(store, &retention, &removed, &error);
	if (r == 0)
		r = pathprof_store_size(store, &bytes);
	if (r < 0)
		return ctl_fail_error("vacuum", r, &error);
	report(options, removed, bytes);
	return CTL_OK;
}
