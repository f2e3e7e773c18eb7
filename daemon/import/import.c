// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples to windows: see import.h. Counts are kept by process number and image address
 * (pathprof/recorded_spaces.h, import_image.h); the window asks for what these mean when it takes
 * them over, by the resolver below, which takes the number for a pid.
 */
#include "import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_aggregate.h"
#include "import_chain.h"
#include "pathprof/walk.h"

#define PROFILE_BYTES (24u << 20)
/* A window is closed before its tables double beyond the bound. */
#define PROFILE_FULL_BYTES (6u << 20)
#define PATH_BYTES         64
#define EDGE_BYTES         72
#define NO_EVENT           UINT32_MAX

struct pp_import {
	struct pp_import_config config;
	struct pp_import_asked asked;
	const struct pp_import_files *files;
	const struct pp_window_sink *sink;
	struct pp_window *window;
	struct pp_import_images *images;
	struct pathprof_recorded_spaces *spaces;
	struct pp_import_counts *counts;
	struct pathprof_walker *walker;
	struct pp_import_chain *chain;
	struct pp_import_aggregate *aggregate; /* of counted formats; else NULL */
	struct pp_import_stats stats, told;    /* told: the windows before know of them */
	struct pp_track_process process;       /* as handed out */
	struct pathprof_error error;

	bool begun, mapped;
	uint64_t begin_ns, last_ns; /* the recording's clock */
	int64_t offset_ns;          /* to CLOCK_REALTIME */
	uint32_t depth;             /* of the deepest stack of the window */
	enum pathprof_basis basis;  /* 0: not known yet */
	uint32_t event;             /* asked about last */
	bool event_fits;
};

/* ---------------------------------------------------------------- what the window asks */

static int dispatch(void *context)
{
	return 0;
}

static const struct pp_track_process *process(void *context, pid_t number, uint64_t time_ns)
{
	struct pp_import *import = context;
	const struct pathprof_recorded_space *p =
		pathprof_recorded_spaces_at(import->spaces, (uint32_t)number);
	struct pp_track_process *known = &import->process;

	*known = (struct pp_track_process){
		.pid = (pid_t)p->pid,
		.start_time = p->start_time,
		.exec_cnt = p->exec_cnt,
		.is_64bit = 1,
	};
	memcpy(known->comm, p->comm, sizeof(known->comm));
	if (p->exe) {
		const char *path = pp_import_files_path(import->files, &p->exe->id);

		strncpy(known->exe, path ? path : p->exe->name, sizeof(known->exe) - 1);
		known->exe_id = p->exe->id;
	}
	return known;
}

static int resolve(void *context, pid_t number, uint64_t time_ns, uint64_t address,
		   struct pp_location *ret_location)
{
	struct pp_import *import = context;
	const struct pp_import_image *image;
	uint64_t offset;
	uint32_t at;
	int r = pp_import_images_place(import->images, address, &at, &offset);

	if (r < 0)
		return r;
	image = pp_import_images_at(import->images, at);
	*ret_location = (struct pp_location){
		.id = image->id,
		.offset = offset,
		/* Where it can be found again, also when it ran elsewhere. */
		.name = pp_import_files_path(import->files, &image->id) ?: image->name,
		.start = address,
		.end = address + 1,
	};
	return 0;
}

static int jit_symbol(void *context, pid_t number, uint64_t address, char *name, size_t name_size,
		      uint64_t *ret_start, uint64_t *ret_len_bytes)
{
	return -ENOENT;
}

/* ---------------------------------------------------------------- life */

static int make_parts(struct pp_import *import, const struct pp_import_files *files)
{
	const struct pp_window_config config = {
		.mapping = import->config.mapping,
		.source = PATHPROF_SOURCE_IMPORT,
		.basis = PATHPROF_BASIS_BRANCHES,
		.memory_max_bytes = PROFILE_BYTES,
	};
	const struct pp_resolver resolver = {import, dispatch, process, resolve, jit_symbol, NULL};
	int r = pp_window_new(&import->window, &config, &resolver);

	if (r == 0)
		r = pp_import_images_new(&import->images, files);
	if (r == 0)
		r = pathprof_recorded_spaces_new(&import->spaces);
	if (r == 0)
		r = pp_import_counts_new(&import->counts);
	if (r == 0)
		r = pathprof_walker_new(&import->walker,
					pp_import_images_reconstructor(import->images),
					import->config.mapping);
	return r;
}

