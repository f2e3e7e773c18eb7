// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A store's slots as parcels. The oracle adds the invented windows up by hand, by what a parcel
 * keeps apart.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/parcel_names.h"
#include "pathprof/parcel_store.h"

/* Windows 290 to 309 end from second 291 to 310: nine in the first slot, eleven in the next. */
#define FIRST  290
#define CNT    20
#define IN_ONE 9
#define PATHS  60

struct slots {
	struct pathprof_slot_row rows[8];
	uint32_t cnt;
};

static int take_slot(void *context, const struct pathprof_slot_row *row)
{
	struct slots *slots = context;

	CU_ASSERT_FATAL(slots->cnt < 8);
	slots->rows[slots->cnt++] = *row;
	return 0;
}

static struct pathprof_store *filled(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);

	world_fill(store, FIRST, CNT, PATHS);
	return store;
}

static struct pathprof_parcel taken(struct pathprof_store *store, int64_t slot_s)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel = {.slot_s = -1};
	int code = pathprof_store_parcel(store, slot_s, &parcel, &error);

	if (code)
		printf("%s\n", error.text);
	CU_ASSERT_EQUAL_FATAL(code, 0);
	return parcel;
}

static void test_slots(void)
{
	struct pathprof_store *store = filled();
	const struct pathprof_filter since = {.since_ns = 302ll * 1000000000};
	struct slots slots = {.cnt = 0};
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_store_slots(store, NULL, take_slot, &slots, &error), 0);
	CU_ASSERT_EQUAL_FATAL(slots.cnt, 2);
	CU_ASSERT_EQUAL(slots.rows[0].slot_s, 0);
	CU_ASSERT_EQUAL(slots.rows[0].window_cnt, IN_ONE);
	CU_ASSERT_EQUAL(slots.rows[1].slot_s, 300);
	CU_ASSERT_EQUAL(slots.rows[1].window_cnt, CNT - IN_ONE);
	slots.cnt = 0;
	CU_ASSERT_EQUAL(pathprof_store_slots(store, &since, take_slot, &slots, &error), 0);
	CU_ASSERT_EQUAL_FATAL(slots.cnt, 1);
	CU_ASSERT_EQUAL(slots.rows[0].window_cnt, 8);
	pathprof_store_free(store);
}

/* ---------------------------------------------------------------- sums */

/* What a parcel keeps of a process. */
static bool same_workload(const struct pathprof_profile *a, uint32_t in_a,
			  const struct pathprof_profile *b, uint32_t in_b)
{
	const struct pathprof_process *x = &a->processes[in_a], *y = &b->processes[in_b];

	if (strcmp(x->comm, y->comm) != 0 || strcmp(x->container, y->container) != 0 ||
	    (x->binary == PATHPROF_NO_INDEX) != (y->binary == PATHPROF_NO_INDEX))
		return false;
	return x->binary == PATHPROF_NO_INDEX ||
	       pathprof_build_id_equal(&a->binaries[x->binary].id, &b->binaries[y->binary].id);
}

static bool same_binary(const struct pathprof_profile *a, uint32_t in_a,
			const struct pathprof_profile *b, uint32_t in_b)
{
	return pathprof_build_id_equal(&a->binaries[in_a].id, &b->binaries[in_b].id);
}

/* Sums over the windows, by looking at all of them for each row. */
struct oracle {
	struct pathprof_profile windows[CNT];
};

static void oracle_init(struct oracle *o)
{
	for (uint64_t k = 0; k < CNT; k++) {
		CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&o->windows[k], 8 << 20), 0);
		world_window(&o->windows[k], FIRST + k, (int64_t)(FIRST + k) * WORLD_STEP_NS,
			     PATHS);
	}
}

static void oracle_release(struct oracle *o)
{
	for (int k = 0; k < CNT; k++)
		pathprof_profile_release(&o->windows[k]);
}

static bool is_in(const struct pathprof_profile *w, int64_t slot_s,
		  const struct pathprof_profile *part)
{
	return pathprof_parcel_slot(w->end_ns) == slot_s && w->basis == part->basis;
}

static struct pathprof_path_count oracle_path(const struct oracle *o, int64_t slot_s,
					      const struct pathprof_profile *part,
					      const struct pathprof_path_count *row)
{
	struct pathprof_path_count sum = {.samples = 0};
	bool squares = true, insns = true;

	for (int k = 0; k < CNT; k++) {
		const struct pathprof_profile *w = &o->windows[k];

		for (uint32_t i = 0; is_in(w, slot_s, part) && i < w->path_cnt; i++) {
			const struct pathprof_path_count *p = &w->paths[i];

			if (p->start != row->start || p->length != row->length ||
			    p->outcomes != row->outcomes ||
			    !same_binary(w, p->binary, part, row->binary) ||
			    !same_workload(w, p->process, part, row->process))
				continue;
			sum.samples += p->samples;
			sum.weight += p->weight;
			sum.squares += p->squares;
			sum.insns += p->insns;
			squares = squares && p->squares;
			insns = insns && p->insns > 0;
		}
	}
	sum.squares = squares ? sum.squares : 0;
	sum.insns = insns ? sum.insns : 0;
	return sum;
}

