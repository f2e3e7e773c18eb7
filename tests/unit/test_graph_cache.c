// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs kept as files: what comes back is what was kept, or nothing. Files are damaged byte by
 * byte, cut at every length, and made to deceive, with a checksum that is right.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "../../libprofile/src/graph/pp_graph_cache.h"
#include "oracle_flow.h"
#include "oracle_stream.h"

#define NONE PATHPROF_GRAPH_NONE

/* Offsets in the file's header, and its size. */
#define CHECKSUM_AT   8
#define VERSION_AT    16
#define FILE_BYTES_AT 24
#define HEADER_BYTES  (32 + sizeof(struct pathprof_graph_stats) + 48)

static struct pp_graph_key key_of(uint8_t number)
{
	return (struct pp_graph_key){
		.build_id = {.bytes = {0xab, number},
			     .len_bytes = 20,
			     .kind = PATHPROF_ID_BUILD_ID},
		.file_bytes = 1000,
		.symbol_cnt = 10,
	};
}

static struct pathprof_graph_cache fresh_cache(char *room, size_t size)
{
	snprintf(room, size, "%s/graphs", unit_tmpdir());
	return (struct pathprof_graph_cache){.directory = room};
}

static void path_of(char *ret_path, size_t size, const struct pathprof_graph_cache *cache,
		    const struct pp_graph_key *key)
{
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	snprintf(ret_path, size, "%s/%s.graph", cache->directory,
		 pathprof_build_id_text(&key->build_id, text));
}

static size_t piece_bytes(const struct pathprof_graph *g)
{
	return pp_graph_bytes(g);
}

static bool same(const struct pathprof_graph *a, const struct pathprof_graph *b)
{
	return piece_bytes(a) == piece_bytes(b) && a->function_cnt == b->function_cnt &&
	       a->part_cnt == b->part_cnt && a->block_cnt == b->block_cnt &&
	       a->edge_cnt == b->edge_cnt && a->names_bytes == b->names_bytes &&
	       !memcmp(&a->stats, &b->stats, sizeof(a->stats)) &&
	       !memcmp(a->functions, b->functions, piece_bytes(a));
}

/* ---------------------------------------------------------------- whole files */

