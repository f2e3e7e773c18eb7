// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rolling: windows of an hour summed up. Sums are those that SQL finds before it, what a host would
 * send again is nothing, and whoever is killed in the midst leaves one or the other.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "pathprof/parcel_store.h"

#define WINDOW_S 60
#define PATHS    40
#define HOUR_S   3600ll
#define NEVER_S  (1ll << 40)

/* Windows `first` to last - 1 of a host's own store, one a minute. */
static void record(struct pathprof_store *store, uint64_t first, uint64_t last)
{
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 8 << 20), 0);
	for (uint64_t k = first; k < last; k++) {
		world_window(&profile, k, (int64_t)k * WINDOW_S * 1000000000, PATHS);
		profile.totals.stopped_ns = k;
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, NULL, NULL), 0);
	}
	pathprof_profile_release(&profile);
}

static int add_parcel(struct pathprof_store *fleet, struct pathprof_parcel *parcel,
		      const char *host, enum pathprof_parcel_added *ret_added)
{
	struct pathprof_error error = {""};

	snprintf(parcel->host.name, sizeof(parcel->host.name), "%s", host);
	return pathprof_store_add_parcel(fleet, parcel, ret_added, &error);
}

struct sending {
	struct pathprof_store *from, *to;
	const char *host;
};

static int send_slot(void *context, const struct pathprof_slot_row *row)
{
	const struct sending *sending = context;
	enum pathprof_parcel_added added;
	struct pathprof_parcel parcel;

	CU_ASSERT_EQUAL_FATAL(pathprof_store_parcel(sending->from, row->slot_s, &parcel, NULL), 0);
	CU_ASSERT_EQUAL(add_parcel(sending->to, &parcel, sending->host, &added), 0);
	pathprof_parcel_release(&parcel);
	return 0;
}

static void send_all(struct pathprof_store *from, struct pathprof_store *to, const char *host)
{
	struct sending sending = {from, to, host};

	CU_ASSERT_EQUAL(pathprof_store_slots(from, NULL, send_slot, &sending, NULL), 0);
}

/* ---------------------------------------------------------------- sums, by SQL */

/* Known of the sum where it is known of all windows. */
#define SQUARES "CASE WHEN count(c.squares) = count(*) THEN sum(c.squares) END"

static const char *const sums[] = {
	"SELECT hex(b.build_id), t.start, t.length, t.outcomes, p.comm, p.container,"
	" sum(c.samples), " SQUARES ", printf('%.9e', total(c.weight))"
	" FROM path_counts c JOIN paths t ON t.id = c.path JOIN binaries b ON b.id = t.binary"
	" JOIN processes p ON p.id = c.process GROUP BY 1, 2, 3, 4, 5, 6",
	"SELECT hex(f.build_id), e.from_offset, hex(b.build_id), e.to_offset, p.comm, p.container,"
	" sum(c.count), sum(c.mispredicted), printf('%.9e', total(coalesce(c.weight, c.count))) "
	"FROM"
	" edge_counts c JOIN edges e ON e.id = c.edge JOIN binaries f ON f.id = e.from_binary"
	" JOIN binaries b ON b.id = e.to_binary JOIN processes p ON p.id = c.process"
	" GROUP BY 1, 2, 3, 4, 5, 6",
	"SELECT coalesce(hex(b.build_id), ''), c.place, p.comm, p.container, sum(c.samples) FROM"
	" clock_counts c LEFT JOIN binaries b ON b.id = c.binary JOIN processes p"
	" ON p.id = c.process GROUP BY 1, 2, 3, 4",
	"SELECT basis, sum(bursts), sum(branches), sum(steps), sum(paths), sum(insns),"
	" sum(pathless), sum(stopped_ns), sum(source_cpu_ns), sum(clock_samples), min(begin_ns),"
	" max(end_ns) FROM windows GROUP BY basis",
	"SELECT reason, sum(count) FROM window_ends GROUP BY reason",
	"SELECT reason, sum(count) FROM window_drops GROUP BY reason",
	"SELECT store, slot, windows, host FROM parcels ORDER BY 1, 2, 4",
};

static int append_row(void *context, int cnt, char **values, char **names)
{
	FILE *out = context;

	(void)names;
	for (int i = 0; i < cnt; i++)
		fprintf(out, "%s|", values[i] ? values[i] : "-");
	fputc('\n', out);
	return 0;
}

/* The caller frees. */
static char *sums_of(const char *file)
{
	sqlite3 *db = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		CU_ASSERT_EQUAL(sqlite3_exec(db, sums[i], append_row, out, NULL), SQLITE_OK);
	sqlite3_close(db);
	fclose(out);
	return text;
}

