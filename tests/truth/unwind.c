/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds call chains against those that gdb has found:
 *
 *     unwind [-f] FILE      FILE as tests/scenario/unwind_stops.py writes it; -f: no tables, frame
 *                           pointers only
 *
 * prints how many stops there were and in how many the chains were the same, and of each other one
 * both chains.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/unwind.h"

#define CODE_MAX  256
#define FILES_MAX 64
#define ROWS_MAX  (1u << 20)

struct file {
	char *name;
	struct pathprof_unwind_table table; /* no rows: it has none */
};
struct code {
	uint64_t start, end, offset;
	const struct file *file;
};
struct stop {
	struct pathprof_unwind_state state;
	struct code code[CODE_MAX];
	size_t code_cnt;
};
static struct file files[FILES_MAX];
static size_t file_cnt;
static bool frame_pointers;

static void die(const char *what)
{
	fprintf(stderr, "unwind: %s\n", what);
	exit(2);
}

static const struct file *file_of(const char *name)
{
	struct pathprof_code *code = NULL;
	struct file *file = files;
	int r;

	for (; file < files + file_cnt; file++)
		if (!strcmp(file->name, name))
			return file;
	if (file_cnt++ == FILES_MAX)
		die("more files than expected");
	file->name = strdup(name);
	r = strcmp(name, "[vdso]") ? pathprof_code_open(&code, name, NULL, NULL)
				   : pathprof_code_open_vdso(&code, NULL, NULL);
	if (r == 0 && !frame_pointers)
		pathprof_unwind_table_new(&file->table, code, ROWS_MAX);
	if (pathprof_unwind_table_check(file->table.rows, file->table.row_cnt))
		die("a table that is none");
	pathprof_code_free(code);
	return file;
}

static int find(void *context, uint64_t address, struct pathprof_unwind_place *ret_place)
{
	const struct stop *stop = context;

	for (size_t i = 0; i < stop->code_cnt; i++) {
		const struct code *code = &stop->code[i];

		if (address < code->start || address >= code->end)
			continue;
		*ret_place = (struct pathprof_unwind_place){
			code->file->table.row_cnt ? &code->file->table : NULL,
			address - code->start + code->offset};
		return 0;
	}
	return -ENOENT;
}

static void read_registers(struct stop *stop, const char *text)
{
	char *end = (char *)text;

	free((void *)stop->state.stack);
	*stop = (struct stop){0};
	for (int i = 0; i < PATHPROF_UNWIND_REGISTERS_CNT; i++)
		stop->state.registers[i] = strtoull(end, &end, 16);
}

static void read_code(struct stop *stop, const char *text)
{
	struct code code = {0};
	char name[4096];

	if (sscanf(text, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %4095s", &code.start, &code.end,
		   &code.offset, name) != 4 ||
	    stop->code_cnt == CODE_MAX)
		die("a line of code that is none");
	code.file = file_of(name);
	stop->code[stop->code_cnt++] = code;
}

static void read_stack(struct stop *stop, const char *text)
{
	char *hex;
	uint8_t *bytes;
	size_t len;

	stop->state.stack_address = strtoull(text, &hex, 16);
	len = strspn(++hex, "0123456789abcdef") / 2;
	bytes = malloc(len + 1);
	if (!bytes)
		die("out of memory");
	for (size_t i = 0; i < len; i++)
		sscanf(hex + 2 * i, "%2hhx", &bytes[i]);
	stop->state.stack = bytes;
	stop->state.stack_bytes = len;
}

/* Whether ours is the chain in text, of which only as much counts as a chain may have. */
static bool is_same(struct stop *stop, const char *text)
{
	struct pathprof_unwind_chain chain;
	char *at = (char *)text;
	bool same = true;

	pathprof_unwind(&stop->state, find, stop, &chain);
	for (uint32_t i = 0; i < chain.frame_cnt; i++)
		same &= strtoull(at, &at, 16) == chain.frames[i].address;
	if (chain.frame_cnt < PATHPROF_UNWIND_FRAMES_MAX)
		same &= !at[strspn(at, " \n")];
	if (same)
		return true;
	printf("gdb:   %sours: ", text);
	for (uint32_t i = 0; i < chain.frame_cnt; i++)
		printf(" %" PRIx64, chain.frames[i].address);
	printf(" (enum pathprof_unwind_end: %d)\n", (int)chain.end);
	return false;
}

static const char *after(const char *line, const char *word)
{
	size_t len = strlen(word);

	return strncmp(line, word, len) ? NULL : line + len;
}

int main(int argc, char **argv)
{
	unsigned int stop_cnt = 0, same_cnt = 0;
	static struct stop stop;
	char *line = NULL;
	const char *text;
	size_t size = 0;
	FILE *from;

	frame_pointers = argc == 3 && !strcmp(argv[1], "-f");
	from = argc == 2 + frame_pointers ? fopen(argv[argc - 1], "re") : NULL;
	if (!from)
		die("usage: unwind [-f] FILE, which can be read");
	while (getline(&line, &size, from) > 0) {
		if ((text = after(line, "stop "))) {
			read_registers(&stop, text);
			stop_cnt++;
		} else if ((text = after(line, "code "))) {
			read_code(&stop, text);
		} else if ((text = after(line, "stack "))) {
			read_stack(&stop, text);
		} else if ((text = after(line, "chain "))) {
			same_cnt += is_same(&stop, text);
		}
	}
	printf("stops %u same %u\n", stop_cnt, same_cnt);
	fclose(from);
	free(line);
	return 0;
}