static uint8_t *slurp(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes;
	struct stat st = {0};

	CU_ASSERT_FATAL(fd >= 0 && !fstat(fd, &st));
	bytes = malloc((size_t)st.st_size + 1);
	CU_ASSERT_FATAL(bytes && read(fd, bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return bytes;
}

/* A new file each time: file systems wait for the disk when one is cut and written again. */
static void spill(const char *path, const uint8_t *bytes, size_t len)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static void set_checksum(uint8_t *bytes, size_t len)
{
	uint64_t sum = XXH3_64bits(bytes + VERSION_AT, HEADER_BYTES - VERSION_AT);

	sum = XXH3_64bits_withSeed(bytes + HEADER_BYTES, len - HEADER_BYTES, sum);
	memcpy(bytes + CHECKSUM_AT, &sum, sizeof(sum));
}

/* A kept graph and its file's bytes. */
struct kept {
	char directory[128], path[256];
	struct pathprof_graph_cache cache;
	struct pp_graph_key key;
	struct pathprof_graph *graph;
	uint8_t *bytes;
	size_t len;
};

static void keep_one(struct kept *k, uint32_t function_cnt, uint64_t seed)
{
	k->cache = fresh_cache(k->directory, sizeof(k->directory));
	k->key = key_of(1);
	path_of(k->path, sizeof(k->path), &k->cache, &k->key);
	k->graph = oracle_graph_draw(function_cnt, &seed);
	CU_ASSERT_EQUAL_FATAL(pp_graph_cache_store(k->graph, &k->cache, &k->key), 0);
	k->bytes = slurp(k->path, &k->len);
	CU_ASSERT_EQUAL(k->len, HEADER_BYTES + piece_bytes(k->graph));
}

static void kept_release(struct kept *k)
{
	pathprof_graph_free(k->graph);
	free(k->bytes);
}

/* Whether a file of these bytes is taken for a graph. */
static bool loads(const struct kept *k, const uint8_t *bytes, size_t len,
		  struct pathprof_graph **ret_graph)
{
	spill(k->path, bytes, len);
	return !pp_graph_cache_load(ret_graph, &k->cache, &k->key);
}

/* ---------------------------------------------------------------- */

static void test_round_trip(void)
{
	uint64_t random = 3;
	char directory[128];
	struct pathprof_graph_cache cache = fresh_cache(directory, sizeof(directory));
	size_t different = 0;

	for (uint8_t i = 0; i < 100; i++) {
		struct pathprof_graph *g = oracle_graph_draw(1 + i % 8, &random), *back = NULL;
		struct pp_graph_key key = key_of(i);

		different += pp_graph_check(g) != 0;
		different += pp_graph_cache_load(&back, &cache, &key) != -ENOENT;
		different += pp_graph_cache_store(g, &cache, &key) != 0;
		if (!pp_graph_cache_load(&back, &cache, &key)) {
			different += !same(g, back);
			different += !pathprof_build_id_equal(&back->build_id, &key.build_id);
			pathprof_graph_free(back);
		} else {
			different++;
		}
		pathprof_graph_free(g);
	}
	CU_ASSERT_EQUAL(different, 0);
}

static void test_flipped(void)
{
	struct pathprof_graph *g = NULL;
	size_t taken = 0;
	struct kept k;

	keep_one(&k, 2, 21);
	for (size_t i = 0; i < k.len; i++) {
		uint8_t flips[] = {(uint8_t)(1u << (i % 8)), 0xff};

		for (size_t f = 0; f < 2; f++) {
			k.bytes[i] ^= flips[f];
			taken += loads(&k, k.bytes, k.len, &g);
			k.bytes[i] ^= flips[f];
		}
	}
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT_PTR_NULL(g);
	CU_ASSERT_FATAL(loads(&k, k.bytes, k.len, &g));
	CU_ASSERT(same(g, k.graph));
	pathprof_graph_free(g);
	kept_release(&k);
}

static void test_cut(void)
{
	struct pathprof_graph *g = NULL;
	size_t taken = 0;
	struct kept k;

	keep_one(&k, 2, 22);
	for (size_t len = 0; len < k.len; len++)
		taken += loads(&k, k.bytes, len, &g);
	k.bytes[k.len] = 0;
	taken += loads(&k, k.bytes, k.len + 1, &g);
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT_PTR_NULL(g);
	kept_release(&k);
}

/* Right by itself, but not what is asked for. */
static void test_others(void)
{
	struct pathprof_graph *g = NULL;
	char path[256];
	struct kept k;

	keep_one(&k, 2, 23);
	k.key = key_of(2);
	path_of(path, sizeof(path), &k.cache, &k.key);
	CU_ASSERT_EQUAL(rename(k.path, path), 0);
	CU_ASSERT_EQUAL(pp_graph_cache_load(&g, &k.cache, &k.key), -EBADMSG);
	k.key = key_of(1);
	k.key.file_bytes++;
	CU_ASSERT(!loads(&k, k.bytes, k.len, &g));
	k.key.file_bytes--;
	k.key.symbol_cnt++;
	CU_ASSERT(!loads(&k, k.bytes, k.len, &g));
	k.key.symbol_cnt--;
	CU_ASSERT_FATAL(loads(&k, k.bytes, k.len, &g));
	pathprof_graph_free(g);
	k.bytes[VERSION_AT]++;
	set_checksum(k.bytes, k.len);
	CU_ASSERT(!loads(&k, k.bytes, k.len, &g));
	kept_release(&k);
}

/* An unusable file is replaced by the next that is kept. */
static void test_replaced(void)
{
	struct pathprof_graph *g = NULL;
	struct kept k;

	keep_one(&k, 3, 24);
	CU_ASSERT(!loads(&k, k.bytes, k.len / 2, &g));
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &k.key), 0);
	CU_ASSERT_EQUAL_FATAL(pp_graph_cache_load(&g, &k.cache, &k.key), 0);
	CU_ASSERT(same(g, k.graph));
	pathprof_graph_free(g);
	kept_release(&k);
}

