// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Inline trees out of DWARF; see pathprof/inlines.h for workload and ownership.
 *
 * A unit's tree is read when code of the unit is first asked for: a profile touches few units of a
 * large program. Every range of a function, and of what was inlined into it, is a span; the
 * innermost span at an address gives the instruction's routine. The routines around that one come
 * from the tree, not from ranges, because ranges of several units may coincide (identical code is
 * folded) or be wrong (the linker's).
 *
 * Files come from outside: the depth of a tree and the number of its entries are bounded, and libdw
 * checks the names. Parts that cannot be read count as absent.
 *
 * Source: DWARF 5, 3.1.2 and 3.1.3 (skeletons, split units), 3.3 (subroutines, inlined ones);
 * LLVM's DILocation for its discriminators.
 */
#include "pathprof/inlines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"
#include "pathprof/foreign.h"
#include "pp_code_apart.h"
#include "pp_lines.h"

/* An extension of LLVM and GCC that is not part of DWARF; elfutils has no name for it. */
#define AT_GNU_DISCRIMINATOR 0x2136

/* A compression of SHF_COMPRESSED sections that elf.h of Debian 12 does not have. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define DEPTH_MAX 256
#define NO_OUTER  UINT32_MAX

/* A source function, or one of the places where it was inlined. */
struct routine {
	const char *linkage_name, *name, *file;
	const char *call_file;
	uint32_t start_line, call_line, call_discriminator;
	uint32_t outer; /* what it was inlined into */
};

/* A unit's routines. */
struct tree {
	struct routine *routines;
	uint32_t routine_cnt, routine_room;
	struct pp_spans spans; /* items are routines */
	bool read;             /* tried, perhaps in vain */
	bool encoded;          /* its compiler packs several numbers into a discriminator */
};

struct pathprof_inlines {
	struct pathprof_code *code;
	struct pp_lines *lines;
	struct tree *trees; /* one a unit */
	uint32_t ranges_left;
};

/* A tree being read. */
struct reading {
	struct tree *tree;
	const struct pathprof_code *code;
	const struct pp_unit *unit;
	Dwarf_Files *files;
	size_t file_cnt;
	uint64_t left; /* entries that may still be read */
	uint32_t *ranges_left;
};

/* ---------------------------------------------------------------- split units */

static const char *text_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	const char *text = NULL;

	if (dwarf_attr_integrate(die, name, &attribute))
		text = dwarf_formstring(&attribute);
	return text;
}

static bool is_skeleton(const struct pp_unit *unit)
{
	uint8_t type;

	return !dwarf_cu_info(unit->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) &&
	       type == DW_UT_skeleton;
}

/* The path of the unit's .dwo file where it was compiled; false: the unit names none. */
static bool split_path(const struct pp_unit *unit, char *path, size_t size)
{
	Dwarf_Die die = unit->die;
	const char *name = text_of(&die, DW_AT_dwo_name);
	bool whole;

	if (!name)
		name = text_of(&die, DW_AT_GNU_dwo_name);
	if (!name)
		return false;
	whole = name[0] == '/' || !unit->dir[0];
	return (size_t)snprintf(path, size, "%s%s%s", whole ? "" : unit->dir, whole ? "" : "/",
				name) < size;
}

/* A binary could name a pipe or a device, and libdw would open it. */
static bool is_file(const char *path, struct stat *ret_status)
{
	int fd = pathprof_foreign_look(PATHPROF_OWN_ROOT, path);
	int r = fd < 0 ? fd : fstat(fd, ret_status);

	if (fd >= 0)
		close(fd);
	return r == 0;
}

/*
 * libdw opens a unit's .dwo file by name, and the name may lead to another file by then. So root
 * takes on the user and the group of the first file; of its own rights its further groups stay.
 */
static bool open_split(const struct pp_unit *unit, const struct stat *status, Dwarf_Die *ret_root)
{
	int gid = setfsgid(status->st_gid), uid = setfsuid(status->st_uid), r;

	r = dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, ret_root, NULL, NULL, NULL);
	setfsuid((uid_t)uid);
	setfsgid((gid_t)gid);
	return r == 0 && ret_root->addr;
}

/* Finds the DIE that has the unit's functions: the unit's own, or the one in its .dwo file. */
static bool find_root(const struct pp_unit *unit, Dwarf_Die *ret_root)
{
	struct stat status;
	char path[4096];
	Dwarf_Die root;

	if (!is_skeleton(unit)) {
		*ret_root = unit->die;
		return true;
	}
	if (!split_path(unit, path, sizeof(path)) || !is_file(path, &status) ||
	    !open_split(unit, &status, &root))
		return false;
	*ret_root = root;
	return true;
}

/* ---------------------------------------------------------------- reading */

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

