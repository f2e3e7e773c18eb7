// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Inline trees out of DWARF; see pathprof/inlines.h for workload and ownership.
 *
 * Every range of a function and of what was inlined into it is a scope. Scopes nest; sorted by
 * start, then the wider first, the one that holds an address is the last that begins before it or
 * one that encloses that. `outer` is that next wider one.
 *
 * Files come from outside: trees are followed to a depth and a number, names are libdw's, checked
 * by it. What cannot be read is as if it were not there.
 *
 * Source: DWARF 5, 3.3 (subroutines, inlined ones); LLVM's DILocation for its discriminators.
 */
#include "pathprof/inlines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pp_code.h"

/* LLVM's and GCC's extension that became no part of DWARF; elfutils has no name for it. */
#define AT_GNU_DISCRIMINATOR 0x2136

#define DEPTH_MAX  256
#define SCOPES_MAX (1u << 26)
#define NO_SCOPE   UINT32_MAX

/* A source function, or one of the places where it was inlined. */
struct routine {
	const char *linkage_name, *name, *file;
	const char *call_file;
	uint32_t start_line, call_line, call_discriminator;
	uint32_t unit;
};

struct scope {
	uint64_t start, end; /* vaddrs */
	uint32_t routine, depth;
	uint32_t outer;
};

/* A compilation unit: where its lines are. */
struct unit {
	Dwarf_Die die;
	Dwarf_Files *files;
	size_t file_cnt;
	uint64_t bias; /* vaddr = DWARF's address + bias */
	bool encoded;  /* its compiler packs more into discriminators than a number */
};

struct pathprof_inlines {
	struct pathprof_code *code;
	struct unit *units;
	struct routine *routines;
	struct scope *scopes;
	uint32_t unit_cnt, unit_room, routine_cnt, routine_room, scope_cnt, scope_room;
};

/* ---------------------------------------------------------------- reading */

static int grow(void **array, uint32_t cnt, uint32_t *room, size_t size)
{
	uint32_t want = *room ? 2 * *room : 1024;
	void *grown;

	if (cnt < *room)
		return 0;
	if (cnt >= SCOPES_MAX)
		return -ENOMEM;
	grown = reallocarray(*array, want, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = want;
	return 0;
}

static const char *text_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	const char *text = NULL;

	if (dwarf_attr_integrate(die, name, &attribute))
		text = dwarf_formstring(&attribute);
	return text;
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name, bool integrate)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number = 0;

	if (!(integrate ? dwarf_attr_integrate(die, name, &attribute)
			: dwarf_attr(die, name, &attribute)) ||
	    dwarf_formudata(&attribute, &number))
		return 0;
	return number > UINT32_MAX ? 0 : (uint32_t)number;
}

static const char *file_of(const struct unit *unit, uint32_t number)
{
	const char *file = NULL;

	if (unit->files && number < unit->file_cnt)
		file = dwarf_filesrc(unit->files, number, NULL, NULL);
	return file ? file : "";
}

/* The unit being read is the last one. */
static int add_routine(struct pathprof_inlines *in, Dwarf_Die *die)
{
	const struct unit *unit = &in->units[in->unit_cnt - 1];
	const char *name = text_of(die, DW_AT_name);
	const char *linkage = text_of(die, DW_AT_linkage_name);
	int rc = grow((void **)&in->routines, in->routine_cnt, &in->routine_room,
		      sizeof(in->routines[0]));

	if (rc)
		return rc;
	if (!linkage)
		linkage = text_of(die, DW_AT_MIPS_linkage_name);
	if (!linkage)
		linkage = name ? name : "";
	in->routines[in->routine_cnt++] = (struct routine){
		.linkage_name = linkage,
		.name = name ? name : linkage,
		.file = file_of(unit, number_of(die, DW_AT_decl_file, true)),
		.call_file = file_of(unit, number_of(die, DW_AT_call_file, false)),
		.start_line = number_of(die, DW_AT_decl_line, true),
		.call_line = number_of(die, DW_AT_call_line, false),
		.call_discriminator = number_of(die, AT_GNU_DISCRIMINATOR, false),
		.unit = in->unit_cnt - 1,
	};
	return 0;
}

