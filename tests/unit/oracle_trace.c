// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks of the made-up program (trace_writer.h) into events, two neighbours at a time. */
#include "oracle_trace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace_writer.h"

#define ACTIVE_MAX 64

typedef struct pathprof_trace_block block;

struct active {
	const block *of;
	char how; /* 'l'eft, 'b'ranch, 'd'one */
};

struct oracle {
	struct pathprof_trace_event *events;
	size_t cnt;
	struct active active[ACTIVE_MAX];
	size_t active_cnt;
	uint64_t executed, told; /* instructions in all, and up to the last branch */
	uint64_t entered;        /* up to the last system call */
};

static void emit(struct oracle *o, uint32_t type, uint64_t from, uint64_t next)
{
	struct pathprof_trace_event *e = &o->events[o->cnt++];

	memset(e, 0, sizeof(*e));
	e->type = type;
	e->branch.from = from;
	e->branch.next = next;
}

static void emit_branch(struct oracle *o, const block *a, uint64_t next)
{
	struct pathprof_trace_event *e = &o->events[o->cnt];

	emit(o, PATHPROF_TRACE_EVENT_BRANCH, a->start + a->last_offset, next);
	e->insn_cnt = (uint32_t)(o->executed - o->told);
	e->kernel_insn_cnt = o->entered > o->told ? (uint32_t)(o->entered - o->told) : 0;
	o->told = o->executed;
	e->branch.kind = a->kind;
	e->branch.target = a->target ? a->target : next;
	e->branch.taken = !(a->kind == 1 && next != a->target);
}

static bool fits(const block *a, uint64_t next)
{
	uint64_t end = a->start + a->len_bytes, last = a->start + a->last_offset;

	if (a->kind == 1)
		return next == a->target || next == end;
	if (a->kind == 2 || a->kind == 4)
		return next == a->target;
	if (a->kind >= 1 && a->kind <= 6)
		return true;
	if (a->kind == PATHPROF_TRACE_ENDS_SYSCALL || a->kind == PATHPROF_TRACE_ENDS_REP)
		return next == end || next == last;
	return next == end;
}

static bool is_handler(const block *b)
{
	return b->start == 0x5000 || b->start == 0x5200;
}

static void enter_handler(struct oracle *o, const block *a, char how, uint64_t next)
{
	if (o->active_cnt == ACTIVE_MAX)
		memmove(o->active, o->active + 1, --o->active_cnt * sizeof(o->active[0]));
	o->active[o->active_cnt++] = (struct active){a, how};
	emit(o, PATHPROF_TRACE_EVENT_SIGNAL, how == 'l' ? 0 : a->start + a->last_offset, next);
}

static void leave_handler(struct oracle *o, uint64_t from, const block *b)
{
	struct active top;

	emit(o, PATHPROF_TRACE_EVENT_SIGRETURN, from, b->start);
	if (is_handler(b)) {
		emit(o, PATHPROF_TRACE_EVENT_SIGNAL, 0, b->start);
		return;
	}
	if (!o->active_cnt)
		return;
	top = o->active[--o->active_cnt];
	if (top.how == 'l') {
		if (b->start < top.of->start || b->start > top.of->start + top.of->len_bytes)
			emit(o, PATHPROF_TRACE_EVENT_JUMP, 0, b->start);
		return;
	}
	if (!fits(top.of, b->start)) {
		emit(o, PATHPROF_TRACE_EVENT_JUMP, top.of->start + top.of->last_offset, b->start);
		return;
	}
	if (top.how == 'b') {
		o->executed++;
		emit_branch(o, top.of, b->start);
	}
}

static void run_through(struct oracle *o, const block *a)
{
	o->executed += a->insn_cnt;
	if (a->kind == PATHPROF_TRACE_ENDS_SYSCALL)
		o->entered = o->executed;
}

/* a ended (or was left), then b began. */
static void pair(struct oracle *o, const block *a, bool left, bool returned, const block *b)
{
	bool is_branch = a->kind >= 1 && a->kind <= 6;
	bool direct = a->kind == 1 || a->kind == 2 || a->kind == 4;
	uint64_t last = a->start + a->last_offset;

	if (returned) {
		if (!left)
			run_through(o, a);
		leave_handler(o, last, b);
	} else if (left) {
		if (is_handler(b))
			enter_handler(o, a, 'l', b->start);
		else if (b->start < a->start || b->start >= a->start + a->len_bytes)
			emit(o, PATHPROF_TRACE_EVENT_JUMP, 0, b->start);
		else if (b->start == last)
			o->executed += a->insn_cnt - 1u;
	} else if (is_handler(b) && !(direct && fits(a, b->start)) &&
		   !(!is_branch && fits(a, b->start))) {
		if (is_branch)
			o->executed += a->insn_cnt - 1u;
		else
			run_through(o, a);
		enter_handler(o, a, is_branch ? 'b' : 'd', b->start);
	} else {
		run_through(o, a);
		if (!fits(a, b->start))
			emit(o, PATHPROF_TRACE_EVENT_JUMP, last, b->start);
		else if (is_branch)
			emit_branch(o, a, b->start);
	}
}

static void access(struct oracle *o, const block *a, const uint32_t *w)
{
	struct pathprof_trace_event *e = &o->events[o->cnt++];

	memset(e, 0, sizeof(*e));
	e->type = PATHPROF_TRACE_EVENT_ACCESS;
	e->access.pc = a->start + w[0] % 0x2000;
	e->access.address = ((uint64_t)w[2] << 32) + w[1];
	e->access.value = w[0] & 0x20000 ? ((uint64_t)w[4] << 32) + w[3] : 0;
	e->access.size_bytes = (uint32_t)1 << (w[0] >> 13 & 7);
	e->access.store = w[0] >> 16 & 1;
}

size_t oracle_trace(const uint32_t *words, size_t word_cnt, struct pathprof_trace_event *events)
{
	struct oracle o = {.events = events};
	bool left = false, returned = false, cut = false;
	const block *a = NULL;

	for (size_t i = 0; i < word_cnt; i++) {
		uint32_t w = words[i];

		if (w == PATHPROF_TRACE_MARK_LEFT) {
			left = true;
		} else if (w == PATHPROF_TRACE_MARK_SIGRETURN) {
			returned = true;
		} else if (w == PATHPROF_TRACE_MARK_CUT) {
			cut = true;
		} else if (w >> 31) {
			if (a && !cut)
				access(&o, a, words + i);
			i += w & 0x20000 ? 4 : 2;
		} else {
			const block *b = &trace_program[w];

			if (a && cut) {
				o.active_cnt = 0;
				o.told = o.executed;
				emit(&o, PATHPROF_TRACE_EVENT_JUMP, 0, b->start);
			} else if (a) {
				pair(&o, a, left, returned, b);
			}
			a = b;
			left = returned = cut = false;
		}
	}
	return o.cnt;
}
