// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parcels: what is written is read, field by field; whatever else is read is refused or is a parcel
 * that can be. The oracle looks each row of the original up by its key.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "../../libprofile/src/parcel/pp_parcel.h"

#define SLOT_S   1700000100
#define SLOT_NS  (SLOT_S * 1000000000ll)
#define PART_MAX ((size_t)64 << 20)

/* ---------------------------------------------------------------- a world of parcels */

static struct pathprof_parcel_window window_of(int64_t id, uint64_t seed)
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

static uint32_t add_workload(struct pathprof_profile *p, uint32_t number)
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

static uint64_t any_offset(uint64_t *random)
{
	uint64_t low = world_random(random, UINT32_MAX);

	return world_random(random, 4) ? low : low << 32 | world_random(random, UINT32_MAX);
}

static void add_path(struct pathprof_profile *p, uint64_t *random)
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

static void add_edge(struct pathprof_profile *p, uint64_t *random)
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

static void add_clock(struct pathprof_profile *p, uint64_t *random)
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

static void fill_part(struct pathprof_parcel_part *part, uint64_t seed, uint32_t rows)
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

static void make(struct pathprof_parcel *parcel, uint32_t part_cnt, uint32_t rows)
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

static uint8_t *written(const struct pathprof_parcel *parcel, size_t *ret_len)
{
	struct pathprof_error error = {""};
	uint8_t *bytes = NULL;
	int code = pathprof_parcel_write(parcel, &bytes, ret_len, &error);

	if (code)
		printf("%s\n", error.text);
	CU_ASSERT_EQUAL_FATAL(code, 0);
	return bytes;
}

/* ---------------------------------------------------------------- the same */

static bool near(double a, double b, double relative)
{
	return fabs(a - b) <= relative * fabs(a);
}

static bool same_name(const struct pathprof_profile *a, uint32_t in_a,
		      const struct pathprof_profile *b, uint32_t in_b)
{
	if (in_a == PATHPROF_NO_INDEX || in_b == PATHPROF_NO_INDEX)
		return in_a == in_b;
	return pathprof_build_id_equal(&a->binaries[in_a].id, &b->binaries[in_b].id) &&
	       !strcmp(a->binaries[in_a].name, b->binaries[in_b].name);
}

static bool same_workload(const struct pathprof_profile *a, uint32_t in_a,
			  const struct pathprof_profile *b, uint32_t in_b)
{
	const struct pathprof_process *x = &a->processes[in_a], *y = &b->processes[in_b];

	return !strcmp(x->comm, y->comm) && !strcmp(x->container, y->container) &&
	       x->start_time == y->start_time && !y->pid && !y->exec_cnt &&
	       same_name(a, x->binary, b, y->binary);
}

static double looks_of(const struct pathprof_path_count *path)
{
	return path->weight_squares > 0 ? path->weight * path->weight / path->weight_squares : 0;
}

/* How far a parcel's weight may be off: of what is no estimate, by what a float cannot hold. */
static double rounding(const struct pathprof_profile *p, double looks)
{
	return p->weighed && looks > 0 ? 0.13 / sqrt(looks > 1 ? looks : 1) : 0x1p-24;
}

static void check_path(const struct pathprof_profile *a, const struct pathprof_path_count *x,
		       const struct pathprof_profile *b)
{
	for (uint32_t i = 0; i < b->path_cnt; i++) {
		const struct pathprof_path_count *y = &b->paths[i];

		if (x->start != y->start || x->outcomes != y->outcomes ||
		    !same_workload(a, x->process, b, y->process) ||
		    !same_name(a, x->binary, b, y->binary) || x->length != y->length)
			continue;
		CU_ASSERT_EQUAL(x->samples, y->samples);
		CU_ASSERT_EQUAL(x->squares, y->squares);
		CU_ASSERT(near(x->weight, y->weight, rounding(a, looks_of(x))));
		CU_ASSERT(near(x->insns * y->weight, y->insns * x->weight, 0x1p-22));
		CU_ASSERT_DOUBLE_EQUAL(looks_of(x), looks_of(y),
				       1.0 / 512 + 1e-4 + looks_of(x) / 32);
		return;
	}
	CU_FAIL("a path is missing");
}

