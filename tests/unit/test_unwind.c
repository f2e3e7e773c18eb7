// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call chains: tables of frames made by hand, this process' own stack against glibc's backtrace(),
 * and tables and stacks of random bytes. tests/scenario/unwind.sh has whole programs against gdb.
 */
#include "pathprof/unwind.h"

#include <dwarf.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "elf_writer.h"
#include "test_code.h"
#include "unit.h"

#define ROWS_MAX   (1u << 20)
#define TEXT_PLACE WRITER_PAGE /* of the writer's code in its file */
#define STACK_MAX  65536
#define FILES_MAX  128

/* ---- tables */

/* push rbp; mov rbp, rsp: rows at 0, 1 and 4. */
static const uint8_t set_up[] = {
	DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,   16, DW_CFA_offset | 6, 2,
	DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6};
/* A stack that was realigned: CFA = *(rbp - 8), rbp saved at rbp. */
static const uint8_t realigned[] = {
	DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78,        DW_OP_deref,
	DW_CFA_expression,         6, 2,           DW_OP_breg6, 0};
static const uint8_t computed[] = {DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8};
static const uint8_t hard[] = {
	DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 8, DW_OP_lit1, DW_OP_plus};
static const uint8_t first[] = {DW_CFA_undefined, 16};

static struct pathprof_unwind_table table_of(const struct elf_writer *w, int want)
{
	struct pathprof_code *code = elf_writer_open(w);
	struct pathprof_unwind_table table = {0};

	CU_ASSERT_EQUAL_FATAL(pathprof_unwind_table_new(&table, code, ROWS_MAX), want);
	pathprof_code_free(code);
	return table;
}

static const struct pathprof_unwind_row *at(const struct pathprof_unwind_table *table,
					    unsigned int offset)
{
	static const struct pathprof_unwind_row none;
	const struct pathprof_unwind_row *row =
		pathprof_unwind_table_find(table, TEXT_PLACE + offset);

	return row ? row : &none;
}

static void test_rows(void)
{
	struct pathprof_unwind_table table;
	struct elf_writer w;

	elf_writer_init(&w);
	elf_writer_frame(&w, 0x40, 0x20, -1, realigned, sizeof(realigned));
	elf_writer_frame(&w, 0x00, 0x20, -1, set_up, sizeof(set_up));
	elf_writer_frame(&w, 0x60, 0x10, -1, computed, sizeof(computed));
	elf_writer_frame(&w, 0x70, 0x10, -1, hard, sizeof(hard));
	elf_writer_frame(&w, 0x80, 0x10, -1, first, sizeof(first));
	table = table_of(&w, 0);
	CU_ASSERT_EQUAL(pathprof_unwind_table_check(table.rows, table.row_cnt), 0);
	CU_ASSERT_EQUAL(at(&table, 0)->registers & 15, PATHPROF_UNWIND_RSP);
	CU_ASSERT_EQUAL(at(&table, 0)->cfa_offset, 8);
	CU_ASSERT_EQUAL(at(&table, 0)->registers >> 4, PATHPROF_UNWIND_RBP_SAME);
	CU_ASSERT_EQUAL(at(&table, 3)->cfa_offset, 16);
	CU_ASSERT_EQUAL(at(&table, 3)->registers >> 4, PATHPROF_UNWIND_RBP_AT_CFA);
	CU_ASSERT_EQUAL(at(&table, 3)->rbp_offset, -16);
	CU_ASSERT_EQUAL(at(&table, 0x1f)->registers & 15, PATHPROF_UNWIND_RBP);
	CU_ASSERT_EQUAL(at(&table, 0x1f)->function, TEXT_PLACE);
	CU_ASSERT_EQUAL(at(&table, 0x20)->rule, PATHPROF_UNWIND_NONE);
	CU_ASSERT_EQUAL(at(&table, 0x40)->rule, PATHPROF_UNWIND_MEMORY);
	CU_ASSERT_EQUAL(at(&table, 0x40)->cfa_offset, -8);
	CU_ASSERT_EQUAL(at(&table, 0x40)->registers,
			PATHPROF_UNWIND_RBP_AT_RBP << 4 | PATHPROF_UNWIND_RBP);
	CU_ASSERT_EQUAL(at(&table, 0x60)->rule, PATHPROF_UNWIND_PLAIN);
	CU_ASSERT_EQUAL(at(&table, 0x70)->rule, PATHPROF_UNWIND_TOO_HARD);
	CU_ASSERT_EQUAL(at(&table, 0x80)->rule, PATHPROF_UNWIND_FIRST);
	CU_ASSERT_EQUAL(at(&table, 0x90)->rule, PATHPROF_UNWIND_NONE);
	pathprof_unwind_table_release(&table);
}

