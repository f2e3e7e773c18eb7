// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Samples to windows: see pathprof/import.h. Counts are kept by process number and image address
 * (pathprof/recorded_spaces.h, pp_import_image.h), and go into a window (pp_import_window.h) when
 * there are many, or it ends.
 */
#include "pathprof/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "pathprof/walk.h"
#include "pp_import_aggregate.h"
#include "pp_import_chain.h"
#include "pp_import_event.h"
#include "pp_import_relay.h"
#include "pp_import_window.h"

#define PROFILE_BYTES (24u << 20)
/* A window is closed before its tables double beyond the bound. */
#define PROFILE_FULL_BYTES (6u << 20)
/* Until they go into the window, whose own tables want the memory. */
#define EDGE_MAX    (PP_IMPORT_EDGE_MAX / 2)
#define PATH_BYTES  64
#define EDGE_BYTES  72
#define RANGE_BYTES 48

struct pathprof_import {
	struct pathprof_import_config config;
	struct pathprof_import_sink sink;
	struct pathprof_recording *recording;
	struct pp_import_relay *relay; /* NULL: the caller's thread does it all */
	struct pp_import_asked asked;
	const struct pathprof_import_files *files;
	struct pp_import_window window;
	struct pp_import_images *images;
	struct pathprof_recorded_spaces *spaces;
	struct pp_import_counts *counts;
	struct pathprof_walker *walker;
	struct pp_import_chain *chain;
	struct pp_import_aggregate *aggregate;    /* of counted formats; else NULL */
	struct pathprof_import_stats stats, told; /* told: the windows before know of them */
	struct pathprof_error error;

	bool begun, mapped;
	uint64_t begin_ns, last_ns; /* the recording's clock; last_ns: the newest so far */
	int64_t offset_ns;          /* to CLOCK_REALTIME */
	uint32_t depth;             /* of the deepest stack of the window */
	struct pp_import_event event;
};

/* ---------------------------------------------------------------- life */

static int make_parts(struct pathprof_import *import, const struct pathprof_import_files *files)
{
	int r = pathprof_profile_init(&import->window.profile, PROFILE_BYTES);

	if (r == 0)
		r = pp_import_images_new(&import->images, files);
	if (r == 0)
		r = pathprof_recorded_spaces_new(&import->spaces);
	if (r == 0)
		r = pp_import_counts_new(&import->counts, EDGE_MAX);
	if (r == 0)
		r = pathprof_walker_new(&import->walker,
					pp_import_images_reconstructor(import->images),
					import->config.mapping);
	import->window.files = files;
	import->window.seed = r == 0 ? import->counts->seed : 0;
	import->window.images = import->images;
	import->window.spaces = import->spaces;
	return r;
}

static void flush_counts(void *context);
static pp_import_path_fn take_path;
static bool runs(void *context, uint64_t start, uint64_t last);

/* A recording without mappings is of one file, which the operator names. */
static int make_only(struct pathprof_import *import, const struct pathprof_import_files *files,
		     struct pathprof_error *error)
{
	const struct pathprof_import_binary *only = &files->binaries[0];
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

int pathprof_import_new(struct pathprof_import **ret_import,
			const struct pathprof_import_config *config,
			const struct pathprof_import_files *files,
			const struct pathprof_import_sink *sink, struct pathprof_error *error)
{
	struct pathprof_import *import = calloc(1, sizeof(*import));
	int r;

	if (!import)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	import->config = *config;
	import->files = files;
	import->sink = *sink;
	import->event = PP_IMPORT_EVENT_INIT;
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
						.path = take_path,
						.runs = runs,
						.context = import,
					},
					config->mapping);
	if (r < 0)
		pathprof_fail(error, r, "out of memory");
	else
		r = make_only(import, files, error);
	if (r < 0) {
		pathprof_import_free(import);
		return r;
	}
	*ret_import = import;
	return 0;
}

void pathprof_import_free(struct pathprof_import *import)
{
	if (!import)
		return;
	pp_import_relay_free(import->relay);
	pathprof_recording_free(import->recording);
	pp_import_aggregate_free(import->aggregate);
	pp_import_chain_free(import->chain);
	pathprof_walker_free(import->walker);
	pp_import_counts_free(import->counts);
	pathprof_recorded_spaces_free(import->spaces);
	pp_import_images_free(import->images);
	pp_import_window_release(&import->window);
	free(import);
}

const struct pathprof_import_stats *pathprof_import_stats(const struct pathprof_import *import)
{
	return &import->stats;
}

bool pathprof_import_file(const struct pathprof_import *import, uint32_t index,
			  struct pathprof_import_file *ret_file)
{
	const struct pp_import_image *image;