/* Every range of the DIE. */
static int add_scopes(struct pathprof_inlines *in, Dwarf_Die *die, uint32_t depth)
{
	uint64_t bias = in->units[in->unit_cnt - 1].bias;
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t at = 0;
	bool routine = false;
	int rc = 0;

	while (!rc && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (end <= start)
			continue;
		if (!routine)
			rc = add_routine(in, die);
		routine = true;
		if (!rc)
			rc = grow((void **)&in->scopes, in->scope_cnt, &in->scope_room,
				  sizeof(in->scopes[0]));
		if (!rc)
			in->scopes[in->scope_cnt++] = (struct scope){
				.start = start + bias,
				.end = end + bias,
				.routine = in->routine_cnt - 1,
				.depth = depth,
			};
	}
	return rc;
}

static bool may_hold_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): to DEPTH_MAX */
static int add_children(struct pathprof_inlines *in, Dwarf_Die *parent, uint32_t depth)
{
	Dwarf_Die die;
	int rc = 0;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (!may_hold_code(tag))
			continue;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			rc = add_scopes(in, &die, depth);
		if (!rc)
			rc = add_children(in, &die, depth + 1);
	} while (!rc && !dwarf_siblingof(&die, &die));
	return rc;
}

/* ---------------------------------------------------------------- nesting */

static int by_place(const void *a, const void *b)
{
	const struct scope *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	if (left->depth != right->depth)
		return left->depth < right->depth ? -1 : 1;
	return left->routine < right->routine ? -1 : left->routine > right->routine;
}

static void nest(struct pathprof_inlines *in)
{
	uint32_t open = NO_SCOPE;

	if (in->scope_cnt)
		qsort(in->scopes, in->scope_cnt, sizeof(in->scopes[0]), by_place);
	for (uint32_t i = 0; i < in->scope_cnt; i++) {
		while (open != NO_SCOPE && in->scopes[open].end <= in->scopes[i].start)
			open = in->scopes[open].outer;
		in->scopes[i].outer = open;
		open = i;
	}
}

/* ---------------------------------------------------------------- the handle */

static int add_unit(struct pathprof_inlines *in, const Dwarf_Die *die, Dwarf_Addr bias)
{
	struct unit *unit;
	const char *producer;
	int rc = grow((void **)&in->units, in->unit_cnt, &in->unit_room, sizeof(in->units[0]));

	if (rc)
		return rc;
	unit = &in->units[in->unit_cnt++];
	*unit = (struct unit){.die = *die, .bias = bias - in->code->bias};
	producer = text_of(&unit->die, DW_AT_producer);
	unit->encoded = producer && strstr(producer, "clang");
	if (dwarf_getsrcfiles(&unit->die, &unit->files, &unit->file_cnt))
		unit->files = NULL;
	return add_children(in, &unit->die, 0);
}

static int read_units(struct pathprof_inlines *in)
{
	Dwarf_Die *die = NULL;
	Dwarf_Addr bias;
	int rc = 0;

	if (pp_dwfl_open(in->code))
		return -ENOENT;
	while (!rc && (die = dwfl_module_nextcu(in->code->module, die, &bias)))
		rc = add_unit(in, die, bias);
	if (!rc && !in->scope_cnt)
		rc = -ENOENT;
	return rc;
}

int pathprof_inlines_open(struct pathprof_inlines **ret_inlines, struct pathprof_code *code,
			  struct pathprof_error *error)
{
	struct pathprof_inlines *in = calloc(1, sizeof(*in));
	int rc;