static void check_paths(const struct oracle *o, int64_t slot_s, const struct pathprof_profile *part)
{
	for (uint32_t i = 0; i < part->path_cnt; i++) {
		const struct pathprof_path_count *have = &part->paths[i];
		struct pathprof_path_count want = oracle_path(o, slot_s, part, have);

		CU_ASSERT_EQUAL(have->samples, want.samples);
		CU_ASSERT_EQUAL(have->squares, want.squares);
		CU_ASSERT_DOUBLE_EQUAL(have->weight, want.weight, 1e-9 * want.weight);
		CU_ASSERT_DOUBLE_EQUAL(have->insns, want.insns, 1e-9 * want.insns);
	}
}

/* Nothing is missing either. */
static void check_sums(const struct oracle *o, int64_t slot_s, const struct pathprof_profile *part)
{
	uint64_t samples = 0, edges = 0, clocks = 0, bursts = 0, lost = 0;

	for (int k = 0; k < CNT; k++) {
		const struct pathprof_profile *w = &o->windows[k];

		if (!is_in(w, slot_s, part))
			continue;
		bursts += w->totals.bursts;
		lost += w->totals.drops[PATHPROF_DROP_TRACKER_LOST];
		for (uint32_t i = 0; i < w->path_cnt; i++)
			samples += w->paths[i].samples;
		for (uint32_t i = 0; i < w->edge_cnt; i++)
			edges += w->edges[i].count;
		for (uint32_t i = 0; i < w->clock_cnt; i++)
			clocks += w->clocks[i].samples;
	}
	for (uint32_t i = 0; i < part->path_cnt; i++)
		samples -= part->paths[i].samples;
	for (uint32_t i = 0; i < part->edge_cnt; i++)
		edges -= part->edges[i].count;
	for (uint32_t i = 0; i < part->clock_cnt; i++)
		clocks -= part->clocks[i].samples;
	CU_ASSERT_EQUAL(samples, 0);
	CU_ASSERT_EQUAL(edges, 0);
	CU_ASSERT_EQUAL(clocks, 0);
	CU_ASSERT_EQUAL(part->totals.bursts, bursts);
	CU_ASSERT_EQUAL(part->totals.drops[PATHPROF_DROP_TRACKER_LOST], lost);
}

static void test_sums(void)
{
	struct pathprof_store *store = filled();
	struct oracle oracle;

	oracle_init(&oracle);
	for (int64_t slot_s = 0; slot_s <= 300; slot_s += 300) {
		struct pathprof_parcel parcel = taken(store, slot_s);

		CU_ASSERT_EQUAL(parcel.part_cnt, 2);
		CU_ASSERT_EQUAL(pathprof_parcel_window_cnt(&parcel),
				slot_s ? CNT - IN_ONE : IN_ONE);
		for (uint32_t i = 0; i < parcel.part_cnt; i++) {
			check_paths(&oracle, slot_s, &parcel.parts[i].profile);
			check_sums(&oracle, slot_s, &parcel.parts[i].profile);
		}
		pathprof_parcel_release(&parcel);
	}
	oracle_release(&oracle);
	pathprof_store_free(store);
}

/* Two workers in containers whose ids alone differ, with one pid each. */
static void add_worker(struct pathprof_profile *p, uint32_t pid, const char *id)
{
	char comm[] = "worker", container[80];
	struct pathprof_process process = {
		.pid = pid, .start_time = pid, .comm = comm, .container = container};
	struct pathprof_path_count path = {.samples = pid, .weight = 1};

	snprintf(container, sizeof(container), "%s", id);
	path.process = pathprof_profile_process(p, &process);
	pathprof_profile_add_path(p, &path);
}

static void test_workloads(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_error error = {""};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	p.begin_ns = p.end_ns = 1;
	p.basis = PATHPROF_BASIS_TIME;
	pathprof_profile_binary(&p, &id, "/bin/worker");
	add_worker(&p, 5, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	add_worker(&p, 7, "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0");
	add_worker(&p, 11, "other.service");
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, &error), 0);
	struct pathprof_parcel parcel = taken(store, 0);
	const struct pathprof_profile *part = &parcel.parts[0].profile;
	CU_ASSERT_EQUAL_FATAL(part->process_cnt, 2);
	CU_ASSERT_EQUAL_FATAL(part->path_cnt, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct pathprof_process *w = &part->processes[part->paths[i].process];
		bool other = !strcmp(w->container, "other.service");

		CU_ASSERT_STRING_EQUAL(w->container, other ? "other.service" : "*");
		CU_ASSERT_EQUAL(part->paths[i].samples, other ? 11 : 12);
		CU_ASSERT_EQUAL(w->pid, 0);
	}
	pathprof_parcel_release(&parcel);
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

/* ---------------------------------------------------------------- identity, refusals */

static void test_identity(void)
{
	struct pathprof_store *store = filled(), *other = filled();
	struct pathprof_parcel a = taken(store, 0), b = taken(store, 300), c = taken(other, 0);

	CU_ASSERT_EQUAL(memcmp(a.store, b.store, sizeof(a.store)), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(a.store, c.store, sizeof(a.store)), 0);
	pathprof_parcel_release(&a);
	pathprof_parcel_release(&b);
	pathprof_parcel_release(&c);
	pathprof_store_free(store);
	pathprof_store_free(other);
}

