// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A check of reconstruction against the truth: windows are cut out of an exact trace at random
 * places, their not-taken branches are removed, and the reconstructor restores them by reading the
 * files that ran. Branches and paths must be the same. With --falsify an entry of each window is
 * spoilt in five ways, and the outcomes are counted.
 *
 * Workload: some 10,000 windows in a trace of any length; two passes over it, one to count. A
 * window that no collector could have seen whole (a signal, a gap) ends there. Files are opened
 * once and must still be those that ran.
 */
#include "lab.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "collect/cutter.h"
#include "pathprof/code.h"
#include "pathprof/reconstruct.h"

enum spoil { SPOIL_FROM, SPOIL_TO, SPOIL_DROPPED, SPOIL_REPEATED, SPOIL_SWAPPED, SPOIL_CNT };

static const char *const spoil_names[SPOIL_CNT] = {"from_plus_1", "to_plus_1", "dropped",
						   "repeated", "swapped"};

struct options {
	const char *trace;
	uint32_t taken, window_cnt;
	uint64_t seed;
	bool falsify;
};

/* A file that ran. code is NULL if it is not available any more. */
struct file {
	const struct pathprof_trace_module_info *module;
	struct pathprof_code *code;
};

struct path_list {
	struct pathprof_path_seen paths[PATHPROF_BURST_MAX + 1];
	size_t cnt;
};

struct spoilt {
	uint64_t tried, refused, same, different;
};

struct windows {
	struct options options;
	const struct pathprof_trace *trace;
	uint32_t process; /* of the stream in hand */
	struct file *files;
	size_t file_cnt;
	struct pathprof_reconstructor *reconstructor;
	struct lab_cutter cutter;
	uint64_t clock, random;

	struct pathprof_taken taken[PATHPROF_BURST_MAX + 1];
	uint32_t taken_cnt;
	struct pathprof_branch result[PATHPROF_BURST_MAX];
	struct path_list exact, read;

	uint64_t window_cnt, short_cnt, branch_cnt, taken_sum, behind_cnt;
	uint64_t same_window_cnt, path_cnt, same_path_cnt;
	uint64_t refused[PATHPROF_REFUSED_CNT];
	struct spoilt spoilt[SPOIL_CNT];
};

/* ---------------------------------------------------------------- files */

static bool is_same_file(const struct pathprof_trace_module_info *a,
			 const struct pathprof_trace_module_info *b)
{
	return strcmp(a->name, b->name) == 0 && pathprof_build_id_equal(&a->build_id, &b->build_id);
}

/* Returns NULL if there is no file, or it is no longer the one that ran. */
static struct pathprof_code *open_module(const struct pathprof_trace_module_info *module)
{
	struct pathprof_code *code;
	struct pathprof_error error;

	if (module->name[0] != '/' || !module->build_id.len_bytes)
		return NULL;
	if (pathprof_code_open(&code, module->name, &module->build_id, &error) == 0)
		return code;
	fprintf(stderr, "# %s\n", error.text);
	return NULL;
}

static struct pathprof_code *code_of(struct windows *w,
				     const struct pathprof_trace_module_info *module)
{
	for (size_t i = 0; i < w->file_cnt; i++)
		if (is_same_file(w->files[i].module, module))
			return w->files[i].code;
	if (pp_resize(&w->files, w->file_cnt + 1) < 0)
		lab_fail("out of memory");
	w->files[w->file_cnt] = (struct file){module, open_module(module)};
	return w->files[w->file_cnt++].code;
}

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct windows *w = context;
	const struct pathprof_trace_module_info *module =
		pathprof_trace_locate(w->trace, w->process, address);
	struct pathprof_code *code = module ? code_of(w, module) : NULL;

	if (!code)
		return -ENOENT;
	*ret_place = (struct pathprof_mapping_place){
		.code = code, .start = module->start, .end = module->end, .offset = module->offset};
	return 0;
}