/* ---------------------------------------------------------------- what a host is told */

#define SLOTS_MAX 256

struct told {
	struct {
		int64_t slot_s;
		uint32_t windows;
		uint64_t digest;
		bool is_known;
	} rows[SLOTS_MAX];
	size_t cnt;
};

static int take_told(void *context, const struct pathprof_parcel_row *row)
{
	struct told *told = context;

	CU_ASSERT_FATAL(told->cnt < SLOTS_MAX);
	told->rows[told->cnt].slot_s = row->slot_s;
	told->rows[told->cnt].windows = row->window_cnt;
	told->rows[told->cnt].digest = row->digest;
	told->rows[told->cnt++].is_known = row->is_known;
	return 0;
}

static struct told *told_of(struct pathprof_store *fleet, const uint8_t *store)
{
	struct told *told = calloc(1, sizeof(*told));

	CU_ASSERT_PTR_NOT_NULL_FATAL(told);
	CU_ASSERT_EQUAL(pathprof_store_parcels_of(fleet, store, take_told, told, NULL), 0);
	return told;
}

static void check_told(const struct told *before, const struct told *after)
{
	CU_ASSERT_EQUAL_FATAL(before->cnt, after->cnt);
	for (size_t i = 0; i < before->cnt; i++) {
		CU_ASSERT_EQUAL(before->rows[i].slot_s, after->rows[i].slot_s);
		CU_ASSERT_EQUAL(before->rows[i].windows, after->rows[i].windows);
		CU_ASSERT_EQUAL(before->rows[i].digest, after->rows[i].digest);
		CU_ASSERT(before->rows[i].is_known && after->rows[i].is_known);
	}
}

static size_t roll_all(struct pathprof_store *fleet, int64_t before_s)
{
	struct pathprof_error error = {""};
	size_t hours = 0;
	bool rolled = true;

	while (rolled) {
		int code = pathprof_store_roll(fleet, before_s, &rolled, &error);

		if (code < 0)
			printf("%s\n", error.text);
		CU_ASSERT_EQUAL_FATAL(code, 0);
		hours += rolled;
	}
	return hours;
}

static struct pathprof_parcel slot_of(struct pathprof_store *store, int64_t slot_s)
{
	struct pathprof_parcel parcel;

	CU_ASSERT_EQUAL_FATAL(pathprof_store_parcel(store, slot_s, &parcel, NULL), 0);
	return parcel;
}

static int add_cpu(void *context, const struct pathprof_host_row *row)
{
	*(double *)context += row->cpu_s;
	return 0;
}

static double cpu_of(struct pathprof_store *fleet)
{
	double cpu_s = 0;

	CU_ASSERT_EQUAL(pathprof_store_hosts(fleet, NULL, add_cpu, &cpu_s, NULL), 0);
	return cpu_s;
}

/* Sums, what hosts are told, and CPU time stay; of each hour one window of each kind is left. */
static void test_sums(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "fleet");
	struct pathprof_store *fleet = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_store *a = world_open(world_file(dir, "a"), PATHPROF_STORE_WRITE);
	struct pathprof_store *b = world_open(world_file(dir, "b"), PATHPROF_STORE_WRITE);
	struct pathprof_parcel first;
	struct pathprof_error error = {""};

	record(a, 0, 150);
	record(b, 70, 100);
	send_all(a, fleet, "web1");
	send_all(b, fleet, "web2");
	first = slot_of(a, 0);
	char *before = sums_of(file);
	struct told *told = told_of(fleet, first.store);
	double cpu_s = cpu_of(fleet);

	CU_ASSERT(cpu_s >= 0);
	CU_ASSERT_EQUAL(roll_all(fleet, 2 * HOUR_S - 1), 1);
	CU_ASSERT_EQUAL(roll_all(fleet, 2 * HOUR_S), 2);
	CU_ASSERT_EQUAL(roll_all(fleet, NEVER_S), 1);
	CU_ASSERT_EQUAL(world_window_cnt(fleet), 2 * 3 + 2);
	char *after = sums_of(file);
	CU_ASSERT_STRING_EQUAL(before, after);
	struct told *again = told_of(fleet, first.store);
	check_told(told, again);
	CU_ASSERT_EQUAL(told->cnt, 30);
	CU_ASSERT_DOUBLE_EQUAL(cpu_of(fleet), cpu_s, 1e-9 * cpu_s);
	CU_ASSERT_EQUAL(pathprof_store_check(fleet, &error), 0);
	pathprof_parcel_release(&first);
	free(before);
	free(after);
	free(told);
	free(again);
	pathprof_store_free(a);
	pathprof_store_free(b);
	pathprof_store_free(fleet);
}

