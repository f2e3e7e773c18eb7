// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ranges of functions: files made by hand with every awkward neighbour there is, real ones against
 * the symbols and records they are made from, and damaged ones, whose ranges must keep their shape.
 */
#include "../../libprofile/src/code/pp_functions.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_writer.h"
#include "failing_memory.h"
#include "test_code.h"
#include "unit.h"

#define SELF "/proc/self/exe"
#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

#define GLOBAL   ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define WEAK     ELF64_ST_INFO(STB_WEAK, STT_FUNC)
#define LOCAL    ELF64_ST_INFO(STB_LOCAL, STT_FUNC)
#define LABEL    ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)
#define MARK     ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE)
#define RESOLVER ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC)

#define SYMBOL  PATHPROF_FUNCTION_SYMBOL
#define FRAME   PATHPROF_FUNCTION_FRAME
#define GUESSED PATHPROF_FUNCTION_GUESSED
#define PLT     PATHPROF_FUNCTION_PLT
#define IFUNC   PATHPROF_FUNCTION_IFUNC

/* Sorted, disjoint, not empty; an owner is its own. */
static bool has_shape(const struct pp_ranges *r)
{
	for (size_t i = 0; i < r->cnt; i++) {
		const struct pp_range *range = &r->ranges[i];

		if (range->end <= range->start || (i && range->start < range[-1].end) ||
		    range->owner >= r->cnt || r->ranges[range->owner].owner != range->owner)
			return false;
	}
	return true;
}

static struct pp_ranges read_ranges(struct pathprof_code *code)
{
	struct pp_ranges r = {0};

	CU_ASSERT_EQUAL_FATAL(pp_ranges_read(&r, code), 0);
	CU_ASSERT(has_shape(&r));
	return r;
}

/* ---------------------------------------------------------------- made by hand */

struct expected {
	unsigned int start, end;
	const char *name;
	uint32_t flags;
	unsigned int owner; /* its start */
	bool maybe_cold;
};

static bool is_range(const struct pp_ranges *r, size_t i, const struct expected *e)
{
	const struct pp_range *have = &r->ranges[i];

	return have->start == WRITER_TEXT + e->start && have->end == WRITER_TEXT + e->end &&
	       (e->name ? is(have->name, e->name) : !have->name) && have->flags == e->flags &&
	       r->ranges[have->owner].start == WRITER_TEXT + e->owner &&
	       have->maybe_cold == e->maybe_cold;
}

static void expect(const struct elf_writer *w, const struct expected *expected, size_t cnt)
{
	struct pathprof_code *code = elf_writer_open(w);
	struct pp_ranges r = read_ranges(code);
	size_t wrong = r.cnt != cnt;

	for (size_t i = 0; i < r.cnt && i < cnt; i++)
		wrong += !is_range(&r, i, &expected[i]);
	if (wrong)
		for (size_t i = 0; i < r.cnt; i++)
			printf("  %#jx-%#jx %s %#x owner %u cold %d\n",
			       (uintmax_t)(r.ranges[i].start - WRITER_TEXT),
			       (uintmax_t)(r.ranges[i].end - WRITER_TEXT),
			       r.ranges[i].name ? r.ranges[i].name : "-", r.ranges[i].flags,
			       r.ranges[i].owner, r.ranges[i].maybe_cold);
	CU_ASSERT_EQUAL(wrong, 0);
	pp_ranges_release(&r);
	pathprof_code_free(code);
}

