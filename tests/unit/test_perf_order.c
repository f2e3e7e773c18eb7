// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of records against an oracle that keeps everything: at the end of a round, what is not
 * newer than all that had come by the end of the round before, oldest first, in the order of the
 * file among equals.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../libprofile/src/format/pp_perf.h"
#include "unit.h"

#define RECORDS_MAX 40000

/* A record: header, its time, its number, and some more. */
struct made {
	uint32_t type;
	uint16_t misc, size;
	uint64_t time_ns, number;
	uint8_t rest[4096];
};

struct pair {
	uint64_t time_ns, number;
};

struct run {
	struct pp_perf_order order;
	struct pair waiting[RECORDS_MAX], wanted[RECORDS_MAX], got[RECORDS_MAX];
	size_t waiting_cnt, wanted_cnt, got_cnt;
	uint64_t limit_ns, newest_ns, file_at;
	bool in_file, planted;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static int on_record(void *context, const uint8_t *record, struct pathprof_error *error)
{
	struct run *run = context;
	struct pair pair = {pp_perf_u64(record + 8), pp_perf_u64(record + 16)};

	CU_ASSERT_FATAL(run->got_cnt < RECORDS_MAX);
	if (run->planted && run->got_cnt == 100)
		pair.number ^= 1;
	run->got[run->got_cnt++] = pair;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void oracle_deliver(struct run *run, uint64_t limit_ns)
{
	size_t kept = 0;

	qsort(run->waiting, run->waiting_cnt, sizeof(*run->waiting), by_time);
	for (size_t i = 0; i < run->waiting_cnt; i++)
		if (run->waiting[i].time_ns <= limit_ns)
			run->wanted[run->wanted_cnt++] = run->waiting[i];
		else
			run->waiting[kept++] = run->waiting[i];
	run->waiting_cnt = kept;
}

static void put(struct run *run, uint64_t time_ns, uint64_t number, uint16_t size)
{
	struct made made = {.type = 9, .size = size, .time_ns = time_ns, .number = number};
	uint64_t offset = PP_PERF_NOT_IN_FILE;
	int r;

	if (run->in_file) {
		offset = run->file_at;
		CU_ASSERT_EQUAL(pwrite(run->order.fd, &made, size, (off_t)offset), size);
		run->file_at += size;
	}
	r = pp_perf_order_put(&run->order, time_ns, (const uint8_t *)&made, offset);
	if (r == -ENOBUFS) {
		CU_ASSERT_EQUAL(pp_perf_order_half(&run->order, on_record, run, NULL), 0);
		r = pp_perf_order_put(&run->order, time_ns, (const uint8_t *)&made, offset);
	}
	CU_ASSERT_EQUAL_FATAL(r, 0);
	run->waiting[run->waiting_cnt++] = (struct pair){time_ns, number};
	if (time_ns > run->newest_ns)
		run->newest_ns = time_ns;
}

static void end_round(struct run *run)
{
	CU_ASSERT_EQUAL(pp_perf_order_round(&run->order, on_record, run, NULL), 0);
	oracle_deliver(run, run->limit_ns);
	run->limit_ns = run->newest_ns;
}

static void end_all(struct run *run)
{
	CU_ASSERT_EQUAL(pp_perf_order_all(&run->order, on_record, run, NULL), 0);
	oracle_deliver(run, UINT64_MAX);
}

static bool is_equal(const struct run *run)
{
	return run->got_cnt == run->wanted_cnt &&
	       memcmp(run->got, run->wanted, run->got_cnt * sizeof(*run->got)) == 0;
}

static struct run *new_run(void)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		abort();
	run->order.fd = -1;
	return run;
}

static void free_run(struct run *run)
{
	pp_perf_order_release(&run->order);
	free(run);
}

/* Runs of some CPUs, one after the other, in each round; sometimes any times at all. */
static void fill(struct run *run, uint64_t seed, bool wild)
{
	uint64_t state = seed, number = 0, base = 1000;

	for (int round = 0; round < 40; round++) {
		for (int cpu = 0; cpu < 5; cpu++) {
			uint64_t time = base, cnt = next_random(&state) % 60;

			for (uint64_t i = 0; i < cnt; i++) {
				time += next_random(&state) % 20;
				put(run, wild ? 1 + next_random(&state) % 500 : time, number++,
				    (uint16_t)(24 + next_random(&state) % 800));
			}
		}
		base += 400;
		end_round(run);
	}
	end_all(run);
}

static void test_rounds(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct run *run = new_run();

		fill(run, seed, seed % 4 == 0);
		CU_ASSERT(is_equal(run));
		CU_ASSERT(seed % 4 == 0 || run->order.late_cnt == 0);
		free_run(run);
	}
}

