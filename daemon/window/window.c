// SPDX-License-Identifier: GPL-2.0-or-later
/* From bursts to a closed window: see window.h. */
#include "window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "window_jit.h"

struct pp_window {
	struct pp_window_config config;
	struct pp_resolver resolver;
	struct pathprof_profile profile;
	int64_t end_ns;   /* 0: now, whenever that is */
	uint64_t held_ns; /* what the windows know of the source's stopped_ns since it was opened */
};

/* A burst or a count on its way into the window. */
struct arrival {
	struct pp_window *window;
	struct pp_counted who;
	uint32_t process; /* index in the profile */
	uint64_t burst;   /* its number in the window, 1 first; 0: a count */
};

struct place {
	uint32_t binary; /* index in the profile */
	uint64_t offset;
};

static int64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void drop(struct pp_window *window, enum pathprof_drop reason, uint64_t cnt)
{
	window->profile.totals.drops[reason] += cnt;
}

static void begin(struct pp_window *window)
{
	struct pathprof_profile *profile = &window->profile;

	profile->begin_ns = realtime_ns();
	profile->end_ns = 0;
	profile->source = window->config.source;
	profile->basis = window->config.basis;
	profile->taken_wanted = window->config.taken_wanted;
}

int pp_window_new(struct pp_window **ret_window, const struct pp_window_config *config,
		  const struct pp_resolver *resolver)
{
	struct pp_window *window = calloc(1, sizeof(*window));
	int r;

	if (!window)
		return -ENOMEM;
	window->config = *config;
	window->resolver = *resolver;
	r = pathprof_profile_init(&window->profile, config->memory_max_bytes);
	if (r < 0) {
		free(window);
		return r;
	}
	begin(window);
	*ret_window = window;
	return 0;
}

void pp_window_free(struct pp_window *window)
{
	if (!window)
		return;
	pathprof_profile_release(&window->profile);
	free(window);
}

/* Resolves an address of the burst's process. Counts what fails; -errno then. */
static int locate(const struct arrival *arrival, uint64_t address, struct place *ret_place)
{
	struct pp_window *window = arrival->window;
	struct pp_location where;
	uint32_t binary;

	if (window->resolver.resolve(window->resolver.context, (pid_t)arrival->who.pid,
				     arrival->who.time_ns, address, &where) < 0) {
		drop(window, PATHPROF_DROP_UNRESOLVED, 1);
		return -ENOENT;
	}
	binary = pathprof_profile_binary(&window->profile, &where.id, where.name ? where.name : "");
	if (binary == PATHPROF_NO_INDEX)
		return -ENOSPC;
	*ret_place = (struct place){binary, where.offset};
	return 0;
}

static void add_path(const struct arrival *arrival, const struct pathprof_path_seen *path,
		     uint64_t cnt)
{
	struct pathprof_profile *profile = &arrival->window->profile;
	struct place place;

	profile->totals.paths += cnt;
	if (locate(arrival, path->start, &place) < 0)
		return;
	pathprof_profile_add_path(profile, &(struct pathprof_path_count){
						   .process = arrival->process,
						   .binary = place.binary,
						   .start = place.offset,
						   .length = path->length,
						   .outcomes = path->outcomes,
						   .samples = cnt,
						   .weight = path->weight * (double)cnt,
						   .burst = arrival->burst,
					   });
}

static void on_path(void *context, const struct pathprof_path_seen *path)
{
	add_path(context, path, 1);
}

static void add_edge(const struct arrival *arrival, uint64_t from_address, uint64_t to_address,
		     uint64_t cnt, uint64_t mispredicted)
{
	struct place from, to;

	if (locate(arrival, from_address, &from) < 0 || locate(arrival, to_address, &to) < 0)
		return;
	pathprof_profile_add_edge(&arrival->window->profile, &(struct pathprof_edge_count){
								     .process = arrival->process,
								     .from_binary = from.binary,
								     .to_binary = to.binary,
								     .from = from.offset,
								     .to = to.offset,
								     .count = cnt,
								     .mispredicted = mispredicted,
							     });
}

/*
 * Index of the process; PATHPROF_NO_INDEX, with so many branches counted, when it cannot be told
 * who it was.
 */
static uint32_t find_process(struct pp_window *window, const struct pp_counted *who,
			     uint64_t taken_cnt)
{
	const struct pp_track_process *p =
		window->resolver.process(window->resolver.context, (pid_t)who->pid, who->time_ns);
	uint32_t binary = PATHPROF_NO_INDEX;

	/* another start time: the number was given to a new process since */
	if (!p || (who->start_time && p->start_time && who->start_time != p->start_time)) {
		drop(window, PATHPROF_DROP_UNRESOLVED, taken_cnt);
		return PATHPROF_NO_INDEX;
	}
	if (p->exe_id.kind != PATHPROF_ID_NONE)
		binary = pathprof_profile_binary(&window->profile, &p->exe_id, p->exe);
	return pathprof_profile_process(&window->profile, &(struct pathprof_process){
								  .pid = (uint32_t)p->pid,
								  .start_time = p->start_time,
								  .exec_cnt = p->exec_cnt,
								  .comm = (char *)p->comm,
								  .container = (char *)p->container,
								  .binary = binary,
							  });
}

static int is_sound(const struct pathprof_burst *burst)
{
	return burst->version == PATHPROF_ABI_VERSION && burst->end < PATHPROF_END_CNT &&
	       burst->branch_cnt <= PATHPROF_BURST_MAX && burst->taken_cnt <= burst->branch_cnt &&
	       burst->size_bytes ==
		       sizeof(*burst) + burst->branch_cnt * sizeof(struct pathprof_branch);
}

