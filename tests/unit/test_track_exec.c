// SPDX-License-Identifier: GPL-2.0-or-later
/* An exec of a tracked process is followed, in whatever order events of it are read. */
#include "run_true.h"
#include "track_child.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---------------------------------------------------------------- patience */

/* Tries again as resolves_soon() does, since a process that was not read in time is put off. */
static const struct pp_track_process *process_soon_at(struct pp_track *track, pid_t pid,
						      uint64_t time_ns)
{
	const struct pp_track_process *process = pp_track_process_at(track, pid, time_ns);
	uint64_t end_ns = now_ns() + 60000000000ull;

	while (!process && now_ns() < end_ns) {
		struct pp_image *image = pp_images_newest(&track->images, pid);

		if (image)
			image->rescan_ns = 0;
		usleep(10000);
		process = pp_track_process_at(track, pid, time_ns);
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(process);
	if (!process)
		abort();
	return process;
}

/* ---------------------------------------------------------------- exec */

/* On a busy machine the tracker may wait before it reads /proc, and has no process meanwhile. */
static bool is_another_program(struct pp_track *track, pid_t pid, uint32_t exec_cnt)
{
	const struct pp_track_process *process = pp_track_process(track, pid);

	return process && process->exec_cnt != exec_cnt;
}

/* rests: reading the first program's mappings took long, and they are left alone for a while. */
static void check_exec(bool no_perf, pid_t only_self, bool rests)
{
	struct child child = start(exec_when_told, "/bin/sleep");
	struct pp_track *track = new_track(no_perf, only_self ? child.pid : 0);
	struct pathprof_build_id before = id_of("/proc/self/exe"), after = id_of("/bin/sleep");
	uint64_t early_ns, old_address = (uintptr_t)&check_exec, new_address;
	const struct pp_track_process *process;
	struct pp_location location;
	uint32_t exec_cnt;

	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	early_ns = now_ns();
	CU_ASSERT_FATAL(resolves_soon_at(track, child.pid, early_ns, old_address, &location));
	CU_ASSERT(same_id(&location.id, &before));
	exec_cnt = process_soon_at(track, child.pid, 0)->exec_cnt;
	if (rests)
		pp_images_newest(&track->images, child.pid)->rescan_ns = UINT64_MAX;
	tell(&child);
	new_address = await_exec(&child);
	/* Without perf a process is believed for a moment; the old address is the sign. */
	while (!is_another_program(track, child.pid, exec_cnt) &&
	       now_ns() < early_ns + 60000000000ull)
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, new_address, &location));
	CU_ASSERT(same_id(&location.id, &after));
	process = process_soon_at(track, child.pid, 0);
	CU_ASSERT_EQUAL(process->exec_cnt, exec_cnt + 1);
	CU_ASSERT(same_id(&process->exe_id, &after));
	CU_ASSERT_STRING_EQUAL(process->comm, "sleep");
	/* A burst from before the exec still finds what ran then, and nothing of what came after.
	 */
	CU_ASSERT_FATAL(resolves_soon_at(track, child.pid, early_ns, old_address, &location));
	CU_ASSERT(same_id(&location.id, &before));
	CU_ASSERT_EQUAL(pp_track_resolve(track, child.pid, early_ns, new_address, &location),
			-ENOENT);
	CU_ASSERT_EQUAL(process_soon_at(track, child.pid, early_ns)->exec_cnt, exec_cnt);
	finish(&child);
	/* And one from before the end, after it. */
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_EQUAL(pp_track_resolve(track, child.pid, 0, new_address, &location), 0);
	pp_track_free(track);
}

static void test_exec(void)
{
	check_exec(false, 0, false);
}

static void test_exec_proc_only(void)
{
	check_exec(true, 0, false);
}

static void test_exec_while_it_rests(void)
{
	check_exec(true, 0, true);
}

static void test_exec_of_one_tree(void)
{
	check_exec(false, 1, false);
}

