// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs as built: by hand on a few bytes of code each, where every block and edge is known; on
 * random bytes, where only the shape is; and on real files, against random walks by an interpreter
 * of its own, which decodes with Zydis alone and throws a coin at each conditional branch.
 */
#include "../../libprofile/src/graph/pp_builder.h"

#include "elf_writer.h"
#include "failing_memory.h"
#include "pathprof/graph.h"
#include "test_code.h"
#include "unit.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GLOBAL ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
/* Where the writer's text lies in the file. */
#define TEXT WRITER_PAGE

/* ---------------------------------------------------------------- by hand */

static void put(struct elf_writer *w, unsigned int at, const char *bytes, size_t len)
{
	memcpy(w->text + at, bytes, len);
}
#define PUT(w, at, bytes) put(w, at, bytes, sizeof(bytes) - 1)

static void put_relative(struct elf_writer *w, unsigned int slot, unsigned int target)
{
	int32_t distance = (int32_t)(WRITER_TEXT + target) - WRITER_TABLE;

	memcpy(w->table + (size_t)4 * slot, &distance, sizeof(distance));
	if (w->table_len < (size_t)4 * (slot + 1))
		w->table_len = (size_t)4 * (slot + 1);
}

static void put_absolute(struct elf_writer *w, unsigned int at, uint64_t target)
{
	target += WRITER_TEXT;
	memcpy(w->table + at, &target, sizeof(target));
	if (w->table_len < at + 8)
		w->table_len = at + 8;
}

/* `call to` at from. */
static void put_call(struct elf_writer *w, unsigned int from, unsigned int to)
{
	elf_writer_jump(w, from, to);
	w->text[from] = 0xe8;
}

static struct pathprof_graph *build(struct pathprof_code *code)
{
	struct pathprof_graph *graph = NULL;
	struct pathprof_error error = {""};
	int rc = pathprof_graph_build(&graph, code, NULL, NULL, &error);

	if (rc)
		printf("  %s\n", error.text);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	return graph;
}

static struct pathprof_graph *build_written(const struct elf_writer *w)
{
	struct pathprof_code *code = elf_writer_open(w);
	struct pathprof_graph *graph = build(code);

	pathprof_code_free(code);
	return graph;
}

static const char edge_letters[PATHPROF_EDGE_KIND_CNT + 1] = "fntjsgcuCT";

static size_t describe_block(const struct pathprof_graph *g, uint32_t b, char *text, size_t size)
{
	const struct pathprof_graph_block *block = &g->blocks[b];
	size_t at = (size_t)snprintf(text, size, " %x-%x", block->start - TEXT, block->end - TEXT);

	for (uint32_t e = block->first_edge; e < g->blocks[b + 1].first_edge && at < size; e++) {
		uint32_t to = g->edges[e].to;

		at += (size_t)snprintf(text + at, size - at, "%c%c",
				       e == block->first_edge ? ':' : ',',
				       edge_letters[g->edges[e].kind]);
		if (to != PATHPROF_GRAPH_NONE && at < size)
			at += (size_t)snprintf(text + at, size - at, "%x",
					       g->blocks[to].start - TEXT);
	}
	return at;
}

/* " start-end:EDGES.." of all blocks of a function, parts in order; edges as letter and target. */
static const char *describe(const struct pathprof_graph *g, const char *name)
{
	static char text[4096];
	uint32_t f = pathprof_graph_function_named(g, name);
	size_t at = 0;

	text[0] = '\0';
	if (f == PATHPROF_GRAPH_NONE)
		return "none";
	for (uint32_t p = 0; p < g->functions[f].part_cnt; p++) {
		const struct pathprof_graph_part *part = &g->parts[g->functions[f].first_part + p];

		for (uint32_t b = 0; b < part->block_cnt && at < sizeof(text); b++)
			at += describe_block(g, part->first_block + b, text + at,
					     sizeof(text) - at);
	}
	return text;
}

static void expect(const struct pathprof_graph *g, const char *name, const char *want)
{
	const char *have = describe(g, name);

	if (strcmp(have, want) != 0)
		printf("  %s:\n  have%s\n  want%s\n", name, have, want);
	CU_ASSERT_STRING_EQUAL(have, want);
}

static uint32_t flags_of(const struct pathprof_graph *g, const char *name)
{
	uint32_t f = pathprof_graph_function_named(g, name);

	return f == PATHPROF_GRAPH_NONE ? 0 : g->functions[f].flags;
}

static void test_branches(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x20, GLOBAL);
	elf_writer_symbol(&w, "g", 0x20, 0x10, GLOBAL);
	PUT(&w, 0x00,
	    "\x74\x04"   /* jz 6 */
	    "\x31\xc0"   /* 2: xor eax, eax */
	    "\xeb\x01"   /* jmp 7 */
	    "\x90"       /* 6: falls into */
	    "\xff\xd0"   /* 7: call rax */
	    "\x75\xf5"   /* 9: jnz 0 */
	    "\x0f\x05"   /* b: syscall */
	    "\xe2\xfc"); /* d: loop b */
	put_call(&w, 0x0f, 0x20);
	PUT(&w, 0x14, "\xf3\xc3");                         /* rep ret */
	PUT(&w, 0x20, "\xf3\x0f\x1e\xfa\x74\xda\x74\x05"); /* endbr64, jz 0, jz 2d */
	elf_writer_jump(&w, 0x28, 0x00);
	PUT(&w, 0x2d, "\xc3");
	g = build_written(&w);
	expect(g, "f", " 0-2:n2,t6 2-6:j7 6-7:f7 7-9:c9 9-b:nb,t0 b-f:nf,tb f-14:c14,C20 14-16");
	expect(g, "g", " 20-26:n26,T0 26-28:n28,t2d 28-2d:T0 2d-2e");
	CU_ASSERT_EQUAL(flags_of(g, "f"), PATHPROF_FUNCTION_SYMBOL);
	CU_ASSERT_EQUAL(g->stats.broken_cnt, 0);
	pathprof_graph_free(g);
}

