// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of segments as the daemon reads them, against whole windows of programs whose every
 * instruction is known (oracle_program.h). The test plays the module: it cuts windows of taken
 * branches into segments, names them, defines and counts them; the oracle takes the same windows
 * with all their branches to pathprof_paths_of_burst, a segment at a time.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/chain/chain_counts.h"
#include "../one_segment.h"
#include "oracle_program.h"

#define CPU        1
#define CPU_CNT    2
#define CONTEXT    7
#define SHORT      5
#define TAKEN      32
#define LIST_MAX   8192
#define STREAM     400000
#define TAG(a)     ((a) | (uint64_t)CONTEXT << 48)
#define START_TIME 4711

/* ---------------------------------------------------------------- the world */

static struct {
	struct pathprof_build_id id;
	char path[512];
	uint64_t byte_cnt;
	uint32_t change_cnt;
	bool gone;
} world;

static int fake_dispatch(void *context)
{
	return 0;
}

static const struct pp_track_process *fake_process(void *context, pid_t pid, uint64_t time_ns)
{
	static struct pp_track_process p;

	p = (struct pp_track_process){
		.pid = pid, .start_time = START_TIME, .change_cnt = world.change_cnt};
	return world.gone ? NULL : &p;
}

static int fake_resolve(void *context, pid_t pid, uint64_t time_ns, uint64_t address,
			struct pp_location *ret_location)
{
	const uint64_t base = ORACLE_PROGRAM_BASE;

	if (address < base || address >= base + world.byte_cnt)
		return -ENOENT;
	*ret_location = (struct pp_location){.id = world.id,
					     .offset = ORACLE_FILE_OFFSET + (address - base),
					     .name = world.path,
					     .start = base,
					     .end = base + world.byte_cnt};
	return 0;
}

static const struct pp_resolver resolver = {NULL,         fake_dispatch, fake_process,
					    fake_resolve, NULL,          NULL};

/* ---------------------------------------------------------------- lists of paths */

struct entry {
	uint64_t start;
	uint32_t length, outcomes;
	uint64_t cnt;
	double weight;
};

struct list {
	struct entry entries[LIST_MAX];
	uint32_t cnt;
};

static void add(struct list *list, uint64_t start, uint32_t length, uint32_t outcomes, uint64_t cnt,
		double weight)
{
	uint32_t i = 0;

	while (i < list->cnt &&
	       !(list->entries[i].start == start && list->entries[i].length == length &&
		 list->entries[i].outcomes == outcomes))
		i++;
	if (i == LIST_MAX)
		abort();
	if (i == list->cnt)
		list->entries[list->cnt++] = (struct entry){start, length, outcomes, 0, 0};
	list->entries[i].cnt += cnt;
	list->entries[i].weight += weight;
}

static double total(const struct list *list)
{
	double sum = 0;

	for (uint32_t i = 0; i < list->cnt; i++)
		sum += list->entries[i].weight;
	return sum;
}

static const struct entry *find(const struct list *list, const struct entry *e)
{
	for (uint32_t i = 0; i < list->cnt; i++)
		if (list->entries[i].start == e->start && list->entries[i].length == e->length &&
		    list->entries[i].outcomes == e->outcomes)
			return &list->entries[i];
	return NULL;
}

static bool same(const struct list *a, const struct list *b)
{
	for (uint32_t i = 0; i < a->cnt; i++) {
		const struct entry *e = &a->entries[i], *other = find(b, e);

		if (!other || other->cnt != e->cnt || other->weight > e->weight + 1e-6 ||
		    other->weight < e->weight - 1e-6)
			return false;
	}
	return a->cnt == b->cnt;
}

static double overlap(const struct list *a, const struct list *b)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->cnt; i++) {
		const struct entry *other = find(b, &a->entries[i]);
		double x = a->entries[i].weight / total(a);
		double y = other ? other->weight / total(b) : 0;

		sum += x < y ? x : y;
	}
	return sum;
}

/* ---------------------------------------------------------------- the module, played */

static bool bounds(const struct pathprof_branch *b)
{
	return b->kind == PERF_BR_CALL || b->kind == PERF_BR_IND_CALL || b->kind == PERF_BR_RET ||
	       b->kind == PERF_BR_IND || b->next <= b->from;
}

