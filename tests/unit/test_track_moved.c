// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of tracked processes that is no file where it lies: generated code, its names, and text
 * that was moved.
 */
#include "track_child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Anonymous code, a memory file, and its first page moved where no event tells. */
static void map_things(int in, int out, const char *argument)
{
	int memory_fd = memfd_create("code", MFD_CLOEXEC);
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hole = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory, *moved;

	if (ftruncate(memory_fd, PAGE) < 0)
		_exit(4);
	memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, memory_fd, 0);
	say(out, (uintptr_t)code);
	say(out, (uintptr_t)memory);
	await(in);
	moved = mremap(code, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, hole + 8 * PAGE);
	say(out, (uintptr_t)moved);
	await(in);
}

static void check_generated(bool no_perf)
{
	struct pp_track *track = new_track(no_perf, 0);
	struct child child = start(map_things, NULL);
	uint64_t code = hear(&child), memory = hear(&child), moved;
	struct pp_location location, other;
	struct pp_track_stats stats;
	char name[32];
	uint64_t repairs;

	snprintf(name, sizeof(name), "jit:%d", child.pid);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, code + 5, &location));
	CU_ASSERT_EQUAL(location.id.kind, PATHPROF_ID_JIT);
	CU_ASSERT_EQUAL(location.offset, code + 5);
	CU_ASSERT_STRING_EQUAL(location.name, name);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, memory, &other));
	CU_ASSERT(same_id(&other.id, &location.id));
	pp_track_stats(track, &stats);
	repairs = stats.repairs;
	tell(&child);
	moved = hear(&child);
	CU_ASSERT_NOT_EQUAL_FATAL(moved, 0);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	/* a read for its age would find it as well, so it does not age */
	pp_images_newest(&track->images, child.pid)->scanned_ns = UINT64_MAX / 2;
	CU_ASSERT(resolves_soon(track, child.pid, moved + 7, &location));
	CU_ASSERT_EQUAL(location.offset, moved + 7);
	pp_track_stats(track, &stats);
	CU_ASSERT(stats.repairs > repairs);
	finish(&child);
	pp_track_free(track);
}

static void test_generated(void)
{
	check_generated(false);
	check_generated(true);
}

/* A page of the program's own text, and nothing else in it. */
__attribute__((section(".text.moved"), aligned(4096), noinline, used)) static void moved_text(void)
{
	__asm__ volatile(".p2align 12, 0xcc");
}

/* Moves a page of text as programs do that use huge pages for their text. */
static void move_text(int in, int out, const char *argument)
{
	char *text = (char *)(uintptr_t)&moved_text;
	char kept[PAGE];

	await(in);
	memcpy(kept, text, PAGE);
	if (mmap(text, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != text)
		_exit(4);
	memcpy(text, kept, PAGE);
	if (mprotect(text, PAGE, PROT_READ | PROT_EXEC) < 0)
		_exit(5);
	say(out, (uintptr_t)text);
	await(in);
}

static void check_moved_text(bool no_perf)
{
	struct pp_track *track = new_track(no_perf, 0);
	struct child child = start(move_text, NULL);
	struct pp_location before, location;
	uint64_t text = (uintptr_t)&moved_text;

	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, text, &before));
	CU_ASSERT_NOT_EQUAL(before.id.kind, PATHPROF_ID_JIT);
	tell(&child);
	CU_ASSERT_EQUAL(hear(&child), text);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	/* what /proc says now is read, too */
	pp_images_newest(&track->images, child.pid)->is_stale = true;
	CU_ASSERT_FATAL(resolves_soon(track, child.pid, text, &location));
	CU_ASSERT(same_id(&location.id, &before.id));
	CU_ASSERT_EQUAL(location.offset, before.offset);
	finish(&child);
	pp_track_free(track);
}

static void test_moved_text(void)
{
	check_moved_text(false);
	check_moved_text(true);
}

static void test_repairs_are_limited(void)
{
	struct pp_track *track = new_track(false, 0);
	struct child child = start(exec_when_told, "/bin/sleep");
	struct pp_location location;
	struct pp_track_stats stats;
	uint64_t begin_ns = now_ns(), most;

	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_EQUAL_FATAL(scan_soon(track, child.pid), 0);
	for (uint64_t i = 1; i <= 5000; i++)
		CU_ASSERT_EQUAL(pp_track_resolve(track, child.pid, 0, i, &location), -ENOENT);
	/* 1, 2, 4 ms apart and so on, then a second; and anew after a second without */
	most = ((now_ns() - begin_ns) / 1000000000 + 1) * 11;
	pp_track_stats(track, &stats);
	CU_ASSERT(stats.repairs >= 1 && stats.repairs <= most);
	finish(&child);
	pp_track_free(track);
}