static void check_edge(const struct pathprof_profile *a, const struct pathprof_edge_count *x,
		       const struct pathprof_profile *b)
{
	for (uint32_t i = 0; i < b->edge_cnt; i++) {
		const struct pathprof_edge_count *y = &b->edges[i];

		if (x->from != y->from || x->to != y->to ||
		    !same_workload(a, x->process, b, y->process) ||
		    !same_name(a, x->from_binary, b, y->from_binary) ||
		    !same_name(a, x->to_binary, b, y->to_binary))
			continue;
		CU_ASSERT_EQUAL(x->count, y->count);
		CU_ASSERT_EQUAL(x->mispredicted, y->mispredicted);
		CU_ASSERT(near(x->weight, y->weight, rounding(a, (double)x->count)));
		return;
	}
	CU_FAIL("an edge is missing");
}

static void check_clock(const struct pathprof_profile *a, const struct pathprof_clock_count *x,
			const struct pathprof_profile *b)
{
	for (uint32_t i = 0; i < b->clock_cnt; i++) {
		const struct pathprof_clock_count *y = &b->clocks[i];

		if (x->place != y->place || !same_workload(a, x->process, b, y->process) ||
		    !same_name(a, x->binary, b, y->binary))
			continue;
		CU_ASSERT_EQUAL(x->samples, y->samples);
		return;
	}
	CU_FAIL("a place is missing");
}

static void check_settings(const struct pathprof_profile *a, const struct pathprof_profile *b)
{
	CU_ASSERT_EQUAL(a->source, b->source);
	CU_ASSERT_EQUAL(a->basis, b->basis);
	CU_ASSERT_EQUAL(a->taken_wanted, b->taken_wanted);
	CU_ASSERT_EQUAL(a->horizon, b->horizon);
	CU_ASSERT_EQUAL(a->clock_hz, b->clock_hz);
	CU_ASSERT_EQUAL(a->clock_kernel, b->clock_kernel);
	CU_ASSERT_EQUAL(a->weighed, b->weighed);
	CU_ASSERT_EQUAL(a->begin_ns, b->begin_ns);
	CU_ASSERT_EQUAL(a->end_ns, b->end_ns);
	CU_ASSERT_EQUAL(memcmp(&a->totals, &b->totals, sizeof(a->totals)), 0);
}

static void check_part(const struct pathprof_parcel_part *a, const struct pathprof_parcel_part *b)
{
	const struct pathprof_profile *p = &a->profile, *q = &b->profile;

	check_settings(p, q);
	CU_ASSERT_EQUAL_FATAL(a->window_cnt, b->window_cnt);
	CU_ASSERT_EQUAL(memcmp(a->windows, b->windows, a->window_cnt * sizeof(*a->windows)), 0);
	CU_ASSERT_EQUAL(p->path_cnt, q->path_cnt);
	CU_ASSERT_EQUAL(p->edge_cnt, q->edge_cnt);
	CU_ASSERT_EQUAL(p->clock_cnt, q->clock_cnt);
	for (uint32_t i = 0; i < p->path_cnt; i++)
		check_path(p, &p->paths[i], q);
	for (uint32_t i = 0; i < p->edge_cnt; i++)
		check_edge(p, &p->edges[i], q);
	for (uint32_t i = 0; i < p->clock_cnt; i++)
		check_clock(p, &p->clocks[i], q);
}

static void check_round_trip(uint32_t version)
{
	struct pathprof_parcel parcel, read;
	struct pathprof_error error = {""};
	size_t len = 0;

	make(&parcel, 3, 200);
	parcel.version = version;
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&read, bytes, len, &error), 0);
	CU_ASSERT_EQUAL(read.version, version ? version : 1);
	CU_ASSERT_EQUAL(memcmp(parcel.store, read.store, sizeof(read.store)), 0);
	CU_ASSERT_STRING_EQUAL(parcel.host.name, read.host.name);
	CU_ASSERT_STRING_EQUAL(parcel.host.model, read.host.model);
	CU_ASSERT_STRING_EQUAL(parcel.host.kernel, read.host.kernel);
	CU_ASSERT_STRING_EQUAL(parcel.host.os, read.host.os);
	CU_ASSERT_STRING_EQUAL(parcel.host.labels, read.host.labels);
	CU_ASSERT_EQUAL(parcel.host.cpus, read.host.cpus);
	CU_ASSERT_EQUAL(parcel.host.sent_ns, read.host.sent_ns);
	CU_ASSERT_EQUAL(parcel.slot_s, read.slot_s);
	CU_ASSERT_EQUAL_FATAL(parcel.part_cnt, read.part_cnt);
	CU_ASSERT_EQUAL(pathprof_parcel_window_cnt(&read), 9);
	for (uint32_t i = 0; i < parcel.part_cnt; i++)
		check_part(&parcel.parts[i], &read.parts[i]);
	pathprof_parcel_release(&parcel);
	pathprof_parcel_release(&read);
	free(bytes);
}

