// SPDX-License-Identifier: GPL-2.0-or-later
/* Indirect jumps in graphs, by hand: through tables of all forms, tail calls, guesses. */
#include "graph_written.h"

#include <stdio.h>

/* ---------------------------------------------------------------- by hand */

static void put_absolute(struct elf_writer *w, unsigned int at, uint64_t target)
{
	target += WRITER_TEXT;
	memcpy(w->table + at, &target, sizeof(target));
	if (w->table_len < at + 8)
		w->table_len = at + 8;
}

/* ---------------------------------------------------------------- tables */

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

/*
 * A cold part that has a segment of its own lies before its function in the file, behind it in
 * memory: by file the last two cases are the first blocks.
 */
static void test_segments_in_another_order(void)
{
	struct elf_writer w;
	struct pathprof_graph *g;

	elf_writer_init(&w);
	w.init_len = WRITER_PAGE / 2;
	w.init_first = true;
	elf_writer_symbol(&w, "f", 0x00, 0x40, GLOBAL);
	elf_writer_symbol(&w, "f.cold", WRITER_PAGE / 2, 0x10, GLOBAL);
	PUT(&w, 0, "\x83\xf8\x02\x77\x2b"); /* cmp eax, 2; ja 30 */
	put_dispatch(&w, 5);
	PUT(&w, 0x30, "\x90\xc3");
	PUT(&w, WRITER_PAGE / 2, "\x90\xc3\x90\xc3");
	put_relative(&w, 0, 0x30);
	put_relative(&w, 1, WRITER_PAGE / 2);
	put_relative(&w, 2, WRITER_PAGE / 2 + 2);
	g = build_written(&w);
	expect(g, "f", " 800-805:n805,t830 805-815:s0,s2,s830 830-832 0-2 2-4");
	CU_ASSERT_EQUAL(g->stats.switch_target_cnt, 3);
	CU_ASSERT_EQUAL(pp_graph_check(g), 0);
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

static const struct unit_test tests[] = {
	{"an index is bound wherever it was compared", test_bounds},
	{"jump tables of all forms", test_table_forms},
	{"a table whose address was changed is not read", test_changed_table},
	{"an unbounded table ends where it leads out", test_table_end},
	{"edges ascend by file where memory has another order", test_segments_in_another_order},
	{"a jump not understood is given guesses", test_guesses},
	{"a gap at a segment's end is one guess", test_guesses_at_end},
	{"a jump with the frame gone is a tail call", test_tail_by_pointer},
};
UNIT_SUITE(graph_switch, tests)
