// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A branch profile of counts that were read from another tool's file; see branch_profile.h.
 *
 * Workload: 10^4 to 10^8 counts, one at a time; each name is looked up once.
 */
#include "pp_branch_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/pp_decode.h"
#include "../code/pp_insn.h"
#include "base/vector.h"
#include "pathprof/build_id.h"
#include "pp_address.h"

struct reading {
	struct pathprof_code *code;
	struct pp_branch_draft *draft;
	const struct pathprof_build_id *id;
	enum pathprof_address_kind addresses;
	const struct pp_address_base *base;
};

/* ---------------------------------------------------------------- places */

/* Looks up the start of the function or stub of that name; PATHPROF_OUTSIDE: there is none. */
static int look_up(struct pp_branch_draft *draft, struct pathprof_code *code, const char *name,
		   uint64_t *ret_start)
{
	const struct pathprof_graph_function *stub;
	const struct pp_symbol *symbol;
	int r = 0;

	if (!draft->names.by_name)
		r = pp_bolt_names_init(&draft->names, code);
	if (r)
		return r;
	*ret_start = PATHPROF_OUTSIDE;
	symbol = pp_bolt_names_find(&draft->names, name);
	if (symbol) {
		(void)pathprof_code_vaddr_to_offset(code, symbol->start, ret_start);
		return 0;
	}
	stub = draft->graph ? pp_stub_named(draft->graph, name) : NULL;
	if (stub)
		*ret_start = draft->graph->parts[stub->first_part].start;
	return 0;
}

/* The same, kept: a profile has each name many times. */
static int start_of(struct pp_branch_draft *draft, struct pathprof_code *code, const char *name,
		    uint64_t *ret_start)
{
	uint32_t known = draft->places.table.cnt, number;
	int r = pp_texts_at(&draft->places, name, &number);

	if (!r && number == known) {
		r = pp_grow(&draft->place_starts, number, &draft->place_room);
		if (!r)
			r = look_up(draft, code, name, &draft->place_starts[number]);
	}
	if (!r)
		*ret_start = draft->place_starts[number];
	return r;
}

static int by_symbol(const struct reading *r, const struct pathprof_recorded_place *place,
		     uint64_t *ret_offset)
{
	uint64_t start;
	int rc = start_of(r->draft, r->code, place->symbol, &start);

	if (rc)
		return rc;
	if (start == PATHPROF_OUTSIDE)
		return -ENOENT;
	if (place->address > UINT64_MAX - start)
		return -ERANGE;
	*ret_offset = start + place->address;
	return 0;
}

/* -ENOENT, -ERANGE: it should be in the code, and is not. */
static int locate(const struct reading *r, const struct pathprof_recorded_place *place,
		  uint64_t *ret_offset)
{
	bool other = place->id.kind != PATHPROF_ID_NONE && r->id->kind != PATHPROF_ID_NONE &&
		     !pathprof_build_id_is_of(&place->id, r->id);
	uint64_t vaddr;
	int rc;

	if (place->outside || other) {
		*ret_offset = PATHPROF_OUTSIDE;
		return 0;
	}
	if (!place->symbol)
		return pp_address_to_offset(r->base, r->addresses, place->address, ret_offset);
	rc = by_symbol(r, place, ret_offset);
	return rc ? rc : pathprof_code_offset_to_vaddr(r->code, *ret_offset, &vaddr);
}

static bool is_range(uint64_t start, uint64_t last)
{
	return start != PATHPROF_OUTSIDE && last != PATHPROF_OUTSIDE && start <= last;
}

static int add_range(struct pathprof_branch_profile *p, uint64_t start, uint64_t last,
		     const struct pathprof_recorded_count *c)
{
	return pp_branch_add(
		p, PP_ENTRY_RANGE,
		&(struct pp_branch_entry){.at = {start, last, c->after_call}, .count = c->count});
}

