// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracker on live processes, with perf and with /proc alone. Every wait is for a condition (a
 * pipe that closes at exec, a byte, the end of a child), never for time to pass.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/track/track.h"
#include "../../daemon/track/track_state.h"
#include "unit.h"

#define PAGE 4096ull

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static struct pp_track *new_track(bool no_perf, pid_t only_pid)
{
	struct pp_track_config config = {.no_perf = no_perf, .only_pid = only_pid};
	struct pathprof_error error = {""};
	struct pp_track *track = NULL;

	CU_ASSERT_EQUAL_FATAL(pp_track_new(&track, &config, &error), 0);
	return track;
}

static bool has_perf(const struct pp_track *track)
{
	struct pp_track_stats stats;

	pp_track_stats(track, &stats);
	return stats.perf;
}

/* What a file's note says, or a zero identity. */
static struct pathprof_build_id id_of(const char *path)
{
	struct pathprof_build_id id = {0};

	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	return id;
}

static bool same_id(const struct pathprof_build_id *a, const struct pathprof_build_id *b)
{
	return a->len_bytes && pathprof_build_id_equal(a, b);
}

/* ---------------------------------------------------------------- children */

struct child {
	pid_t pid;
	int out; /* read what it says */
	int in;  /* closing it lets it go on */
};

typedef void child_fn(int in, int out, const char *argument);

static struct child start(child_fn *fn, const char *argument)
{
	int to[2], from[2];
	struct child child;