static void test_round_trip(void)
{
	for (uint32_t version = 0; version <= PATHPROF_PARCEL_VERSION; version++)
		check_round_trip(version);
}

static void check_same_floats(const struct pathprof_profile *a, const struct pathprof_profile *b)
{
	CU_ASSERT_EQUAL_FATAL(a->path_cnt, b->path_cnt);
	CU_ASSERT_EQUAL_FATAL(a->edge_cnt, b->edge_cnt);
	for (uint32_t i = 0; i < a->path_cnt; i++) {
		CU_ASSERT(a->paths[i].weight == b->paths[i].weight);
		CU_ASSERT(a->paths[i].insns == b->paths[i].insns);
		CU_ASSERT(a->paths[i].weight_squares == b->paths[i].weight_squares);
		CU_ASSERT_EQUAL(a->paths[i].squares, b->paths[i].squares);
	}
	for (uint32_t i = 0; i < a->edge_cnt; i++)
		CU_ASSERT(a->edges[i].weight == b->edges[i].weight);
}

/* Both versions say the same, to the last bit: only how it is packed differs. */
static void test_versions_agree(void)
{
	struct pathprof_parcel parcel, read[2];
	struct pathprof_error error = {""};

	make(&parcel, 3, 200);
	for (uint32_t i = 0; i < 2; i++) {
		size_t len = 0;
		uint8_t *bytes;

		parcel.version = i + 1;
		bytes = written(&parcel, &len);
		CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&read[i], bytes, len, &error), 0);
		free(bytes);
	}
	for (uint32_t i = 0; i < parcel.part_cnt; i++)
		check_same_floats(&read[0].parts[i].profile, &read[1].parts[i].profile);
	pathprof_parcel_release(&parcel);
	pathprof_parcel_release(&read[0]);
	pathprof_parcel_release(&read[1]);
}

/* Unknown figures stay unknown, and columns that are all 0 take no room. */
static void test_nothing_known(void)
{
	struct pathprof_parcel parcel, read;
	struct pathprof_error error = {""};
	const struct pathprof_parcel_window window = window_of(1, 0);
	const struct pathprof_build_id id = world_binary_id(0);
	const struct pathprof_path_count path = {.samples = 5};
	const struct pathprof_edge_count edge = {.count = 6};
	size_t len = 0;

	make(&parcel, 0, 0);
	struct pathprof_parcel_part *part = pathprof_parcel_add_part(&parcel, PART_MAX);
	part->profile.basis = PATHPROF_BASIS_TIME;
	CU_ASSERT_EQUAL(pathprof_parcel_add_window(part, &window), 0);
	pathprof_profile_binary(&part->profile, &id, "");
	add_workload(&part->profile, 0);
	pathprof_profile_add_path(&part->profile, &path);
	pathprof_profile_add_edge(&part->profile, &edge);
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&read, bytes, len, &error), 0);
	check_part(part, &read.parts[0]);
	CU_ASSERT_EQUAL(read.parts[0].profile.paths[0].squares, 0);
	CU_ASSERT(read.parts[0].profile.paths[0].insns == 0);
	CU_ASSERT(read.parts[0].profile.paths[0].weight_squares == 0);
	pathprof_parcel_release(&parcel);
	pathprof_parcel_release(&read);
	free(bytes);
}

static void test_slots(void)
{
	CU_ASSERT_EQUAL(pathprof_parcel_slot(0), 0);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(299999999999), 0);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(300000000000), 300);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(-1), -300);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(-300000000000), -300);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(SLOT_NS + 5), SLOT_S);
}