/* A branch with both ends outside is in the profile's sum only. */
static int add_taken(struct pathprof_branch_profile *p, uint64_t from, uint64_t to,
		     const struct pathprof_recorded_count *c)
{
	p->origin.taken = pp_count_sum(p->origin.taken, c->count);
	if (from == PATHPROF_OUTSIDE && to == PATHPROF_OUTSIDE)
		return 0;
	return pathprof_branch_profile_add_branch(p, from, to, c->count, c->mispredicted);
}

static int add_trace(struct pathprof_branch_profile *p, const uint64_t at[3],
		     const struct pathprof_recorded_count *c)
{
	int r = add_taken(p, at[0], at[1], c);

	if (r || !is_range(at[1], at[2]))
		return r;
	r = add_range(p, at[1], at[2], c);
	if (r || at[0] == PATHPROF_OUTSIDE)
		return r;
	return pp_branch_add(
		p, PP_ENTRY_TRACE,
		&(struct pp_branch_entry){.at = {at[0], at[1], at[2]}, .count = c->count});
}

/* Whether the instruction at `at` may run on into what follows it, which is `next`. */
static bool runs_on(struct pathprof_code *code, uint64_t at, uint64_t next)
{
	uint8_t bytes[PP_INSN_BYTES];
	ZydisDecodedInstruction length;
	struct pp_insn insn;
	uint64_t vaddr;
	int len;

	if (code->apart || pathprof_code_offset_to_vaddr(code, at, &vaddr))
		return false;
	len = pp_insn_read(code, vaddr, bytes, &length, NULL);
	if (len < 0 || length.length != next - at)
		return false;
	pp_decode(bytes, (uint32_t)len, vaddr, &insn);
	return insn.kind != PP_KIND_JMP && insn.kind != PP_KIND_IJMP && insn.kind != PP_KIND_RET;
}

/*
 * fdata has fall-throughs beside branches: from the last instruction of a block to the next one. A
 * jump, or a return, that leads there is a branch all the same.
 */
static bool is_fall(const struct reading *r, const uint64_t at[3],
		    const struct pathprof_recorded_count *c)
{
	const struct pathprof_graph *g = r->draft->graph;
	uint32_t b;

	if (!c->from.symbol || c->mispredicted || at[1] == PATHPROF_OUTSIDE || at[1] <= at[0])
		return false;
	if (!g)
		return runs_on(r->code, at[0], at[1]);
	b = pathprof_graph_block_at(g, at[0]);
	return b != PATHPROF_GRAPH_NONE && g->blocks[b].last == at[0] &&
	       g->blocks[b].end == at[1] && g->blocks[b].kind != PERF_BR_UNCOND &&
	       g->blocks[b].kind != PERF_BR_IND && g->blocks[b].kind != PERF_BR_RET;
}

static int add_branch(struct pathprof_branch_profile *p, const struct reading *r,
		      const uint64_t at[3], const struct pathprof_recorded_count *c)
{
	if (!is_fall(r, at, c))
		return add_taken(p, at[0], at[1], c);
	if (!p->draft->graph)
		return 0;
	return pp_branch_add(p, PP_ENTRY_FALL,
			     &(struct pp_branch_entry){.at = {at[0], at[1]}, .count = c->count});
}

/* Local functions have a number behind their name: every one of them, but what is counted already.
 */
static int add_namesakes(struct pathprof_branch_profile *p, const struct reading *r,
			 const uint64_t at[3], const struct pathprof_recorded_count *c)
{
	const char *symbol = c->to.symbol;
	size_t size = strlen(symbol) + 12;
	char *name = malloc(size);
	uint64_t start = 0;
	int rc = name ? 0 : -ENOMEM;

	for (uint32_t number = 1; !rc && start != PATHPROF_OUTSIDE; number++) {
		snprintf(name, size, "%s/%" PRIu32, symbol, number);
		rc = start_of(p->draft, r->code, name, &start);
		if (!rc && start != PATHPROF_OUTSIDE && start != at[1])
			rc = add_taken(p, at[0], start, c);
	}
	free(name);
	return rc;
}