static void write_perf_map(int in, int out, const char *argument)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	fputs("7000 100 interpreter loop\n", file);
	fclose(file);
	say(out, 1);
	await(in);
	unlink(path);
}

static struct pathprof_build_id code_of(struct pp_track *track, pid_t pid)
{
	struct pp_image *image = pp_images_newest(&track->images, pid);
	struct pp_image_detail *detail = image ? pp_track_detail(track, image) : NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(detail);
	return detail->jit_id;
}

/* A machine that stands still for a tenth of a second takes all of the time for names. */
static int jit_symbol_soon(struct pp_track *track, pid_t pid, const struct pathprof_build_id *code,
			   uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
			   uint64_t *ret_len_bytes)
{
	int r = -EAGAIN;

	for (int i = 0; i < 1000 && r == -EAGAIN; i++) {
		track->jit_budget.last_ns = 0;
		r = pp_track_jit_symbol(track, pid, code, address, name, name_size, ret_start,
					ret_len_bytes);
	}
	return r;
}

static void check_jit_symbols(bool no_perf)
{
	struct pathprof_build_id code;
	struct pp_track *track = new_track(no_perf, 0);
	struct child child = start(write_perf_map, NULL);
	uint64_t begin = 0, len_bytes = 0;
	char name[64] = "", path[64];

	CU_ASSERT_EQUAL(hear(&child), 1);
	CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
	CU_ASSERT_EQUAL_FATAL(scan_soon(track, child.pid), 0);
	code = code_of(track, child.pid);
	CU_ASSERT_EQUAL(jit_symbol_soon(track, child.pid, &code, 0x70ff, name, sizeof(name), &begin,
					&len_bytes),
			0);
	CU_ASSERT_STRING_EQUAL(name, "interpreter loop");
	CU_ASSERT(begin == 0x7000 && len_bytes == 0x100);
	CU_ASSERT_EQUAL(
		jit_symbol_soon(track, child.pid, &code, 0x7000, name, 6, &begin, &len_bytes), 0);
	CU_ASSERT_STRING_EQUAL(name, "inter");
	CU_ASSERT_EQUAL(jit_symbol_soon(track, child.pid, &code, 0x7100, name, sizeof(name), &begin,
					&len_bytes),
			-ENOENT);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child.pid);
	finish(&child);
	unlink(path);
	pp_track_free(track);
}

/* A program's names stay its own when its process executes another. */
static void test_jit_symbols_after_exec(void)
{
	struct pp_track *track = new_track(true, 0);
	struct child child = start(write_perf_map, NULL);
	struct pp_perf_record exec = {
		.kind = PP_PERF_EXEC, .pid = child.pid, .tid = child.pid, .comm = "other"};
	struct pathprof_build_id before, after;
	uint64_t begin, len_bytes;
	char name[64] = "", path[64];

	CU_ASSERT_EQUAL(hear(&child), 1);
	CU_ASSERT_EQUAL_FATAL(scan_soon(track, child.pid), 0);
	before = code_of(track, child.pid);
	CU_ASSERT_EQUAL(jit_symbol_soon(track, child.pid, &before, 0x7000, name, sizeof(name),
					&begin, &len_bytes),
			0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child.pid);
	CU_ASSERT_EQUAL(unlink(path), 0);
	exec.time_ns = now_ns();
	pp_track_apply(track, &exec);
	after = code_of(track, child.pid);
	CU_ASSERT_FALSE(same_id(&before, &after));
	CU_ASSERT_EQUAL(jit_symbol_soon(track, child.pid, &after, 0x7000, name, sizeof(name),
					&begin, &len_bytes),
			-ENOENT);
	name[0] = 0;
	CU_ASSERT_EQUAL(jit_symbol_soon(track, child.pid, &before, 0x7000, name, sizeof(name),
					&begin, &len_bytes),
			0);
	CU_ASSERT_STRING_EQUAL(name, "interpreter loop");
	finish(&child);
	pp_track_free(track);
}

static void test_jit_symbols(void)
{
	check_jit_symbols(false);
	check_jit_symbols(true);
}

static const struct unit_test tests[] = {
	{"generated code is told apart, and found again when moved", test_generated},
	{"text that was moved to other memory stays the file's", test_moved_text},
	{"repairs are limited in rate", test_repairs_are_limited},
	{"generated code has the names its process wrote", test_jit_symbols},
	{"generated code keeps its names across an exec", test_jit_symbols_after_exec},
};
UNIT_SUITE(track_moved, tests)
