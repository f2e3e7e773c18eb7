// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs as built by hand on a few bytes of code each, where every block and edge is known, but for
 * indirect jumps (test_graph_switch.c); without memory, and the same again.
 */
#include "graph_written.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---------------------------------------------------------------- by hand */

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

/* Far calls, enclaves and interrupts come back and end no block; a far jump ends one. */
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

/* A function that goes over to another stack returns when somebody goes over to this one. */
static void test_other_stack(void)
{
	static const struct {
		const char *load, *graph;
	} loads[] = {
		{"\x49\x8b\x66\x38", " 0-5:c5,C10 5-6"}, /* mov rsp, [r14 + 38] */
		{"\x48\x8b\x23\x90", " 0-5:c5,C10 5-6"}, /* mov rsp, [rbx] */
		{"\x49\x8b\x65\x08", " 0-5:c5,C10 5-6"}, /* mov rsp, [r13 + 8] */
		{"\x48\x8b\x65\xc8", " 0-5:C10"},        /* mov rsp, [rbp - 38] */
		{"\x48\x8b\xe0\x90", " 0-5:C10"},        /* mov rsp, rax */
		{"\x48\x8b\x6b\x08", " 0-5:C10"},        /* mov rbp, [rbx + 8] */
		{"\x4c\x8b\x63\x08", " 0-5:C10"},        /* mov r12, [rbx + 8] */
	};

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		struct elf_writer w;
		struct pathprof_graph *g;

		elf_writer_init(&w);
		elf_writer_symbol(&w, "caller", 0x00, 0x10, GLOBAL);
		elf_writer_symbol(&w, "goes", 0x10, 0x10, GLOBAL);
		elf_writer_symbol(&w, "never", 0x20, 0x10, GLOBAL);
		put_call(&w, 0x00, 0x10);
		PUT(&w, 0x05, "\xc3");
		put(&w, 0x10, loads[i].load, 4);
		put_call(&w, 0x14, 0x20);
		PUT(&w, 0x19, "\xc3");
		elf_writer_jump(&w, 0x20, 0x20);
		g = build_written(&w);
		expect(g, "caller", loads[i].graph);
		pathprof_graph_free(g);
	}
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

/* Functions without symbols are found by calls to them, and by jumps out of functions. */
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
	{"who goes over to another stack comes back", test_other_stack},
	{"imports that never return", test_imports},
	{"a jump over a prefix makes two readings", test_two_readings},
	{"filling is run through, the unreadable ends a block", test_filling},
	{"functions known by calls alone", test_guessed},
	{"a part that is jumped into is joined", test_joined},
	{"with too little memory there is no graph", test_no_memory},
	{"a file that cannot be read has no graph", test_unreadable},
	{"the same file gives the same bytes, with progress", test_again},
};
UNIT_SUITE(graph_build, tests)
