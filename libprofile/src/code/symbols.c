// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Which function an offset lies in: by symbol (.symtab of the file or its debug file, else
 * .dynsym), else by the bounds .eh_frame gives.
 *
 * Workload: one a block of a path that is shown; one a branch target of a listing: 10^5 a screen.
 * The symbols (10^6 in large files) are read and sorted once a handle, then searched by bisection.
 *
 * Ownership: names stay where libdwfl has them, the table is the handle's.
 *
 * Source: ELF gABI, chapter 4 (symbol table).
 */
#include "pp_code_apart.h"
#include "pp_ranges.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pathprof/foreign.h"

#define SYMBOLS_MAX    (1u << 24)
#define NAME_LEN_BYTES 65536 /* a longer one (C++ has 10^4) makes its symbol ignored */

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* libdwfl checks where a name begins, not that it ends before the file does. */
static bool is_sound_name(Elf *elf, const char *name)
{
	size_t size = 0, at;
	const char *image = elf_rawfile(elf, &size);

	at = (size_t)((uintptr_t)name - (uintptr_t)image);
	if (!image || at >= size || !name[0])
		return false;
	size -= at;
	return memchr(name, 0, size < NAME_LEN_BYTES ? size : NAME_LEN_BYTES) != NULL;
}

/* From sym to the end of its section. */
static uint64_t rest_of_section(Elf *elf, GElf_Word section, const GElf_Sym *sym)
{
	GElf_Shdr sh;
	uint64_t into;

	if (sym->st_shndx == SHN_ABS || !gelf_getshdr(elf_getscn(elf, section), &sh))
		return 0;
	into = sym->st_value - sh.sh_addr;
	return into < sh.sh_size ? sh.sh_size - into : 0;
}

static uint8_t rank_of_binding(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

static bool read_symbol(const struct pathprof_code *code, int index, struct pp_symbol *ret_symbol)
{
	GElf_Word section = SHN_UNDEF;
	GElf_Addr address = 0;
	uint64_t start, len, offset;
	Elf *elf = NULL;
	GElf_Sym sym;
	const char *name =
		dwfl_module_getsym_info(code->module, index, &sym, &address, &section, &elf, NULL);

	if (!name || !is_function(&sym) || !is_sound_name(elf, name))
		return false;
	start = address - code->bias;
	if (pathprof_code_vaddr_to_offset(code, start, &offset))
		return false;
	len = sym.st_size ? sym.st_size : rest_of_section(elf, section, &sym);
	*ret_symbol = (struct pp_symbol){
		.start = start,
		.end = len < UINT64_MAX - start ? start + len : UINT64_MAX,
		.name = name,
		.rank = rank_of_binding(&sym),
		.sized = sym.st_size != 0,
		.typed = GELF_ST_TYPE(sym.st_info) != STT_NOTYPE,
		.resolver = GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC,
	};
	return true;
}

static bool append(struct pathprof_code *code, size_t *room, const struct pp_symbol *symbol)
{
	if (pp_grow(&code->symbols, code->symbol_cnt, room) < 0)
		return false;
	code->symbols[code->symbol_cnt++] = *symbol;
	return true;
}

/* Names of one function: people know the shortest, sqrt and not f32xsqrtf64. */
static int by_name(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);

	return a_len != b_len ? (a_len > b_len) - (a_len < b_len) : strcmp(a, b);
}

/* Sorts the better of two symbols that start together last, because the search goes backwards. */
static int by_start(const void *x, const void *y)
{
	const struct pp_symbol *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->sized != b->sized)
		return a->sized - b->sized;
	if (a->rank != b->rank)
		return a->rank - b->rank;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return by_name(b->name, a->name);
}

/*
 * A symbol without a size (hand-written assembly) counts up to the next that has one; a label
 * within a function counts for nothing.
 */
static void bound_unsized(struct pathprof_code *code)
{
	uint64_t next = UINT64_MAX, covered = 0;
	size_t kept = 0;

	for (size_t i = code->symbol_cnt; i-- > 0;) {
		struct pp_symbol *s = &code->symbols[i];

		if (s->sized)
			next = s->start;
		else if (s->end > next)
			s->end = next;
	}
	for (size_t i = 0; i < code->symbol_cnt; i++) {
		const struct pp_symbol *s = &code->symbols[i];

		if (!s->sized && (s->end <= s->start || s->start < covered))
			continue;
		if (s->sized && s->end > covered)
			covered = s->end;
		code->symbols[kept++] = *s;
	}
	code->symbol_cnt = kept;
}

/* A symbol that ends no later than one behind it holds no address beyond that one. */
static void link_outer(struct pathprof_code *code)
{
	struct pp_symbol *symbols = code->symbols;

	for (size_t i = 0; i < code->symbol_cnt; i++) {
		size_t outer = i;

		while (outer && symbols[outer - 1].end <= symbols[i].end)
			outer = symbols[outer - 1].outer;
		symbols[i].outer = (uint32_t)outer;
	}
}

static void read_symbols(struct pathprof_code *code)
{
	struct pp_symbol symbol;
	size_t room = 0;
	int cnt;

	if (pp_dwfl_open(code))
		return;
	cnt = dwfl_module_getsymtab(code->module);
	/* Number 0 is none. Without memory for all, those that were read must do. */
	for (int i = 1; i < cnt && code->symbol_cnt < SYMBOLS_MAX; i++)
		if (read_symbol(code, i, &symbol) && !append(code, &room, &symbol))
			break;
	if (!code->symbol_cnt)
		return;
	qsort(code->symbols, code->symbol_cnt, sizeof(code->symbols[0]), by_start);
	bound_unsized(code);
	link_outer(code);
}

