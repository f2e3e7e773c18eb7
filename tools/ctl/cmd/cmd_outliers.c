// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl outliers: hosts of a fleet that run a program otherwise than the rest, and in what
 * they differ; and hosts that run another build of it than most.
 */
#include "../ctl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../compare/comparison.h"
#include "../compare/fleet_look.h"
#include "../compare/selector.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/listing.h"
#include "base/plural.h"
#include "pathprof/fleet.h"

struct question {
	struct fleet_question of;
	size_t found_cnt;
};

static const struct table_column columns[] = {
	{"HOST", TABLE_SHRINK}, {"BINARY", TABLE_SHRINK}, {"SAMPLES", TABLE_RIGHT},
	{"BITS", TABLE_RIGHT},  {"CHANCE", TABLE_RIGHT},  {"DIFFERS IN", TABLE_SHRINK},
};

static int judge(struct pathprof_fleet_groups *groups)
{
	for (size_t i = 0; i < groups->cnt; i++) {
		struct pathprof_fleet_group *group = &groups->list[i];
		int r = pathprof_fleet_group_judge(group);

		if (r < 0)
			return ctl_fail("outliers: %s: %s", group->name, strerror(-r));
	}
	return CTL_OK;
}

/* ---------------------------------------------------------------- in what it differs */

/* Both sides are the caller's to release. */
static int load_sides(const struct question *q, const struct pathprof_fleet_group *group,
		      const char *host, struct side *fleet, struct side *one)
{
	struct pathprof_filter of_host = q->of.filter;
	int r = selector_load_build(fleet, q->of.options, &q->of.filter, &group->id, "all hosts");

	if (r)
		return r;
	of_host.host = host;
	r = selector_load_build(one, q->of.options, &of_host, &group->id, host);
	if (r)
		side_release(fleet);
	return r;
}

/* ---------------------------------------------------------------- rows */

static json_t *object_of(const struct pathprof_fleet_group *group, const char *host,
			 const char *reason, bool found)
{
	json_t *object = json_object();

	json_add_text(object, "host", host);
	json_add_binary(object, "binary", &group->id, group->name);
	json_add_text(object, "reason", reason);
	json_add(object, "outlier", json_boolean(found));
	return object;
}