#define EXPECT(w, ...)                                                                             \
	expect(w, (struct expected[]){__VA_ARGS__},                                                \
	       sizeof((struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void frame(struct elf_writer *w, unsigned int start, unsigned int end)
{
	elf_writer_frame(w, start, end - start, -1, "\x44", 1);
}

static void test_merge(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	frame(&w, 0x40, 0x60);
	frame(&w, 0x00, 0x20);
	elf_writer_symbol(&w, "weak", 0x00, 0x20, WEAK);
	elf_writer_symbol(&w, "best", 0x00, 0x20, GLOBAL);
	elf_writer_symbol(&w, "local", 0x00, 0x20, LOCAL);
	elf_writer_symbol(&w, "alone", 0x20, 0x08, LOCAL);
	elf_writer_symbol(&w, "pick", 0x60, 0x10, RESOLVER);
	EXPECT(&w, {0x00, 0x20, "best", SYMBOL | FRAME, 0x00, false},
	       {0x20, 0x28, "alone", SYMBOL, 0x20, false}, {0x40, 0x60, NULL, FRAME, 0x40, false},
	       {0x60, 0x70, "pick", SYMBOL | IFUNC, 0x60, false});
}

static void test_nested(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	/* A second entry of the same code. */
	elf_writer_symbol(&w, "outer", 0x00, 0x40, GLOBAL);
	elf_writer_symbol(&w, "second", 0x10, 0x08, GLOBAL);
	elf_writer_symbol(&w, "label", 0x18, 0, LABEL);
	/* A function of its own amid another: what is behind it is the other's. */
	elf_writer_symbol(&w, "around", 0x100, 0x80, GLOBAL);
	elf_writer_symbol(&w, "amid", 0x120, 0x20, GLOBAL);
	frame(&w, 0x120, 0x140);
	/* One symbol, two records. */
	elf_writer_symbol(&w, "twice", 0x200, 0x40, GLOBAL);
	frame(&w, 0x200, 0x210);
	frame(&w, 0x218, 0x240);
	/* One record, two symbols that divide it. */
	frame(&w, 0x300, 0x340);
	elf_writer_symbol(&w, "former", 0x300, 0x20, GLOBAL);
	elf_writer_symbol(&w, "latter", 0x320, 0x20, GLOBAL);
	/* A symbol within a record that has none. */
	frame(&w, 0x400, 0x440);
	elf_writer_symbol(&w, "inside", 0x410, 0x10, GLOBAL);
	EXPECT(&w, {0x00, 0x40, "outer", SYMBOL, 0x00, false},
	       {0x100, 0x120, "around", SYMBOL, 0x100, false},
	       {0x120, 0x140, "amid", SYMBOL | FRAME, 0x120, false},
	       {0x140, 0x180, NULL, SYMBOL, 0x100, false},
	       {0x200, 0x240, "twice", SYMBOL | FRAME, 0x200, false},
	       {0x300, 0x320, "former", SYMBOL | FRAME, 0x300, false},
	       {0x320, 0x340, "latter", SYMBOL, 0x320, false},
	       {0x400, 0x440, NULL, FRAME, 0x400, false});
}

static void test_without_size(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "sized", 0x00, 0x10, GLOBAL);
	elf_writer_symbol(&w, "first_mark", 0x10, 0, MARK);
	elf_writer_symbol(&w, "loop_mark", 0x18, 0, MARK);
	elf_writer_symbol(&w, "global", 0x20, 0, LABEL);
	elf_writer_symbol(&w, "typed", 0x30, 0, LOCAL);
	frame(&w, 0x40, 0x48);
	elf_writer_symbol(&w, "framed", 0x40, 0, LABEL);
	EXPECT(&w, {0x00, 0x10, "sized", SYMBOL, 0x00, false},
	       {0x10, 0x20, "first_mark", SYMBOL, 0x10, false},
	       {0x20, 0x30, "global", SYMBOL, 0x20, false},
	       {0x30, 0x40, "typed", SYMBOL, 0x30, false},
	       {0x40, 0x48, "framed", SYMBOL | FRAME, 0x40, false});
}

static void test_places(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	w.entry = WRITER_TEXT + 0x20;
	w.init_len = 0x10;
	frame(&w, 0x00, 0x18);
	elf_writer_symbol(&w, "beyond", 0x0fe0, 0x1000, GLOBAL);
	elf_writer_symbol(&w, "elsewhere", 0x5000, 0x10, GLOBAL);
	EXPECT(&w, {0x00, 0x18, NULL, FRAME, 0x00, false},
	       {0x20, 0xfe0, NULL, GUESSED, 0x20, false},
	       {0xfe0, 0xff0, "beyond", SYMBOL, 0xfe0, false},
	       {0xff0, 0x1000, NULL, GUESSED, 0xff0, false});
	struct pathprof_code *code = elf_writer_open(&w);
	struct pp_ranges r = read_ranges(code);
	CU_ASSERT_EQUAL(r.entry, WRITER_TEXT + 0x20);
	pp_ranges_release(&r);
	pathprof_code_free(code);
}

static void test_cold_symbols(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "one", 0x00, 0x10, GLOBAL);
	elf_writer_symbol(&w, "one.cold", 0x10, 0x10, LOCAL);
	/* Named for what is not the best name there. */
	elf_writer_symbol(&w, "alias", 0x20, 0x10, GLOBAL);
	elf_writer_symbol(&w, "inner", 0x20, 0x10, LOCAL);
	elf_writer_symbol(&w, "inner.cold.17", 0x30, 0x10, LOCAL);
	/* Two of a name: jumps tell the first from the second, the third is nobody's. */
	elf_writer_symbol(&w, "twin", 0x40, 0x10, LOCAL);
	elf_writer_symbol(&w, "twin", 0x50, 0x10, LOCAL);
	elf_writer_symbol(&w, "twin.cold", 0x60, 0x10, LOCAL);
	elf_writer_symbol(&w, "twin.cold", 0x70, 0x10, LOCAL);
	elf_writer_symbol(&w, "twin.cold", 0x80, 0x10, LOCAL);
	elf_writer_jump(&w, 0x48, 0x70);
	elf_writer_jump(&w, 0x59, 0x64);
	elf_writer_symbol(&w, "orphan.cold", 0x90, 0x10, LOCAL);
	elf_writer_symbol(&w, "one.part.0", 0xa0, 0x10, LOCAL);
	elf_writer_symbol(&w, "one.part.0.cold", 0xb0, 0x10, LOCAL);
	elf_writer_symbol(&w, "one.colder", 0xc0, 0x10, LOCAL);
	elf_writer_symbol(&w, ".cold", 0xd0, 0x10, LOCAL);
	EXPECT(&w, {0x00, 0x10, "one", SYMBOL, 0x00, false},
	       {0x10, 0x20, "one.cold", SYMBOL, 0x00, false},
	       {0x20, 0x30, "alias", SYMBOL, 0x20, false},
	       {0x30, 0x40, "inner.cold.17", SYMBOL, 0x20, false},
	       {0x40, 0x50, "twin", SYMBOL, 0x40, false}, {0x50, 0x60, "twin", SYMBOL, 0x50, false},
	       {0x60, 0x70, "twin.cold", SYMBOL, 0x50, false},
	       {0x70, 0x80, "twin.cold", SYMBOL, 0x40, false},
	       {0x80, 0x90, "twin.cold", SYMBOL, 0x80, true},
	       {0x90, 0xa0, "orphan.cold", SYMBOL, 0x90, true},
	       {0xa0, 0xb0, "one.part.0", SYMBOL, 0xa0, false},
	       {0xb0, 0xc0, "one.part.0.cold", SYMBOL, 0xa0, false},
	       {0xc0, 0xd0, "one.colder", SYMBOL, 0xc0, false},
	       {0xd0, 0xe0, ".cold", SYMBOL, 0xd0, false});
}

/* Names that lead in a circle end with owners that are their own. */
static void test_cold_circle(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "a", 0x00, 0x10, LOCAL);
	elf_writer_symbol(&w, "b.cold", 0x00, 0x10, GLOBAL);
	elf_writer_symbol(&w, "b", 0x10, 0x10, LOCAL);
	elf_writer_symbol(&w, "a.cold", 0x10, 0x10, GLOBAL);
	EXPECT(&w, {0x00, 0x10, "b.cold", SYMBOL, 0x00, true},
	       {0x10, 0x20, "a.cold", SYMBOL, 0x10, true});
}

