// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Input that pathprof-lab hands to the library: a notation and tuples, a profile's text, branches
 * under any setting, a graph and paths through it. The first byte chooses which.
 *
 * Beyond "no crash": counts are not made up, ids stay below the number of paths, a table holds no
 * more than it has room for. A property that fails aborts.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "pathprof/compare.h"
#include "pathprof/compress.h"
#include "pathprof/hot_paths.h"
#include "pathprof/numbering.h"
#include "pathprof/paths.h"

/* Input being consumed; past its end come zeroes. */
struct input {
	const uint8_t *data;
	size_t left;
};

static uint8_t byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

static uint64_t number(struct input *in, unsigned int bytes)
{
	uint64_t x = 0;

	while (bytes--)
		x = x << 8 | byte(in);
	return x;
}

/* A string of up to len_max bytes that ends at a zero byte, which is consumed. */
static void string(struct input *in, char *ret_text, size_t len_max)
{
	size_t len = 0;
	uint8_t c;

	while (len < len_max && (c = byte(in)) != 0)
		ret_text[len++] = (char)c;
	ret_text[len] = '\0';
}

static void one_line(const struct pathprof_error *error)
{
	size_t len = strnlen(error->text, sizeof(error->text));

	REQUIRE(len > 0 && len < sizeof(error->text) && error->text[len - 1] != '\n');
}

/* ---------------------------------------------------------------- compressors */

static void run_compressor(struct input *in, struct pathprof_compressor *c)
{
	struct pathprof_message message;
	uint64_t tuples = 0;

	while (in->left) {
		uint64_t pc = number(in, 2), word = number(in, 1) << (8 * (pc % 8));
		uint64_t times = 1 + byte(in) % 64;

		for (; times; times--, tuples++)
			if (pathprof_compressor_step(c, pc, word, &message))
				REQUIRE(message.count > 0);
	}
	while (pathprof_compressor_flush(c, &message))
		REQUIRE(message.count > 0 && tuples > 0);
}

static void fuzz_compress(struct input *in)
{
	struct pathprof_compress_options options = {.seed = byte(in),
						    .evict = byte(in),
						    .replace = (uint32_t)number(in, 3),
						    .ways = byte(in),
						    .tag_bits = byte(in)};
	struct pathprof_error error = {""};
	struct pathprof_compressor *c;
	char notation[64];

	string(in, notation, sizeof(notation) - 1);
	int r = pathprof_compressor_new(&c, notation, &options, &error);
	if (r < 0) {
		REQUIRE(r == -EINVAL || r == -ENOMEM);
		one_line(&error);
		return;
	}
	run_compressor(in, c);
	pathprof_compressor_free(c);
}

/* ---------------------------------------------------------------- profiles */

static int read_bytes(struct pathprof_counts *ret_counts, const uint8_t *data, size_t size,
		      struct pathprof_error *error)
{
	int fd = memfd_create("profile", MFD_CLOEXEC), r;
	char name[64];

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	r = pathprof_counts_read(ret_counts, name, error);
	close(fd);
	return r;
}

static void check_counts(const struct pathprof_counts *counts)
{
	for (size_t i = 0; i < counts->cnt; i++) {
		REQUIRE(counts->entries[i].key[0] != '\0');
		REQUIRE(i == 0 || strcmp(counts->entries[i - 1].key, counts->entries[i].key) < 0);
	}
}

static void fuzz_counts(struct input *in)
{
	struct pathprof_counts a = {0}, b = {0};
	struct pathprof_error error = {""};
	size_t half = in->left / 2;
	double overlap;

	if (read_bytes(&a, in->data, in->left, &error) < 0)
		one_line(&error);
	if (read_bytes(&b, in->data, half, &error) < 0)
		one_line(&error);
	check_counts(&a);
	check_counts(&b);
	overlap = pathprof_overlap(&a, &b);
	REQUIRE(overlap >= 0 && overlap <= 1 + 1e-9);
	REQUIRE(overlap == pathprof_overlap(&b, &a));
	pathprof_counts_release(&a);
	pathprof_counts_release(&b);
}