/* The source tells its totals now and then, but each burst at once how long it took. */
static void add_held(struct pp_window *window, uint64_t held_ns)
{
	window->profile.totals.stopped_ns += held_ns;
	window->held_ns += held_ns;
}

static void add_totals(struct pathprof_totals *totals, const struct pathprof_burst *burst)
{
	totals->bursts++;
	totals->branches += burst->branch_cnt;
	totals->taken += burst->taken_cnt;
	totals->steps += burst->step_cnt;
	totals->ends[burst->end]++;
}

void pp_window_add_burst(void *context, const struct pathprof_burst *burst,
			 const struct pathprof_branch *branches)
{
	struct pp_window *window = context;
	struct arrival arrival = {
		.window = window,
		.who = {burst->pid, burst->start_time, burst->time_ns},
	};

	if (!is_sound(burst)) {
		drop(window, PATHPROF_DROP_MALFORMED, 1);
		return;
	}
	window->resolver.dispatch(window->resolver.context);
	add_totals(&window->profile.totals, burst);
	arrival.burst = window->profile.totals.bursts;
	add_held(window, burst->stopped_ns);
	arrival.process = find_process(window, &arrival.who, burst->taken_cnt);
	if (arrival.process == PATHPROF_NO_INDEX)
		return;
	if (pathprof_paths_of_burst(branches, burst->branch_cnt, window->config.mapping, on_path,
				    &arrival) < 0) {
		drop(window, PATHPROF_DROP_MALFORMED, 1);
		return;
	}
	for (uint32_t i = 0; i < burst->branch_cnt; i++)
		if (branches[i].taken)
			add_edge(&arrival, branches[i].from, branches[i].next, 1, 0);
}

/* Counts come by the hundred: who dispatches the tracker is their source, once for all. */
void pp_window_add_path(void *context, const struct pp_counted *who,
			const struct pathprof_path_seen *path, uint64_t cnt)
{
	struct pp_window *window = context;
	struct arrival arrival = {.window = window, .who = *who};

	arrival.process = find_process(window, who, cnt);
	if (arrival.process != PATHPROF_NO_INDEX)
		add_path(&arrival, path, cnt);
}

void pp_window_add_predicted_edge(void *context, const struct pp_counted *who, uint64_t from,
				  uint64_t to, uint64_t cnt, uint64_t mispredicted)
{
	struct pp_window *window = context;
	struct arrival arrival = {.window = window, .who = *who};

	arrival.process = find_process(window, who, cnt);
	if (arrival.process != PATHPROF_NO_INDEX)
		add_edge(&arrival, from, to, cnt, mispredicted);
}

void pp_window_add_edge(void *context, const struct pp_counted *who, uint64_t from, uint64_t to,
			uint64_t cnt)
{
	pp_window_add_predicted_edge(context, who, from, to, cnt, 0);
}

struct pp_source_sink pp_window_source_sink(struct pp_window *window)
{
	return (struct pp_source_sink){window, pp_window_add_burst, pp_window_add_path,
				       pp_window_add_edge};
}

void pp_window_account(struct pp_window *window, const struct pp_source_stats *before,
		       const struct pp_source_stats *now)
{
	struct pathprof_totals *totals = &window->profile.totals;

	if (now->stopped_ns > window->held_ns)
		add_held(window, now->stopped_ns - window->held_ns);
	totals->source_cpu_ns += now->cpu_ns - before->cpu_ns;
	totals->bursts += now->windows - before->windows;
	totals->branches += now->taken - before->taken;
	totals->taken += now->taken - before->taken;
	for (int i = 0; i < PATHPROF_DROP_CNT; i++)
		totals->drops[i] += now->drops[i] - before->drops[i];
}

void pp_window_source_opened(struct pp_window *window)
{
	window->held_ns = 0;
}

void pp_window_set_source(struct pp_window *window, uint32_t source, enum pathprof_basis basis)
{
	window->config.source = source;
	window->config.basis = basis;
	window->profile.source = source;
	window->profile.basis = basis;
}

void pp_window_lost(struct pp_window *window, uint64_t cnt)
{
	drop(window, PATHPROF_DROP_TRACKER_LOST, cnt);
}

void pp_window_set_span(struct pp_window *window, int64_t begin_ns, int64_t end_ns)
{
	window->profile.begin_ns = begin_ns;
	window->end_ns = end_ns;
}

int pp_window_close(struct pp_window *window, const struct pp_window_sink *sink,
		    struct pathprof_error *error)
{
	int r;

	window->profile.end_ns = window->end_ns ? window->end_ns : realtime_ns();
	/* the clock may have been set back meanwhile */
	if (window->profile.end_ns < window->profile.begin_ns)
		window->profile.end_ns = window->profile.begin_ns;
	r = sink->add_window(sink->context, &window->profile, error);
	if (r == 0)
		r = pp_window_store_jit(&window->profile, &window->resolver, sink, error);
	pathprof_profile_clear(&window->profile);
	window->end_ns = 0;
	begin(window);
	return r;
}

void pp_window_set_taken(struct pp_window *window, uint32_t taken_wanted)
{
	window->config.taken_wanted = taken_wanted;
	window->profile.taken_wanted = taken_wanted;
}

const struct pathprof_profile *pp_window_profile(const struct pp_window *window)
{
	return &window->profile;
}