static void test_workloads(void)
{
	const struct pathprof_build_id a = world_binary_id(0), b = world_binary_id(1);

	CU_ASSERT_EQUAL(pathprof_parcel_workload("c", "d", &a),
			pathprof_parcel_workload("c", "d", &a));
	CU_ASSERT_NOT_EQUAL(pathprof_parcel_workload("c", "d", &a),
			    pathprof_parcel_workload("c", "d", &b));
	CU_ASSERT_NOT_EQUAL(pathprof_parcel_workload("c", "d", &a),
			    pathprof_parcel_workload("c", "d", NULL));
	CU_ASSERT_NOT_EQUAL(pathprof_parcel_workload("cd", "", &a),
			    pathprof_parcel_workload("c", "d", &a));
}

static void check_container(const char *name, const char *workload)
{
	char text[64];

	CU_ASSERT_STRING_EQUAL(pathprof_parcel_container(name, text, sizeof(text)), workload);
}

static void test_containers(void)
{
	check_container("", "");
	check_container("nginx.service", "nginx.service");
	check_container("postgresql@15-main.service", "postgresql@15-main.service");
	check_container("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "*");
	check_container("run-r0123456789abcdef0123456789abcdef.service", "run-*.service");
	check_container("run-u1234.service", "run-*.service");
	check_container("run-p12-i34.service", "run-*.service");
	check_container("web-5f0c1ab2c3d4-x.service", "web-*-x.service");
	/* words of hex letters alone, and short numbers, are names */
	check_container("deadbeefcafe.service", "deadbeefcafe.service");
	check_container("shard-12345678.service", "shard-12345678.service");
	check_container("run-nothing.scope", "run-nothing.scope");
}

static void test_this_host(void)
{
	struct pathprof_parcel_host host;
	char name[256] = "";

	pathprof_parcel_this_host(&host);
	CU_ASSERT_EQUAL(gethostname(name, sizeof(name) - 1), 0);
	CU_ASSERT_STRING_EQUAL(host.name, name);
	CU_ASSERT_EQUAL(host.cpus, sysconf(_SC_NPROCESSORS_ONLN));
	CU_ASSERT(host.kernel[0] >= '0' && host.kernel[0] <= '9');
	/* of /etc/os-release without its quotes, which Debian has */
	CU_ASSERT_EQUAL(access("/etc/os-release", R_OK) == 0, host.os[0] != 0);
	CU_ASSERT_EQUAL(strcspn(host.os, "\"\n"), strlen(host.os));
	CU_ASSERT(llabs(host.sent_ns / 1000000000 - (long long)time(NULL)) < 60);
}

/* ---------------------------------------------------------------- damage */

static void refused(const void *bytes, size_t len)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel read;
	int code = pathprof_parcel_read(&read, bytes, len, &error);

	CU_ASSERT(code == -EBADMSG || code == -E2BIG);
	CU_ASSERT(error.text[0] != 0);
	if (code == 0)
		pathprof_parcel_release(&read);
}

/* Refused, or the same message: some bits of a frame say nothing. */
static void refused_or_same(const uint8_t *bytes, size_t len, const uint8_t *message,
			    size_t message_len)
{
	struct pathprof_error error = {""};
	uint8_t *unpacked = NULL;
	size_t unpacked_len = 0;

	if (pp_parcel_unpack(bytes, len, &unpacked, &unpacked_len, &error)) {
		refused(bytes, len);
		return;
	}
	CU_ASSERT_EQUAL_FATAL(unpacked_len, message_len);
	CU_ASSERT_EQUAL(memcmp(unpacked, message, message_len), 0);
	free(unpacked);
}

static void test_damaged_bytes(void)
{
	static const uint8_t masks[] = {1, 0x10, 0x80, 0xff};
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	size_t len = 0, message_len = 0;
	uint8_t *message = NULL;

	make(&parcel, 2, 10);
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pp_parcel_unpack(bytes, len, &message, &message_len, &error), 0);
	for (size_t i = 0; i < len; i++)
		for (size_t m = 0; m < sizeof(masks); m++) {
			bytes[i] ^= masks[m];
			refused_or_same(bytes, len, message, message_len);
			bytes[i] ^= masks[m];
		}
	for (size_t i = 0; i < len; i++)
		refused(bytes, i);
	uint8_t *longer = calloc(1, len + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
	memcpy(longer, bytes, len);
	refused(longer, len + 1);
	free(longer);
	pathprof_parcel_release(&parcel);
	free(bytes);
	free(message);
}