/* What leaves for elsewhere and comes back ends no block; a jump far does. */
static void test_far(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x20, GLOBAL);
	elf_writer_symbol(&w, "g", 0x20, 0x10, GLOBAL);
	PUT(&w, 0x00,
	    "\xff\x1f"                 /* call far [rdi] */
	    "\x48\xff\x1f"             /* 2: the same, wider */
	    "\x0f\x01\xd7"             /* 5: enclu */
	    "\xcd\x80"                 /* 8: int 0x80 */
	    "\xc3");                   /* a */
	PUT(&w, 0x20, "\xff\x2f\xc3"); /* jmp far [rdi] */
	g = build_written(&w);
	expect(g, "f", " 0-b");
	expect(g, "g", " 20-22");
	CU_ASSERT(!(flags_of(g, "f") & PATHPROF_FUNCTION_NORETURN));
	pathprof_graph_free(g);
}

/* Calls of it wait for each other; only one that can return wakes them. */
static void test_noreturn(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "caller", 0x00, 0x10, GLOBAL);
	elf_writer_symbol(&w, "ping", 0x10, 0x10, GLOBAL);
	elf_writer_symbol(&w, "pong", 0x20, 0x10, GLOBAL);
	elf_writer_symbol(&w, "over", 0x30, 0x10, GLOBAL);
	elf_writer_symbol(&w, "ends", 0x40, 0x08, GLOBAL);
	elf_writer_symbol(&w, "last", 0x48, 0x05, GLOBAL);
	put_call(&w, 0x00, 0x30);
	put_call(&w, 0x05, 0x10);
	PUT(&w, 0x0a, "\x06"); /* no instruction, never reached */
	put_call(&w, 0x10, 0x20);
	PUT(&w, 0x15, "\xc3");
	put_call(&w, 0x20, 0x10);
	PUT(&w, 0x25, "\xc3");
	elf_writer_jump(&w, 0x30, 0x40); /* returns as ends does */
	PUT(&w, 0x40, "\xc3");
	put_call(&w, 0x48, 0x40); /* the last instruction */
	g = build_written(&w);
	expect(g, "caller", " 0-5:c5,C30 5-a:C10");
	expect(g, "ping", " 10-15:C20");
	expect(g, "over", " 30-35:T40");
	expect(g, "last", " 48-4d:C40");
	CU_ASSERT(flags_of(g, "caller") & PATHPROF_FUNCTION_NORETURN);
	CU_ASSERT(flags_of(g, "ping") & PATHPROF_FUNCTION_NORETURN);
	CU_ASSERT(flags_of(g, "pong") & PATHPROF_FUNCTION_NORETURN);
	CU_ASSERT(!(flags_of(g, "over") & PATHPROF_FUNCTION_NORETURN));
	CU_ASSERT_EQUAL(g->stats.broken_cnt, 0);
	pathprof_graph_free(g);
}

/* A program jumps over a lock prefix: both readings are there. */
static void test_two_readings(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x10, GLOBAL);
	PUT(&w, 0x00,
	    "\x74\x01"         /* jz 3 */
	    "\xf0\x0f\xb1\x17" /* 2: lock cmpxchg */
	    "\xc3");           /* 6 */
	elf_writer_symbol(&w, "g", 0x10, 0x10, GLOBAL);
	elf_writer_jump(&w, 0x10, 0x03); /* between another's instructions, but one begins there */
	elf_writer_symbol(&w, "h", 0x20, 0x10, GLOBAL);
	elf_writer_jump(&w, 0x20, 0x04); /* none does */
	g = build_written(&w);
	expect(g, "f", " 0-2:n2,t3 2-6:f6 3-6:f6 6-7");
	expect(g, "g", " 10-15:j3");
	expect(g, "h", " 20-25:j");
	CU_ASSERT_EQUAL(g->stats.broken_cnt, 1);
	pathprof_graph_free(g);
}

