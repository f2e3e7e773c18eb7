// SPDX-License-Identifier: GPL-2.0-or-later
/* perf map files against a naive oracle: the last line that covers an address. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/track/track_jit.h"
#include "unit.h"

static struct pp_jit_budget the_budget;

static struct pp_jit_budget *new_budget(void)
{
	the_budget = (struct pp_jit_budget){.bytes = 0};
	return &the_budget;
}

static void add(struct pp_jit *jit, const char *text)
{
	size_t used_bytes = 0;

	/* Refill the time: a busy machine may have taken all of it from us. */
	the_budget.last_ns = 0;
	CU_ASSERT_EQUAL(pp_jit_add(jit, text, strlen(text), &used_bytes), 0);
	CU_ASSERT_EQUAL(used_bytes, strlen(text));
}

/* The name that is found in the time that is left. */
static const char *known_at(struct pp_jit *jit, uint64_t address)
{
	static struct pp_jit_symbol symbol;

	return pp_jit_find(jit, address, &symbol) ? "" : symbol.name;
}

/* The name, with all of the time: a machine that stands still for a tenth of a second takes it. */
static const char *name_at(struct pp_jit *jit, uint64_t address)
{
	the_budget.last_ns = 0;
	return known_at(jit, address);
}

static void test_lines(void)
{
	struct pp_jit *jit;
	struct pp_jit_symbol symbol;

	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, new_budget()), 0);
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0, &symbol), -ENOENT);
	add(jit, "1000 20 first function\n0x2000 0x10 second\n");
	CU_ASSERT_EQUAL_FATAL(pp_jit_find(jit, 0x101f, &symbol), 0);
	CU_ASSERT_STRING_EQUAL(symbol.name, "first function");
	CU_ASSERT_EQUAL(symbol.start, 0x1000);
	CU_ASSERT_EQUAL(symbol.len_bytes, 0x20);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x2000), "second");
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0x1020, &symbol), -ENOENT);
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0xfff, &symbol), -ENOENT);
	pp_jit_free(jit);
}

static void test_hostile_lines(void)
{
	struct pp_jit *jit;
	struct pp_jit_symbol symbol;
	size_t used_bytes;
	static char line[5000];

	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, new_budget()), 0);
	add(jit, "\n \nx\n10\n10 \n10 20\n10 20 \n10 0 empty\n-10 20 a\n"
		 "fffffffffffffff0 20 wraps\n00000000000000010 20 long\n10  20 two blanks\n"
		 "10 20\ttab\n0x 20 none\n");
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0x10, &symbol), -ENOENT);
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0xfffffffffffffff0, &symbol), -ENOENT);
	CU_ASSERT_EQUAL(pp_jit_add(jit, "10 1 \0\x1b[1m\n", 11, &used_bytes), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "??[1m");
	memset(line, 'n', 5000);
	line[0] = '3';
	line[1] = '0';
	line[2] = line[4] = ' ';
	line[3] = '1';
	line[4998] = '\n';
	CU_ASSERT_EQUAL(pp_jit_add(jit, line, 5000, &used_bytes), 0);
	CU_ASSERT_EQUAL(used_bytes, 4999);
	CU_ASSERT_EQUAL(strlen(name_at(jit, 0x30)), 1023);
	add(jit, "0 ffffffffffffffff all\n");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0xfffffffffffffffe), "all");
	pp_jit_free(jit);
}

/* ---------------------------------------------------------------- the budget */

/* Lines until there is no more memory for them; so many. */
static size_t fill(struct pp_jit *jit)
{
	static char text[6 * 10000];
	size_t cnt = 0, used_bytes;
	int r = 0;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "1 1 a\n"[i % 6];
	while (!r && cnt < 100000000) {
		r = pp_jit_add(jit, text, sizeof(text), &used_bytes);
		cnt += used_bytes / 6;
	}
	CU_ASSERT_EQUAL(r, -ENOSPC);
	return cnt;
}