static void add_number(json_t *object, const char *key, double value)
{
	json_add(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void add_verdict(json_t *object, const struct pathprof_fleet_member *host)
{
	add_number(object, "samples", host->verdict.samples);
	add_number(object, "distance", host->verdict.distance);
	add_number(object, "chance", host->verdict.chance);
	add_number(object, "bits", host->bits);
	add_number(object, "low_bits", host->low_bits);
	add_number(object, "high_bits", host->high_bits);
}

static void add_cells(struct question *q, const struct pathprof_fleet_group *group,
		      const struct pathprof_fleet_member *host, const struct comparison *c)
{
	struct table *table = &q->of.listing.table;
	_cleanup_free_ char *functions = comparison_brief(c);

	table_row(table, 0);
	table_cell(table, CTL_NAME, "%s", host->host);
	table_cell(table, CTL_PLAIN, "%s", text_base_name(group->name));
	table_cell(table, CTL_PLAIN, "%.0f", host->verdict.samples);
	table_cell(table, CTL_PLAIN, "%.2f", host->bits);
	if (isfinite(host->verdict.chance))
		table_cell(table, CTL_PLAIN, "%.0e", host->verdict.chance);
	else
		table_cell(table, CTL_DIM, "-");
	table_cell(table, CTL_PLAIN, "%s",
		   *functions ? functions : "paths, no function's share by 1%");
}

/* Adds a host that stands out, compared with all hosts together. */
static int add_found(struct question *q, const struct pathprof_fleet_group *group,
		     const struct pathprof_fleet_member *host)
{
	struct comparison comparison;
	struct side fleet, one;
	int r = load_sides(q, group, host->host, &fleet, &one);

	if (r)
		return r;
	r = comparison_init(&comparison, &fleet, &one, q->of.options);
	if (r == CTL_OK) {
		if (q->of.listing.json) {
			json_t *object = object_of(group, host->host, "behaviour", true);

			add_verdict(object, host);
			json_add(object, "functions",
				 comparison_brief_json(&comparison, "fleet_share", "host_share"));
			json_rows_add(&q->of.listing.rows, object);
		} else {
			add_cells(q, group, host, &comparison);
		}
		comparison_release(&comparison);
	}
	side_release(&fleet);
	side_release(&one);
	return r;
}

/* Adds a host that does not stand out, to JSON alone. */
static void add_other(struct question *q, const struct pathprof_fleet_group *group,
		      const struct pathprof_fleet_member *host)
{
	json_t *object;

	if (!q->of.listing.json)
		return;
	object = object_of(group, host->host, "behaviour", false);
	add_verdict(object, host);
	json_rows_add(&q->of.listing.rows, object);
}

static int add_group(struct question *q, const struct pathprof_fleet_group *group)
{
	int r = CTL_OK;

	for (size_t i = 0; group->judged && r == CTL_OK && i < group->member_cnt; i++) {
		const struct pathprof_fleet_member *host = &group->members[i];

		q->found_cnt += host->verdict.found;
		if (host->verdict.found)
			r = add_found(q, group, host);
		else
			add_other(q, group, host);
	}
	return r;
}

/* ---------------------------------------------------------------- other builds */

/* Returns the build of the same program that most hosts run, or NULL if no other build runs on more
 * hosts than `of`. */
static const struct pathprof_fleet_group *common_build(const struct question *q,
						       const struct pathprof_fleet_group *of)
{
	const struct pathprof_fleet_group *most = NULL;

	for (size_t i = 0; i < q->of.groups.cnt; i++) {
		const struct pathprof_fleet_group *group = &q->of.groups.list[i];

		if (group != of && !strcmp(group->name, of->name) &&
		    group->member_cnt > (most ? most->member_cnt : of->member_cnt))
			most = group;
	}
	return most;
}

static void add_build(struct question *q, const struct pathprof_fleet_group *group,
		      const struct pathprof_fleet_member *host,
		      const struct pathprof_fleet_group *common)
{
	char own[PATHPROF_BUILD_ID_TEXT_LEN], usual[PATHPROF_BUILD_ID_TEXT_LEN];
	struct table *table = &q->of.listing.table;
	json_t *object;

	q->found_cnt++;
	pathprof_build_id_text(&group->id, own);
	pathprof_build_id_text(&common->id, usual);
	if (q->of.listing.json) {
		object = object_of(group, host->host, "build", true);
		json_add_text(object, "usual_build", usual);
		json_add_count(object, "usual_build_hosts", common->member_cnt);
		json_rows_add(&q->of.listing.rows, object);
		return;
	}
	table_row(table, 0);
	table_cell(table, CTL_NAME, "%s", host->host);
	table_cell(table, CTL_PLAIN, "%s", text_base_name(group->name));
	table_cell(table, CTL_PLAIN, "%.0f", (double)host->distribution.total);
	table_cell(table, CTL_DIM, "-");
	table_cell(table, CTL_DIM, "-");
	table_cell(table, CTL_PLAIN, "its build: %.8s, where %zu hosts run %.8s", own,
		   common->member_cnt, usual);
}

static void add_builds(struct question *q)
{
	for (size_t i = 0; i < q->of.groups.cnt; i++) {
		const struct pathprof_fleet_group *group = &q->of.groups.list[i];
		const struct pathprof_fleet_group *common = common_build(q, group);

		for (size_t h = 0; common && h < group->member_cnt; h++)
			add_build(q, group, &group->members[h], common);
	}
}

/* ---------------------------------------------------------------- the verb */

static void say_how(const struct question *q)
{
	size_t judged = 0, few = 0, few_samples = 0;

	for (size_t i = 0; i < q->of.groups.cnt; i++) {
		judged += q->of.groups.list[i].judged;
		few += q->of.groups.list[i].judged &&
		       q->of.groups.list[i].member_cnt < PATHPROF_OUTLIERS_MEMBERS_MIN;
		few_samples += q->of.groups.list[i].few_cnt;
	}
	printf("\n%zu of the %zu heaviest %s ran on %d hosts or more, with %d samples on "
	       "each.\n",
	       judged, q->of.groups.cnt, pp_plural(q->of.groups.cnt, "program", "programs"),
	       PATHPROF_FLEET_HOSTS_MIN, PATHPROF_FLEET_SAMPLES_MIN);
	if (q->found_cnt)
		puts("BITS: relative entropy from the host that is most like it, less what chance "
		     "makes of it.");
	if (judged > few)
		puts("CHANCE: of such a distance for a host that behaves like the rest, as these "
		     "scatter; of\nthe hosts named, one in twenty is expected to be named "
		     "wrongly.");
	if (few)
		printf("Of %zu there are fewer than %d hosts, too few to see how hosts scatter: "
		       "named is who differs\neven from the host most like it.\n",
		       few, PATHPROF_OUTLIERS_MEMBERS_MIN);
	if (few_samples)
		printf("Left out: %zu %s a host with fewer than %d samples.\n", few_samples,
		       pp_plural(few_samples, "time", "times"), PATHPROF_FLEET_SAMPLES_MIN);
}

/* Returns why no program was judged. More samples help only if there are enough hosts. */
static const char *none_judged(const struct question *q)
{
	for (size_t i = 0; i < q->of.groups.cnt; i++)
		if (q->of.groups.list[i].member_cnt + q->of.groups.list[i].few_cnt >=
		    PATHPROF_FLEET_HOSTS_MIN)
			return "no program can be judged: ask of a longer time, by --since";
	return "no program can be judged: each build looked at ran on fewer than three hosts; "
	       "--limit looks at more";
}

/* If no program was judged, no host is known to behave like the rest. */
static const char *nothing_found(const struct question *q)
{
	size_t judged = 0;

	for (size_t i = 0; i < q->of.groups.cnt; i++)
		judged += q->of.groups.list[i].judged;
	if (!q->of.groups.cnt)
		return "no program was seen there: ask of a longer time, by --since, or leave a "
		       "filter out";
	return judged ? "no host behaves otherwise than the rest" : none_judged(q);
}

static int answer(struct question *q)
{
	int r = CTL_OK;

	table_init(&q->of.listing.table, columns, sizeof(columns) / sizeof(columns[0]));
	listing_begin(&q->of.listing);
	for (size_t i = 0; r == CTL_OK && i < q->of.groups.cnt; i++)
		r = add_group(q, &q->of.groups.list[i]);
	add_builds(q);
	listing_end(&q->of.listing, nothing_found(q));
	if (r == CTL_OK && !q->of.listing.json)
		say_how(q);
	return r;
}

int cmd_outliers(const struct ctl_options *options)
{
	struct question q = {0};
	int r = fleet_ask(&q.of, options, "outliers", PATHPROF_FLEET_HOSTS_MIN,
			  "this asks how one differs from others");

	if (r == CTL_OK)
		r = judge(&q.of.groups);
	if (r == CTL_OK)
		r = answer(&q);
	fleet_question_release(&q.of);
	return r;
}