	CU_ASSERT_EQUAL_FATAL(pipe2(to, O_CLOEXEC), 0);
	CU_ASSERT_EQUAL_FATAL(pipe2(from, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		close(to[1]);
		close(from[0]);
		fn(to[0], from[1], argument);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	child.in = to[1];
	child.out = from[0];
	return child;
}

static void finish(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->in);
	close(child->out);
}

/* A pointer the child says; 0 once its pipe is closed. */
static uint64_t hear(const struct child *child)
{
	uint64_t value = 0;

	return read(child->out, &value, sizeof(value)) == (ssize_t)sizeof(value) ? value : 0;
}

static void tell(const struct child *child)
{
	CU_ASSERT_EQUAL(write(child->in, "x", 1), 1);
}

static void say(int out, uint64_t value)
{
	if (write(out, &value, sizeof(value)) != (ssize_t)sizeof(value))
		_exit(3);
}

static void await(int in)
{
	char byte;

	if (read(in, &byte, 1) != 1)
		_exit(2);
}

/* Execs when told; the other end sees the pipe close. sleep: it lives until it is killed. */
static void exec_when_told(int in, int out, const char *program)
{
	await(in);
	execl(program, "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* Where the program begins, from the auxiliary vector the kernel gave it. */
static uint64_t entry_of(pid_t pid)
{
	char path[32];
	Elf64_auxv_t entry;
	uint64_t found = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (!found && fd >= 0 && read(fd, &entry, sizeof(entry)) == (ssize_t)sizeof(entry))
		if (entry.a_type == AT_ENTRY)
			found = entry.a_un.a_val;
	if (fd >= 0)
		close(fd);
	return found;
}

/* Its pipe closes in the middle of the exec; with the entry point there, all is mapped. */
static uint64_t await_exec(const struct child *child)
{
	uint64_t entry = 0;

	CU_ASSERT_EQUAL(hear(child), 0);
	while (!entry && waitpid(child->pid, NULL, WNOHANG) == 0)
		entry = entry_of(child->pid);
	CU_ASSERT_NOT_EQUAL(entry, 0);
	return entry;
}

static void copy_program(const char *from, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	CU_ASSERT_EQUAL_FATAL(system(command), 0); /* NOLINT(cert-env33-c): names made here */
}

/* ---------------------------------------------------------------- patience */

/*
 * On a busy machine a read of the mappings runs out of its time, is left for ten seconds then, and
 * does not count while events of the process wait; so each try begins with the events, and without
 * a rest. time_ns 0: the moment of each try.
 */
static bool resolves_soon_at(struct pp_track *track, pid_t pid, uint64_t time_ns, uint64_t address,
			     struct pp_location *ret_location)
{
	uint64_t end_ns = now_ns() + 60000000000ull;

	while (now_ns() < end_ns) {
		struct pp_image *image = pp_images_newest(&track->images, pid);

		if (image)
			image->rescan_ns = 0;
		if (pp_track_resolve(track, pid, time_ns ? time_ns : now_ns(), address,
				     ret_location) == 0)
			return true;
		usleep(10000);
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	}
	return false;
}

static bool resolves_soon(struct pp_track *track, pid_t pid, uint64_t address,
			  struct pp_location *ret_location)
{
	return resolves_soon_at(track, pid, 0, address, ret_location);
}

/* As resolves_soon(): what a scan returns that is not put off. */
static int scan_soon(struct pp_track *track, pid_t pid)
{
	int r = -EBUSY;

	for (int i = 0; i < 1000 && (r == -EBUSY || r == -ETIME || r == -EAGAIN); i++) {
		struct pp_image *image = pp_images_newest(&track->images, pid);

		if (image)
			image->rescan_ns = 0;
		track->pace.left_ns = PP_PACE_SAVED_NS;
		r = pp_track_scan(track, pid);
		if (r)
			usleep(10000);
		/* events wait that are to be applied */
		if (r == -EAGAIN)
			CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	}
	return r;
}

/* As resolves_soon(): a process that cannot be read in time is not told for a while. */
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
		track->pace.left_ns = -PP_PACE_DEBT_NS;
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

static pid_t run_true(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	return pid;
}

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

/* Where names have taken their room, a new program keeps the files that are known. */
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

/* The program of an exec is told of first. Where it has no room, its interpreter is no program. */
static void test_no_room_for_a_program(void)
{
	const pid_t before = 0x3fffff0, pid = 0x3fffff1; /* more than there can be */
	struct pp_track *track = new_track(true, 0);
	struct pp_perf_record exec = {
		.kind = PP_PERF_EXEC, .pid = before, .tid = before, .comm = "made", .time_ns = 1};
	struct pp_perf_record map = {.kind = PP_PERF_MAP, .pid = before, .time_ns = 2};
	const struct pp_image *image;
	size_t bytes;

	map.vma = (struct pp_vma){.start = 0x1000, .end = 0x2000, .name = "/made/ld.so"};
	map.vma.id = (struct pathprof_build_id){.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
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

/* ---------------------------------------------------------------- mappings */

/* Anonymous code, a memory file, and its first page moved where no event tells. */
static void map_things(int in, int out, const char *argument)
{
	int memory_fd = memfd_create("code", MFD_CLOEXEC);
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hole = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory, *moved;

	if (ftruncate(memory_fd, PAGE) < 0)
		_exit(4);
	memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, memory_fd, 0);
	say(out, (uintptr_t)code);
	say(out, (uintptr_t)memory);
	await(in);
	moved = mremap(code, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, hole + 8 * PAGE);
	say(out, (uintptr_t)moved);
	await(in);
}

static void check_generated(bool no_perf)
{
	struct pp_track *track = new_track(no_perf, 0);
	struct child child = start(map_things, NULL);
	uint64_t code = hear(&child), memory = hear(&child), moved;
	struct pp_location location, other;
	struct pp_track_stats stats;
	char name[32];
	uint64_t repairs;

	snprintf(name, sizeof(name), "jit:%d", child.pid);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, code + 5, &location));
	CU_ASSERT_EQUAL(location.id.kind, PATHPROF_ID_JIT);
	CU_ASSERT_EQUAL(location.offset, code + 5);
	CU_ASSERT_STRING_EQUAL(location.name, name);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, memory, &other));
	CU_ASSERT(same_id(&other.id, &location.id));
	pp_track_stats(track, &stats);
	repairs = stats.repairs;
	tell(&child);
	moved = hear(&child);
	CU_ASSERT_NOT_EQUAL_FATAL(moved, 0);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	/* a read for its age would find it as well */
	pp_images_newest(&track->images, child.pid)->scanned_ns = now_ns();
	CU_ASSERT(resolves_soon(track, child.pid, moved + 7, &location));
	CU_ASSERT_EQUAL(location.offset, moved + 7);
	pp_track_stats(track, &stats);
	CU_ASSERT(stats.repairs > repairs);
	finish(&child);
	pp_track_free(track);
}