static void test_no_file(void)
{
	struct pathprof_graph *g = NULL;
	struct kept k;

	keep_one(&k, 2, 25);
	unlink(k.path);
	CU_ASSERT_EQUAL(mkfifo(k.path, 0600), 0); /* nobody writes: a reader must not wait */
	CU_ASSERT(pp_graph_cache_load(&g, &k.cache, &k.key) < 0);
	unlink(k.path);
	CU_ASSERT_EQUAL(mkdir(k.path, 0700), 0);
	CU_ASSERT(pp_graph_cache_load(&g, &k.cache, &k.key) < 0);
	CU_ASSERT(pp_graph_cache_store(k.graph, &k.cache, &k.key) < 0);
	rmdir(k.path);
	CU_ASSERT_EQUAL(symlink("/dev/zero", k.path), 0);
	CU_ASSERT(pp_graph_cache_load(&g, &k.cache, &k.key) < 0);
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &k.key), 0);
	CU_ASSERT_EQUAL(pp_graph_cache_load(&g, &k.cache, &k.key), 0);
	pathprof_graph_free(g);
	kept_release(&k);
}

/* ---------------------------------------------------------------- files made to deceive */

/* Reads all of a graph as its users do; the sum keeps the compiler from leaving it out. */
static uint64_t use(const struct pathprof_graph *g)
{
	struct pathprof_flow flow;
	uint64_t sum = 0;

	for (uint32_t f = 0; f < g->function_cnt; f++) {
		const char *name = pathprof_graph_name(g, f);

		sum += strlen(name) + pathprof_graph_function_named(g, name);
		sum += g->parts[g->functions[f].first_part].start;
		if (pathprof_flow_init(&flow, g, f))
			continue;
		sum += flow.loop_cnt + flow.irreducible_cnt;
		pathprof_flow_release(&flow);
	}
	for (uint32_t b = 0; b < g->block_cnt; b++)
		sum += pathprof_graph_block_at(g, g->blocks[b].end);
	return sum;
}