/* Refused, or a parcel that can be: it can be written, and that can be read. */
static bool reads_soundly(const uint8_t *message, size_t message_len)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel read, again;
	uint8_t *bytes = NULL, *second = NULL;
	size_t len = 0, second_len = 0;

	CU_ASSERT_EQUAL_FATAL(pp_parcel_pack(message, message_len, 1, &bytes, &len, &error), 0);
	int code = pathprof_parcel_read(&read, bytes, len, &error);
	free(bytes);
	if (code) {
		CU_ASSERT(error.text[0] != 0);
		return false;
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_write(&read, &second, &second_len, &error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&again, second, second_len, &error), 0);
	CU_ASSERT_EQUAL(pathprof_parcel_window_cnt(&read), pathprof_parcel_window_cnt(&again));
	pathprof_parcel_release(&read);
	pathprof_parcel_release(&again);
	free(second);
	return true;
}

/* Whoever writes the message writes a checksum as well. */
static void check_damaged_message(uint32_t version)
{
	static const uint8_t masks[] = {1, 4, 0x80, 0xff};
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	size_t len = 0, message_len = 0, sound = 0, bad = 0;
	uint8_t *message = NULL;

	make(&parcel, 2, 6);
	parcel.version = version;
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pp_parcel_unpack(bytes, len, &message, &message_len, &error), 0);
	CU_ASSERT(reads_soundly(message, message_len));
	for (size_t i = 0; i < message_len; i++)
		for (size_t m = 0; m < sizeof(masks); m++) {
			message[i] ^= masks[m];
			*(reads_soundly(message, message_len) ? &sound : &bad) += 1;
			message[i] ^= masks[m];
		}
	/* counts may have any value, lengths and numbers of fields may not */
	CU_ASSERT(sound > 0);
	CU_ASSERT(bad > 0);
	for (size_t i = 0; i < message_len; i++)
		reads_soundly(message, i);
	pathprof_parcel_release(&parcel);
	free(bytes);
	free(message);
}

static void test_damaged_message(void)
{
	for (uint32_t version = 1; version <= PATHPROF_PARCEL_VERSION; version++)
		check_damaged_message(version);
}

/* ---------------------------------------------------------------- messages by hand */

struct message {
	uint8_t *bytes;
	size_t len;
};

static void put_varint(struct message *m, uint64_t value)
{
	m->bytes = realloc(m->bytes, m->len + 10);
	for (; value > 127; value >>= 7)
		m->bytes[m->len++] = (uint8_t)(value | 128);
	m->bytes[m->len++] = (uint8_t)value;
}

static void put_number(struct message *m, uint32_t field, uint64_t value)
{
	put_varint(m, field << 3);
	put_varint(m, value);
}

static void put_bytes(struct message *m, uint32_t field, const void *bytes, size_t len)
{
	put_varint(m, field << 3 | 2);
	put_varint(m, len);
	m->bytes = realloc(m->bytes, m->len + len + 1);
	if (len)
		memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

/* Takes sub. */
static void put_message(struct message *m, uint32_t field, struct message sub)
{
	put_bytes(m, field, sub.bytes, sub.len);
	free(sub.bytes);
}

enum field { VERSION = 1, STORE = 2, SLOT = 3, HOST = 4, PARTS = 5 };
enum part_field {
	BASIS = 2,
	WINDOWS = 8,
	BINARIES = 9,
	WORKLOADS = 10,
	PATHS = 11,
	EDGES,
	CLOCKS,
	PATH_CNT,
	ROWS = 17
};

static struct message part_of(uint64_t basis)
{
	struct message part = {NULL, 0}, window = {NULL, 0};

	put_number(&part, BASIS, basis);
	put_number(&window, 1, 7);
	put_number(&window, 2, SLOT_NS);
	put_number(&window, 3, SLOT_NS);
	put_message(&part, WINDOWS, window);
	return part;
}

static struct message whole(uint64_t version, uint64_t slot, struct message part)
{
	struct message m = {NULL, 0};

	put_number(&m, VERSION, version);
	put_bytes(&m, STORE, "0123456789abcdef", PATHPROF_PARCEL_STORE_BYTES);
	put_number(&m, SLOT, slot);
	put_message(&m, PARTS, part);
	return m;
}

/* Takes m. What reading it says. */
static int code_of(struct message m, const char *said)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel read;
	uint8_t *bytes = NULL;
	size_t len = 0;
	int code;

	CU_ASSERT_EQUAL_FATAL(pp_parcel_pack(m.bytes, m.len, 1, &bytes, &len, &error), 0);
	code = pathprof_parcel_read(&read, bytes, len, &error);
	if (code == 0)
		pathprof_parcel_release(&read);
	if (!strstr(error.text, said))
		CU_ASSERT_STRING_EQUAL(error.text, said);
	free(bytes);
	free(m.bytes);
	return code;
}

