// SPDX-License-Identifier: GPL-2.0-or-later
/* From bursts to a closed window: see window.h. */
#include "window.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "../clock/cpu_clock.h"
#include "../shared/log.h"
#include "owners.h"
#include "weigh.h"
#include "window_jit.h"

/* More bursts than end between two readings of the clock. */
#define HELD_MAX      256
#define TELL_EVERY_NS UINT64_C(10000000000)
#define ASK_EVERY_NS  UINT64_C(100000000)
/* Linux maps nothing below, unless it is told to. */
#define LOWEST_CODE 65536

/* When a burst held its thread. */
struct held {
	uint32_t tid;
	uint64_t begin_ns, end_ns;
};

struct place {
	uint32_t binary; /* index in the profile */
	uint64_t offset;
};

/* The answer for an address, and all addresses [start, end) that lie in one piece with it. */
struct region {
	uint64_t start, end;
	struct place place; /* of start */
};

/* The newest stack, which waits for its burst, and its frames as they are found. */
struct callers {
	pp_window_table_fn *find_table;
	void *tables;
	struct pp_stack_seen stack;
	uint8_t bytes[PP_STACK_MAX_BYTES];
	const struct arrival *arrival; /* while it is unwound */
	bool waits;                    /* for a table */
	uint64_t asked_ns; /* CLOCK_MONOTONIC when all of a stack's files were asked for */
	uint32_t place_cnt;
	struct place places[PATHPROF_UNWIND_FRAMES_MAX];
};

struct pp_window {
	struct pp_window_config config;
	uint32_t earlier_horizon; /* the source may have bursts of it yet */
	struct pp_resolver resolver;
	struct pathprof_profile profile;
	struct pp_weigh *weigh;     /* writes to the profile */
	struct pp_owners *owners;   /* over all windows */
	uint64_t told_ns;           /* CLOCK_MONOTONIC of the last line about one, 0: none */
	uint64_t begun_ns;          /* CLOCK_MONOTONIC when the open window began */
	struct held held[HELD_MAX]; /* the last ones, in a circle */
	uint32_t held_cnt;
	uint64_t known_ns;               /* CLOCK_MONOTONIC of pp_window_begin, 0: from the first */
	struct pathprof_build_id own_id; /* config.own_pid's program, once it was seen */
	struct callers *callers;         /* NULL: not wanted */
	uint64_t held_ns; /* what the windows know of the source's stopped_ns since it was opened */
};

/* A burst or a count on its way into the window. */
struct arrival {
	struct pp_window *window;
	struct pp_counted who;
	uint32_t process;                       /* index in the profile */
	uint64_t burst;                         /* its number in the window, 1 first; 0: a count */
	const struct pathprof_branch *branches; /* of a burst whose callers are known; else NULL */
	uint32_t branch;       /* the next one that calls or returns from `callers` */
	uint32_t path_callers; /* those of the path at hand; 0: not known */
	uint32_t callers;      /* of the code there: a context of the profile; 0: nobody */
	struct region region;  /* of the address that was located last */
};

static void drop(struct pp_window *window, enum pathprof_drop reason, uint64_t cnt)
{
	window->profile.totals.drops[reason] += cnt;
}

static void begin(struct pp_window *window)
{
	struct pathprof_profile *profile = &window->profile;

	profile->begin_ns = pp_realtime_ns();
	profile->end_ns = 0;
	window->begun_ns = pp_monotonic_ns();
	profile->source = window->config.source;
	profile->basis = window->config.basis;
	profile->taken_wanted = window->config.taken_wanted;
	profile->horizon = window->config.horizon;
	profile->clock_hz = window->config.clock_hz;
	profile->clock_kernel = window->config.clock_kernel;
	pp_weigh_begin(window->weigh);
}