	if (index >= pp_import_images_cnt(import->images))
		return false;
	image = pp_import_images_at(import->images, index);
	*ret_file = (struct pathprof_import_file){image->name, &image->id, image->has_code,
						  image->assumed};
	return true;
}

/* ---------------------------------------------------------------- windows */

/* One end alone may lie in a file: the branch came from elsewhere, or went there. */
static void hand_on_edge(struct pathprof_import *import, const struct pp_import_edge *e)
{
	if (e->image.from == PP_IMAGE_NOWHERE && e->image.to == PP_IMAGE_NOWHERE) {
		pp_import_leave_out(&import->stats, PATHPROF_LEDGER_UNMAPPED, e->cnt);
		return;
	}
	pp_import_window_add_edge(&import->window, pp_import_edge_process(e), e->image.from,
				  e->image.to, e->cnt, e->mispredicted);
}

static void take_path(void *context, uint32_t process, const struct pathprof_path_seen *path,
		      uint64_t cnt)
{
	struct pathprof_import *import = context;

	pp_import_window_add_path(&import->window, process, path, cnt);
}

static void hand_on_walked(struct pathprof_import *import, const struct pp_import_sum *w)
{
	struct pathprof_path_seen seen = {.weight = w->weight / (double)w->cnt};

	pathprof_walker_path(import->walker, (uint32_t)w->key, &seen);
	pp_import_window_add_path(&import->window, (uint32_t)(w->key >> 32), &seen, w->cnt);
}

static void hand_on_segment(struct pathprof_import *import, const struct pp_import_sum *s)
{
	struct pathprof_segment_seen seen = {.weight = s->weight / (double)s->cnt};

	pathprof_walker_piece(import->walker, pp_import_segment_first(s->key), &seen.first);
	pathprof_walker_piece(import->walker, pp_import_segment_second(s->key), &seen.second);
	pp_import_window_add_segment(&import->window, pp_import_segment_process(s->key), &seen,
				     s->cnt);
}

/* The range goes by the row of its edge, which is in the window. */
static void hand_on_straight(void *context, const struct pp_import_edge *led,
			     const struct pp_import_edge *left, uint64_t cnt)
{
	struct pathprof_import *import = context;

	if (led->image.to != PP_IMAGE_NOWHERE && left->image.from != PP_IMAGE_NOWHERE)
		pp_import_window_add_range(&import->window, led->image.from, led->image.to,
					   left->image.from, cnt);
}

static void flush_counts(void *context)
{
	struct pathprof_import *import = context;
	struct pp_import_counts *counts = import->counts;

	for (uint32_t i = 1; i <= counts->edge_cnt; i++)
		hand_on_edge(import, &counts->edges[i]);
	for (uint32_t i = 1; i <= counts->walked.cnt; i++)
		hand_on_walked(import, &counts->walked.list[i]);
	for (uint32_t i = 1; i <= counts->segments.cnt; i++)
		hand_on_segment(import, &counts->segments.list[i]);
	import->window.profile.segments_lost += counts->segments_lost;
	pp_import_counts_straight(counts, hand_on_straight, import);
	pp_import_counts_clear(counts);
}

static void keep_nothing(void *context, const struct pathprof_path_seen *path)
{
}

/* Whether code runs on from start to last, tried by the paths of a branch from last to start. */
static bool runs(void *context, uint64_t start, uint64_t last)
{
	const struct pathprof_import *import = context;
	const struct pathprof_taken again[] = {{last, start}, {last, start}};
	uint32_t at;

	return pathprof_reconstruct_paths(pp_import_images_reconstructor(import->images), again, 2,
					  import->config.mapping, keep_nothing, NULL, &at) == 0;
}

static uint64_t sum_refused(const struct pathprof_import_stats *stats)
{
	uint64_t all = 0;

	for (int i = 0; i < PATHPROF_REFUSED_CNT; i++)
		all += stats->refused[i];
	return all;
}

/* The window tells of its stacks as it would of a live source's. */
static void account(struct pathprof_import *import)
{
	const struct pathprof_import_stats *now = &import->stats, *told = &import->told;
	struct pathprof_totals *totals = &import->window.profile.totals;

	totals->bursts += now->stacks - told->stacks;
	totals->branches += now->ledger.used - told->ledger.used;
	totals->taken += now->ledger.used - told->ledger.used;
	totals->drops[PATHPROF_DROP_UNRESOLVED] += now->ledger.left[PATHPROF_LEDGER_UNMAPPED] -
						   told->ledger.left[PATHPROF_LEDGER_UNMAPPED];
	totals->drops[PATHPROF_DROP_REFUSED] += sum_refused(now) - sum_refused(told);
	import->told = *now;
}

