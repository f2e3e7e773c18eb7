// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts of the previous build: the rolling baseline of a binary of the same path and
 * container, as it was when the new build came. It is kept until another build comes.
 *
 * Workload: once for each new build, from memory. After a restart, or when the old build was
 * evicted, from the store: that reads an hour of windows, so it is done for one build a window.
 * Until then, after a restart, a build is compared with the windows of the previous build that were
 * read back: its last ones.
 */
#include "drift_subject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/events.h"

#define BUILDS_MAX 3 /* earlier builds that are searched */

/* Takes the reference and the counts over. */
static void set_previous(struct pp_drift_subject *subject, struct pathprof_portable *portable,
			 struct pathprof_tally *counts)
{
	pathprof_portable_unref(subject->previous.portable);
	subject->previous.portable = portable;
	pathprof_tally_move(&subject->previous.tally, counts);
}

/* ---------------------------------------------------------------- from memory */

static struct pp_drift_subject *latest_other(const struct pp_drift_subjects *subjects,
					     const struct pp_drift_subject *subject)
{
	struct pp_drift_subject *latest = NULL;

	for (uint32_t i = 0; i < subjects->cnt; i++) {
		struct pp_drift_subject *other = subjects->list[i];

		if (other->group != subject->group && !strcmp(other->name, subject->name) &&
		    !strcmp(other->container, subject->container) &&
		    (!latest || other->seen_ns > latest->seen_ns))
			latest = other;
	}
	return latest;
}

/* Adds the windows of a build that ran for a few windows only. */
static int add_recent(struct pathprof_tally *counts, const struct pathprof_rolling *rolling)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < rolling->recent_cnt; i++)
		r = pathprof_tally_join(counts, &rolling->recent[i].tally);
	return r;
}

static int take_over(struct pp_drift_subjects *subjects, struct pp_drift_subject *subject,
		     const struct pp_drift_subject *other)
{
	const struct pathprof_tally *base = &other->rolling.base.sum;
	const struct pp_drift_previous *before = &other->previous;
	struct pathprof_tally counts = {0};
	struct pathprof_portable *of = other->portable;
	bool passed_on = !pp_drift_is_enough(subjects->common, base) && before->portable;
	int r;

	if (passed_on) {
		of = before->portable;
		base = &before->tally;
	}
	r = pathprof_tally_join(&counts, base);
	if (r == 0 && !passed_on && !pp_drift_is_enough(subjects->common, &counts))
		r = add_recent(&counts, &other->rolling);
	if (r == 0 && pp_drift_is_enough(subjects->common, &counts))
		set_previous(subject, pathprof_portable_ref(of), &counts);
	pathprof_tally_release(&counts);
	return r;
}

void pp_drift_find_previous(struct pp_drift_subjects *subjects, struct pp_drift_subject *subject)
{
	const struct pp_drift_subject *other = latest_other(subjects, subject);
	int r = other ? take_over(subjects, subject, other) : 0;

	if (r < 0)
		pp_drift_lost(subjects->common, r, "counts of the build before lost", strerror(-r));
	/* Memory holds all that there is, unless this window is being read back after a start. */
	subject->sought_previous = other && subjects->common->profile;
}

/* ---------------------------------------------------------------- from the store */

struct seeking {
	struct pathprof_earlier_build_row builds[BUILDS_MAX];
	uint32_t cnt;
};

static int take_build(void *context, const struct pathprof_earlier_build_row *row)
{
	struct seeking *seeking = context;

	seeking->builds[seeking->cnt++] = *row;
	return seeking->cnt == BUILDS_MAX;
}

struct reading {
	uint64_t group;
	const char *container;
	struct pathprof_tally *to;
};

static int take_part(void *context, struct pathprof_part *part)
{
	const struct reading *r = context;

	if (part->group != r->group || strcmp(part->container, r->container) != 0)
		return 0;
	return pathprof_tally_join(r->to, &part->tally);
}

/* Reads a build's counts over the span of a rolling baseline before it was seen last. */
static int read_build(const struct pp_drift_subjects *subjects,
		      const struct pp_drift_subject *subject,
		      const struct pathprof_earlier_build_row *build, struct pathprof_tally *counts)
{
	struct reading reading = {.group = pathprof_event_group(&build->binary_id),
				  .container = subject->container,
				  .to = counts};
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];
	const struct pathprof_filter filter = {
		.since_ns = build->last_from_ns - (int64_t)subjects->common->config.rolling_ns,
		.until_ns = build->last_until_ns + 1,
		.binary = pathprof_build_id_text(&build->binary_id, hex),
		.kind = subjects->common->kind,
	};

	return pathprof_parts_read(subjects->common->store, &filter,
				   subjects->common->kind == PATHPROF_KIND_WEIGHED, 0, take_part,
				   &reading, NULL);
}

/* Returns 1 if the build has enough counts and was made the previous one. */
static int try_build(struct pp_drift_subjects *subjects, struct pp_drift_subject *subject,
		     const struct pathprof_earlier_build_row *build)
{
	struct pathprof_tally counts = {0};
	struct pathprof_portable *portable = NULL;
	int r = read_build(subjects, subject, build, &counts);

	if (r == 0 && pp_drift_is_enough(subjects->common, &counts))
		portable = pp_drift_portable(subjects, &build->binary_id);
	if (portable)
		set_previous(subject, portable, &counts);
	pathprof_tally_release(&counts);
	return r < 0 ? r : portable != NULL;
}

static void seek(struct pp_drift_subjects *subjects, struct pp_drift_subject *subject)
{
	struct seeking seeking = {.cnt = 0};
	int r = pathprof_store_earlier_builds(subjects->common->store, &subject->id, subject->name,
					      take_build, &seeking, NULL);
	bool found = false;

	subject->sought_previous = true;
	for (uint32_t i = 0; i < seeking.cnt && r >= 0 && !found; i++) {
		r = try_build(subjects, subject, &seeking.builds[i]);
		found = r > 0;
	}
	if (r < 0)
		pp_drift_lost(subjects->common, r, "counts of the build before not read",
			      strerror(-r));
}

/* Subjects with another build in memory come first, and of them the last one seen. NULL: none. */
static struct pp_drift_subject *next_to_seek(const struct pp_drift_subjects *subjects)
{
	struct pp_drift_subject *next = NULL;
	bool next_has_other = false;

	for (uint32_t i = 0; i < subjects->cnt; i++) {
		struct pp_drift_subject *subject = subjects->list[i];
		bool has_other;

		if (subject->sought_previous)
			continue;
		has_other = latest_other(subjects, subject) != NULL;
		if (!next || has_other > next_has_other ||
		    (has_other == next_has_other && subject->seen_ns > next->seen_ns)) {
			next = subject;
			next_has_other = has_other;
		}
	}
	return next;
}

void pp_drift_seek_previous(struct pp_drift_subjects *subjects)
{
	struct pp_drift_subject *next =
		subjects->common->config.drift_previous ? next_to_seek(subjects) : NULL;

	if (next)
		seek(subjects, next);
}
