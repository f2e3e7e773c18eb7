// SPDX-License-Identifier: GPL-2.0-or-later
/* Bursts weighed by the clock: see weigh.h. Source: Cochran, Sampling Techniques, 5A.9 and 12.2. */
#include "weigh.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* The least length of a slice, which also lasts until it has some bursts. */
#define SLICE_NS    UINT64_C(1000000000)
#define BURSTS_MIN  4
#define USEC_A_SEC  1e6
#define WAITING_MAX 65536
/* A program with fewer bursts is in the group of small ones. */
#define PROGRAM_MIN 5
/* A program that should have had so many and has none is not. */
#define MISSED_MIN 10

enum waiting_kind {
	WAITING_PATH,
	WAITING_SEGMENT,
	WAITING_EDGE,
};

/* Something of a burst, until the slice ends. */
struct waiting {
	enum waiting_kind kind;
	uint32_t context; /* of a path */
	union {
		struct pathprof_path_count path;
		struct pathprof_segment_count segment;
		struct pathprof_edge_count edge;
	};
};

/* A process as the window knows it. */
struct weighed {
	uint64_t clock_samples; /* in user code */
	uint64_t bursts;
	double weight; /* of its bursts, by slices */
};

struct pp_weigh {
	struct pathprof_profile *profile;
	struct waiting *waiting;
	uint32_t waiting_cnt;
	struct weighed *processes; /* by index in the profile */
	uint32_t process_cap;
	uint32_t *bursts; /* process of each burst of the slice */
	uint32_t burst_cnt, burst_cap;
	uint64_t slice;         /* its number, 1 first */
	uint64_t slice_samples; /* clock samples in user code since the last slice with bursts */
	uint64_t slice_ns;      /* CLOCK_MONOTONIC of its begin; 0: at the next tick */
	double insns, horizon;  /* that the last burst covers, and was to cover */
};

int pp_weigh_new(struct pp_weigh **ret_weigh, struct pathprof_profile *profile)
{
	struct pp_weigh *weigh = calloc(1, sizeof(*weigh));

	if (!weigh)
		return -ENOMEM;
	weigh->profile = profile;
	weigh->waiting = malloc(WAITING_MAX * sizeof(*weigh->waiting));
	if (!weigh->waiting) {
		free(weigh);
		return -ENOMEM;
	}
	*ret_weigh = weigh;
	return 0;
}

void pp_weigh_free(struct pp_weigh *weigh)
{
	if (!weigh)
		return;
	free(weigh->waiting);
	free(weigh->processes);
	free(weigh->bursts);
	free(weigh);
}

void pp_weigh_begin(struct pp_weigh *weigh)
{
	weigh->waiting_cnt = weigh->burst_cnt = 0;
	weigh->slice_samples = weigh->slice_ns = 0;
	if (weigh->process_cap)
		memset(weigh->processes, 0, weigh->process_cap * sizeof(*weigh->processes));
}

/* NULL without memory: the process then has what its slices say. */
static struct weighed *process_at(struct pp_weigh *weigh, uint32_t process)
{
	uint32_t cap = weigh->process_cap;

	if (pp_reserve(&weigh->processes, (size_t)process + 1, &weigh->process_cap) < 0)
		return NULL;
	if (weigh->process_cap > cap)
		memset(weigh->processes + cap, 0,
		       (weigh->process_cap - cap) * sizeof(*weigh->processes));
	return &weigh->processes[process];
}

void pp_weigh_add_clock(struct pp_weigh *weigh, uint32_t process)
{
	struct weighed *weighed = process_at(weigh, process);

	weigh->slice_samples++;
	if (weighed)
		weighed->clock_samples++;
}

/* ---------------------------------------------------------------- slices */

static double usec_a_sample(const struct pp_weigh *weigh)
{
	return weigh->profile->clock_hz ? USEC_A_SEC / weigh->profile->clock_hz : 1;
}

/* The figures of a path, or those of a segment. */
static void weigh_path(const struct pp_weigh *weigh, struct pathprof_path_count *path, double usec,
		       double samples)
{
	path->weight *= usec;
	path->insns *= usec;
	path->slice = weigh->slice;
	path->slice_samples = samples;
}

