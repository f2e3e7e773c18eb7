// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A database that parcels of other stores are added to: sums over hosts, each once, and what is
 * refused.
 */
#include "parcel_slots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Rows that were added go with their windows, and no parcel is written of them. */
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

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Adds what the parcel holds to samples, and 7 lost ones to each part. */
static void lose(struct pathprof_parcel *parcel, struct pathprof_host_samples *samples)
{
	for (uint32_t i = 0; i < parcel->part_cnt; i++) {
		struct pathprof_parcel_part *part = &parcel->parts[i];
		struct pathprof_totals *totals = &part->profile.totals;

		part->windows[0].totals.drops[PATHPROF_DROP_QUEUE_FULL] += 7;
		totals->drops[PATHPROF_DROP_QUEUE_FULL] += 7;
		samples->lost_cnt += 7;
		samples->read_cnt += greater(totals->clock_samples, totals->bursts);
	}
}

static void test_host_samples(void)
{
	struct pathprof_store *a = filled(), *b = empty("b"), *fleet = empty("fleet");
	struct pathprof_host_samples want = {0}, have = {0};
	struct hosts hosts = {.cnt = 0};

	world_fill(b, FIRST, CNT, PATHS);
	add_named(fleet, b, "web2");
	for (int64_t slot_s = 0; slot_s <= 300; slot_s += 300) {
		struct pathprof_parcel parcel = taken(a, slot_s);

		snprintf(parcel.host.name, sizeof(parcel.host.name), "web1");
		lose(&parcel, &want);
		CU_ASSERT_EQUAL(added(fleet, &parcel), PATHPROF_PARCEL_ADDED);
		pathprof_parcel_release(&parcel);
	}
	CU_ASSERT_EQUAL(pathprof_store_hosts(fleet, NULL, take_host, &hosts, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(hosts.cnt, 2);
	CU_ASSERT_EQUAL(pathprof_store_host_samples(fleet, &hosts.rows[0], &have, NULL), 0);
	CU_ASSERT_EQUAL(have.lost_cnt, want.lost_cnt);
	CU_ASSERT_EQUAL(have.read_cnt, want.read_cnt);
	CU_ASSERT_EQUAL(pathprof_store_host_samples(fleet, &hosts.rows[1], &have, NULL), 0);
	CU_ASSERT_EQUAL(have.lost_cnt, 0);
	CU_ASSERT_EQUAL(have.read_cnt, want.read_cnt);
	pathprof_store_free(a);
	pathprof_store_free(b);
	pathprof_store_free(fleet);
}

/* How many workloads came of which store. */
struct of_stores {
	const struct hosts *hosts;
	size_t cnt[2], other_cnt;
};

static int take_workload(void *context, const struct pathprof_process_row *row)
{
	struct of_stores *of = context;
	uint8_t store[PATHPROF_PARCEL_STORE_BYTES];
	size_t at = 2;

	if (pathprof_store_of_boot(row->boot, store))
		for (at = 0; at < 2; at++)
			if (!memcmp(store, of->hosts->rows[at].store, sizeof(store)))
				break;
	of->other_cnt += at == 2;
	if (at < 2)
		of->cnt[at]++;
	return 0;
}

static void test_known_build(void)
{
	struct pathprof_store *a = filled(), *fleet = empty("fleet");
	struct pathprof_build_id id = world_binary_id(0);
	bool knows = false;

	add_named(fleet, a, "web1");
	CU_ASSERT_EQUAL(pathprof_store_knows_build(fleet, &id, &knows, NULL), 0);
	CU_ASSERT_TRUE(knows);
	id.len_bytes--;
	CU_ASSERT_EQUAL(pathprof_store_knows_build(fleet, &id, &knows, NULL), 0);
	CU_ASSERT_FALSE(knows);
	pathprof_store_free(a);
	pathprof_store_free(fleet);
}

/* Workloads have no process ids: two hosts' may be alike in all but the store. */
static void test_whose_workload(void)
{
	struct pathprof_store *a = filled(), *b = empty("b"), *fleet = empty("fleet");
	struct hosts hosts = {.cnt = 0};
	struct of_stores of = {.hosts = &hosts};
	uint8_t store[PATHPROF_PARCEL_STORE_BYTES];

	world_fill(b, FIRST, CNT, PATHS);
	add_named(fleet, a, "web1");
	add_named(fleet, b, "web2");
	CU_ASSERT_EQUAL(pathprof_store_hosts(fleet, NULL, take_host, &hosts, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(hosts.cnt, 2);
	CU_ASSERT_EQUAL(pathprof_store_processes(fleet, NULL, take_workload, &of, NULL), 0);
	CU_ASSERT(of.cnt[0] > 0);
	CU_ASSERT_EQUAL(of.cnt[0], of.cnt[1]);
	CU_ASSERT_EQUAL(of.other_cnt, 0);
	/* processes that were recorded here came of no store */
	CU_ASSERT_EQUAL(pathprof_store_processes(a, NULL, take_workload, &of, NULL), 0);
	CU_ASSERT(of.other_cnt > 0);
	CU_ASSERT_FALSE(pathprof_store_of_boot("store:0123", store));
	CU_ASSERT_FALSE(pathprof_store_of_boot("store:0123456789abcdef0123456789abcdeX", store));
	CU_ASSERT_TRUE(pathprof_store_of_boot("store:0123456789abcdef0123456789abcdef", store));
	CU_ASSERT_EQUAL(store[1], 0x23);
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
	{"parcels of two stores add up, and twice changes nothing", test_two_stores},
	{"the fullest parcel of a slot wins", test_fullest},
	{"a store that was cloned has two histories, and both count once", test_two_histories},
	{"what was added is not the database's own", test_not_its_own},
	{"each host's part is what its own store has", test_hosts},
	{"samples that a host lost are its own", test_host_samples},
	{"a workload of a fleet says of which store it came", test_whose_workload},
	{"a build that hosts ran is known by its whole id", test_known_build},
	{"hosts are selected by the labels of their newest parcel", test_labels},
	{"a workload is a container, or a name outside of any", test_workload_filter},
	{"what a host sent is one parcel again", test_host_parcel},
	{"a parcel is added whole or not at all", test_all_or_nothing},
};
UNIT_SUITE(store_fleet, tests)