/* Any name will do that is the same for the same branches. */
static uint64_t desc_of(const struct pathprof_lbr_entry *entries, uint32_t cnt)
{
	uint64_t hash = 14695981039346656037u;

	for (uint32_t i = 0; i < cnt; i++)
		hash = ((hash ^ entries[i].from) * 1099511628211u ^ entries[i].to) * 1099511628211u;
	return (hash & ~(UINT64_C(63) << 32)) | (uint64_t)cnt << 32;
}

/* Made-up programs soon run in circles: these are some with segments of one and of two branches. */
static const struct program {
	uint32_t transfers;
	uint64_t seed;
} programs[] = {{2, 10}, {2, 15}, {2, 17}, {6, 2}, {6, 11}, {6, 20}, {10, 29}, {4, 3}, {4, 11}};

struct scene {
	struct oracle_program program;
	struct pp_rebuild *rebuild;
	struct pp_chain_counts *counts;
	struct list got, naive;
	uint64_t edges;
	uint32_t depth; /* taken branches of a window */
	bool lies;      /* the module says of every segment that its last branch led elsewhere */
	struct pathprof_branch stream[STREAM];
	uint32_t stream_cnt;
};

static struct scene *scene;

static void on_path(void *context, const struct pp_counted *who,
		    const struct pathprof_path_seen *path, uint64_t cnt)
{
	CU_ASSERT(who->pid == (uint32_t)getpid() && who->start_time == START_TIME);
	add(&scene->got, path->start, path->length, path->outcomes, cnt,
	    path->weight * (double)cnt);
}

static void on_edge(void *context, const struct pp_counted *who, uint64_t from, uint64_t to,
		    uint64_t cnt)
{
	CU_ASSERT_EQUAL(to - from, 0x10);
	scene->edges += cnt;
}

static const struct pp_source_sink sink = {NULL, NULL, on_path, on_edge};

static void explain(void)
{
	const struct pathprof_context context = {.address_space = 99,
						 .start_time = START_TIME,
						 .pid = (uint32_t)getpid(),
						 .context = CONTEXT};

	pp_chain_counts_context(scene->counts, CPU, &context, 1, false);
}

static void make_world(const void *bytes, size_t byte_cnt)
{
	static const struct one_segment place = {ET_DYN, ORACLE_FILE_OFFSET, 0x401000};
	int fd;

	memset(&world, 0, sizeof(world));
	snprintf(world.path, sizeof(world.path), "%s/chain", unit_tmpdir());
	world.byte_cnt = byte_cnt;
	fd = open(world.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || one_segment_write(fd, &place, bytes, byte_cnt) || close(fd))
		abort();
	CU_ASSERT_EQUAL_FATAL(pathprof_build_id_read_file(&world.id, world.path, NULL), 0);
}

static void make_scene(const struct program *program, uint32_t depth)
{
	scene = calloc(1, sizeof(*scene));
	if (!scene)
		abort();
	oracle_program_make(&scene->program, 3000, program->transfers, program->seed);
	make_world(scene->program.bytes, scene->program.byte_cnt);
	CU_ASSERT_EQUAL_FATAL(pp_rebuild_new(&scene->rebuild, &resolver), 0);
	CU_ASSERT_EQUAL_FATAL(pp_chain_counts_new(&scene->counts, CPU_CNT, scene->rebuild), 0);
	scene->depth = depth;
	pp_chain_counts_set_depth(scene->counts, depth);
	explain();
}

static void end_scene(void)
{
	pp_chain_counts_free(scene->counts);
	pp_rebuild_free(scene->rebuild);
	free(scene);
	scene = NULL;
}

static void run_stream(uint32_t cnt)
{
	for (scene->stream_cnt = 0; scene->stream_cnt < cnt; scene->stream_cnt++)
		oracle_program_step(&scene->program, &scene->stream[scene->stream_cnt]);
}

static void send(uint64_t start, const struct pathprof_lbr_entry *entries, uint32_t cnt,
		 bool define)
{
	const struct pathprof_segment segment = {
		.start = TAG(start), .desc = desc_of(entries, cnt), .branch_cnt = cnt};
	const struct pathprof_path_record path = {segment.start, segment.desc, 1};

	if (define)
		pp_chain_counts_define(scene->counts, CPU, &segment, entries, 2);
	pp_chain_counts_path(scene->counts, CPU, &path, &sink);
}

static void naive_path(void *context, const struct pathprof_path_seen *path)
{
	const uint32_t *taken_cnt = context;

	add(&scene->naive, path->start, path->length, path->outcomes, 1,
	    (double)scene->depth / (scene->depth - *taken_cnt));
}

