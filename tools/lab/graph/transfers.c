// SPDX-License-Identifier: GPL-2.0-or-later
#include "transfers.h"

#include <stdlib.h>

#include "base/vector.h"

struct reading {
	struct lab_transfers *transfers;
	uint32_t process; /* of the stream in hand */
	uint64_t start;   /* of the run in hand; 0: not known */
};

static size_t hash(const struct lab_transfer *key)
{
	uint64_t h = key->from * 0x9e3779b97f4a7c15ull;

	h ^= (key->next + key->process) * 0xc2b2ae3d27d4eb4full + key->kind * 2u + key->taken;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ h >> 32;
}

static bool is_same(const struct lab_transfer *a, const struct lab_transfer *b)
{
	return a->from == b->from && a->next == b->next && a->process == b->process &&
	       a->kind == b->kind && a->taken == b->taken;
}

static void count(struct lab_transfers *t, const struct lab_transfer *key)
{
	uint32_t i = pp_table_find(&t->table, hash(key), at, is_same(&t->list[at], key));

	if (i == PP_TABLE_NONE) {
		i = t->table.cnt;
		if (pp_grow(&t->list, i, &t->room) < 0 ||
		    pp_table_add(&t->table, hash(key), at, hash(&t->list[at])) < 0)
			lab_fail("out of memory");
		t->list[i] = *key;
	}
	t->list[i].cnt++;
}

/*
 * After a handler's return, the first branch may be one that was executed before the handler. Then,
 * and after a gap, the start of the run that the branch ends is not known.
 */
static void read_event(void *context, const struct pathprof_trace_event *event)
{
	struct reading *r = context;
	const struct pathprof_branch *b = &event->branch;
	struct lab_transfer key = {.process = r->process, .from = b->from, .next = b->next};

	if (event->type == PATHPROF_TRACE_EVENT_ACCESS)
		return;
	if (event->type != PATHPROF_TRACE_EVENT_BRANCH) {
		r->start = event->type == PATHPROF_TRACE_EVENT_SIGNAL ? b->next : 0;
		return;
	}
	key.kind = (uint8_t)b->kind;
	key.taken = b->taken != 0;
	count(r->transfers, &key);
	r->transfers->branch_cnt++;
	if (r->start) {
		key = (struct lab_transfer){.process = r->process,
					    .from = r->start,
					    .next = b->from,
					    .kind = LAB_TRANSFER_RUN};
		count(r->transfers, &key);
		r->transfers->run_cnt++;
	}
	r->start = b->next;
}

void lab_transfers_read(struct lab_transfers *t, const struct pathprof_trace *trace)
{
	uint32_t stream_cnt = pathprof_trace_info(trace)->stream_cnt;

	*t = (struct lab_transfers){0};
	for (uint32_t i = 0; i < stream_cnt; i++) {
		struct reading r = {.transfers = t,
				    .process = pathprof_trace_stream(trace, i)->process};

		lab_trace_stream_each(trace, i, read_event, &r);
	}
}

void lab_transfers_release(struct lab_transfers *t)
{
	free(t->list);
	pp_table_release(&t->table);
	*t = (struct lab_transfers){0};
}