int pp_window_new(struct pp_window **ret_window, const struct pp_window_config *config,
		  const struct pp_resolver *resolver)
{
	struct pp_window *window = calloc(1, sizeof(*window));
	int r;

	if (!window)
		return -ENOMEM;
	window->config = *config;
	window->earlier_horizon = config->horizon;
	window->resolver = *resolver;
	r = pp_owners_new(&window->owners);
	if (r == 0)
		r = pp_weigh_new(&window->weigh, &window->profile);
	if (r == 0)
		r = pathprof_profile_init(&window->profile, config->memory_max_bytes);
	if (r < 0) {
		pp_weigh_free(window->weigh);
		pp_owners_free(window->owners);
		free(window);
		return r;
	}
	begin(window);
	*ret_window = window;
	return 0;
}

void pp_window_begin(struct pp_window *window)
{
	begin(window);
	window->known_ns = window->begun_ns;
}

void pp_window_free(struct pp_window *window)
{
	if (!window)
		return;
	pathprof_profile_release(&window->profile);
	pp_weigh_free(window->weigh);
	pp_owners_free(window->owners);
	free(window->callers);
	free(window);
}

/* One line in ten seconds at most; what has to wait is told when its file is counted again. */
static bool may_tell(const struct pp_window *window, const struct pathprof_file *file)
{
	/* a file of which nothing is known, for its program has ended, may well be the same */
	if (file->owner == PATHPROF_OWNER_UNKNOWN && !file->inode)
		return false;
	return !window->told_ns || pp_monotonic_ns() - window->told_ns >= TELL_EVERY_NS;
}

/* The line has no names of files, which anybody can choose: `pathprofctl binaries` shows them. */
static void tell_other_file(struct pp_window *window, const struct pathprof_build_id *id,
			    const struct pathprof_file *file, uint32_t owner)
{
	char hex[PATHPROF_BUILD_ID_TEXT_LEN], whose[32] = "a user who is not known";

	window->told_ns = pp_monotonic_ns();
	if (file->owner != PATHPROF_OWNER_UNKNOWN)
		snprintf(whose, sizeof(whose), "user %u", file->owner);
	pp_log(LOG_WARNING,
	       "build-id %s belongs to a file of user %u, and a file of %s has the same one (inode "
	       "%llu on device %u:%u): that file is counted as a binary of its own. Nothing is "
	       "to be done if it is a copy; else somebody forged it: `pathprofctl binaries` shows "
	       "both",
	       pathprof_build_id_text(id, hex), owner, whose, (unsigned long long)file->inode,
	       major(file->device), minor(file->device));
}

/* Code of no file has no owner. */
static bool is_of_file(const struct pathprof_file *from)
{
	return from->inode || from->owner == PATHPROF_OWNER_UNKNOWN;
}

/* The index of what is counted for code with this build-id in this file. */
static uint32_t binary_of(struct pp_window *window, const struct pathprof_build_id *id,
			  const struct pathprof_file *from, const char *name)
{
	struct pathprof_file file = *from;
	struct pathprof_build_id own;
	uint32_t binary, owner;

	if (!is_of_file(from))
		return pathprof_profile_binary(&window->profile, id, name);
	if (file.owner == PATHPROF_OWNER_UNKNOWN)
		file.owner = window->config.unknown_owner;
	if (pp_owners_judge(window->owners, id, &file, may_tell(window, &file), &own, &owner))
		tell_other_file(window, id, &file, owner);
	binary = pathprof_profile_binary(&window->profile, &own, name);
	if (binary != PATHPROF_NO_INDEX)
		pathprof_profile_add_file(&window->profile, binary, &file);
	return binary;
}

/*
 * Resolves an address of the burst's process; -errno. Most addresses of a burst lie where the one
 * before did.
 */
static int find_place(struct arrival *arrival, uint64_t address, struct place *ret_place)
{
	struct pp_window *window = arrival->window;
	struct region *known = &arrival->region;
	struct pp_location where;
	uint32_t binary;

	if (address >= known->start && address < known->end) {
		*ret_place = (struct place){known->place.binary,
					    known->place.offset + (address - known->start)};
		return 0;
	}
	if (window->resolver.resolve(window->resolver.context, (pid_t)arrival->who.pid,
				     arrival->who.time_ns, address, &where) < 0)
		return -ENOENT;
	binary = binary_of(window, &where.id, &where.from, where.name ? where.name : "");
	if (binary == PATHPROF_NO_INDEX)
		return -ENOSPC;
	*ret_place = (struct place){binary, where.offset};
	*known = (struct region){
		where.start, where.end, {binary, where.offset - (address - where.start)}};
	return 0;
}

