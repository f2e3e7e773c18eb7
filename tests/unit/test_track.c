// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracker on live processes, with perf and with /proc alone: programs, their trees and their
 * ends.
 */
#include "track_child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---------------------------------------------------------------- children */

static void copy_program(const char *from, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	CU_ASSERT_EQUAL_FATAL(system(command), 0); /* NOLINT(cert-env33-c): names made here */
}

/* ---------------------------------------------------------------- own process */

static void check_self(bool no_perf)
{
	struct pp_track *track = new_track(no_perf, 0);
	struct pathprof_build_id self = id_of("/proc/self/exe");
	const struct pp_track_process *process;
	struct pp_location location;

	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, getpid(), (uintptr_t)&check_self, &location));
	CU_ASSERT(same_id(&location.id, &self));
	CU_ASSERT_FATAL(resolves_soon(track, getpid(), (uintptr_t)&getenv, &location));
	CU_ASSERT(location.offset < 64 << 20);
	process = pp_track_process(track, getpid());
	CU_ASSERT_PTR_NOT_NULL_FATAL(process);
	if (!process)
		return;
	CU_ASSERT_EQUAL(process->pid, getpid());
	CU_ASSERT_EQUAL(process->is_64bit, 1);
	CU_ASSERT(same_id(&process->exe_id, &self));
	CU_ASSERT(process->start_time > 0);
	CU_ASSERT_EQUAL(pp_track_resolve(track, getpid(), 0, 16, &location), -ENOENT);
	CU_ASSERT_EQUAL(pp_track_resolve(track, 0x3fffff0, 0, 16, &location), -ESRCH);
	CU_ASSERT_PTR_NULL(pp_track_process(track, 0x3fffff0));
	pp_track_free(track);
}

static void test_self(void)
{
	check_self(false);
	check_self(true);
}

static void test_vdso(void)
{
	uintptr_t image = getauxval(AT_SYSINFO_EHDR);
	struct pathprof_build_id id = {0};
	struct pp_location location;

	if (!image || pathprof_build_id_read_memory(&id, (const void *)image, PAGE)) {
		unit_skip("this kernel has no vDSO with a build-id");
		return;
	}
	for (int no_perf = 0; no_perf < 2; no_perf++) {
		struct pp_track *track = new_track(no_perf, 0);

		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		CU_ASSERT_FATAL(resolves_soon(track, getpid(), image + 0x123, &location));
		CU_ASSERT_STRING_EQUAL(location.name, "[vdso]");
		CU_ASSERT_EQUAL(location.offset, 0x123);
		CU_ASSERT(same_id(&location.id, &id));
		pp_track_free(track);
	}
}

/* ---------------------------------------------------------------- a tree */

static void be_two(int in, int out, const char *argument)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else
		say(out, (uint64_t)pid);
	for (;;)
		pause();
}

static uint64_t cpu_ns(void)
{
	return pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Without perf: the clock of a recording asks about each sample of the whole machine. */
static void test_view(void)
{
	struct child child = start(be_two, NULL);
	pid_t member = (pid_t)hear(&child), *pids = NULL;
	struct pp_track *track = new_track(true, child.pid);
	uint64_t begin_ns, asked_ns, listed_ns;
	size_t cnt;

	CU_ASSERT_TRUE(pp_track_in_view(track, child.pid));
	CU_ASSERT_TRUE(pp_track_in_view(track, member));
	CU_ASSERT_FALSE(pp_track_in_view(track, 0x3fffff0));
	begin_ns = cpu_ns();
	for (int i = 0; i < 20; i++)
		CU_ASSERT_FALSE(pp_track_in_view(track, getpid()));
	asked_ns = cpu_ns() - begin_ns;
	begin_ns = cpu_ns();
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(pp_proc_pids(child.pid, &pids, &cnt), 0);
		free(pids);
	}
	listed_ns = cpu_ns() - begin_ns;
	/* no look at each process there is */
	CU_ASSERT_TRUE(asked_ns < listed_ns / 2);
	finish(&child);
	pp_track_free(track);
}