static int code_of(struct pathprof_store *store, int64_t slot_s, struct pathprof_error *error)
{
	struct pathprof_parcel parcel;
	int code = pathprof_store_parcel(store, slot_s, &parcel, error);

	if (code == 0)
		pathprof_parcel_release(&parcel);
	return code;
}

static void test_refusals(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};

	world_fill(store, FIRST, CNT, 5);
	CU_ASSERT_EQUAL(code_of(store, 600, &error), -ENODATA);
	CU_ASSERT_EQUAL(code_of(store, 301, &error), -EINVAL);
	CU_ASSERT_EQUAL(code_of(store, -300, &error), -EINVAL);
	world_sqlite(file, "UPDATE meta SET value = replace(hex(zeroblob(16)), '0', 'g')"
			   " WHERE name = 'identity'");
	CU_ASSERT_EQUAL(code_of(store, 0, &error), -EBADMSG);
	CU_ASSERT(strstr(error.text, "identity") != NULL);
	pathprof_store_free(store);
}

/* One from before stores had an id. */
static void test_old_schema(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};

	world_fill(store, FIRST, CNT, 5);
	pathprof_store_free(store);
	world_sqlite(file, WORLD_WITHOUT_SHARES "PRAGMA user_version = 3");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(code_of(store, 0, &error), -EPROTO);
	CU_ASSERT(strstr(error.text, "its schema is 3") != NULL);
	pathprof_store_free(store);
}

static void test_boot(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	bool is = true;

	CU_ASSERT_EQUAL(pathprof_store_is_of_this_boot(store, &is, &error), 0);
	CU_ASSERT_FALSE(is);
	world_fill(store, FIRST, 1, 5);
	CU_ASSERT_EQUAL(pathprof_store_is_of_this_boot(store, &is, &error), 0);
	CU_ASSERT_TRUE(is);
	pathprof_store_free(store);
	world_sqlite(file, "UPDATE boots SET boot_id = 'another'");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_is_of_this_boot(store, &is, &error), 0);
	CU_ASSERT_FALSE(is);
	pathprof_store_free(store);
}

/* ---------------------------------------------------------------- adding */

#define ROWS_MAX 4096

struct rows {
	struct pathprof_path_row rows[ROWS_MAX];
	uint32_t cnt;
};

static int take_row(void *context, const struct pathprof_path_row *row)
{
	struct rows *rows = context;

	CU_ASSERT_FATAL(rows->cnt < ROWS_MAX);
	rows->rows[rows->cnt++] = *row;
	return 0;
}

static void query(struct rows *rows, struct pathprof_store *store)
{
	struct pathprof_error error = {""};

	rows->cnt = 0;
	CU_ASSERT_EQUAL_FATAL(pathprof_store_paths(store, NULL, take_row, rows, &error), 0);
}

static const struct pathprof_path_row *find_row(const struct rows *rows,
						const struct pathprof_path_row *key)
{
	static const struct pathprof_path_row none;

	for (uint32_t i = 0; i < rows->cnt; i++)
		if (rows->rows[i].start == key->start && rows->rows[i].length == key->length &&
		    rows->rows[i].outcomes == key->outcomes &&
		    pathprof_build_id_equal(&rows->rows[i].binary_id, &key->binary_id))
			return &rows->rows[i];
	return &none;
}

