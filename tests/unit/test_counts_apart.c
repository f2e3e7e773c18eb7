// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that counts its paths and its files of counts, read by a process apart: the same comes
 * of it as of reading them here, and what that process makes up is refused.
 */
#include "../../libprofile/src/counts/pp_counted_apart.h"
#include "../counted_program.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTER_CNT 8

/* ---------------------------------------------------------------- a description */

struct text {
	uint8_t bytes[2048];
	size_t len;
};

static void put(struct text *t, const void *bytes, size_t len)
{
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

static void put_u32(struct text *t, uint32_t value)
{
	put(t, &value, sizeof(value));
}

static void put_u64(struct text *t, uint64_t value)
{
	put(t, &value, sizeof(value));
}

static void put_string(struct text *t, const char *string)
{
	put_u32(t, (uint32_t)strlen(string));
	put(t, string, strlen(string));
}

static void put_cnt_and(struct text *t, uint32_t cnt, const uint32_t *words, size_t word_cnt)
{
	put_u32(t, cnt);
	put(t, words, word_cnt * sizeof(words[0]));
}

/* Two nodes and an edge, a call inlined, and a counter of clang's. */
static void put_shape(struct text *t)
{
	static const uint32_t nodes[] = {0, 3, 1, 0, 4, 2}, edge[] = {0, 1, 0};
	static const uint32_t crossing[] = {1, PATHPROF_CROSSING_CALL, 0}, place[] = {0, 1};

	put_u32(t, 1);
	put_string(t, "dir/unit.c");
	put_cnt_and(t, 2, nodes, 6);
	put_cnt_and(t, 1, edge, 3);
	put_cnt_and(t, 1, crossing, 3);
	put_string(t, "clang's");
	put_u64(t, 77);
	put_u32(t, 1);
	for (int i = 0; i < PATHPROF_VALUE_KINDS; i++)
		put_u32(t, (uint32_t)i);
	put_cnt_and(t, 1, place, 2);
}

static void put_array(struct text *t, const char *name)
{
	put_string(t, name);
	put_u32(t, 0);
	put_u64(t, 0);
	put_u64(t, 3);
	put_u32(t, PATHPROF_COUNTING_ARRAY);
	put_u32(t, 0);
	put_u32(t, 0);
	put_shape(t);
}

static void put_warm(struct text *t)
{
	put_string(t, "warm");
	put_u32(t, 1);
	put_u64(t, 4);
	put_u64(t, 9);
	put_u32(t, PATHPROF_COUNTING_WARM);
	put_u32(t, 2);
	put_u64(t, 6);
	put_u64(t, 0);
	put_u32(t, 1);
	put_u64(t, 7);
	put_u64(t, 100);
	put_shape(t);
}

static void put_functions(struct text *t)
{
	put_u64(t, COUNTED_PROGRAM_ADDRESS);
	put_u64(t, COUNTER_CNT);
	put_string(t, "unit.c");
	put_u32(t, 2);
	put_u32(t, 5); /* left out */
	put_u32(t, 1);
	put_string(t, "inlined");
	put_u32(t, 1);
	put_string(t, "missing");
	put_array(t, "array\x1b[m");
	put_warm(t);
}

static void put_unit(struct text *t)
{
	struct text functions = {.len = 0};

	put_functions(&functions);
	put_u32(t, PATHPROF_UNIT_MAGIC);
	put_u32(t, PATHPROF_UNIT_VERSION);
	put_u64(t, functions.len);
	put(t, functions.bytes, functions.len);
}

/* ---------------------------------------------------------------- files */

static const char *path_of(const char *name)
{
	static char paths[4][300];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", unit_tmpdir(), name);
	return path;
}

static const char *saved(const char *name, const void *bytes, size_t len)
{
	const char *path = path_of(name);
	FILE *file = fopen(path, "we");

	CU_ASSERT_FATAL(file && fwrite(bytes, 1, len, file) == len);
	fclose(file);
	return path;
}

static const char *program(void)
{
	const char *path = path_of("program");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct text description = {.len = 0};

	put_unit(&description);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(counted_program_write(fd, description.bytes, description.len), 0);
	close(fd);
	return path;
}

/* One thread's counts: paths 0 and 2 of the first function, path 5 and cold ones of the second. */
static const char *counts_of(uint8_t build)
{
	static union {
		uint8_t bytes[2 * PATHPROF_COUNTS_PAGE + 2 * PATHPROF_COUNTS_PAGE];
		struct pathprof_counts_head head;
	} f;
	struct pathprof_counts_region region = {.kind = PATHPROF_COUNTS_THREAD,
						.bytes = sizeof(f) - PATHPROF_COUNTS_PAGE};
	static const uint64_t image[COUNTER_CNT] = {10, 0, 30, 0, 50, 60};

	f.head = (struct pathprof_counts_head){.magic = PATHPROF_COUNTS_MAGIC,
					       .version = PATHPROF_COUNTS_VERSION,
					       .used_bytes = sizeof(f),
					       .image_bytes = COUNTED_PROGRAM_IMAGE_BYTES,
					       .pid = 42,
					       .start_ns = 1000,
					       .lost_cnt = 3,
					       .build_id_bytes = COUNTED_PROGRAM_ID_BYTES,
					       .build_id = {build},
					       .object = "/bin/program",
					       .crowded_cnt = 4,
					       .shared_cnt = 5,
					       .unmade_cnt = 6};
	memcpy(f.bytes + PATHPROF_COUNTS_PAGE, &region, sizeof(region));
	memcpy(f.bytes + PATHPROF_COUNTS_PAGE + sizeof(region), image, sizeof(image));
	return saved("counts", &f, sizeof(f));
}

/* ---------------------------------------------------------------- the same */

static struct pathprof_counted *open_here(void)
{
	struct pathprof_error error = {""};
	struct pathprof_counted *counted = NULL;

	CU_ASSERT_EQUAL_FATAL(pathprof_counted_open(&counted, program(), &error), 0);
	return counted;
}

static struct pathprof_counted *open_apart(void)
{
	struct pathprof_error error = {""};
	struct pathprof_counted *counted = NULL;

	CU_ASSERT_EQUAL_FATAL(pathprof_counted_open_apart(&counted, program(), &error), 0);
	return counted;
}

static void compare_lines(const struct pathprof_counted_function *a,
			  const struct pathprof_counted_function *b)
{
	CU_ASSERT_EQUAL_FATAL(a->node_cnt, b->node_cnt);
	for (uint32_t i = 0; i < a->node_cnt; i++) {
		CU_ASSERT_STRING_EQUAL(a->lines[i].file, b->lines[i].file);
		CU_ASSERT_STRING_EQUAL(a->lines[i].function, b->lines[i].function);
		CU_ASSERT_EQUAL(a->lines[i].line, b->lines[i].line);
		CU_ASSERT_EQUAL(a->lines[i].column, b->lines[i].column);
		CU_ASSERT_EQUAL(a->lines[i].crossing, b->lines[i].crossing);
	}
	CU_ASSERT_EQUAL_FATAL(a->arc_cnt, b->arc_cnt);
	for (uint32_t i = 0; i < a->arc_cnt; i++) {
		CU_ASSERT_EQUAL(a->arcs[i].from, b->arcs[i].from);
		CU_ASSERT_EQUAL(a->arcs[i].to, b->arcs[i].to);
		CU_ASSERT_EQUAL(a->arcs[i].cut, b->arcs[i].cut);
	}
}

static void compare_function(const struct pathprof_counted_function *a,
			     const struct pathprof_counted_function *b)
{
	CU_ASSERT_STRING_EQUAL(a->name, b->name);
	CU_ASSERT_STRING_EQUAL(a->unit, b->unit);
	CU_ASSERT_EQUAL(a->is_local, b->is_local);
	CU_ASSERT_EQUAL(a->counting, b->counting);
	CU_ASSERT_EQUAL(a->counter, b->counter);
	CU_ASSERT_EQUAL(a->path_cnt, b->path_cnt);
	CU_ASSERT_EQUAL_FATAL(a->slot_cnt, b->slot_cnt);
	CU_ASSERT_EQUAL(memcmp(a->slots, b->slots, a->slot_cnt * sizeof(*a->slots)), 0);
	CU_ASSERT_EQUAL_FATAL(a->told_cnt, b->told_cnt);
	CU_ASSERT_EQUAL(memcmp(a->told, b->told, a->told_cnt * sizeof(*a->told)), 0);
	compare_lines(a, b);
	CU_ASSERT_STRING_EQUAL(a->profile_name, b->profile_name);
	CU_ASSERT_EQUAL(a->profile_hash, b->profile_hash);
	CU_ASSERT_EQUAL(a->profile_counter_cnt, b->profile_counter_cnt);
	CU_ASSERT_EQUAL(memcmp(a->site_cnt, b->site_cnt, sizeof(a->site_cnt)), 0);
	CU_ASSERT_EQUAL_FATAL(a->place_cnt, b->place_cnt);
	CU_ASSERT_EQUAL(memcmp(a->places, b->places, a->place_cnt * sizeof(*a->places)), 0);
	CU_ASSERT_EQUAL(a->first, b->first);
	CU_ASSERT_EQUAL(a->next, b->next);
}

static void test_descriptions(void)
{
	struct pathprof_counted *here = open_here(), *apart = open_apart();

	CU_ASSERT_EQUAL_FATAL(here->function_cnt, 2);
	CU_ASSERT_EQUAL_FATAL(apart->function_cnt, 2);
	for (uint32_t i = 0; i < 2; i++)
		compare_function(&here->functions[i], &apart->functions[i]);
	CU_ASSERT_STRING_EQUAL(apart->functions[0].name, "array?[m");
	CU_ASSERT(pathprof_build_id_equal(&here->build_id, &apart->build_id));
	CU_ASSERT_EQUAL(apart->image_bytes, COUNTED_PROGRAM_IMAGE_BYTES);
	CU_ASSERT_EQUAL(apart->left_out_cnt, 5);
	CU_ASSERT_EQUAL_FATAL(apart->missing_cnt, 1);
	CU_ASSERT_STRING_EQUAL(apart->missing[0], "missing");
	pathprof_counted_free(here);
	pathprof_counted_free(apart);
}

static void check_counts(struct pathprof_counted *counted, uint64_t times)
{
	struct pathprof_counted_path *paths;
	size_t cnt;

	CU_ASSERT_EQUAL_FATAL(pathprof_counted_paths(counted, 0, &paths, &cnt), 0);
	CU_ASSERT_EQUAL_FATAL(cnt, 2);
	CU_ASSERT(paths[0].id == 0 && paths[0].count == 10 * times);
	CU_ASSERT(paths[1].id == 2 && paths[1].count == 30 * times);
	free(paths);
	CU_ASSERT_EQUAL_FATAL(pathprof_counted_paths(counted, 1, &paths, &cnt), 0);
	CU_ASSERT_EQUAL_FATAL(cnt, 1);
	CU_ASSERT(paths[0].id == 5 && paths[0].count == 50 * times);
	free(paths);
	CU_ASSERT_EQUAL(pathprof_counted_cold(counted, 1), 60 * times);
}

static void test_counts(void)
{
	struct pathprof_counted *here = open_here(), *apart = open_apart();
	struct pathprof_counts_run run[3] = {{.pid = 0}};
	const char *counts = counts_of(COUNTED_PROGRAM_ID);
	struct pathprof_error error = {""};

	for (uint64_t times = 1; times <= 2; times++) {
		CU_ASSERT_EQUAL(pathprof_counted_add(here, counts, &run[0], &error), 0);
		CU_ASSERT_EQUAL(pathprof_counted_add(apart, counts, &run[1], &error), 0);
		check_counts(here, times);
		check_counts(apart, times);
	}
	CU_ASSERT_EQUAL(pathprof_counts_run_apart(counts, &run[2], &error), 0);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(run[i].pid, 42);
		CU_ASSERT_EQUAL(run[i].begin_ns, 1000);
		CU_ASSERT_EQUAL(run[i].end_ns, run[0].end_ns);
		CU_ASSERT_EQUAL(run[i].lost_cnt, 3);
		CU_ASSERT_EQUAL(run[i].crowded_cnt, 4);
		CU_ASSERT_EQUAL(run[i].shared_cnt, 5);
		CU_ASSERT_EQUAL(run[i].unmade_cnt, 6);
		CU_ASSERT_STRING_EQUAL(run[i].object, "/bin/program");
	}
	pathprof_counted_free(here);
	pathprof_counted_free(apart);
}

