// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl releases: the builds of each program in the order in which they were first seen, and
 * how far each moved from the one before, over the functions that both have in the same shape.
 */
#include "../ctl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../compare/comparison.h"
#include "../compare/selector.h"
#include "../text/cleanup.h"
#include "../text/kinds.h"
#include "../text/text.h"
#include "../view/listing.h"
#include "pathprof/fleet.h"

#define PROGRAMS_DEFAULT 10
#define DIGITS           12 /* of a build-id, in a table */

struct question {
	const struct ctl_options *options;
	const char *wanted; /* a path or file name; NULL: programs of several builds */
	struct pathprof_store *store;
	struct pathprof_filter filter;
	struct pathprof_releases releases;
	uint32_t program_max;
	struct listing listing;
	size_t shown_cnt;
};

static const struct table_column columns[] = {
	{"PROGRAM", TABLE_SHRINK},
	{"BUILD", 0},
	{"FIRST SEEN", 0},
	{"LAST SEEN", 0},
	{"HOSTS", TABLE_RIGHT},
	{"RUNS", TABLE_RIGHT},
	{"BITS", TABLE_RIGHT},
	{"MATCHED", TABLE_RIGHT},
	{"CHANGED IN", TABLE_SHRINK},
};

/* ---------------------------------------------------------------- rows */

static char *word_of(const struct pathprof_release *release)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	return ctl_printf("%s@%.*s", text_base_name(release->program), DIGITS,
			  pathprof_build_id_text(&release->id, id));
}

static void add_json(struct question *q, const struct pathprof_release *release,
		     const struct pathprof_release *before, const struct comparison *c)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	json_t *object = json_object();

	json_add_binary(object, "binary", &release->id, release->program);
	json_add_ns(object, "first_seen_ns", release->first_seen_ns);
	json_add_ns(object, "last_seen_ns", release->last_seen_ns);
	json_add(object, "hosts",
		 q->releases.has_hosts ? json_integer(release->hosts) : json_null());
	json_add_count(object, "samples", release->samples);
	json_add_real(object, "runs", release->share);
	json_add(object, "before",
		 before ? json_string(pathprof_build_id_text(&before->id, id)) : json_null());
	json_add(object, "bits", c ? json_real(c->drift.kl_corrected_bits) : json_null());
	json_add(object, "low_bits", c ? json_real(c->drift.kl_low_bits) : json_null());
	json_add(object, "high_bits", c ? json_real(c->drift.kl_high_bits) : json_null());
	json_add(object, "matched_before", c ? json_real(c->match.a_share) : json_null());
	json_add(object, "matched", c ? json_real(c->match.b_share) : json_null());
	json_add(object, "functions",
		 c ? comparison_brief_json(c, "before_share", "share") : json_array());
	json_rows_add(&q->listing.rows, object);
}

static void add_changes(struct table *table, const struct pathprof_release *before,
			const struct comparison *c)
{
	_cleanup_free_ char *functions = c ? comparison_brief(c) : NULL;

	if (!c) {
		table_cell(table, CTL_DIM, "-");
		table_cell(table, CTL_DIM, "-");
		table_cell(table, CTL_DIM, "%s", before ? "not to be matched" : "");
		return;
	}
	table_cell(table, CTL_PLAIN, "%.2f", c->drift.kl_corrected_bits);
	table_cell(table, CTL_PLAIN, "%.0f%%", 100 * c->match.b_share);
	table_cell(table, CTL_PLAIN, "%s",
		   *functions                 ? functions
		   : c->drift.kl_low_bits > 0 ? "paths, no function's share by 1%"
					      : "nothing beyond chance");
}

