// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Files of interesting paths. The paths are sorted, so that those of a function stand together. */
#include "pathprof/interesting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/search.h"
#include "base/units.h"
#include "base/vector.h"

#define HEAD "pathprof-interesting 1"

struct pathprof_interesting {
	struct pathprof_interesting_path *paths;
	size_t path_cnt, path_room;
	char **lines; /* that the names lie in */
	size_t line_cnt, line_room;
};

/* ---------------------------------------------------------------- a line */

/* Cuts the word at *at off, and *at goes behind it; NULL: there is none. */
static char *take_word(char **at)
{
	return *at ? strsep(at, "\t") : NULL;
}

static bool take_path(char *line, struct pathprof_interesting_path *ret_path)
{
	char *at = line, *shape, *id, *count;

	ret_path->function = take_word(&at);
	ret_path->unit = take_word(&at);
	shape = take_word(&at);
	id = take_word(&at);
	count = take_word(&at);
	return count && !at && *ret_path->function && pp_hex_parse(shape, &ret_path->shape) == 0 &&
	       pp_count_parse(id, &ret_path->id) == 0 &&
	       pp_count_parse(count, &ret_path->count) == 0;
}

/* The line becomes the set's. -EBADMSG, -ENOMEM. */
static int add_line(struct pathprof_interesting *set, char *line)
{
	struct pathprof_interesting_path path = {0};

	if (pp_grow(&set->lines, set->line_cnt, &set->line_room) < 0 ||
	    pp_grow(&set->paths, set->path_cnt, &set->path_room) < 0) {
		free(line);
		return -ENOMEM;
	}
	set->lines[set->line_cnt++] = line;
	if (strcmp(line, HEAD) == 0)
		return 0;
	if (!take_path(line, &path))
		return -EBADMSG;
	set->paths[set->path_cnt++] = path;
	return 0;
}

static int read_lines(struct pathprof_interesting *set, FILE *file, const char *path,
		      struct pathprof_error *error)
{
	size_t number = 0;
	int r = 0;

	while (r == 0) {
		char *line = NULL;
		size_t room = 0;
		ssize_t bytes = getline(&line, &room, file);

		if (bytes < 0) {
			free(line);
			break;
		}
		line[strcspn(line, "\n")] = 0;
		if (++number == 1 && strcmp(line, HEAD) != 0) {
			free(line);
			return pathprof_fail(error, -EBADMSG,
					     "%s: not a file of interesting paths: `pathprofctl "
					     "interesting` writes one",
					     path);
		}
		r = add_line(set, line);
	}
	if (r == -EBADMSG)
		return pathprof_fail(error, r,
				     "%s:%zu: not a path: it has other words than these: %s", path,
				     number, "FUNCTION UNIT SHAPE NUMBER COUNT");
	if (r < 0)
		return pathprof_fail(error, r, "%s: out of memory", path);
	if (ferror(file))
		return pathprof_fail(error, -EIO, "%s: cannot be read", path);
	return number ? 0 : pathprof_fail(error, -EBADMSG, "%s: empty", path);
}

/* ---------------------------------------------------------------- order */

static int by_name(const struct pathprof_interesting_path *a,
		   const struct pathprof_interesting_path *b)
{
	int r = strcmp(a->function, b->function);

	return r ? r : strcmp(a->unit, b->unit);
}

static int by_function(const struct pathprof_interesting_path *a,
		       const struct pathprof_interesting_path *b)
{
	int r = by_name(a, b);

	return r ? r : (a->shape > b->shape) - (a->shape < b->shape);
}

static int by_id(const void *x, const void *y)
{
	const struct pathprof_interesting_path *a = x, *b = y;
	int r = by_function(a, b);

	return r ? r : (a->id > b->id) - (a->id < b->id);
}

static int by_heat(const void *x, const void *y)
{
	const struct pathprof_interesting_path *a = x, *b = y;
	int r = by_function(a, b);

	if (r == 0)
		r = (a->count < b->count) - (a->count > b->count);
	return r ? r : by_id(x, y);
}