/* ---------------------------------------------------------------- what is refused */

static void test_refused(void)
{
	struct pathprof_counted *here = open_here(), *apart = open_apart(), *none = NULL;
	struct pathprof_error a = {""}, b = {""};
	const char *counts = counts_of(COUNTED_PROGRAM_ID + 1);
	struct pathprof_counts_run run;

	CU_ASSERT_EQUAL(pathprof_counted_add(here, counts, NULL, &a), -ESTALE);
	CU_ASSERT_EQUAL(pathprof_counted_add(apart, counts, NULL, &b), -ESTALE);
	CU_ASSERT_STRING_EQUAL(a.text, b.text);
	counts = saved("counts", "no counts", 9);
	CU_ASSERT_EQUAL(pathprof_counted_add(here, counts, NULL, &a), -EBADMSG);
	CU_ASSERT_EQUAL(pathprof_counted_add(apart, counts, NULL, &b), -EBADMSG);
	CU_ASSERT_STRING_EQUAL(a.text, b.text);
	CU_ASSERT_EQUAL(pathprof_counts_run_apart(counts, &run, &b), -EBADMSG);
	CU_ASSERT_STRING_EQUAL(a.text, b.text);
	/* The process is none the worse. */
	CU_ASSERT_EQUAL(pathprof_counted_add(apart, counts_of(COUNTED_PROGRAM_ID), NULL, &b), 0);
	check_counts(apart, 1);
	CU_ASSERT(pathprof_counted_open(&none, counts, &a) < 0);
	CU_ASSERT(pathprof_counted_open_apart(&none, counts, &b) < 0);
	CU_ASSERT_STRING_EQUAL(a.text, b.text);
	pathprof_counted_free(here);
	pathprof_counted_free(apart);
}

