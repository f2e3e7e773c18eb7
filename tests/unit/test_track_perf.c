// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf records: decoding of what is cut short or made up, order of time, CPUs that come and go. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/track/track_perf.h"
#include "run_true.h"
#include "unit.h"

/* A record as the kernel writes it. */
struct built {
	uint8_t bytes[512];
	size_t len_bytes;
};

static void append(struct built *built, const void *bytes, size_t len_bytes)
{
	memcpy(built->bytes + built->len_bytes, bytes, len_bytes);
	built->len_bytes += len_bytes;
}

static void begin(struct built *built, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	built->len_bytes = 0;
	append(built, &header, sizeof(header));
}

static void finish(struct built *built, uint64_t time_ns)
{
	uint32_t ids[2] = {7, 8}, cpu[2] = {0, 0};
	uint16_t size;

	append(built, ids, sizeof(ids));
	append(built, &time_ns, sizeof(time_ns));
	append(built, cpu, sizeof(cpu));
	size = (uint16_t)built->len_bytes;
	memcpy(built->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void build_map(struct built *built, bool flagged)
{
	uint32_t ids[2] = {100, 101}, tail[2] = {5, 2};
	uint64_t where[3] = {0x1000, 0x2000, 0x3000};
	uint8_t which[24] = {0};

	begin(built, PERF_RECORD_MMAP2, flagged ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	append(built, ids, sizeof(ids));
	append(built, where, sizeof(where));
	which[0] = 0xfe;
	which[4] = 0x11;
	which[8] = 0x22;
	append(built, which, sizeof(which));
	append(built, tail, sizeof(tail));
	append(built, "/lib/x\0", 8);
	finish(built, 55);
}

static void test_map(void)
{
	struct built built;
	struct pp_perf_record record;

	build_map(&built, false);
	CU_ASSERT_EQUAL_FATAL(pp_perf_decode(built.bytes, built.len_bytes, &record), 0);
	CU_ASSERT_EQUAL(record.kind, PP_PERF_MAP);
	CU_ASSERT_EQUAL(record.pid, 100);
	CU_ASSERT_EQUAL(record.time_ns, 55);
	CU_ASSERT_EQUAL(record.vma.start, 0x1000);
	CU_ASSERT_EQUAL(record.vma.end, 0x3000);
	CU_ASSERT_EQUAL(record.vma.offset, 0x3000);
	CU_ASSERT_STRING_EQUAL(record.vma.name, "/lib/x");
	/* The flag may be somebody else's. */
	build_map(&built, true);
	CU_ASSERT_EQUAL_FATAL(pp_perf_decode(built.bytes, built.len_bytes, &record), 0);
	CU_ASSERT_EQUAL(record.vma.dev_major, 0xfe);
	CU_ASSERT_EQUAL(record.vma.dev_minor, 0x11);
	CU_ASSERT_EQUAL(record.vma.inode, 0x22);
}

static void test_tasks(void)
{
	uint32_t ids[4] = {10, 9, 12, 11};
	uint64_t time_ns = 3, lost[2] = {1, 42};
	struct built built;
	struct pp_perf_record record;

	begin(&built, PERF_RECORD_FORK, 0);
	append(&built, ids, sizeof(ids));
	append(&built, &time_ns, sizeof(time_ns));
	finish(&built, 4);
	CU_ASSERT_EQUAL_FATAL(pp_perf_decode(built.bytes, built.len_bytes, &record), 0);
	CU_ASSERT(record.kind == PP_PERF_FORK && record.pid == 10 && record.parent_pid == 9 &&
		  record.tid == 12);
	begin(&built, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	append(&built, ids, 8);
	append(&built, "true\0\0\0", 8);
	finish(&built, 5);
	CU_ASSERT_EQUAL_FATAL(pp_perf_decode(built.bytes, built.len_bytes, &record), 0);
	CU_ASSERT(record.kind == PP_PERF_EXEC && record.pid == 10);
	CU_ASSERT_STRING_EQUAL(record.comm, "true");
	begin(&built, PERF_RECORD_LOST, 0);
	append(&built, lost, sizeof(lost));
	finish(&built, 6);
	CU_ASSERT_EQUAL_FATAL(pp_perf_decode(built.bytes, built.len_bytes, &record), 0);
	CU_ASSERT(record.kind == PP_PERF_LOST && record.lost_cnt == 42);
	begin(&built, 999, 0);
	finish(&built, 7);
	CU_ASSERT_EQUAL_FATAL(pp_perf_decode(built.bytes, built.len_bytes, &record), 0);
	CU_ASSERT_EQUAL(record.kind, PP_PERF_OTHER);
}

/* In memory of exactly its length, so that the sanitizer sees a read beyond. */
static int decode_exact(const void *bytes, size_t len_bytes, struct pp_perf_record *record)
{
	void *copy = malloc(len_bytes ? len_bytes : 1);
	int r;

	if (!copy)
		abort();
	memcpy(copy, bytes, len_bytes);
	r = pp_perf_decode(copy, len_bytes, record);
	free(copy);
	return r;
}

static void test_cut_short(void)
{
	struct pp_perf_record record = {.pid = -7};
	struct built built;

	build_map(&built, true);
	for (size_t len = 0; len < built.len_bytes; len++) {
		uint16_t size = (uint16_t)len;
		uint8_t bytes[512];

		memcpy(bytes, built.bytes, built.len_bytes);
		CU_ASSERT_EQUAL(decode_exact(bytes, len, &record), -EINVAL);
		memcpy(bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
		/* Cut inside the padding of the name it is still a record. */
		if (len < built.len_bytes - 1)
			CU_ASSERT_EQUAL(decode_exact(bytes, len, &record), -EINVAL);
	}
	CU_ASSERT_EQUAL(record.pid, -7);
}

/* Random bytes cause no read beyond them (the sanitizer checks); accepted records make sense. */
static void test_random_bytes(void)
{
	uint64_t random = 1;
	unsigned int taken = 0;

	for (int round = 0; round < 200000; round++) {
		static const uint32_t types[] = {PERF_RECORD_MMAP2, PERF_RECORD_COMM,
						 PERF_RECORD_FORK,  PERF_RECORD_EXIT,
						 PERF_RECORD_LOST,  77};
		struct built built;
		struct pp_perf_record record;
		uint64_t word;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		begin(&built, types[(random >> 33) % 6], (uint16_t)(random >> 40));
		for (uint64_t i = (random >> 50) % 20; i; i--) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			word = random >> 60 ? random : 0;
			append(&built, &word, sizeof(word));
		}
		finish(&built, 1);
		if (decode_exact(built.bytes, built.len_bytes, &record))
			continue;
		taken++;
		if (record.kind == PP_PERF_MAP)
			CU_ASSERT(record.vma.start < record.vma.end);
	}
	CU_ASSERT(taken > 1000);
}

static void test_cpu_lists(void)
{
	static const char *const bad[] = {"x", "-1",  "1-",  "2-1", "1,,2",
					  "8", "1-8", "1 2", "1--2"};
	bool is_on[8];

	CU_ASSERT_EQUAL(pp_perf_parse_cpus("0-1,4,6-7\n", is_on, 8), 0);
	CU_ASSERT(is_on[0] && is_on[1] && !is_on[2] && !is_on[3] && is_on[4] && !is_on[5] &&
		  is_on[6] && is_on[7]);
	CU_ASSERT_EQUAL(pp_perf_parse_cpus("", is_on, 8), 0);
	CU_ASSERT(!is_on[0]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(pp_perf_parse_cpus(bad[i], is_on, 8), -EINVAL);
}

/* ---------------------------------------------------------------- live */

struct seen {
	uint64_t last_ns;
	unsigned int cnt, unsorted;
	pid_t pid;
	bool has_fork, has_exec, has_exit, has_lost;
};

static void look(void *context, const struct pp_perf_record *record)
{
	struct seen *seen = context;

	seen->cnt++;
	seen->unsorted += record->time_ns < seen->last_ns;
	seen->last_ns = record->time_ns;
	seen->has_lost = seen->has_lost || record->kind == PP_PERF_LOST;
	if (record->pid != seen->pid)
		return;
	seen->has_fork = seen->has_fork || record->kind == PP_PERF_FORK;
	seen->has_exec = seen->has_exec || record->kind == PP_PERF_EXEC;
	seen->has_exit = seen->has_exit || record->kind == PP_PERF_EXIT;
}

static struct pp_perf *open_or_skip(const char *cpus)
{
	struct pathprof_error error;
	struct pp_perf *perf;

	if (pp_perf_open(&perf, 0, cpus, &error)) {
		unit_skip(error.text);
		return NULL;
	}
	return perf;
}

/*
 * The life of a short program, complete. Others of a busy machine may fill the kernel's ring, which
 * then loses records, and says so with a later one.
 */
static bool sees_life(struct pp_perf *perf, struct seen *seen)
{
	bool was_pending;

	seen->pid = run_true();
	seen->has_fork = seen->has_exec = seen->has_exit = seen->has_lost = false;
	CU_ASSERT_EQUAL(pp_perf_drain(perf), 0);
	was_pending = pp_perf_is_pending(perf, seen->pid);
	pp_perf_apply(perf, SIZE_MAX, look, seen);
	CU_ASSERT(!pp_perf_is_pending(perf, seen->pid));
	return was_pending && seen->has_fork && seen->has_exec && seen->has_exit;
}

static bool is_told_of_loss(struct pp_perf *perf, struct seen *seen)
{
	for (int i = 0; i < 100 && !seen->has_lost; i++) {
		run_true();
		CU_ASSERT_EQUAL(pp_perf_drain(perf), 0);
		pp_perf_apply(perf, SIZE_MAX, look, seen);
	}
	return seen->has_lost;
}

static void test_order_of_time(void)
{
	struct pp_perf *perf = open_or_skip(NULL);
	struct seen seen = {0};

	if (!perf)
		return;
	for (int whole = 0, tries = 0; whole < 100 && tries < 1000; tries++) {
		if (sees_life(perf, &seen))
			whole++;
		else
			CU_ASSERT_FATAL(is_told_of_loss(perf, &seen));
	}
	/* Each: fork, exec, two mappings at least, exit. */
	CU_ASSERT(seen.cnt >= 500);
	CU_ASSERT_EQUAL(seen.unsorted, 0);
	pp_perf_free(perf);
}

static void *do_nothing(void *nothing)
{
	return nothing;
}

/* A program that starts threads all the time could never be read from /proc otherwise. */
static void test_threads(void)
{
	struct pp_perf *perf = open_or_skip(NULL);
	struct seen seen = {.pid = getpid()};
	pthread_t thread;

	if (!perf)
		return;
	/* a busy machine's ring may be full */
	for (int i = 0; i < 1000 && !seen.has_fork; i++) {
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, do_nothing, NULL), 0);
		CU_ASSERT_EQUAL_FATAL(pthread_join(thread, NULL), 0);
		CU_ASSERT_EQUAL(pp_perf_drain(perf), 0);
		CU_ASSERT(!pp_perf_is_pending(perf, seen.pid));
		pp_perf_apply(perf, SIZE_MAX, look, &seen);
	}
	CU_ASSERT(seen.has_fork);
	pp_perf_free(perf);
}

/* The lives of twenty programs, three records at a time; false: some of the last one's were lost.
 */
static bool sees_slices(struct pp_perf *perf, struct seen *seen)
{
	uint32_t before = 0;

	*seen = (struct seen){0};
	for (int i = 0; i < 20; i++)
		seen->pid = run_true();
	CU_ASSERT_EQUAL(pp_perf_drain(perf), 0);
	for (; pp_perf_is_ready(perf); before = seen->cnt) {
		pp_perf_apply(perf, 3, look, seen);
		CU_ASSERT_FATAL(seen->cnt <= before + 3);
	}
	CU_ASSERT_EQUAL(seen->unsorted, 0);
	return seen->cnt >= 100 && seen->has_fork && seen->has_exec && seen->has_exit;
}

/* A few at a time they come in the same order; what is thrown away is counted and gone. */
static void test_slices(void)
{
	struct pp_perf *perf = open_or_skip(NULL);
	struct seen seen = {0};

	if (!perf)
		return;
	while (!sees_slices(perf, &seen))
		CU_ASSERT_FATAL(is_told_of_loss(perf, &seen));

	run_true();
	CU_ASSERT_EQUAL(pp_perf_drain(perf), 0);
	seen.pid = run_true();
	CU_ASSERT(pp_perf_discard(perf) >= 10);
	CU_ASSERT(!pp_perf_is_ready(perf));
	seen.has_fork = seen.has_exec = seen.has_exit = false;
	CU_ASSERT_EQUAL(pp_perf_drain(perf), 0);
	pp_perf_apply(perf, SIZE_MAX, look, &seen);
	CU_ASSERT(!seen.has_fork && !seen.has_exec && !seen.has_exit);
	pp_perf_free(perf);
}

static void test_cpus_come_and_go(void)
{
	struct pp_perf *perf;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		unit_skip("needs two CPUs");
		return;
	}
	perf = open_or_skip("0");
	if (!perf)
		return;
	CU_ASSERT_EQUAL(pp_perf_cpu_cnt(perf), 1);
	CU_ASSERT_EQUAL(pp_perf_update_cpus(perf, "0-1\n"), 1);
	CU_ASSERT_EQUAL(pp_perf_cpu_cnt(perf), 2);
	CU_ASSERT_EQUAL(pp_perf_update_cpus(perf, "0-1\n"), 0);
	CU_ASSERT_EQUAL(pp_perf_update_cpus(perf, "1"), 0);
	CU_ASSERT_EQUAL(pp_perf_cpu_cnt(perf), 1);
	CU_ASSERT_EQUAL(pp_perf_update_cpus(perf, "rubbish"), -EINVAL);
	CU_ASSERT_EQUAL(pp_perf_cpu_cnt(perf), 1);
	pp_perf_free(perf);
}

/* The message names the limit of open files, and no capability, since that would not help. */
static void test_no_descriptor_left(void)
{
	int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct pathprof_error error = {""};
	struct rlimit limit, low;
	struct pp_perf *perf;
	int r;

	if (pp_perf_open(&perf, getpid(), NULL, &error)) {
		close(lowest);
		unit_skip(error.text);
		return;
	}
	pp_perf_free(perf);
	close(lowest);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = (struct rlimit){(rlim_t)lowest + 1, limit.rlim_max};
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &low), 0);
	r = pp_perf_open(&perf, getpid(), NULL, &error);
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CU_ASSERT_EQUAL(r, -EMFILE);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "ulimit -n"));
	CU_ASSERT_PTR_NULL(strstr(error.text, "CAP_PERFMON"));
}

