// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When a graph comes from the cache and when it is built, on a real file: what is kept under its
 * key tells the two apart, because it is the graph of something else.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../libprofile/src/graph/pp_graph_cache.h"
#include "oracle_flow.h"
#include "test_code.h"

#define REAL "/bin/gzip"

struct scene {
	char file[160], directory[160], kept[256];
	struct pathprof_graph_cache cache;
	struct pp_graph_key key;
};

static size_t read_real(uint8_t **ret_bytes)
{
	int fd = open(REAL, O_RDONLY | O_CLOEXEC);
	struct stat st = {0};

	CU_ASSERT_FATAL(fd >= 0 && !fstat(fd, &st));
	*ret_bytes = malloc((size_t)st.st_size + 1);
	CU_ASSERT_FATAL(*ret_bytes && read(fd, *ret_bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static void write_copy(const char *path, const uint8_t *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

/* Makes the build-id's note one of another type. */
static void hide_build_id(uint8_t *bytes, size_t len)
{
	static const uint8_t note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
	uint8_t *at = memmem(bytes, len, note, sizeof(note));

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	if (at)
		at[8] = 99;
}

static void set_up(struct scene *s, bool has_id, size_t more_bytes)
{
	const char *dir = unit_tmpdir();
	char text[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_code *code;
	uint8_t *bytes;
	size_t len = read_real(&bytes);

	*s = (struct scene){.cache = {.directory = s->directory}};
	snprintf(s->file, sizeof(s->file), "%s/program", dir);
	snprintf(s->directory, sizeof(s->directory), "%s/graphs", dir);
	if (!has_id)
		hide_build_id(bytes, len);
	bytes[len] = 0;
	write_copy(s->file, bytes, len + more_bytes);
	free(bytes);
	code = open_code(s->file);
	CU_ASSERT_EQUAL_FATAL(pp_graph_key_of(&s->key, code, NULL), 0);
	pathprof_code_free(code);
	CU_ASSERT_EQUAL(s->key.file_bytes, len + more_bytes);
	snprintf(s->kept, sizeof(s->kept), "%s/%s.graph", s->directory,
		 pathprof_build_id_text(&s->key.build_id, text));
}

static struct pathprof_graph *open_it(const struct scene *s,
				      const struct pathprof_graph_cache *cache)
{
	struct pathprof_code *code = open_code(s->file);
	struct pathprof_graph *graph = NULL;

	CU_ASSERT_EQUAL(pathprof_graph_open(&graph, code, cache, NULL, NULL, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(graph);
	pathprof_code_free(code);
	return graph;
}

/* Keeps another graph under the file's key: seven functions, and gzip has more. */
static void keep_decoy(const struct scene *s)
{
	uint64_t random = 1;
	struct pathprof_graph *decoy = oracle_graph_draw(7, &random);

	CU_ASSERT_EQUAL(pp_graph_cache_store(decoy, &s->cache, &s->key), 0);
	pathprof_graph_free(decoy);
}

static bool is_decoy(const struct pathprof_graph *graph)
{
	return graph->function_cnt == 7;
}

static bool same_piece(const struct pathprof_graph *a, const struct pathprof_graph *b)
{
	return pp_graph_bytes(a) == pp_graph_bytes(b) &&
	       !memcmp(a->functions, b->functions, pp_graph_bytes(a)) &&
	       !memcmp(&a->stats, &b->stats, sizeof(a->stats)) &&
	       pathprof_build_id_equal(&a->build_id, &b->build_id);
}

static void test_kept(void)
{
	struct pathprof_graph *built, *first, *second;
	struct scene s;

	set_up(&s, true, 0);
	built = open_it(&s, NULL);
	CU_ASSERT(access(s.directory, F_OK));
	CU_ASSERT_EQUAL(pp_graph_check(built), 0);
	first = open_it(&s, &s.cache);
	CU_ASSERT(!access(s.kept, F_OK));
	second = open_it(&s, &s.cache);
	CU_ASSERT(same_piece(built, first));
	CU_ASSERT(same_piece(built, second));
	pathprof_graph_free(built);
	pathprof_graph_free(first);
	pathprof_graph_free(second);
}

static void test_used(void)
{
	static const struct pathprof_graph_cache none = {.directory = NULL};
	struct pathprof_graph *graph;
	struct scene s;

	set_up(&s, true, 0);
	keep_decoy(&s);
	graph = open_it(&s, &s.cache);
	CU_ASSERT(is_decoy(graph));
	CU_ASSERT(pathprof_build_id_equal(&graph->build_id, &s.key.build_id));
	pathprof_graph_free(graph);
	graph = open_it(&s, &none);
	CU_ASSERT(!is_decoy(graph));
	pathprof_graph_free(graph);
}

/* The separate debug file has the same build-id, and so has a file before it was stripped. */
static void test_other_file(void)
{
	struct pathprof_graph *graph;
	struct scene s;

	set_up(&s, true, 1);
	s.key.file_bytes--;
	keep_decoy(&s);
	graph = open_it(&s, &s.cache);
	CU_ASSERT(!is_decoy(graph));
	pathprof_graph_free(graph);
}

/* One made before its debug file was installed knows fewer names. */
static void test_other_symbols(void)
{
	struct pathprof_graph *graph;
	struct scene s;

	set_up(&s, true, 0);
	s.key.symbol_cnt++;
	keep_decoy(&s);
	graph = open_it(&s, &s.cache);
	CU_ASSERT(!is_decoy(graph));
	pathprof_graph_free(graph);
}

static void test_damaged(void)
{
	struct pathprof_graph *graph;
	struct stat before, after;
	struct scene s;

	set_up(&s, true, 0);
	keep_decoy(&s);
	CU_ASSERT_EQUAL(stat(s.kept, &before), 0);
	CU_ASSERT_EQUAL(truncate(s.kept, before.st_size - 1), 0);
	graph = open_it(&s, &s.cache);
	CU_ASSERT(!is_decoy(graph));
	pathprof_graph_free(graph);
	CU_ASSERT_EQUAL(stat(s.kept, &after), 0);
	CU_ASSERT(after.st_size > before.st_size);
}

static void test_without_id(void)
{
	struct pathprof_graph *graph;
	struct scene s;

	set_up(&s, false, 0);
	keep_decoy(&s);
	graph = open_it(&s, &s.cache);
	CU_ASSERT(!is_decoy(graph));
	pathprof_graph_free(graph);
}

static void test_unwritable(void)
{
	struct pathprof_graph *graph;
	struct scene s;

	set_up(&s, true, 0);
	s.cache.directory = s.file;
	graph = open_it(&s, &s.cache);
	CU_ASSERT(graph->function_cnt > 10);
	pathprof_graph_free(graph);
}

static const struct unit_test tests[] = {
	{"what comes from the cache is what was built", test_kept},
	{"a kept graph is used, unless no cache is wanted", test_used},
	{"that of a file with the same build-id is not used", test_other_file},
	{"one made when there were other symbols is not used", test_other_symbols},
	{"a damaged one is built again and replaced", test_damaged},
	{"a file without build-id is built each time", test_without_id},
	{"a cache that cannot be written is no error", test_unwritable},
};
UNIT_SUITE(graph_open, tests)