/* ---------------------------------------------------------------- what is made up */

/* The answers of a process apart that somebody has taken over. */
static struct {
	size_t sums_bytes;
	uint32_t run_bytes;
	int32_t code;
	int64_t begin_ns, end_ns;
	bool dies;
} lie;

static void honestly(void)
{
	memset(&lie, 0, sizeof(lie));
	lie.sums_bytes = COUNTED_PROGRAM_IMAGE_BYTES;
	lie.run_bytes = sizeof(struct pathprof_counts_run);
}

static void make_up_sums(struct pathprof_apart_message *m, int fd)
{
	static const char zeros[40000];

	m->code = write(fd, zeros, lie.sums_bytes) == (ssize_t)lie.sums_bytes ? 0 : -EIO;
	m->bytes = 0;
	close(fd);
}

static void make_up_run(struct pathprof_apart_message *m)
{
	struct pathprof_counts_run run = {.begin_ns = lie.begin_ns, .end_ns = lie.end_ns};

	if (lie.dies)
		abort();
	memset(run.object, 'x', sizeof(run.object));
	memcpy(m->text, &run, sizeof(run));
	m->bytes = lie.run_bytes;
	m->code = lie.code;
}

static void make_up(struct pathprof_apart_message *m, int fd)
{
	if (m->kind == PP_ASK_SUMS)
		return make_up_sums(m, fd);
	pp_counted_reader.answer(m, fd);
	if (m->kind == PP_ASK_COUNTS)
		make_up_run(m);
}

