// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader says what a direct read says, and one that has ended or hangs is replaced. A process
 * that puts it to sleep is the part of tests/hostile/asleep.sh.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "../../daemon/silent.h"
#include "../../daemon/track/track_reader.h"
#include "../../daemon/track/track_reader_wire.h"
#include "unit.h"

#define PAGE_BYTES 4096
#define MANY       600
#define TRIES      600

struct sum {
	unsigned int cnt, looked_cnt;
	uint64_t sum;
	struct pp_reader *reader; /* NULL: no file is looked at in between */
	bool has_program;
};

/* On a slow machine an answer may come too late: it is passed over, and asked for again. */
static bool is_late(int r, int tries)
{
	if (r != -ETIME || tries >= TRIES)
		return false;
	usleep(10000);
	return true;
}

static void look_at_program(struct sum *sum, const struct pp_vma *vma)
{
	struct stat program, behind;
	int fd, tries = 0;

	if (stat("/proc/self/exe", &program) || vma->inode != program.st_ino || !vma->looked)
		return;
	sum->has_program = vma->looked->st_size == program.st_size;
	do
		fd = pp_reader_look(sum->reader, getpid(), vma->start, vma->end);
	while (is_late(fd, tries++));
	CU_ASSERT(fd >= 0 && fstat(fd, &behind) == 0 && behind.st_ino == program.st_ino);
	close(fd);
}

static int add(void *context, const struct pp_vma *vma)
{
	struct sum *sum = context;

	sum->cnt++;
	sum->looked_cnt += vma->looked != NULL;
	sum->sum = sum->sum * 31 + vma->start + vma->end * 3 + vma->offset * 5 + vma->inode * 7 +
		   vma->dev_major * 11ull + vma->dev_minor * 13ull + strlen(vma->name) * 17;
	if (sum->reader)
		look_at_program(sum, vma);
	return 0;
}

static int vmas_soon(struct pp_reader *reader, pid_t pid, struct sum *ret_sum)
{
	int r, tries = 0;

	do {
		*ret_sum = (struct sum){.reader = ret_sum->reader};
		r = pp_reader_vmas(reader, pid, 0, add, ret_sum);
	} while (is_late(r, tries++));
	return r;
}

/* A process with more mappings than one answer holds, which does nothing. */
static pid_t start_many(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		char *pages = mmap(NULL, 2 * MANY * PAGE_BYTES, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < MANY; i++)
			mprotect(pages + 2 * i * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_EXEC);
		close(ends[1]);
		pause();
	}
	close(ends[1]);
	CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_same_as_direct(void)
{
	struct sum direct = {0}, told = {0};
	struct pp_reader *reader;
	pid_t pid = start_many();
	bool query = true;

	CU_ASSERT_EQUAL_FATAL(pp_reader_new(&reader), 0);
	told.reader = reader;
	CU_ASSERT(pp_proc_vmas(pid, &query, 0, add, &direct) > MANY);
	CU_ASSERT_EQUAL(vmas_soon(reader, pid, &told), (int)direct.cnt);
	CU_ASSERT_EQUAL(told.cnt, direct.cnt);
	CU_ASSERT_EQUAL(told.sum, direct.sum);
	CU_ASSERT(pp_reader_cpu_ns(reader) > 0);
	end(pid);
	CU_ASSERT_EQUAL(vmas_soon(reader, pid, &told), -ESRCH);
	pp_reader_free(reader);
}

static void test_files(void)
{
	struct sum told = {0};
	struct pp_reader *reader;
	int fd;

	CU_ASSERT_EQUAL_FATAL(pp_reader_new(&reader), 0);
	fd = pp_reader_look(reader, getpid(), PAGE_BYTES, 2 * PAGE_BYTES);
	CU_ASSERT(fd < 0);
	told.reader = reader;
	CU_ASSERT(vmas_soon(reader, getpid(), &told) > 0);
	if (!told.looked_cnt)
		unit_skip("no right to /proc/PID/map_files (CAP_CHECKPOINT_RESTORE)");
	else
		CU_ASSERT(told.has_program);
	pp_reader_free(reader);
}

static int refuse(void *context, const struct pp_vma *vma)
{
	return -ENOSPC;
}

/* The rest of an abandoned answer is not taken for the answer to the next request. */
static void test_given_up(void)
{
	struct sum first = {0}, again = {0};
	struct pp_reader *reader;
	pid_t pid = start_many();
	int r, tries = 0;

	CU_ASSERT_EQUAL_FATAL(pp_reader_new(&reader), 0);
	CU_ASSERT(vmas_soon(reader, pid, &first) > MANY);
	do
		r = pp_reader_vmas(reader, pid, 0, refuse, NULL);
	while (is_late(r, tries++));
	CU_ASSERT_EQUAL(r, -ENOSPC);
	CU_ASSERT(vmas_soon(reader, pid, &again) > MANY);
	CU_ASSERT_EQUAL(again.sum, first.sum);
	CU_ASSERT_EQUAL(pp_reader_vmas(reader, pid, 1, add, &again), -ETIME);
	CU_ASSERT(vmas_soon(reader, getpid(), &again) > 0);
	pp_reader_free(reader);
	end(pid);
}