static void deceive(uint8_t *bytes, size_t len, uint64_t *random)
{
	static const uint32_t words[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
	uint32_t cnt = 1 + (uint32_t)(stream_random(random) % 2), word;

	while (cnt--) {
		/* Behind the bytes that are compared with the key. */
		size_t at = FILE_BYTES_AT + 8 + stream_random(random) % (len - FILE_BYTES_AT - 12);

		if (stream_random(random) % 2)
			at &= ~(size_t)3;
		memcpy(&word, bytes + at, sizeof(word));
		if (stream_random(random) % 2)
			word += (uint32_t)(stream_random(random) % 5) - 2;
		else
			word = words[stream_random(random) % 7];
		memcpy(bytes + at, &word, sizeof(word));
	}
	set_checksum(bytes, len);
}

static void test_deceiving(void)
{
	size_t taken = 0, refused = 0;
	uint64_t random = 31, sum = 0;
	struct pathprof_graph *g;
	struct kept k;

	for (uint32_t round = 0; round < 20; round++) {
		keep_one(&k, 1 + round % 4, round);
		for (unsigned int i = 0; i < 300; i++) {
			uint8_t *bytes = malloc(k.len + 1);

			memcpy(bytes, k.bytes, k.len);
			deceive(bytes, k.len, &random);
			if (loads(&k, bytes, k.len, &g)) {
				taken++;
				sum += use(g);
				pathprof_graph_free(g);
			} else {
				refused++;
			}
			free(bytes);
		}
		kept_release(&k);
	}
	CU_ASSERT(taken > 100);
	CU_ASSERT(refused > 100);
	CU_ASSERT(sum > 0);
}

/* One count, index or order wrong: each is refused. */
static struct pathprof_graph *target;
#define FUNCTION(i) (((struct pathprof_graph_function *)target->functions)[i])
#define PART(i)     (((struct pathprof_graph_part *)target->parts)[i])
#define BLOCK(i)    (((struct pathprof_graph_block *)target->blocks)[i])
#define EDGE(i)     (((struct pathprof_edge *)target->edges)[i])
#define NAMES       ((char *)target->names)
#define EACH_FAULT(X)                                                                              \
	X(FUNCTION(0).name = target->names_bytes)                                                  \
	X(FUNCTION(0).entry = target->block_cnt)                                                   \
	X(FUNCTION(0).entry = FUNCTION(1).entry)                                                   \
	X(FUNCTION(0).part_cnt = 0)                                                                \
	X(FUNCTION(1).part_cnt++)                                                                  \
	X(FUNCTION(1).part_cnt = UINT32_MAX)                                                       \
	X(FUNCTION(1).first_part = target->part_cnt)                                               \
	X(FUNCTION(1).first_part = FUNCTION(0).first_part)                                         \
	X(PART(0).end = PART(0).start - 1)                                                         \
	X(PART(0).start += 1000)                                                                   \
	X(PART(0).first_block = target->block_cnt + 1)                                             \
	X(PART(0).block_cnt = UINT32_MAX)                                                          \
	X(PART(0).block_cnt++)                                                                     \
	X(PART(0).block_cnt--)                                                                     \
	X(BLOCK(1).start = BLOCK(0).start)                                                         \
	X(BLOCK(1).last = BLOCK(1).start - 1)                                                      \
	X(BLOCK(1).end = BLOCK(1).last)                                                            \
	X(BLOCK(1).kind = 99)                                                                      \
	X(BLOCK(1).function = target->function_cnt)                                                \
	X(BLOCK(1).function ^= 1)                                                                  \
	X(BLOCK(0).first_edge = 1)                                                                 \
	X(BLOCK(1).first_edge = UINT32_MAX)                                                        \
	X(BLOCK(target->block_cnt).first_edge--)                                                   \
	X(EDGE(0).to = target->block_cnt)                                                          \
	X(EDGE(0).kind = PATHPROF_EDGE_KIND_CNT)                                                   \
	X(EDGE(0).kind = EDGE(1).kind + 1)                                                         \
	X(EDGE(0).to = EDGE(1).to + 1)                                                             \
	X(NAMES[0] = 'x')                                                                          \
	X(NAMES[target->names_bytes - 1] = 'x')                                                    \
	X(target->names_bytes = 0)

/* Two functions of two blocks and one; the first block has two edges. */
static struct pathprof_graph *make_target(void)
{
	struct pathprof_graph counts = {
		.function_cnt = 2, .part_cnt = 2, .block_cnt = 3, .edge_cnt = 3, .names_bytes = 3};
	struct pp_graph *g;

	if (pp_graph_new(&g, &counts))
		abort();
	target = &g->graph;
	NAMES[1] = 'f';
	for (uint32_t b = 0; b < 3; b++)
		BLOCK(b) = (struct pathprof_graph_block){.start = 10 + 10 * b,
							 .last = 15 + 10 * b,
							 .end = 20 + 10 * b,
							 .function = b == 2,
							 .first_edge = b ? 1 + b : 0};
	BLOCK(3).first_edge = 3;
	for (uint32_t e = 0; e < 3; e++)
		EDGE(e) = (struct pathprof_edge){.to = e, .kind = PATHPROF_EDGE_SWITCH};
	PART(0) = (struct pathprof_graph_part){10, 30, 0, 2};
	PART(1) = (struct pathprof_graph_part){30, 40, 2, 1};
	FUNCTION(0) = (struct pathprof_graph_function){.name = 1, .part_cnt = 1};
	FUNCTION(1) = (struct pathprof_graph_function){.entry = 2, .first_part = 1, .part_cnt = 1};
	return target;
}

static void test_each_fault(void)
{
	pathprof_graph_free(make_target());
#define TRY(fault)                                                                                 \
	make_target();                                                                             \
	CU_ASSERT_EQUAL(pp_graph_check(target), 0);                                                \
	fault;                                                                                     \
	CU_assertImplementation(pp_graph_check(target) == -EBADMSG, __LINE__, #fault, __FILE__,    \
				__func__, CU_FALSE);                                               \
	pathprof_graph_free(target);
	EACH_FAULT(TRY)
#undef TRY
}

/* ---------------------------------------------------------------- the directory */

static size_t count_files(const char *directory)
{
	DIR *d = opendir(directory);
	const struct dirent *e;
	size_t cnt = 0;

	while (d && (e = readdir(d)))
		cnt += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return cnt;
}

static void test_unwritable(void)
{
	uint64_t random = 41;
	struct pathprof_graph *g = oracle_graph_draw(3, &random), *back = NULL;
	struct pp_graph_key key = key_of(1);
	const char *dir = unit_tmpdir();
	char file[160], below_file[200], far[200];
	struct pathprof_graph_cache cache = {.directory = file};

	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(below_file, sizeof(below_file), "%s/below", file);
	snprintf(far, sizeof(far), "%s/a/b", dir);
	spill(file, (const uint8_t *)"", 0);
	CU_ASSERT(pp_graph_cache_store(g, &cache, &key) < 0);
	CU_ASSERT(pp_graph_cache_load(&back, &cache, &key) < 0);
	cache.directory = below_file;
	CU_ASSERT(pp_graph_cache_store(g, &cache, &key) < 0);
	cache.directory = far; /* only the last component is made */
	CU_ASSERT_EQUAL(pp_graph_cache_store(g, &cache, &key), -ENOENT);
	cache.directory = "/proc";
	CU_ASSERT(pp_graph_cache_store(g, &cache, &key) < 0);
	CU_ASSERT_EQUAL(count_files(dir), 1);
	pathprof_graph_free(g);
}

/* No room: nothing of it stays behind, and what was kept before is as it was. */
static void test_full(void)
{
	struct rlimit before, little = {.rlim_cur = 300, .rlim_max = RLIM_INFINITY};
	struct pathprof_graph *back = NULL;
	struct pp_graph_key other = key_of(9);
	struct kept k;

	keep_one(&k, 4, 42);
	CU_ASSERT_FATAL(k.len > 600);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	little.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &little);
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &other), -EFBIG);
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &k.key), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	CU_ASSERT_EQUAL(count_files(k.directory), 1);
	CU_ASSERT_EQUAL_FATAL(pp_graph_cache_load(&back, &k.cache, &k.key), 0);
	CU_ASSERT(same(back, k.graph));
	pathprof_graph_free(back);
	kept_release(&k);
}