/* Counts what is in no mapping. */
static int locate(struct arrival *arrival, uint64_t address, struct place *ret_place)
{
	int r = find_place(arrival, address, ret_place);

	if (r == -ENOENT)
		drop(arrival->window, PATHPROF_DROP_UNRESOLVED, 1);
	return r;
}

/*
 * Bursts that a clock starts and that reach a number of instructions, where the clock has counted
 * all time. Sources that count in the kernel hand over sums, of which no burst can be weighed.
 */
static bool is_weighed(const struct pp_window_config *config)
{
	return config->source == PATHPROF_SOURCE_STEP && config->basis == PATHPROF_BASIS_TIME &&
	       config->horizon && config->clock_hz;
}

/* ---- callers */

/* The function at an address of the burst's process: where it begins, if a table tells. */
static int find_function(const struct arrival *arrival, uint64_t address, struct place *ret_place,
			 struct pathprof_unwind_place *ret_rules)
{
	struct pp_window *window = arrival->window;
	struct callers *callers = window->callers;
	const struct pathprof_unwind_table *table = NULL;
	const struct pathprof_unwind_row *row;
	struct pp_location where;
	int r;

	if (window->resolver.resolve(window->resolver.context, (pid_t)arrival->who.pid,
				     arrival->who.time_ns, address, &where) < 0)
		return -ENOENT;
	r = callers->find_table(callers->tables, (pid_t)arrival->who.pid, &where, &table);
	callers->waits |= r == -EAGAIN;
	row = table ? pathprof_unwind_table_find(table, where.offset) : NULL;
	ret_place->offset = row ? row->function : where.offset;
	ret_place->binary = binary_of(window, &where.id, &where.from, where.name ? where.name : "");
	*ret_rules = (struct pathprof_unwind_place){table, where.offset};
	return ret_place->binary == PATHPROF_NO_INDEX ? -ENOENT : 0;
}

/* For pathprof_unwind(): asked once a frame. */
static int on_frame(void *context, uint64_t address, struct pathprof_unwind_place *ret_place)
{
	struct callers *callers = context;
	int r;

	if (callers->place_cnt == PATHPROF_UNWIND_FRAMES_MAX)
		return -ENOENT;
	r = find_function(callers->arrival, address, &callers->places[callers->place_cnt],
			  ret_place);
	callers->place_cnt += r == 0;
	return r;
}

/*
 * A chain that waits for a table would wait for one after the other: asks for those of all files
 * that some word of the stack points into. Not often: it takes a millisecond.
 */
static void ask_for_all(const struct arrival *arrival)
{
	struct callers *callers = arrival->window->callers;
	const struct pathprof_unwind_state *state = &callers->stack.state;
	const struct pp_resolver *resolver = &arrival->window->resolver;
	const struct pathprof_unwind_table *table;
	uint64_t now_ns = pp_monotonic_ns(), word, start = 0, end = 0;
	struct pp_location where;

	if (callers->asked_ns && now_ns - callers->asked_ns < ASK_EVERY_NS)
		return;
	callers->asked_ns = now_ns;
	for (size_t at = 0; at + sizeof(word) <= state->stack_bytes; at += sizeof(word)) {
		memcpy(&word, callers->bytes + at, sizeof(word));
		if (word < LOWEST_CODE || (word >= start && word < end) ||
		    resolver->resolve(resolver->context, (pid_t)arrival->who.pid,
				      arrival->who.time_ns, word, &where) < 0)
			continue;
		start = where.start;
		end = where.end;
		(void)callers->find_table(callers->tables, (pid_t)arrival->who.pid, &where, &table);
	}
}