static int add_samples(void *context, const struct pathprof_clock_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

static uint64_t clock_samples(struct pathprof_store *store)
{
	uint64_t sum = 0;

	CU_ASSERT_EQUAL(pathprof_store_clocks(store, NULL, add_samples, &sum, NULL), 0);
	return sum;
}

static int add_count(void *context, const struct pathprof_edge_row *row)
{
	*(uint64_t *)context += row->count;
	return 0;
}

static uint64_t edge_counts(struct pathprof_store *store)
{
	uint64_t sum = 0;

	CU_ASSERT_EQUAL(pathprof_store_edges(store, NULL, add_count, &sum, NULL), 0);
	return sum;
}

/* The fleet has what a and b (NULL: none) have. */
static void check_fleet(struct pathprof_store *fleet, struct pathprof_store *a,
			struct pathprof_store *b)
{
	static struct rows sum, in_a, in_b;
	uint64_t samples = 0, expected = 0;

	query(&sum, fleet);
	query(&in_a, a);
	in_b.cnt = 0;
	if (b)
		query(&in_b, b);
	for (uint32_t i = 0; i < sum.cnt; i++) {
		const struct pathprof_path_row *have = &sum.rows[i];
		const struct pathprof_path_row *x = find_row(&in_a, have);
		const struct pathprof_path_row *y = find_row(&in_b, have);

		CU_ASSERT_EQUAL(have->samples, x->samples + y->samples);
		CU_ASSERT_DOUBLE_EQUAL(have->weight, x->weight + y->weight,
				       1e-6 * (1 + have->weight));
		samples += have->samples;
	}
	for (uint32_t i = 0; i < in_a.cnt; i++)
		expected += in_a.rows[i].samples;
	for (uint32_t i = 0; i < in_b.cnt; i++)
		expected += in_b.rows[i].samples;
	CU_ASSERT_EQUAL(samples, expected);
	CU_ASSERT_EQUAL(clock_samples(fleet), clock_samples(a) + (b ? clock_samples(b) : 0));
	CU_ASSERT_EQUAL(edge_counts(fleet), edge_counts(a) + (b ? edge_counts(b) : 0));
}

static enum pathprof_parcel_added added(struct pathprof_store *fleet,
					const struct pathprof_parcel *parcel)
{
	enum pathprof_parcel_added result = PATHPROF_PARCEL_KNOWN;
	struct pathprof_error error = {""};
	int code = pathprof_store_add_parcel(fleet, parcel, &result, &error);

	if (code == 0)
		code = pathprof_store_check(fleet, &error);
	if (code)
		printf("%s\n", error.text);
	CU_ASSERT_EQUAL_FATAL(code, 0);
	return result;
}

/* All slots of a store. */
static void add_all(struct pathprof_store *fleet, struct pathprof_store *store,
		    enum pathprof_parcel_added want)
{
	for (int64_t slot_s = 0; slot_s <= 300; slot_s += 300) {
		struct pathprof_parcel parcel = taken(store, slot_s);

		CU_ASSERT_EQUAL(added(fleet, &parcel), want);
		pathprof_parcel_release(&parcel);
	}
}

static struct pathprof_store *empty(const char *name)
{
	return world_open(world_file(unit_tmpdir(), name), PATHPROF_STORE_WRITE);
}

static void test_two_stores(void)
{
	struct pathprof_store *a = filled(), *b = empty("b"), *fleet = empty("fleet");

	world_fill(b, FIRST + 3, CNT - 3, PATHS + 20);
	add_all(fleet, a, PATHPROF_PARCEL_ADDED);
	check_fleet(fleet, a, NULL);
	add_all(fleet, b, PATHPROF_PARCEL_ADDED);
	check_fleet(fleet, a, b);
	/* two slots of two stores, each of two parts */
	CU_ASSERT_EQUAL(world_window_cnt(fleet), 8);
	/* twice changes nothing */
	add_all(fleet, a, PATHPROF_PARCEL_KNOWN);
	add_all(fleet, b, PATHPROF_PARCEL_KNOWN);
	check_fleet(fleet, a, b);
	CU_ASSERT_EQUAL(world_window_cnt(fleet), 8);
	pathprof_store_free(a);
	pathprof_store_free(b);
	pathprof_store_free(fleet);
}

/* The slot that was not over yet comes again with more windows. */
static void test_fullest(void)
{
	struct pathprof_store *a = empty("a"), *b = filled(), *fleet = empty("fleet");

	world_fill(a, FIRST, 4, PATHS);
	struct pathprof_parcel early = taken(a, 0);
	world_fill(a, FIRST + 4, 3, PATHS + 10);
	struct pathprof_parcel late = taken(a, 0);
	add_all(fleet, b, PATHPROF_PARCEL_ADDED);
	CU_ASSERT_EQUAL(added(fleet, &early), PATHPROF_PARCEL_ADDED);
	CU_ASSERT_EQUAL(added(fleet, &late), PATHPROF_PARCEL_REPLACED);
	check_fleet(fleet, a, b);
	CU_ASSERT_EQUAL(added(fleet, &early), PATHPROF_PARCEL_KNOWN);
	CU_ASSERT_EQUAL(added(fleet, &late), PATHPROF_PARCEL_KNOWN);
	check_fleet(fleet, a, b);
	pathprof_parcel_release(&early);
	pathprof_parcel_release(&late);
	pathprof_store_free(a);
	pathprof_store_free(b);
	pathprof_store_free(fleet);
}

/* Windows that are there of a parcel's slot, and how many of them another host than `host` sent. */
static size_t keys_of(struct pathprof_store *fleet, const struct pathprof_parcel *parcel,
		      const char *host, uint64_t keys[16], size_t *ret_others)
{
	struct pathprof_parcel_key *list = NULL;
	size_t cnt = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_store_parcel_keys(fleet, parcel->store, parcel->slot_s, host,
							 &list, &cnt, NULL),
			      0);
	CU_ASSERT_FATAL(cnt <= 16);
	*ret_others = 0;
	for (size_t i = 0; i < cnt; i++) {
		keys[i] = list[i].key;
		*ret_others += list[i].fixed;
	}
	free(list);
	return cnt;
}

static int compare_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A store with the id of another, as its clone has it. */
static struct pathprof_store *cloned(const char *name, const struct pathprof_parcel *of)
{
	const char *file = world_file(unit_tmpdir(), name);
	char sql[160] = "UPDATE meta SET value = '";