/* Counts of several runs add up. */
static void add_up(struct pathprof_interesting *set)
{
	size_t to = 0;

	for (size_t i = 0; i < set->path_cnt; i++) {
		struct pathprof_interesting_path *last = to ? &set->paths[to - 1] : NULL;

		if (!last || by_id(last, &set->paths[i]) != 0)
			set->paths[to++] = set->paths[i];
		else if (__builtin_add_overflow(last->count, set->paths[i].count, &last->count))
			last->count = UINT64_MAX;
	}
	set->path_cnt = to;
}

static void sort(struct pathprof_interesting *set)
{
	if (!set->path_cnt)
		return;
	qsort(set->paths, set->path_cnt, sizeof(set->paths[0]), by_id);
	add_up(set);
	qsort(set->paths, set->path_cnt, sizeof(set->paths[0]), by_heat);
}

/* ---------------------------------------------------------------- public */

int pathprof_interesting_read(struct pathprof_interesting **ret_set, const char *path,
			      struct pathprof_error *error)
{
	struct pathprof_interesting *set = calloc(1, sizeof(*set));
	FILE *file = set ? fopen(path, "re") : NULL;
	int r;

	if (!file) {
		free(set);
		return pathprof_fail(error, set ? -errno : -ENOMEM, "%s: cannot be opened: %m",
				     path);
	}
	r = read_lines(set, file, path, error);
	fclose(file);
	if (r < 0) {
		pathprof_interesting_free(set);
		return r;
	}
	sort(set);
	*ret_set = set;
	return 0;
}

void pathprof_interesting_free(struct pathprof_interesting *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->line_cnt; i++)
		free(set->lines[i]);
	free(set->lines);
	free(set->paths);
	free(set);
}

const struct pathprof_interesting_path *
pathprof_interesting_find(const struct pathprof_interesting *set, const char *function,
			  const char *unit, uint64_t shape, size_t *ret_cnt)
{
	struct pathprof_interesting_path key = {.function = function, .unit = unit, .shape = shape};
	size_t first = pp_first(i, 0, set->path_cnt, by_function(&set->paths[i], &key) >= 0);
	size_t behind = pp_first(i, first, set->path_cnt, by_function(&set->paths[i], &key) > 0);

	*ret_cnt = behind - first;
	return *ret_cnt ? set->paths + first : NULL;
}

bool pathprof_interesting_names(const struct pathprof_interesting *set, const char *function,
				const char *unit)
{
	struct pathprof_interesting_path key = {.function = function, .unit = unit};
	size_t first = pp_first(i, 0, set->path_cnt, by_name(&set->paths[i], &key) >= 0);

	return first < set->path_cnt && by_name(&set->paths[first], &key) == 0;
}

uint64_t pathprof_interesting_total(const struct pathprof_interesting *set)
{
	uint64_t total = 0;

	for (size_t i = 0; i < set->path_cnt; i++)
		if (__builtin_add_overflow(total, set->paths[i].count, &total))
			return UINT64_MAX;
	return total;
}

uint64_t pathprof_interesting_shape(uint32_t node_cnt, const struct pathprof_flow_arc *arcs,
				    uint32_t arc_cnt)
{
	uint64_t shape = node_cnt;

	for (uint32_t i = 0; i < arc_cnt; i++) {
		uint32_t words[] = {arcs[i].from, arcs[i].to, arcs[i].cut};

		shape = XXH3_64bits_withSeed(words, sizeof(words), shape);
	}
	return shape;
}

void pathprof_interesting_print_head(FILE *out)
{
	fputs(HEAD "\n", out);
}

void pathprof_interesting_print(FILE *out, const struct pathprof_interesting_path *path)
{
	fprintf(out, "%s\t%s\t%016" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\n", path->function,
		path->unit, path->shape, path->id, path->count);
}