static void flush_counts(void *context);

/* What has no mappings speaks of one file: which, the operator says. */
static int make_only(struct pp_import *import, const struct pp_import_files *files,
		     struct pathprof_error *error)
{
	const struct pp_import_binary *only = &files->binaries[0];
	uint32_t image;
	int r;

	if (pathprof_format_addresses(import->config.format) == PATHPROF_ADDRESS_RUN)
		return 0;
	if (files->binary_cnt != 1)
		return pathprof_fail(error, -EINVAL,
				     "%s: counts of one program: name it by --binary FILE",
				     pathprof_format_name(import->config.format));
	r = pp_import_images_get(import->images, only->path, &only->id, &image);
	if (r == 0)
		r = pp_import_aggregate_new(&import->aggregate, import->config.format, only, error);
	return r;
}

int pp_import_new(struct pp_import **ret_import, const struct pp_import_config *config,
		  const struct pp_import_files *files, const struct pp_window_sink *sink,
		  struct pathprof_error *error)
{
	struct pp_import *import = calloc(1, sizeof(*import));
	int r;

	if (!import)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	import->config = *config;
	import->files = files;
	import->sink = sink;
	import->event = NO_EVENT;
	r = make_parts(import, files);
	if (r == 0)
		r = pp_import_chain_new(&import->chain,
					&(struct pp_import_chain_parts){
						.spaces = import->spaces,
						.images = import->images,
						.counts = import->counts,
						.walker = import->walker,
						.stats = &import->stats,
						.full = flush_counts,
						.context = import,
					},
					config->mapping);
	if (r < 0)
		pathprof_fail(error, r, "out of memory");
	else
		r = make_only(import, files, error);
	if (r < 0) {
		pp_import_free(import);
		return r;
	}
	*ret_import = import;
	return 0;
}

void pp_import_free(struct pp_import *import)
{
	if (!import)
		return;
	pp_import_aggregate_free(import->aggregate);
	pp_import_chain_free(import->chain);
	pathprof_walker_free(import->walker);
	pp_import_counts_free(import->counts);
	pathprof_recorded_spaces_free(import->spaces);
	pp_import_images_free(import->images);
	pp_window_free(import->window);
	free(import);
}

const struct pathprof_error *pp_import_error(const struct pp_import *import)
{
	return &import->error;
}

const struct pp_import_stats *pp_import_stats(const struct pp_import *import)
{
	return &import->stats;
}

bool pp_import_file(const struct pp_import *import, uint32_t index, struct pp_import_file *ret_file)
{
	const struct pp_import_image *image;

	if (index >= pp_import_images_cnt(import->images))
		return false;
	image = pp_import_images_at(import->images, index);
	*ret_file =
		(struct pp_import_file){image->name, &image->id, image->has_code, image->assumed};
	return true;
}

/* ---------------------------------------------------------------- windows */

static void hand_on_edge(struct pp_import *import, const struct pp_import_edge *e)
{
	const struct pp_counted who = {.pid = (uint32_t)(e->who >> 32)};

	/* all of it was taken back */
	if (!e->cnt)
		return;
	pp_window_add_predicted_edge(import->window, &who, e->image.from, e->image.to, e->cnt,
				     e->mispredicted);
}

static void hand_on_path(struct pp_import *import, const struct pp_import_path *p)
{
	const struct pp_counted who = {.pid = p->process};
	const struct pathprof_path_seen seen = {
		.start = p->start,
		.length = p->length,
		.outcomes = p->outcomes,
		.weight = p->weight / (double)p->cnt,
	};

	pp_window_add_path(import->window, &who, &seen, p->cnt);
}

static void hand_on_walked(struct pp_import *import, const struct pp_import_walked *w)
{
	const struct pp_counted who = {.pid = (uint32_t)(w->who >> 32)};
	struct pathprof_path_seen seen = {.weight = w->weight / (double)w->cnt};

	pathprof_walker_path(import->walker, (uint32_t)w->who, &seen);
	pp_window_add_path(import->window, &who, &seen, w->cnt);
}

