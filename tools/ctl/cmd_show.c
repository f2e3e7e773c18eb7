// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl show PATH-ID: one path, block by block. */
#include "ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "show.h"

static int parse_id(const struct ctl_options *options, int64_t *ret_id)
{
	const char *text;
	long long id;

	if (options->argc != 1)
		return ctl_usage(options, "one PATH-ID is needed, as pathprofctl paths lists them");
	text = options->argv[0];
	errno = 0;
	id = strtoll(text, NULL, 10);
	if (!*text || text[strspn(text, "0123456789")] || errno || id <= 0)
		return ctl_usage(options, "%s: not a PATH-ID (a number)", text);
	*ret_id = id;
	return CTL_OK;
}

int cmd_show(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct view_query query = {.filter = options->filter};
	struct pathprof_error error = {""};
	int64_t id = 0;
	int r = parse_id(options, &id);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	query.store = store;
	query.symbols = symbols_new(store);
	r = show_path(stdout, &query, id, options->json, &error);
	symbols_free(query.symbols);
	if (r == -ENOENT)
		return ctl_fail("path %" PRId64 ": not among what is selected: see pathprofctl "
				"paths",
				id);
	return r < 0 ? ctl_fail_error("show", r, &error) : CTL_OK;
}
