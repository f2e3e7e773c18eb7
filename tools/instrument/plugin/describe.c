// SPDX-License-Identifier: GPL-2.0-or-later
#include "describe.h"

#include <inttypes.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "crossing.h"

/* A function has few files: its own, and those of inlined code. */
#define FILES_MAX 64

struct files {
	char *name[FILES_MAX];
	uint32_t cnt;
};

struct line {
	uint32_t file, line, column;
};

static void put_u32(FILE *out, uint32_t value)
{
	fprintf(out, "\t.long %" PRIu32 "\n", value);
}

static void put_u64(FILE *out, uint64_t value)
{
	fprintf(out, "\t.quad %" PRIu64 "\n", value);
}

static void put_string(FILE *out, const char *text, size_t bytes)
{
	put_u32(out, (uint32_t)bytes);
	if (!bytes)
		return;
	fputs("\t.ascii \"", out);
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c > '~' || c == '"' || c == '\\')
			fprintf(out, "\\%03o", c);
		else
			putc(c, out);
	}
	fputs("\"\n", out);
}

/* ---------------------------------------------------------------- lines */

static char *file_of(LLVMValueRef instruction)
{
	unsigned int directory_bytes = 0, file_bytes = 0;
	const char *directory = LLVMGetDebugLocDirectory(instruction, &directory_bytes);
	const char *file = LLVMGetDebugLocFilename(instruction, &file_bytes);
	char *name;

	if (!file || !file_bytes)
		return NULL;
	if (file[0] == '/' || !directory)
		directory_bytes = 0;
	if (asprintf(&name, "%.*s%s%.*s", (int)directory_bytes, directory ? directory : "",
		     directory_bytes ? "/" : "", (int)file_bytes, file) < 0)
		abort();
	return name;
}

/* The number of a file; FILES_MAX: the table is full. */
static uint32_t number_file(struct files *files, char *name)
{
	for (uint32_t i = 0; i < files->cnt; i++) {
		if (strcmp(files->name[i], name) != 0)
			continue;
		free(name);
		return i;
	}
	if (files->cnt == FILES_MAX) {
		free(name);
		return FILES_MAX;
	}
	files->name[files->cnt] = name;
	return files->cnt++;
}

/*
 * A piece begins in the source at the line of its first instruction that has one. Line 0 belongs to
 * no file.
 */
static struct line line_of(const struct piece *piece, struct files *files)
{
	const struct line unknown = {0, 0, 0};

	for (LLVMValueRef i = piece->first; i && i != piece->end; i = LLVMGetNextInstruction(i)) {
		bool has = LLVMGetInstructionOpcode(i) != LLVMPHI &&
			   LLVMInstructionGetDebugLoc(i) && LLVMGetDebugLocLine(i);
		char *name = has ? file_of(i) : NULL;

		if (name) {
			uint32_t file = number_file(files, name);

			return file == FILES_MAX ? unknown
						 : (struct line){file, LLVMGetDebugLocLine(i),
								 LLVMGetDebugLocColumn(i)};
		}
	}
	return unknown;
}

static void put_nodes(FILE *out, const struct shape *shape)
{
	struct line *lines = must_allocate(shape->piece_cnt, sizeof(*lines));
	struct files files = {0};

	for (uint32_t p = 0; p < shape->piece_cnt; p++)
		lines[p] = line_of(&shape->pieces[p], &files);
	put_u32(out, files.cnt);
	for (uint32_t i = 0; i < files.cnt; i++) {
		put_string(out, files.name[i], strlen(files.name[i]));
		free(files.name[i]);
	}
	put_u32(out, shape->piece_cnt);
	for (uint32_t p = 0; p < shape->piece_cnt; p++)
		fprintf(out, "\t.long %" PRIu32 ",%" PRIu32 ",%" PRIu32 "\n", lines[p].file,
			lines[p].line, lines[p].column);
	free(lines);
}

/* ---------------------------------------------------------------- functions and the unit */

/* Writes the path of each slot of a table. */
static void put_table_slots(FILE *out, const struct pathprof_preferential *table)
{
	uint32_t cnt = 1u << table->slot_bits;

	put_u32(out, cnt);
	for (uint32_t i = 0; i < cnt; i++)
		put_u64(out, table->keys[i] == PATHPROF_PREFERENTIAL_FREE
				     ? 0
				     : (table->keys[i] >> table->number_bits) + 1);
}

static void put_warm_slots(FILE *out, const struct pathprof_warm *warm)
{
	uint64_t cnt = warm->counter_cnt ? warm->counter_cnt : 1;

	put_u32(out, (uint32_t)cnt);
	for (uint64_t i = 0; i < cnt; i++)
		put_u64(out, i < warm->cnt ? warm->ids[i] + 1 : 0);
}

static void put_slots(FILE *out, const struct insertion *in)
{
	switch (in->counting) {
	case PATHPROF_COUNTING_TABLE:
		put_table_slots(out, in->table);
		break;
	case PATHPROF_COUNTING_WARM:
		put_warm_slots(out, in->warm);
		break;
	default:
		put_u32(out, 0);
		break;
	}
}