/* Windows that come after their hour was rolled stand beside it, and are rolled in turn. */
static void test_late(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "fleet");
	struct pathprof_store *fleet = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_store *a = world_open(world_file(dir, "a"), PATHPROF_STORE_WRITE);
	struct pathprof_store *same = world_open(world_file(dir, "same"), PATHPROF_STORE_WRITE);
	struct pathprof_parcel_key *keys = NULL;
	enum pathprof_parcel_added added;
	struct pathprof_parcel parcel;
	uint64_t left_out[8];
	size_t cnt = 0;

	record(a, 0, 22);
	send_all(a, fleet, "web1");
	CU_ASSERT_EQUAL(roll_all(fleet, NEVER_S), 1);
	parcel = slot_of(a, 1200);
	CU_ASSERT_EQUAL(add_parcel(fleet, &parcel, "web1", &added), 0);
	CU_ASSERT_EQUAL(added, PATHPROF_PARCEL_KNOWN);
	pathprof_parcel_release(&parcel);
	record(a, 22, 24);
	/* The whole slot cannot take the place of what is in the hour's window. */
	parcel = slot_of(a, 1200);
	CU_ASSERT_EQUAL(add_parcel(fleet, &parcel, "web1", &added), -EEXIST);
	CU_ASSERT_EQUAL(
		pathprof_store_parcel_keys(fleet, parcel.store, 1200, "web1", &keys, &cnt, NULL),
		0);
	pathprof_parcel_release(&parcel);
	CU_ASSERT_EQUAL_FATAL(cnt, 2);
	for (size_t i = 0; i < cnt; i++) {
		size_t at = i;

		CU_ASSERT(keys[i].fixed);
		for (; at && left_out[at - 1] > keys[i].key; at--)
			left_out[at] = left_out[at - 1];
		left_out[at] = keys[i].key;
	}
	free(keys);
	CU_ASSERT_EQUAL_FATAL(pathprof_store_parcel_rest(a, 1200, left_out, cnt, &parcel, NULL), 0);
	CU_ASSERT_EQUAL(add_parcel(fleet, &parcel, "web1", &added), 0);
	CU_ASSERT_EQUAL(added, PATHPROF_PARCEL_BESIDE);
	pathprof_parcel_release(&parcel);
	send_all(a, same, "web1");
	char *want = sums_of(world_file(dir, "same")), *have = sums_of(file);
	CU_ASSERT_STRING_EQUAL(want, have);
	free(have);
	CU_ASSERT_EQUAL(roll_all(fleet, NEVER_S), 1);
	CU_ASSERT_EQUAL(world_window_cnt(fleet), 2);
	have = sums_of(file);
	CU_ASSERT_STRING_EQUAL(want, have);
	CU_ASSERT_EQUAL(pathprof_store_check(fleet, NULL), 0);
	free(want);
	free(have);
	pathprof_store_free(a);
	pathprof_store_free(same);
	pathprof_store_free(fleet);
}

/* Rolls all there is, in a process of its own, which tells of the open store and of each hour. */
static pid_t roll_apart(const char *file, int *ret_told)
{
	struct pathprof_store *fleet;
	int ends[2];
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		fleet = world_open(file, PATHPROF_STORE_WRITE);
		for (bool rolled = true; rolled;)
			if (write(ends[1], "", 1) != 1 ||
			    pathprof_store_roll(fleet, NEVER_S, &rolled, NULL) < 0)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	*ret_told = ends[0];
	return child;
}

/* Until it tells something; false: it has ended. */
static bool has_told(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/*
 * Kills the process at a random moment of the first hour that it rolls, or of the second. However
 * slow the machine, an hour takes about as long as the last one. False: it had ended before.
 */
static bool kill_in(const char *file, bool is_second, uint64_t *state, uint32_t *hour_us)
{
	int fd, status = 0;
	pid_t child = roll_apart(file, &fd);
	uint32_t wait_us = world_random(state, *hour_us);
	uint64_t begin_ns;

	CU_ASSERT_FATAL(has_told(fd));
	begin_ns = pp_monotonic_ns();
	if (is_second && has_told(fd))
		*hour_us = (uint32_t)((pp_monotonic_ns() - begin_ns) / 1000) + 1;
	usleep(wait_us);
	kill(child, SIGKILL);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status);
}