static void flush_counts(void *context)
{
	struct pp_import *import = context;
	struct pp_import_counts *counts = import->counts;

	for (uint32_t i = 1; i <= counts->edge_cnt; i++)
		hand_on_edge(import, &counts->edges[i]);
	for (uint32_t i = 1; i <= counts->walked_cnt; i++)
		hand_on_walked(import, &counts->walked[i]);
	for (uint32_t i = 0; counts->path_cnt && i < PP_IMPORT_PATH_SLOTS; i++)
		if (counts->paths[i].cnt)
			hand_on_path(import, &counts->paths[i]);
	pp_import_counts_clear(counts);
}

static uint64_t sum(const uint64_t *values, int cnt)
{
	uint64_t all = 0;

	for (int i = 0; i < cnt; i++)
		all += values[i];
	return all;
}

/* The window tells of its stacks as it would of a live source's. */
static void account(struct pp_import *import)
{
	const struct pp_import_stats *now = &import->stats, *told = &import->told;
	struct pp_source_stats before = {.windows = told->stacks, .taken = told->ledger.used};
	struct pp_source_stats after = {.windows = now->stacks, .taken = now->ledger.used};

	before.drops[PATHPROF_DROP_UNRESOLVED] = told->ledger.left[PATHPROF_LEDGER_UNMAPPED];
	after.drops[PATHPROF_DROP_UNRESOLVED] = now->ledger.left[PATHPROF_LEDGER_UNMAPPED];
	before.drops[PATHPROF_DROP_REFUSED] = sum(told->refused, PATHPROF_REFUSED_CNT);
	after.drops[PATHPROF_DROP_REFUSED] = sum(now->refused, PATHPROF_REFUSED_CNT);
	pp_window_account(import->window, &before, &after);
	import->told = *now;
}

static int close_window(struct pp_import *import, uint64_t end_ns)
{
	int r;

	flush_counts(import);
	account(import);
	pp_window_set_taken(import->window, import->depth);
	pp_window_set_span(import->window, import->offset_ns + (int64_t)import->begin_ns,
			   import->offset_ns + (int64_t)end_ns);
	r = pp_window_close(import->window, import->sink, &import->error);
	pathprof_recorded_spaces_expire(import->spaces);
	import->stats.written += r == 0;
	import->depth = 0;
	import->begin_ns = end_ns;
	return r;
}

static bool is_full(const struct pp_import *import)
{
	const struct pathprof_profile *p = pp_window_profile(import->window);

	return (uint64_t)p->path_cnt * PATH_BYTES + (uint64_t)p->edge_cnt * EDGE_BYTES >
	       PROFILE_FULL_BYTES;
}

/* The end of the window that time_ns is behind, and where the one it lies in begins. */
static int move_on(struct pp_import *import, uint64_t time_ns)
{
	uint64_t span = import->config.window_ns ? import->config.window_ns : 1;
	uint64_t next = time_ns - (time_ns - import->begin_ns) % span;
	int r = close_window(import, import->begin_ns + span);

	import->begin_ns = next;
	return r;
}

static void begin(struct pp_import *import, uint64_t time_ns)
{
	int64_t offset_ns = pp_import_ask_realtime_offset(&import->asked);

	import->begun = true;
	import->begin_ns = import->last_ns = time_ns;
	import->offset_ns =
		offset_ns != INT64_MIN ? offset_ns : import->config.file_time_ns - (int64_t)time_ns;
}

static int advance(struct pp_import *import, uint64_t time_ns)
{
	int r = 0;

	if (!import->begun)
		begin(import, time_ns);
	if (time_ns < import->last_ns)
		return 0;
	if (time_ns - import->begin_ns >= import->config.window_ns)
		r = move_on(import, time_ns);
	else if (is_full(import))
		r = close_window(import, time_ns);
	import->last_ns = time_ns;
	return r;
}

/* ---------------------------------------------------------------- samples */

/* The first event with stacks decides what the figures mean; others of its kind may join. */
static bool event_fits(struct pp_import *import, uint32_t event)
{
	enum pathprof_basis basis;

	if (event == import->event)
		return import->event_fits;
	basis = pp_import_ask_basis(&import->asked, event);
	if (!import->basis) {
		import->basis = basis;
		pp_window_set_source(import->window, PATHPROF_SOURCE_IMPORT, basis);
	}
	import->event = event;
	import->event_fits = basis == import->basis;
	return import->event_fits;
}