/* Writes the nodes where inlined code begins and ends. */
static void put_crossings(const struct insertion *in)
{
	const struct shape *shape = in->shape;
	FILE *out = in->unit->description;
	uint32_t cnt = 0;

	for (uint32_t p = 0; p < shape->piece_cnt; p++)
		cnt += shape_crossing(shape, in->unit, p) != NULL;
	put_u32(out, cnt);
	for (uint32_t p = 0; p < shape->piece_cnt; p++) {
		LLVMValueRef at = shape_crossing(shape, in->unit, p);
		struct crossing crossing;

		if (!at)
			continue;
		crossing = crossing_read(at);
		put_u32(out, p);
		put_u32(out, crossing.kind);
		put_u32(out, crossing.function);
	}
}

/* Writes the paths whose counts follow from the profile, and are not counted. */
static void put_told(FILE *out, const struct pathprof_warm *warm)
{
	put_u32(out, warm ? (uint32_t)warm->told_cnt : 0);
	for (size_t i = 0; warm && i < warm->told_cnt; i++) {
		put_u64(out, warm->told[i].id);
		put_u64(out, warm->told[i].count);
	}
}

static bool is_silent(const struct insertion *in, uint32_t edge)
{
	return in->increments && in->increments->edge_silent && in->increments->edge_silent[edge];
}

static void put_arc(const struct insertion *in, uint32_t edge)
{
	const struct pathprof_flow_arc *arc = &in->shape->arcs[edge];
	int by_call = in->shape->pieces[arc->from].cut ? 1 : 2;

	fprintf(in->unit->description, "\t.long %" PRIu32 ",%" PRIu32 ",%d\n", arc->from, arc->to,
		(arc->cut ? by_call : 0) | (is_silent(in, edge) ? PATHPROF_EDGE_SILENT : 0));
}

/* Writes clang's own counters, and the nodes that each one counts. */
static void put_counters(const struct insertion *in, LLVMValueRef function)
{
	const struct counters_function *counters = counters_of(in->unit, function);
	static const struct counters_function none = {.name = ""};
	FILE *out = in->unit->description;

	if (!counters)
		counters = &none;
	put_string(out, counters->name, counters->name_bytes);
	put_u64(out, counters->hash);
	put_u32(out, counters->cnt);
	for (uint32_t k = 0; k < PATHPROF_VALUE_KINDS; k++)
		put_u32(out, counters->site_cnt[k]);
	put_u32(out, counters->place_cnt);
	for (uint32_t i = 0; i < counters->place_cnt; i++) {
		put_u32(out, counters->places[i].counter);
		put_u32(out, shape_block_of(in->shape, counters->places[i].block)->first);
	}
}

void describe_function(const struct insertion *in, LLVMValueRef function)
{
	const struct shape *shape = in->shape;
	char *name = unit_name_of(function);
	FILE *out = in->unit->description;

	put_string(out, name, strlen(name));
	free(name);
	put_u32(out, unit_is_local(function));
	put_u64(out, in->first_counter);
	put_u64(out, pathprof_function_paths_cnt(in->paths));
	put_u32(out, in->counting);
	put_slots(out, in);
	put_told(out, in->warm);
	put_nodes(out, shape);
	put_u32(out, shape->arc_cnt);
	for (uint32_t a = 0; a < shape->arc_cnt; a++)
		put_arc(in, a);
	put_crossings(in);
	put_counters(in, function);
}

/* Writes the names of functions that were inlined, or into which others were. */
static void put_names(FILE *out, const struct unit *unit)
{
	put_u32(out, unit->name_cnt);
	for (uint32_t i = 0; i < unit->name_cnt; i++)
		put_string(out, unit->names[i], strlen(unit->names[i]));
}

/* Writes the functions that have clang's counters but whose paths are not counted. */
static void put_missing(FILE *out, const struct counters *counters)
{
	put_u32(out, counters ? counters->missing_cnt : 0);
	for (uint32_t i = 0; counters && i < counters->missing_cnt; i++)
		put_string(out, counters->missing[i], strlen(counters->missing[i]));
}

void describe_unit(struct unit *unit)
{
	size_t source_bytes, bytes;
	const char *source = LLVMGetSourceFileName(unit->module, &source_bytes);
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	if (!out || fflush(unit->description) != 0)
		abort();
	/* Nothing refers to the section; R (retain) keeps it in a link with --gc-sections. */
	fprintf(out, "\t.pushsection %s,\"R\",@progbits\n", PATHPROF_DESCRIPTION_SECTION);
	put_u32(out, PATHPROF_UNIT_MAGIC);
	put_u32(out, PATHPROF_UNIT_VERSION);
	fputs("\t.quad .Lpathprof_end-.Lpathprof_unit\n.Lpathprof_unit:\n", out);
	fputs("\t.quad " TABLE_SYMBOL "\n", out);
	put_u64(out, unit->counter_cnt);
	put_string(out, source, source_bytes);
	put_u32(out, unit->function_cnt);
	put_u32(out, unit->left_out_cnt);
	put_names(out, unit);
	put_missing(out, unit->counters);
	fwrite(unit->description_text, 1, unit->description_bytes, out);
	fputs(".Lpathprof_end:\n\t.popsection\n", out);
	if (fclose(out) != 0)
		abort();
	LLVMAppendModuleInlineAsm(unit->module, text, bytes);
	free(text);
}