/* ---------------------------------------------------------------- comparing */

static void keep_path(void *context, const struct pathprof_path_seen *path)
{
	struct path_list *list = context;

	list->paths[list->cnt++] = *path;
}

static void list_paths(struct path_list *list, const struct pathprof_branch *branches, uint32_t cnt)
{
	list->cnt = 0;
	if (pathprof_paths_of_burst(branches, cnt, PATHPROF_MAPPING_BL, keep_path, list) < 0)
		lab_fail("windows: a branch of no known kind");
}

static bool is_same_path(const struct pathprof_path_seen *a, const struct pathprof_path_seen *b)
{
	return a->start == b->start && a->length == b->length && a->outcomes == b->outcomes;
}

/* Counts the paths that are the same at the same place in both lists. */
static size_t count_same(const struct path_list *a, const struct path_list *b)
{
	size_t same = 0;

	for (size_t i = 0; i < a->cnt && i < b->cnt; i++)
		same += is_same_path(&a->paths[i], &b->paths[i]);
	return same;
}

static bool are_same_branches(const struct pathprof_branch *a, const struct pathprof_branch *b,
			      uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (a[i].from != b[i].from || a[i].target != b[i].target ||
		    a[i].next != b[i].next || a[i].kind != b[i].kind || a[i].taken != b[i].taken)
			return false;
	return true;
}

static void compare(struct windows *w, const struct pathprof_branch *branches, uint32_t cnt)
{
	uint32_t read_cnt = 0, at;
	int refusal = pathprof_reconstruct(w->reconstructor, w->taken, w->taken_cnt, w->result,
					   &read_cnt, &at);

	if (refusal) {
		w->refused[refusal]++;
		return;
	}
	list_paths(&w->read, w->result, read_cnt);
	w->same_window_cnt += read_cnt == cnt && are_same_branches(branches, w->result, cnt);
	w->branch_cnt += cnt;
	w->taken_sum += w->taken_cnt;
	/* A path that only one list has counts as different. */
	w->path_cnt += w->exact.cnt > w->read.cnt ? w->exact.cnt : w->read.cnt;
	w->same_path_cnt += count_same(&w->exact, &w->read);
}

/* ---------------------------------------------------------------- spoiling */

/* xorshift64*; the high half is the good one. */
static uint32_t draw(struct windows *w, uint32_t below)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return (uint32_t)(((w->random * 0x2545f4914f6cdd1dULL >> 32) * below) >> 32);
}

static bool swap_two(struct pathprof_taken *taken, uint32_t i)
{
	struct pathprof_taken first = taken[i];

	taken[i] = taken[i + 1];
	taken[i + 1] = first;
	return first.from != taken[i].from || first.to != taken[i].to;
}

/*
 * Spoils w->taken, which has *ret_cnt entries afterwards. Returns false if it is still correct.
 * Neither end is dropped, since the rest would be a sound window.
 */
static bool spoil(struct windows *w, enum spoil how, uint32_t *ret_cnt)
{
	uint32_t cnt = w->taken_cnt;
	uint32_t i = 1 + draw(w, cnt - 2);
	struct pathprof_taken *taken = w->taken;

	*ret_cnt = cnt;
	switch (how) {
	case SPOIL_FROM:
		taken[i].from++;
		return true;
	case SPOIL_TO:
		taken[i].to++;
		return true;
	case SPOIL_DROPPED:
		memmove(&taken[i], &taken[i + 1], (cnt - i - 1) * sizeof(taken[0]));
		*ret_cnt = cnt - 1;
		return true;
	case SPOIL_REPEATED:
		memmove(&taken[i + 1], &taken[i], (cnt - i) * sizeof(taken[0]));
		*ret_cnt = cnt + 1;
		return true;
	default:
		return swap_two(taken, i);
	}
}