/* ---------------------------------------------------------------- paths */

static struct pathprof_branch draw_branch(struct input *in)
{
	struct pathprof_branch b = {.from = number(in, 1), .kind = byte(in), .taken = byte(in)};

	if (b.kind & 0x80) /* far out of range, in any bits */
		b.kind = b.taken = (uint32_t)number(in, 4);
	else
		b.kind &= 7;
	b.target = number(in, 1);
	b.next = number(in, 1);
	return b;
}

static void check_popped(const struct pathprof_path_popped *p, uint32_t max_length)
{
	REQUIRE(p->length <= max_length);
	REQUIRE((uint64_t)p->outcomes >> p->length == 0);
}

static void fuzz_path_stack(struct input *in)
{
	struct pathprof_path_settings settings = {.mapping = byte(in),
						  .max_length = byte(in),
						  .extend = byte(in),
						  .extensions = (uint32_t)number(in, 4)};
	struct pathprof_path_stack *stack;
	struct pathprof_path_popped path;
	unsigned int drained = 0;

	if (pathprof_path_stack_new(&stack, &settings) < 0)
		return;
	while (in->left) {
		struct pathprof_branch b = draw_branch(in);

		if (pathprof_path_stack_step(stack, &b, byte(in), &path))
			check_popped(&path, settings.max_length);
	}
	while (pathprof_path_stack_drain(stack, &path)) {
		check_popped(&path, settings.max_length);
		drained++;
	}
	REQUIRE(drained <= 32);
	pathprof_path_stack_free(stack);
}

static void check_seen(void *context, const struct pathprof_path_seen *seen)
{
	int *paths = context;

	++*paths;
	REQUIRE(seen->length <= 32 && (uint64_t)seen->outcomes >> seen->length == 0);
	REQUIRE(seen->weight >= 1 && seen->weight <= PATHPROF_BURST_MAX);
}

static void fuzz_burst(struct input *in)
{
	static struct pathprof_branch burst[PATHPROF_BURST_MAX + 8];
	enum pathprof_mapping mapping = byte(in) % 2;
	uint32_t cnt = 0;
	int paths = 0, r;

	while (in->left && cnt < PATHPROF_BURST_MAX + 8)
		burst[cnt++] = draw_branch(in);
	r = pathprof_paths_of_burst(burst, cnt, mapping, check_seen, &paths);
	REQUIRE(r < 0 ? paths == 0 : paths == r);
}

/* ---------------------------------------------------------------- hot path table */

static uint64_t total_of(const struct pathprof_hot_paths *table, struct pathprof_hot_path *paths)
{
	size_t cnt = pathprof_hot_paths_read(table, paths);
	uint64_t total = 0;

	for (size_t i = 0; i < cnt; i++)
		total += paths[i].count;
	return total;
}

static void fuzz_hot_paths(struct input *in)
{
	uint32_t entries = (uint32_t)number(in, 3), ways = byte(in);
	struct pathprof_hot_path path, replaced, *paths;
	struct pathprof_error error = {""};
	struct pathprof_hot_paths *table;
	uint64_t came = 0, left = 0;

	if (pathprof_hot_paths_new(&table, entries, ways, &error) < 0) {
		one_line(&error);
		return;
	}
	while (in->left) {
		path = (struct pathprof_hot_path){.start = number(in, 2), .count = byte(in)};
		path.length = byte(in) % 33;
		path.outcomes = (uint32_t)(number(in, 2) & ((1ULL << path.length) - 1));
		came += path.count;
		if (pathprof_hot_paths_add(table, &path, &replaced))
			left += replaced.count;
	}
	paths = calloc(entries, sizeof(*paths));
	REQUIRE(paths && came == left + total_of(table, paths));
	free(paths);
	pathprof_hot_paths_free(table);
}

/* ---------------------------------------------------------------- numbering */

