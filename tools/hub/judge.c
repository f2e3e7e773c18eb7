// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-hub judge: finds the hosts that stood out, in a span of time, from those that ran the
 * same build, and the new builds that differ from the build before. Prints one JSON object. `serve`
 * runs it for its alerts as a process apart, so that judging a large fleet holds no host up.
 *
 * A build is new for a day from the first span in which the hub judged it; builds of the first
 * judgement of all are not new. The list of builds, with times, passes from one judgement to the
 * next as part of the answer ("builds"), which `serve` keeps in the database.
 *
 * Bounds: the heaviest builds, so many seconds, so much memory; what is left out is counted in the
 * answer. Workload: once a span; 12 windows of a thousand hosts take some ten seconds.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "child.h"
#include "hub.h"
#include "judge.h"
#include "judged.h"
#include "pathprof/fleet.h"
#include "pathprof/parcel_store.h"

#define BINARIES_MAX  32
#define LOAD_NS       (60 * PP_NSEC_PER_SEC)
#define LOAD_BYTES    (192u << 20)
#define MEMORY_BYTES  (512ul << 20) /* address space */
#define REFERENCE_MAX 8             /* earlier builds that are read for themselves */

struct judgement {
	struct pathprof_store *store;
	struct pathprof_filter filter;
	int64_t since_s, until_s;
	struct pathprof_fleet fleet;
	struct pathprof_fleet_groups groups;
	size_t builds_left_out, references_left_out, reference_cnt;
	uint64_t begin_ns;
	json_t *builds; /* by id: facts known about each build */
	bool is_first;  /* nothing was judged before */
	json_t *found, *judged;
};

/* ---------------------------------------------------------------- what is known of builds
 *
 * {ID: {"name": PATH, "kind": KIND, "first": S, "ran": S, "seen": S}}: when it was first judged (0:
 * before all), last on hosts enough to compare with, and last at all. A judgement that ends at
 * "seen" saw it run.
 */

static int64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static json_t *build_of(struct judgement *j, const struct pathprof_fleet_group *group)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	json_t *build = json_object_get(j->builds, pathprof_build_id_text(&group->id, id));

	if (build)
		return build;
	build = json_pack("{s:o, s:i, s:I, s:I, s:I}", "name", pp_utf8_json(group->name), "kind",
			  (int)group->id.kind, "first", (json_int_t)(j->is_first ? 0 : j->until_s),
			  "ran", (json_int_t)0, "seen", (json_int_t)0);
	json_object_set_new(j->builds, id, build);
	return build;
}

static void note_builds(struct judgement *j)
{
	for (size_t i = 0; i < j->groups.cnt; i++) {
		const struct pathprof_fleet_group *group = &j->groups.list[i];
		json_t *build = group->is_program && group->member_cnt ? build_of(j, group) : NULL;

		if (!build)
			continue;
		json_object_set_new(build, "seen", json_integer(j->until_s));
		if (group->member_cnt >= PATHPROF_FLEET_HOSTS_MIN)
			json_object_set_new(build, "ran", json_integer(j->until_s));
	}
}

/* Marks known builds as seen, including those with few samples and those left out as the
 * lightest. */
static void note_known(struct judgement *j)
{
	for (size_t i = 0; i < j->fleet.binary_cnt; i++) {
		char id[PATHPROF_BUILD_ID_TEXT_LEN];
		json_t *build = json_object_get(
			j->builds, pathprof_build_id_text(&j->fleet.binaries[i].binary_id, id));

		if (build)
			json_object_set_new(build, "seen", json_integer(j->until_s));
	}
}

/* If there are too many builds, removes those that were not seen for the longest time. */
static void forget_builds(struct judgement *j)
{
	while (json_object_size(j->builds) > HUB_JUDGE_BUILDS_MAX) {
		const char *id, *oldest = NULL;
		json_t *build;
		int64_t seen = INT64_MAX;

		json_object_foreach(j->builds, id, build)
		{
			if (number_of(build, "seen") < seen) {
				seen = number_of(build, "seen");
				oldest = id;
			}
		}
		json_object_del(j->builds, oldest);
	}
}