static void deliver(struct pp_weigh *weigh, struct waiting *waiting, double usec, double samples)
{
	switch (waiting->kind) {
	case WAITING_PATH:
		weigh_path(weigh, &waiting->path, usec, samples);
		pathprof_profile_add_called_path(weigh->profile, &waiting->path, waiting->context);
		break;
	case WAITING_SEGMENT:
		weigh_path(weigh, &waiting->segment.second, usec, samples);
		pathprof_profile_add_segment(weigh->profile, &waiting->segment);
		break;
	case WAITING_EDGE:
		waiting->edge.weight *= usec;
		pathprof_profile_add_edge(weigh->profile, &waiting->edge);
		break;
	}
}

/* A slice without a clock sample is taken to have lasted half of one. */
static void end_slice(struct pp_weigh *weigh)
{
	double samples = weigh->slice_samples ? (double)weigh->slice_samples : 0.5;
	double usec = samples * usec_a_sample(weigh) / weigh->burst_cnt;

	weigh->slice++;
	for (uint32_t i = 0; i < weigh->waiting_cnt; i++)
		deliver(weigh, &weigh->waiting[i], usec, samples);
	for (uint32_t i = 0; i < weigh->burst_cnt; i++) {
		struct weighed *weighed = process_at(weigh, weigh->bursts[i]);

		if (weighed)
			weighed->weight += usec;
	}
	weigh->waiting_cnt = weigh->burst_cnt = 0;
	weigh->slice_samples = weigh->slice_ns = 0;
}

void pp_weigh_tick(struct pp_weigh *weigh, uint64_t now_ns)
{
	if (!weigh->slice_ns)
		weigh->slice_ns = now_ns;
	if (now_ns - weigh->slice_ns >= SLICE_NS && weigh->burst_cnt >= BURSTS_MIN)
		end_slice(weigh);
}

static bool keep_burst(struct pp_weigh *weigh, uint32_t process)
{
	if (pp_grow(&weigh->bursts, weigh->burst_cnt, &weigh->burst_cap) < 0)
		return false;
	weigh->bursts[weigh->burst_cnt++] = process;
	return true;
}

bool pp_weigh_add_burst(struct pp_weigh *weigh, uint32_t process,
			const struct pathprof_burst *burst)
{
	struct weighed *weighed = process_at(weigh, process);

	if (burst->end == PATHPROF_END_DISCONT && !burst->insn_cnt)
		return false;
	/* room for all that one burst may hold */
	if (weigh->waiting_cnt > WAITING_MAX - 3 * PATHPROF_BURST_MAX)
		end_slice(weigh);
	if (!weighed || !keep_burst(weigh, process)) {
		weigh->profile->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
		return false;
	}
	weighed->bursts++;
	weigh->insns = burst->insn_cnt;
	weigh->horizon = burst->horizon;
	return true;
}

/* Runs for each instruction covered, as if the burst had reached its horizon. */
static double rate(const struct pp_weigh *weigh, double span)
{
	return weigh->horizon / fmax(weigh->insns - span, 1);
}

static struct waiting *next(struct pp_weigh *weigh)
{
	return weigh->waiting_cnt < WAITING_MAX ? &weigh->waiting[weigh->waiting_cnt++] : NULL;
}

void pp_weigh_add_path(struct pp_weigh *weigh, const struct pathprof_path_count *path,
		       uint32_t span, uint32_t context)
{
	struct waiting *waiting = next(weigh);
	double own = path->weight > 0 ? path->insns / path->weight : 0;

	if (!waiting)
		return;
	*waiting = (struct waiting){.kind = WAITING_PATH, .context = context, .path = *path};
	waiting->path.weight = rate(weigh, span);
	waiting->path.insns = waiting->path.weight * own;
}

void pp_weigh_add_segment(struct pp_weigh *weigh, const struct pathprof_segment_count *segment,
			  uint32_t span)
{
	struct waiting *waiting = next(weigh);

	if (!waiting)
		return;
	*waiting = (struct waiting){.kind = WAITING_SEGMENT, .segment = *segment};
	waiting->segment.second.weight = rate(weigh, span);
}