/* After a loss each process of the tree is found in the end, whoever rests and whatever it takes.
 */
static void test_tree_is_found(void)
{
	struct child child = start(be_two, NULL);
	pid_t member = (pid_t)hear(&child);
	struct pp_track *track = new_track(true, child.pid);

	CU_ASSERT_EQUAL_FATAL(scan_soon(track, child.pid), 0);
	pp_images_newest(&track->images, child.pid)->rescan_ns = UINT64_MAX;
	track->is_behind = true;
	track->pace.left_ns = -1000 * PP_PACE_DEBT_NS;
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_TRUE(track->is_behind);
	for (int i = 0; i < 1000 && track->is_behind; i++) {
		track->resync_ns = 0;
		track->pace.left_ns = PP_PACE_SAVED_NS;
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		usleep(10000);
	}
	CU_ASSERT_FALSE(track->is_behind);
	CU_ASSERT_PTR_NOT_NULL(pp_images_newest(&track->images, member));
	finish(&child);
	pp_track_free(track);
}

/* Forks of a pause are thrown away at its end, after the tree was looked through at its beginning.
 */
static void test_tree_after_a_pause(void)
{
	struct pp_track *track = new_track(false, getpid());

	if (has_perf(track)) {
		track->resync_ns = UINT64_MAX;
		track->pace.left_ns = -1000 * PP_PACE_DEBT_NS;
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		CU_ASSERT_NOT_EQUAL(track->paused_ns, 0);
		CU_ASSERT_TRUE(track->is_behind);
		track->is_behind = false;
		track->paused_ns = 1;
		track->pace.left_ns = PP_PACE_SAVED_NS;
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		CU_ASSERT_EQUAL(track->paused_ns, 0);
		CU_ASSERT_TRUE(track->is_behind);
	} else {
		unit_skip("events are refused");
	}
	pp_track_free(track);
}

/* ---------------------------------------------------------------- short lives */

/*
 * Other processes of a busy machine take the tracker's time as well, so it gets more; and they may
 * fill the kernel's ring, so that it loses records: ends then as well.
 */
static bool becomes_known(struct pp_track *track, pid_t pid, const struct pathprof_build_id *id)
{
	uint64_t limit_ns = now_ns() + 10000000000ull, lost_ns = track->lost_ns;
	bool is_known;

	do {
		const struct pp_track_process *process;

		track->pace.left_ns = PP_PACE_SAVED_NS;
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		process = pp_track_process(track, pid);
		is_known = process && process->exec_cnt == 1 && same_id(&process->exe_id, id);
	} while (!is_known && track->lost_ns == lost_ns && now_ns() < limit_ns);
	return is_known;
}

static void test_short_lived(void)
{
	struct pathprof_build_id id = id_of("/bin/true");
	struct pp_track *track = new_track(false, 0);
	unsigned int right = 0, lost = 0;

	if (!has_perf(track)) {
		pp_track_free(track);
		unit_skip("perf_event_open is refused");
		return;
	}
	while (right < 200 && lost < 2000) {
		uint64_t lost_ns = track->lost_ns;
		pid_t pid = fork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
		if (becomes_known(track, pid, &id))
			right++;
		else if (track->lost_ns != lost_ns)
			lost++;
		else
			break;
	}
	CU_ASSERT_EQUAL(right, 200);
	pp_track_free(track);
}

static void check_deleted(bool no_perf)
{
	struct pathprof_build_id id = id_of("/bin/sleep");
	struct pp_track *track = new_track(no_perf, 0);
	struct pp_location location;
	struct child child;
	char path[256];
	uint64_t entry;

	snprintf(path, sizeof(path), "%s/gone", unit_tmpdir());
	copy_program("/bin/sleep", path);
	child = start(exec_when_told, path);
	tell(&child);
	entry = await_exec(&child);
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, entry, &location));
	CU_ASSERT(same_id(&location.id, &id));
	CU_ASSERT_STRING_EQUAL(location.name, path);
	finish(&child);
	pp_track_free(track);
}