static void test_memory_is_bounded(void)
{
	struct pp_jit_budget *budget = new_budget();
	struct pp_jit *maps[12];
	size_t cnt = 0;

	for (size_t i = 0; i < 12; i++) {
		CU_ASSERT_EQUAL_FATAL(pp_jit_new(&maps[i], budget), 0);
		cnt += fill(maps[i]);
		CU_ASSERT(budget->bytes <= PP_JIT_BYTES_MAX);
		CU_ASSERT(budget->bytes <= (i + 1) * PP_JIT_MAP_BYTES_MAX);
	}
	CU_ASSERT(cnt > 100000);
	CU_ASSERT_STRING_EQUAL(name_at(maps[0], 1), "a");
	CU_ASSERT(budget->refused >= 12);
	/* the end of one leaves room for another */
	pp_jit_free(maps[0]);
	CU_ASSERT(fill(maps[11]) > 10000);
	for (size_t i = 1; i < 12; i++)
		pp_jit_free(maps[i]);
	CU_ASSERT_EQUAL(budget->bytes, 0);
	CU_ASSERT_PTR_NULL(budget->maps);
}

/* Room for a part of what lines take is none: nothing is taken. */
static void test_nothing_is_taken_for_nothing(void)
{
	const uint64_t bytes = PP_JIT_BYTES_MAX - 10000;
	struct pp_jit_budget *budget = new_budget();
	struct pp_jit *jit;
	size_t used_bytes;

	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, budget), 0);
	budget->bytes = bytes;
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(pp_jit_add(jit, "1 1 a\n", 6, &used_bytes), -ENOSPC);
	CU_ASSERT_EQUAL(budget->bytes, bytes);
	budget->bytes = 0;
	add(jit, "1 1 a\n");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 1), "a");
	pp_jit_free(jit);
	CU_ASSERT_EQUAL(budget->bytes, 0);
}

#define MANY 16

static void test_idle_maps_make_room(void)
{
	struct pp_jit_budget *budget = new_budget();
	struct pp_jit *maps[MANY], *late;

	budget->idle_ns = INT64_MAX;
	/* the last ones find little more than room for a name */
	for (size_t i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL_FATAL(pp_jit_new(&maps[i], budget), 0);
		fill(maps[i]);
	}
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&late, budget), 0);
	CU_ASSERT(fill(late) < 1000);
	budget->idle_ns = 1;
	CU_ASSERT(fill(late) > 10000);
	/* the one that nobody has asked for longest */
	CU_ASSERT_STRING_EQUAL(name_at(maps[0], 1), "");
	CU_ASSERT_STRING_EQUAL(name_at(late, 1), "a");
	for (size_t i = 0; i < MANY; i++)
		pp_jit_free(maps[i]);
	pp_jit_free(late);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void exhaust(struct pp_jit_budget *budget)
{
	budget->last_ns = clock_ns(CLOCK_MONOTONIC);
	budget->left_ns = -INT64_C(1000000000000);
}

static void test_no_time_left(void)
{
	struct pp_jit_budget *budget = new_budget();
	struct pp_jit_symbol symbol;
	struct pp_jit *jit;
	uint64_t begin_ns;

	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, budget), 0);
	add(jit, "10 10 one\n");
	exhaust(budget);
	CU_ASSERT_EQUAL(pp_jit_find(jit, 0x10, &symbol), -EAGAIN);
	CU_ASSERT_EQUAL(budget->postponed, 1);
	budget->left_ns = 1000000;
	CU_ASSERT_STRING_EQUAL(known_at(jit, 0x10), "one");
	add(jit, "20 10 two\n");
	exhaust(budget);
	CU_ASSERT_STRING_EQUAL(known_at(jit, 0x10), "one");
	CU_ASSERT_STRING_EQUAL(known_at(jit, 0x20), "");
	/* it comes back by and by, and work takes of it */
	budget->left_ns = 0;
	budget->last_ns -= 1000000000;
	begin_ns = budget->last_ns;
	CU_ASSERT_STRING_EQUAL(known_at(jit, 0x20), "two");
	CU_ASSERT(budget->left_ns <
		  (int64_t)((budget->last_ns - begin_ns) * PP_JIT_TIME_PPM / 1000000));
	pp_jit_free(jit);
}

/* ---------------------------------------------------------------- oracle */

#define LINE_CNT    60
#define ADDRESS_CNT 400

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

/* Adds LINE_CNT random lines; names[address] is the number of the last line that covers it. */
static void add_random(struct pp_jit *jit, uint64_t *random, int first, int *names)
{
	for (int i = first; i < first + LINE_CNT; i++) {
		uint32_t start = next_random(random) % (ADDRESS_CNT - 50);
		uint32_t len = 1 + next_random(random) % 50;
		char line[64];

		snprintf(line, sizeof(line), "%x %x %d\n", start, len, i);
		add(jit, line);
		for (uint32_t at = start; at < start + len; at++)
			names[at] = i;
	}
}