/* Assembly runs through filling into the next function; what cannot be read ends a block. */
static void test_filling(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x02, GLOBAL);
	elf_writer_symbol(&w, "g", 0x08, 0x08, GLOBAL);
	elf_writer_symbol(&w, "bad", 0x10, 0x10, GLOBAL);
	elf_writer_symbol(&w, "trap", 0x20, 0x10, GLOBAL);
	PUT(&w, 0x00, "\x74\x07\x66\x90\x90\x90\x90\x90\x90\xc3"); /* jz 9; filling; g: nop, ret */
	PUT(&w, 0x10, "\x31\xc0\x06");
	PUT(&w, 0x20, "\x0f\x0b\xc3");
	g = build_written(&w);
	expect(g, "f", " 0-2:n2,t9 2-8:f8");
	expect(g, "g", " 8-9:f9 9-a");
	expect(g, "bad", " 10-12");
	expect(g, "trap", " 20-22");
	CU_ASSERT_EQUAL(flags_of(g, "bad"), PATHPROF_FUNCTION_SYMBOL | PATHPROF_FUNCTION_BROKEN);
	CU_ASSERT(flags_of(g, "trap") & PATHPROF_FUNCTION_NORETURN);
	pathprof_graph_free(g);
}

/* What no table knows is found by calls, and by jumps out of a function. */
static void test_guessed(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;
	uint32_t f;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x10, GLOBAL);
	put_call(&w, 0x00, 0x40);
	put_call(&w, 0x05, 0x60);
	PUT(&w, 0x0a, "\xc3");
	PUT(&w, 0x40, "\x74\x20\x90\xc3");     /* jz 62 */
	PUT(&w, 0x60, "\x31\xc0\x74\xda\xc3"); /* 62: jz 3e */
	PUT(&w, 0x3e, "\x90\x90");
	g = build_written(&w);
	expect(g, "f", " 0-5:c5,C40 5-a:ca,C60 a-b");
	f = g->blocks[pathprof_graph_block_at(g, TEXT + 0x40)].function;
	CU_ASSERT(g->functions[f].flags & PATHPROF_FUNCTION_GUESSED);
	CU_ASSERT_STRING_EQUAL(pathprof_graph_name(g, f), "");
	CU_ASSERT_EQUAL(g->parts[g->functions[f].first_part].start, TEXT + 0x40);
	CU_ASSERT_EQUAL(g->parts[g->functions[f].first_part].end, TEXT + 0x44);
	pathprof_graph_free(g);
}

/* A part without a name that is jumped into is the jumping function's; one that is called is not.
 */
static void test_joined(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x10, GLOBAL);
	elf_writer_frame(&w, 0x00, 0x10, -1, "\x44", 1);
	elf_writer_frame(&w, 0x100, 0x10, -1, "\x0e\x20", 2);
	elf_writer_frame(&w, 0x120, 0x10, -1, "\x0e\x20", 2);
	PUT(&w, 0x00, "\x0f\x84\xfe\x00\x00\x00"); /* jz 104 */
	put_call(&w, 0x06, 0x120);
	PUT(&w, 0x0b, "\xc3");
	PUT(&w, 0x100, "\x90\x90\x90\x90\x90");
	elf_writer_jump(&w, 0x105, 0x0b);
	PUT(&w, 0x120, "\xc3");
	g = build_written(&w);
	expect(g, "f", " 0-6:n6,t104 6-b:cb,C120 b-c 100-104:f104 104-10a:jb");
	CU_ASSERT_EQUAL(g->stats.joined_cnt, 1);
	pathprof_graph_free(g);
}

/* Stubs know by name what never returns, also those bound at their first call. */
static void test_imports(void)
{
	static const char *const programs[] = {"/usr/bin/gzip", "/usr/bin/bzip2", "/bin/bash"};
	static const char *const never[] = {"exit@plt", "abort@plt", "__stack_chk_fail@plt"};
	unsigned int found = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct pathprof_code *code = open_code(programs[i]);
		struct pathprof_graph *g = build(code);

		for (size_t k = 0; k < sizeof(never) / sizeof(never[0]); k++) {
			uint32_t flags = flags_of(g, never[k]);

			found += !!flags;
			CU_ASSERT(!flags || (flags & PATHPROF_FUNCTION_NORETURN));
		}
		CU_ASSERT(flags_of(g, "free@plt") & PATHPROF_FUNCTION_PLT);
		CU_ASSERT(!(flags_of(g, "free@plt") & PATHPROF_FUNCTION_NORETURN));
		CU_ASSERT_EQUAL(g->stats.unresolved_cnt, 0);
		pathprof_graph_free(g);
		pathprof_code_free(code);
	}
	CU_ASSERT(found >= 3);
}

/* ---------------------------------------------------------------- tables */

/* lea rdx, [table]; movslq rax, [rdx + 4 rax]; add rax, rdx; jmp rax: 16 bytes at `at`. */
static void put_dispatch(struct elf_writer *w, unsigned int at)
{
	int32_t distance = WRITER_TABLE - (int32_t)(WRITER_TEXT + at + 7);

	PUT(w, at, "\x48\x8d\x15....\x48\x63\x04\x82\x48\x01\xd0\xff\xe0");
	memcpy(w->text + at + 3, &distance, sizeof(distance));
}

/* Cases at 0x30, 0x32, 0x34: ret each. */
static void put_cases(struct elf_writer *w)
{
	for (unsigned int i = 0; i < 8; i++) {
		PUT(w, 0x30 + 2 * i, "\x90\xc3");
		put_relative(w, i, 0x30 + 2 * i);
	}
}

#define CASES3 " 30-32 32-34 34-36"