static void test_deleted(void)
{
	check_deleted(false);
	check_deleted(true);
}

/* ---------------------------------------------------------------- names */

/* A process that has executed that program, and been read. */
static struct child start_program(struct pp_track *track, const char *program, int *ret_r)
{
	struct child child = start(exec_when_told, program);

	tell(&child);
	(void)await_exec(&child);
	*ret_r = scan_soon(track, child.pid);
	return child;
}

/* When there is no room for more names, a new program still has its known files. */
static void test_no_room_for_names(void)
{
	struct pp_track *track = new_track(true, 0);
	const struct pp_image *image;
	struct child known, unknown;
	char path[256];
	size_t bytes;
	int r;

	snprintf(path, sizeof(path), "%s/unknown", unit_tmpdir());
	copy_program("/bin/sleep", path);
	known = start_program(track, "/bin/sleep", &r);
	CU_ASSERT_EQUAL(r, 0);
	bytes = track->files.bytes;
	track->files.bytes = PATHPROF_MAPPED_FILES_BYTES_MAX;
	unknown = start_program(track, path, &r);
	track->files.bytes = bytes;
	CU_ASSERT_EQUAL(r, 0);
	image = pp_images_newest(&track->images, unknown.pid);
	CU_ASSERT(image && image->space->piece_cnt > 0);
	CU_ASSERT(track->drops[PP_TRACK_DROP_MAPPINGS] > 0);
	finish(&known);
	finish(&unknown);
	pp_track_free(track);
}

/*
 * The program is the first mapping after an exec. If there is no room for its name, its interpreter
 * must not be taken for the program.
 */
static void test_no_room_for_a_program(void)
{
	const pid_t before = 0x3fffff0, pid = 0x3fffff1; /* more than there can be */
	struct pp_track *track = new_track(true, 0);
	struct pp_perf_record exec = {
		.kind = PP_PERF_EXEC, .pid = before, .tid = before, .comm = "made", .time_ns = 1};
	struct pp_perf_record map = {.kind = PP_PERF_MAP, .pid = before, .time_ns = 2};
	const struct pp_image *image;
	size_t bytes;

	map.vma = (struct pp_vma){
		.start = 0x1000, .end = 0x2000, .dev_major = 8, .inode = 5, .name = "/made/ld.so"};
	pp_track_apply(track, &exec);
	pp_track_apply(track, &map);
	exec.pid = exec.tid = map.pid = pid;
	map.vma.name = "/made/program";
	bytes = track->files.bytes;
	track->files.bytes = PATHPROF_MAPPED_FILES_BYTES_MAX;
	pp_track_apply(track, &exec);
	pp_track_apply(track, &map);
	track->files.bytes = bytes;
	map.vma.start = 0x3000;
	map.vma.end = 0x4000;
	map.vma.name = "/made/ld.so";
	pp_track_apply(track, &map);
	image = pp_images_newest(&track->images, before);
	CU_ASSERT_FATAL(image && image->exe);
	CU_ASSERT_STRING_EQUAL(image->exe->name, "/made/ld.so");
	image = pp_images_newest(&track->images, pid);
	CU_ASSERT_FATAL(image && image->space->piece_cnt == 1);
	CU_ASSERT_PTR_NULL(image->exe);
	CU_ASSERT_EQUAL(track->drops[PP_TRACK_DROP_MAPPINGS], 1);
	pp_track_free(track);
}

/* ---------------------------------------------------------------- without a first thread */

static void *be_second(void *argument)
{
	pause();
	return NULL;
}

static void lose_first(int in, int out, const char *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, be_second, NULL))
		_exit(3);
	pthread_exit(NULL);
}