static void test_generated(void)
{
	check_generated(false);
	check_generated(true);
}

/* A page of the program's own text, and nothing else in it. */
__attribute__((section(".text.moved"), aligned(4096), noinline, used)) static void moved_text(void)
{
	__asm__ volatile(".p2align 12, 0xcc");
}

/* As programs do that move their text onto huge pages. */
static void move_text(int in, int out, const char *argument)
{
	char *text = (char *)(uintptr_t)&moved_text;
	char kept[PAGE];

	await(in);
	memcpy(kept, text, PAGE);
	if (mmap(text, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != text)
		_exit(4);
	memcpy(text, kept, PAGE);
	if (mprotect(text, PAGE, PROT_READ | PROT_EXEC) < 0)
		_exit(5);
	say(out, (uintptr_t)text);
	await(in);
}

static void check_moved_text(bool no_perf)
{
	struct pp_track *track = new_track(no_perf, 0);
	struct child child = start(move_text, NULL);
	struct pp_location before, location;
	uint64_t text = (uintptr_t)&moved_text;

	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, text, &before));
	CU_ASSERT_NOT_EQUAL(before.id.kind, PATHPROF_ID_JIT);
	tell(&child);
	CU_ASSERT_EQUAL(hear(&child), text);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	/* what /proc says now is read, too */
	pp_images_newest(&track->images, child.pid)->is_stale = true;
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, text, &location));
	CU_ASSERT(same_id(&location.id, &before.id));
	CU_ASSERT_EQUAL(location.offset, before.offset);
	finish(&child);
	pp_track_free(track);
}

static void test_moved_text(void)
{
	check_moved_text(false);
	check_moved_text(true);
}

static void test_repairs_are_limited(void)
{
	struct pp_track *track = new_track(false, 0);
	struct child child = start(exec_when_told, "/bin/sleep");
	struct pp_location location;
	struct pp_track_stats stats;
	uint64_t begin_ns = now_ns(), most;

	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_EQUAL_FATAL(scan_soon(track, child.pid), 0);
	for (uint64_t i = 1; i <= 5000; i++)
		CU_ASSERT_EQUAL(pp_track_resolve(track, child.pid, 0, i, &location), -ENOENT);
	/* 1, 2, 4 ms apart and so on, then a second. */
	most = (now_ns() - begin_ns) / 1000000000 + 11;
	pp_track_stats(track, &stats);
	CU_ASSERT(stats.repairs >= 1 && stats.repairs <= most);
	finish(&child);
	pp_track_free(track);
}

static void write_perf_map(int in, int out, const char *argument)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	fputs("7000 100 interpreter loop\n", file);
	fclose(file);
	say(out, 1);
	await(in);
	unlink(path);
}

static struct pathprof_build_id code_of(struct pp_track *track, pid_t pid)
{
	struct pp_image *image = pp_images_newest(&track->images, pid);
	struct pp_image_detail *detail = image ? pp_track_detail(track, image) : NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(detail);
	return detail->jit_id;
}

