/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Compilation units by the code they have, and lines out of their tables.
 *
 * Units are found by the ranges they name themselves (DW_AT_ranges, DW_AT_low_pc), not by
 * .debug_aranges, which clang does not write. For split debug information (-gsplit-dwarf) this is
 * the part in the binary: ranges and lines are in it, functions are not.
 *
 * Workload: all units' ranges once, at the first question; then a search an answer, and a unit's
 * line table when the first of its lines is asked for. Ownership: the code handle owns it; strings
 * are libdw's and live as long.
 */
#ifndef PP_LINES_H
#define PP_LINES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "pp_code.h"
#include "pp_spans.h"

/* The most ranges that are read in all. In sound files each range has bytes of its own; in hostile
 * ones every entry could name the same long list. */
#define PP_RANGES_MAX (1u << 26)

struct pp_unit {
	Dwarf_Die die;
	uint64_t bias;   /* vaddr = DWARF's address + bias */
	const char *dir; /* where it was compiled; "" when not known */
	bool prepared;   /* its table, for libdw */
};

struct pp_lines {
	struct pp_unit *units;
	uint32_t unit_cnt, unit_room;
	struct pp_spans spans; /* vaddrs; items are units */
	uint32_t ranges_left;
	uint8_t *copy; /* of the tables; NULL: none is needed */
};

struct pp_line {
	const char *file; /* "" when not known */
	uint32_t number;  /* 0: none */
	uint32_t discriminator;
};

/* *ret_lines belongs to code; without debug information there are no units. -ENOMEM. */
int pp_lines_open(struct pathprof_code *code, struct pp_lines **ret_lines);
/* NULL-safe; when libdw is done. */
void pp_lines_free(struct pp_lines *lines);
/* The unit that has the code at vaddr, or PP_SPANS_NONE. Before its lines or files are read. */
uint32_t pp_lines_unit_at(struct pp_lines *lines, uint64_t vaddr);
/* False: the unit's table has nothing there, or unit is PP_SPANS_NONE. */
bool pp_lines_at(const struct pp_lines *lines, uint32_t unit, uint64_t vaddr,
		 struct pp_line *ret_line);
/*
 * Adds the ranges of a DIE of that unit. Those of functions that the linker left out are passed
 * over: they begin at 0, or where there is no code. The number of ranges read is taken off *left;
 * at 0 no more is read. 1: the linker left out all of it; -ENOMEM.
 */
int pp_lines_add_ranges(const struct pathprof_code *code, const struct pp_unit *unit,
			Dwarf_Die *die, uint32_t item, struct pp_spans *spans, uint32_t *left);

#endif