static bool has_lost_first(pid_t pid)
{
	struct pp_stat stat = {0};
	char text[1024];

	return pp_proc_read_of(pid, "stat", text, sizeof(text)) > 0 &&
	       !pp_proc_parse_stat(text, &stat) && stat.state == 'Z';
}

/* The kernel shows no mappings of a process under its own number once its first thread has ended.
 */
static void check_without_first(bool no_perf)
{
	struct child child = start(lose_first, NULL);
	struct pathprof_build_id self = id_of("/proc/self/exe");
	struct pp_location location = {.offset = 0};
	const struct pp_track_process *process;
	struct pp_track *track;

	for (int i = 0; i < 60000 && !has_lost_first(child.pid); i++)
		usleep(1000);
	CU_ASSERT_TRUE(has_lost_first(child.pid));
	track = new_track(no_perf, 0);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT(resolves_soon(track, child.pid, (uintptr_t)&lose_first, &location));
	CU_ASSERT(same_id(&location.id, &self));
	process = pp_track_process(track, child.pid);
	CU_ASSERT(process && same_id(&process->exe_id, &self));
	finish(&child);
	pp_track_free(track);
}

static void test_without_first(void)
{
	check_without_first(false);
	check_without_first(true);
}

/* Once the first thread has ended, any other may be the last. */
static void test_last_thread(void)
{
	const pid_t pid = 0x3fffff0; /* more than there can be */
	struct pp_track *track = new_track(true, 0);
	struct pp_perf_record record = {
		.kind = PP_PERF_EXEC, .pid = pid, .tid = pid, .comm = "made", .time_ns = 1};
	struct pp_image *image;

	pp_track_apply(track, &record);
	image = pp_images_newest(&track->images, pid);
	CU_ASSERT_FATAL(image != NULL);
	record = (struct pp_perf_record){
		.kind = PP_PERF_EXIT, .pid = pid, .tid = pid + 1, .time_ns = 2};
	pp_track_apply(track, &record);
	CU_ASSERT_EQUAL(image->end_ns, 0);
	record.tid = pid;
	pp_track_apply(track, &record);
	CU_ASSERT_EQUAL(image->end_ns, 2);
	/* as the tracker does when it sees that others run on */
	pp_images_revive(&track->images, image);
	record.tid = pid + 2;
	record.time_ns = 3;
	pp_track_apply(track, &record);
	CU_ASSERT_EQUAL(image->end_ns, 3);
	pp_track_free(track);
}

/* ---------------------------------------------------------------- refused */

static void test_no_such_process(void)
{
	struct pp_track_config config = {.only_pid = 0x3fffff0};
	struct pathprof_error error = {""};
	struct pp_track *track = (struct pp_track *)&config;

	CU_ASSERT_EQUAL(pp_track_new(&track, &config, &error), -ESRCH);
	CU_ASSERT_PTR_EQUAL(track, (struct pp_track *)&config);
	CU_ASSERT_NOT_EQUAL(error.text[0], 0);
	pp_track_free(NULL);
}

static const struct unit_test tests[] = {
	{"the own process resolves, with perf and without", test_self},
	{"the vDSO is named and identified", test_vdso},
	{"who is in view is told without a look at all processes", test_view},
	{"a tree is found whole after a loss", test_tree_is_found},
	{"a tree is looked through again after a pause", test_tree_after_a_pause},
	{"a program without room for its name keeps its libraries", test_no_room_for_names},
	{"an interpreter is not taken for a program without room", test_no_room_for_a_program},
	{"200 short-lived programs are identified after their end", test_short_lived},
	{"a deleted program keeps its identity and name", test_deleted},
	{"a process without its first thread resolves", test_without_first},
	{"the last thread's end is that of its process", test_last_thread},
	{"a process that is not there is refused", test_no_such_process},
};
UNIT_SUITE(track, tests)