static void test_none(void)
{
	struct pathprof_code *code = open_code(make_elf("\xc3", 1));
	struct pathprof_unwind_table table = {0};

	CU_ASSERT_EQUAL(pathprof_unwind_table_new(&table, code, ROWS_MAX), -ENOENT);
	CU_ASSERT_EQUAL(table.row_cnt, 0);
	pathprof_code_free(code);
}

static void test_bound(void)
{
	struct pathprof_code *code = open_code(SELF);
	struct pathprof_unwind_table table = {0};

	CU_ASSERT_EQUAL(pathprof_unwind_table_new(&table, code, 100), -E2BIG);
	CU_ASSERT_PTR_NULL(table.rows);
	pathprof_code_free(code);
}

static void test_check(void)
{
	struct pathprof_unwind_row rows[2] = {{.start = 16, .function = 16, .rule = 3},
					      {.start = 20, .function = 16, .rule = 3}};
	struct pathprof_unwind_row good = rows[1];

	CU_ASSERT_EQUAL(pathprof_unwind_table_check(rows, 2), 0);
	rows[1].start = 16;
	CU_ASSERT_EQUAL(pathprof_unwind_table_check(rows, 2), -EBADMSG);
	rows[1] = good;
	rows[1].function = 21;
	CU_ASSERT_EQUAL(pathprof_unwind_table_check(rows, 2), -EBADMSG);
	rows[1] = good;
	rows[1].rule = PATHPROF_UNWIND_RULE_CNT;
	CU_ASSERT_EQUAL(pathprof_unwind_table_check(rows, 2), -EBADMSG);
	rows[1] = good;
	rows[1].registers = PATHPROF_UNWIND_RBP_RULE_CNT << 4;
	CU_ASSERT_EQUAL(pathprof_unwind_table_check(rows, 2), -EBADMSG);
}

/* ---- this process */

struct span {
	uint64_t start, end, offset;
	size_t file;
};
struct self {
	struct span spans[FILES_MAX];
	size_t span_cnt;
	char names[FILES_MAX][256];
	struct pathprof_unwind_table tables[FILES_MAX];
	size_t file_cnt;
};

static size_t file_of(struct self *self, const char *name)
{
	struct pathprof_code *code = NULL;
	size_t i;

	for (i = 0; i < self->file_cnt; i++)
		if (is(self->names[i], name))
			return i;
	CU_ASSERT_FATAL(i < FILES_MAX);
	self->file_cnt++;
	snprintf(self->names[i], sizeof(self->names[i]), "%s", name);
	if (pathprof_code_open(&code, name, NULL, NULL) == 0)
		pathprof_unwind_table_new(&self->tables[i], code, ROWS_MAX);
	pathprof_code_free(code);
	return i;
}

static void read_self(struct self *self)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], rights[8], name[256];
	struct span span;

	CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &span.start, &span.end, rights,
			   &span.offset, name) != 5 ||
		    !strchr(rights, 'x') || self->span_cnt == FILES_MAX)
			continue;
		span.file = file_of(self, name);
		self->spans[self->span_cnt++] = span;
	}
	fclose(maps);
}

static void release_self(struct self *self)
{
	for (size_t i = 0; i < self->file_cnt; i++)
		pathprof_unwind_table_release(&self->tables[i]);
	free(self);
}

static int find_self(void *context, uint64_t address, struct pathprof_unwind_place *ret_place)
{
	const struct self *self = context;

	for (size_t i = 0; i < self->span_cnt; i++) {
		const struct span *span = &self->spans[i];

		if (address < span->start || address >= span->end)
			continue;
		*ret_place = (struct pathprof_unwind_place){&self->tables[span->file],
							    address - span->start + span->offset};
		return 0;
	}
	return -ENOENT;
}

