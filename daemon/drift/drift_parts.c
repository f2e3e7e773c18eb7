// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Splitting a window by binary and container: a counting sort by both, then each part by key.
 *
 * Workload: some hundred thousand counts of some hundred parts. Generated code is left out: it is
 * another in each process, and moves.
 */
#include "drift_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/events.h"

#define SLOTS_MAX   (1u << 22)
#define BUCKETS_MAX (1u << 16)
#define BUCKET_MAX  64 /* events that are put in order by insertion */

struct split {
	const struct pathprof_profile *profile;
	uint32_t *container; /* of a process */
	uint64_t *program;   /* of a process, as a group; 0: not known */
	const char **names;  /* of containers */
	uint32_t container_cnt;
	size_t *slots; /* number of counts of each (binary, container), then their places */
	size_t slot_cnt;
};

static uint32_t container_of(struct split *s, const char *name)
{
	for (uint32_t i = 0; i < s->container_cnt; i++)
		if (!strcmp(s->names[i], name))
			return i;
	s->names[s->container_cnt] = name;
	return s->container_cnt++;
}

static uint64_t program_of(const struct pathprof_profile *p, const struct pathprof_process *process)
{
	const struct pathprof_build_id *id =
		process->binary < p->binary_cnt ? &p->binaries[process->binary].id : NULL;

	return id && id->kind != PATHPROF_ID_NONE ? pathprof_event_group(id) : 0;
}

static bool is_wanted(const struct split *s, const struct pathprof_path_count *path)
{
	uint8_t kind = s->profile->binaries[path->binary].id.kind;

	return path->samples && kind != PATHPROF_ID_NONE && kind != PATHPROF_ID_JIT;
}

static size_t slot_of(const struct split *s, const struct pathprof_path_count *path)
{
	return (size_t)path->binary * s->container_cnt + s->container[path->process];
}

static int count(struct split *s)
{
	const struct pathprof_profile *p = s->profile;

	s->container = malloc((p->process_cnt + 1) * sizeof(*s->container));
	s->program = malloc((p->process_cnt + 1) * sizeof(*s->program));
	s->names = malloc((p->process_cnt + 1) * sizeof(*s->names));
	if (!s->container || !s->program || !s->names)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->process_cnt; i++) {
		s->container[i] = container_of(s, p->processes[i].container);
		s->program[i] = program_of(p, &p->processes[i]);
	}
	s->slot_cnt = (size_t)p->binary_cnt * s->container_cnt;
	if (s->slot_cnt > SLOTS_MAX)
		return -E2BIG;
	s->slots = calloc(s->slot_cnt + 1, sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->path_cnt; i++)
		if (is_wanted(s, &p->paths[i]))
			s->slots[slot_of(s, &p->paths[i])]++;
	return 0;
}

static size_t begin_parts(const struct split *s, struct pathprof_part *parts,
			  struct pathprof_event *events)
{
	size_t cnt = 0, at = 0;

	for (size_t slot = 0; slot < s->slot_cnt; slot++) {
		const struct pathprof_binary *binary =
			&s->profile->binaries[slot / s->container_cnt];
		size_t event_cnt = s->slots[slot];

		if (!event_cnt)
			continue;
		parts[cnt] = (struct pathprof_part){
			.id = &binary->id,
			.group = pathprof_event_group(&binary->id),
			.name = binary->name,
			.container = s->names[slot % s->container_cnt],
			.tally = {.events = events + at, .room = event_cnt},
		};
		s->slots[slot] = cnt++;
		at += event_cnt;
	}
	return cnt;
}

static void fill(const struct split *s, struct pathprof_part *parts)
{
	for (uint32_t i = 0; i < s->profile->path_cnt; i++) {
		const struct pathprof_path_count *path = &s->profile->paths[i];
		const struct pathprof_worth seen = {(double)path->samples, (double)path->squares,
						    path->weight, path->weight_squares};
		struct pathprof_event key;
		struct pathprof_part *part;

		if (!is_wanted(s, path))
			continue;
		part = &parts[s->slots[slot_of(s, path)]];
		pathprof_event_of_path(
			&key, pathprof_event_group_in(part->group, s->program[path->process]),
			path->start, path->length, path->outcomes, 0);
		/* there is room for all */
		(void)pathprof_tally_append(&part->tally, &key, &seen, s->profile->weighed);
	}
}

/* ---------------------------------------------------------------- putting them in order */