/* Stops an event and starts it again, as the kernel does when its CPU goes offline and online. */
static void test_event_that_stands_still(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		unit_skip("perf_event_open");
		return;
	}
	CU_ASSERT(pp_perf_event_goes_on(fd));
	CU_ASSERT_EQUAL(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	CU_ASSERT(!pp_perf_event_goes_on(fd));
	CU_ASSERT_EQUAL(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	CU_ASSERT(pp_perf_event_goes_on(fd));
	close(fd);
	CU_ASSERT(!pp_perf_event_goes_on(-1));
}

static const struct unit_test tests[] = {
	{"a mapping is decoded, with and without build-id", test_map},
	{"fork, exec and lost records are decoded", test_tasks},
	{"a record cut short anywhere is refused", test_cut_short},
	{"random bytes are refused or make sense", test_random_bytes},
	{"lists of CPUs are read", test_cpu_lists},
	{"records of all CPUs come in the order of time, none missing", test_order_of_time},
	{"records are handed out a few at a time, or thrown away", test_slices},
	{"threads that begin and end are not the life of their process", test_threads},
	{"CPUs may come and go", test_cpus_come_and_go},
	{"an event that was stopped is told from one that counts", test_event_that_stands_still},
	{"too many descriptors are no want of rights", test_no_descriptor_left},
};
UNIT_SUITE(track_perf, tests)
