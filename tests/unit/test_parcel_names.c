// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names in parcels: they are read as they were written, and a sender tells each once. Their bounds,
 * and damage, are in test_parcel_refused.c.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/code.h"
#include "pathprof/parcel.h"
#include "pathprof/parcel_names.h"

#define SLOT_S   1700000100
#define SLOT_NS  (SLOT_S * 1000000000ll)
#define PART_MAX ((size_t)64 << 20)

static void make_two_builds(struct pathprof_parcel *ret_parcel)
{
	const struct pathprof_parcel_window window = {
		.id = 1, .begin_ns = SLOT_NS, .end_ns = SLOT_NS + 1000000000};
	struct pathprof_parcel_part *part;

	*ret_parcel = (struct pathprof_parcel){
		.slot_s = SLOT_S, .store = {1}, .host = {.name = "one", .sent_ns = SLOT_NS}};
	part = pathprof_parcel_add_part(ret_parcel, PART_MAX);
	CU_ASSERT_PTR_NOT_NULL_FATAL(part);
	part->profile.source = PATHPROF_SOURCE_STEP;
	part->profile.basis = PATHPROF_BASIS_TIME;
	CU_ASSERT_EQUAL(pathprof_parcel_add_window(part, &window), 0);
	for (uint8_t build = 0; build < 2; build++) {
		const struct pathprof_build_id id = {.bytes = {build + 1},
						     .len_bytes = PATHPROF_BUILD_ID_MAX,
						     .kind = PATHPROF_ID_BUILD_ID};

		CU_ASSERT_EQUAL(pathprof_profile_binary(&part->profile, &id, "/bin/app"), build);
	}
}

static void add_names(struct pathprof_parcel *parcel, uint32_t build, uint32_t cnt)
{
	const struct pathprof_build_id *id = &parcel->parts[0].profile.binaries[build].id;
	struct pathprof_parcel_names *names = pathprof_parcel_names_of(parcel, id);
	char text[32];

	CU_ASSERT_PTR_NOT_NULL_FATAL(names);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct pathprof_parcel_portable portable = {
			UINT64_MAX - i, i % 33, i * 7, i * 0x9e3779b97f4a7c15u, ~(uint64_t)i};

		/* not in the order in which they travel */
		snprintf(text, sizeof(text), "function %u", i);
		CU_ASSERT_EQUAL(pathprof_parcel_add_function(
					parcel, names, (uint64_t)(cnt - i) << 52 | build, i, text),
				0);
		CU_ASSERT_EQUAL(pathprof_parcel_add_portable(parcel, names, &portable), 0);
	}
	names->keys = calloc(cnt + 1ul, sizeof(*names->keys));
	CU_ASSERT_PTR_NOT_NULL_FATAL(names->keys);
	for (uint32_t i = 0; i < cnt; i++)
		names->keys[i] = (uint64_t)i << 40 | build;
	names->key_cnt = cnt;
}

static void check_names(const struct pathprof_parcel_names *a,
			const struct pathprof_parcel_names *b)
{
	CU_ASSERT(pathprof_build_id_equal(&a->id, &b->id));
	CU_ASSERT_EQUAL_FATAL(a->function_cnt, b->function_cnt);
	CU_ASSERT_EQUAL_FATAL(a->portable_cnt, b->portable_cnt);
	CU_ASSERT_EQUAL_FATAL(a->key_cnt, b->key_cnt);
	CU_ASSERT_EQUAL(memcmp(a->keys, b->keys, a->key_cnt * sizeof(*a->keys)), 0);
	/* the other way round: by where they start */
	for (uint32_t i = 0; i < a->function_cnt; i++) {
		const struct pathprof_parcel_function *x = &a->functions[i];
		const struct pathprof_parcel_function *y = &b->functions[b->function_cnt - 1 - i];

		CU_ASSERT_EQUAL(x->start, y->start);
		CU_ASSERT_EQUAL(x->len_bytes, y->len_bytes);
		CU_ASSERT_STRING_EQUAL(x->name, y->name);
		CU_ASSERT_EQUAL(memcmp(&a->portables[i], &b->portables[b->portable_cnt - 1 - i],
				       sizeof(*a->portables)),
				0);
	}
}

static void test_function_names(void)
{
	struct pathprof_parcel parcel, read;
	struct pathprof_error error = {""};
	size_t len = 0;

	make_two_builds(&parcel);
	add_names(&parcel, 0, 300);
	add_names(&parcel, 1, 1);
	uint8_t *bytes = NULL;
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&read, bytes, len, &error), 0);
	CU_ASSERT_EQUAL_FATAL(read.name_cnt, 2);
	check_names(&parcel.names[0], &read.names[0]);
	check_names(&parcel.names[1], &read.names[1]);
	pathprof_parcel_release(&read);
	free(bytes);
	/* keys that are out of order, and a name that is too long, are not written */
	parcel.names[0].keys[7] = parcel.names[0].keys[6];
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	char text[PATHPROF_PARCEL_FUNCTION_BYTES + 2];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	CU_ASSERT_EQUAL(pathprof_parcel_add_function(&parcel, &parcel.names[0], 1, 1, text),
			-E2BIG);
	pathprof_parcel_release(&parcel);
}