static const char *file_of(const struct reading *r, uint32_t number)
{
	const char *file = NULL;

	if (r->files && number < r->file_cnt)
		file = dwarf_filesrc(r->files, number, NULL, NULL);
	return file ? file : "";
}

static int add_routine(struct reading *r, Dwarf_Die *die, uint32_t outer)
{
	struct tree *tree = r->tree;
	const char *name = text_of(die, DW_AT_name);
	const char *linkage = text_of(die, DW_AT_linkage_name);

	if (pp_grow(&tree->routines, tree->routine_cnt, &tree->routine_room) < 0)
		return -ENOMEM;
	if (!linkage)
		linkage = text_of(die, DW_AT_MIPS_linkage_name);
	if (!linkage)
		linkage = name ? name : "";
	tree->routines[tree->routine_cnt++] = (struct routine){
		.linkage_name = linkage,
		.name = name ? name : linkage,
		.file = file_of(r, number_of(die, DW_AT_decl_file, true)),
		.call_file = file_of(r, number_of(die, DW_AT_call_file, false)),
		.start_line = number_of(die, DW_AT_decl_line, true),
		.call_line = number_of(die, DW_AT_call_line, false),
		.call_discriminator = number_of(die, AT_GNU_DISCRIMINATOR, false),
		.outer = outer,
	};
	return 0;
}

/*
 * Adds a function if it has code; *routine becomes the routine around its children. Returns 1 if
 * the linker left the function out: its children are gone with it, though their addresses may look
 * like those of code.
 */
static int add_function(struct reading *r, Dwarf_Die *die, uint32_t *routine)
{
	bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	uint32_t span_cnt = r->tree->spans.cnt;
	int rc = pp_lines_add_ranges(r->code, r->unit, die, r->tree->routine_cnt, &r->tree->spans,
				     r->ranges_left);

	if (rc == 0 && r->tree->spans.cnt != span_cnt) {
		rc = add_routine(r, die, inlined ? *routine : NO_OUTER);
		*routine = r->tree->routine_cnt - 1;
	}
	/* No span is of a routine that is not there. */
	if (rc < 0)
		r->tree->spans.cnt = span_cnt;
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
static int add_children(struct reading *r, Dwarf_Die *parent, uint32_t outer, uint32_t depth)
{
	Dwarf_Die die;
	int rc = 0;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);
		uint32_t routine = outer;

		if (!r->left)
			return 0;
		r->left--;
		if (!may_hold_code(tag))
			continue;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			rc = add_function(r, &die, &routine);
		if (!rc)
			rc = add_children(r, &die, routine, depth + 1);
		if (rc > 0)
			rc = 0;
	} while (!rc && !dwarf_siblingof(&die, &die));
	return rc;
}