/* The same switch with the comparison in all sorts of places. */
static void test_bounds(void)
{
	static const struct {
		const char *what, *bytes;
		unsigned int len, bound;
	} guards[] = {
		{"compared", "\x83\xf8\x02\x77\x2b", 5, 3},              /* cmp eax, 2; ja 30 */
		{"below", "\x83\xf8\x03\x73\x2b", 5, 3},                 /* cmp eax, 3; jae 30 */
		{"copied before", "\x89\xf8\x83\xf8\x02\x77\x29", 7, 3}, /* mov eax, edi */
		{"other copy", "\x89\xf8\x83\xff\x02\x77\x29", 7, 3},    /* cmp edi, 2 */
		{"less something", "\x83\xe8\x05\x83\xf8\x02\x77\x28", 8, 3},
		{"compared before", "\x83\xf8\x07\x77\x2b\x83\xe8\x05", 8, 3},
		{"on the stack", "\x83\x7d\xec\x02\x77\x2a\x8b\x45\xec", 9, 3},
		/* cmp [rbp-20], 2; ja 30; add [rbp-20], 3; mov eax, [rbp-20] */
		{"more on the stack", "\x83\x7d\xec\x02\x77\x2a\x83\x45\xec\x03\x8b\x45\xec", 13,
		 6},
		/* the same, and or [rbp-20], 4 */
		{"other on the stack", "\x83\x7d\xec\x02\x77\x2a\x83\x4d\xec\x04\x8b\x45\xec", 13,
		 8},
		{"subtracted", "\x89\xc1\x89\x4d\xec\x83\xe8\x03\x73\x26\x8b\x45\xec", 13, 3},
		{"two branches", "\x83\xf8\x02\x74\x2b\x77\x29", 7, 3},          /* je 30; ja 30 */
		{"taken", "\x83\xf8\x02\x76\x01\xc3", 6, 3},                     /* jbe 6; ret */
		{"negative", "\x48\x83\xf8\xfd\x72\x2a\x48\x83\xc0\x03", 10, 3}, /* case -3.. */
		{"shifted", "\x83\xf8\x0b\x77\x2b\xc1\xe8\x02", 8, 3},
		{"over a call", "\x83\xff\x02\x77\x2b\xff\xd1\x89\xf8", 9, 3},
		{"masked", "\x83\xe0\x01", 3, 2},
		{"byte", "\x0f\xb6\xc0", 3, 8},
		{"not at all", "\x90", 1, 8},
	};

	for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++) {
		struct elf_writer w;
		struct pathprof_graph *g;

		elf_writer_init(&w);
		elf_writer_symbol(&w, "f", 0x00, 0x40, GLOBAL);
		put(&w, 0, guards[i].bytes, guards[i].len);
		put_dispatch(&w, guards[i].len);
		put_cases(&w);
		g = build_written(&w);
		if (g->stats.switch_target_cnt != guards[i].bound)
			printf("  %s: %ju targets\n", guards[i].what,
			       (uintmax_t)g->stats.switch_target_cnt);
		CU_ASSERT_EQUAL(g->stats.switch_target_cnt, guards[i].bound);
		CU_ASSERT_EQUAL(g->stats.switch_cnt, 1);
		CU_ASSERT_EQUAL(g->stats.unresolved_cnt, 0);
		pathprof_graph_free(g);
	}
}

/* The table's address set up before a loop; the other form, of addresses; one spilled. */
static void test_table_forms(void)
{
	static const struct {
		const char *bytes;
		unsigned int len;
		bool absolute;
	} forms[] = {
		/* cmp eax, 2; ja 30; notrack jmp [8 rax + table] */
		{"\x83\xf8\x02\x77\x2b\x3e\xff\x24\xc5\x00\x30\x40\x00", 13, true},
		/* cmp; ja; mov rax, [8 rax + table]; jmp rax */
		{"\x83\xf8\x02\x77\x2b\x48\x8b\x04\xc5\x00\x30\x40\x00\xff\xe0", 15, true},
		/* mov ecx, table; cmp; ja; jmp [rcx + 8 rax] */
		{"\xb9\x00\x30\x40\x00\x83\xf8\x02\x77\x26\xff\x24\xc1", 13, true},
		/* lea rcx, [table]; 7: call rbx; cmp eax, 2; ja 7; movslq; add; jmp */
		{"\x48\x8d\x0d\xf9\x1f\x00\x00\xff\xd3\x83\xf8\x02\x77\xf9"
		 "\x48\x63\x04\x81\x48\x01\xc8\xff\xe0",
		 23, false},
		/* not optimised: lea rdx, [4 rax]; lea rax, [table]; mov eax, [rdx + rax]; cdqe;
		   lea rdx, [table]; add rax, rdx; jmp rax */
		{"\x83\xf8\x02\x77\x2b\x48\x8d\x14\x85\x00\x00\x00\x00\x48\x8d\x05\xec\x1f\x00\x00"
		 "\x8b\x04\x02\x48\x98\x48\x8d\x15\xe0\x1f\x00\x00\x48\x01\xd0\xff\xe0",
		 37, false},
		/* the table's address spilled: lea rcx; mov [rsp-8], rcx; cmp; ja; mov rcx, [rsp-8]
		 */
		{"\x48\x8d\x0d\xf9\x1f\x00\x00\x48\x89\x4c\x24\xf8\x83\xf8\x02\x77\x1f"
		 "\x48\x8b\x4c\x24\xf8\x48\x63\x04\x81\x48\x01\xc8\xff\xe0",
		 31, false},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct elf_writer w;
		struct pathprof_graph *g;

		elf_writer_init(&w);
		elf_writer_symbol(&w, "f", 0x00, 0x40, GLOBAL);
		put_cases(&w);
		put(&w, 0, forms[i].bytes, forms[i].len);
		for (unsigned int k = 0; forms[i].absolute && k < 3; k++)
			put_absolute(&w, 8 * k, 0x30 + 2 * k);
		g = build_written(&w);
		if (g->stats.switch_target_cnt != 3)
			printf("  form %zu: %s\n", i, describe(g, "f"));
		CU_ASSERT_EQUAL(g->stats.switch_target_cnt, 3);
		CU_ASSERT_PTR_NOT_NULL(strstr(describe(g, "f"), ":s30,s32,s34"));
		pathprof_graph_free(g);
	}
}

