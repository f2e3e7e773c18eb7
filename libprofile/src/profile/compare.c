// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Reading (key, count) profiles and comparing two of them. */
#include "pathprof/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* Adds to the end; the key becomes the list's. */
static int append(struct pathprof_counts *counts, size_t *room, char *key, uint64_t count)
{
	if (pp_grow(&counts->entries, counts->cnt, room) < 0)
		return -ENOMEM;
	counts->entries[counts->cnt++] = (struct pathprof_count){key, count};
	return 0;
}

static int by_key(const void *x, const void *y)
{
	const struct pathprof_count *a = x, *b = y;

	return strcmp(a->key, b->key);
}

/* Sorts, and adds up keys that came more than once. */
static int merge(struct pathprof_counts *counts)
{
	size_t kept = 0;

	if (!counts->cnt)
		return 0;
	qsort(counts->entries, counts->cnt, sizeof(counts->entries[0]), by_key);
	for (size_t i = 1; i < counts->cnt; i++) {
		struct pathprof_count *last = &counts->entries[kept], *e = &counts->entries[i];

		if (strcmp(last->key, e->key) != 0) {
			counts->entries[++kept] = *e;
			continue;
		}
		if (__builtin_add_overflow(last->count, e->count, &last->count)) {
			for (; i < counts->cnt; i++)
				free(counts->entries[i].key);
			counts->cnt = kept + 1;
			return -EOVERFLOW;
		}
		free(e->key);
	}
	counts->cnt = kept + 1;
	return 0;
}

/* One line KEY<TAB>COUNT. Newline already cut. */
static int parse_line(struct pathprof_counts *counts, size_t *room, const char *line)
{
	const char *tab = strrchr(line, '\t');
	char *end, *key;
	uint64_t count;
	int r;

	if (!tab || tab == line || tab[1] < '0' || tab[1] > '9')
		return -EINVAL;
	errno = 0;
	count = strtoull(tab + 1, &end, 10);
	if (errno || *end)
		return -EINVAL;
	key = strndup(line, (size_t)(tab - line));
	if (!key)
		return -ENOMEM;
	r = append(counts, room, key, count);
	if (r < 0)
		free(key);
	return r;
}

static int read_stream(struct pathprof_counts *counts, FILE *stream, const char *file,
		       struct pathprof_error *error)
{
	char *line = NULL;
	size_t size = 0, room = 0, number = 0;
	ssize_t len;
	int r = 0;

	while (r == 0 && (len = getline(&line, &size, stream)) >= 0) {
		number++;
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		if (len && line[len - 1] == '\r')
			line[--len] = '\0';
		r = strlen(line) == (size_t)len ? parse_line(counts, &room, line) : -EINVAL;
	}
	free(line);
	if (r == -EINVAL)
		return pathprof_fail(error, r, "%s:%zu: not KEY<TAB>COUNT with a decimal count",
				     file, number);
	if (r < 0 || ferror(stream))
		return pathprof_fail(error, r < 0 ? r : -EIO, "%s: cannot be read: %s", file,
				     strerror(r < 0 ? -r : errno));
	r = merge(counts);
	return r < 0 ? pathprof_fail(error, r, "%s: the counts of a key exceed 64 bits", file) : 0;
}

int pathprof_counts_read(struct pathprof_counts *ret_counts, const char *file,
			 struct pathprof_error *error)
{
	struct pathprof_counts counts = {0};
	FILE *stream = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
	int r;

	if (!stream)
		return pathprof_fail(error, -errno, "%s: %s", file, strerror(errno));
	r = read_stream(&counts, stream, file, error);
	if (stream != stdin)
		fclose(stream);
	if (r < 0)
		pathprof_counts_release(&counts);
	else
		*ret_counts = counts;
	return r;
}

void pathprof_counts_release(struct pathprof_counts *counts)
{
	for (size_t i = 0; i < counts->cnt; i++)
		free(counts->entries[i].key);
	free(counts->entries);
	*counts = (struct pathprof_counts){0};
}

static long double total(const struct pathprof_counts *counts)
{
	long double sum = 0;

	for (size_t i = 0; i < counts->cnt; i++)
		sum += (long double)counts->entries[i].count;
	return sum;
}

double pathprof_overlap(const struct pathprof_counts *a, const struct pathprof_counts *b)
{
	long double total_a = total(a), total_b = total(b), sum = 0;
	size_t i = 0, j = 0;

	if (total_a == 0 || total_b == 0)
		return total_a == total_b;
	while (i < a->cnt && j < b->cnt) {
		int order = strcmp(a->entries[i].key, b->entries[j].key);

		if (order == 0) {
			long double p = (long double)a->entries[i].count / total_a;
			long double q = (long double)b->entries[j].count / total_b;

			sum += p < q ? p : q;
		}
		i += order <= 0;
		j += order >= 0;
	}
	return (double)sum;
}