/* Adds a sample as a range of one instruction. If there are ranges, which tell more, samples only
 * tell which branches left the binary. */
static int add_sample(struct pathprof_branch_profile *p, uint64_t at,
		      const struct pathprof_recorded_count *c)
{
	if (at == PATHPROF_OUTSIDE)
		return 1;
	if (!p->draft->has_ranges)
		return add_range(p, at, at, c);
	return pp_branch_add(p, PP_ENTRY_SAMPLE,
			     &(struct pp_branch_entry){.at = {at}, .count = c->count});
}

/* 1: it does not fit. */
static int add(struct pathprof_branch_profile *p, const struct reading *r, const uint64_t at[3],
	       const struct pathprof_recorded_count *c)
{
	bool takes = c->kind == PATHPROF_RECORDED_BRANCH || c->kind == PATHPROF_RECORDED_TRACE;
	int rc;

	if (!takes && at[0] == PATHPROF_OUTSIDE && at[1] == PATHPROF_OUTSIDE)
		return 0;
	switch (c->kind) {
	case PATHPROF_RECORDED_BRANCH:
		rc = add_branch(p, r, at, c);
		return rc || !c->to.every || strchr(c->to.symbol, '/') ? rc
								       : add_namesakes(p, r, at, c);
	case PATHPROF_RECORDED_RANGE:
		p->draft->has_ranges = true;
		return is_range(at[0], at[1]) ? add_range(p, at[0], at[1], c) : 1;
	case PATHPROF_RECORDED_ADDRESS:
		return add_sample(p, at[0], c);
	case PATHPROF_RECORDED_TRACE:
		return add_trace(p, at, c);
	}
	return 1;
}

static int place_all(const struct reading *r, const struct pathprof_recorded_count *c,
		     uint64_t at[3])
{
	int rc = locate(r, &c->from, &at[0]);

	if (rc)
		return rc;
	if (c->kind == PATHPROF_RECORDED_ADDRESS) {
		at[1] = at[0];
		return 0;
	}
	rc = locate(r, &c->to, &at[1]);
	return rc || c->kind != PATHPROF_RECORDED_TRACE ? rc : locate(r, &c->end, &at[2]);
}

/* Learns the origin of addresses once; code of another binary is refused. */
static int learn_code(struct pathprof_branch_profile *p, struct pathprof_code *code,
		      struct pathprof_error *error)
{
	struct pathprof_build_id id;
	int r;

	if (p->draft->base.code == code)
		return 0;
	r = pathprof_code_build_id(code, &id, error);
	if (!r)
		r = pp_branch_check_id(p, &id, code->path, error);
	if (r)
		return r;
	pp_address_base_of(&p->draft->base, code);
	p->origin.build_id = id;
	return 0;
}

int pathprof_branch_profile_add_count(struct pathprof_branch_profile *p, struct pathprof_code *code,
				      const struct pathprof_graph *graph,
				      enum pathprof_address_kind addresses,
				      const struct pathprof_recorded_count *count,
				      struct pathprof_error *error)
{
	struct reading reading = {
		.code = code,
		.draft = p->draft,
		.id = &p->origin.build_id,
		.addresses = addresses,
		.base = &p->draft->base,
	};
	uint64_t at[3] = {0, 0, 0};
	int r = learn_code(p, code, error);

	if (r)
		return r;
	if (addresses == PATHPROF_ADDRESS_RUN)
		return pathprof_fail(error, -EOPNOTSUPP,
				     "counts by addresses of a process need its mappings");
	p->draft->graph = graph;
	r = place_all(&reading, count, at);
	if (!r)
		r = add(p, &reading, at, count);
	if (r == 1 || r == -ENOENT || r == -ERANGE) {
		p->origin.refused = pp_count_sum(p->origin.refused, count->count);
		return 0;
	}
	if (r)
		return pathprof_fail(error, r, "branch profile: %s", strerror(-r));
	p->origin.samples = pp_count_sum(p->origin.samples, count->count);
	return 0;
}