/* False: the stack is not this burst's, or a table is still to come. */
static bool find_callers(struct arrival *arrival, const struct pathprof_burst *burst)
{
	struct pathprof_profile *profile = &arrival->window->profile;
	struct callers *callers = arrival->window->callers;
	struct pathprof_unwind_chain chain;

	if (!callers || callers->stack.tid != burst->tid || callers->stack.pid != burst->pid ||
	    callers->stack.time_ns != burst->time_ns)
		return false;
	callers->arrival = arrival;
	callers->waits = false;
	callers->place_cnt = 0;
	pathprof_unwind(&callers->stack.state, on_frame, callers, &chain);
	callers->stack.tid = 0;
	if (callers->waits)
		ask_for_all(arrival);
	if (callers->waits || !callers->place_cnt)
		return false;
	if (chain.end != PATHPROF_UNWIND_END_FIRST)
		arrival->callers = pathprof_profile_context(profile, 0, PATHPROF_NO_INDEX, 0);
	for (uint32_t i = callers->place_cnt; i-- > 1;)
		arrival->callers = pathprof_profile_context(profile, arrival->callers,
							    callers->places[i].binary,
							    callers->places[i].offset);
	return true;
}

/* Goes on to a branch of the burst: a call adds a caller, a return takes one away. */
static void follow_calls(struct arrival *arrival, uint32_t until)
{
	struct pathprof_profile *profile = &arrival->window->profile;

	for (; arrival->branches && arrival->branch < until; arrival->branch++) {
		const struct pathprof_branch *branch = &arrival->branches[arrival->branch];
		struct pathprof_unwind_place rules;
		struct place place;

		if (branch->kind == PERF_BR_CALL || branch->kind == PERF_BR_IND_CALL) {
			if (find_function(arrival, branch->from, &place, &rules) < 0)
				arrival->branches = NULL;
			else
				arrival->callers = pathprof_profile_context(
					profile, arrival->callers, place.binary, place.offset);
		} else if (branch->kind == PERF_BR_RET) {
			if (arrival->callers)
				arrival->callers = profile->contexts[arrival->callers].parent;
			else
				arrival->branches = NULL;
		}
	}
}

static uint32_t callers_at(struct arrival *arrival, uint32_t branch)
{
	follow_calls(arrival, branch);
	return arrival->branches ? arrival->callers : 0;
}

int pp_window_want_callers(struct pp_window *window, pp_window_table_fn *find_table, void *context)
{
	struct callers *callers = calloc(1, sizeof(*callers));

	if (!callers)
		return -ENOMEM;
	callers->find_table = find_table;
	callers->tables = context;
	free(window->callers);
	window->callers = callers;
	return 0;
}

void pp_window_add_stack(void *context, const struct pp_stack_seen *stack)
{
	struct callers *callers = ((struct pp_window *)context)->callers;

	if (!callers || stack->state.stack_bytes > sizeof(callers->bytes))
		return;
	callers->stack = *stack;
	memcpy(callers->bytes, stack->state.stack, stack->state.stack_bytes);
	callers->stack.state.stack = callers->bytes;
}

/* ---- paths, segments and edges */

static void add_path(struct arrival *arrival, const struct pathprof_path_seen *path, uint64_t cnt)
{
	struct pp_window *window = arrival->window;
	double weight = path->weight * (double)cnt;
	struct pathprof_path_count add = {
		.process = arrival->process,
		.length = path->length,
		.outcomes = path->outcomes,
		.samples = cnt,
		.weight = weight,
		.insns = weight * path->insns,
		.burst = arrival->burst,
	};
	struct place place;

	window->profile.totals.paths += cnt;
	if (locate(arrival, path->start, &place) < 0)
		return;
	add.binary = place.binary;
	add.start = place.offset;
	if (is_weighed(&window->config))
		pp_weigh_add_path(window->weigh, &add, path->span, arrival->path_callers);
	else
		pathprof_profile_add_called_path(&window->profile, &add, arrival->path_callers);
}

static void on_path(void *context, const struct pathprof_path_seen *path)
{
	struct arrival *arrival = context;

	arrival->path_callers = callers_at(arrival, path->last);
	add_path(arrival, path, 1);
}

