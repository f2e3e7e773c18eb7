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
	pp_rolling_release(&subject->rolling);
	free(subject->name);
	free(subject->container);
	free(subject);
}

static struct pp_drift_subject *find(const struct pp_drift *drift, const struct pp_drift_part *part)
{
	for (uint32_t i = 0; i < drift->subject_cnt; i++) {
		struct pp_drift_subject *subject = drift->subjects[i];

		if (subject->group == part->group && !strcmp(subject->container, part->container))
			return subject;
	}
	return NULL;
}

static struct pp_drift_subject *new_subject(const struct pp_drift_part *part)
{
	struct pp_drift_subject *subject = calloc(1, sizeof(*subject));

	if (!subject)
		return NULL;
	subject->id = *part->id;
	subject->group = part->group;
	subject->name = strdup(part->name);
	subject->container = strdup(part->container);
	if (subject->name && subject->container)
		return subject;
	free_subject(subject);
	return NULL;
}

struct pp_drift_subject *pp_drift_subject(struct pp_drift *drift, const struct pp_drift_part *part,
					  bool add)
{
	struct pp_drift_subject *subject = find(drift, part), **subjects;

	if (subject || !add)
		return subject;
	subjects = realloc(drift->subjects, (drift->subject_cnt + 1) * sizeof(*subjects));
	if (!subjects)
		return NULL;
	drift->subjects = subjects;
	subject = new_subject(part);
	if (!subject)
		return NULL;
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

void pp_drift_evict(struct pp_drift *drift)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < drift->subject_cnt; i++)
		bytes += pp_rolling_bytes(&drift->subjects[i]->rolling);
	while (drift->subject_cnt > drift->config.drift_subjects_max ||
	       (drift->subject_cnt && bytes > drift->config.drift_memory_max_bytes)) {
		uint32_t which = longest_unseen(drift);

		bytes -= pp_rolling_bytes(&drift->subjects[which]->rolling);
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