/* A spilled table's address that is changed there is not known: add [rsp-8], 4 */
static void test_changed_table(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x40, GLOBAL);
	put_cases(&w);
	PUT(&w, 0x00,
	    "\x48\x8d\x0d\xf9\x1f\x00\x00\x48\x89\x4c\x24\xf8\x48\x83\x44\x24\xf8\x04"
	    "\x83\xf8\x02\x77\x19\x48\x8b\x4c\x24\xf8\x48\x63\x04\x81\x48\x01\xc8\xff\xe0");
	g = build_written(&w);
	CU_ASSERT_EQUAL(g->stats.switch_cnt, 0);
	CU_ASSERT_EQUAL(g->stats.unresolved_cnt, 1);
	pathprof_graph_free(g);
}

/* A table longer than its guard says nothing of, up to where it leads out of the function. */
static void test_table_end(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x40, GLOBAL);
	put_dispatch(&w, 0);
	put_cases(&w);
	put_relative(&w, 3, 0x50);
	g = build_written(&w);
	expect(g, "f", " 0-10:s30,s32,s34" CASES3);
	pathprof_graph_free(g);

	put_relative(&w, 3, 0x35); /* the ret of 34: an instruction; then within the jump's */
	put_relative(&w, 4, 0x0f);
	g = build_written(&w);
	expect(g, "f", " 0-10:s30,s32,s34,s35 30-32 32-34 34-35:f35 35-36");
	pathprof_graph_free(g);
}

/* Nothing is known of the jump's register but that a table in sight leads into the function. */
static void test_guesses(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x40, GLOBAL);
	PUT(&w, 0x00,
	    "\x53"                         /* push rbx */
	    "\x48\x8d\x05\xf8\x1f\x00\x00" /* lea rax, [table] */
	    "\x48\x89\x07"                 /* mov [rdi], rax */
	    "\xff\x26");                   /* jmp [rsi] */
	PUT(&w, 0x30, "\x90\xc3\x90\xc3");
	put_absolute(&w, 0, 0x30);
	put_absolute(&w, 8, 0x32);
	put_absolute(&w, 16, 0x100);
	g = build_written(&w);
	expect(g, "f", " 0-d:g30,g32 30-32 32-34");
	CU_ASSERT(flags_of(g, "f") & PATHPROF_FUNCTION_UNRESOLVED);
	CU_ASSERT_EQUAL(g->stats.unresolved_cnt, 1);
	pathprof_graph_free(g);

	memset(w.table, 0, sizeof(w.table)); /* nor that: what was not reached */
	g = build_written(&w);
	CU_ASSERT_PTR_NOT_NULL(strstr(describe(g, "f"), " 0-d:g"));
	CU_ASSERT_EQUAL(g->stats.unresolved_cnt, 1);
	pathprof_graph_free(g);
}

/* A gap that ends with its segment is one place, and leaves the cold part's to be found. */
static void test_guesses_at_end(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", WRITER_PAGE - 0x10, 0x10, GLOBAL);
	elf_writer_symbol(&w, "f.cold", 0x100, 0x10, GLOBAL);
	PUT(&w, 0x100, "\xc3\xc3");
	/* push rbx; jmp [rsi]; 13 times ret */
	PUT(&w, WRITER_PAGE - 0x10,
	    "\x53\xff\x26\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3");
	g = build_written(&w);
	expect(g, "f", " ff0-ff3:g101,gff3 ff3-ff4 100-101 101-102");
	CU_ASSERT_EQUAL(g->stats.unresolved_cnt, 1);
	pathprof_graph_free(g);
}

/* With the frame gone it is a tail call: mov rax, [rdi]; add rsp, 8; jmp [rax + 8]. */
static void put_tail_by_pointer(struct elf_writer *w)
{
	elf_writer_init(w);
	elf_writer_symbol(w, "f", 0x00, 0x10, GLOBAL);
	elf_writer_symbol(w, "g", 0x10, 0x10, GLOBAL);
	PUT(w, 0x00, "\x50\x48\x8b\x07\x48\x83\xc4\x08\xff\x60\x08");
	put_call(w, 0x10, 0x00);
	PUT(w, 0x15, "\xc3");
}

