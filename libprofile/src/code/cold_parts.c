// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Whose cold part a range is: compilers move what seldom runs of foo away and call it foo.cold.
 *
 * Local functions of several source files may share a name. Then the one that jumps there owns it;
 * all bytes of those that come into question are searched for such a jump.
 *
 * Workload: once a file; 10^4 cold parts, 10^6 symbols.
 */
#include "pp_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a name that ends in .cold or .cold.N, how long it is without; 0: it is no such name. */
static size_t stem_len(const char *name)
{
	size_t len = strlen(name), digits = len;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits < len && digits && name[digits - 1] == '.')
		len = digits - 1;
	return len > 5 && !memcmp(name + len - 5, ".cold", 5) ? len - 5 : 0;
}

struct cold_part {
	const char *name;
	size_t stem_len;
	uint32_t range;
	uint32_t owner; /* a range of that name; UINT32_MAX: none */
	bool ambiguous;
};

static int by_stem(const void *x, const void *y)
{
	const struct cold_part *a = x, *b = y;
	size_t len = a->stem_len < b->stem_len ? a->stem_len : b->stem_len;
	int order = memcmp(a->name, b->name, len);

	if (order)
		return order;
	return (a->stem_len > b->stem_len) - (a->stem_len < b->stem_len);
}

static size_t collect(struct cold_part *parts, const struct pp_ranges *ranges)
{
	size_t cnt = 0;

	for (size_t i = 0; i < ranges->cnt; i++) {
		const char *name = ranges->ranges[i].name;
		size_t len = name ? stem_len(name) : 0;

		if (!len)
			continue;
		if (parts)
			parts[cnt] = (struct cold_part){name, len, (uint32_t)i, UINT32_MAX, false};
		cnt++;
	}
	return cnt;
}

int pp_cold_parts_join(struct pp_ranges *ranges, struct pathprof_code *code)
{
	size_t cnt = collect(NULL, ranges);
	struct cold_part *parts;

	if (!cnt)
		return 0;
	parts = calloc(cnt, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	collect(parts, ranges);
	qsort(parts, cnt, sizeof(*parts), by_stem);
	for (size_t i = 0; i < cnt; i++)
		ranges->ranges[parts[i].range].maybe_cold = true;
	free(parts);
	return 0;
}
