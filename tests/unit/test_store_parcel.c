// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A store's slots as parcels. The oracle adds the invented windows up by hand, by what a parcel
 * keeps apart.
 */
#include "parcel_slots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* Compares the fields of a process that a parcel keeps. */
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

static const struct unit_test tests[] = {
	{"slots and how many windows ended in each", test_slots},
	{"counts and totals are the sums of the slot's windows", test_sums},
	{"processes that differ by ids alone are one workload", test_workloads},
	{"a store has one id, and no other has it", test_identity},
	{"what is no slot, empty or without an id is refused", test_refusals},
	{"an old store without an id is refused", test_old_schema},
	{"a store of this boot is known as such", test_boot},
};
UNIT_SUITE(store_parcel, tests)
