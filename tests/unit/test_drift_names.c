// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of paths by a child: against the graph read in this process; files that are gone, or of
 * another build.
 */
#include "names_desk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HURRY_TRIES 60

static void test_names(void)
{
	struct binary binary;
	struct pp_names_stats stats;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	/* built, then out of the cache */
	for (int i = 0; i < 2; i++) {
		ask(&d, &job);
		CU_ASSERT(is_as_expected(&d.heard, &binary));
	}
	CU_ASSERT_EQUAL(access(d.cache, F_OK), 0);
	/* a planted fault: one place that is another's */
	binary.expected[1].place ^= 1;
	CU_ASSERT_FALSE(is_as_expected(&d.heard, &binary));
	pp_names_stats(d.names, &stats);
	CU_ASSERT_EQUAL(stats.jobs, 2);
	CU_ASSERT_EQUAL(stats.failed, 0);
	CU_ASSERT(stats.cpu_ns > 0);
	desk_release(&d);
}

static void test_hurry(void)
{
	unsigned int tries = 0;
	struct binary binary;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	job.hurry = true;
	/* a slow machine's child may take longer than one in a hurry may */
	do
		ask(&d, &job);
	while (d.heard.code == -ETIMEDOUT && ++tries < HURRY_TRIES);
	CU_ASSERT_EQUAL(d.heard.code, 0);
	CU_ASSERT_EQUAL(d.heard.function_cnt, 0);
	CU_ASSERT_STRING_EQUAL(d.heard.names[0], "loops");
	CU_ASSERT_PTR_NOT_NULL(strstr(d.heard.sources[0], "names.c:"));
	CU_ASSERT_STRING_EQUAL(d.heard.names[binary.path_cnt - 1], "");
	desk_release(&d);
}

static void test_frames(void)
{
	struct pathprof_unwind_table table;
	struct pathprof_code *code;
	struct binary binary;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	code = open_code(binary.file);
	CU_ASSERT_EQUAL_FATAL(pathprof_unwind_table_new(&table, code, PP_NAMES_ROWS_MAX), 0);
	pathprof_code_free(code);
	desk_init(&d);
	job = (struct pp_names_job){.id = binary.id, .file = binary.file, .frames = true};
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, 0);
	CU_ASSERT_EQUAL(d.heard.row_cnt, table.row_cnt);
	job.id.bytes[0] ^= 1;
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	pathprof_unwind_table_release(&table);
	desk_release(&d);
}

/* Rows that are no table are no answer. */
static void test_frames_checked(void)
{
	struct {
		struct pp_names_head head;
		struct pathprof_unwind_row rows[2];
	} bytes = {{.magic = PP_NAMES_MAGIC, .row_cnt = 2}, {{.start = 1}, {.start = 2}}};
	struct pp_names_answer answer;
	int code;

	CU_ASSERT_EQUAL_FATAL(pp_names_parse(&bytes, sizeof(bytes), 0, &code, &answer), 0);
	CU_ASSERT_EQUAL(answer.table.row_cnt, 2);
	pp_names_answer_release(&answer);
	CU_ASSERT_EQUAL(pp_names_parse(&bytes, sizeof(bytes) - 1, 0, &code, &answer), -EBADMSG);
	bytes.rows[1].start = 1;
	CU_ASSERT_EQUAL(pp_names_parse(&bytes, sizeof(bytes), 0, &code, &answer), -EBADMSG);
	bytes.head.row_cnt = PP_NAMES_ROWS_MAX + 1;
	CU_ASSERT_EQUAL(pp_names_parse(&bytes, sizeof(bytes), 0, &code, &answer), -EBADMSG);
}

/* Removed while it runs: found behind the mapping. Replaced: not mistaken for it. */
static void test_file_that_moved(void)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	char name[300];
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	snprintf(name, sizeof(name), "%s.old", binary.file);
	CU_ASSERT_EQUAL(rename(binary.file, name), 0);
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	/* another file lies there now */
	run((char *[]){(char *)"/bin/cp", (char *)"/bin/true", binary.file, NULL});
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	/* by the root of a process, which is ours here */
	job.file = name;
	job.pids[0] = pid;
	job.pid_cnt = 1;
	ask(&d, &job);
	CU_ASSERT(is_as_expected(&d.heard, &binary));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	desk_release(&d);
}

/* Names the paths of a binary that is mapped at that address and whose file is removed. */
static void name_mapped_at(void *address)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	int ready[2];
	char c;

	make_binary(&binary);
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open(binary.file, O_RDONLY);

		if (mmap(address, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
			 fd, 0) != address)
			_exit(1);
		(void)!write(ready[1], "r", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	CU_ASSERT_EQUAL(read(ready[0], &c, 1), 1);
	desk_init(&d);
	job = job_of(&binary);
	job.pids[0] = pid;
	job.pid_cnt = 1;
	CU_ASSERT_EQUAL(unlink(binary.file), 0);
	ask(&d, &job);
	CU_ASSERT(geteuid() != 0 || is_as_expected(&d.heard, &binary));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	desk_release(&d);
}

/* Addresses below 0x10000000, as of programs that are no PIE, have leading zeros in maps. */
static void test_mapped_file(void)
{
	name_mapped_at((void *)0x7e0000000000);
	name_mapped_at((void *)0x200000);
}

static const struct unit_test tests[] = {
	{"the table of frames is that of the file", test_frames},
	{"rows of frames that are no table are refused", test_frames_checked},
	{"a child names paths as the graph does", test_names},
	{"in a hurry it names functions and lines", test_hurry},
	{"a file that moved is found, another in its place is not taken for it",
	 test_file_that_moved},
	{"a file that was removed is read behind its mapping", test_mapped_file},
};
UNIT_SUITE(drift_names, tests)