/* The child of this process that is a reader. */
static pid_t find_child(void)
{
	pid_t *pids = NULL, found = 0;
	size_t cnt = 0;

	CU_ASSERT_EQUAL_FATAL(pp_proc_pids(0, &pids, &cnt), 0);
	for (size_t i = 0; i < cnt; i++) {
		struct pp_stat stat;

		if (!pp_proc_stat(pids[i], &stat) && stat.ppid == getpid() &&
		    !strcmp(stat.comm, "pathprof-read") && stat.state != 'Z')
			found = pids[i];
	}
	free(pids);
	return found;
}

/* A reader that was killed ends late on a busy machine. */
static void await_no_child(void)
{
	for (int i = 0; i < 6000 && find_child(); i++)
		usleep(10000);
}

static void test_replaced(void)
{
	struct sum told = {0};
	struct pp_reader *reader;
	uint64_t begin_ns;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pp_reader_new(&reader), 0);
	CU_ASSERT(vmas_soon(reader, getpid(), &told) > 0);
	child = find_child();
	CU_ASSERT_FATAL(child > 0);
	kill(child, SIGKILL);
	await_no_child();
	CU_ASSERT(vmas_soon(reader, getpid(), &told) > 0);
	child = find_child();
	CU_ASSERT_FATAL(child > 0);
	/* one that is stopped answers nothing, for which nobody is to blame */
	kill(child, SIGSTOP);
	begin_ns = pp_monotonic_ns();
	CU_ASSERT_EQUAL(pp_reader_vmas(reader, getpid(), 0, add, &told), -ETIME);
	CU_ASSERT(pp_monotonic_ns() - begin_ns >= 100000000);
	CU_ASSERT(vmas_soon(reader, getpid(), &told) > 0);
	CU_ASSERT_NOT_EQUAL(find_child(), child);
	pp_reader_free(reader);
	await_no_child();
	CU_ASSERT_EQUAL(find_child(), 0);
}

/* One user's tricks cost a tenth of the time, and that user's profile. */
static void test_waiting_bounded(void)
{
	pid_t offender = start_many(), other = start_many();
	struct sum told = {0};
	struct pp_reader *reader;
	uint64_t begin_ns;
	int r = 0;

	CU_ASSERT_FALSE(pp_silent_suspects(other));
	CU_ASSERT(pp_silent_blame(offender, PP_STEP_SILENT_SEIZE, "a test"));
	CU_ASSERT(pp_silent_suspects(other));
	CU_ASSERT_EQUAL_FATAL(pp_reader_new(&reader), 0);
	CU_ASSERT(vmas_soon(reader, other, &told) > MANY);
	begin_ns = pp_monotonic_ns();
	/* each stopped reader is waited for; on a slow machine the time for that is earned anew */
	for (int i = 0; i < 20 && r != -ETIMEDOUT; i++) {
		pid_t child = find_child();

		if (child > 0)
			kill(child, SIGSTOP);
		r = pp_reader_vmas(reader, other, 0, add, &told);
		CU_ASSERT(r == -ETIME || r == -ETIMEDOUT);
		r = pp_reader_vmas(reader, other, 0, add, &told);
	}
	/* twenty waits of a tenth of a second are a tenth of this: all of them were earned */
	CU_ASSERT(r == -ETIMEDOUT || pp_monotonic_ns() - begin_ns > 18000000000);
	for (int i = 0; i < 600 && (r == -ETIMEDOUT || r == -ETIME); i++) {
		usleep(100000);
		r = pp_reader_vmas(reader, other, 0, add, &told);
	}
	CU_ASSERT(r > MANY);
	pp_reader_free(reader);
	end(offender);
	end(other);
}

/* A reader whose requests come to the test. The reader's child sleeps, since it gets none. */
struct deaf {
	struct pp_reader *reader;
	int fd;     /* the reader's */
	int its;    /* the other end of that */
	int childs; /* kept open: the child's own socket, so that it goes on to wait */
};

/* The lowest number that is free: of the reader's socket, as soon as there is a child. */
static int lowest_free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	return fd;
}

static void start_deaf(struct deaf *deaf)
{
	struct sum told = {0};
	int ends[2], type = 0;
	socklen_t size = sizeof(type);

	CU_ASSERT_EQUAL_FATAL(pp_reader_new(&deaf->reader), 0);
	deaf->fd = lowest_free_fd();
	CU_ASSERT_FATAL(vmas_soon(deaf->reader, getpid(), &told) > 0);
	CU_ASSERT_EQUAL_FATAL(getsockopt(deaf->fd, SOL_SOCKET, SO_TYPE, &type, &size), 0);
	CU_ASSERT_EQUAL_FATAL(type, SOCK_SEQPACKET);
	deaf->childs = dup(deaf->fd);
	CU_ASSERT_FATAL(deaf->childs >= 0);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	CU_ASSERT_EQUAL_FATAL(dup2(ends[0], deaf->fd), deaf->fd);
	close(ends[0]);
	deaf->its = ends[1];
}