/* The stack as another process would have it, up to where it ends. */
static void copy_stack(struct pathprof_unwind_state *state, char *to)
{
	uint64_t from = state->registers[PATHPROF_UNWIND_RSP] - PATHPROF_UNWIND_RED_ZONE;

	state->stack_address = from;
	state->stack = to;
	state->stack_bytes = 0;
	while (state->stack_bytes < STACK_MAX) {
		struct iovec local = {to + state->stack_bytes, 128};
		struct iovec remote = {(char *)from + state->stack_bytes, 128};

		if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 128)
			break;
		state->stack_bytes += 128;
	}
}

static void set_registers(struct pathprof_unwind_state *state, const ucontext_t *context)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (int i = 0; i < PATHPROF_UNWIND_REGISTERS_CNT; i++)
		state->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

/* Chains from here on, ours and glibc's; the first frames differ in where within it they stand. */
static __attribute__((noinline)) void compare_chains(struct self *self)
{
	static char copy[STACK_MAX];
	struct pathprof_unwind_state state = {{0}};
	struct pathprof_unwind_chain chain;
	void *want[PATHPROF_UNWIND_FRAMES_MAX];
	ucontext_t context;
	int want_cnt, own_cnt;

	CU_ASSERT_EQUAL_FATAL(getcontext(&context), 0);
	want_cnt = backtrace(want, PATHPROF_UNWIND_FRAMES_MAX);
	set_registers(&state, &context);
	copy_stack(&state, copy);
	pathprof_unwind(&state, find_self, self, &chain);
	/* the sanitizer's backtrace() has a frame of its own before ours */
	own_cnt = want_cnt - (int)chain.frame_cnt;
	CU_ASSERT(want_cnt > 3 && (own_cnt == 0 || own_cnt == 1));
	CU_ASSERT_EQUAL(chain.end, PATHPROF_UNWIND_END_FIRST);
	for (int i = 1; i < (int)chain.frame_cnt && own_cnt + i < want_cnt; i++)
		CU_ASSERT_PTR_EQUAL((void *)chain.frames[i].address, want[own_cnt + i]);
}

static __attribute__((noinline)) void recurse(struct self *self, int depth)
{
	volatile char block[200];

	block[0] = (char)depth;
	if (depth)
		recurse(self, depth - 1);
	else
		compare_chains(self);
	block[1] = block[0];
}

static struct self *handled;

static void on_signal(int signal)
{
	recurse(handled, 2);
}

static void test_self(void)
{
	struct self *self = calloc(1, sizeof(*self));
	struct sigaction action = {.sa_handler = on_signal}, before;

	CU_ASSERT_PTR_NOT_NULL_FATAL(self);
	read_self(self);
	recurse(self, 0);
	recurse(self, 9);
	handled = self;
	sigaction(SIGUSR2, &action, &before);
	raise(SIGUSR2);
	sigaction(SIGUSR2, &before, NULL);
	release_self(self);
}

/* ---- frame pointers, and stacks that lie */

static int find_bare(void *context, uint64_t address, struct pathprof_unwind_place *ret_place)
{
	*ret_place = (struct pathprof_unwind_place){.table = context, .offset = address & 0xffff};
	return address >> 16 == 0x40 ? 0 : -ENOENT;
}

static void unwind_words(const uint64_t *words, size_t cnt, struct pathprof_unwind_chain *ret_chain)
{
	struct pathprof_unwind_state state = {
		.registers = {[PATHPROF_UNWIND_RIP] = 0x400100,
			      [PATHPROF_UNWIND_RSP] = 0x7000,
			      [PATHPROF_UNWIND_RBP] = 0x7000},
		.stack_address = 0x7000,
		.stack = words,
		.stack_bytes = cnt * sizeof(*words),
	};

	pathprof_unwind(&state, find_bare, NULL, ret_chain);
}

static void test_frame_pointers(void)
{
	static const uint64_t words[] = {0x7018, 0x400200, 0, 0x7030, 0x400300, 0, 0, 0};
	struct pathprof_unwind_chain chain;

	unwind_words(words, 8, &chain);
	CU_ASSERT_EQUAL(chain.frame_cnt, 3);
	CU_ASSERT_EQUAL(chain.frames[1].address, 0x400200);
	CU_ASSERT_EQUAL(chain.frames[1].inside, 0x4001ff);
	CU_ASSERT_EQUAL(chain.frames[2].address, 0x400300);
	CU_ASSERT_EQUAL(chain.end, PATHPROF_UNWIND_END_FIRST);
	unwind_words(words, 4, &chain);
	CU_ASSERT_EQUAL(chain.frame_cnt, 2);
	CU_ASSERT_EQUAL(chain.end, PATHPROF_UNWIND_END_STACK);
}