/* The rest of a cold part belongs to the same function as the part. */
static void test_cold_rest(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "f", 0x00, 0x10, LOCAL);
	elf_writer_symbol(&w, "f.cold", 0x20, 0x40, LOCAL);
	elf_writer_symbol(&w, "amid", 0x30, 0x10, LOCAL);
	frame(&w, 0x30, 0x40);
	EXPECT(&w, {0x00, 0x10, "f", SYMBOL, 0x00, false},
	       {0x20, 0x30, "f.cold", SYMBOL, 0x00, false},
	       {0x30, 0x40, "amid", SYMBOL | FRAME, 0x30, false},
	       {0x40, 0x60, NULL, SYMBOL, 0x00, false});
}

/* In files without symbols the first rules of a record tell what is jumped into. */
static void test_cold_frames(void)
{
	static const struct {
		const char *instructions;
		size_t len;
		bool cold;
	} cases[] = {
		{"", 0, false},
		{"\x41\x0e\x10", 3, false},     /* push, then CFA = rsp + 16 */
		{"\x0e\x10", 2, true},          /* CFA = rsp + 16 */
		{"\x0e\x08\x41", 3, false},     /* as it is anyway */
		{"\x0c\x06\x10", 3, true},      /* CFA = rbp + 16 */
		{"\x0d\x06", 2, true},          /* CFA = rbp + 8 */
		{"\x86\x02", 2, true},          /* rbp is saved */
		{"\x05\x03\x02", 3, true},      /* rbx is saved, long form */
		{"\x07\x10", 2, false},         /* rip is not known: the first function */
		{"\x2e\x10\x44", 3, false},     /* how much a call pushed */
		{"\x0a\x44\x0e\x10", 4, false}, /* remember, advance */
		{"\x0f\x02\x77\x08", 4, true},  /* CFA computed */
		{"\x10\x03\x01\x30", 4, true},  /* rbx computed */
		{"\x02\x04\x0e\x10", 4, false}, /* advance by a byte's worth */
		{"\x0e", 1, false},             /* cut off */
		{"\x0f\x7f\x00", 3, false},     /* longer than what is there */
		{"\x3f\x0e\x10", 3, false},     /* no such instruction */
	};
	const size_t cnt = sizeof(cases) / sizeof(cases[0]);
	struct elf_writer w;

	elf_writer_init(&w);
	for (size_t i = 0; i < cnt; i++)
		elf_writer_frame(&w, (unsigned int)i * 16, 16, -1, cases[i].instructions,
				 cases[i].len);
	elf_writer_frame(&w, 0x800, 0x10, -1, "\x0e\x10", 2);
	elf_writer_symbol(&w, "named", 0x800, 0x10, GLOBAL);
	struct pathprof_code *code = elf_writer_open(&w);
	struct pp_ranges r = read_ranges(code);
	CU_ASSERT_EQUAL_FATAL(r.cnt, cnt + 1);
	for (size_t i = 0; i < cnt; i++)
		CU_ASSERT_EQUAL(r.ranges[i].maybe_cold, cases[i].cold);
	CU_ASSERT(!r.ranges[cnt].maybe_cold);
	pp_ranges_release(&r);
	pathprof_code_free(code);
}