/* Times come from outside: a sum beyond 64 bits wraps. */
static int64_t realtime(const struct pathprof_import *import, uint64_t time_ns)
{
	return (int64_t)((uint64_t)import->offset_ns + time_ns);
}

static int close_window(struct pathprof_import *import, uint64_t end_ns)
{
	struct pathprof_profile *profile = &import->window.profile;
	int r;

	flush_counts(import);
	profile->is_ordered = import->stats.windows > import->told.windows;
	account(import);
	profile->source = PATHPROF_SOURCE_IMPORT;
	profile->basis = import->event.basis ?: PATHPROF_BASIS_BRANCHES;
	profile->taken_wanted = import->depth;
	profile->begin_ns = realtime(import, import->begin_ns);
	profile->end_ns = realtime(import, end_ns);
	r = pp_import_window_find_ranges(&import->window);
	if (r == 0)
		r = import->sink.add_window(
			import->sink.context, profile,
			import->window.ranges_lost ? NULL : &import->window.found, &import->error);
	else
		pathprof_fail(&import->error, r, "out of memory");
	pp_import_window_clear(&import->window);
	pathprof_recorded_spaces_expire(import->spaces);
	import->stats.written += r == 0;
	import->depth = 0;
	import->begin_ns = end_ns;
	return r;
}

static bool is_full(const struct pathprof_import *import)
{
	const struct pathprof_profile *p = &import->window.profile;

	return (uint64_t)p->path_cnt * PATH_BYTES + (uint64_t)p->edge_cnt * EDGE_BYTES +
		       (uint64_t)import->window.range_cnt * RANGE_BYTES >
	       PROFILE_FULL_BYTES;
}

/* The end of the window that time_ns is behind, and where the one it lies in begins. */
static int move_on(struct pathprof_import *import, uint64_t time_ns)
{
	uint64_t span = import->config.window_ns ? import->config.window_ns : 1;
	uint64_t next = time_ns - (time_ns - import->begin_ns) % span;
	int r = close_window(import, import->begin_ns + span);

	import->begin_ns = next;
	return r;
}

/* The file was written last when the recording ended. Not all say when their last sample was. */
static int64_t realtime_offset_ns(const struct pathprof_import *import, uint64_t first_ns)
{
	const struct pathprof_recording_info info = pp_import_ask_info(&import->asked);
	uint64_t last_ns = info.last_ns > first_ns ? info.last_ns : first_ns;

	if (info.realtime_offset_ns != INT64_MIN)
		return info.realtime_offset_ns;
	return (int64_t)((uint64_t)import->config.file_time_ns - last_ns);
}

static void begin(struct pathprof_import *import, uint64_t time_ns)
{
	import->begun = true;
	import->begin_ns = import->last_ns = time_ns;
	import->offset_ns = realtime_offset_ns(import, time_ns);
}

/* A sample that comes late is of the window at hand, which may be full all the same. */
static int advance(struct pathprof_import *import, uint64_t time_ns)
{
	int r = 0;

	if (!import->begun)
		begin(import, time_ns);
	if (time_ns < import->last_ns)
		time_ns = import->last_ns;
	if (time_ns - import->begin_ns >= import->config.window_ns)
		r = move_on(import, time_ns);
	else if (is_full(import))
		r = close_window(import, time_ns);
	import->last_ns = time_ns;
	return r;
}

/* ---------------------------------------------------------------- samples */