static void test_tail_by_pointer(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	put_tail_by_pointer(&w);
	g = build_written(&w);
	expect(g, "f", " 0-b");
	expect(g, "g", " 10-15:c15,C0 15-16");
	CU_ASSERT_EQUAL(g->stats.indirect_tail_cnt, 1);
	CU_ASSERT_EQUAL(g->stats.unresolved_cnt, 0);
	pathprof_graph_free(g);
}

/* ---------------------------------------------------------------- shape */

static const char *wrong_edges(const struct pathprof_graph *g, uint32_t b)
{
	const struct pathprof_graph_block *block = &g->blocks[b];
	uint32_t end = g->blocks[b + 1].first_edge;

	if (block->first_edge > end || end > g->edge_cnt)
		return "edges out of order";
	for (uint32_t e = block->first_edge; e < end; e++) {
		const struct pathprof_edge *edge = &g->edges[e];

		if (edge->kind >= PATHPROF_EDGE_KIND_CNT ||
		    (edge->to != PATHPROF_GRAPH_NONE && edge->to >= g->block_cnt))
			return "edge to nowhere";
		if (e > block->first_edge &&
		    (edge[-1].kind > edge->kind ||
		     (edge[-1].kind == edge->kind && edge[-1].to >= edge->to)))
			return "edges of a block out of order";
	}
	return NULL;
}

static const char *wrong_part(const struct pathprof_graph *g, uint32_t f, uint32_t p)
{
	const struct pathprof_graph_part *part = &g->parts[p];

	if (part->start >= part->end || part->first_block > g->block_cnt ||
	    part->block_cnt > g->block_cnt - part->first_block)
		return "part out of range";
	for (uint32_t b = part->first_block; b < part->first_block + part->block_cnt; b++) {
		if (g->blocks[b].function != f || g->blocks[b].start < part->start ||
		    g->blocks[b].start >= part->end)
			return "block of another part";
	}
	return NULL;
}

/* What graph.h promises of any graph; NULL: it holds. */
static const char *wrong_shape(const struct pathprof_graph *g)
{
	const char *wrong = NULL;
	uint32_t part_cnt = 0, block_cnt = 0;

	if (g->blocks[g->block_cnt].first_edge != g->edge_cnt || g->names[0])
		return "ends";
	for (uint32_t b = 0; b < g->block_cnt && !wrong; b++) {
		const struct pathprof_graph_block *block = &g->blocks[b];

		if (block->start > block->last || block->last >= block->end ||
		    (b && block[-1].start >= block->start) || block->function >= g->function_cnt)
			return "block";
		wrong = wrong_edges(g, b);
	}
	for (uint32_t f = 0; f < g->function_cnt && !wrong; f++) {
		const struct pathprof_graph_function *function = &g->functions[f];

		if (function->first_part != part_cnt || !function->part_cnt ||
		    function->name >= g->names_bytes ||
		    (f && g->parts[function[-1].first_part].start >= g->parts[part_cnt].start))
			return "function";
		for (uint32_t p = 0; p < function->part_cnt && !wrong; p++, part_cnt++) {
			wrong = wrong_part(g, f, part_cnt);
			block_cnt += g->parts[part_cnt].block_cnt;
		}
	}
	if (!wrong && (part_cnt != g->part_cnt || block_cnt != g->block_cnt))
		wrong = "counts";
	return wrong;
}

static uint64_t random_state = 0x9E3779B97F4A7C15;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Likely opcodes, so that random code jumps about. */
static uint8_t random_byte(void)
{
	static const uint8_t usual[] = {0x74, 0x75, 0xeb, 0xe8, 0xe9, 0xff, 0xc3, 0x90, 0x0f, 0x84,
					0x00, 0x48, 0x8d, 0x05, 0xe0, 0x63, 0x01, 0x83, 0xf8};

	return next_random() & 1 ? (uint8_t)next_random() : usual[next_random() % sizeof(usual)];
}

static void randomize(struct elf_writer *w)
{
	unsigned int at = 0;

	elf_writer_init(w);
	for (size_t i = 0; i < sizeof(w->text); i++)
		w->text[i] = random_byte();
	for (unsigned int i = 0; i < 30; i++) {
		unsigned int start = at + (unsigned int)(next_random() % 20);
		unsigned int size = 1 + (unsigned int)(next_random() % 200);

		if (next_random() & 1)
			elf_writer_symbol(w, "f", start, size, GLOBAL);
		else
			elf_writer_frame(w, start, size, -1, "\x0e\x20", next_random() & 2);
		at = start + size;
	}
	for (unsigned int i = 0; i < 64; i++)
		put_relative(w, i, (unsigned int)(next_random() % WRITER_PAGE));
	for (unsigned int i = 0; i < 40; i++)
		put_dispatch(w, (unsigned int)(next_random() % (WRITER_PAGE - 32)));
}

static void test_random_code(void)
{
	for (unsigned int round = 0; round < 500; round++) {
		struct elf_writer w;
		struct pathprof_graph *g;
		const char *wrong;

		randomize(&w);
		g = build_written(&w);
		wrong = wrong_shape(g);
		if (wrong)
			printf("  round %u: %s\n", round, wrong);
		CU_ASSERT_PTR_NULL(wrong);
		pathprof_graph_free(g);
	}
}

/* ---------------------------------------------------------------- random walks */

struct text {
	struct pathprof_code *code;
	uint8_t *bytes;
	size_t len;
	ZydisDecoder decoder;
};