static void end_deaf(struct deaf *deaf)
{
	pp_reader_free(deaf->reader);
	close(deaf->its);
	close(deaf->childs);
}

/*
 * A request that is given up while the reader is at work: whose state cannot be read, as without a
 * free descriptor, does not sleep as far as the tracker knows.
 */
static int ask_at_work(const struct deaf *deaf, pid_t pid)
{
	int taken[64], cnt = 0, r;
	struct rlimit limit, few;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = (rlim_t)deaf->childs + 1;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (cnt < 64 && (taken[cnt] = dup(STDERR_FILENO)) >= 0)
		cnt++;
	CU_ASSERT(cnt < 64);
	r = pp_reader_look(deaf->reader, pid, 0, PAGE_BYTES);
	while (cnt > 0)
		close(taken[--cnt]);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return r;
}

/* An answer to the oldest request that came. */
static void answer(const struct deaf *deaf)
{
	struct pp_reader_request request = {0};
	struct pp_reader_head head = {.code = -ESRCH};

	CU_ASSERT_EQUAL_FATAL(recv(deaf->its, &request, sizeof(request), MSG_DONTWAIT),
			      (ssize_t)sizeof(request));
	head.number = request.number;
	CU_ASSERT_EQUAL(send(deaf->its, &head, sizeof(head), MSG_NOSIGNAL), (ssize_t)sizeof(head));
}

/* The process asked about last is not blamed while the reader is still at another. */
static void test_blames_oldest(void)
{
	pid_t oldest = start_many(), last = start_many();
	struct sum told = {0};
	struct deaf deaf;
	int r = -ETIMEDOUT;

	start_deaf(&deaf);
	CU_ASSERT_EQUAL(ask_at_work(&deaf, oldest), -ETIME);
	CU_ASSERT_FALSE(pp_silent_holds(oldest));
	CU_ASSERT_EQUAL(pp_reader_look(deaf.reader, last, 0, PAGE_BYTES), -ETIME);
	CU_ASSERT(pp_silent_holds(oldest));
	CU_ASSERT_FALSE(pp_silent_holds(last));
	/* another reader follows; a slow end of the first is paid for before that, by waiting */
	for (int i = 0; i < 600 && (r == -ETIMEDOUT || r == -ETIME); i++) {
		r = pp_reader_vmas(deaf.reader, last, 0, add, &told);
		if (r < 0)
			usleep(100000);
	}
	CU_ASSERT(r > MANY);
	end_deaf(&deaf);
	end(oldest);
	end(last);
}

/* Each answer passes the blame on to the next request, also when that was given up as well. */
static void test_blames_in_turn(void)
{
	pid_t first = start_many(), second = start_many(), last = start_many();
	struct deaf deaf;

	start_deaf(&deaf);
	CU_ASSERT_EQUAL(ask_at_work(&deaf, first), -ETIME);
	CU_ASSERT_EQUAL(ask_at_work(&deaf, second), -ETIME);
	answer(&deaf);
	CU_ASSERT_EQUAL(pp_reader_look(deaf.reader, last, 0, PAGE_BYTES), -ETIME);
	CU_ASSERT_FALSE(pp_silent_holds(first));
	CU_ASSERT(pp_silent_holds(second));
	CU_ASSERT_FALSE(pp_silent_holds(last));
	end_deaf(&deaf);
	end(first);
	end(second);
	end(last);
}

/* Once all that was given up is answered, it is the process asked about that is blamed. */
static void test_blames_asked(void)
{
	pid_t before = start_many(), asked = start_many();
	struct deaf deaf;

	start_deaf(&deaf);
	CU_ASSERT_EQUAL(ask_at_work(&deaf, before), -ETIME);
	answer(&deaf);
	CU_ASSERT_EQUAL(pp_reader_look(deaf.reader, asked, 0, PAGE_BYTES), -ETIMEDOUT);
	CU_ASSERT_FALSE(pp_silent_holds(before));
	CU_ASSERT(pp_silent_holds(asked));
	end_deaf(&deaf);
	end(before);
	end(asked);
}

static const struct unit_test tests[] = {
	{"mappings are those of a direct read, in as many answers as it takes",
	 test_same_as_direct},
	{"a file behind a mapping is told of, and handed over", test_files},
	{"an answer that was given up is not taken for another's", test_given_up},
	{"a reader that was killed or stopped is replaced", test_replaced},
	{"waiting for sleeping readers is bounded, at their users' cost", test_waiting_bounded},
	/* these blame, so they come after it */
	{"a reader that sleeps over a request given up before blames that one's process",
	 test_blames_oldest},
	{"the blame passes on with each answer", test_blames_in_turn},
	{"with no request left from before, the process asked about is blamed", test_blames_asked},
};

UNIT_SUITE(track_reader, tests)