static void set_age(const struct pathprof_graph_cache *cache, uint8_t number, time_t hours)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - 3600 * hours},
				    {.tv_sec = time(NULL) - 3600 * hours}};
	struct pp_graph_key key = key_of(number);
	char path[256];

	path_of(path, sizeof(path), cache, &key);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_kept(const struct pathprof_graph_cache *cache, uint8_t number)
{
	struct pp_graph_key key = key_of(number);
	char path[256];

	path_of(path, sizeof(path), cache, &key);
	return !access(path, F_OK);
}

/* Room for three and a half; the first is the oldest but is used again. */
static void test_bound(void)
{
	struct pathprof_graph *back = NULL;
	struct pp_graph_key key;
	char other[200];
	struct kept k;

	keep_one(&k, 3, 43);
	k.cache.max_bytes = k.len * 7 / 2;
	snprintf(other, sizeof(other), "%s/notes.graph.txt", k.directory);
	spill(other, k.bytes, k.len);
	for (uint8_t i = 2; i <= 3; i++) {
		key = key_of(i);
		CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &key), 0);
	}
	for (uint8_t i = 1; i <= 3; i++)
		set_age(&k.cache, i, 10 - i);
	CU_ASSERT_EQUAL_FATAL(pp_graph_cache_load(&back, &k.cache, &k.key), 0);
	pathprof_graph_free(back);
	key = key_of(4);
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &key), 0);
	CU_ASSERT(is_kept(&k.cache, 1) && !is_kept(&k.cache, 2));
	CU_ASSERT(is_kept(&k.cache, 3) && is_kept(&k.cache, 4));
	CU_ASSERT(!access(other, F_OK));
	k.cache.max_bytes = k.len - 1;
	key = key_of(5);
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &key), -EFBIG);
	CU_ASSERT_EQUAL(pp_graph_cache_load(&back, &k.cache, &k.key), -EBADMSG);
	CU_ASSERT_EQUAL(count_files(k.directory), 4);
	k.cache.max_bytes = k.len;
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &key), 0);
	CU_ASSERT(is_kept(&k.cache, 5) && count_files(k.directory) == 2);
	kept_release(&k);
}