/* A branch of a segment without a place is counted as unresolved by its edge. */
static void on_segment(void *context, const struct pathprof_segment_seen *segment)
{
	struct arrival *arrival = context;
	struct pp_window *window = arrival->window;
	struct pathprof_segment_count add = {
		.first = {.length = segment->first.length, .outcomes = segment->first.outcomes},
		.second = {.process = arrival->process,
			   .length = segment->second.length,
			   .outcomes = segment->second.outcomes,
			   .samples = 1,
			   .weight = segment->weight,
			   .burst = arrival->burst},
	};
	struct place first, second;

	if (find_place(arrival, segment->first.start, &first) < 0 ||
	    find_place(arrival, segment->second.start, &second) < 0)
		return;
	add.first.binary = first.binary;
	add.first.start = first.offset;
	add.second.binary = second.binary;
	add.second.start = second.offset;
	if (is_weighed(&window->config))
		pp_weigh_add_segment(window->weigh, &add, segment->span);
	else
		pathprof_profile_add_segment(&window->profile, &add);
}

static void add_edge(struct arrival *arrival, uint64_t from_address, uint64_t to_address,
		     uint64_t cnt)
{
	struct pp_window *window = arrival->window;
	struct pathprof_edge_count add = {.process = arrival->process, .count = cnt};
	struct place from, to;

	if (locate(arrival, from_address, &from) < 0 || locate(arrival, to_address, &to) < 0)
		return;
	add.from_binary = from.binary;
	add.to_binary = to.binary;
	add.from = from.offset;
	add.to = to.offset;
	if (is_weighed(&window->config))
		pp_weigh_add_edge(window->weigh, &add);
	else
		pathprof_profile_add_edge(&window->profile, &add);
}

/* Users look for their programs' work; status tells how much the daemon's is. */
static bool is_own(struct pp_window *window, const struct pp_track_process *p)
{
	if (!window->config.own_pid)
		return false;
	return p->pid == window->config.own_pid ||
	       (p->exe_id.kind != PATHPROF_ID_NONE &&
		pathprof_build_id_equal(&p->exe_id, &window->own_id));
}

/* Before any other process is asked for: what that returns lasts until the next question. */
static void find_own(struct pp_window *window, uint64_t time_ns)
{
	const struct pp_track_process *own;

	if (!window->config.own_pid || window->own_id.kind != PATHPROF_ID_NONE)
		return;
	own = window->resolver.process(window->resolver.context, window->config.own_pid, time_ns);
	if (own)
		window->own_id = own->exe_id;
}

/*
 * Index of the process; PATHPROF_NO_INDEX, with so many branches counted, when it cannot be told
 * who it was.
 */
static uint32_t find_process(struct pp_window *window, const struct pp_counted *who,
			     uint64_t taken_cnt)
{
	const struct pp_track_process *p;
	uint32_t binary = PATHPROF_NO_INDEX;

	if (who->time_ns && who->time_ns < window->known_ns)
		return PATHPROF_NO_INDEX;
	find_own(window, who->time_ns);
	p = window->resolver.process(window->resolver.context, (pid_t)who->pid, who->time_ns);
	/* another start time: the number was given to a new process since */
	if (!p || (who->start_time && p->start_time && who->start_time != p->start_time)) {
		drop(window, PATHPROF_DROP_UNRESOLVED, taken_cnt);
		return PATHPROF_NO_INDEX;
	}
	if (is_own(window, p)) {
		drop(window, PATHPROF_DROP_OWN, taken_cnt);
		return PATHPROF_NO_INDEX;
	}
	if (p->exe_id.kind != PATHPROF_ID_NONE)
		binary = binary_of(window, &p->exe_id, &p->exe_from, p->exe);
	return pathprof_profile_process(&window->profile, &(struct pathprof_process){
								  .pid = (uint32_t)p->pid,
								  .start_time = p->start_time,
								  .exec_cnt = p->exec_cnt,
								  .comm = (char *)p->comm,
								  .container = (char *)p->container,
								  .binary = binary,
							  });
}

