// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Discriminators that libdw can hold: see pp_line_tables.h.
 *
 * Source: DWARF 5, 6.2.4 (header) and 6.2.5 (program); elfutils, libdw/libdwP.h (Dwarf_Line_s).
 */
#include "pp_line_tables.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "pp_cursor.h"

#define DISCRIMINATOR_BITS 24

struct table {
	struct pp_cursor at; /* of the program; base is the section's first byte */
	Elf_Data *data;
	uint8_t **copy;
	const uint8_t *operand_cnts; /* of standard opcodes, from the first, which is 1 */
	uint8_t opcode_base;         /* the first special opcode */
};

/* The section that libdw reads, which it has decompressed. */
static Elf_Data *lines_of(Elf *elf)
{
	Elf_Scn *scn = NULL;
	const char *name;
	size_t names;
	GElf_Shdr sh;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (name && sh.sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line")))
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

/* Leaves the cursor at the program, to end with it. */
static bool read_header(struct table *table)
{
	struct pp_cursor *c = &table->at;
	size_t size = 4, program;
	uint64_t len = pp_cursor_take(c, size), version;

	if (len == UINT32_MAX) {
		size = 8;
		len = pp_cursor_take(c, size);
	}
	if (c->bad || len > c->end - c->at)
		return false;
	c->end = c->at + len;
	version = pp_cursor_take(c, 2);
	pp_cursor_skip(c, version >= 5 ? 2 : 0);
	len = pp_cursor_take(c, size);
	program = c->at;
	if (c->bad || len > c->end - program)
		return false;
	pp_cursor_skip(c, version >= 4 ? 5 : 4);
	table->opcode_base = (uint8_t)pp_cursor_take(c, 1);
	table->operand_cnts = c->base + c->at;
	pp_cursor_skip(c, table->opcode_base ? table->opcode_base - 1u : 0);
	c->at = program + len;
	return !c->bad && table->opcode_base;
}

/* The section's bytes to be written to, which libdw reads from now on. NULL: no memory. */
static uint8_t *own_bytes(struct table *table)
{
	Elf_Data *data = table->data;

	if (!*table->copy) {
		*table->copy = malloc(data->d_size);
		if (*table->copy) {
			memcpy(*table->copy, data->d_buf, data->d_size);
			data->d_buf = *table->copy;
		}
	}
	return *table->copy;
}

/* Takes the bits that are too many out of the number, whose length stays. */
static void clip(struct table *table, size_t at, size_t end)
{
	uint8_t *bytes = own_bytes(table);
	unsigned int left = DISCRIMINATOR_BITS;

	for (; bytes && at < end; at++) {
		bytes[at] &= 0x80 | (left < 7 ? (1u << left) - 1 : 0x7f);
		left -= left < 7 ? left : 7;
	}
}

static void take_extended(struct table *table)
{
	struct pp_cursor *c = &table->at, operand;
	uint64_t len = pp_cursor_take_leb(c, false);
	size_t begin = c->at + 1;

	pp_cursor_skip(c, len);
	if (c->bad || !len || c->base[begin - 1] != DW_LNE_set_discriminator)
		return;
	operand = (struct pp_cursor){.base = c->base, .at = begin, .end = c->at};
	if (pp_cursor_take_leb(&operand, false) >> DISCRIMINATOR_BITS && !operand.bad)
		clip(table, begin, operand.at);
}

static void take_opcode(struct table *table)
{
	struct pp_cursor *c = &table->at;
	uint64_t opcode = pp_cursor_take(c, 1);

	if (!opcode)
		take_extended(table);
	else if (opcode == DW_LNS_fixed_advance_pc && opcode < table->opcode_base)
		pp_cursor_skip(c, 2);
	else if (opcode < table->opcode_base)
		for (uint8_t i = table->operand_cnts[opcode - 1]; i; i--)
			pp_cursor_take_leb(c, false);
}

void pp_line_table_prepare(Dwarf_Die *unit, uint8_t **copy)
{
	struct table table = {.copy = copy};
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &offset))
		return;
	table.data = lines_of(dwarf_getelf(dwarf_cu_getdwarf(unit->cu)));
	if (!table.data || !table.data->d_buf || offset > table.data->d_size)
		return;
	table.at = (struct pp_cursor){
		.base = table.data->d_buf, .at = offset, .end = table.data->d_size};
	if (read_header(&table))
		while (!table.at.bad && table.at.at < table.at.end)
			take_opcode(&table);
}