/*
 * One segment: the branches stream[first..last] behind the bounding one at first - 1, as the window
 * shows them whole.
 */
static void play_segment(uint32_t first, uint32_t last)
{
	struct pathprof_lbr_entry entries[TAKEN];
	uint32_t cnt = 0;

	for (uint32_t i = first; i <= last; i++)
		if (scene->stream[i].taken)
			entries[cnt++] = (struct pathprof_lbr_entry){scene->stream[i].from,
								     scene->stream[i].next};
	pathprof_paths_of_burst(&scene->stream[first - 1], last - first + 2, PATHPROF_MAPPING_WPP,
				naive_path, &cnt);
	entries[cnt - 1].to += scene->lies;
	send(scene->stream[first - 1].next, entries, cnt, true);
}

/* A window of so many taken branches from stream[from] on: what is whole in it. */
static void play_window(uint32_t from)
{
	uint32_t first = 0, taken = 0;

	for (uint32_t i = from; taken < scene->depth; i++) {
		if (!scene->stream[i].taken)
			continue;
		taken++;
		if (!bounds(&scene->stream[i]))
			continue;
		if (first)
			play_segment(first, i);
		first = i + 1;
	}
}

/* ---------------------------------------------------------------- tests */

static void test_windows(void)
{
	uint32_t path_cnt = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		uint64_t random = i + 1;
		struct pp_chain_counts_stats stats;

		make_scene(&programs[i], TAKEN);
		run_stream(60000);
		for (int window = 0; window < 2000; window++)
			play_window(oracle_draw(&random, scene->stream_cnt - 4000));
		pp_chain_counts_stats(scene->counts, &stats);
		path_cnt += scene->naive.cnt;
		CU_ASSERT(same(&scene->naive, &scene->got));
		CU_ASSERT(stats.defined > 0 && !stats.unknown && !stats.refused && !stats.full);
		scene->got.entries[scene->got.cnt / 2].cnt++;
		CU_ASSERT_FALSE(same(&scene->naive, &scene->got)); /* the planted fault */
		end_scene();
	}
	CU_ASSERT(path_cnt > 200);
}

static void true_path(void *context, const struct pathprof_path_seen *path)
{
	add(context, path->start, path->length, path->outcomes, 1, 1);
}

/* With weights, the profile of all windows is that of the whole run. */
static void test_weights(void)
{
	static struct list whole;
	double weighted, plain;

	memset(&whole, 0, sizeof(whole));
	make_scene(&programs[1], SHORT);
	run_stream(STREAM);
	for (uint32_t i = 1000; i + 5000 < scene->stream_cnt; i += 13)
		if (scene->stream[i].taken)
			play_window(i);
	for (uint32_t i = 0; i + PATHPROF_BURST_MAX < scene->stream_cnt; i += PATHPROF_BURST_MAX)
		pathprof_paths_of_burst(&scene->stream[i], PATHPROF_BURST_MAX, PATHPROF_MAPPING_WPP,
					true_path, &whole);
	weighted = overlap(&whole, &scene->got);
	for (uint32_t i = 0; i < scene->got.cnt; i++)
		scene->got.entries[i].weight = (double)scene->got.entries[i].cnt;
	plain = overlap(&whole, &scene->got);
	CU_ASSERT(weighted > 0.98);
	CU_ASSERT(plain < weighted - 0.02);
	end_scene();
}

static void test_changed_code_is_refused(void)
{
	struct pp_chain_counts_stats stats;
	uint64_t refused = 0;

	make_scene(&programs[2], TAKEN);
	run_stream(20000);
	scene->lies = true;
	for (uint32_t i = 0; i < 100; i++)
		play_window(i * 100);
	pp_chain_counts_stats(scene->counts, &stats);
	for (int i = 1; i < PATHPROF_REFUSED_CNT; i++)
		refused += pp_rebuild_refused(scene->rebuild, (enum pathprof_refusal)i);
	CU_ASSERT(stats.refused > 0 && refused > 0);
	CU_ASSERT(pp_rebuild_refused(scene->rebuild, PATHPROF_REFUSED_TARGET) > 0);
	/* Every run that is not here is one of those. */
	CU_ASSERT(stats.refused >= refused);
	CU_ASSERT_FALSE(same(&scene->naive, &scene->got));
	end_scene();
}