static void test_lies(void)
{
	static const uint64_t circle[] = {0x7000, 0x400200, 0};
	static const uint64_t nowhere[] = {0x7018, 0x123456789, 0};
	static uint64_t deep[400];
	struct pathprof_unwind_chain chain;

	unwind_words(circle, 3, &chain);
	CU_ASSERT_EQUAL(chain.frame_cnt, 2);
	CU_ASSERT_EQUAL(chain.end, PATHPROF_UNWIND_END_BROKEN);
	unwind_words(nowhere, 3, &chain);
	CU_ASSERT_EQUAL(chain.frame_cnt, 1);
	CU_ASSERT_EQUAL(chain.end, PATHPROF_UNWIND_END_UNKNOWN);
	for (size_t i = 0; i < 400; i += 2) {
		deep[i] = 0x7010 + 8 * i;
		deep[i + 1] = 0x400200;
	}
	unwind_words(deep, 400, &chain);
	CU_ASSERT_EQUAL(chain.frame_cnt, PATHPROF_UNWIND_FRAMES_MAX);
	CU_ASSERT_EQUAL(chain.end, PATHPROF_UNWIND_END_FULL);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A sound table of nonsense, a stack of numbers that are often addresses of code or of the stack.
 */
static void test_garbage(void)
{
	struct pathprof_unwind_row rows[64];
	struct pathprof_unwind_table table = {rows, 64};
	unsigned int ends[PATHPROF_UNWIND_END_CNT] = {0};
	uint64_t random = 88172645463325252u, words[64];

	for (unsigned int round = 0; round < unit_rounds(20000, 1000000); round++) {
		struct pathprof_unwind_state state = {.stack_address = 0x7000, .stack = words};
		struct pathprof_unwind_chain chain;

		state.stack_bytes = next_random(&random) % (sizeof(words) + 1);
		for (size_t i = 0; i < 64; i++) {
			uint64_t bits = next_random(&random);

			words[i] = bits & 1 ? 0x400000 | bits >> 48 : 0x7000 + (bits >> 32) % 600;
			rows[i] = (struct pathprof_unwind_row){
				.start = (uint32_t)i * 1024,
				.cfa_offset = (int32_t)bits >> (bits & 31),
				.rbp_offset = (int16_t)(bits >> 40),
				.rule = (uint8_t)((bits >> 8) % PATHPROF_UNWIND_RULE_CNT),
				.registers = (uint8_t)((bits >> 16) % 64),
			};
		}
		for (int i = 0; i < PATHPROF_UNWIND_REGISTERS_CNT; i++)
			state.registers[i] = words[next_random(&random) % 64];
		CU_ASSERT_EQUAL_FATAL(pathprof_unwind_table_check(rows, 64), 0);
		pathprof_unwind(&state, find_bare, &table, &chain);
		CU_ASSERT_FATAL(chain.frame_cnt >= 1 &&
				chain.frame_cnt <= PATHPROF_UNWIND_FRAMES_MAX);
		CU_ASSERT_FATAL(chain.end < PATHPROF_UNWIND_END_CNT);
		ends[chain.end]++;
	}
	for (int i = 0; i < PATHPROF_UNWIND_END_CNT; i++)
		CU_ASSERT(ends[i] > 0 || i == PATHPROF_UNWIND_END_FULL);
}

static const struct unit_test tests[] = {
	{"rows say what .eh_frame says", test_rows},
	{"a file without .eh_frame has no table", test_none},
	{"a table has a bound", test_bound},
	{"rows that are no table are refused", test_check},
	{"the chain of this process is that of backtrace(), out of a signal handler, too",
	 test_self},
	{"code without a table has frame pointers", test_frame_pointers},
	{"chains that lead nowhere or in circles end", test_lies},
	{"no table and no stack leads out of bounds", test_garbage},
};
UNIT_SUITE(unwind, tests)