static void test_heads(void)
{
	struct message m = whole(1, SLOT_S, part_of(1));

	put_number(&m, 99, 5);
	put_bytes(&m, 100, "of a newer agent", 16);
	CU_ASSERT_EQUAL(code_of(m, ""), 0);
	CU_ASSERT_EQUAL(code_of(whole(3, SLOT_S, part_of(1)), "install a newer one"), -EPROTO);
	CU_ASSERT_EQUAL(code_of(whole(0, SLOT_S, part_of(1)), "no version"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S + 1, part_of(1)), "its slot"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, (uint64_t)-300, part_of(1)), "its slot"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S + 300, part_of(1)), "another slot"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part_of(0)), "basis"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part_of(3)), "basis"), -EBADMSG);
	m = (struct message){NULL, 0};
	put_number(&m, VERSION, 1);
	put_bytes(&m, STORE, "0123456789abcde", 15);
	CU_ASSERT_EQUAL(code_of(m, "16 bytes"), -EBADMSG);
}

/* A part with one binary, one workload, and a table of these columns. */
static struct message with_table(uint32_t table, const uint8_t *columns, size_t len)
{
	struct message part = part_of(1), binary = {NULL, 0}, workload = {NULL, 0};

	put_bytes(&binary, 1, "id", 2);
	put_number(&binary, 2, 1);
	put_bytes(&binary, 3, "/bin/a", 6);
	put_bytes(&workload, 1, "a", 1);
	put_number(&workload, 3, 1);
	put_message(&part, BINARIES, binary);
	put_message(&part, WORKLOADS, workload);
	put_bytes(&part, table, columns, len);
	return whole(1, SLOT_S, part);
}
#define WITH(table, ...)                                                                           \
	with_table(table, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
/* Key and length of a packed column. */
#define COLUMN(field, len) (field) << 3 | 2, (len)

static void test_tables(void)
{
	/* workload 0; samples 3 */
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(6, 1), 3), ""), 0);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(6, 2), 3, 3), "lengths"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 1), "a path's binary or workload"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(1, 1), 2), "a path's binary"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(1, 1), 1), "a path's binary"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(3, 1), 33), "impossible"),
			-EBADMSG);
	/* samples 3, squares 2 */
	CU_ASSERT_EQUAL(
		code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(6, 1), 3, COLUMN(7, 1), 2), "squares"),
		-EBADMSG);
	/* weights: -1, infinite, not a number */
	CU_ASSERT_EQUAL(
		code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(8, 4), 0, 0, 0x80, 0xbf), "impossible"),
		-EBADMSG);
	CU_ASSERT_EQUAL(
		code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(8, 4), 0, 0, 0x80, 0x7f), "impossible"),
		-EBADMSG);
	CU_ASSERT_EQUAL(
		code_of(WITH(EDGES, COLUMN(5, 1), 0, COLUMN(8, 4), 0, 0, 0xc0, 0x7f), "impossible"),
		-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(EDGES, COLUMN(5, 1), 0, COLUMN(3, 1), 1), "an edge's binary"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(EDGES, COLUMN(5, 1), 0, COLUMN(7, 2), 0, 0), "lengths"),
			-EBADMSG);
	/* in no file, at 8 */
	CU_ASSERT_EQUAL(code_of(WITH(CLOCKS, COLUMN(3, 1), 0, COLUMN(2, 1), 16), "impossible"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(CLOCKS, COLUMN(3, 1), 0, COLUMN(1, 1), 4), "a place's binary"),
			-EBADMSG);
	/* two rows of one place, 2^62 each */
	CU_ASSERT_EQUAL(code_of(WITH(CLOCKS, COLUMN(3, 2), 0, 0, COLUMN(4, 18), 0x80, 0x80, 0x80,
				     0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0x80, 0x80, 0x80, 0x80,
				     0x80, 0x80, 0x80, 0x80, 0x40),
				"2^63"),
			-EBADMSG);
}

