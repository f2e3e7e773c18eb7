// SPDX-License-Identifier: GPL-2.0-or-later
/* The open window and generated code: whose functions get their names. */
#include "window_scene.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/window/window_jit.h"

/* Three symbols of generated code a process in reach of random_address, one without a name. */
static void test_jit_symbols(void)
{
	unsigned int seed = 16;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	feed(&scene, &seed, 500);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	CU_ASSERT_EQUAL(scene.sunk.symbols, 3 * PIDS);
	CU_ASSERT(scene.fake.jit_lookups >= scene.sunk.symbols);
	scene_release(&scene);
}

static void add_generated(struct pathprof_profile *profile, uint32_t pid, uint64_t first,
			  uint32_t cnt, uint64_t step)
{
	const struct pathprof_build_id id = id_of((pid_t)pid, MAPS - 1);
	char comm[] = "vm", container[] = "";
	const struct pathprof_process process = {.pid = pid,
						 .start_time = pid,
						 .comm = comm,
						 .container = container,
						 .binary = PATHPROF_NO_INDEX};
	struct pathprof_path_count path = {.length = 1, .samples = 1, .weight = 1};

	path.binary = pathprof_profile_binary(profile, &id, "jit");
	path.process = pathprof_profile_process(profile, &process);
	for (uint32_t i = 0; i < cnt; i++) {
		path.start = first + i * step;
		pathprof_profile_add_path(profile, &path);
	}
}

/* Symbols that were stored, by process, and their names in a row. */
struct stored {
	unsigned int cnts[3], calls;
	char names[64];
};

static int store_symbols(void *context, const struct pathprof_jit_symbol *symbols, size_t cnt,
			 struct pathprof_error *error)
{
	struct stored *stored = context;

	stored->calls++;
	for (size_t i = 0; i < cnt; i++) {
		size_t len = strlen(stored->names);

		stored->cnts[symbols[i].id->bytes[1]]++;
		snprintf(stored->names + len, sizeof(stored->names) - len, "%s ", symbols[i].name);
	}
	return 0;
}

/* One process alone has more generated addresses than a window looks at. */
static void test_jit_shares(void)
{
	struct fake fake = {0};
	const struct pp_resolver resolver = {&fake,        fake_dispatch, fake_process,
					     fake_resolve, fake_jit,      NULL};
	struct stored stored = {.names = ""};
	const struct pp_window_sink sink = {.context = &stored, .add_jit_symbols = store_symbols};
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 16 << 20), 0);
	add_generated(&profile, 1, 0x100, 20000, 0x1000);
	add_generated(&profile, 2, 0x100, 10, 0x1000);
	CU_ASSERT_EQUAL(pp_window_store_jit(&profile, &resolver, &sink, NULL), 0);
	CU_ASSERT_EQUAL(profile.path_cnt, 20010);
	CU_ASSERT_EQUAL(stored.cnts[1], 16384 - 10);
	CU_ASSERT_EQUAL(stored.cnts[2], 10);
	CU_ASSERT_EQUAL(stored.calls, 16384 / 256); /* transactions of the store */
	pathprof_profile_release(&profile);
}

/* "in" was compiled into memory of "out" that was free again, and lies within its line. */
static int nested_jit(void *context, pid_t pid, const struct pathprof_build_id *code,
		      uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
		      uint64_t *ret_len_bytes)
{
	const bool is_in = address >= 0x120 && address < 0x140;

	snprintf(name, name_size, "%s", is_in ? "in" : "out");
	*ret_start = is_in ? 0x120 : 0x100;
	*ret_len_bytes = is_in ? 0x20 : 0x100;
	return 0;
}

static void test_jit_within(void)
{
	const struct pp_resolver resolver = {NULL,         fake_dispatch, fake_process,
					     fake_resolve, nested_jit,    NULL};
	struct stored stored = {.names = ""};
	const struct pp_window_sink sink = {.context = &stored, .add_jit_symbols = store_symbols};
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 1 << 20), 0);
	add_generated(&profile, 1, 0x100, 8, 0x10);
	CU_ASSERT_EQUAL(pp_window_store_jit(&profile, &resolver, &sink, NULL), 0);
	CU_ASSERT_STRING_EQUAL(stored.names, "out in out ");
	pathprof_profile_release(&profile);
}

/* The names of two programs that one process ran. */
static int jit_of_program(void *context, pid_t pid, const struct pathprof_build_id *code,
			  uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
			  uint64_t *ret_len_bytes)
{
	snprintf(name, name_size, "%d:%d", pid, code->bytes[1]);
	*ret_start = 0x100;
	*ret_len_bytes = 0x100;
	return 0;
}

/* One process generated code at one address before and after it executed another program. */
static void test_jit_after_exec(void)
{
	const struct pp_resolver resolver = {NULL,         fake_dispatch,  fake_process,
					     fake_resolve, jit_of_program, NULL};
	struct stored stored = {.names = ""};
	const struct pp_window_sink sink = {.context = &stored, .add_jit_symbols = store_symbols};
	struct pathprof_path_count path = {.start = 0x110, .length = 1, .samples = 1, .weight = 1};
	char comm[] = "vm", container[] = "";
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 1 << 20), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct pathprof_build_id id = id_of((pid_t)i + 1, MAPS - 1);
		const struct pathprof_process process = {.pid = 7,
							 .exec_cnt = i,
							 .comm = comm,
							 .container = container,
							 .binary = PATHPROF_NO_INDEX};

		path.binary = pathprof_profile_binary(&profile, &id, "jit:7");
		path.process = pathprof_profile_process(&profile, &process);
		pathprof_profile_add_path(&profile, &path);
	}
	CU_ASSERT_EQUAL(pp_window_store_jit(&profile, &resolver, &sink, NULL), 0);
	CU_ASSERT_STRING_EQUAL(stored.names, "7:1 7:2 ");
	pathprof_profile_release(&profile);
}

static const struct unit_test tests[] = {
	{"each generated function is named once", test_jit_symbols},
	{"a process with generated code without end leaves others their names", test_jit_shares},
	{"a generated function within another's line has its name", test_jit_within},
	{"generated code has the names of the program that ran it", test_jit_after_exec},
};
UNIT_SUITE(window_jit, tests)
