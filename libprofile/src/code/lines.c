// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Source lines, from DWARF by libdw; see pp_lines.h for workload and ownership.
 *
 * Source: DWARF 5, 3.1.1 (units' ranges), 6.2 (line tables).
 */
#include "pp_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"
#include "pathprof/foreign.h"
#include "pp_code_apart.h"
#include "pp_line_tables.h"

static bool is_code(const struct pathprof_code *code, uint64_t vaddr)
{
	uint64_t offset;

	return !pathprof_code_vaddr_to_offset(code, vaddr, &offset);
}

int pp_lines_add_ranges(const struct pathprof_code *code, const struct pp_unit *unit,
			Dwarf_Die *die, uint32_t item, struct pp_spans *spans, uint32_t *left)
{
	bool left_out = false, kept = false;
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t at = 0;
	int r = 0;

	for (; !r && *left; --*left) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			break;
		if (start && is_code(code, start + unit->bias)) {
			r = pp_spans_add(spans, start + unit->bias, end + unit->bias, item);
			kept = true;
		} else {
			left_out = true;
		}
	}
	return r ? r : left_out && !kept;
}

static const char *dir_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *dir = NULL;

	if (dwarf_attr(die, DW_AT_comp_dir, &attribute))
		dir = dwarf_formstring(&attribute);
	return dir ? dir : "";
}

static int add_unit(struct pp_lines *lines, const struct pathprof_code *code, const Dwarf_Die *die,
		    Dwarf_Addr bias)
{
	int r = pp_grow(&lines->units, lines->unit_cnt, &lines->unit_room);
	struct pp_unit *unit;

	if (r)
		return r;
	unit = &lines->units[lines->unit_cnt];
	*unit = (struct pp_unit){.die = *die, .bias = bias - code->bias};
	unit->dir = dir_of(&unit->die);
	r = pp_lines_add_ranges(code, unit, &unit->die, lines->unit_cnt, &lines->spans,
				&lines->ranges_left);
	lines->unit_cnt += r >= 0;
	return r < 0 ? r : 0;
}

static int read_units(struct pp_lines *lines, const struct pathprof_code *code)
{
	Dwarf_Die *die = NULL;
	Dwarf_Addr bias;
	int r = 0;

	while (!r && (die = dwfl_module_nextcu(code->module, die, &bias)))
		r = add_unit(lines, code, die, bias);
	pp_spans_nest(&lines->spans);
	return r;
}

int pp_lines_open(struct pathprof_code *code, struct pp_lines **ret_lines)
{
	struct pp_lines *lines = code->lines;
	int r;

	if (!lines) {
		lines = calloc(1, sizeof(*lines));
		if (!lines)
			return -ENOMEM;
		lines->ranges_left = PP_RANGES_MAX;
		r = pp_dwfl_open_dwarf(code) ? 0 : read_units(lines, code);
		if (r) {
			pp_lines_free(lines);
			return r;
		}
		code->lines = lines;
	}
	*ret_lines = lines;
	return 0;
}

void pp_lines_free(struct pp_lines *lines)
{
	if (!lines)
		return;
	free(lines->units);
	free(lines->copy);
	pp_spans_release(&lines->spans);
	free(lines);
}

uint32_t pp_lines_unit_at(struct pp_lines *lines, uint64_t vaddr)
{
	uint32_t number = pp_spans_at(&lines->spans, vaddr);
	struct pp_unit *unit = number < lines->unit_cnt ? &lines->units[number] : NULL;

	if (unit && !unit->prepared) {
		unit->prepared = true;
		pp_line_table_prepare(&unit->die, &lines->copy);
	}
	return number;
}

bool pp_lines_at(const struct pp_lines *lines, uint32_t unit, uint64_t vaddr,
		 struct pp_line *ret_line)
{
	unsigned int discriminator = 0;
	const char *file;
	Dwarf_Line *line;
	Dwarf_Die die;
	int number = 0;

	if (unit >= lines->unit_cnt)
		return false;
	die = lines->units[unit].die;
	line = dwarf_getsrc_die(&die, vaddr - lines->units[unit].bias);
	if (!line)
		return false;
	file = dwarf_linesrc(line, NULL, NULL);
	dwarf_lineno(line, &number);
	dwarf_linediscriminator(line, &discriminator);
	*ret_line = (struct pp_line){
		.file = file ? file : "",
		.number = number > 0 ? (uint32_t)number : 0,
		.discriminator = discriminator,
	};
	return true;
}

int pathprof_code_line(struct pathprof_code *code, uint64_t offset, const char **ret_file,
		       int *ret_line)
{
	struct pp_lines *lines;
	struct pp_line line;
	uint64_t vaddr;
	int r;

	if (code->apart)
		return pp_apart_line(code, offset, ret_file, ret_line);
	if (pathprof_code_offset_to_vaddr(code, offset, &vaddr))
		return -ERANGE;
	pathprof_foreign_tell(code->path);
	r = pp_lines_open(code, &lines);
	if (r)
		return r;
	/* Line 0 is how a compiler says that an instruction belongs to none. */
	if (!pp_lines_at(lines, pp_lines_unit_at(lines, vaddr), vaddr, &line) || !line.file[0] ||
	    !line.number)
		return -ENOENT;
	*ret_file = line.file;
	*ret_line = (int)line.number;
	return 0;
}