static int is_sound(const struct pp_window *window, const struct pathprof_burst *burst)
{
	return burst->version == PATHPROF_ABI_VERSION && burst->end < PATHPROF_END_CNT &&
	       (burst->horizon == window->config.horizon ||
		burst->horizon == window->earlier_horizon) &&
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

static void remember_held(struct pp_window *window, const struct pathprof_burst *burst)
{
	window->held[window->held_cnt++ % HELD_MAX] =
		(struct held){burst->tid, burst->time_ns, burst->time_ns + burst->stopped_ns};
}

/*
 * The source was at it when another length was set. One window holds bursts of one length, but its
 * thread was held all the same.
 */
static void add_late(struct pp_window *window, const struct pathprof_burst *burst)
{
	drop(window, PATHPROF_DROP_BUSY, 1);
	add_held(window, burst->stopped_ns);
	remember_held(window, burst);
}

static void add_totals(struct pathprof_totals *totals, const struct pathprof_burst *burst)
{
	totals->bursts++;
	totals->branches += burst->branch_cnt;
	totals->taken += burst->taken_cnt;
	totals->steps += burst->step_cnt;
	totals->insns += burst->insn_cnt;
	totals->ends[burst->end]++;
}

static int resolve_clock(const struct arrival *arrival, uint64_t address, bool kernel,
			 struct pp_location *ret_where)
{
	const struct pp_resolver *resolver = &arrival->window->resolver;

	if (!kernel)
		return resolver->resolve(resolver->context, (pid_t)arrival->who.pid,
					 arrival->who.time_ns, address, ret_where);
	if (!resolver->resolve_kernel)
		return -ENOENT;
	return resolver->resolve_kernel(resolver->context, address, ret_where);
}

/*
 * The file place of the address; without a file what is known of it. An address that cannot be
 * resolved is not dropped: its process had this time, wherever it spent it.
 */
static void add_clock(const struct arrival *arrival, uint64_t address, bool kernel)
{
	struct pp_window *window = arrival->window;
	struct pathprof_clock_count clock = {
		.process = arrival->process,
		.binary = PATHPROF_NO_INDEX,
		.place = kernel ? PATHPROF_PLACE_KERNEL : PATHPROF_PLACE_UNKNOWN,
		.samples = 1,
	};
	struct pp_location where;

	if (resolve_clock(arrival, address, kernel, &where) == 0)
		clock.binary =
			binary_of(window, &where.id, &where.from, where.name ? where.name : "");
	if (clock.binary != PATHPROF_NO_INDEX)
		clock.place = where.offset;
	pathprof_profile_add_clock(&window->profile, &clock);
}

static bool was_held(const struct pp_window *window, const struct pp_cpu_sample *sample)
{
	for (uint32_t i = 0; i < HELD_MAX; i++) {
		const struct held *held = &window->held[i];

		if (held->tid == (uint32_t)sample->tid && sample->time_ns >= held->begin_ns &&
		    sample->time_ns < held->end_ns)
			return true;
	}
	return false;
}

void pp_window_add_clock(void *context, const struct pp_cpu_sample *sample)
{
	struct pp_window *window = context;
	struct arrival arrival = {
		.window = window,
		.who = {.pid = (uint32_t)sample->pid, .time_ns = sample->time_ns},
	};

	if (was_held(window, sample))
		return;
	arrival.process = find_process(window, &arrival.who, 1);
	if (arrival.process == PATHPROF_NO_INDEX)
		return;
	add_clock(&arrival, sample->address, sample->kernel);
	if (!sample->kernel)
		pp_weigh_add_clock(window->weigh, arrival.process);
}

void pp_window_clock_lost(struct pp_window *window, uint64_t cnt)
{
	drop(window, PATHPROF_DROP_QUEUE_FULL, cnt);
}

/* Without a clock the start of a burst is a sample of the source's own. */
static bool starts_are_samples(const struct pp_window *window)
{
	return !window->config.clock_hz && window->config.basis == PATHPROF_BASIS_TIME;
}

static void add_branches(struct arrival *arrival, const struct pathprof_burst *burst,
			 const struct pathprof_branch *branches)
{
	struct pp_window *window = arrival->window;
	int paths = pathprof_paths_of_window(branches, burst->branch_cnt, burst->horizon,
					     window->config.mapping, on_path, arrival);

	if (paths < 0) {
		drop(window, PATHPROF_DROP_MALFORMED, 1);
		return;
	}
	window->profile.totals.pathless += !paths;
	if (!window->config.without_segments) {
		window->profile.is_ordered = true;
		pathprof_segments_of_window(branches, burst->branch_cnt, burst->horizon, on_segment,
					    arrival);
	}
	for (uint32_t i = 0; i < burst->branch_cnt; i++)
		if (branches[i].taken)
			add_edge(arrival, branches[i].from, branches[i].next, 1);
}

void pp_window_add_burst(void *context, const struct pathprof_burst *burst,
			 const struct pathprof_branch *branches)
{
	struct pp_window *window = context;
	struct arrival arrival = {
		.window = window,
		.who = {burst->pid, burst->start_time, burst->time_ns},
	};

	if (!is_sound(window, burst)) {
		drop(window, PATHPROF_DROP_MALFORMED, 1);
		return;
	}
	if (burst->horizon != window->config.horizon) {
		add_late(window, burst);
		return;
	}
	window->resolver.dispatch(window->resolver.context);
	add_totals(&window->profile.totals, burst);
	arrival.burst = window->profile.totals.bursts;
	add_held(window, burst->stopped_ns);
	remember_held(window, burst);
	arrival.process = find_process(window, &arrival.who, burst->taken_cnt);
	if (arrival.process == PATHPROF_NO_INDEX)
		return;
	if (starts_are_samples(window))
		add_clock(&arrival, burst->start, false);
	if (is_weighed(&window->config)) {
		pp_weigh_tick(window->weigh, pp_monotonic_ns());
		if (!pp_weigh_add_burst(window->weigh, arrival.process, burst))
			return;
	}
	if (find_callers(&arrival, burst))
		arrival.branches = branches;
	add_branches(&arrival, burst, branches);
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

void pp_window_add_edge(void *context, const struct pp_counted *who, uint64_t from, uint64_t to,
			uint64_t cnt)
{
	struct pp_window *window = context;
	struct arrival arrival = {.window = window, .who = *who};

	arrival.process = find_process(window, who, cnt);
	if (arrival.process != PATHPROF_NO_INDEX)
		add_edge(&arrival, from, to, cnt);
}

struct pp_source_sink pp_window_source_sink(struct pp_window *window)
{
	return (struct pp_source_sink){window, pp_window_add_burst, pp_window_add_path,
				       pp_window_add_edge, pp_window_add_stack};
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

int pp_window_close(struct pp_window *window, const struct pp_window_sink *sink,
		    struct pathprof_error *error)
{
	int r;

	/* by the beginning and the length, for the clock may have been set meanwhile */
	window->profile.end_ns =
		window->profile.begin_ns + (int64_t)(pp_monotonic_ns() - window->begun_ns);
	window->profile.weighed = is_weighed(&window->config);
	if (window->profile.weighed)
		pp_weigh_close(window->weigh);
	r = sink->add_window(sink->context, &window->profile, error);
	if (r == 0)
		r = pp_window_store_jit(&window->profile, &window->resolver, sink, error);
	pathprof_profile_clear(&window->profile);
	begin(window);
	return r;
}

void pp_window_set_taken(struct pp_window *window, uint32_t taken_wanted)
{
	window->config.taken_wanted = taken_wanted;
	window->profile.taken_wanted = taken_wanted;
}

void pp_window_set_horizon(struct pp_window *window, uint32_t horizon)
{
	if (horizon != window->config.horizon)
		window->earlier_horizon = window->config.horizon;
	window->config.horizon = horizon;
	window->profile.horizon = horizon;
}

void pp_window_set_clock(struct pp_window *window, uint32_t hz, bool kernel)
{
	window->config.clock_hz = hz;
	window->config.clock_kernel = kernel;
	window->profile.clock_hz = hz;
	window->profile.clock_kernel = kernel;
}

const struct pathprof_profile *pp_window_profile(const struct pp_window *window)
{
	return &window->profile;
}