/* Killed again and again: by the first time an hour was rolled, and all the others were not. */
static void test_kills(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "fleet");
	struct pathprof_store *a = world_open(world_file(dir, "a"), PATHPROF_STORE_WRITE);
	struct pathprof_store *fleet = world_open(file, PATHPROF_STORE_WRITE);
	unsigned int kills = 0, wanted = unit_rounds(5, 50);
	uint64_t state = 11, hours = 4 + wanted, first;
	uint32_t hour_us = 1;

	record(a, 0, hours * 60);
	send_all(a, fleet, "web1");
	first = world_window_cnt(fleet);
	pathprof_store_free(fleet);
	char *before = sums_of(file);
	while (kills < wanted && kill_in(file, kills % 2 == 0, &state, &hour_us)) {
		char *after = sums_of(file);

		CU_ASSERT_STRING_EQUAL(before, after);
		free(after);
		kills++;
	}
	CU_ASSERT(kills > 0);
	fleet = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT(world_window_cnt(fleet) < first);
	size_t left = roll_all(fleet, NEVER_S);
	CU_ASSERT_EQUAL(world_window_cnt(fleet), 2 * hours);
	CU_ASSERT_EQUAL(pathprof_store_check(fleet, NULL), 0);
	pathprof_store_free(fleet);
	char *after = sums_of(file);
	CU_ASSERT_STRING_EQUAL(before, after);
	if (wanted >= 50)
		printf("roll: %u kills, %zu of %llu hours were left\n", kills, left,
		       (unsigned long long)hours);
	free(before);
	free(after);
	pathprof_store_free(a);
}

/* A window of one path, with more samples than the sum of two such windows can hold. */
static void record_huge(struct pathprof_store *store, int64_t begin_ns)
{
	const struct pathprof_path_count path = {.samples = UINT64_C(5000000000000000000),
						 .weight = 1};
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_process process = world_process(0);
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 1 << 20), 0);
	profile.begin_ns = begin_ns;
	profile.end_ns = begin_ns + 1;
	profile.basis = PATHPROF_BASIS_TIME;
	process.binary = pathprof_profile_binary(&profile, &id, world_binary_name(0));
	pathprof_profile_process(&profile, &process);
	pathprof_profile_add_path(&profile, &path);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, NULL, NULL), 0);
	pathprof_profile_release(&profile);
}

/* An hour that no sum can hold stays as it is, and those behind it have their turn. */
static void test_too_much(void)
{
	const char *dir = unit_tmpdir();
	struct pathprof_store *fleet = world_open(world_file(dir, "fleet"), PATHPROF_STORE_WRITE);
	struct pathprof_store *a = world_open(world_file(dir, "a"), PATHPROF_STORE_WRITE);

	record_huge(a, 0);
	record_huge(a, 300ll * 1000000000);
	record(a, 60, 70);
	send_all(a, fleet, "web1");
	CU_ASSERT_EQUAL(world_window_cnt(fleet), 2 + 2 * 2);
	CU_ASSERT_EQUAL(roll_all(fleet, NEVER_S), 2);
	CU_ASSERT_EQUAL(world_window_cnt(fleet), 2 + 2);
	pathprof_store_free(a);
	pathprof_store_free(fleet);
}

static int64_t next_hour(struct pathprof_store *fleet, int64_t before_s)
{
	int64_t hour_s = 0;

	CU_ASSERT_EQUAL(pathprof_store_roll_next(fleet, before_s, &hour_s, NULL), 0);
	return hour_s;
}

/* The oldest first, and none that is younger than what is asked for. */
static void test_next(void)
{
	const char *dir = unit_tmpdir();
	struct pathprof_store *fleet = world_open(world_file(dir, "fleet"), PATHPROF_STORE_WRITE);
	struct pathprof_store *a = world_open(world_file(dir, "a"), PATHPROF_STORE_WRITE);

	CU_ASSERT_EQUAL(next_hour(fleet, NEVER_S), -1);
	record(a, 60, 180);
	send_all(a, fleet, "web1");
	CU_ASSERT_EQUAL(next_hour(fleet, HOUR_S), -1);
	CU_ASSERT_EQUAL(next_hour(fleet, 2 * HOUR_S), HOUR_S);
	roll_all(fleet, 2 * HOUR_S);
	CU_ASSERT_EQUAL(next_hour(fleet, 2 * HOUR_S), -1);
	CU_ASSERT_EQUAL(next_hour(fleet, NEVER_S), 2 * HOUR_S);
	pathprof_store_free(a);
	pathprof_store_free(fleet);
}

static const struct unit_test tests[] = {
	{"the hour whose turn it is is known before", test_next},
	{"an hour summed up has the sums that it had", test_sums},
	{"what comes after its hour was summed up counts once", test_late},
	{"an hour that no sum can hold keeps no other from its turn", test_too_much},
	{"who is killed meanwhile leaves all of an hour or nothing", test_kills},
};
UNIT_SUITE(store_roll, tests)