/* Addresses are those of one file then, as its headers have them. */
static int without_mappings(struct pathprof_import *import)
{
	const struct pathprof_import_binary *only = &import->files->binaries[0];
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

static int on_sample(void *context, const struct pathprof_recorded_sample *sample)
{
	struct pathprof_import *import = context;
	int r = 0;

	import->stats.samples = pp_count_sum(import->stats.samples, pp_import_times(sample));
	if (!sample->branch_cnt) {
		import->stats.bare = pp_count_sum(import->stats.bare, pp_import_times(sample));
		return 0;
	}
	if (!pp_import_event_joins(&import->event, &import->asked, sample->event)) {
		pp_import_event_leave_out(&import->stats, sample);
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
	struct pathprof_import *import = context;

	import->mapped |= mapping->pid != PATHPROF_RECORDED_KERNEL && mapping->executable;
	return pathprof_recorded_spaces_map(import->spaces, mapping, 0) == -ENOMEM ? -ENOMEM : 0;
}

static int on_process(void *context, const struct pathprof_recorded_process *change)
{
	struct pathprof_import *import = context;

	return pathprof_recorded_spaces_change(import->spaces, change) == -ENOMEM ? -ENOMEM : 0;
}

static int on_count(void *context, const struct pathprof_recorded_count *count)
{
	struct pathprof_import *import = context;

	if (!import->aggregate)
		return 0;
	import->stats.counts++;
	return pp_import_aggregate_add(import->aggregate, count, &import->error);
}

struct pathprof_recording_sink pathprof_import_records(struct pathprof_import *import)
{
	return (struct pathprof_recording_sink){import, on_mapping, on_process, on_sample,
						on_count};
}

/* ---------------------------------------------------------------- the end */

static int next_window(void *context)
{
	struct pathprof_import *import = context;

	return is_full(import) ? close_window(import, import->last_ns) : 0;
}

static int hand_on_aggregate(struct pathprof_import *import, struct pathprof_error *error)
{
	uint32_t number;
	int r = pathprof_recorded_spaces_find(import->spaces, 0, &number);

	if (r < 0)
		return pathprof_fail(error, r, "out of memory");
	pathprof_recorded_spaces_at(import->spaces, number)->used = true;
	begin(import, 0);
	r = pp_import_aggregate_finish(import->aggregate,
				       &(struct pp_import_aggregate_sink){
					       .window = &import->window,
					       .stats = &import->stats,
					       .process = number,
					       .mapping = import->config.mapping,
					       .next = next_window,
					       .context = import,
				       },
				       error);
	if (r < 0 && !error->text[0])
		*error = import->error;
	return r;
}

int pathprof_import_finish(struct pathprof_import *import, struct pathprof_error *error)
{
	int r = import->aggregate && import->stats.counts ? hand_on_aggregate(import, error) : 0;

	if (r < 0 || !import->begun)
		return r;
	r = close_window(import, import->last_ns);
	if (r < 0)
		*error = import->error;
	return r;
}

/* ---------------------------------------------------------------- a recording */

/*
 * Only of a perf.data, not packed, whose header says where everything is: in one that was written
 * to a pipe names and build-ids come on the way, and what is known at a sample must not depend on
 * how far another thread has read.
 */
static bool may_read_ahead(const struct pathprof_import *import, int fd)
{
	uint64_t header[2] = {0, 0};

	return import->config.format == PATHPROF_FORMAT_PERF_DATA &&
	       pread(fd, header, sizeof(header), 0) == sizeof(header) &&
	       !memcmp(header, "PERF", 4) && header[1] > sizeof(header);
}

/* In a pipe it comes later, or not at all: code is refused by its own header then. */
static int check_machine(const struct pathprof_import *import, const char *name,
			 struct pathprof_error *error)
{
	struct pathprof_recording_info info = {.arch = NULL};

	pathprof_recording_info(import->recording, &info);
	if (!info.arch || !strcmp(info.arch, "x86_64"))
		return 0;
	return pathprof_fail(error, -EPROTO,
			     "%s: recorded on %s: only paths of x86-64 code are read", name,
			     info.arch);
}

int pathprof_import_open(struct pathprof_import *import, int fd, const char *name,
			 struct pathprof_error *error)
{
	struct pathprof_recording_sink sink = pathprof_import_records(import);
	int r;

	/* Without a second thread it is read by one. */
	if (may_read_ahead(import, fd) && pp_import_relay_new(&import->relay, &sink) == 0)
		sink = pp_import_relay_sink(import->relay);
	r = pathprof_recording_open(&import->recording, import->config.format, fd, name, &sink,
				    error);
	if (r == 0)
		r = check_machine(import, name, error);
	if (r < 0)
		return r;
	import->asked.recording = import->recording;
	import->asked.lock = import->relay ? pp_import_relay_lock(import->relay) : NULL;
	pp_import_chain_set_recording(import->chain, &import->asked);
	return 0;
}

/* r: how reading ended. */
static int end_reading(struct pathprof_import *import, int r, struct pathprof_error *error)
{
	int counted = import->relay ? pp_import_relay_finish(import->relay) : 0, closed;
	struct pathprof_error end = {""};

	r = r < 0 ? r : counted;
	if (r < 0 && import->error.text[0])
		*error = import->error;
	closed = pathprof_import_finish(import, &end);
	if (r == 0 && closed < 0)
		*error = end;
	return r < 0 ? r : closed;
}

int pathprof_import_read(struct pathprof_import *import, struct pathprof_error *error)
{
	int r;

	pp_import_ask_begin(&import->asked);
	r = pathprof_recording_read(import->recording, error);
	pp_import_ask_end(&import->asked);
	return r > 0 ? r : end_reading(import, r, error);
}

const struct pathprof_recording *pathprof_import_recording(const struct pathprof_import *import)
{
	return import->recording;
}