/* Addresses are those of one file then, as its headers have them. */
static int without_mappings(struct pp_import *import)
{
	const struct pp_import_binary *only = &import->files->binaries[0];
	uint32_t image;
	int r;

	if (import->mapped || import->config.format == PATHPROF_FORMAT_PERF_DATA)
		return 0;
	if (import->files->binary_cnt != 1)
		return pathprof_fail(
			&import->error, -EINVAL,
			"no mappings are recorded: name the program its addresses are "
			"of by --binary FILE, or record again with --show-mmap-events");
	r = pp_import_images_get(import->images, only->path, &only->id, &image);
	if (r == 0)
		pp_import_chain_set_only(import->chain, image);
	return r;
}

/* Of an event whose counts mean something else. */
static void leave_out_sample(struct pp_import *import,
			     const struct pathprof_recorded_sample *sample)
{
	uint64_t branches = (1 + sample->repeats) * sample->branch_cnt;

	import->stats.other += 1 + sample->repeats;
	import->stats.ledger.branches += branches;
	import->stats.ledger.left[PATHPROF_LEDGER_OTHER_EVENT] += branches;
}

static int on_sample(void *context, const struct pathprof_recorded_sample *sample)
{
	struct pp_import *import = context;
	int r = 0;

	import->stats.samples += 1 + sample->repeats;
	if (!sample->branch_cnt) {
		import->stats.bare += 1 + sample->repeats;
		return 0;
	}
	if (!event_fits(import, sample->event)) {
		leave_out_sample(import, sample);
		return 0;
	}
	if (!import->begun)
		r = without_mappings(import);
	if (r == 0)
		r = advance(import, sample->time_ns);
	if (r < 0)
		return r;
	if (sample->branch_cnt > import->depth)
		import->depth = sample->branch_cnt;
	pp_import_chain_stack(import->chain, sample);
	return 0;
}

static int on_mapping(void *context, const struct pathprof_recorded_mapping *mapping)
{
	struct pp_import *import = context;

	import->mapped |= mapping->pid != PATHPROF_RECORDED_KERNEL && mapping->executable;
	return pathprof_recorded_spaces_map(import->spaces, mapping, 0) == -ENOMEM ? -ENOMEM : 0;
}

static int on_process(void *context, const struct pathprof_recorded_process *change)
{
	struct pp_import *import = context;

	return pathprof_recorded_spaces_change(import->spaces, change) == -ENOMEM ? -ENOMEM : 0;
}

static int on_count(void *context, const struct pathprof_recorded_count *count)
{
	struct pp_import *import = context;

	if (!import->aggregate)
		return 0;
	import->stats.counts++;
	return pp_import_aggregate_add(import->aggregate, count, &import->error);
}

struct pathprof_recording_sink pp_import_sink(struct pp_import *import)
{
	return (struct pathprof_recording_sink){import, on_mapping, on_process, on_sample,
						on_count};
}

void pp_import_set_recording(struct pp_import *import, const struct pp_import_asked *asked)
{
	import->asked = *asked;
	pp_import_chain_set_recording(import->chain, asked);
}

/* ---------------------------------------------------------------- the end */

static int next_window(void *context)
{
	struct pp_import *import = context;

	return is_full(import) ? close_window(import, import->last_ns) : 0;
}

static int hand_on_aggregate(struct pp_import *import, struct pathprof_error *error)
{
	uint32_t number;
	int r = pathprof_recorded_spaces_find(import->spaces, 0, &number);

	if (r < 0)
		return pathprof_fail(error, r, "out of memory");
	pathprof_recorded_spaces_at(import->spaces, number)->used = true;
	begin(import, 0);
	r = pp_import_aggregate_finish(import->aggregate,
				       &(struct pp_import_aggregate_sink){
					       .window = import->window,
					       .images = import->images,
					       .stats = &import->stats,
					       .who = {.pid = number},
					       .mapping = import->config.mapping,
					       .next = next_window,
					       .context = import,
				       },
				       error);
	if (r < 0 && !error->text[0])
		*error = import->error;
	return r;
}

int pp_import_finish(struct pp_import *import, struct pathprof_error *error)
{
	int r = import->aggregate && import->stats.counts ? hand_on_aggregate(import, error) : 0;

	if (r < 0 || !import->begun)
		return r;
	r = close_window(import, import->last_ns);
	if (r < 0)
		*error = import->error;
	return r;
}