static void need_symbols(struct pathprof_code *code)
{
	if (code->symbols_state != PP_LAZY_NOT_YET)
		return;
	code->symbols_state = PP_LAZY_THERE;
	if (code->apart)
		pp_apart_symbols(code);
	else
		read_symbols(code);
}

size_t pp_symbols_all(struct pathprof_code *code, const struct pp_symbol **ret_symbols)
{
	need_symbols(code);
	*ret_symbols = code->symbols;
	return code->symbol_cnt;
}

/* How many symbols start at vaddr or before. */
static size_t count_up_to(const struct pathprof_code *code, uint64_t vaddr)
{
	return pp_first(i, 0, code->symbol_cnt, code->symbols[i].start > vaddr);
}

/* The innermost symbol that holds vaddr. One without a size ends where the unwinder's function
 * does, too. */
static const struct pp_symbol *find_symbol(struct pathprof_code *code, uint64_t vaddr)
{
	const struct pp_frame *frame;
	const struct pp_symbol *s;
	size_t cnt;

	need_symbols(code);
	cnt = count_up_to(code, vaddr);
	while (cnt && code->symbols[cnt - 1].end <= vaddr)
		cnt = code->symbols[cnt - 1].outer;
	if (!cnt)
		return NULL;
	s = &code->symbols[cnt - 1];
	frame = s->sized ? NULL : pp_frames_find(code, vaddr);
	return !frame || s->start >= frame->start ? s : NULL;
}

static const struct pp_plt_entry *find_stub(struct pathprof_code *code, uint64_t vaddr)
{
	const struct pp_plt_entry *stubs;
	size_t cnt;

	if (pp_plt_all(code, &stubs, &cnt) < 0)
		return NULL;
	for (size_t i = 0; i < cnt; i++)
		if (vaddr >= stubs[i].start && vaddr < stubs[i].end)
			return stubs[i].name ? &stubs[i] : NULL;
	return NULL;
}

/* .eh_frame has all of the linker's stubs as one function, so stubs are looked up before it. */
static bool find_bounds(struct pathprof_code *code, uint64_t vaddr, const char **ret_name,
			uint64_t *ret_start)
{
	const struct pp_symbol *symbol = find_symbol(code, vaddr);
	const struct pp_plt_entry *stub = symbol ? NULL : find_stub(code, vaddr);
	const struct pp_frame *frame = symbol || stub ? NULL : pp_frames_find(code, vaddr);

	if (!symbol && !stub && !frame)
		return false;
	*ret_name = symbol ? symbol->name : stub ? stub->name : NULL;
	*ret_start = symbol ? symbol->start : stub ? stub->start : frame->start;
	return true;
}

int pathprof_code_function(struct pathprof_code *code, uint64_t offset, const char **ret_name,
			   uint64_t *ret_start)
{
	const char *name;
	uint64_t vaddr, start;

	if (code->apart)
		return pp_apart_function(code, offset, ret_name, ret_start);
	if (pathprof_code_offset_to_vaddr(code, offset, &vaddr))
		return -ERANGE;
	pathprof_foreign_tell(code->path);
	if (!find_bounds(code, vaddr, &name, &start))
		return -ENOENT;
	if (pathprof_code_vaddr_to_offset(code, start, ret_start))
		return -ENOENT;
	*ret_name = name;
	return 0;
}

int pathprof_code_functions_ahead(struct pathprof_code *code, const uint64_t *offsets, size_t cnt)
{
	return code->apart ? pp_apart_functions_ahead(code, offsets, cnt) : 0;
}

int pathprof_code_symbols(struct pathprof_code *code, pathprof_code_symbol_fn *fn, void *context)
{
	need_symbols(code);
	for (size_t i = 0; i < code->symbol_cnt; i++) {
		const struct pp_symbol *s = &code->symbols[i];
		struct pathprof_code_symbol out = {
			.name = s->name,
			.binding = s->rank,
			.chosen_late = s->resolver,
		};
		int r;

		if (pathprof_code_vaddr_to_offset(code, s->start, &out.start))
			continue;
		out.end = out.start + (s->end - s->start);
		r = fn(context, &out);
		if (r)
			return r;
	}
	return 0;
}

bool pathprof_code_is_named(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return strncmp(symbol, name, len) == 0 &&
	       (!symbol[len] || strncmp(symbol + len, "@@", 2) == 0);
}

int pathprof_code_find_function(struct pathprof_code *code, const char *name, uint64_t *ret_start,
				uint64_t *ret_end)
{
	const struct pp_symbol *best = NULL;
	uint64_t start;

	if (code->apart)
		return pp_apart_find_function(code, name, ret_start, ret_end);
	need_symbols(code);
	for (size_t i = 0; i < code->symbol_cnt; i++) {
		const struct pp_symbol *s = &code->symbols[i];

		if (pathprof_code_is_named(s->name, name) && (!best || s->rank > best->rank))
			best = s;
	}
	if (!best || pathprof_code_vaddr_to_offset(code, best->start, &start))
		return -ENOENT;
	*ret_start = start;
	*ret_end = start + (best->end - best->start);
	return 0;
}