/* The build of the same program that was the newest before this one, or NULL. */
static const char *build_before(const struct judgement *j, const char *id, const json_t *build)
{
	const char *other_id, *before = NULL,
			      *name = json_string_value(json_object_get(build, "name"));
	json_t *other;
	int64_t first = -1, ran = 0;

	json_object_foreach(j->builds, other_id, other)
	{
		const char *other_name = json_string_value(json_object_get(other, "name"));
		int64_t other_first = number_of(other, "first"),
			other_ran = number_of(other, "ran");

		if (!strcmp(other_id, id) || !name || !other_name ||
		    strcmp(name, other_name) != 0 || other_first >= number_of(build, "first"))
			continue;
		if (other_first > first || (other_first == first && other_ran > ran)) {
			before = other_id;
			first = other_first;
			ran = other_ran;
		}
	}
	return before;
}

static bool is_new(const struct judgement *j, const json_t *build)
{
	int64_t first = number_of(build, "first");

	return first > 0 && j->until_s - first < HUB_JUDGE_NEW_S;
}

/* ---------------------------------------------------------------- answers */

static json_t *functions_json(const struct pathprof_fleet_moved *moved, size_t cnt)
{
	json_t *list = json_array();

	for (size_t i = 0; i < cnt; i++)
		json_array_append_new(list, json_pack("{s:o, s:f, s:f, s:f}", "function",
						      pp_utf8_json(moved[i].name), "share",
						      moved[i].now, "baseline_share",
						      moved[i].before, "bits", moved[i].bits));
	return list;
}

static void add_number(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

/* Begins an entry: its scope, the program and the build. */
static json_t *subject_json(const char *scope, const struct pathprof_fleet_group *group)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	return json_pack("{s:s, s:o, s:s}", "scope", scope, "binary", pp_utf8_json(group->name),
			 "build_id", pathprof_build_id_text(&group->id, id));
}

static int add_found(struct judgement *j, json_t *object, struct pathprof_error *error)
{
	return json_array_append_new(j->found, object) < 0
		       ? pathprof_fail(error, -ENOMEM, "out of memory")
		       : 0;
}

/* ---------------------------------------------------------------- hosts */

static int add_host(struct judgement *j, const struct pathprof_fleet_group *group, size_t at,
		    struct pathprof_error *error)
{
	const struct pathprof_fleet_member *member = &group->members[at];
	struct pathprof_fleet_moved moved[PATHPROF_FLEET_MOVED_MAX];
	json_t *object;
	size_t cnt;
	int r = pathprof_fleet_moved(moved, &cnt, j->store, group, at, error);

	if (r < 0)
		return r;
	object = subject_json("host", group);
	json_object_set_new(object, "host", json_string(member->host));
	json_object_set_new(object, "hosts", json_integer((json_int_t)group->member_cnt));
	add_number(object, "value", member->bits);
	add_number(object, "low", member->low_bits);
	add_number(object, "high", member->high_bits);
	add_number(object, "samples", member->verdict.samples);
	json_object_set_new(object, "functions", functions_json(moved, cnt));
	return add_found(j, object, error);
}

/* Lists the hosts that were compared. Nothing is known about other hosts. */
static json_t *judged_json(const struct pathprof_fleet_group *group)
{
	json_t *object = subject_json("host", group), *members = json_array();

	for (size_t i = 0; i < group->member_cnt; i++)
		json_array_append_new(members, json_string(group->members[i].host));
	json_object_set_new(object, "members", members);
	return object;
}

static int judge_hosts(struct judgement *j, struct pathprof_fleet_group *group,
		       struct pathprof_error *error)
{
	int r = pathprof_fleet_group_judge(group);

	if (r < 0)
		return pathprof_fail(error, r, "%s: %s", group->name, strerror(-r));
	if (!group->judged)
		return 0;
	json_array_append_new(j->judged, judged_json(group));
	for (size_t i = 0; r == 0 && i < group->member_cnt; i++)
		if (group->members[i].verdict.found)
			r = add_host(j, group, i, error);
	return r;
}

/* ---------------------------------------------------------------- releases */

static bool parse_id(const char *text, int kind, struct pathprof_build_id *ret_id)
{
	size_t len = strlen(text);

	*ret_id =
		(struct pathprof_build_id){.kind = (uint8_t)kind, .len_bytes = (uint8_t)(len / 2)};
	if (!len || len % 2 || len / 2 > PATHPROF_BUILD_ID_MAX ||
	    text[strspn(text, "0123456789abcdef")])
		return false;
	for (size_t i = 0; i < len / 2; i++)
		sscanf(text + 2 * i, "%2hhx", &ret_id->bytes[i]);
	return true;
}