static bool read_text(struct text *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	t->len = (size_t)st.st_size;
	t->bytes = malloc(t->len);
	CU_ASSERT_EQUAL_FATAL(read(fd, t->bytes, t->len), (ssize_t)t->len);
	close(fd);
	t->code = open_code(path);
	ZydisDecoderInit(&t->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return true;
}

static void release_text(struct text *t)
{
	pathprof_code_free(t->code);
	free(t->bytes);
}

/* The block whose last instruction is at offset. */
static uint32_t block_ending_with(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t b = pathprof_graph_block_at(g, offset);

	while (b != PATHPROF_GRAPH_NONE && b + 1 < g->block_cnt && g->blocks[b].last != offset &&
	       g->blocks[b + 1].start <= offset)
		b++;
	return b != PATHPROF_GRAPH_NONE && g->blocks[b].last == offset ? b : PATHPROF_GRAPH_NONE;
}

static bool has_edge(const struct pathprof_graph *g, uint32_t b, uint64_t to)
{
	for (uint32_t e = g->blocks[b].first_edge; e < g->blocks[b + 1].first_edge; e++) {
		uint32_t target = g->edges[e].to;

		if (target != PATHPROF_GRAPH_NONE && g->blocks[target].start == to)
			return true;
	}
	return false;
}

static uint64_t continuation(const struct pathprof_graph *g, uint32_t b)
{
	for (uint32_t e = g->blocks[b].first_edge; e < g->blocks[b + 1].first_edge; e++) {
		if (g->edges[e].kind == PATHPROF_EDGE_CONTINUE)
			return g->blocks[g->edges[e].to].start;
	}
	return 0;
}

struct tally {
	unsigned long transfers, missing;
};

/*
 * One transfer by the bytes alone: where it may lead (a coin decides), 0: the walk ends. Calls go
 * on where the graph says: whether they return cannot be read from the bytes here.
 */
static uint64_t next_of(const ZydisDecodedInstruction *in, uint64_t at, uint64_t missed_by)
{
	uint64_t target = at + in->length + (uint64_t)in->raw.imm[0].value.s;

	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return next_random() & 1 ? target + missed_by : at + in->length;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return in->raw.imm[0].is_relative ? target + missed_by : 0;
	default:
		return 0;
	}
}

static bool is_end(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_HLT || in->mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       in->mnemonic == ZYDIS_MNEMONIC_INT3 || in->mnemonic == ZYDIS_MNEMONIC_INT1 ||
	       in->mnemonic == ZYDIS_MNEMONIC_RET;
}

/* Offsets equal vaddrs up to a distance within the one code segment, so both read alike. */
static void walk(const struct text *t, const struct pathprof_graph *g, uint64_t at,
		 uint64_t missed_by, struct tally *tally)
{
	ZydisDecodedInstruction in;

	for (unsigned int steps = 0; steps < 2000; steps++) {
		uint64_t next;
		uint32_t b;

		if (at >= t->len || ZYAN_FAILED(ZydisDecoderDecodeInstruction(
					    &t->decoder, NULL, t->bytes + at, t->len - at, &in)))
			return;
		if (is_end(&in))
			return;
		if (in.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE ||
		    in.mnemonic == ZYDIS_MNEMONIC_XBEGIN || in.mnemonic == ZYDIS_MNEMONIC_XABORT) {
			at += in.length;
			continue;
		}
		tally->transfers++;
		b = block_ending_with(g, at);
		if (b == PATHPROF_GRAPH_NONE) {
			tally->missing++;
			return;
		}
		next = in.meta.category == ZYDIS_CATEGORY_CALL ? continuation(g, b)
							       : next_of(&in, at, missed_by);
		if (!next)
			return;
		if (!has_edge(g, b, next)) {
			tally->missing++;
			return;
		}
		at = next;
	}
}

static void walk_all(const struct text *t, const struct pathprof_graph *g, uint64_t missed_by,
		     struct tally *tally)
{
	for (uint32_t f = 0; f < g->function_cnt; f++) {
		if (g->functions[f].entry == PATHPROF_GRAPH_NONE ||
		    (g->functions[f].flags & PATHPROF_FUNCTION_BROKEN))
			continue;
		for (unsigned int i = 0; i < 4; i++)
			walk(t, g, g->blocks[g->functions[f].entry].start, missed_by, tally);
	}
}

static const char *const files[] = {"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
				    "/bin/bash"};

static void test_walks(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct tally tally = {0, 0};
		struct pathprof_graph *g;
		struct text t;

		if (!read_text(&t, files[i]))
			continue;
		g = build(t.code);
		CU_ASSERT_PTR_NULL(wrong_shape(g));
		walk_all(&t, g, 0, &tally);
		if (tally.missing)
			printf("  %s: %lu of %lu missing\n", files[i], tally.missing,
			       tally.transfers);
		CU_ASSERT_EQUAL(tally.missing, 0);
		CU_ASSERT(tally.transfers > 5000);
		pathprof_graph_free(g);
		release_text(&t);
	}
}