/* The program of a forked process that executes unseen ran after its fork, not before all else. */
static void test_lost_exec_after_a_fork(void)
{
	struct child child = start(exec_when_told, "/bin/sleep");
	struct pp_track *track = new_track(true, 0);
	struct pp_perf_record record = {
		.kind = PP_PERF_FORK, .pid = child.pid, .tid = child.pid, .parent_pid = getpid()};
	const struct pp_image *image;
	struct pp_stat stat;

	CU_ASSERT_EQUAL_FATAL(scan_soon(track, getpid()), 0);
	CU_ASSERT_EQUAL_FATAL(pp_proc_stat(child.pid, &stat), 0);
	record.time_ns = stat.start_time * track->tick_ns - pp_track_suspended_ns();
	pp_track_apply(track, &record);
	tell(&child);
	(void)await_exec(&child);
	CU_ASSERT_EQUAL(scan_soon(track, child.pid), 0);
	image = pp_images_newest(&track->images, child.pid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(image);
	CU_ASSERT_EQUAL(image->exec_cnt, 1);
	CU_ASSERT(image->begin_ns > record.time_ns);
	CU_ASSERT(image->older && image->older->end_ns > record.time_ns);
	finish(&child);
	pp_track_free(track);
}

/* ---------------------------------------------------------------- short lives */

/* Events that an earlier look has read and left keep none of those that came later from their turn.
 */
static void test_events_behind_others(void)
{
	struct pp_track *track = new_track(false, getpid());
	uint64_t begin_ns;
	pid_t late;

	if (has_perf(track)) {
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		run_true();
		CU_ASSERT_EQUAL(pp_perf_drain(track->perf), 0);
		CU_ASSERT(pp_perf_is_ready(track->perf));
		late = run_true();
		begin_ns = now_ns();
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		/* a busy machine's slice may end before */
		CU_ASSERT(pp_images_newest(&track->images, late) ||
			  now_ns() - begin_ns > PP_PACE_SLICE_NS / 2);
		/* who asks about one that has ended finds it in the events that still wait */
		late = run_true();
		CU_ASSERT_PTR_NOT_NULL(pp_track_process(track, late));
	} else {
		unit_skip("events are refused");
	}
	pp_track_free(track);
}

/* An event that has arrived and is not applied: what it tells is known of each moment all the same.
 */
static void test_exec_that_waits(void)
{
	struct child child = start(exec_when_told, "/bin/sleep");
	struct pp_track *track = new_track(false, child.pid);
	struct pp_location location;
	uint64_t early_ns = now_ns();

	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, (uintptr_t)&check_exec, &location));
	tell(&child);
	(void)await_exec(&child);
	if (has_perf(track)) {
		CU_ASSERT_EQUAL(pp_perf_drain(track->perf), 0);
		CU_ASSERT(pp_perf_is_pending(track->perf, child.pid));
		pp_images_newest(&track->images, child.pid)->verified_ns = 0;
		CU_ASSERT_EQUAL(process_soon_at(track, child.pid, early_ns)->exec_cnt, 0);
		CU_ASSERT_EQUAL(process_soon_at(track, child.pid, 0)->exec_cnt, 1);
	} else {
		unit_skip("events are refused");
	}
	finish(&child);
	pp_track_free(track);
}

/* A program of which no mapping was read yet: its owner is known all the same. */
static void test_owner_of_program(void)
{
	struct pp_track *track = new_track(true, 0);
	const struct pp_track_process *process;
	struct pp_image *image;
	struct pp_stat self;
	struct stat own;

	CU_ASSERT_FATAL(!pp_proc_stat(getpid(), &self) && !stat("/proc/self/exe", &own));
	CU_ASSERT_FATAL(!pp_images_add(&track->images, getpid(), self.start_time, NULL, &image));
	image->start_time = self.start_time;
	process = &pp_track_detail(track, image)->process;
	CU_ASSERT_EQUAL(image->space->piece_cnt, 0);
	CU_ASSERT_EQUAL(process->exe_from.owner, own.st_uid);
	CU_ASSERT_EQUAL(process->exe_from.inode, own.st_ino);
	CU_ASSERT_EQUAL(process->exe_from.device, own.st_dev);
	pp_track_free(track);
}

static const struct unit_test tests[] = {
	{"an exec is followed, and what was before is kept", test_exec},
	{"an exec is followed by /proc alone", test_exec_proc_only},
	{"an exec is followed while reading it rests", test_exec_while_it_rests},
	{"an exec is followed in the tree of one process", test_exec_of_one_tree},
	{"an exec after a fork, neither read, is no older than the fork",
	 test_lost_exec_after_a_fork},
	{"events behind those of an earlier look are applied", test_events_behind_others},
	{"an exec that waits to be applied hides nothing", test_exec_that_waits},
	{"a program without mappings has its owner", test_owner_of_program},
};
UNIT_SUITE(track_exec, tests)