/* Loads an earlier build that does not run any more, from the last time it ran on enough hosts. */
static int load_reference(struct judgement *j, const char *id, const json_t *build,
			  struct pathprof_fleet_groups *ret_groups, struct pathprof_error *error)
{
	struct pathprof_binary_row row = {
		.name = json_string_value(json_object_get(build, "name"))};
	const struct pathprof_fleet fleet = {.hosts = j->fleet.hosts,
					     .host_cnt = j->fleet.host_cnt,
					     .binaries = &row,
					     .binary_cnt = 1};
	struct pathprof_filter filter = j->filter;
	int64_t until_s = number_of(build, "ran");

	if (!parse_id(id, (int)number_of(build, "kind"), &row.binary_id))
		return pathprof_fail(
			error, -EINVAL,
			"%s: the database's status has an earlier build \"%s\", which is "
			"no build-id: put back a copy of before it was damaged",
			row.name ? row.name : "(no name)", id);
	filter.binary = id;
	filter.since_ns = (until_s - (j->until_s - j->since_s)) * (int64_t)PP_NSEC_PER_SEC;
	filter.until_ns = filter.since_ns + (j->filter.until_ns - j->filter.since_ns);
	return pathprof_fleet_load(ret_groups, &fleet, j->store, &filter, NULL, NULL, error);
}

static const struct pathprof_fleet_group *running(const struct judgement *j, const char *id)
{
	char own[PATHPROF_BUILD_ID_TEXT_LEN];

	for (size_t i = 0; i < j->groups.cnt; i++) {
		const struct pathprof_fleet_group *group = &j->groups.list[i];

		if (!strcmp(pathprof_build_id_text(&group->id, own), id) &&
		    group->member_cnt >= PATHPROF_FLEET_HOSTS_MIN)
			return group;
	}
	return NULL;
}

static int add_release(struct judgement *j, const struct pathprof_fleet_group *now,
		       const struct pathprof_fleet_group *before, int64_t first_s,
		       struct pathprof_error *error)
{
	struct pathprof_release_verdict v;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	json_t *object;
	int r = pathprof_release_judge(&v, j->store, now, before, error);

	if (r < 0 || !v.judged)
		return r;
	json_array_append_new(j->judged, subject_json("release", now));
	if (!v.found)
		return 0;
	object = subject_json("release", now);
	json_object_set_new(object, "before_build_id",
			    json_string(pathprof_build_id_text(&before->id, id)));
	json_object_set_new(object, "hosts", json_integer((json_int_t)v.hosts));
	json_object_set_new(object, "before_hosts", json_integer((json_int_t)v.before_hosts));
	json_object_set_new(object, "hosts_out", json_integer((json_int_t)v.out));
	json_object_set_new(object, "first", json_integer(first_s));
	add_number(object, "value", v.bits);
	add_number(object, "low", v.low_bits);
	add_number(object, "high", v.high_bits);
	add_number(object, "usual", v.usual_bits);
	add_number(object, "matched", v.matched);
	add_number(object, "samples", v.samples);
	json_object_set_new(object, "functions", functions_json(v.moved, v.moved_cnt));
	return add_found(j, object, error);
}

static int judge_reference(struct judgement *j, const struct pathprof_fleet_group *now,
			   const char *before_id, int64_t first_s, struct pathprof_error *error)
{
	const json_t *before = json_object_get(j->builds, before_id);
	struct pathprof_fleet_groups groups = {.list = NULL};
	int r;

	if (!number_of(before, "ran"))
		return 0;
	if (j->reference_cnt++ == REFERENCE_MAX) {
		j->references_left_out++;
		return 0;
	}
	r = load_reference(j, before_id, before, &groups, error);
	if (r == 0)
		r = add_release(j, now, &groups.list[0], first_s, error);
	pathprof_fleet_groups_release(&groups);
	return r;
}

static int judge_release(struct judgement *j, const struct pathprof_fleet_group *now,
			 struct pathprof_error *error)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	const json_t *build = json_object_get(j->builds, pathprof_build_id_text(&now->id, id));
	const struct pathprof_fleet_group *group;
	const char *before;

	if (!build || !now->member_cnt || !is_new(j, build))
		return 0;
	before = build_before(j, id, build);
	if (!before)
		return 0;
	group = running(j, before);
	if (group)
		return add_release(j, now, group, number_of(build, "first"), error);
	return judge_reference(j, now, before, number_of(build, "first"), error);
}

/* ---------------------------------------------------------------- a span */

static bool go_on(void *context, size_t host_cnt)
{
	const struct judgement *j = context;

	(void)host_cnt;
	return pp_monotonic_ns() - j->begin_ns < LOAD_NS && j->groups.bytes < LOAD_BYTES;
}