static unsigned int count_wrong(struct pp_jit *jit, const int *names)
{
	unsigned int wrong = 0;

	for (uint32_t at = 0; at < ADDRESS_CNT; at++) {
		const char *name = name_at(jit, at);

		wrong += (*name ? atoi(name) : -1) != names[at];
	}
	return wrong;
}

static void test_last_line_wins(void)
{
	uint64_t random = 1;
	unsigned int wrong = 0;

	for (int round = 0; round < 500; round++) {
		int names[ADDRESS_CNT];
		struct pp_jit *jit;

		memset(names, 0xff, sizeof(names));
		CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, new_budget()), 0);
		add_random(jit, &random, 0, names);
		wrong += count_wrong(jit, names);
		add_random(jit, &random, LINE_CNT, names);
		wrong += count_wrong(jit, names);
		/* The fault: an oracle that forgot one address. */
		names[200] = names[200] < 0 ? 0 : -1;
		CU_ASSERT_EQUAL(count_wrong(jit, names), 1);
		pp_jit_free(jit);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* ---------------------------------------------------------------- files */

static char map_path[64];

/* A busy machine may take all of the time from one reading: the next goes on with all of it. */
static int refresh(struct pp_jit *jit)
{
	int r = -EAGAIN;

	for (int i = 0; i < 1000 && r == -EAGAIN; i++) {
		the_budget.last_ns = 0;
		r = pp_jit_refresh(jit, getpid(), 0);
	}
	return r;
}

static void write_map(const char *mode, const char *text)
{
	FILE *file = fopen(map_path, mode);

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static void test_file_is_followed(void)
{
	struct pp_jit *jit;
	int r;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	unlink(map_path);
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, new_budget()), 0);
	r = pp_jit_refresh(jit, getpid(), 0);
	CU_ASSERT_EQUAL(r, -ENOENT);
	write_map("w", "10 10 one\n20 10 tw");
	CU_ASSERT_EQUAL(refresh(jit), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "one");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x20), "");
	write_map("a", "o\n");
	CU_ASSERT_EQUAL(refresh(jit), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x20), "two");
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), INT64_MAX), -ESTALE);
	write_map("w", "30 1 new\n");
	CU_ASSERT_EQUAL(refresh(jit), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x30), "new");
	unlink(map_path);
	pp_jit_free(jit);
}

/* Lines of a function each, in no order. */
static void write_large(const char *path, unsigned int line_cnt)
{
	FILE *file = fopen(path, "we");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	for (unsigned int i = 0; i < line_cnt; i++)
		fprintf(file, "%x 20 function_%u\n", i * 2654435761u >> 4 << 4, i);
	fclose(file);
}

/* The file takes the map's name; the map is refreshed and asked. The CPU time of that. */
static uint64_t replace_and_look(struct pp_jit *jit, const char *file)
{
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct pp_jit_symbol symbol;

	unlink(map_path);
	CU_ASSERT_EQUAL(link(file, map_path), 0);
	(void)pp_jit_refresh(jit, getpid(), 0);
	(void)pp_jit_find(jit, 0x10, &symbol);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

/* The CPU time of a look that finds no time for reading: calls are dear on one machine or other. */
static uint64_t look_ns(struct pp_jit *jit, const char *file)
{
	uint64_t sum_ns = 0;

	for (int i = 0; i < 20; i++) {
		exhaust(&the_budget);
		sum_ns += replace_and_look(jit, file);
	}
	return sum_ns / 20;
}

/* Two large maps that take turns at one name, as fast as they are read. */
static void test_replaced_without_end(void)
{
	struct pp_jit_budget *budget = new_budget();
	char one[sizeof(map_path) + 8], two[sizeof(map_path) + 8];
	uint64_t begin_ns, back_ns, looks_ns, cpu_ns = 0, longest_ns = 0, cnt = 0;
	struct pp_jit *jit;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	snprintf(one, sizeof(one), "%s.one", map_path);
	snprintf(two, sizeof(two), "%s.two", map_path);
	write_large(one, 200000);
	write_large(two, 200000);
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, budget), 0);
	looks_ns = look_ns(jit, one);
	budget->last_ns = budget->postponed = 0;
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	for (; cnt < 6 || clock_ns(CLOCK_MONOTONIC) - begin_ns < 2000000000; cnt++) {
		uint64_t took_ns = replace_and_look(jit, cnt % 2 ? one : two);

		cpu_ns += took_ns;
		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
		usleep(10000);
	}
	looks_ns *= 2 * cnt;
	back_ns = (clock_ns(CLOCK_MONOTONIC) - begin_ns) * PP_JIT_TIME_PPM / 1000000;
	CU_ASSERT(budget->postponed > 0);
	/* at once, what came back, the last piece of work, slow as it may be, and the looks */
	CU_ASSERT(cpu_ns < PP_JIT_TIME_MAX_NS + back_ns + longest_ns + looks_ns + 300000000);
	unlink(map_path);
	unlink(one);
	unlink(two);
	pp_jit_free(jit);
}