/* The code that a signal handler returns to: its record begins a byte early. */
static void test_signal_frame(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	elf_writer_signal_frame(&w, 0x1f, 0x11);
	elf_writer_signal_frame(&w, 0x40, 0x10);
	elf_writer_symbol(&w, "restore", 0x20, 0, LOCAL);
	EXPECT(&w, {0x20, 0x30, "restore", SYMBOL | FRAME, 0x20, false},
	       {0x40, 0x50, NULL, FRAME, 0x40, false});
}

static void test_find(void)
{
	struct elf_writer w;

	elf_writer_init(&w);
	frame(&w, 0x10, 0x20);
	frame(&w, 0x20, 0x30);
	struct pathprof_code *code = elf_writer_open(&w);
	struct pp_ranges r = read_ranges(code);
	CU_ASSERT_PTR_NULL(pp_ranges_find(&r, WRITER_TEXT + 0x0f));
	CU_ASSERT_PTR_EQUAL(pp_ranges_find(&r, WRITER_TEXT + 0x1f), &r.ranges[0]);
	CU_ASSERT_PTR_EQUAL(pp_ranges_find(&r, WRITER_TEXT + 0x20), &r.ranges[1]);
	CU_ASSERT_PTR_NULL(pp_ranges_find(&r, WRITER_TEXT + 0x30));
	pp_ranges_release(&r);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- real files */

/* How many function symbols with a size have no range that is just theirs. */
static size_t symbols_without_range(const struct pp_ranges *r, Elf_Data *data, uint64_t shift,
				    size_t *ret_cnt)
{
	size_t wrong = 0;
	GElf_Sym sym;

	for (int i = 0; gelf_getsym(data, i, &sym); i++) {
		const struct pp_range *range;

		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		range = pp_ranges_find(r, sym.st_value + shift);
		++*ret_cnt;
		wrong += !range || range->start != sym.st_value + shift ||
			 range->end - range->start != sym.st_size || !(range->flags & SYMBOL);
	}
	return wrong;
}

/* This program has no functions within others. The planted fault: all symbols a byte off. */
static void test_self(void)
{
	struct pathprof_code *code = open_code(SELF);
	struct pp_ranges r = read_ranges(code);
	struct pp_section s = {0};
	size_t cnt = 0;

	while (pp_section_next(code, &s) && s.type != SHT_SYMTAB)
		;
	CU_ASSERT_FATAL(s.type == SHT_SYMTAB);
	Elf_Data *data = elf_getdata(s.scn, NULL);
	CU_ASSERT_EQUAL(symbols_without_range(&r, data, 0, &cnt), 0);
	CU_ASSERT(cnt > 100);
	CU_ASSERT_EQUAL(symbols_without_range(&r, data, 1, &(size_t){0}), cnt);
	pp_ranges_release(&r);
	pathprof_code_free(code);
}

/* Each record's code belongs to a range, and hardly any is divided. */
static void test_records(const char *path)
{
	struct pathprof_code *code = open_code(path);
	struct pp_ranges r = read_ranges(code);
	const struct pp_frame *frames;
	size_t cnt = pp_frames_all(code, &frames), lost = 0, divided = 0;

	for (size_t i = 0; i < cnt; i++) {
		const struct pp_range *first =
			pp_ranges_find(&r, frames[i].start + frames[i].signal);
		const struct pp_range *last = pp_ranges_find(&r, frames[i].end - 1);

		lost += !first || !last;
		/* The stubs have one record together. */
		divided += first != last && first && !(first->flags & PLT);
	}
	CU_ASSERT(cnt > 100);
	CU_ASSERT_EQUAL(lost, 0);
	CU_ASSERT(divided <= cnt / 1000);
	pp_ranges_release(&r);
	pathprof_code_free(code);
}

static void test_real_files(void)
{
	static const char *const paths[] = {SELF, LIBC, "/usr/bin/python3"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (access(paths[i], R_OK))
			unit_skip(paths[i]);
		else
			test_records(paths[i]);
	}
}

/* Stubs are named after the functions imported by them, and hardly any lacks a name. */
static void test_stubs(void)
{
	struct pathprof_code *code = open_code(SELF);
	struct pp_ranges r = read_ranges(code);
	bool free_seen = false, fopen_seen = false;
	size_t named = 0, inside = 0;

	for (size_t i = 0; i < r.cnt; i++) {
		const struct pp_range *range = &r.ranges[i];
		size_t len = range->name ? strlen(range->name) : 0;

		if (!(range->flags & PLT))
			continue;
		inside += range->end - range->start == 8 || range->end - range->start == 16;
		named += len > 4 && !strcmp(range->name + len - 4, "@plt");
		free_seen |= is(range->name, "free@plt");
		fopen_seen |= is(range->name, "fopen@plt");
	}
	CU_ASSERT(named > 20);
	CU_ASSERT(inside - named <= 1 || inside >= 2 * named);
	CU_ASSERT(free_seen && fopen_seen);
	pp_ranges_release(&r);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- damage */

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void fill_lively(struct elf_writer *w)
{
	elf_writer_init(w);
	memcpy(w->table, "\xff\xff\x01\x04\x02\x04\x06\x00", 8);
	w->table_len = 8;
	for (unsigned int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), i % 3 ? "f%u" : "f%u.cold", i / 3);
		elf_writer_symbol(w, name, i * 0x18, 0x20, i % 4 ? LOCAL : GLOBAL);
		elf_writer_frame(w, i * 0x20, 0x20, i % 2 ? 0 : -1, "\x0e\x10", 2);
		elf_writer_jump(w, i * 0x18 + 4, (i * 7 % 20) * 0x18);
	}
}