/* An entry takes at least a byte. The bound ends a walk along siblings that lead back. */
static uint64_t entries_max(Dwarf_Die *root)
{
	Dwarf_Off off = dwarf_dieoffset(root) - dwarf_cuoffset(root), next;
	Dwarf *dwarf = dwarf_cu_getdwarf(root->cu);

	if (dwarf_next_unit(dwarf, off, &next, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
		return 0;
	return next - off;
}

static int read_tree(struct pathprof_inlines *in, uint32_t index)
{
	struct tree *tree = &in->trees[index];
	struct reading r = {
		.tree = tree,
		.code = in->code,
		.unit = &in->lines->units[index],
		.ranges_left = &in->ranges_left,
	};
	const char *producer;
	Dwarf_Die root;
	int rc;

	tree->read = true;
	if (!find_root(r.unit, &root))
		return 0;
	producer = text_of(&root, DW_AT_producer);
	tree->encoded = producer && strstr(producer, "clang");
	if (dwarf_getsrcfiles(&root, &r.files, &r.file_cnt))
		r.files = NULL;
	r.left = entries_max(&root);
	rc = add_children(&r, &root, NO_OUTER, 0);
	pp_spans_nest(&tree->spans);
	return rc;
}

/* ---------------------------------------------------------------- the handle */

/* elfutils before 0.189 reads no sections packed by zstd, and says nothing. */
static bool is_packed_by_zstd(const struct pathprof_code *code)
{
	struct pp_section s;
	struct pp_cursor bytes;

	return pp_section_named(code, ".debug_info", &s) && (s.flags & SHF_COMPRESSED) &&
	       pp_section_open(&s, &bytes) && pp_cursor_take(&bytes, 4) == ELFCOMPRESS_ZSTD;
}

/* Fails unless the functions of some unit can be read. */
static int check_units(const struct pathprof_inlines *in, struct pathprof_error *error)
{
	char path[4096] = "";
	Dwarf_Die root;

	for (uint32_t i = 0; i < in->lines->unit_cnt; i++)
		if (find_root(&in->lines->units[i], &root))
			return 0;
	if (in->lines->unit_cnt && split_path(&in->lines->units[0], path, sizeof(path)))
		return pathprof_fail(error, -ENOENT,
				     "%s: its debug information lies in .dwo files, and %s is not"
				     " there (compile without -gsplit-dwarf)",
				     in->code->path, path);
	if (is_packed_by_zstd(in->code))
		return pathprof_fail(error, -ENOENT,
				     "%s: its debug information is packed by zstd, which libdw "
				     "cannot read here: objcopy --decompress-debug-sections, or "
				     "compile with -gz=none",
				     in->code->path);
	return pathprof_fail(error, -ENOENT,
			     "%s: has no debug information (compile with -g;"
			     " -fdebug-info-for-profiling adds discriminators)",
			     in->code->path);
}

/* Opens the trees in the process that reads files apart; the handle stands for them. */
static int open_apart(struct pathprof_inlines **ret_inlines, struct pathprof_inlines *in,
		      struct pathprof_code *code, struct pathprof_error *error)
{
	int r = pp_apart_inlines_open(code, error);

	in->code = code;
	if (r)
		free(in);
	else
		*ret_inlines = in;
	return r;
}

int pathprof_inlines_open(struct pathprof_inlines **ret_inlines, struct pathprof_code *code,
			  struct pathprof_error *error)
{
	struct pathprof_inlines *in = calloc(1, sizeof(*in));
	int r = in ? 0 : -ENOMEM;

	if (!r && code->apart)
		return open_apart(ret_inlines, in, code, error);
	if (!r) {
		in->code = code;
		in->ranges_left = PP_RANGES_MAX;
		r = pp_lines_open(code, &in->lines);
	}
	if (!r) {
		in->trees = calloc((size_t)in->lines->unit_cnt + 1, sizeof(in->trees[0]));
		r = in->trees ? check_units(in, error) : -ENOMEM;
	}
	if (!r) {
		*ret_inlines = in;
		return 0;
	}
	pathprof_inlines_free(in);
	return r == -ENOMEM
		       ? pathprof_fail(error, r, "%s: debug information: out of memory", code->path)
		       : r;
}

void pathprof_inlines_free(struct pathprof_inlines *inlines)
{
	if (!inlines)
		return;
	for (uint32_t i = 0; inlines->trees && i < inlines->lines->unit_cnt; i++) {
		free(inlines->trees[i].routines);
		pp_spans_release(&inlines->trees[i].spans);
	}
	free(inlines->trees);
	free(inlines);
}

/* ---------------------------------------------------------------- discriminators */

/*
 * LLVM packs three numbers into one: base, copies, and one that is of no use here. The number 0 is
 * a single 1 bit. Others are a 0 bit and 6 more, the highest of which says that another 7 follow.
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

/* Fills frames from the innermost routine outwards. Returns how many there are, even above max. */
static int fill_frames(const struct tree *tree, uint32_t routine, const struct pp_line *line,
		       const char *dir, struct pathprof_source_frame *frames, uint32_t max)
{
	struct pathprof_source_frame frame = {.file = line->file, .line = line->number};
	uint32_t raw = line->discriminator;
	int cnt = 0;

	for (; routine != NO_OUTER; routine = tree->routines[routine].outer, cnt++) {
		const struct routine *r = &tree->routines[routine];

		frame.linkage_name = r->linkage_name;
		frame.name = r->name;
		frame.start_line = r->start_line;
		frame.dir = dir;
		if (!frame.file[0])
			frame.file = r->file;
		set_discriminator(&frame, raw, tree->encoded);
		if ((uint32_t)cnt < max)
			frames[cnt] = frame;
		/* the next frame is at this routine's call */
		frame = (struct pathprof_source_frame){.file = r->call_file, .line = r->call_line};
		raw = r->call_discriminator;
	}
	return cnt;
}

int pathprof_inlines_at(struct pathprof_inlines *inlines, uint64_t offset,
			struct pathprof_source_frame *frames, uint32_t max)
{
	struct pp_line line = {.file = ""};
	uint32_t unit, routine;
	uint64_t vaddr;
	int r = 0;

	if (inlines->code->apart)
		return pp_apart_inlines_at(inlines->code, offset, frames, max);
	if (pathprof_code_offset_to_vaddr(inlines->code, offset, &vaddr))
		return 0;
	pathprof_foreign_tell(inlines->code->path);
	unit = pp_lines_unit_at(inlines->lines, vaddr);
	if (unit == PP_SPANS_NONE)
		return 0;
	if (!inlines->trees[unit].read)
		r = read_tree(inlines, unit);
	if (r)
		return r;
	routine = pp_spans_at(&inlines->trees[unit].spans, vaddr);
	if (routine == PP_SPANS_NONE)
		return 0;
	pp_lines_at(inlines->lines, unit, vaddr, &line);
	return fill_frames(&inlines->trees[unit], routine, &line, inlines->lines->units[unit].dir,
			   frames, max);
}