static void try_spoilt(struct windows *w, enum spoil how, uint32_t cnt)
{
	struct spoilt *s = &w->spoilt[how];
	uint32_t read_cnt = 0, at;

	s->tried++;
	if (pathprof_reconstruct(w->reconstructor, w->taken, cnt, w->result, &read_cnt, &at)) {
		s->refused++;
		return;
	}
	list_paths(&w->read, w->result, read_cnt);
	if (w->read.cnt == w->exact.cnt && count_same(&w->read, &w->exact) == w->read.cnt)
		s->same++;
	else
		s->different++;
}

static void falsify(struct windows *w)
{
	struct pathprof_taken sound[PATHPROF_BURST_MAX];
	uint32_t cnt;

	if (w->taken_cnt < 3)
		return;
	memcpy(sound, w->taken, w->taken_cnt * sizeof(sound[0]));
	for (int how = 0; how < SPOIL_CNT; how++) {
		if (spoil(w, (enum spoil)how, &cnt))
			try_spoilt(w, (enum spoil)how, cnt);
		memcpy(w->taken, sound, w->taken_cnt * sizeof(sound[0]));
	}
}

/* ---------------------------------------------------------------- windows */

static void strip(struct windows *w, const struct pathprof_branch *branches, uint32_t cnt)
{
	w->taken_cnt = 0;
	for (uint32_t i = 0; i < cnt; i++)
		if (branches[i].taken)
			w->taken[w->taken_cnt++] =
				(struct pathprof_taken){branches[i].from, branches[i].next};
}

/* Hardware would not show the branches after the last taken branch of a torn window. */
static void pass_window(void *context, uint32_t rank, const struct pathprof_branch *branches,
			uint32_t cnt)
{
	struct windows *w = context;
	uint32_t whole = cnt;

	while (cnt && !branches[cnt - 1].taken)
		cnt--;
	strip(w, branches, cnt);
	w->window_cnt++;
	w->short_cnt += w->taken_cnt < w->options.taken;
	w->behind_cnt += whole - cnt;
	list_paths(&w->exact, branches, cnt);
	compare(w, branches, cnt);
	if (w->options.falsify)
		falsify(w);
}

static void count_taken(void *context, const struct pathprof_trace_event *event)
{
	uint64_t *taken_cnt = context;

	*taken_cnt += event->type == PATHPROF_TRACE_EVENT_BRANCH && event->branch.taken;
}

static void feed(void *context, const struct pathprof_trace_event *event)
{
	struct windows *w = context;

	switch (event->type) {
	case PATHPROF_TRACE_EVENT_BRANCH:
		w->clock += event->branch.taken;
		lab_cutter_step(&w->cutter, &event->branch, w->clock);
		break;
	case PATHPROF_TRACE_EVENT_SIGNAL:
	case PATHPROF_TRACE_EVENT_SIGRETURN:
	case PATHPROF_TRACE_EVENT_JUMP:
		lab_cutter_tear(&w->cutter);
		break;
	default:
		break;
	}
}

static void run_stream(struct windows *w, uint32_t stream, uint64_t taken_cnt, size_t window_cnt)
{
	if (!window_cnt)
		return;
	w->clock = 0;
	w->process = pathprof_trace_stream(w->trace, stream)->process;
	pathprof_reconstructor_forget(w->reconstructor);
	lab_cutter_init(&w->cutter, window_cnt, taken_cnt, w->options.taken,
			w->options.seed + stream, pass_window, w);
	lab_trace_stream_each(w->trace, stream, feed, w);
	lab_cutter_tear(&w->cutter);
	lab_cutter_release(&w->cutter);
}

