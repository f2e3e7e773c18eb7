// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A parcel of fixed content, each field different, to standard output: for
 * tests/scenario/parcel_wire.sh, which knows what must stand in it, and for the fuzzer to begin
 * with.
 *
 *   parcel_write [PATHS]      so many paths beside the one that is known (0)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/parcel_names.h"

#define SLOT_S 1700000100ll

static void fail(const char *what)
{
	fprintf(stderr, "parcel_write: %s\n", what);
	exit(1);
}

static void add_names(struct pathprof_profile *p)
{
	static const struct pathprof_build_id ids[] = {
		{.bytes = "abcdefghij0123456789", .len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID},
		{.bytes = "jit", .len_bytes = 3, .kind = PATHPROF_ID_JIT},
	};
	char comm[] = "worker", container[] = "web.service", lone[] = "alone", none[] = "";
	struct pathprof_process first = {.comm = comm, .container = container, .binary = 1};
	struct pathprof_process second = {
		.comm = lone, .container = none, .binary = PATHPROF_NO_INDEX, .start_time = 1};

	pathprof_profile_binary(p, &ids[0], "/bin/first");
	pathprof_profile_binary(p, &ids[1], "jit:7");
	pathprof_profile_process(p, &first);
	pathprof_profile_process(p, &second);
}

static void add_counts(struct pathprof_profile *p, uint64_t more)
{
	struct pathprof_path_count path = {.process = 1,
					   .binary = 1,
					   .start = 0x1000,
					   .length = 3,
					   .outcomes = 5,
					   .samples = 11,
					   .weight = 24,
					   .squares = 21,
					   .insns = 24 * 17,
					   .weight_squares = 24 * 24 / 4.0};
	const struct pathprof_edge_count edge = {.process = 1,
						 .from_binary = 0,
						 .to_binary = 1,
						 .from = 0x2000,
						 .to = 0x1ff0,
						 .count = 31,
						 .mispredicted = 6,
						 .weight = 0.25};
	const struct pathprof_clock_count in_kernel = {
		.binary = PATHPROF_NO_INDEX, .place = PATHPROF_PLACE_KERNEL, .samples = 41};
	const struct pathprof_clock_count in_file = {
		.process = 1, .binary = 1, .place = 0x1004, .samples = 43};

	pathprof_profile_add_path(p, &path);
	pathprof_profile_add_edge(p, &edge);
	pathprof_profile_add_clock(p, &in_kernel);
	pathprof_profile_add_clock(p, &in_file);
	for (uint64_t i = 1; i <= more; i++) {
		path.start += i % 7;
		path.outcomes = (uint32_t)i;
		pathprof_profile_add_path(p, &path);
	}
}

static void add_window(struct pathprof_parcel_part *part)
{
	struct pathprof_parcel_window window = {
		.id = 77,
		.begin_ns = (SLOT_S - 2) * 1000000000,
		.end_ns = (SLOT_S + 3) * 1000000000,
		.totals = {.bursts = 101,
			   .branches = 102,
			   .taken = 103,
			   .steps = 104,
			   .paths = 105,
			   .insns = 106,
			   .pathless = 107,
			   .stopped_ns = 108,
			   .source_cpu_ns = 109,
			   .clock_samples = 110},
	};

	window.totals.ends[1] = 51;
	window.totals.drops[2] = 61;
	if (pathprof_parcel_add_window(part, &window))
		fail("out of memory");
}

static void add_function_names(struct pathprof_parcel *parcel)
{
	static const struct pathprof_parcel_portable portable = {0x1000, 3, 5, 71, 73};
	struct pathprof_parcel_names *names =
		pathprof_parcel_names_of(parcel, &parcel->parts[0].profile.binaries[1].id);

	if (!names || pathprof_parcel_add_function(parcel, names, 0x1000, 5, "first") ||
	    pathprof_parcel_add_function(parcel, names, 0x1ff0, 1, "_Z6secondv") ||
	    pathprof_parcel_add_portable(parcel, names, &portable))
		fail("out of memory");
	names->keys = calloc(2, sizeof(*names->keys));
	if (!names->keys)
		fail("out of memory");
	names->keys[0] = 71;
	names->keys[1] = 79;
	names->key_cnt = 2;
}

int main(int argc, char **argv)
{
	struct pathprof_parcel parcel = {.slot_s = SLOT_S,
					 .host = {"one", "a CPU", "6.1", "an OS", 8, 1234567}};
	struct pathprof_parcel_part *part = pathprof_parcel_add_part(&parcel, (size_t)1 << 30);
	struct pathprof_error error = {""};
	uint8_t *bytes = NULL;
	size_t len = 0;

	if (!part)
		fail("out of memory");
	parcel.version = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
	memcpy(parcel.store, "0123456789abcdef", sizeof(parcel.store));
	part->profile.source = PATHPROF_SOURCE_STEP;
	part->profile.basis = PATHPROF_BASIS_TIME;
	part->profile.taken_wanted = 32;
	part->profile.horizon = 500;
	part->profile.clock_hz = 97;
	part->profile.clock_kernel = part->profile.weighed = true;
	add_names(&part->profile);
	add_counts(&part->profile, argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
	add_window(part);
	add_function_names(&parcel);
	if (pathprof_parcel_write(&parcel, &bytes, &len, &error))
		fail(error.text);
	if (fwrite(bytes, 1, len, stdout) != len || fflush(stdout))
		fail("cannot write");
	pathprof_parcel_release(&parcel);
	free(bytes);
	return 0;
}