void pp_weigh_add_edge(struct pp_weigh *weigh, const struct pathprof_edge_count *edge)
{
	struct waiting *waiting = next(weigh);

	if (!waiting)
		return;
	*waiting = (struct waiting){.kind = WAITING_EDGE, .edge = *edge};
	waiting->edge.weight = rate(weigh, 0) * (double)edge->count;
}

/* ---------------------------------------------------------------- programs */

/* Sums over the processes of one program, or over small ones. */
struct program {
	uint64_t clock_samples, bursts;
	double weight;
};

static void add_up(struct program *to, uint64_t clock_samples, uint64_t bursts, double weight)
{
	to->clock_samples += clock_samples;
	to->bursts += bursts;
	to->weight += weight;
}

static bool is_large(const struct program *program, double bursts_a_sample)
{
	return program->bursts >= PROGRAM_MIN ||
	       (!program->bursts && (double)program->clock_samples * bursts_a_sample >= MISSED_MIN);
}

static double factor_of(const struct program *program, double usec)
{
	double samples = program->clock_samples ? (double)program->clock_samples : 0.5;

	return program->weight > 0 ? samples * usec / program->weight : 1;
}

/* Programs by their executable, an index in the profile; the last one: not known. */
static uint32_t program_of(const struct pathprof_profile *profile, uint32_t process)
{
	uint32_t binary = profile->processes[process].binary;

	return binary < profile->binary_cnt ? binary : profile->binary_cnt;
}

static uint32_t known_processes(const struct pp_weigh *weigh)
{
	uint32_t cnt = weigh->profile->process_cnt;

	return cnt < weigh->process_cap ? cnt : weigh->process_cap;
}

static struct program sum_programs(const struct pp_weigh *weigh, struct program *programs)
{
	struct program all = {0};

	for (uint32_t i = 0; i < known_processes(weigh); i++) {
		const struct weighed *w = &weigh->processes[i];

		add_up(&programs[program_of(weigh->profile, i)], w->clock_samples, w->bursts,
		       w->weight);
		add_up(&all, w->clock_samples, w->bursts, w->weight);
	}
	return all;
}

/* Each program's factor takes the place of its weight. */
static void set_factors(const struct pp_weigh *weigh, struct program *programs, uint32_t cnt,
			const struct program *all)
{
	double bursts_a_sample =
		all->clock_samples ? (double)all->bursts / (double)all->clock_samples : 0;
	double usec = usec_a_sample(weigh), small_factor;
	struct program small = {0};

	for (uint32_t i = 0; i < cnt; i++)
		if (!is_large(&programs[i], bursts_a_sample))
			add_up(&small, programs[i].clock_samples, programs[i].bursts,
			       programs[i].weight);
	small_factor = factor_of(&small, usec);
	for (uint32_t i = 0; i < cnt; i++)
		programs[i].weight = is_large(&programs[i], bursts_a_sample)
					     ? factor_of(&programs[i], usec)
					     : small_factor;
}

static void scale(struct pp_weigh *weigh, struct program *programs, double *factors)
{
	struct pathprof_profile *profile = weigh->profile;
	struct program all = sum_programs(weigh, programs);

	set_factors(weigh, programs, profile->binary_cnt + 1, &all);
	for (uint32_t i = 0; i < profile->process_cnt; i++)
		factors[i] = programs[program_of(profile, i)].weight;
	pathprof_profile_scale(profile, factors);
}

/* Without memory slices alone weigh. */
void pp_weigh_close(struct pp_weigh *weigh)
{
	const struct pathprof_profile *profile = weigh->profile;
	struct program *programs;
	double *factors;

	if (weigh->burst_cnt)
		end_slice(weigh);
	programs = calloc((size_t)profile->binary_cnt + 1, sizeof(*programs));
	factors = calloc((size_t)profile->process_cnt + 1, sizeof(*factors));
	if (programs && factors)
		scale(weigh, programs, factors);
	free(programs);
	free(factors);
}