static void test_unknown_numbers_are_counted(void)
{
	const struct pathprof_path_record nobody = {UINT64_C(9) << 48 | 0x1000, 1, 5};
	const struct pathprof_path_record undefined = {TAG(ORACLE_PROGRAM_BASE), 1, 7};
	const struct pathprof_tuple_count tuple = {
		TAG(0x1000), 0x1010 | (uint64_t)PATHPROF_PROFILE_EDGES << 48, 3};
	const struct pathprof_tuple_count call = {
		TAG(0x1000), 0x1010 | (uint64_t)PATHPROF_PROFILE_CALLS << 48, 4};
	struct pp_chain_counts_stats stats;

	make_scene(&programs[1], TAKEN);
	pp_chain_counts_path(scene->counts, CPU, &nobody, &sink);
	pp_chain_counts_path(scene->counts, CPU, &undefined, &sink);
	pp_chain_counts_path(scene->counts, CPU_CNT, &undefined, &sink);
	pp_chain_counts_tuple(scene->counts, CPU, &tuple, &sink);
	pp_chain_counts_tuple(scene->counts, CPU, &call, &sink);
	pp_chain_counts_tuple(scene->counts, CPU - 1, &tuple, &sink);
	pp_chain_counts_stats(scene->counts, &stats);
	CU_ASSERT_EQUAL(stats.unknown, 5 + 7 + 7 + 3);
	CU_ASSERT_EQUAL(scene->edges, 3);
	CU_ASSERT_EQUAL(scene->got.cnt, 0);
	pp_chain_counts_forget_contexts(scene->counts);
	pp_chain_counts_tuple(scene->counts, CPU, &tuple, &sink);
	CU_ASSERT_EQUAL(scene->edges, 3);
	end_scene();
}

/* In a new session numbers are explained anew, segments need not be. */
static void test_segments_outlive_sessions(void)
{
	uint64_t random = 5;
	struct pp_chain_counts_stats before, after;

	make_scene(&programs[4], TAKEN);
	run_stream(20000);
	for (int i = 0; i < 300; i++)
		play_window(oracle_draw(&random, scene->stream_cnt - 4000));
	pp_chain_counts_stats(scene->counts, &before);
	pp_chain_counts_forget_contexts(scene->counts);
	explain();
	random = 5;
	for (int i = 0; i < 300; i++)
		play_window(oracle_draw(&random, scene->stream_cnt - 4000));
	pp_chain_counts_stats(scene->counts, &after);
	CU_ASSERT_EQUAL(after.defined, before.defined);
	CU_ASSERT_EQUAL(after.unknown, 0);
	CU_ASSERT(same(&scene->naive, &scene->got));
	end_scene();
}

/*
 * One that did not fit is read as its next definition says, which may have fewer branches under the
 * same name: no entry behind them is looked at.
 */
static void test_defined_again(void)
{
	struct pathprof_segment segment = {.start = 0, .desc = 1, .branch_cnt = SHORT};
	struct pathprof_lbr_entry entries[SHORT] = {{1, 2}}, whole[1];
	struct pp_chain_counts_stats stats;
	uint32_t at = 1;

	make_scene(&programs[2], TAKEN);
	run_stream(1000);
	while (!scene->stream[at].taken)
		at++;
	segment.start = TAG(scene->stream[at].from);
	whole[0] = (struct pathprof_lbr_entry){scene->stream[at].from, scene->stream[at].next};
	pp_chain_counts_define(scene->counts, CPU, &segment, entries, 1);
	pp_chain_counts_stats(scene->counts, &stats);
	CU_ASSERT_EQUAL(stats.defined, 0);
	segment.branch_cnt = 1;
	pp_chain_counts_define(scene->counts, CPU, &segment, whole, 2);
	pp_chain_counts_stats(scene->counts, &stats);
	CU_ASSERT_EQUAL(stats.defined, 1);
	end_scene();
}

static void define_number(uint32_t i, bool count)
{
	const struct pathprof_segment segment = {
		.start = TAG(ORACLE_PROGRAM_BASE), .desc = i, .branch_cnt = 1};
	const struct pathprof_lbr_entry entry = {1, 2};
	const struct pathprof_path_record path = {segment.start, segment.desc, 1};

	pp_chain_counts_define(scene->counts, CPU, &segment, &entry, 1);
	if (count)
		pp_chain_counts_path(scene->counts, CPU, &path, &sink);
}

