/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parcels whose fields have values of their own, and what is written of them. */
#ifndef PARCEL_WORLD_H
#define PARCEL_WORLD_H

#include <stdio.h>

#include "../../libprofile/src/parcel/pp_parcel.h"
#include "test_store.h"
#include "unit.h"

#define SLOT_S   1700000100
#define SLOT_NS  (SLOT_S * 1000000000ll)
#define PART_MAX ((size_t)64 << 20)

static inline struct pathprof_parcel_window window_of(int64_t id, uint64_t seed)
{
	struct pathprof_parcel_window w = {
		.id = id,
		.begin_ns = SLOT_NS - 50 + id,
		.end_ns = SLOT_NS + id * 1000,
		.totals =
			{
				.bursts = seed + 1,
				.branches = seed + 2,
				.taken = seed + 3,
				.steps = seed + 4,
				.paths = seed + 5,
				.insns = seed + 6,
				.pathless = seed + 7,
				.stopped_ns = seed + 8,
				.source_cpu_ns = seed + 9,
				.clock_samples = seed + 10,
			},
	};

	for (unsigned int i = 0; i < PATHPROF_END_CNT; i++)
		w.totals.ends[i] = seed + 100 + i;
	for (unsigned int i = 0; i < PATHPROF_DROP_CNT; i++)
		w.totals.drops[i] = seed + 200 + i;
	return w;
}

static inline uint32_t add_workload(struct pathprof_profile *p, uint32_t number)
{
	char comm[32], container[32];
	uint32_t binary = number % 3 ? number % p->binary_cnt : PATHPROF_NO_INDEX;
	struct pathprof_process process = {.comm = comm, .container = container, .binary = binary};

	snprintf(comm, sizeof(comm), "comm%u", number);
	snprintf(container, sizeof(container), "unit%u.service", number);
	if (number % 2)
		container[0] = 0;
	process.start_time = pathprof_parcel_workload(
		comm, container, binary < p->binary_cnt ? &p->binaries[binary].id : NULL);
	return pathprof_profile_process(p, &process);
}

static inline uint64_t any_offset(uint64_t *random)
{
	uint64_t low = world_random(random, UINT32_MAX);

	return world_random(random, 4) ? low : low << 32 | world_random(random, UINT32_MAX);
}

static inline void add_path(struct pathprof_profile *p, uint64_t *random)
{
	uint64_t samples = world_random(random, 1000);
	double weight = (double)samples * (1 + world_random(random, 1000)) / 7;
	double looks = 0.5 + world_random(random, 1000) / 10.0;
	const struct pathprof_path_count path = {
		.process = world_random(random, p->process_cnt),
		.binary = world_random(random, p->binary_cnt),
		.start = any_offset(random),
		.length = world_random(random, 33),
		.outcomes = world_random(random, UINT32_MAX),
		.samples = samples,
		.weight = weight,
		.squares = samples * world_random(random, 3),
		.weight_squares = world_random(random, 3) ? weight * weight / looks : 0,
		.insns = world_random(random, 3) ? weight * world_random(random, 200) : 0,
	};

	pathprof_profile_add_path(p, &path);
}

static inline void add_edge(struct pathprof_profile *p, uint64_t *random)
{
	const struct pathprof_edge_count edge = {
		.process = world_random(random, p->process_cnt),
		.from_binary = world_random(random, p->binary_cnt),
		.to_binary = world_random(random, p->binary_cnt),
		.from = any_offset(random),
		.to = any_offset(random),
		.count = world_random(random, 100000),
		.mispredicted = world_random(random, 1000),
		.weight = world_random(random, 100000) / 3.0,
	};

	pathprof_profile_add_edge(p, &edge);
}

static inline void add_clock(struct pathprof_profile *p, uint64_t *random)
{
	bool in_file = world_random(random, 4) != 0;
	const struct pathprof_clock_count clock = {
		.process = world_random(random, p->process_cnt),
		.binary = in_file ? world_random(random, p->binary_cnt) : PATHPROF_NO_INDEX,
		.place = in_file                   ? any_offset(random)
			 : world_random(random, 2) ? PATHPROF_PLACE_KERNEL
						   : PATHPROF_PLACE_UNKNOWN,
		.samples = world_random(random, 5000),
	};

	pathprof_profile_add_clock(p, &clock);
}

static inline void fill_part(struct pathprof_parcel_part *part, uint64_t seed, uint32_t rows)
{
	struct pathprof_profile *p = &part->profile;
	uint64_t random = seed + 1;

	p->source = PATHPROF_SOURCE_STEP + (uint32_t)seed;
	p->basis = seed % 2 ? PATHPROF_BASIS_BRANCHES : PATHPROF_BASIS_TIME;
	p->taken_wanted = 32 + (uint32_t)seed;
	p->horizon = 500 + (uint32_t)seed;
	p->clock_hz = 97 + (uint32_t)seed;
	p->clock_kernel = seed % 2 == 0;
	p->weighed = seed % 2 == 0;
	for (uint32_t i = 0; i < WORLD_BINARIES; i++) {
		const struct pathprof_build_id id = world_binary_id(i);

		pathprof_profile_binary(p, &id, world_binary_name(i));
	}
	for (uint32_t i = 0; i < 7; i++)
		add_workload(p, i);
	for (uint32_t i = 0; i < rows; i++) {
		add_path(p, &random);
		add_edge(p, &random);
		add_clock(p, &random);
	}
	for (int64_t i = 1; i <= 3; i++) {
		struct pathprof_parcel_window w = window_of(10 * (int64_t)seed + i, seed);

		CU_ASSERT_EQUAL(pathprof_parcel_add_window(part, &w), 0);
	}
}

static inline void make(struct pathprof_parcel *parcel, uint32_t part_cnt, uint32_t rows)
{
	*parcel = (struct pathprof_parcel){
		.slot_s = SLOT_S,
		.host = {.name = "one",
			 .model = "a CPU",
			 .kernel = "6.1",
			 .os = "an OS",
			 .labels = "dc=ams role=web",
			 .cpus = 64,
			 .sent_ns = SLOT_NS + 7},
	};
	for (int i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		parcel->store[i] = (uint8_t)(240 + i);
	for (uint32_t i = 0; i < part_cnt; i++) {
		struct pathprof_parcel_part *part = pathprof_parcel_add_part(parcel, PART_MAX);

		CU_ASSERT_PTR_NOT_EQUAL_FATAL(part, NULL);
		fill_part(part, i, rows);
	}
}

static inline uint8_t *written(const struct pathprof_parcel *parcel, size_t *ret_len)
{
	struct pathprof_error error = {""};
	uint8_t *bytes = NULL;
	int code = pathprof_parcel_write(parcel, &bytes, ret_len, &error);

	if (code)
		printf("%s\n", error.text);
	CU_ASSERT_EQUAL_FATAL(code, 0);
	return bytes;
}

#endif