/* The writer refuses what the reader would. */
static void test_what_cannot_be_written(void)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	uint8_t *bytes = NULL;
	size_t len = 0;

	make(&parcel, 1, 5);
	struct pathprof_parcel_part *part = &parcel.parts[0];
	parcel.slot_s += 300;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "another slot") != NULL);
	parcel.slot_s -= 300;
	part->windows[1].id = part->windows[0].id;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "order of their ids") != NULL);
	part->windows[1].id++;
	part->profile.paths[0].binary = WORLD_BINARIES;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	part->profile.paths[0].binary = 0;
	part->windows[2].totals.drops[3] = 1ull << 63;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "a total") != NULL);
	CU_ASSERT_PTR_EQUAL(bytes, NULL);
	pathprof_parcel_release(&parcel);
}

/* ---------------------------------------------------------------- limits */

/* A reader counts each build that is named among the names, so the writer does, too. */
static void test_many_builds(void)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	uint8_t *bytes = NULL;
	uint64_t key = 1;
	size_t len = 0;

	make(&parcel, 1, 5);
	parcel.name_cnt = PATHPROF_PARCEL_NAMES_MAX;
	parcel.names = calloc(parcel.name_cnt, sizeof(*parcel.names));
	for (uint32_t i = 0; i < parcel.name_cnt; i++) {
		parcel.names[i].keys = &key;
		parcel.names[i].key_cnt = 1;
	}
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "above 65536"));
	free(parcel.names);
	parcel.names = NULL;
	parcel.name_cnt = 0;
	pathprof_parcel_release(&parcel);
}

/* cnt times two bytes: a field of length 0, or whatever they are. */
static void put_many(struct message *m, uint8_t first, uint8_t second, size_t cnt)
{
	m->bytes = realloc(m->bytes, m->len + 2 * cnt);
	for (size_t i = 0; i < cnt; i++) {
		m->bytes[m->len++] = first;
		m->bytes[m->len++] = second;
	}
}

static void test_many_names(void)
{
	struct message part = part_of(1);

	put_many(&part, WORKLOADS << 3 | 2, 0, 1000000);
	CU_ASSERT_EQUAL(
		code_of(whole(1, SLOT_S, part), "1000000 binaries and workloads, above 65536"),
		-E2BIG);
	part = part_of(1);
	put_many(&part, BINARIES << 3 | 2, 0, 30000000);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "MiB of memory"), -E2BIG);
}

static void test_long_names(void)
{
	struct message part = part_of(1), workload = {NULL, 0};
	char *name = calloc(1, PATHPROF_PARCEL_NAME_BYTES + 1);

	memset(name, 'x', PATHPROF_PARCEL_NAME_BYTES + 1);
	put_bytes(&workload, 2, name, PATHPROF_PARCEL_NAME_BYTES + 1);
	put_message(&part, WORKLOADS, workload);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "a name of 4097 bytes"), -E2BIG);
	workload = (struct message){NULL, 0};
	put_bytes(&workload, 1, name, PATHPROF_PARCEL_HOST_BYTES);
	part = whole(1, SLOT_S, part_of(1));
	put_message(&part, HOST, workload);
	CU_ASSERT_EQUAL(code_of(part, "longer than 255 bytes"), -EBADMSG);
	free(name);
}

/* A part of version 2 with so many paths, coded in these bytes. */
static struct message with_rows(uint64_t path_cnt, const void *rows, size_t len)
{
	struct message part = part_of(1);

