// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The meaning of a recording's addresses: mappings, copies of text, processes that come and go,
 * against a naive count (import_world.h). By one walker for import and export --recording.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import_world.h"
#include "pathprof/recorded_spaces.h"
#include "unit.h"

/* Mappings overlay one another and are inherited: an address means what it meant at the time. */
static void test_changes(void)
{
	struct import_world *w = import_world_open(77);

	import_map(w, 10, BASE + 0x1000000, "/bin/prog");
	import_sample(w, 10, 0x1000000, SECOND);
	import_change(w, PATHPROF_RECORDED_FORK, 20, 10);
	import_sample(w, 20, 0x1000000, SECOND + 1);
	import_map(w, 20, BASE + 0x1010000, "/bin/prog"); /* covers the end of the first */
	import_map(w, 20, BASE + 0x1000000, "/bin/prog"); /* and all of it again */
	import_sample(w, 20, 0x1000000, SECOND + 2);
	import_sample(w, 10, 0x1000000, SECOND + 3);
	import_map(w, 10, BASE + 0x1000000 - 0x8000,
		   "/bin/other"); /* something else lies there now */
	import_map(w, 10, BASE + 0x2000000, "/bin/prog");
	import_sample(w, 10, 0x2000000, SECOND + 4);
	import_change(w, PATHPROF_RECORDED_EXEC, 20, 0);
	import_map(w, 20, BASE + 0x3000000, "/bin/prog");
	import_sample(w, 20, 0x3000000, SECOND + 5);
	import_change(w, PATHPROF_RECORDED_EXIT, 20, 0);
	import_change(w, PATHPROF_RECORDED_FORK, 20, 10);
	import_sample(w, 20, 0x2000000, SECOND + 6);
	import_finish_same(w);
	CU_ASSERT_EQUAL(import_left(w, PATHPROF_LEDGER_UNMAPPED), 0);
	import_world_close(w);
}

/*
 * After an exec and a fork of who is not known nothing lies where the program was; a name changes
 * nothing, nor does the end of a first thread, behind which others run on.
 */
static void test_forgotten(void)
{
	struct import_world *w = import_world_open(5);
	struct import_stack s;

	import_run(w, &s);
	import_record(&s, 0);
	for (uint32_t pid = 10; pid < 14; pid++)
		import_map(w, pid, BASE, "/bin/prog");
	import_change(w, PATHPROF_RECORDED_EXEC, 10, 0);
	import_change(w, PATHPROF_RECORDED_FORK, 11, 99);
	for (uint32_t pid = 10; pid < 12; pid++)
		import_send(w, &s, pid, SECOND);
	import_change(w, PATHPROF_RECORDED_EXIT, 12, 0);
	import_change(w, PATHPROF_RECORDED_COMM, 13, 0);
	for (uint32_t pid = 12; pid < 14; pid++)
		import_sample(w, pid, 0, SECOND);
	import_finish_same(w);
	CU_ASSERT_EQUAL(import_left(w, PATHPROF_LEDGER_UNMAPPED), 2 * DEPTH);
	import_world_close(w);
}

/* A forked child has its parent's mappings, and writes code of its own into them. */
static void test_generated_code(void)
{
	struct import_world *w = import_world_open(9);
	struct import_stack s;

	import_run(w, &s);
	import_record(&s, 0);
	import_map(w, 10, BASE, "//anon");
	import_send(w, &s, 10, SECOND);
	import_change(w, PATHPROF_RECORDED_FORK, 20, 10);
	import_send(w, &s, 20, SECOND + 1);
	import_send(w, &s, 10, SECOND + 2);
	import_finish(w);
	CU_ASSERT_EQUAL(w->jit_edges % 2, 0);
	CU_ASSERT(w->jit_edges >= 2);
	import_world_close(w);
}

/* Without a build-id the name decides: of a file that was replaced, and of one behind a link. */
static void test_names(void)
{
	struct import_world *w = import_world_open(12);
	char link[280];

	snprintf(link, sizeof(link), "%s/link", unit_tmpdir());
	CU_ASSERT_EQUAL_FATAL(symlink(w->path, link), 0);
	free(w->files.binaries[0].path);
	w->files.binaries[0].path = strdup(link);
	import_map(w, 10, BASE, "/bin/prog");
	import_sample(w, 10, 0, SECOND);
	import_map(w, 11, BASE, "/bin/prog (deleted)");
	import_sample(w, 11, 0, SECOND);
	import_map(w, 12, BASE, "/bin/link (deleted)");
	import_sample(w, 12, 0, SECOND);
	import_finish_same(w);
	import_world_close(w);
}

/* patchelf moves code within the file, and leaves build-id and addresses as they are. */
static void test_other_layout(void)
{
	struct import_world *w = import_world_open(13);

	w->sink.mapping(w->sink.context, &(struct pathprof_recorded_mapping){
						 .pid = 10,
						 .start = BASE,
						 .end = BASE + 0x100000,
						 .offset = ORACLE_FILE_OFFSET + 0x3000,
						 .name = "/bin/prog",
						 .executable = true,
					 });
	for (int times = 0; times < 50; times++)
		import_sample(w, 10, 0, SECOND);
	import_finish_same(w);
	import_world_close(w);
}

/* The ways to move a program's text to memory of another kind, as perf records them. */
static const struct {
	const char *name;
	uint64_t around_bytes; /* rounded outwards */
	bool writable_first;
} copies[] = {
	{"//anon", 0, false},
	{"//anon", 2 << 20, false},
	{"//anon", 0, true},
	{"//anon", 2 << 20, true},
	{"/anon_hugepage (deleted)", 0, false},
	{"/memfd:text (deleted)", 0, true},
	{"[anon:.text]", 0, false},
	{"/dev/zero (deleted)", 2 << 20, false},
	{"/SYSV00000000 (deleted)", 0, false},
	{"/dev/hugepages/libhugetlbfs.tmp.x3TrYc (deleted)", 2 << 20, false},
};