/* Adds the counts that the reader makes up. */
static int add_made_up(struct pathprof_counts_run *ret_run, struct pathprof_error *error)
{
	static const struct pathprof_apart_service liar = {.answer = make_up};
	struct pathprof_counted *counted = NULL;
	int r = pp_counted_open_by(&counted, &liar, program(), error);

	CU_ASSERT_EQUAL_FATAL(r, 0);
	r = pathprof_counted_add(counted, counts_of(COUNTED_PROGRAM_ID), ret_run, error);
	CU_ASSERT_EQUAL(counted->image[0], 0);
	CU_ASSERT_EQUAL(counted->hashed_cnt, 0);
	pathprof_counted_free(counted);
	return r;
}

/* The file of counts has four pages, of which no more than twice as many bytes come. */
static void test_sums(void)
{
	const size_t image = COUNTED_PROGRAM_IMAGE_BYTES, entry = sizeof(struct pp_hashed_path);
	const size_t most = (size_t)8 * PATHPROF_COUNTS_PAGE / entry * entry;
	const struct {
		size_t bytes;
		const char *refusal; /* NULL: they are taken */
	} sums[] = {
		{image, NULL},
		{0, "cannot be read apart"},
		{image - 1, "cannot be read apart"},
		{image + 1, "cannot be read apart"},
		{image + entry - 1, "cannot be read apart"},
		/* Length is no matter; that no function has such a path is. */
		{image + entry, "a path that no function has"},
		{image + most, "a path that no function has"},
		{image + most + entry, "cannot be read apart"},
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		struct pathprof_error error = {""};

		honestly();
		lie.sums_bytes = sums[i].bytes;
		CU_ASSERT_EQUAL(add_made_up(NULL, &error), sums[i].refusal ? -EBADMSG : 0);
		CU_ASSERT(!sums[i].refusal || strstr(error.text, sums[i].refusal));
	}
}