static void add_cells(struct question *q, const struct pathprof_release *release,
		      const struct pathprof_release *before, const struct comparison *c)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN], first[32], last[32];
	struct table *table = &q->listing.table;

	table_row(table, 0);
	table_cell(table, CTL_NAME, "%s", text_base_name(release->program));
	table_cell(table, CTL_PLAIN, "%.*s", DIGITS, pathprof_build_id_text(&release->id, id));
	table_cell(table, CTL_DIM, "%s", text_time(first, sizeof(first), release->first_seen_ns));
	table_cell(table, CTL_DIM, "%s", text_time(last, sizeof(last), release->last_seen_ns));
	if (q->releases.has_hosts)
		table_cell(table, CTL_PLAIN, "%u", release->hosts);
	else
		table_cell(table, CTL_DIM, "-");
	table_cell(table, CTL_PLAIN, "%.2f%%", 100 * release->share);
	add_changes(table, before, c);
}

static void add_row(struct question *q, const struct pathprof_release *release,
		    const struct pathprof_release *before, const struct comparison *c)
{
	q->shown_cnt++;
	if (q->listing.json)
		add_json(q, release, before, c);
	else
		add_cells(q, release, before, c);
}

/* Builds that cannot be matched are reported, and the list goes on. */
static int add_release(struct question *q, const struct pathprof_release *release,
		       const struct pathprof_release *before)
{
	_cleanup_free_ char *word = word_of(release), *before_word = word_of(before);
	struct comparison comparison;
	struct side a, b;
	int r = selector_load_build(&a, q->options, &q->filter, &before->id, before_word);

	if (r)
		return r;
	r = selector_load_build(&b, q->options, &q->filter, &release->id, word);
	if (r == CTL_OK) {
		if (comparison_init(&comparison, &a, &b, q->options) == CTL_OK) {
			add_row(q, release, before, &comparison);
			comparison_release(&comparison);
		} else {
			add_row(q, release, before, NULL);
		}
		side_release(&b);
	}
	side_release(&a);
	return r;
}

static int add_program(struct question *q, size_t first, size_t cnt)
{
	int r = CTL_OK;

	add_row(q, &q->releases.list[first], NULL, NULL);
	for (size_t i = first + 1; r == CTL_OK && i < first + cnt; i++)
		r = add_release(q, &q->releases.list[i], &q->releases.list[i - 1]);
	return r;
}

/* ---------------------------------------------------------------- the verb */

static int answer(struct question *q)
{
	uint32_t programs = 0;
	int r = CTL_OK;
	size_t cnt;

	table_init(&q->listing.table, columns, sizeof(columns) / sizeof(columns[0]));
	listing_begin(&q->listing);
	for (size_t i = 0; r == CTL_OK && i < q->releases.cnt; i += cnt) {
		cnt = pathprof_releases_of(&q->releases, i);
		if (cnt < 2 && !q->wanted)
			continue;
		if (q->program_max && programs++ == q->program_max)
			break;
		r = add_program(q, i, cnt);
	}
	listing_end(&q->listing, q->shown_cnt ? NULL
				 : q->wanted  ? "no program of that name ran"
					      : "no program ran in more than one build");
	if (r == CTL_OK && !q->listing.json && q->shown_cnt)
		puts("\nBITS: relative entropy from the build before, less what chance makes of "
		     "it, over the MATCHED\npart of what ran: functions that both builds have in "
		     "the same shape.");
	return r;
}

int cmd_releases(const struct ctl_options *options)
{
	struct question q = {.options = options,
			     .filter = options->filter,
			     .program_max = options->limit_given ? options->filter.limit
								 : PROGRAMS_DEFAULT,
			     .listing = {.json = options->json}};
	struct pathprof_error error = {""};
	int r;

	if (options->argc > 1)
		return ctl_usage(options, "one program at most: a path or a file name");
	q.wanted = options->argc ? options->argv[0] : NULL;
	q.filter.limit = 0;
	r = ctl_db_open(&q.store, options, PATHPROF_STORE_READ);
	if (r == CTL_OK)
		r = kinds_settle(q.store, &q.filter, NULL);
	if (r == CTL_OK) {
		r = pathprof_releases_load(&q.releases, q.store, &q.filter, q.wanted, &error);
		r = r < 0 ? ctl_fail_error("releases", r, &error) : answer(&q);
	}
	pathprof_releases_release(&q.releases);
	pathprof_store_free(q.store);
	return r;
}