/* Walks that miss their targets by a byte, and graphs with an edge or a block displaced. */
static void test_planted(void)
{
	struct tally tally = {0, 0};
	struct pathprof_graph *g;
	struct text t;
	uint32_t *to, *start, kept;

	if (!read_text(&t, files[0]))
		abort();
	g = build(t.code);
	walk_all(&t, g, 1, &tally);
	CU_ASSERT(tally.missing > 500);
	to = (uint32_t *)&g->edges[g->edge_cnt / 2].to;
	kept = *to;
	*to = g->block_cnt;
	CU_ASSERT_PTR_NOT_NULL(wrong_shape(g));
	*to = kept;
	CU_ASSERT_PTR_NULL(wrong_shape(g));
	start = (uint32_t *)&g->blocks[g->block_cnt / 2].start;
	*start += g->blocks[g->block_cnt / 2].end;
	CU_ASSERT_PTR_NOT_NULL(wrong_shape(g));
	pathprof_graph_free(g);
	release_text(&t);
}

/* ---------------------------------------------------------------- the build itself */

struct course {
	uint64_t done, total;
	unsigned int calls;
	bool forward;
};

static void follow(void *context, uint64_t done, uint64_t total)
{
	struct course *c = context;

	c->forward = c->forward && done >= c->done && done <= total;
	c->done = done;
	c->total = total;
	c->calls++;
}

static bool same_graphs(const struct pathprof_graph *a, const struct pathprof_graph *b)
{
	return a->block_cnt == b->block_cnt && a->edge_cnt == b->edge_cnt &&
	       a->names_bytes == b->names_bytes && a->function_cnt == b->function_cnt &&
	       !memcmp(a->functions, b->functions, a->function_cnt * sizeof(a->functions[0])) &&
	       !memcmp(a->parts, b->parts, a->part_cnt * sizeof(a->parts[0])) &&
	       !memcmp(a->blocks, b->blocks, a->block_cnt * sizeof(a->blocks[0])) &&
	       !memcmp(a->edges, b->edges, a->edge_cnt * sizeof(a->edges[0])) &&
	       !memcmp(a->names, b->names, a->names_bytes);
}

static void test_again(void)
{
	struct course course = {.forward = true};
	struct pathprof_graph *a, *b = NULL;
	struct pathprof_code *code = open_code("/lib/x86_64-linux-gnu/libc.so.6");

	a = build(code);
	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&b, code, follow, &course, NULL), 0);
	CU_ASSERT(same_graphs(a, b));
	CU_ASSERT(course.forward);
	CU_ASSERT(course.calls > 0);
	CU_ASSERT(course.total > 1000000);
	pathprof_graph_free(a);
	pathprof_graph_free(b);
	pathprof_code_free(code);
}

/* Too little memory is an error: a jump is not taken for another kind. */
static void test_no_memory(void)
{
	struct pathprof_graph *whole = NULL;
	struct elf_writer w;
	bool has_failed = false;

	put_tail_by_pointer(&w);
	for (unsigned int number = 0; number <= 1 || has_failed; number++) {
		struct pathprof_code *code = elf_writer_open_with_tables(&w);
		struct pathprof_graph *g = NULL;
		int rc;

		failing_memory_begin(number);
		rc = pathprof_graph_build(&g, code, NULL, NULL, NULL);
		has_failed = failing_memory_end();
		pathprof_code_free(code);
		CU_ASSERT_FATAL(whole || g);
		CU_ASSERT(rc < 0 || !whole || same_graphs(whole, g));
		if (!whole)
			whole = g;
		else
			pathprof_graph_free(g);
	}
	pathprof_graph_free(whole);
}

/* A file that cannot be read was not cut off: half a graph would be kept. */
static void test_unreadable(void)
{
	int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct pathprof_code *code;
	struct pp_text text = {0};
	struct elf_writer w;

	put_tail_by_pointer(&w);
	code = elf_writer_open(&w);
	CU_ASSERT_FATAL(directory >= 0);
	CU_ASSERT_FATAL(dup3(directory, code->fd, O_CLOEXEC) == code->fd);
	CU_ASSERT_EQUAL(pp_text_read(&text, code), -EISDIR);
	pp_text_release(&text);
	close(directory);
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"branches, calls and tail calls by hand", test_branches},
	{"calls far and traps with a number come back", test_far},
	{"functions that never return are found out", test_noreturn},
	{"imports that never return", test_imports},
	{"a jump over a prefix makes two readings", test_two_readings},
	{"filling is run through, the unreadable ends a block", test_filling},
	{"functions known by calls alone", test_guessed},
	{"a part that is jumped into is joined", test_joined},
	{"an index is bound wherever it was compared", test_bounds},
	{"jump tables of all forms", test_table_forms},
	{"a table whose address was changed is not read", test_changed_table},
	{"an unbounded table ends where it leads out", test_table_end},
	{"a jump not understood is given guesses", test_guesses},
	{"a gap at a segment's end is one guess", test_guesses_at_end},
	{"a jump with the frame gone is a tail call", test_tail_by_pointer},
	{"with too little memory there is no graph", test_no_memory},
	{"a file that cannot be read has no graph", test_unreadable},
	{"random code gives graphs of the promised shape", test_random_code},
	{"random walks through files stay on edges", test_walks},
	{"planted faults are caught", test_planted},
	{"the same file gives the same bytes, with progress", test_again},
};
UNIT_SUITE(graph_build, tests)