static void test_runs(void)
{
	static const int64_t times[][3] = {
		/* begin, end, and the beginning that is taken */
		{5, 7, 5}, {7, 7, 7}, {8, 7, 7}, {-1, 7, 7}, {INT64_MIN, INT64_MAX, INT64_MAX},
	};
	struct pathprof_counts_run run;
	struct pathprof_error error;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		honestly();
		lie.begin_ns = times[i][0];
		lie.end_ns = times[i][1];
		CU_ASSERT_EQUAL(add_made_up(&run, &error), 0);
		CU_ASSERT_EQUAL(run.begin_ns, times[i][2]);
		CU_ASSERT_EQUAL(run.end_ns, times[i][1]);
		CU_ASSERT_EQUAL(strnlen(run.object, sizeof(run.object)), sizeof(run.object) - 1);
	}
	for (int more = -1; more <= 1; more += 2) {
		honestly();
		lie.run_bytes += (uint32_t)more;
		CU_ASSERT_EQUAL(add_made_up(&run, &error), -EBADMSG);
	}
	honestly();
	lie.code = 1;
	CU_ASSERT_EQUAL(add_made_up(&run, &error), -EBADMSG);
}

/* It dies over one file, which is named, and reads no other. */
static void test_death(void)
{
	static const struct pathprof_apart_service liar = {.answer = make_up};
	struct pathprof_error error = {""};
	struct pathprof_counted *counted = NULL;
	const char *counts = counts_of(COUNTED_PROGRAM_ID);

	honestly();
	lie.dies = true;
	CU_ASSERT_EQUAL_FATAL(pp_counted_open_by(&counted, &liar, program(), &error), 0);
	for (int i = 0; i < 2; i++) {
		error.text[0] = '\0';
		CU_ASSERT_EQUAL(pathprof_counted_add(counted, counts, NULL, &error), -EOWNERDEAD);
		CU_ASSERT(strstr(error.text, counts) && strstr(error.text, "leave that out"));
		CU_ASSERT_EQUAL(counted->image[0], 0);
	}
	pathprof_counted_free(counted);
}

/* Reads a form and checks that all functions read from it are sound. */
static int read_form(const void *form, size_t bytes)
{
	struct pathprof_counted *counted = calloc(1, sizeof(*counted));
	int r = pp_form_read(counted, form, bytes);

	for (uint32_t i = 0; r == 0 && i < counted->function_cnt; i++) {
		const struct pathprof_counted_function *f = &counted->functions[i];

		CU_ASSERT(pp_counted_is_sound(counted, f));
		CU_ASSERT(strlen(f->name) < 100 && strlen(f->unit) < 100);
		for (uint32_t k = 0; k < f->node_cnt; k++)
			CU_ASSERT(strlen(f->lines[k].file) < 100);
	}
	pathprof_counted_free(counted);
	return r;
}

static void test_forms(void)
{
	static const uint32_t words[] = {0, 1, 255, INT32_MAX, UINT32_MAX};
	struct pathprof_counted *counted = open_here();
	char *form = NULL;
	size_t bytes = 0, refused_cnt = 0;
	FILE *out = open_memstream(&form, &bytes);

	CU_ASSERT_EQUAL(pp_form_write(counted, out), 0);
	fclose(out);
	CU_ASSERT_EQUAL(read_form(form, bytes), 0);
	for (size_t len = 0; len < bytes; len++)
		CU_ASSERT_EQUAL(read_form(form, len), -EBADMSG);
	for (size_t at = 0; at + sizeof(words[0]) <= bytes; at++)
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			uint32_t before;

			memcpy(&before, form + at, sizeof(before));
			memcpy(form + at, &words[i], sizeof(before));
			refused_cnt += read_form(form, bytes) == -EBADMSG;
			memcpy(form + at, &before, sizeof(before));
		}
	CU_ASSERT(refused_cnt > bytes / 2);
	free(form);
	pathprof_counted_free(counted);
}

static const struct unit_test tests[] = {
	{"a program is read the same", test_descriptions},
	{"counts are read the same", test_counts},
	{"what is refused is told the same", test_refused},
	{"made-up sums are refused", test_sums},
	{"made-up runs are mended or refused", test_runs},
	{"a process that dies is told", test_death},
	{"forms are checked", test_forms},
};
UNIT_SUITE(counts_apart, tests)
