// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl show PATH-ID, FUNCTION:NUMBER: one path, block by block. */
#include "../ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../function/counted.h"
#include "../function/number.h"
#include "../function/show.h"
#include "../text/cleanup.h"
#include "base/units.h"

static int show_id(const struct ctl_options *options, struct view_query *query, int64_t id)
{
	struct pathprof_error error = {""};
	int r = show_path(stdout, query, options, id, options->json, &error);

	if (r == -ENOENT)
		return ctl_fail("path %" PRId64 ": not in what is selected: see pathprofctl paths",
				id);
	return r < 0 ? ctl_fail_error("show", r, &error) : CTL_OK;
}

/* Shows the path from the store if it was seen, else from the code alone. */
static int show_number_of(const struct ctl_options *options, struct view_query *query,
			  const struct target *target, uint64_t number)
{
	struct pathprof_error error = {""};
	int64_t id = 0;
	int r;

	if (number >= target->path_cnt)
		return ctl_fail("%s:%" PRIu64 ": no such path: %s has %" PRIu64
				", numbered from 0: see pathprofctl paths --function %s",
				target->name, number, target->name, target->path_cnt, target->name);
	r = number_find(target, number, query, &id, &error);
	if (r == 0 && id)
		return show_id(options, query, id);
	if (r == 0)
		r = show_unseen(stdout, query, target, number, options->json);
	return r < 0 ? ctl_fail_error("show", r, &error) : CTL_OK;
}

/* FUNCTION:NUMBER. The part before the last colon may have colons in it. */
static int show_number(const struct ctl_options *options, struct view_query *query,
		       const char *colon, uint64_t number)
{
	_cleanup_free_ char *word =
		ctl_printf("%.*s", (int)(colon - options->argv[0]), options->argv[0]);
	struct pathprof_error error = {""};
	struct target target;
	int64_t id = 0;
	int r = counted_find_path(query, options->argv[0], &id, &error);

	if (r < 0)
		return ctl_fail_error("show", r, &error);
	if (id)
		return show_id(options, query, id);
	r = target_open(&target, query, options, word);
	if (r)
		return r;
	r = show_number_of(options, query, &target, number);
	target_release(&target);
	return r;
}

int cmd_show(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct view_query query = {.filter = options->filter};
	const char *word = options->argc == 1 ? options->argv[0] : NULL, *colon;
	uint64_t number = 0;
	bool is_id;
	int r;

	if (!word)
		return ctl_usage(options, "one PATH-ID or FUNCTION:NUMBER is needed, as "
					  "pathprofctl paths lists them");
	is_id = !pp_count_parse(word, &number) && number && number <= INT64_MAX;
	colon = strrchr(word, ':');
	if (!is_id && (!colon || colon == word || pp_count_parse(colon + 1, &number)))
		return ctl_usage(options, "%s: neither a PATH-ID (a number) nor FUNCTION:NUMBER",
				 word);
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	query.store = store;
	query.symbols = symbols_new(store);
	r = kinds_settle(store, &query.filter, NULL);
	if (r == CTL_OK)
		r = is_id ? show_id(options, &query, (int64_t)number)
			  : show_number(options, &query, colon, number);
	view_query_unload(&query);
	symbols_free(query.symbols);
	return r;
}