	for (int i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		sprintf(sql + strlen(sql), "%02x", of->store[i]);
	strcat(sql, "' WHERE name = 'identity'");
	pathprof_store_free(world_open(file, PATHPROF_STORE_WRITE));
	world_sqlite(file, sql);
	return world_open(file, PATHPROF_STORE_WRITE);
}

/*
 * Two machines go on from one store: the first has windows 290 to 294; its clone has the first
 * three of these, and 295 to 297.
 */
static void test_two_histories(void)
{
	struct pathprof_store *a = empty("a"), *fleet = empty("fleet"), *oracle = empty("oracle");
	enum pathprof_parcel_added result;
	struct pathprof_error error = {""};
	uint64_t keys[16];
	size_t others = 0;

	world_fill(a, FIRST, 5, PATHS);
	world_fill(oracle, FIRST, 8, PATHS);
	struct pathprof_parcel first = taken(a, 0), rest;
	struct pathprof_store *clone = cloned("clone", &first);
	world_fill(clone, FIRST, 3, PATHS);
	world_fill(clone, FIRST + 5, 3, PATHS);
	struct pathprof_parcel whole = taken(clone, 0);
	snprintf(first.host.name, sizeof(first.host.name), "one");
	snprintf(whole.host.name, sizeof(whole.host.name), "two");

	CU_ASSERT_EQUAL(added(fleet, &first), PATHPROF_PARCEL_ADDED);
	/* the other host replaces nothing, and what is there in part would count twice */
	CU_ASSERT_EQUAL(pathprof_store_add_parcel(fleet, &whole, &result, &error), -EEXIST);
	check_fleet(fleet, a, NULL);
	CU_ASSERT_EQUAL_FATAL(keys_of(fleet, &first, "one", keys, &others), 5);
	CU_ASSERT_EQUAL(others, 0);
	qsort(keys, 5, sizeof(*keys), compare_key);
	CU_ASSERT_EQUAL_FATAL(pathprof_store_parcel_rest(clone, 0, keys, 5, &rest, &error), 0);
	CU_ASSERT_EQUAL(pathprof_parcel_window_cnt(&rest), 3);
	snprintf(rest.host.name, sizeof(rest.host.name), "two");
	CU_ASSERT_EQUAL(added(fleet, &rest), PATHPROF_PARCEL_BESIDE);
	check_fleet(fleet, oracle, NULL);
	CU_ASSERT_EQUAL(keys_of(fleet, &first, "one", keys, &others), 8);
	CU_ASSERT_EQUAL(others, 3);
	/* whatever comes again is known */
	CU_ASSERT_EQUAL(added(fleet, &first), PATHPROF_PARCEL_KNOWN);
	CU_ASSERT_EQUAL(added(fleet, &whole), PATHPROF_PARCEL_KNOWN);
	CU_ASSERT_EQUAL(added(fleet, &rest), PATHPROF_PARCEL_KNOWN);
	check_fleet(fleet, oracle, NULL);
	pathprof_parcel_release(&first);
	pathprof_parcel_release(&whole);
	pathprof_parcel_release(&rest);
	pathprof_store_free(a);
	pathprof_store_free(clone);
	pathprof_store_free(oracle);
	pathprof_store_free(fleet);
}

/* What was added goes with its windows, and is nobody's to write parcels of. */
static void test_not_its_own(void)
{
	struct pathprof_store *a = filled(), *fleet = empty("fleet");
	const struct pathprof_retention all = {.max_age_ns = 1};
	enum pathprof_parcel_added result;
	struct slots slots = {.cnt = 0};
	struct pathprof_error error = {""};
	uint64_t removed = 0;

	struct pathprof_parcel parcel = taken(a, 0);
	CU_ASSERT_EQUAL(pathprof_store_add_parcel(a, &parcel, &result, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "made of this database") != NULL);
	add_all(fleet, a, PATHPROF_PARCEL_ADDED);
	CU_ASSERT_EQUAL(pathprof_store_slots(fleet, NULL, take_slot, &slots, &error), 0);
	CU_ASSERT_EQUAL(slots.cnt, 0);
	CU_ASSERT_EQUAL(code_of(fleet, 0, &error), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_store_retain(fleet, &all, &removed, &error), 0);
	CU_ASSERT_EQUAL(removed, 4);
	CU_ASSERT_EQUAL(pathprof_store_check(fleet, &error), 0);
	CU_ASSERT_EQUAL(added(fleet, &parcel), PATHPROF_PARCEL_ADDED);
	pathprof_parcel_release(&parcel);
	pathprof_store_free(a);
	pathprof_store_free(fleet);
}

struct hosts {
	struct pathprof_host_row rows[4];
	uint32_t cnt;
};

static int take_host(void *context, const struct pathprof_host_row *row)
{
	struct hosts *hosts = context;

	CU_ASSERT_FATAL(hosts->cnt < 4);
	hosts->rows[hosts->cnt++] = *row;
	return 0;
}

/* All slots of a store, as of a host of this name. */
static void add_named(struct pathprof_store *fleet, struct pathprof_store *store, const char *name)
{
	for (int64_t slot_s = 0; slot_s <= 300; slot_s += 300) {
		struct pathprof_parcel parcel = taken(store, slot_s);

		snprintf(parcel.host.name, sizeof(parcel.host.name), "%s", name);
		parcel.host.cpus = slot_s ? 8 : 4;
		for (uint32_t i = 0; i < parcel.part_cnt; i++)
			parcel.parts[i].profile.clock_hz = 100;
		CU_ASSERT_EQUAL(added(fleet, &parcel), PATHPROF_PARCEL_ADDED);
		pathprof_parcel_release(&parcel);
	}
}

/* One host's part of the fleet is what its store has. */
static void check_host(struct pathprof_store *fleet, const char *name, struct pathprof_store *store)
{
	static struct rows have, want;
	const struct pathprof_filter filter = {.host = name};
	uint64_t clock = 0, edges = 0;

	have.cnt = 0;
	CU_ASSERT_EQUAL(pathprof_store_paths(fleet, &filter, take_row, &have, NULL), 0);
	query(&want, store);
	CU_ASSERT_EQUAL(have.cnt, want.cnt);
	for (uint32_t i = 0; i < have.cnt; i++)
		CU_ASSERT_EQUAL(have.rows[i].samples, find_row(&want, &have.rows[i])->samples);
	CU_ASSERT_EQUAL(pathprof_store_clocks(fleet, &filter, add_samples, &clock, NULL), 0);
	CU_ASSERT_EQUAL(clock, clock_samples(store));
	CU_ASSERT_EQUAL(pathprof_store_edges(fleet, &filter, add_count, &edges, NULL), 0);
	CU_ASSERT_EQUAL(edges, edge_counts(store));
}

static void test_hosts(void)
{
	struct pathprof_store *a = filled(), *b = empty("b"), *fleet = empty("fleet");
	struct hosts hosts = {.cnt = 0};
	static struct rows none;

	world_fill(b, FIRST + 3, CNT - 3, PATHS + 20);
	CU_ASSERT_EQUAL(pathprof_store_hosts(fleet, NULL, take_host, &hosts, NULL), 0);
	CU_ASSERT_EQUAL(hosts.cnt, 0);
	add_named(fleet, b, "web2");
	add_named(fleet, a, "web1");
	CU_ASSERT_EQUAL(pathprof_store_hosts(fleet, NULL, take_host, &hosts, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(hosts.cnt, 2);
	CU_ASSERT_STRING_EQUAL(hosts.rows[0].host.name, "web1");
	CU_ASSERT_STRING_EQUAL(hosts.rows[1].host.name, "web2");
	CU_ASSERT_EQUAL(hosts.rows[0].parcel_cnt, 2);
	CU_ASSERT_EQUAL(hosts.rows[0].window_cnt, CNT);
	CU_ASSERT_EQUAL(hosts.rows[1].window_cnt, CNT - 3);
	CU_ASSERT_EQUAL(hosts.rows[0].first_slot_s, 0);
	CU_ASSERT_EQUAL(hosts.rows[0].last_slot_s, 300);
	/* of the newest parcel */
	CU_ASSERT_EQUAL(hosts.rows[0].host.cpus, 8);
	CU_ASSERT_DOUBLE_EQUAL(hosts.rows[0].cpu_s, (double)clock_samples(a) / 100, 1e-6);
	check_host(fleet, "web1", a);
	check_host(fleet, "web2", b);
	const struct pathprof_filter nobody = {.host = "web"};
	CU_ASSERT_EQUAL(pathprof_store_paths(fleet, &nobody, take_row, &none, NULL), 0);
	CU_ASSERT_EQUAL(none.cnt, 0);
	pathprof_store_free(a);
	pathprof_store_free(b);
	pathprof_store_free(fleet);
}

static int count_rows(void *context, const struct pathprof_path_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

static uint64_t samples_of(struct pathprof_store *fleet, const struct pathprof_filter *filter)
{
	uint64_t samples = 0;

	CU_ASSERT_EQUAL(pathprof_store_paths(fleet, filter, count_rows, &samples, NULL), 0);
	return samples;
}

static void add_labelled(struct pathprof_store *fleet, struct pathprof_store *store, int64_t slot_s,
			 const char *name, const char *labels)
{
	struct pathprof_parcel parcel = taken(store, slot_s);

	snprintf(parcel.host.name, sizeof(parcel.host.name), "%s", name);
	snprintf(parcel.host.labels, sizeof(parcel.host.labels), "%s", labels);
	CU_ASSERT_EQUAL(added(fleet, &parcel), PATHPROF_PARCEL_ADDED);
	pathprof_parcel_release(&parcel);
}

/* A host has the labels that its newest parcel says, of all that it ever sent. */
static void test_labels(void)
{
	static const struct {
		const char *labels, *hosts[3];
	} cases[] = {
		{"role=web", {"web1", "web2"}},
		{"dc=ams role=web", {"web1"}},
		{"role=db", {"db1"}},
		{"dc=ams", {"db1", "web1"}},
		{"role=we", {NULL}},
		{"role=old", {NULL}},
		{"ole=web", {NULL}},
		{"dc=ams os=x", {NULL}},
	};
	struct pathprof_store *stores[] = {filled(), empty("b"), empty("c")};
	struct pathprof_store *fleet = empty("fleet");

	world_fill(stores[1], FIRST + 3, CNT - 3, PATHS + 20);
	world_fill(stores[2], FIRST + 5, CNT - 5, PATHS + 30);
	for (int64_t slot_s = 0; slot_s <= 300; slot_s += 300) {
		add_labelled(fleet, stores[0], slot_s, "web1",
			     slot_s ? "dc=ams role=web" : "role=old");
		add_labelled(fleet, stores[1], slot_s, "web2", "dc=fra role=web");
		add_labelled(fleet, stores[2], slot_s, "db1", "dc=ams role=db");
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pathprof_filter filter = {.labels = cases[i].labels};
		struct hosts hosts = {.cnt = 0};
		uint64_t want = 0;
		uint32_t cnt = 0;

		CU_ASSERT_EQUAL(pathprof_store_hosts(fleet, &filter, take_host, &hosts, NULL), 0);
		for (; cases[i].hosts[cnt]; cnt++) {
			const struct pathprof_filter one = {.host = cases[i].hosts[cnt]};

			CU_ASSERT_FATAL(cnt < hosts.cnt);
			CU_ASSERT_STRING_EQUAL(hosts.rows[cnt].host.name, one.host);
			CU_ASSERT(samples_of(fleet, &one) > 0);
			want += samples_of(fleet, &one);
		}
		CU_ASSERT_EQUAL(hosts.cnt, cnt);
		CU_ASSERT_EQUAL(samples_of(fleet, &filter), want);
	}
	for (size_t i = 0; i < 3; i++)
		pathprof_store_free(stores[i]);
	pathprof_store_free(fleet);
}

static int add_workload(void *context, const struct pathprof_process_row *row)
{
	const char *workload = *row->container ? row->container : row->comm;
	const struct pathprof_filter filter = {.workload = workload};
	struct pathprof_store *store = context;
	uint64_t samples = samples_of(store, &filter);

	CU_ASSERT(samples >= row->samples);
	CU_ASSERT(samples < samples_of(store, NULL));
	return 0;
}

/* Processes of a container, or of a name where there is none; no prefix is taken for one. */
static void test_workload_filter(void)
{
	struct pathprof_store *store = filled();
	const struct pathprof_filter nothing = {.workload = "n"};

	CU_ASSERT_EQUAL(pathprof_store_processes(store, NULL, add_workload, store, NULL), 0);
	CU_ASSERT_EQUAL(samples_of(store, &nothing), 0);
	pathprof_store_free(store);
}

/* Parcels of two slots, asked for again as one: what the host's own store has. */
static void test_host_parcel(void)
{
	struct pathprof_store *a = filled(), *fleet = empty("fleet"), *copy = empty("copy");
	struct pathprof_parcel parcel;
	struct hosts hosts = {.cnt = 0};
	struct pathprof_error error = {""};

	add_named(fleet, a, "web1");
	CU_ASSERT_EQUAL(pathprof_store_hosts(fleet, NULL, take_host, &hosts, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(hosts.cnt, 1);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_store_host_parcel(fleet, &hosts.rows[0], 0, 0, &parcel, &error), 0);
	CU_ASSERT_EQUAL(parcel.slot_s, 300);
	CU_ASSERT_STRING_EQUAL(parcel.host.name, "web1");
	for (uint32_t i = 0; i < parcel.part_cnt; i++)
		CU_ASSERT_EQUAL(parcel.parts[i].window_cnt, 1);
	CU_ASSERT_EQUAL(added(copy, &parcel), PATHPROF_PARCEL_ADDED);
	check_host(copy, "web1", a);
	pathprof_parcel_release(&parcel);
	CU_ASSERT_EQUAL(pathprof_store_host_parcel(fleet, &hosts.rows[0], 311 * WORLD_STEP_NS, 0,
						   &parcel, &error),
			-ENODATA);
	hosts.rows[0].store[0] ^= 1;
	CU_ASSERT_EQUAL(pathprof_store_host_parcel(fleet, &hosts.rows[0], 0, 0, &parcel, &error),
			-ENODATA);
	pathprof_store_free(a);
	pathprof_store_free(fleet);
	pathprof_store_free(copy);
}

/* All of a parcel or nothing, also where it replaces another. */
/* A build has one name less than it may have: two more are known, and two are new. */
static void test_names_at_the_bound(void)
{
	static const uint64_t starts[] = {16, 32, 1 << 30, 1 << 29};
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_parcel parcel = {.slot_s = 0};
	struct pathprof_parcel_names *names = pathprof_parcel_names_of(&parcel, &id);
	uint64_t cut = 99;

	CU_ASSERT_PTR_NOT_NULL_FATAL(names);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(pathprof_parcel_add_function(&parcel, names, starts[i], 40, "new"),
				0);
	world_fill(store, 1, 1, PATHS);
	CU_ASSERT_EQUAL(PATHPROF_STORE_FUNCTIONS_MAX, 100000);
	world_sqlite(file,
		     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
		     " i < 99999) INSERT INTO jit_symbols SELECT 1, 16 * i, 16, 'old' FROM n");
	CU_ASSERT_EQUAL(pathprof_store_add_names(store, &parcel, &cut, NULL), 0);
	CU_ASSERT_EQUAL(cut, 1);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM jit_symbols"), 100000);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM jit_symbols WHERE name = 'old'"
					   " AND len_bytes = 40"),
			2);
	pathprof_parcel_release(&parcel);
}

static int take_name(void *context, const struct pathprof_portable_row *row)
{
	char(*names)[16] = context;

	snprintf(names[row->start != 0x12], sizeof(*names), "%s", row->function_name);
	return 0;
}

/* A path has the name of the function that it is in, not of the last one before it. */
static void test_name_of_a_path(void)
{
	const struct pathprof_parcel_portable portables[] = {
		{.start = 0x12, .length = 3, .function = 5, .place = 6},
		{.start = 0x1234, .length = 3, .function = 7, .place = 8}};
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	struct pathprof_parcel parcel = {.slot_s = 0};
	struct pathprof_parcel_names *names = pathprof_parcel_names_of(&parcel, &id);
	char found[2][16] = {"none", "none"};
	struct pathprof_profile p;
	uint64_t cut = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(names);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	world_window(&p, 1, WORLD_STEP_NS, 0);
	CU_ASSERT_EQUAL(pathprof_parcel_add_function(&parcel, names, 0x10, 4, "near"), 0);
	for (int i = 0; i < 2; i++) {
		pathprof_profile_add_path(
			&p, &(struct pathprof_path_count){.start = portables[i].start,
							  .length = portables[i].length,
							  .samples = 1,
							  .weight = 1});
		CU_ASSERT_EQUAL(pathprof_parcel_add_portable(&parcel, names, &portables[i]), 0);
	}
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_add_names(store, &parcel, &cut, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_portable(store, &id, take_name, found, NULL), 0);
	CU_ASSERT_STRING_EQUAL(found[0], "near");
	CU_ASSERT_STRING_EQUAL(found[1], "");
	pathprof_profile_release(&p);
	pathprof_parcel_release(&parcel);
	pathprof_store_free(store);
}

/* A parcel and a profile file of a store that is damaged: both say what is. */
static void test_damaged_functions(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""}, why = {""};
	struct pathprof_parcel parcel;

	world_fill(store, FIRST, 1, PATHS);
	world_sqlite(file, "PRAGMA ignore_check_constraints=ON;"
			   " INSERT INTO binary_functions SELECT id, x'0102030405' FROM binaries");
	CU_ASSERT_EQUAL(pathprof_store_parcel(store, 0, &parcel, &error), -EBADMSG);
	CU_ASSERT(strstr(error.text, "impossible list of functions") != NULL);
	CU_ASSERT_EQUAL(
		pathprof_store_extract(store, NULL, world_file(dir, "copy"), NULL, false, &why),
		-EBADMSG);
	CU_ASSERT(strstr(why.text, "impossible list of functions") != NULL);
	pathprof_store_free(store);
}

static void test_all_or_nothing(void)
{
	struct pathprof_store *a = empty("a"), *fleet = empty("fleet");
	enum pathprof_parcel_added result;
	struct pathprof_error error = {""};

	world_fill(a, FIRST, 3, PATHS);
	struct pathprof_parcel early = taken(a, 0);
	CU_ASSERT_EQUAL(added(fleet, &early), PATHPROF_PARCEL_ADDED);
	world_fill(a, FIRST + 3, 3, PATHS);
	struct pathprof_parcel late = taken(a, 0);
	CU_ASSERT_EQUAL_FATAL(late.part_cnt, 2);
	struct pathprof_profile *last = &late.parts[1].profile;
	last->paths[last->path_cnt - 1].process = last->process_cnt;
	CU_ASSERT_EQUAL(pathprof_store_add_parcel(fleet, &late, &result, &error), -EINVAL);
	CU_ASSERT_EQUAL(added(fleet, &early), PATHPROF_PARCEL_KNOWN);
	struct pathprof_store *same = empty("same");
	world_fill(same, FIRST, 3, PATHS);
	check_fleet(fleet, same, NULL);
	pathprof_parcel_release(&early);
	pathprof_parcel_release(&late);
	pathprof_store_free(a);
	pathprof_store_free(same);
	pathprof_store_free(fleet);
}

static const struct unit_test tests[] = {
	{"slots and how many windows ended in each", test_slots},
	{"counts and totals are the sums of the slot's windows", test_sums},
	{"processes that differ by ids alone are one workload", test_workloads},
	{"a store has one id, and no other has it", test_identity},
	{"what is no slot, empty or without an id is refused", test_refusals},
	{"an old store without an id is refused", test_old_schema},
	{"a store of this boot is known as such", test_boot},
	{"parcels of two stores add up, and twice changes nothing", test_two_stores},
	{"the fullest parcel of a slot wins", test_fullest},
	{"a store that was cloned has two histories, and both count once", test_two_histories},
	{"what was added is not the database's own", test_not_its_own},
	{"each host's part is what its own store has", test_hosts},
	{"hosts are selected by the labels of their newest parcel", test_labels},
	{"a workload is a container, or a name outside of any", test_workload_filter},
	{"what a host sent is one parcel again", test_host_parcel},
	{"names that are known take no room from new ones", test_names_at_the_bound},
	{"a path is named by the function that it is in", test_name_of_a_path},
	{"functions that are damaged are told", test_damaged_functions},
	{"a parcel is added whole or not at all", test_all_or_nothing},
};
UNIT_SUITE(store_parcel, tests)