	if (!in)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", code->path);
	in->code = code;
	rc = read_units(in);
	if (rc) {
		pathprof_inlines_free(in);
		return pathprof_fail(error, rc,
				     rc == -ENOENT ? "%s: has no debug information (compile with"
						     " -g; -fdebug-info-for-profiling adds"
						     " discriminators)"
						   : "%s: debug information: out of memory",
				     code->path);
	}
	nest(in);
	*ret_inlines = in;
	return 0;
}

void pathprof_inlines_free(struct pathprof_inlines *inlines)
{
	if (!inlines)
		return;
	free(inlines->units);
	free(inlines->routines);
	free(inlines->scopes);
	free(inlines);
}

/* ---------------------------------------------------------------- discriminators */

/*
 * LLVM packs three numbers into one: base, copies, and one that is of no use here. A component is
 * one bit 1 for the number 0, else a bit 0 and 6 bits of which the highest says that 7 more follow.
 */
static uint32_t component(uint32_t packed)
{
	if (packed & 1)
		return 0;
	packed >>= 1;
	return packed & 0x20 ? (packed >> 1 & 0xfe0) | (packed & 0x1f) : packed & 0x1f;
}

static uint32_t behind_component(uint32_t packed)
{
	if (packed & 1)
		return packed >> 1;
	return packed & 0x40 ? packed >> 14 : packed >> 7;
}

static void set_discriminator(struct pathprof_source_frame *frame, uint32_t raw, bool encoded)
{
	frame->discriminator = encoded ? component(raw) : raw;
	frame->copies = encoded ? component(behind_component(raw)) : 1;
	if (!frame->copies)
		frame->copies = 1;
}

/* ---------------------------------------------------------------- looking up */

static uint32_t scope_at(const struct pathprof_inlines *in, uint64_t vaddr)
{
	uint32_t low = 0, high = in->scope_cnt;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (in->scopes[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	for (low--; low != NO_SCOPE && in->scopes[low].end <= vaddr;)
		low = in->scopes[low].outer;
	return low;
}

/* The unit's own table: libdwfl finds units by .debug_aranges alone, which clang does not write. */
static void set_line(struct unit *unit, uint64_t vaddr, struct pathprof_source_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, vaddr - unit->bias);
	unsigned int discriminator = 0;
	const char *file;
	int number = 0;

	if (!line)
		return;
	dwarf_lineno(line, &number);
	dwarf_linediscriminator(line, &discriminator);
	file = dwarf_linesrc(line, NULL, NULL);
	frame->line = number > 0 ? (uint32_t)number : 0;
	frame->discriminator = discriminator;
	if (file)
		frame->file = file;
}

uint32_t pathprof_inlines_at(struct pathprof_inlines *inlines, uint64_t offset,
			     struct pathprof_source_frame *frames, uint32_t max)
{
	struct pathprof_source_frame frame = {.file = ""};
	uint64_t vaddr;
	uint32_t cnt = 0, at;

	if (pathprof_code_offset_to_vaddr(inlines->code, offset, &vaddr))
		return 0;
	at = scope_at(inlines, vaddr);
	if (at != NO_SCOPE)
		set_line(&inlines->units[inlines->routines[inlines->scopes[at].routine].unit],
			 vaddr, &frame);
	for (; at != NO_SCOPE && cnt < DEPTH_MAX; at = inlines->scopes[at].outer, cnt++) {
		const struct routine *r = &inlines->routines[inlines->scopes[at].routine];

		frame.linkage_name = r->linkage_name;
		frame.name = r->name;
		frame.start_line = r->start_line;
		if (!frame.file[0])
			frame.file = r->file;
		set_discriminator(&frame, frame.discriminator, inlines->units[r->unit].encoded);
		if (cnt < max)
			frames[cnt] = frame;
		/* The next one is at the call. */
		frame = (struct pathprof_source_frame){
			.file = r->call_file,
			.line = r->call_line,
			.discriminator = r->call_discriminator,
		};
	}
	return cnt;
}
