// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Subjects: found by the hash of their identity, then by container. Some hundred of them, so a walk
 * over an array of pointers does.
 */
#include "drift_state.h"

#include <stdlib.h>
#include <string.h>

static void free_subject(struct pp_drift_subject *subject)
{
	pathprof_rolling_release(&subject->rolling);
	pathprof_portable_unref(subject->portable);
	pathprof_portable_unref(subject->previous.portable);
	pathprof_tally_release(&subject->previous.tally);
	free(subject->name);
	free(subject->container);
	free(subject);
}

static struct pp_drift_subject *find(const struct pp_drift *drift, const struct pathprof_part *part)
{
	for (uint32_t i = 0; i < drift->subject_cnt; i++) {
		struct pp_drift_subject *subject = drift->subjects[i];

		if (subject->group == part->group && !strcmp(subject->container, part->container))
			return subject;
	}
	return NULL;
}

/* Of a build that runs in another container, too: the same. */
static struct pathprof_portable *portable_of(struct pp_drift *drift,
					     const struct pathprof_build_id *id)
{
	struct pathprof_error error = {""};
	struct pathprof_portable *portable;
	int r;

	for (uint32_t i = 0; i < drift->subject_cnt; i++)
		if (pathprof_build_id_equal(&drift->subjects[i]->id, id))
			return pathprof_portable_ref(drift->subjects[i]->portable);
	portable = pathprof_portable_new(id);
	r = portable ? pathprof_portable_load(portable, drift->store, &error) : 0;
	if (r < 0)
		pp_drift_lost(drift, r, "names of paths not read", error.text);
	return portable;
}

static struct pp_drift_subject *new_subject(struct pp_drift *drift,
					    const struct pathprof_part *part)
{
	struct pp_drift_subject *subject = calloc(1, sizeof(*subject));

	if (!subject)
		return NULL;
	subject->id = *part->id;
	subject->group = part->group;
	subject->name = strdup(part->name);
	subject->container = strdup(part->container);
	subject->portable = portable_of(drift, part->id);
	if (subject->name && subject->container && subject->portable)
		return subject;
	free_subject(subject);
	return NULL;
}

struct pp_drift_subject *pp_drift_subject(struct pp_drift *drift, const struct pathprof_part *part,
					  bool add)
{
	struct pp_drift_subject *subject = find(drift, part), **subjects;

	if (subject || !add)
		return subject;
	subjects = realloc(drift->subjects, (drift->subject_cnt + 1) * sizeof(*subjects));
	if (!subjects)
		return NULL;
	drift->subjects = subjects;
	subject = new_subject(drift, part);
	if (!subject)
		return NULL;
	if (drift->config.drift_previous)
		pp_drift_find_previous(drift, subject);
	subjects[drift->subject_cnt++] = subject;
	pp_drift_link(drift, subject);
	return subject;
}

static uint32_t longest_unseen(const struct pp_drift *drift)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < drift->subject_cnt; i++)
		if (drift->subjects[i]->seen_ns < drift->subjects[oldest]->seen_ns)
			oldest = i;
	return oldest;
}

/* A part of what several subjects share: all of it is counted once in the end. */
static uint64_t share_bytes(const struct pathprof_portable *portable)
{
	return portable ? pathprof_portable_bytes(portable) / portable->ref_cnt : 0;
}

static uint64_t subject_bytes(const struct pp_drift_subject *subject)
{
	return pathprof_rolling_bytes(&subject->rolling) +
	       pathprof_tally_bytes(&subject->previous.tally) + share_bytes(subject->portable) +
	       share_bytes(subject->previous.portable);
}

uint64_t pp_drift_bytes(const struct pp_drift *drift)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < drift->subject_cnt; i++)
		bytes += subject_bytes(drift->subjects[i]);
	return bytes;
}

void pp_drift_evict(struct pp_drift *drift)
{
	while (drift->subject_cnt > drift->config.drift_subjects_max ||
	       (drift->subject_cnt &&
		pp_drift_bytes(drift) > drift->config.drift_memory_max_bytes)) {
		uint32_t which = longest_unseen(drift);

		free_subject(drift->subjects[which]);
		drift->subjects[which] = drift->subjects[--drift->subject_cnt];
		drift->evicted++;
	}
}

void pp_drift_free_subjects(struct pp_drift *drift)
{
	for (uint32_t i = 0; i < drift->subject_cnt; i++)
		free_subject(drift->subjects[i]);
	free(drift->subjects);
	drift->subjects = NULL;
	drift->subject_cnt = 0;
}