static void check_jit_symbols(bool no_perf)
{
	struct pathprof_build_id code;
	struct pp_track *track = new_track(no_perf, 0);
	struct child child = start(write_perf_map, NULL);
	uint64_t begin = 0, len_bytes = 0;
	char name[64] = "", path[64];

	CU_ASSERT_EQUAL(hear(&child), 1);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_EQUAL_FATAL(scan_soon(track, child.pid), 0);
	code = code_of(track, child.pid);
	CU_ASSERT_EQUAL(pp_track_jit_symbol(track, child.pid, &code, 0x70ff, name, sizeof(name),
					    &begin, &len_bytes),
			0);
	CU_ASSERT_STRING_EQUAL(name, "interpreter loop");
	CU_ASSERT(begin == 0x7000 && len_bytes == 0x100);
	CU_ASSERT_EQUAL(
		pp_track_jit_symbol(track, child.pid, &code, 0x7000, name, 6, &begin, &len_bytes),
		0);
	CU_ASSERT_STRING_EQUAL(name, "inter");
	CU_ASSERT_EQUAL(pp_track_jit_symbol(track, child.pid, &code, 0x7100, name, sizeof(name),
					    &begin, &len_bytes),
			-ENOENT);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child.pid);
	finish(&child);
	unlink(path);
	pp_track_free(track);
}

/* A program's names stay its own when its process executes another. */
static void test_jit_symbols_after_exec(void)
{
	struct pp_track *track = new_track(true, 0);
	struct child child = start(write_perf_map, NULL);
	struct pp_perf_record exec = {
		.kind = PP_PERF_EXEC, .pid = child.pid, .tid = child.pid, .comm = "other"};
	struct pathprof_build_id before, after;
	uint64_t begin, len_bytes;
	char name[64] = "", path[64];

	CU_ASSERT_EQUAL(hear(&child), 1);
	CU_ASSERT_EQUAL_FATAL(scan_soon(track, child.pid), 0);
	before = code_of(track, child.pid);
	CU_ASSERT_EQUAL(pp_track_jit_symbol(track, child.pid, &before, 0x7000, name, sizeof(name),
					    &begin, &len_bytes),
			0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child.pid);
	CU_ASSERT_EQUAL(unlink(path), 0);
	exec.time_ns = now_ns();
	pp_track_apply(track, &exec);
	after = code_of(track, child.pid);
	CU_ASSERT_FALSE(same_id(&before, &after));
	CU_ASSERT_EQUAL(pp_track_jit_symbol(track, child.pid, &after, 0x7000, name, sizeof(name),
					    &begin, &len_bytes),
			-ENOENT);
	name[0] = 0;
	CU_ASSERT_EQUAL(pp_track_jit_symbol(track, child.pid, &before, 0x7000, name, sizeof(name),
					    &begin, &len_bytes),
			0);
	CU_ASSERT_STRING_EQUAL(name, "interpreter loop");
	finish(&child);
	pp_track_free(track);
}

static void test_jit_symbols(void)
{
	check_jit_symbols(false);
	check_jit_symbols(true);
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
	{"an exec is followed, and what was before is kept", test_exec},
	{"an exec is followed by /proc alone", test_exec_proc_only},
	{"an exec is followed while reading it rests", test_exec_while_it_rests},
	{"an exec is followed in the tree of one process", test_exec_of_one_tree},
	{"an exec after a fork, neither read, is no older than the fork",
	 test_lost_exec_after_a_fork},
	{"a tree is found whole after a loss", test_tree_is_found},
	{"a tree is looked through again after a pause", test_tree_after_a_pause},
	{"a program without room for its name keeps its libraries", test_no_room_for_names},
	{"an interpreter is not taken for a program without room", test_no_room_for_a_program},
	{"events behind those of an earlier look are applied", test_events_behind_others},
	{"an exec that waits to be applied hides nothing", test_exec_that_waits},
	{"200 short-lived programs are identified after their end", test_short_lived},
	{"a deleted program keeps its identity and name", test_deleted},
	{"generated code is told apart, and found again when moved", test_generated},
	{"text that was moved to other memory stays the file's", test_moved_text},
	{"repairs are limited in rate", test_repairs_are_limited},
	{"generated code has the names its process wrote", test_jit_symbols},
	{"generated code keeps its names across an exec", test_jit_symbols_after_exec},
	{"a process that is not there is refused", test_no_such_process},
};
UNIT_SUITE(track, tests)
