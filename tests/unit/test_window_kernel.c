// SPDX-License-Identifier: GPL-2.0-or-later
/* Clock samples in the kernel: each function is a place of the binary "[kernel]", and gets its
 * name. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/clock/cpu_clock.h"
#include "../../daemon/window/window.h"

#define TEXT 0xffffffff81000000ull

struct names {
	unsigned int cnt;
	bool all_right;
};

static int dispatch(void *context)
{
	return 0;
}

static const struct pp_track_process *process(void *context, pid_t pid, uint64_t time_ns)
{
	static const struct pp_track_process p = {.pid = 7, .start_time = 1, .comm = "seven"};

	return &p;
}

static int resolve(void *context, pid_t pid, uint64_t time_ns, uint64_t address,
		   struct pp_location *ret_location)
{
	return -ENOENT;
}

static int jit_symbol(void *context, pid_t pid, const struct pathprof_build_id *code,
		      uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
		      uint64_t *ret_len_bytes)
{
	CU_FAIL("the kernel's names are not a process'");
	return -ENOENT;
}

/* A function every 256 bytes in the first page, none behind. */
static int resolve_kernel(void *context, uint64_t address, struct pp_location *ret_location)
{
	if (address - TEXT >= 4096)
		return -ENOENT;
	*ret_location = (struct pp_location){.offset = (address - TEXT) & ~0xffull,
					     .name = PATHPROF_KERNEL_NAME};
	pathprof_build_id_make(&ret_location->id, PATHPROF_ID_JIT, "boot", 4);
	return 0;
}

static int kernel_symbol(void *context, uint64_t offset, char *name, size_t name_size,
			 uint64_t *ret_start, uint64_t *ret_len_bytes)
{
	snprintf(name, name_size, "k_%llx", (unsigned long long)offset);
	*ret_start = offset;
	*ret_len_bytes = 256;
	return 0;
}

static uint64_t samples_at(const struct pathprof_profile *p, bool named, uint64_t place)
{
	for (uint32_t i = 0; i < p->clock_cnt; i++) {
		const struct pathprof_clock_count *c = &p->clocks[i];

		if ((c->binary != PATHPROF_NO_INDEX) == named && c->place == place)
			return c->samples;
	}
	return 0;
}

static int add_window(void *context, const struct pathprof_profile *profile,
		      struct pathprof_error *error)
{
	CU_ASSERT_EQUAL(profile->clock_cnt, 3);
	CU_ASSERT_EQUAL(profile->binary_cnt, 1);
	CU_ASSERT(pathprof_is_kernel(&profile->binaries[0].id, profile->binaries[0].name));
	CU_ASSERT_EQUAL(samples_at(profile, true, 0x100), 2);
	CU_ASSERT_EQUAL(samples_at(profile, true, 0x200), 1);
	CU_ASSERT_EQUAL(samples_at(profile, false, PATHPROF_PLACE_KERNEL), 1);
	CU_ASSERT_EQUAL(profile->totals.clock_samples, 4);
	return 0;
}

static int add_symbols(void *context, const struct pathprof_jit_symbol *symbols, size_t cnt,
		       struct pathprof_error *error)
{
	struct names *names = context;
	char want[32];

	for (size_t i = 0; i < cnt; i++) {
		const struct pathprof_jit_symbol *s = &symbols[i];

		snprintf(want, sizeof(want), "k_%llx", (unsigned long long)s->start);
		names->cnt++;
		names->all_right = names->all_right && s->id->kind == PATHPROF_ID_JIT &&
				   !strcmp(s->name, want) && s->len_bytes == 256;
	}
	return 0;
}

static void test_functions(void)
{
	static const uint64_t addresses[] = {TEXT + 0x110, TEXT + 0x1ff, TEXT + 0x200, TEXT + 8192};
	const struct pp_resolver resolver = {.dispatch = dispatch,
					     .process = process,
					     .resolve = resolve,
					     .jit_symbol = jit_symbol,
					     .resolve_kernel = resolve_kernel,
					     .kernel_symbol = kernel_symbol};
	const struct pp_window_config config = {.mapping = PATHPROF_MAPPING_BL,
						.source = PATHPROF_SOURCE_STEP,
						.basis = PATHPROF_BASIS_TIME,
						.taken_wanted = 32,
						.memory_max_bytes = 8 << 20};
	struct names names = {.all_right = true};
	const struct pp_window_sink sink = {&names, add_window, add_symbols};
	struct pp_window *window;

	CU_ASSERT_EQUAL_FATAL(pp_window_new(&window, &config, &resolver), 0);
	pp_window_set_clock(window, 97, true);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		pp_window_add_clock(window, &(struct pp_cpu_sample){.pid = 7,
								    .tid = 7,
								    .time_ns = 1,
								    .address = addresses[i],
								    .kernel = true});
	CU_ASSERT_EQUAL(pp_window_close(window, &sink, NULL), 0);
	CU_ASSERT_EQUAL(names.cnt, 2);
	CU_ASSERT(names.all_right);
	pp_window_free(window);
}

static const struct unit_test tests[] = {
	{"functions of the kernel have places and names", test_functions},
};
UNIT_SUITE(window_kernel, tests)