/* More segments than there is room for: what is counted stays, and what is refused is told. */
static void test_full_table(void)
{
	struct pp_chain_counts_stats stats;
	uint64_t unknown;

	make_scene(&programs[1], TAKEN);
	world.gone = true; /* not one is read: this is about names */
	for (uint32_t i = 0; i < 3 * PP_CHAIN_COUNTS_SEGMENT_MAX; i++) {
		define_number(i, false);
		define_number(i % 100, true);
	}
	pp_chain_counts_stats(scene->counts, &stats);
	CU_ASSERT(stats.full > 0);
	CU_ASSERT(stats.full < 2 * PP_CHAIN_COUNTS_SEGMENT_MAX);
	unknown = stats.unknown;
	define_number(5, true);
	pp_chain_counts_stats(scene->counts, &stats);
	CU_ASSERT_EQUAL(stats.unknown, unknown);
	CU_ASSERT_EQUAL(stats.unknown, 0);
	end_scene();
}

/* The first branch of another place than not_from that ends a segment. */
static struct pathprof_lbr_entry bounding_branch(uint64_t not_from)
{
	uint32_t at = 0;

	while (at < scene->stream_cnt && !(scene->stream[at].taken && bounds(&scene->stream[at]) &&
					   scene->stream[at].from != not_from))
		at++;
	CU_ASSERT_FATAL(at < scene->stream_cnt);
	return (struct pathprof_lbr_entry){scene->stream[at].from, scene->stream[at].next};
}

static void count_once(const struct pathprof_lbr_entry *entry, bool define)
{
	send(entry->from, entry, 1, define);
}

/* The first segment is read when it comes again, so its paths stand behind those of the second. */
static void test_full_table_keeps_paths(void)
{
	const struct pathprof_lbr_entry wrong = {1, 2};
	struct pathprof_segment segment = {.branch_cnt = 1};
	struct pathprof_lbr_entry first, second;

	make_scene(&programs[2], TAKEN);
	run_stream(20000);
	first = bounding_branch(0);
	second = bounding_branch(first.from);
	segment.start = TAG(first.from);
	segment.desc = desc_of(&first, 1);
	pp_chain_counts_define(scene->counts, CPU, &segment, &wrong, 1);
	count_once(&second, true);
	count_once(&first, true);
	CU_ASSERT_EQUAL(scene->got.cnt, 2);
	scene->naive = scene->got;
	scene->got.cnt = 0;
	world.gone = true;
	for (uint32_t i = 0; i < PP_CHAIN_COUNTS_SEGMENT_MAX; i++)
		define_number(i, false);
	count_once(&second, false);
	count_once(&first, false);
	CU_ASSERT(same(&scene->naive, &scene->got));
	end_scene();
}

/* A reconstructor is forgotten when the mappings of its process have changed. */
static void test_changed_mappings(void)
{
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
	struct pathprof_taken taken[1];
	const struct pp_rebuild_window window = {
		.who = {(uint32_t)getpid(), START_TIME, 1}, .taken = taken, .taken_cnt = 1};
	uint32_t cnt, at = 0;

	make_scene(&programs[5], TAKEN);
	run_stream(1000);
	while (!scene->stream[at].taken)
		at++;
	taken[0] = (struct pathprof_taken){scene->stream[at].from, scene->stream[at].next};
	CU_ASSERT_EQUAL(pp_rebuild_window(scene->rebuild, &window, branches, &cnt), 0);
	CU_ASSERT_EQUAL(cnt, 1);
	world.byte_cnt = 0;
	/* what was read is still known */
	CU_ASSERT_EQUAL(pp_rebuild_window(scene->rebuild, &window, branches, &cnt), 0);
	world.change_cnt++;
	CU_ASSERT_EQUAL(pp_rebuild_window(scene->rebuild, &window, branches, &cnt),
			PATHPROF_REFUSED_UNKNOWN_CODE);
	world.gone = true;
	CU_ASSERT_EQUAL(pp_rebuild_window(scene->rebuild, &window, branches, &cnt), -ESRCH);
	end_scene();
}

static const struct unit_test tests[] = {
	{"counts of segments become the paths that whole windows show", test_windows},
	{"weights make the profile that of the whole run", test_weights},
	{"segments that do not fit their code are refused and counted",
	 test_changed_code_is_refused},
	{"numbers and segments never explained are counted", test_unknown_numbers_are_counted},
	{"segments outlive a session, numbers do not", test_segments_outlive_sessions},
	{"a segment defined again is read anew", test_defined_again},
	{"a full table keeps what is counted", test_full_table},
	{"a full table keeps the paths of a segment that was read late",
	 test_full_table_keeps_paths},
	{"what was read is forgotten when mappings change", test_changed_mappings},
};
UNIT_SUITE(chain_counts, tests)