/* Each stream gets its share of the windows, by taken branches. */
static void run_streams(struct windows *w)
{
	uint32_t cnt = pathprof_trace_info(w->trace)->stream_cnt;
	uint64_t *taken = calloc(cnt + 1u, sizeof(*taken)), total = 0, before = 0;

	if (!taken)
		lab_fail("out of memory");
	for (uint32_t i = 0; i < cnt; i++) {
		lab_trace_stream_each(w->trace, i, count_taken, &taken[i]);
		total += taken[i];
	}
	for (uint32_t i = 0; i < cnt; i++) {
		double share = (double)w->options.window_cnt / (double)(total ? total : 1);
		uint64_t upto = (uint64_t)((double)(before + taken[i]) * share + 0.5);

		run_stream(w, i, taken[i], upto - (uint64_t)((double)before * share + 0.5));
		before += taken[i];
	}
	free(taken);
}

/* ---------------------------------------------------------------- printing */

static void print(const char *prefix, const char *name, uint64_t value)
{
	printf("%s", prefix);
	for (; *name; name++)
		putchar(*name == ' ' ? '_' : *name);
	printf(" %" PRIu64 "\n", value);
}

static void print_spoilt(const struct spoilt *s, const char *name)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "%s_", name);
	print(prefix, "tried", s->tried);
	print(prefix, "refused", s->refused);
	print(prefix, "passed_same", s->same);
	print(prefix, "passed_different", s->different);
}

static void print_all(const struct windows *w)
{
	uint64_t refused = 0;

	for (int i = 1; i < PATHPROF_REFUSED_CNT; i++)
		refused += w->refused[i];
	print("", "windows", w->window_cnt);
	print("", "shorter", w->short_cnt);
	print("", "branches_behind", w->behind_cnt);
	print("", "reconstructed", w->window_cnt - refused);
	print("", "same_windows", w->same_window_cnt);
	print("", "branches", w->branch_cnt);
	print("", "taken", w->taken_sum);
	print("", "paths", w->path_cnt);
	print("", "same_paths", w->same_path_cnt);
	print("", "refused", refused);
	for (int i = 1; i < PATHPROF_REFUSED_CNT; i++)
		print("refused_", pathprof_refusal_name((enum pathprof_refusal)i), w->refused[i]);
	for (int i = 0; w->options.falsify && i < SPOIL_CNT; i++)
		print_spoilt(&w->spoilt[i], spoil_names[i]);
}

/* ---------------------------------------------------------------- the command */

static struct options parse(int argc, char **argv)
{
	static const struct option long_options[] = {{"taken", required_argument, NULL, 't'},
						     {"windows", required_argument, NULL, 'w'},
						     {"seed", required_argument, NULL, 's'},
						     {"falsify", no_argument, NULL, 'f'},
						     {0}};
	struct options o = {.taken = 32, .window_cnt = 10000, .seed = 1};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		switch (c) {
		case 't':
			o.taken = (uint32_t)lab_option("--taken", optarg, 1, 512);
			break;
		case 'w':
			o.window_cnt = (uint32_t)lab_option("--windows", optarg, 1, 100000000);
			break;
		case 's':
			o.seed = lab_option("--seed", optarg, 0, UINT32_MAX);
			break;
		case 'f':
			o.falsify = true;
			break;
		default:
			lab_usage("windows: bad option");
		}
	if (argc - optind != 1)
		lab_usage("windows: one trace, please");
	o.trace = argv[optind];
	return o;
}

static void release(struct windows *w)
{
	pathprof_reconstructor_free(w->reconstructor);
	for (size_t i = 0; i < w->file_cnt; i++)
		pathprof_code_free(w->files[i].code);
	free(w->files);
	free(w);
}

int lab_windows_command(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct pathprof_trace *trace = lab_trace_open(options.trace);
	struct windows *w = calloc(1, sizeof(*w));
	bool same;

	if (!w || pathprof_reconstructor_new(&w->reconstructor, locate, w) < 0)
		lab_fail("out of memory");
	w->options = options;
	w->trace = trace;
	w->random = options.seed * 2 + 1;
	run_streams(w);
	print_all(w);
	same = w->same_path_cnt == w->path_cnt;
	release(w);
	pathprof_trace_free(trace);
	lab_finish_output();
	return same ? 0 : 1;
}