/* A function and a path more of that build. */
static int add_one(struct pathprof_parcel *parcel, uint32_t build)
{
	static const struct pathprof_parcel_portable portable = {.start = 1};
	const struct pathprof_build_id *id = &parcel->parts[0].profile.binaries[build].id;
	struct pathprof_parcel_names *names = pathprof_parcel_names_of(parcel, id);
	int r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(names);
	r = pathprof_parcel_add_function(parcel, names, 1, 1, "one");
	CU_ASSERT_EQUAL(pathprof_parcel_add_portable(parcel, names, &portable), r);
	return r;
}

/* Names beyond the bound are left out, so that the counts can be sent all the same. */
static void test_many_names(void)
{
	struct pathprof_parcel parcel;
	struct pathprof_error error = {""};
	uint8_t *bytes = NULL;
	size_t len = 0;

	make_two_builds(&parcel);
	for (uint32_t i = 1; i < PATHPROF_PARCEL_FUNCTIONS_MAX; i++)
		CU_ASSERT_EQUAL(add_one(&parcel, 0), 0);
	CU_ASSERT_EQUAL(add_one(&parcel, 1), 0);
	CU_ASSERT_EQUAL(add_one(&parcel, 1), -E2BIG);
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), 0);
	free(bytes);
	/* without them there is room again */
	pathprof_parcel_names_release(&parcel);
	CU_ASSERT_EQUAL(add_one(&parcel, 1), 0);
	pathprof_parcel_release(&parcel);
}

/* A parcel whose paths lie in this very program: its functions are told once. */
static void test_namer(void)
{
	struct pathprof_parcel parcel = {.slot_s = SLOT_S};
	struct pathprof_parcel_part *part = pathprof_parcel_add_part(&parcel, PART_MAX);
	struct pathprof_namer *namer = NULL;
	struct pathprof_code *code = NULL;
	struct pathprof_build_id id;
	struct pathprof_error error = {""};
	char file[256] = "";
	uint64_t start = 0, end = 0;

	CU_ASSERT_FATAL(readlink("/proc/self/exe", file, sizeof(file) - 1) > 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(&code, file, NULL, &error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_build_id(code, &id, &error), 0);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_code_find_function(code, "pathprof_parcel_write", &start, &end), 0);
	pathprof_code_free(code);
	CU_ASSERT_EQUAL_FATAL(pathprof_namer_new(&namer), 0);
	char comm[] = "unit", none[] = "";
	const struct pathprof_process process = {
		.comm = comm, .container = none, .binary = PATHPROF_NO_INDEX};
	struct pathprof_path_count path = {
		.binary = pathprof_profile_binary(&part->profile, &id, file),
		.process = pathprof_profile_process(&part->profile, &process),
		.start = start + 4,
		.samples = 1,
		.weight = 1};
	pathprof_profile_add_path(&part->profile, &path);
	path.start = start + 9;
	pathprof_profile_add_path(&part->profile, &path);

	CU_ASSERT_EQUAL(pathprof_namer_name(namer, &parcel), 0);
	CU_ASSERT_EQUAL_FATAL(parcel.name_cnt, 1);
	CU_ASSERT_EQUAL_FATAL(parcel.names[0].function_cnt, 1);
	CU_ASSERT_STRING_EQUAL(parcel.names[0].functions[0].name, "pathprof_parcel_write");
	CU_ASSERT_EQUAL(parcel.names[0].functions[0].start, start);
	CU_ASSERT_EQUAL(parcel.names[0].functions[0].len_bytes, 10);
	pathprof_namer_told(namer, &parcel);
	pathprof_parcel_names_release(&parcel);
	CU_ASSERT_EQUAL(pathprof_namer_name(namer, &parcel), 0);
	CU_ASSERT_EQUAL(parcel.name_cnt, 0);
	/* what lies beyond all that was told is told with the whole of it */
	path.start = end - 1;
	pathprof_profile_add_path(&part->profile, &path);
	CU_ASSERT_EQUAL(pathprof_namer_name(namer, &parcel), 0);
	CU_ASSERT_EQUAL_FATAL(parcel.name_cnt, 1);
	CU_ASSERT_EQUAL(parcel.names[0].functions[0].len_bytes, end - start);
	pathprof_parcel_names_release(&parcel);
	pathprof_namer_forget(namer);
	CU_ASSERT_EQUAL(pathprof_namer_name(namer, &parcel), 0);
	CU_ASSERT_EQUAL(parcel.name_cnt, 1);
	pathprof_namer_free(namer);
	pathprof_parcel_release(&parcel);
}

static const struct unit_test tests[] = {
	{"names of functions and of paths are read as they were written", test_function_names},
	{"names are as many as a parcel may have, over all builds", test_many_names},
	{"names are told once, unless they are forgotten", test_namer},
};
UNIT_SUITE(parcel_names, tests)
