// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A branch profile of counts that were read from another tool's file; see branch_profile.h.
 *
 * Workload: 10^4 to 10^8 counts, one at a time; symbols are looked up in the code's own table.
 */
#include "pp_branch_profile.h"

#include <errno.h>
#include <string.h>

#include "../code/pp_code.h"
#include "pathprof/build_id.h"
#include "pp_address.h"

struct reading {
	struct pathprof_code *code;
	const struct pathprof_build_id *id;
	enum pathprof_address_kind addresses;
	const struct pp_address_base *base;
};

static int by_symbol(struct pathprof_code *code, const struct pathprof_recorded_place *place,
		     uint64_t *ret_offset)
{
	char name[1024];
	const char *slash = strrchr(place->symbol, '/');
	uint64_t start, end;
	int rc = pathprof_code_find_function(code, place->symbol, &start, &end);

	/* BOLT numbers local symbols: name/1, name/file/1. */
	if (rc == -ENOENT && slash) {
		size_t len = (size_t)(strchr(place->symbol, '/') - place->symbol);

		if (len >= sizeof(name))
			return -ENOENT;
		memcpy(name, place->symbol, len);
		name[len] = '\0';
		rc = pathprof_code_find_function(code, name, &start, &end);
	}
	if (rc)
		return rc;
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
	rc = by_symbol(r->code, place, ret_offset);
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

static int add_trace(struct pathprof_branch_profile *p, const uint64_t at[3],
		     const struct pathprof_recorded_count *c)
{
	int rc = pathprof_branch_profile_add_branch(p, at[0], at[1], c->count, c->mispredicted);

	if (rc || !is_range(at[1], at[2]))
		return rc;
	rc = add_range(p, at[1], at[2], c);
	if (rc || at[0] == PATHPROF_OUTSIDE)
		return rc;
	return pp_branch_add(
		p, PP_ENTRY_TRACE,
		&(struct pp_branch_entry){.at = {at[0], at[1], at[2]}, .count = c->count});
}

/* 1: it does not fit. */
static int add(struct pathprof_branch_profile *p, const uint64_t at[3],
	       const struct pathprof_recorded_count *c)
{
	if (at[0] == PATHPROF_OUTSIDE && at[1] == PATHPROF_OUTSIDE)
		return 0;
	switch (c->kind) {
	case PATHPROF_RECORDED_BRANCH:
		return pathprof_branch_profile_add_branch(p, at[0], at[1], c->count,
							  c->mispredicted);
	case PATHPROF_RECORDED_RANGE:
		p->draft->has_ranges = true;
		return is_range(at[0], at[1]) ? add_range(p, at[0], at[1], c) : 1;
	case PATHPROF_RECORDED_ADDRESS:
		/* Where there are ranges they tell the same, and more of it. */
		if (p->draft->has_ranges)
			return 0;
		return is_range(at[0], at[1]) ? add_range(p, at[0], at[1], c) : 1;
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

/* What addresses count from, found out once; code of another binary is refused. */
static int learn_code(struct pathprof_branch_profile *p, struct pathprof_code *code,
		      struct pathprof_error *error)
{
	struct pathprof_build_id id;
	int rc;

	if (p->draft->base.code == code)
		return 0;
	rc = pathprof_code_build_id(code, &id, error);
	if (!rc)
		rc = pp_branch_check_id(p, &id, code->path, error);
	if (rc)
		return rc;
	pp_address_base_of(&p->draft->base, code);
	p->origin.build_id = id;
	return 0;
}

int pathprof_branch_profile_add_count(struct pathprof_branch_profile *p, struct pathprof_code *code,
				      enum pathprof_address_kind addresses,
				      const struct pathprof_recorded_count *count,
				      struct pathprof_error *error)
{
	struct reading reading = {
		.code = code,
		.id = &p->origin.build_id,
		.addresses = addresses,
		.base = &p->draft->base,
	};
	uint64_t at[3] = {0, 0, 0};
	int rc = learn_code(p, code, error);

	if (rc)
		return rc;
	if (addresses == PATHPROF_ADDRESS_RUN)
		return pathprof_fail(error, -EOPNOTSUPP,
				     "counts by addresses of a process need its mappings");
	rc = place_all(&reading, count, at);
	if (!rc)
		rc = add(p, at, count);
	if (rc == 1 || rc == -ENOENT || rc == -ERANGE) {
		p->origin.refused = pp_count_sum(p->origin.refused, count->count);
		return 0;
	}
	if (rc)
		return pathprof_fail(error, rc, "branch profile: %s", strerror(-rc));
	p->origin.samples = pp_count_sum(p->origin.samples, count->count);
	if (count->kind == PATHPROF_RECORDED_BRANCH || count->kind == PATHPROF_RECORDED_TRACE)
		p->origin.taken = pp_count_sum(p->origin.taken, count->count);
	return 0;
}