#define NODES 24
#define PATHS 8

/* Walks from the start along any edges; true when it came to an exit. */
static bool draw_path(struct input *in, const struct pathprof_dag *dag, uint32_t *ret_edges,
		      struct pathprof_dag_path *ret_path)
{
	uint32_t at = 0;
	size_t cnt = 0;

	for (;;) {
		size_t out = 0, wanted;

		for (size_t e = 0; e < dag->edge_cnt; e++)
			out += dag->edges[e].from == at;
		if (!out)
			break;
		wanted = byte(in) % out;
		for (size_t e = 0; e < dag->edge_cnt; e++) {
			if (dag->edges[e].from != at || wanted-- != 0)
				continue;
			ret_edges[cnt++] = (uint32_t)e;
			at = dag->edges[e].to;
			break;
		}
	}
	*ret_path = (struct pathprof_dag_path){.edges = ret_edges, .edge_cnt = cnt};
	return cnt > 0;
}

static bool is_new(const struct pathprof_dag_path *paths, size_t cnt)
{
	const struct pathprof_dag_path *last = &paths[cnt];

	for (size_t p = 0; p < cnt; p++)
		if (paths[p].edge_cnt == last->edge_cnt &&
		    memcmp(paths[p].edges, last->edges, last->edge_cnt * sizeof(*last->edges)) == 0)
			return false;
	return true;
}

static void check_numbers(struct input *in, struct pathprof_dag *dag)
{
	uint32_t edges[PATHS][NODES];
	struct pathprof_dag_path paths[PATHS];
	size_t cnt = 0;

	while (in->left && cnt < PATHS && draw_path(in, dag, edges[cnt], &paths[cnt]))
		cnt += is_new(paths, cnt);
	REQUIRE(pathprof_number_preferential(dag, paths, cnt) == 0);
	for (size_t p = 0; p < cnt; p++) {
		REQUIRE(paths[p].id < dag->path_cnt);
		for (size_t q = 0; q < p; q++)
			REQUIRE(paths[q].id != paths[p].id &&
				paths[q].preferential != paths[p].preferential);
	}
	REQUIRE(cnt == 0 || pathprof_compactness(paths, cnt) >= 1);
}

/* Any edges and any path over them, connected or not. */
static void number_anything(struct input *in, struct pathprof_dag *dag)
{
	uint32_t edges[NODES];
	struct pathprof_dag_path path = {.edges = edges, .edge_cnt = byte(in) % NODES};

	for (size_t i = 0; i < path.edge_cnt; i++)
		edges[i] = (uint32_t)number(in, 1 + i % 2);
	int r = pathprof_number_preferential(dag, &path, 1);
	REQUIRE(r == 0 || r == -EINVAL);
}

static void fuzz_numbering(struct input *in)
{
	unsigned int cycles = byte(in) % 4, edges = byte(in);
	struct pathprof_dag dag;

	pathprof_dag_init(&dag);
	for (; edges && in->left; edges--) {
		uint32_t from = byte(in) % NODES, to = byte(in) % NODES;

		if (cycles && from > to) {
			uint32_t kept = from;

			from = to;
			to = kept;
		}
		if (cycles && from == to)
			continue;
		REQUIRE(pathprof_dag_add(&dag, from, to) == 0);
	}
	int r = pathprof_number(&dag);
	REQUIRE(r == 0 || r == -EOVERFLOW || (r == -ELOOP && !cycles));
	if (r == 0 && byte(in) % 4 == 0)
		number_anything(in, &dag);
	else if (r == 0)
		check_numbers(in, &dag);
	pathprof_dag_release(&dag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(struct input *) = {
		fuzz_compress, fuzz_counts,    fuzz_path_stack,
		fuzz_burst,    fuzz_hot_paths, fuzz_numbering,
	};
	struct input in = {data, size};

	targets[byte(&in) % (sizeof(targets) / sizeof(targets[0]))](&in);
	return 0;
}