/* A temporary file left by a dead writer is removed like any old file; a similar name is kept. */
static void test_left_over(void)
{
	char left[300], alike[300];
	struct pp_graph_key key = key_of(2);
	struct timespec old[2] = {{0}, {0}};
	struct kept k;

	keep_one(&k, 3, 44);
	snprintf(left, sizeof(left), "%s.aB3_x9", k.path);
	snprintf(alike, sizeof(alike), "%s.aB3_x9z", k.path);
	spill(left, k.bytes, k.len / 2);
	spill(alike, k.bytes, k.len);
	utimensat(AT_FDCWD, left, old, 0);
	utimensat(AT_FDCWD, alike, old, 0);
	k.cache.max_bytes = 2 * k.len;
	CU_ASSERT_EQUAL(pp_graph_cache_store(k.graph, &k.cache, &key), 0);
	CU_ASSERT(access(left, F_OK) && !access(alike, F_OK));
	CU_ASSERT(is_kept(&k.cache, 1) && is_kept(&k.cache, 2));
	kept_release(&k);
}

/* Writers of different graphs under one key: a reader sees one of them whole, always. */
#define WRITERS 4
#define ROUNDS  60

static int write_and_read(const struct pathprof_graph_cache *cache, struct pathprof_graph **graphs,
			  uint32_t me)
{
	struct pp_graph_key key = key_of(1);
	struct pathprof_graph *back;
	int bad = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		bool known = false;

		bad += pp_graph_cache_store(graphs[me], cache, &key) != 0;
		if (pp_graph_cache_load(&back, cache, &key)) {
			bad++;
			continue;
		}
		for (uint32_t w = 0; w < WRITERS; w++)
			known |= same(back, graphs[w]);
		bad += !known;
		pathprof_graph_free(back);
	}
	return bad;
}

static void test_concurrent(void)
{
	char directory[128];
	struct pathprof_graph_cache cache = fresh_cache(directory, sizeof(directory));
	struct pathprof_graph *graphs[WRITERS];
	pid_t writers[WRITERS];
	uint64_t random = 45;
	int status;

	for (uint32_t w = 0; w < WRITERS; w++)
		graphs[w] = oracle_graph_draw(2 + w, &random);
	for (uint32_t w = 0; w < WRITERS; w++) {
		writers[w] = fork();
		if (!writers[w])
			_exit(write_and_read(&cache, graphs, w) != 0);
	}
	for (uint32_t w = 0; w < WRITERS; w++) {
		CU_ASSERT_EQUAL(waitpid(writers[w], &status, 0), writers[w]);
		CU_ASSERT_EQUAL(status, 0);
		pathprof_graph_free(graphs[w]);
	}
	CU_ASSERT_EQUAL(count_files(directory), 1);
}

static const struct unit_test tests[] = {
	{"gives back what was kept", test_round_trip},
	{"takes no file of which one byte was changed", test_flipped},
	{"takes no file that was cut or grew", test_cut},
	{"takes no file of another binary or version", test_others},
	{"replaces what it cannot use", test_replaced},
	{"takes nothing that is no regular file", test_no_file},
	{"a file made to deceive is refused or harmless", test_deceiving},
	{"each wrong count, index and order is found", test_each_fault},
	{"a directory that cannot be written is told of", test_unwritable},
	{"no room leaves everything as it was", test_full},
	{"the longest unused go when there are too many", test_bound},
	{"what a dead writer left goes too", test_left_over},
	{"writers and readers do not see one another", test_concurrent},
};
UNIT_SUITE(graph_cache, tests)