static void lay_copy(struct import_world *w, size_t at)
{
	struct pathprof_recorded_mapping m = {
		.pid = 10,
		.start = BASE - copies[at].around_bytes,
		.end = BASE + 0x100000 + copies[at].around_bytes,
		.name = copies[at].name,
	};

	if (copies[at].writable_first)
		w->sink.mapping(w->sink.context, &m);
	m.executable = true;
	w->sink.mapping(w->sink.context, &m);
}

/* Anonymous mappings over a program's text are copies of it; files mapped there are other code. */
static void test_copied_code(void)
{
	struct import_world *w = import_world_open(9);
	struct import_stack s;

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		import_map(w, 10, BASE, "/bin/prog");
		lay_copy(w, i);
		for (int times = 0; times < 5; times++)
			import_sample(w, 10, 0, SECOND);
		import_change(w, PATHPROF_RECORDED_EXEC, 10, 0);
	}
	import_run(w, &s);
	import_record(&s, 0);
	import_map(w, 11, BASE, "/bin/prog");
	import_map(w, 11, BASE, "/lib/other");
	CU_ASSERT_EQUAL(import_send(w, &s, 11, SECOND), 0);
	/* a file of its own, though it is a memfd */
	import_map(w, 12, BASE, "/bin/prog");
	w->sink.mapping(w->sink.context,
			&(struct pathprof_recorded_mapping){
				.pid = 12,
				.start = BASE,
				.end = BASE + 0x100000,
				.id = {.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 20, .bytes = {1}},
				.name = "/memfd:library (deleted)",
				.executable = true});
	CU_ASSERT_EQUAL(import_send(w, &s, 12, SECOND), 0);
	import_finish(w);
	CU_ASSERT(import_has_all(&w->got, &w->want) && w->got.cnt > w->want.cnt);
	for (size_t i = 0; i < w->got.cnt; i++)
		CU_ASSERT(!w->got.list[i].is_path || w->got.list[i].pid == 10);
	import_world_close(w);
}

/* ---------------------------------------------------------------- processes */

static void test_many_processes(void)
{
	struct pathprof_recorded_spaces *spaces;
	struct pathprof_recorded_spaces_left stats;
	uint32_t number, cnt = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_recorded_spaces_new(&spaces), 0);
	while (cnt < 1 << 20 && pathprof_recorded_spaces_find(spaces, cnt + 1, &number) == 0)
		pathprof_recorded_spaces_at(spaces, number)->used = ++cnt % 2;
	CU_ASSERT(cnt > 50000 && cnt < 1 << 20);
	for (uint32_t pid = 1; pid <= cnt; pid++)
		pathprof_recorded_spaces_change(
			spaces, &(struct pathprof_recorded_process){
					.pid = pid, .change = PATHPROF_RECORDED_EXIT});
	/* those something was counted of are still asked about, and one has threads that run on */
	CU_ASSERT_PTR_NOT_NULL(pathprof_recorded_spaces_look(spaces, 2));
	for (uint32_t i = 0; i < cnt / 2 - 1; i++)
		CU_ASSERT_EQUAL(pathprof_recorded_spaces_find(spaces, 2000000 + i, &number), 0);
	CU_ASSERT(pathprof_recorded_spaces_find(spaces, 1000000, &number) < 0);
	CU_ASSERT_PTR_NOT_NULL(pathprof_recorded_spaces_look(spaces, 2));
	pathprof_recorded_spaces_expire(spaces);
	CU_ASSERT_EQUAL(pathprof_recorded_spaces_find(spaces, 1000000, &number), 0);
	pathprof_recorded_spaces_stats(spaces, &stats);
	CU_ASSERT_EQUAL(stats.processes, 2);
	pathprof_recorded_spaces_free(spaces);
}

static void change(struct pathprof_recorded_spaces *spaces, enum pathprof_recorded_change kind,
		   uint32_t pid)
{
	const struct pathprof_recorded_process process = {
		.time_ns = 5 * SECOND, .pid = pid, .parent = 10, .change = kind, .comm = "name"};

	CU_ASSERT_EQUAL(pathprof_recorded_spaces_change(spaces, &process), 0);
}

/* The first thread ends, and another executes a program: the process is the one that it was. */
static void test_exec_of_another_thread(void)
{
	const struct pathprof_recorded_space *found;
	struct pathprof_recorded_spaces *spaces;

	CU_ASSERT_EQUAL_FATAL(pathprof_recorded_spaces_new(&spaces), 0);
	change(spaces, PATHPROF_RECORDED_FORK, 20);
	change(spaces, PATHPROF_RECORDED_EXIT, 20);
	change(spaces, PATHPROF_RECORDED_EXEC, 20);
	found = pathprof_recorded_spaces_look(spaces, 20);
	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	CU_ASSERT_EQUAL(found->exec_cnt, 1);
	CU_ASSERT_EQUAL(found->start_time, 500);
	pathprof_recorded_spaces_free(spaces);
}

static const struct unit_test tests[] = {
	{"mappings, forks, execs and exits", test_changes},
	{"after an exec, a stranger's fork nothing is where it was", test_forgotten},
	{"a file is found by the name it had", test_names},
	{"code that lies elsewhere in the file is found by its address", test_other_layout},
	{"code copied to where it was is the program's", test_copied_code},
	{"generated code is its process's, also after a fork", test_generated_code},
	{"another thread's exec behind the first's end is the process's",
	 test_exec_of_another_thread},
	{"processes beyond the bound are counted, ended ones make room", test_many_processes},
};
UNIT_SUITE(import_mappings, tests)