	put_number(&part, PATH_CNT, path_cnt);
	put_bytes(&part, ROWS, rows, len);
	return whole(2, SLOT_S, part);
}

/* Rows of zeros are so few bytes that only the count bounds them. */
static void test_rows(void)
{
	static const uint8_t zeros[4096];
	struct message part = part_of(1);

	CU_ASSERT_EQUAL(code_of(with_rows(0, zeros, 5), ""), 0);
	CU_ASSERT_EQUAL(code_of(with_rows(0, zeros, 4), "rows are damaged"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(0, zeros, 6), "rows are damaged"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(1000, zeros, 5), "rows are damaged"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(1, "\xff\xff\xff\xff\xff\xff", 6), "rows are damaged"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(1000001, zeros, 5), "1000001 rows"), -E2BIG);
	CU_ASSERT_EQUAL(code_of(with_rows(UINT32_MAX, zeros, 5), "4294967295 rows"), -E2BIG);
	put_bytes(&part, PATHS, "", 0);
	CU_ASSERT_EQUAL(code_of(whole(2, SLOT_S, part), "columns in version 2"), -EBADMSG);
}

static void test_many_rows(void)
{
	struct message part = part_of(1), paths = {NULL, 0}, column = {NULL, 0};

	put_many(&column, 0, 0, PATHPROF_PARCEL_ROWS_MAX / 2 + 1);
	put_message(&paths, 5, column);
	put_message(&part, PATHS, paths);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "1000002 rows of counts"), -E2BIG);
}

static void test_many_parts_and_windows(void)
{
	struct message m = whole(1, SLOT_S, part_of(1)), part = part_of(1);

	put_many(&m, PARTS << 3 | 2, 0, PATHPROF_PARCEL_PARTS_MAX);
	CU_ASSERT_EQUAL(code_of(m, "65 parts, above 64"), -E2BIG);
	put_many(&part, WINDOWS << 3 | 2, 0, PATHPROF_PARCEL_WINDOWS_MAX);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "4097 windows, above 4096"), -E2BIG);
}

/* A bomb is refused by its head, before anything is unpacked. */
static void test_bomb(void)
{
	size_t size = PATHPROF_PARCEL_UNPACKED_MAX + 1ul, bound = ZSTD_compressBound(size);
	uint8_t *zeros = calloc(1, size), *packed = malloc(bound);
	struct pathprof_error error = {""};
	struct pathprof_parcel read;
	size_t len = ZSTD_compress(packed, bound, zeros, size, 1);

	CU_ASSERT_FATAL(!ZSTD_isError(len) && len < 100000);
	CU_ASSERT_EQUAL(pathprof_parcel_read(&read, packed, len, &error), -E2BIG);
	CU_ASSERT(strstr(error.text, "67108865 bytes unpacked, above 67108864") != NULL);
	CU_ASSERT_EQUAL(
		pathprof_parcel_read(&read, zeros, PATHPROF_PARCEL_PACKED_MAX + 1ul, &error),
		-E2BIG);
	CU_ASSERT(strstr(error.text, "4194305 bytes packed") != NULL);
	free(zeros);
	free(packed);
}

static const struct unit_test tests[] = {
	{"what is written is read, field by field", test_round_trip},
	{"all versions say the same", test_versions_agree},
	{"unknown figures stay unknown", test_nothing_known},
	{"a window belongs to the slot in which it ended", test_slots},
	{"a workload has the same number everywhere", test_workloads},
	{"a container is called by what all of its kind share", test_containers},
	{"what is said of this machine", test_this_host},
	{"changed bytes and cut files never read as another parcel", test_damaged_bytes},
	{"a changed message is refused or sound", test_damaged_message},
	{"versions, slots and unknown fields", test_heads},
	{"columns, numbers and sums that cannot be", test_tables},
	{"rows that cannot be", test_rows},
	{"what cannot be is not written", test_what_cannot_be_written},
	{"many names are refused", test_many_names},
	{"long names are refused", test_long_names},
	{"more named builds than can be read are not written", test_many_builds},
	{"many rows are refused", test_many_rows},
	{"many parts and windows are refused", test_many_parts_and_windows},
	{"a bomb is refused by its head", test_bomb},
};
UNIT_SUITE(parcel, tests)
