// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Subjects: found by the hash of their identity, then by container. Some hundred of them, so a walk
 * over an array of pointers does.
 */
#include "drift_subject.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

static void free_subject(struct pp_drift_subject *subject)
{
	pp_drift_unlink(subject->alerts);
	pathprof_rolling_release(&subject->rolling);
	pathprof_portable_unref(subject->portable);
	pathprof_portable_unref(subject->previous.portable);
	pathprof_tally_release(&subject->previous.tally);
	free(subject->name);
	free(subject->container);
	free(subject);
}

static struct pp_drift_subject *find(const struct pp_drift_subjects *subjects,
				     const struct pathprof_part *part)
{
	for (uint32_t i = 0; i < subjects->cnt; i++) {
		struct pp_drift_subject *subject = subjects->list[i];

		if (subject->group == part->group && !strcmp(subject->container, part->container))
			return subject;
	}
	return NULL;
}

struct pathprof_portable *pp_drift_portable(struct pp_drift_subjects *subjects,
					    const struct pathprof_build_id *id)
{
	struct pathprof_error error = {""};
	struct pathprof_portable *portable;
	int r;

	for (uint32_t i = 0; i < subjects->cnt; i++)
		if (pathprof_build_id_equal(&subjects->list[i]->id, id))
			return pathprof_portable_ref(subjects->list[i]->portable);
	portable = pathprof_portable_new(id);
	r = portable ? pathprof_portable_load(portable, subjects->common->store, &error) : 0;
	if (r < 0)
		pp_drift_lost(subjects->common, r, "names of paths not read", error.text);
	return portable;
}

static struct pp_drift_subject *new_subject(struct pp_drift_subjects *subjects,
					    const struct pathprof_part *part)
{
	struct pp_drift_subject *subject = calloc(1, sizeof(*subject));

	if (!subject)
		return NULL;
	subject->id = *part->id;
	subject->group = part->group;
	subject->name = strdup(part->name);
	subject->container = strdup(part->container);
	subject->portable = pp_drift_portable(subjects, part->id);
	if (subject->name && subject->container && subject->portable)
		return subject;
	free_subject(subject);
	return NULL;
}

struct pp_drift_subject *pp_drift_subject(struct pp_drift_subjects *subjects,
					  const struct pathprof_part *part, bool add)
{
	struct pp_drift_subject *subject = find(subjects, part);

	if (subject || !add)
		return subject;
	if (pp_resize(&subjects->list, subjects->cnt + 1ul) < 0)
		return NULL;
	subject = new_subject(subjects, part);
	if (!subject)
		return NULL;
	if (subjects->common->config.drift_previous)
		pp_drift_find_previous(subjects, subject);
	subjects->list[subjects->cnt++] = subject;
	pp_drift_link(subjects->alerts, subject->name, subject->container, subject->alerts);
	return subject;
}

int pp_drift_push(const struct pp_drift_subjects *subjects, struct pp_drift_subject *subject,
		  const struct pathprof_part *part, int64_t end_ns, bool hot)
{
	enum pathprof_rolling_verdict verdict =
		subject->unsure ? PATHPROF_ROLLING_UNSURE : PATHPROF_ROLLING_CALM;

	subject->seen_ns = end_ns;
	return pathprof_rolling_push(&subject->rolling, &part->tally, end_ns,
				     hot ? PATHPROF_ROLLING_HOT : verdict,
				     pp_drift_pooled_max(subjects->alerts) - 1,
				     (int64_t)subjects->common->config.rolling_ns);
}

static uint32_t longest_unseen(const struct pp_drift_subjects *subjects)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < subjects->cnt; i++)
		if (subjects->list[i]->seen_ns < subjects->list[oldest]->seen_ns)
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

uint64_t pp_drift_bytes(const struct pp_drift_subjects *subjects)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < subjects->cnt; i++)
		bytes += subject_bytes(subjects->list[i]);
	return bytes;
}

void pp_drift_evict(struct pp_drift_subjects *subjects)
{
	while (subjects->cnt > subjects->common->config.drift_subjects_max ||
	       (subjects->cnt &&
		pp_drift_bytes(subjects) > subjects->common->config.drift_memory_max_bytes)) {
		uint32_t which = longest_unseen(subjects);

		free_subject(subjects->list[which]);
		subjects->list[which] = subjects->list[--subjects->cnt];
		subjects->evicted++;
	}
}

void pp_drift_free_subjects(struct pp_drift_subjects *subjects)
{
	for (uint32_t i = 0; i < subjects->cnt; i++)
		free_subject(subjects->list[i]);
	free(subjects->list);
	subjects->list = NULL;
	subjects->cnt = 0;
}
