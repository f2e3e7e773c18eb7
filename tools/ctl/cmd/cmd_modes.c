// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl modes: in which different ways the hosts of a fleet run a program, how much of its
 * CPU time each way has, and in what they differ.
 */
#include "../ctl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../compare/fleet_look.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/listing.h"
#include "base/plural.h"
#include "pathprof/fleet.h"

#define HOSTS_SHOWN     3
#define FUNCTIONS_SHOWN 3

struct question {
	struct fleet_question of;
	size_t judged, found; /* groups; those of several modes */
	size_t alone;         /* times that a host was alone in a mode */
};

static const struct table_column columns[] = {
	{"BINARY", TABLE_SHRINK}, {"MODE", TABLE_RIGHT}, {"HOSTS", TABLE_RIGHT},
	{"SHARE", TABLE_RIGHT},   {"BITS", TABLE_RIGHT}, {"DIFFERS IN", TABLE_SHRINK},
	{"WHO", TABLE_SHRINK},
};

/* One mode of a group, and in what it differs from the others. */
struct way {
	const struct pathprof_fleet_group *group;
	const struct pathprof_modes *modes;
	size_t at;
	struct pathprof_fleet_moved moved[PATHPROF_FLEET_MOVED_MAX];
	size_t moved_cnt;
};

/* ---------------------------------------------------------------- a row */

static char *functions_text(const struct way *way)
{
	char *text = ctl_strdup("");

	for (size_t i = 0; i < way->moved_cnt && i < FUNCTIONS_SHOWN; i++) {
		const struct pathprof_fleet_moved *moved = &way->moved[i];
		char *longer = ctl_printf("%s%s%s %.0f%% -> %.0f%%", text, i ? ", " : "",
					  moved->name, 100 * moved->before, 100 * moved->now);

		free(text);
		text = longer;
	}
	return text;
}

/* "web1, web2, web3 and 9 more". */
static char *hosts_text(const struct way *way)
{
	size_t shown = 0, cnt = way->modes->list[way->at].host_cnt;
	char *text = ctl_strdup(""), *longer;

	for (size_t i = 0; i < way->group->member_cnt && shown < HOSTS_SHOWN; i++) {
		if (way->modes->mode_of[i] != (int)way->at)
			continue;
		longer = ctl_printf("%s%s%s", text, shown ? ", " : "", way->group->members[i].host);
		free(text);
		text = longer;
		shown++;
	}
	if (shown == cnt)
		return text;
	longer = ctl_printf("%s and %zu more", text, cnt - shown);
	free(text);
	return longer;
}

static void add_cells(struct table *table, const struct way *way)
{
	const struct pathprof_mode *mode = &way->modes->list[way->at];
	_cleanup_free_ char *functions = functions_text(way);
	_cleanup_free_ char *hosts = hosts_text(way);

	table_row(table, 0);
	table_cell(table, CTL_NAME, "%s", text_base_name(way->group->name));
	table_cell(table, CTL_PLAIN, "%zu", way->at + 1);
	table_cell(table, CTL_PLAIN, "%zu", mode->host_cnt);
	table_cell(table, CTL_PLAIN, "%.2f%%", 100 * mode->share);
	table_cell(table, CTL_PLAIN, "%.2f", mode->bits);
	table_cell(table, CTL_PLAIN, "%s",
		   *functions ? functions : "paths, no function's share by 1%");
	table_cell(table, CTL_PLAIN, "%s", hosts);
}

static json_t *functions_json(const struct way *way)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < way->moved_cnt; i++) {
		json_t *row = json_object();

		json_add_text(row, "function", way->moved[i].name);
		json_add_real(row, "others_share", way->moved[i].before);
		json_add_real(row, "mode_share", way->moved[i].now);
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *object_of(const struct way *way)
{
	const struct pathprof_mode *mode = &way->modes->list[way->at];
	json_t *object = json_object(), *hosts = json_array();

	json_add_binary(object, "binary", &way->group->id, way->group->name);
	json_add_count(object, "mode", way->at + 1);
	json_add_count(object, "modes", way->modes->cnt);
	json_add_real(object, "share", mode->share);
	json_add(object, "bits", isfinite(mode->bits) ? json_real(mode->bits) : json_null());
	for (size_t i = 0; i < way->group->member_cnt; i++)
		if (way->modes->mode_of[i] == (int)way->at)
			json_array_append_new(hosts, json_string(way->group->members[i].host));
	json_add(object, "hosts", hosts);
	json_add(object, "functions", functions_json(way));
	return object;
}

/* ---------------------------------------------------------------- one build */

static int add_mode(struct question *q, struct way *way, struct pathprof_error *error)
{
	int r = 0;

	way->moved_cnt = 0;
	if (way->modes->cnt > 1)
		r = pathprof_modes_moved(way->moved, &way->moved_cnt, q->of.store, way->group,
					 way->modes, way->at, error);
	if (r < 0)
		return r;
	if (q->of.listing.json)
		json_rows_add(&q->of.listing.rows, object_of(way));
	else
		add_cells(&q->of.listing.table, way);
	return 0;
}

/* JSON has builds that all hosts run alike as well: one mode. */
static int add_group(struct question *q, const struct pathprof_fleet_group *group,
		     struct pathprof_error *error)
{
	struct pathprof_modes modes;
	struct way way = {.group = group, .modes = &modes};
	int r = pathprof_modes_find(&modes, group);

	if (r < 0)
		pathprof_fail(error, r, "%s: %s", group->name, strerror(-r));
	q->judged += modes.cnt > 0;
	q->found += modes.cnt > 1;
	q->alone += modes.alone_cnt;
	for (; r == 0 && way.at < modes.cnt; way.at++)
		if (modes.cnt > 1 || q->of.listing.json)
			r = add_mode(q, &way, error);
	pathprof_modes_release(&modes);
	return r;
}

/* ---------------------------------------------------------------- the verb */

static void say_how(const struct question *q)
{
	printf("\n%zu of the %zu heaviest %s ran on %d hosts or more, %zu of these in more "
	       "than one way.\n",
	       q->judged, q->of.groups.cnt, pp_plural(q->of.groups.cnt, "program", "programs"),
	       PATHPROF_MODES_HOSTS_MIN, q->found);
	if (q->found)
		puts("SHARE: of the program's CPU time. BITS: relative entropy from the mode that "
		     "is most like it.\nDIFFERS IN: shares on all other hosts, and in this mode.");
	if (q->alone)
		printf("Left out: %zu %s a host that is like no other: `pathprofctl outliers` "
		       "names those.\n",
		       q->alone, pp_plural(q->alone, "time", "times"));
}

static int answer(struct question *q, struct pathprof_error *error)
{
	int r = 0;

	table_init(&q->of.listing.table, columns, sizeof(columns) / sizeof(columns[0]));
	listing_begin(&q->of.listing);
	for (size_t i = 0; r == 0 && i < q->of.groups.cnt; i++)
		r = add_group(q, &q->of.groups.list[i], error);
	listing_end(&q->of.listing,
		    r == 0 && !q->found ? "hosts run each program in one way" : NULL);
	if (r == 0 && !q->of.listing.json)
		say_how(q);
	return r;
}

int cmd_modes(const struct ctl_options *options)
{
	struct question q = {0};
	struct pathprof_error error = {""};
	int r = fleet_ask(&q.of, options, "modes", PATHPROF_MODES_HOSTS_MIN,
			  "each of two ways takes two");

	if (r == CTL_OK) {
		r = answer(&q, &error);
		r = r < 0 ? ctl_fail_error("modes", r, &error) : CTL_OK;
	}
	fleet_question_release(&q.of);
	return r;
}