/* Selects the part of the fleet that is judged: windows of the newest kind, the heaviest builds. */
static int look(struct judgement *j, struct pathprof_error *error)
{
	unsigned int kinds;
	int r = pathprof_store_kinds(j->store, &j->filter, &kinds, &j->filter.kind, error);

	if (r == 0)
		r = pathprof_fleet_look(&j->fleet, j->store, &j->filter, error);
	if (r == 0)
		note_known(j);
	while (j->fleet.binary_cnt > BINARIES_MAX) {
		free((void *)(uintptr_t)j->fleet.binaries[--j->fleet.binary_cnt].name);
		j->builds_left_out++;
	}
	if (r == 0)
		r = pathprof_fleet_load(&j->groups, &j->fleet, j->store, &j->filter, go_on, j,
					error);
	return r;
}

static int judge(struct judgement *j, struct pathprof_error *error)
{
	int r = look(j, error);

	if (r < 0)
		return r;
	note_builds(j);
	for (size_t i = 0; r == 0 && i < j->groups.cnt; i++)
		r = judge_hosts(j, &j->groups.list[i], error);
	for (size_t i = 0; r == 0 && i < j->groups.cnt; i++)
		r = judge_release(j, &j->groups.list[i], error);
	forget_builds(j);
	return r;
}

static int print(struct judgement *j)
{
	json_t *answer = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:O, s:O, s:O}", "since",
				   (json_int_t)j->since_s, "until", (json_int_t)j->until_s, "hosts",
				   (json_int_t)j->groups.host_cnt, "hosts_left_out",
				   (json_int_t)(j->fleet.host_cnt - j->groups.host_cnt),
				   "builds_left_out", (json_int_t)j->builds_left_out,
				   "references_left_out", (json_int_t)j->references_left_out,
				   "judged", j->judged, "found", j->found, "builds", j->builds);
	int r = answer ? json_dumpf(answer, stdout, JSON_COMPACT) : -1;

	json_decref(answer);
	return r == 0 && putchar('\n') == '\n' && fflush(stdout) == 0
		       ? HUB_OK
		       : hub_fail("standard output: %s", strerror(errno));
}

/* Reads the builds that the last judgement knew, for spans of the same length. */
static int recall(struct judgement *j, struct pathprof_error *error)
{
	json_t *status;
	char key[24];
	int r = hub_judged_read(j->store, &status, error);

	if (r < 0)
		return r;
	snprintf(key, sizeof(key), "%lld", (long long)(j->until_s - j->since_s));
	j->builds = json_incref(json_object_get(
		json_object_get(json_object_get(status, HUB_JUDGE_SPANS), key), "builds"));
	j->is_first = !json_is_object(j->builds);
	if (j->is_first) {
		json_decref(j->builds);
		j->builds = json_object();
	}
	json_decref(status);
	return 0;
}

static void release(struct judgement *j)
{
	pathprof_fleet_groups_release(&j->groups);
	pathprof_fleet_release(&j->fleet);
	pathprof_store_free(j->store);
	json_decref(j->builds);
	json_decref(j->found);
	json_decref(j->judged);
}

static bool parse_time(const char *text, int64_t *ret_s)
{
	char *end;

	errno = 0;
	*ret_s = text ? strtoll(text, &end, 10) : 0;
	return text && text[0] >= '0' && text[0] <= '9' && !*end && !errno &&
	       *ret_s < INT64_MAX / (int64_t)PP_NSEC_PER_SEC;
}

int hub_judge(const struct hub_options *options)
{
	struct judgement j = {.begin_ns = pp_monotonic_ns()};
	struct pathprof_error error = {""};
	int r;

	if (options->argc || !options->db || !parse_time(options->since, &j.since_s) ||
	    !parse_time(options->until, &j.until_s) || j.since_s >= j.until_s)
		return hub_usage(options, "--db, and --since and a later --until are needed");
	hub_child_be_modest(MEMORY_BYTES);
	j.filter.since_ns = j.since_s * (int64_t)PP_NSEC_PER_SEC;
	/* Windows of the next slot may begin a little before that slot does. */
	j.filter.until_ns = (j.until_s - PATHPROF_PARCEL_SLOT_S / 2) * (int64_t)PP_NSEC_PER_SEC;
	j.found = json_array();
	j.judged = json_array();
	r = pathprof_store_open(&j.store, options->db, PATHPROF_STORE_READ, &error);
	if (r == 0)
		r = recall(&j, &error);
	if (r == 0)
		r = judge(&j, &error);
	r = r < 0 ? hub_fail("%s", error.text) : print(&j);
	release(&j);
	return r;
}