static void damage(struct elf_writer *w, uint32_t *state)
{
	for (unsigned int i = 0; i < 1 + *state % 8; i++) {
		uint32_t at = next_random(state), value = next_random(state);

		switch (value >> 30) {
		case 0:
			w->table[at % w->table_len] = (uint8_t)value;
			break;
		case 1:
			((uint8_t *)w->symbols)[at % (20 * sizeof(Elf64_Sym))] = (uint8_t)value;
			break;
		default:
			w->frames[at % w->frames_len] = (uint8_t)value;
		}
	}
}

static void test_damage(void)
{
	uint32_t state = 12345;
	struct elf_writer w;

	for (int round = 0; round < 300; round++) {
		struct pp_landing_pad *pads = NULL;
		size_t cnt = 0;

		fill_lively(&w);
		damage(&w, &state);
		struct pathprof_code *code = elf_writer_open(&w);
		struct pp_ranges r = read_ranges(code);
		CU_ASSERT_EQUAL(pp_landing_pads_read(&pads, &cnt, code), 0);
		for (size_t i = 0; i < cnt; i++)
			CU_ASSERT(pads[i].start < pads[i].end);
		free(pads);
		pp_ranges_release(&r);
		pathprof_code_free(code);
	}
}

/* Too little memory is an error: fewer ranges would be taken for all there are. */
static void test_no_memory(void)
{
	struct elf_writer w;
	size_t cnt = 0;
	bool has_failed = false;

	fill_lively(&w);
	for (unsigned int number = 0; number <= 1 || has_failed; number++) {
		struct pathprof_code *code = elf_writer_open_with_tables(&w);
		struct pp_ranges r = {0};
		int rc;

		failing_memory_begin(number);
		rc = pp_ranges_read(&r, code);
		has_failed = failing_memory_end();
		if (!number)
			cnt = r.cnt;
		CU_ASSERT(rc == -ENOMEM || (rc == 0 && r.cnt == cnt));
		pp_ranges_release(&r);
		pathprof_code_free(code);
	}
	CU_ASSERT(cnt > 0);
}

static const struct unit_test tests[] = {
	{"symbols and records of one address are one function", test_merge},
	{"what lies within a function cuts it where the records say so", test_nested},
	{"labels reach up to what comes next", test_without_size},
	{"the entry point and .init begin functions, sections end them", test_places},
	{"cold parts go to the function of their name", test_cold_symbols},
	{"cold parts that are each other's own nothing", test_cold_circle},
	{"the rest of a cold part goes where the part goes", test_cold_rest},
	{"records without symbols tell what is jumped into", test_cold_frames},
	{"the caller of signal handlers begins behind its record's start", test_signal_frame},
	{"an address finds its range", test_find},
	{"every symbol of this program has its range", test_self},
	{"every record of real files lies within ranges", test_real_files},
	{"stubs are named for what they call", test_stubs},
	{"damaged files keep the shape of ranges", test_damage},
	{"with too little memory there are all ranges or none", test_no_memory},
};
UNIT_SUITE(ranges, tests)