static void test_planted(void)
{
	struct run *run = new_run();

	run->planted = true;
	fill(run, 1, false);
	CU_ASSERT_FALSE(is_equal(run));
	free_run(run);
}

/* 20 MB in one round, newest first: memory holds 10. */
static void fill_memory(struct run *run)
{
	for (uint64_t i = 0; i < 10000; i++)
		put(run, 100000 - i / 3, i, 2000);
	end_all(run);
}

static void test_file(void)
{
	struct run *run = new_run();

	run->order.fd = memfd_create("order", MFD_CLOEXEC);
	run->in_file = true;
	CU_ASSERT_FATAL(run->order.fd >= 0);
	fill_memory(run);
	CU_ASSERT(is_equal(run));
	CU_ASSERT_EQUAL(run->order.late_cnt, 0);
	close(run->order.fd);
	free_run(run);
}

static void test_changed_file(void)
{
	struct run *run = new_run();
	struct pathprof_error error = {""};

	run->order.fd = memfd_create("order", MFD_CLOEXEC);
	run->in_file = true;
	CU_ASSERT_FATAL(run->order.fd >= 0);
	for (uint64_t i = 0; i < 10000; i++)
		put(run, 100000 + i, i, 2000);
	CU_ASSERT_EQUAL(ftruncate(run->order.fd, 100), 0);
	CU_ASSERT_EQUAL(pp_perf_order_all(&run->order, on_record, run, &error), -EBADMSG);
	CU_ASSERT_STRING_NOT_EQUAL(error.text, "");
	close(run->order.fd);
	free_run(run);
}

/* Nothing is lost, and what came too late is counted. */
static void test_no_file(void)
{
	struct run *run = new_run();
	uint64_t late = 0, newest = 0;

	fill_memory(run);
	CU_ASSERT_EQUAL(run->got_cnt, 10000);
	for (size_t i = 0; i < run->got_cnt; i++)
		if (run->got[i].time_ns < newest)
			late++;
		else
			newest = run->got[i].time_ns;
	CU_ASSERT(late > 0);
	CU_ASSERT_EQUAL(run->order.late_cnt, late);
	qsort(run->got, run->got_cnt, sizeof(*run->got), by_time);
	CU_ASSERT(is_equal(run));
	free_run(run);
}

/* Each run of a CPU of its own place in the file, more of them than pieces are kept. */
static void test_many_places(void)
{
	enum { CPUS = 150, EACH = 60 };
	struct run *run = new_run();
	uint64_t state = 7;

	run->order.fd = memfd_create("order", MFD_CLOEXEC);
	run->order.blocks_kept_back = PP_PERF_BLOCKS - 2;
	run->in_file = true;
	CU_ASSERT_FATAL(run->order.fd >= 0);
	for (uint64_t i = 0; i < CPUS * EACH; i++)
		put(run, 1000 + i % EACH * 100 + next_random(&state) % 100, i,
		    (uint16_t)(24 + next_random(&state) % 4000));
	end_all(run);
	CU_ASSERT(is_equal(run));
	CU_ASSERT_EQUAL(run->order.late_cnt, 0);
	close(run->order.fd);
	free_run(run);
}

static void test_until(void)
{
	struct run *run = new_run();
	uint64_t state = 3;

	for (uint64_t i = 0; i < 5000; i++) {
		put(run, 1 + i + next_random(&state) % 300, i, 64);
		if (i % 100 == 99) {
			CU_ASSERT_EQUAL(
				pp_perf_order_until(&run->order, i - 99, on_record, run, NULL), 0);
			oracle_deliver(run, i - 99);
			CU_ASSERT_EQUAL(run->got_cnt, run->wanted_cnt);
		}
	}
	CU_ASSERT(run->got_cnt > 4000 && run->got_cnt < 5000);
	end_all(run);
	CU_ASSERT(is_equal(run));
	CU_ASSERT_EQUAL(run->order.late_cnt, 0);
	free_run(run);
}

static const struct unit_test tests[] = {
	{"rounds set free what the one before had seen, oldest first", test_rounds},
	{"a record in the wrong place is noticed", test_planted},
	{"what memory does not hold comes from the file again", test_file},
	{"and from more places than pieces of it are kept", test_many_places},
	{"what is not newer than a limit goes, the rest stays", test_until},
	{"a file that changed meanwhile is an error", test_changed_file},
	{"without a file some of the order goes, counted, and no record", test_no_file},
};
UNIT_SUITE(perf_order, tests)