/* Room for the greatest part, and where each bucket ends. */
struct sorter {
	struct pathprof_event *events;
	uint32_t *ends;
};

static int sorter_init(struct sorter *ret_sorter, const struct pathprof_part *parts, size_t cnt)
{
	size_t most = 1;

	for (size_t i = 0; i < cnt; i++)
		most = parts[i].tally.cnt > most ? parts[i].tally.cnt : most;
	*ret_sorter = (struct sorter){malloc(most * sizeof(*ret_sorter->events)),
				      malloc((BUCKETS_MAX + 1) * sizeof(*ret_sorter->ends))};
	return ret_sorter->events && ret_sorter->ends ? 0 : -ENOMEM;
}

static void sorter_release(struct sorter *sorter)
{
	free(sorter->events);
	free(sorter->ends);
}

static void insert_in_order(struct pathprof_event *events, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++) {
		struct pathprof_event event = events[i];
		size_t at = i;

		for (; at && events[at - 1].key_lo > event.key_lo; at--)
			events[at] = events[at - 1];
		events[at] = event;
	}
}

/*
 * The low half of a key is a hash, so keys spread evenly over buckets by its first bits, and those
 * of one program are in order then. The general sort behind this one does the rest: keys of several
 * programs, and buckets above BUCKET_MAX.
 */
static void spread(struct sorter *s, struct pathprof_event *events, size_t cnt)
{
	unsigned int shift = 63;
	uint32_t bucket_cnt = 2;

	for (; bucket_cnt < BUCKETS_MAX && bucket_cnt < cnt; bucket_cnt *= 2)
		shift--;
	memset(s->ends, 0, (bucket_cnt + 1) * sizeof(*s->ends));
	for (size_t i = 0; i < cnt; i++)
		s->ends[(events[i].key_lo >> shift) + 1]++;
	for (uint32_t b = 1; b < bucket_cnt; b++)
		s->ends[b] += s->ends[b - 1];
	for (size_t i = 0; i < cnt; i++)
		s->events[s->ends[events[i].key_lo >> shift]++] = events[i];
	memcpy(events, s->events, cnt * sizeof(*events));
	for (uint32_t b = 0, begin = 0; b < bucket_cnt; begin = s->ends[b++])
		if (s->ends[b] - begin > 1 && s->ends[b] - begin <= BUCKET_MAX)
			insert_in_order(events + begin, s->ends[b] - begin);
}

static int sort_parts(struct pathprof_part *parts, size_t cnt)
{
	struct sorter sorter;
	int r = sorter_init(&sorter, parts, cnt);

	for (size_t i = 0; i < cnt && r == 0; i++) {
		spread(&sorter, parts[i].tally.events, parts[i].tally.cnt);
		(void)pathprof_tally_sort(&parts[i].tally);
	}
	sorter_release(&sorter);
	return r;
}

static int by_samples(const void *a, const void *b)
{
	const struct pathprof_part *x = a, *y = b;

	if (x->tally.samples != y->tally.samples)
		return x->tally.samples > y->tally.samples ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static int make(struct split *s, struct pathprof_part **ret_parts, size_t *ret_cnt,
		struct pathprof_event **ret_events)
{
	struct pathprof_event *events;
	struct pathprof_part *parts;
	size_t cnt = 0, used = 0, event_cnt = 0;

	for (size_t slot = 0; slot < s->slot_cnt; slot++) {
		used += s->slots[slot] > 0;
		event_cnt += s->slots[slot];
	}
	parts = calloc(used + 1, sizeof(*parts));
	events = malloc((event_cnt + 1) * sizeof(*events));
	if (!parts || !events) {
		free(parts);
		free(events);
		return -ENOMEM;
	}
	cnt = begin_parts(s, parts, events);
	fill(s, parts);
	if (sort_parts(parts, cnt) < 0) {
		free(parts);
		free(events);
		return -ENOMEM;
	}
	qsort(parts, cnt, sizeof(*parts), by_samples);
	*ret_parts = parts;
	*ret_cnt = cnt;
	*ret_events = events;
	return 0;
}

int pp_drift_split(const struct pathprof_profile *profile, struct pathprof_part **ret_parts,
		   size_t *ret_cnt, struct pathprof_event **ret_events)
{
	struct split split = {.profile = profile};
	int r = count(&split);

	if (r == 0)
		r = make(&split, ret_parts, ret_cnt, ret_events);
	free(split.container);
	free(split.program);
	free(split.names);
	free(split.slots);
	return r;
}
