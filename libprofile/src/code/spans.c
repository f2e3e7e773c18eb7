// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Ranges that lie in one another; see pp_spans.h for workload and ownership. */
#include "pp_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "base/vector.h"

#define SPANS_MAX (1u << 26)

int pp_spans_add(struct pp_spans *spans, uint64_t start, uint64_t end, uint32_t item)
{
	if (end <= start)
		return 0;
	if (spans->cnt == SPANS_MAX || pp_grow(&spans->spans, spans->cnt, &spans->room) < 0)
		return -ENOMEM;
	spans->spans[spans->cnt++] = (struct pp_span){start, end, item, PP_SPANS_NONE};
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct pp_span *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	return left->item < right->item ? -1 : left->item > right->item;
}

void pp_spans_nest(struct pp_spans *spans)
{
	struct pp_span *s = spans->spans;
	uint32_t open = PP_SPANS_NONE;

	if (spans->cnt)
		qsort(s, spans->cnt, sizeof(s[0]), by_place);
	for (uint32_t i = 0; i < spans->cnt; i++) {
		while (open != PP_SPANS_NONE && s[open].end <= s[i].start)
			open = s[open].outer;
		s[i].outer = open;
		open = i;
	}
}

uint32_t pp_spans_at(const struct pp_spans *spans, uint64_t address)
{
	uint32_t at = (uint32_t)pp_first(i, 0, spans->cnt, spans->spans[i].start > address) - 1;

	while (at != PP_SPANS_NONE && spans->spans[at].end <= address)
		at = spans->spans[at].outer;
	return at == PP_SPANS_NONE ? at : spans->spans[at].item;
}

void pp_spans_release(struct pp_spans *spans)
{
	free(spans->spans);
	*spans = (struct pp_spans){0};
}