static void test_line_without_end(void)
{
	struct pp_jit *jit;
	FILE *file;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	file = fopen(map_path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs("10 10 before\n20 10 ", file);
	for (int i = 0; i < 300000; i++)
		fputc('n', file);
	fputs("\n30 10 behind\n", file);
	fclose(file);
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, new_budget()), 0);
	CU_ASSERT_EQUAL(refresh(jit), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "before");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x20), "");
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x30), "behind");
	unlink(map_path);
	pp_jit_free(jit);
}

static void test_file_of_another_user(void)
{
	struct pp_jit *jit;

	if (geteuid() != 0) {
		unit_skip("needs root to give a file away");
		return;
	}
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	write_map("w", "10 10 forged\n");
	CU_ASSERT_EQUAL(chown(map_path, 65534, 65534), 0);
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, new_budget()), 0);
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), 0), -EPERM);
	unlink(map_path);
	CU_ASSERT_EQUAL(mkfifo(map_path, 0600), 0);
	CU_ASSERT_EQUAL(pp_jit_refresh(jit, getpid(), 0), -EINVAL);
	unlink(map_path);
	pp_jit_free(jit);
}

/* A map file that is written when the process ends, as by Java's -XX:+DumpPerfMapAtExit. */
static void test_file_written_at_the_end(void)
{
	struct pp_jit *jit;
	int go[2];
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		char byte;
		FILE *file;

		close(go[1]);
		snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
		file = read(go[0], &byte, 1) == 0 ? fopen(map_path, "we") : NULL;
		_exit(!file || fputs("10 10 last\n", file) < 0 || fclose(file));
	}
	CU_ASSERT_FATAL(pid > 0);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", pid);
	CU_ASSERT_EQUAL_FATAL(pp_jit_new(&jit, new_budget()), 0);
	CU_ASSERT_EQUAL(pp_jit_watch(jit, pid, 0), -ENOENT);
	CU_ASSERT_EQUAL(pp_jit_watch(jit, pid, 0), -ENOENT);
	CU_ASSERT_EQUAL(the_budget.files, 1);
	close(go[0]);
	close(go[1]);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
	CU_ASSERT_EQUAL(pp_jit_refresh_last(jit), 0);
	CU_ASSERT_STRING_EQUAL(name_at(jit, 0x10), "last");
	CU_ASSERT_EQUAL(the_budget.files, 0);
	CU_ASSERT_EQUAL(pp_jit_refresh_last(jit), -ENOENT);
	unlink(map_path);
	pp_jit_free(jit);
}

static const struct unit_test tests[] = {
	{"a symbol covers its addresses and no other", test_lines},
	{"what is no symbol line is passed over", test_hostile_lines},
	{"the memory of all maps together is bounded", test_memory_is_bounded},
	{"what there is no room for takes none", test_nothing_is_taken_for_nothing},
	{"maps that nobody asks for make room for others", test_idle_maps_make_room},
	{"without time what is known already is known", test_no_time_left},
	{"the last line that covers an address wins", test_last_line_wins},
	{"a file is followed as it grows, and read anew when replaced", test_file_is_followed},
	{"a file that is replaced without end takes no more time", test_replaced_without_end},
	{"a line without an end is passed over", test_line_without_end},
	{"a file that a process writes when it ends is read", test_file_written_at_the_end},
	{"another user's file and a pipe are refused", test_file_of_another_user},
};
UNIT_SUITE(track_jit, tests)
