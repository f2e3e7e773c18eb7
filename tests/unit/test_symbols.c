// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which symbol holds an offset: against a linear search over all symbols of real files, and on
 * tables made by hand with every awkward neighbour there is.
 */
#include "test_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#define SELF "/proc/self/exe"

/* ---------------------------------------------------------------- symbols by linear search */

struct known {
	const char *name;
	uint64_t start, size, section_end;
	unsigned int rank;
};

/* The function symbols of a file, unsorted; names are elf's. */
struct linear {
	struct known *list;
	size_t cnt;
	Elf *elf;
	int fd;
};

static unsigned int rank_of(const GElf_Sym *sym)
{
	return GELF_ST_BIND(sym->st_info) == STB_GLOBAL ? 2
	       : GELF_ST_BIND(sym->st_info) == STB_WEAK ? 1
							: 0;
}

static void add_known(struct linear *l, const GElf_Sym *sym, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);
	GElf_Shdr sh = {0};

	if (!name || !name[0] || sym->st_shndx == SHN_UNDEF ||
	    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
		return;
	if (sym->st_shndx < SHN_LORESERVE)
		gelf_getshdr(elf_getscn(l->elf, sym->st_shndx), &sh);
	l->list[l->cnt++] = (struct known){
		.name = name,
		.start = sym->st_value,
		.size = sym->st_size,
		.section_end = sh.sh_addr + sh.sh_size,
		.rank = rank_of(sym),
	};
}

static Elf_Scn *find_table(Elf *elf, GElf_Word type, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return scn;
	return NULL;
}

static void linear_open(struct linear *l, const char *path)
{
	GElf_Shdr sh = {0};
	Elf_Scn *scn;
	GElf_Sym sym;

	*l = (struct linear){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	elf_version(EV_CURRENT);
	l->elf = elf_begin(l->fd, ELF_C_READ_MMAP, NULL);
	scn = find_table(l->elf, SHT_SYMTAB, &sh);
	scn = scn ? scn : find_table(l->elf, SHT_DYNSYM, &sh);
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t cnt = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	l->list = calloc(cnt + 1, sizeof(*l->list));
	if (!l->list)
		abort();
	for (size_t i = 0; i < cnt && gelf_getsym(data, (int)i, &sym); i++)
		add_known(l, &sym, elf_strptr(l->elf, sh.sh_link, sym.st_name));
}

static void linear_close(struct linear *l)
{
	free(l->list);
	elf_end(l->elf);
	close(l->fd);
}

/* Innermost, then global over weak over local, then the smaller, then the shorter name. */
static const struct known *better(const struct known *a, const struct known *b)
{
	if (!a || b->start != a->start)
		return !a || b->start > a->start ? b : a;
	if (a->rank != b->rank)
		return b->rank > a->rank ? b : a;
	if (a->size != b->size)
		return b->size < a->size ? b : a;
	if (strlen(a->name) != strlen(b->name))
		return strlen(b->name) < strlen(a->name) ? b : a;
	return strcmp(b->name, a->name) < 0 ? b : a;
}

static const struct known *linear_sized(const struct linear *l, uint64_t vaddr)
{
	const struct known *best = NULL;

	for (size_t i = 0; i < l->cnt; i++)
		if (l->list[i].start <= vaddr && vaddr - l->list[i].start < l->list[i].size)
			best = better(best, &l->list[i]);
	return best;
}

/* The nearest in the section, when no symbol with a size comes between or reaches over it. */
static const struct known *linear_unsized(const struct linear *l, uint64_t vaddr)
{
	const struct known *best = NULL;
	uint64_t covered = 0;

	for (size_t i = 0; i < l->cnt; i++) {
		const struct known *k = &l->list[i];

		if (k->start > vaddr)
			continue;
		if (!k->size && vaddr < k->section_end)
			best = better(best, k);
		if (k->start + k->size > covered && k->size)
			covered = k->start + k->size;
	}
	return best && best->start >= covered ? best : NULL;
}

/* NAME@plt, which no symbol is called. */
static bool is_stub(const char *name)
{
	const char *at = name ? strrchr(name, '@') : NULL;

	return at && strcmp(at, "@plt") == 0;
}

/*
 * The start of a function by .eh_frame may take the place of a symbol without a size. Code without
 * a symbol may be a stub.
 */
static bool agrees(struct pathprof_code *code, const struct linear *l, uint64_t offset,
		   uint64_t vaddr)
{
	const struct known *sized = linear_sized(l, vaddr);
	const struct known *want = sized ? sized : linear_unsized(l, vaddr);
	const char *name = NULL;
	uint64_t start = 0;
	int rc = pathprof_code_function(code, offset, &name, &start);

	if (!want && is_stub(name))
		return rc == 0;
	if (!want || (!sized && !name))
		return !name && (rc == 0 || rc == -ENOENT);
	return !rc && is(name, want->name) && offset - start == vaddr - want->start;
}

/* The step between evenly spread file offsets of which cnt are code. */
static uint64_t offset_step(struct pathprof_code *code, const char *path, uint64_t cnt,
			    uint64_t *ret_size)
{
	uint64_t bytes = 0, vaddr;
	struct stat st;

	CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
	for (uint64_t offset = 0; offset < (uint64_t)st.st_size; offset += 64)
		bytes += pathprof_code_offset_to_vaddr(code, offset, &vaddr) ? 0 : 64;
	CU_ASSERT_FATAL(bytes > cnt);
	*ret_size = (uint64_t)st.st_size;
	return bytes / cnt;
}

struct look_up_tally {
	unsigned int compared, wrong;
};

static struct look_up_tally compare_look_ups(const char *path, const struct linear *l)
{
	struct pathprof_code *code = open_code(path);
	struct look_up_tally tally = {0};
	uint64_t size, vaddr, step = offset_step(code, path, 21000, &size);

	for (uint64_t offset = 0; offset < size; offset += step) {
		if (pathprof_code_offset_to_vaddr(code, offset, &vaddr))
			continue;
		tally.compared++;
		tally.wrong += !agrees(code, l, offset, vaddr);
	}
	pathprof_code_free(code);
	return tally;
}

/* The file with path's symbols: its debug file, if that is installed. */
static const char *file_of_symbols(const char *path)
{
	static char debug[256];
	struct pathprof_build_id id;
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	CU_ASSERT_EQUAL_FATAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	pathprof_build_id_text(&id, text);
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%s.debug", text, text + 2);
	return access(debug, R_OK) ? path : debug;
}

static void test_look_ups(void)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3",
					    SELF};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct look_up_tally tally;
		struct linear l;

		if (access(paths[i], R_OK)) {
			unit_skip(paths[i]);
			continue;
		}
		linear_open(&l, file_of_symbols(paths[i]));
		CU_ASSERT(l.cnt > 100);
		tally = compare_look_ups(paths[i], &l);
		CU_ASSERT(tally.compared >= 20000);
		CU_ASSERT_EQUAL(tally.wrong, 0);
		linear_close(&l);
	}
}

/* The planted fault: the longest function begins a byte later than the file says. */
static void test_look_ups_planted(void)
{
	struct look_up_tally tally;
	struct known *longest;
	struct linear l;

	linear_open(&l, SELF);
	longest = &l.list[0];
	for (size_t i = 1; i < l.cnt; i++)
		longest = l.list[i].size > longest->size ? &l.list[i] : longest;
	longest->start++;
	tally = compare_look_ups(SELF, &l);
	CU_ASSERT(tally.wrong > 0);
	CU_ASSERT(tally.wrong < tally.compared / 2);
	linear_close(&l);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Going through all symbols each time takes minutes in the first of these files. */
static void test_look_ups_fast(void)
{
	const char *path = "/lib/x86_64-linux-gnu/libLLVM-14.so.1", *name;

	path = access(path, R_OK) ? "/usr/bin/python3" : path;
	struct pathprof_code *code = open_code(path);
	uint64_t size, start, step = offset_step(code, path, 100000, &size);
	double begin = cpu_s();
	unsigned int named = 0;

	for (uint64_t offset = 0; offset < size; offset += step)
		named += !pathprof_code_function(code, offset, &name, &start) && name;
	CU_ASSERT(cpu_s() - begin < 30);
	CU_ASSERT(named > 10000);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- symbols made by hand */

#define CODE_LEN 256

/* One page; the names are the last of it, so what runs beyond them leaves the file. */
struct symbol_file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4]; /* none, .text, .symtab, .strtab */
	Elf64_Sym symbols[20];
	uint8_t code[CODE_LEN];
	uint8_t padding[2532];
	char names[452];
};
_Static_assert(sizeof(struct symbol_file) == 4096, "one page");

#define AT(field) offsetof(struct symbol_file, field)

static const struct symbol_file empty_symbol_file = {
	.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		   .e_type = ET_EXEC,
		   .e_machine = EM_X86_64,
		   .e_version = EV_CURRENT,
		   .e_phoff = AT(segment),
		   .e_shoff = AT(sections),
		   .e_ehsize = sizeof(Elf64_Ehdr),
		   .e_phentsize = sizeof(Elf64_Phdr),
		   .e_phnum = 1,
		   .e_shentsize = sizeof(Elf64_Shdr),
		   .e_shnum = 4,
		   .e_shstrndx = 3},
	.segment = {.p_type = PT_LOAD,
		    .p_flags = PF_R | PF_X,
		    .p_offset = AT(code),
		    .p_vaddr = HAND_VADDR,
		    .p_filesz = CODE_LEN,
		    .p_memsz = CODE_LEN},
	.sections = {{0},
		     {.sh_type = SHT_PROGBITS,
		      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		      .sh_addr = HAND_VADDR,
		      .sh_offset = AT(code),
		      .sh_size = CODE_LEN},
		     {.sh_type = SHT_SYMTAB,
		      .sh_offset = AT(symbols),
		      .sh_size = sizeof(empty_symbol_file.symbols),
		      .sh_link = 3,
		      .sh_info = 1,
		      .sh_addralign = 8,
		      .sh_entsize = sizeof(Elf64_Sym)},
		     {.sh_type = SHT_STRTAB,
		      .sh_offset = AT(names),
		      .sh_size = sizeof(empty_symbol_file.names)}},
};

static struct pathprof_code *open_symbol_file(const struct symbol_file *file)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/symbols", unit_tmpdir());
	f = fopen(path, "we");
	if (!f || fwrite(file, sizeof(*file), 1, f) != 1 || fclose(f))
		abort();
	return open_code(path);
}

#define GLOBAL GELF_ST_INFO(STB_GLOBAL, STT_FUNC)
#define WEAK   GELF_ST_INFO(STB_WEAK, STT_FUNC)
#define LOCAL  GELF_ST_INFO(STB_LOCAL, STT_FUNC)
#define LABEL  GELF_ST_INFO(STB_GLOBAL, STT_NOTYPE)
#define OBJECT GELF_ST_INFO(STB_GLOBAL, STT_OBJECT)

static const struct {
	const char *name;
	unsigned int start, size;
	unsigned char info;
} awkward[] = {
	{"outer", 0x10, 0x40, GLOBAL},   {"inner", 0x20, 8, LOCAL},
	{"within", 0x30, 0, LABEL},      {"left", 0x60, 0x18, GLOBAL},
	{"right", 0x70, 0x10, GLOBAL},   {"a_weak", 0x90, 0x10, WEAK},
	{"global", 0x90, 0x10, GLOBAL},  {"a_local", 0x90, 0x10, LOCAL},
	{"a_label", 0x90, 0, LABEL},     {"later", 0xa0, 0x10, GLOBAL},
	{"earlier", 0xa0, 0x10, GLOBAL}, {"bare", 0xc0, 0, LABEL},
	{"after", 0xd0, 8, GLOBAL},      {"data", 0xe0, 8, OBJECT},
	{"endless", 0xf0, -1u, GLOBAL},  {"a_long", 0x54, 8, GLOBAL},
	{"short", 0x54, 4, GLOBAL},
};

static void add_awkward(struct symbol_file *file)
{
	size_t at = 1;

	for (size_t i = 0; i < sizeof(awkward) / sizeof(awkward[0]); i++) {
		file->symbols[i + 1] = (Elf64_Sym){
			.st_name = (Elf64_Word)at,
			.st_info = awkward[i].info,
			.st_shndx = 1,
			.st_value = HAND_VADDR + awkward[i].start,
			.st_size = awkward[i].size == -1u ? UINT64_MAX : awkward[i].size,
		};
		at += (size_t)snprintf(file->names + at, sizeof(file->names) - at, "%s",
				       awkward[i].name) +
		      1;
	}
}

static void test_awkward_symbols(void)
{
	static const struct {
		unsigned int at;
		const char *name;
	} want[] = {
		{0x0f, NULL},     {0x10, "outer"},   {0x1f, "outer"},   {0x20, "inner"},
		{0x27, "inner"},  {0x28, "outer"},   {0x30, "outer"},   {0x4f, "outer"},
		{0x50, NULL},     {0x54, "short"},   {0x58, "a_long"},  {0x5c, NULL},
		{0x6f, "left"},   {0x70, "right"},   {0x78, "right"},   {0x80, NULL},
		{0x90, "global"}, {0x9f, "global"},  {0xa0, "later"},   {0xb0, NULL},
		{0xc0, "bare"},   {0xcf, "bare"},    {0xd0, "after"},   {0xd8, NULL},
		{0xe0, NULL},     {0xf0, "endless"}, {0xff, "endless"},
	};
	struct symbol_file file = empty_symbol_file;

	add_awkward(&file);
	struct pathprof_code *code = open_symbol_file(&file);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const char *name = NULL;
		uint64_t start;
		int rc = pathprof_code_function(code, AT(code) + want[i].at, &name, &start);

		CU_ASSERT_EQUAL(rc, want[i].name ? 0 : -ENOENT);
		CU_ASSERT(want[i].name ? is(name, want[i].name) : !name);
	}
	pathprof_code_free(code);
}

/* The last name has no end; it is taken for none, and the others stand. */
static void test_endless_name(void)
{
	struct symbol_file file = empty_symbol_file;
	const char *name = NULL;
	uint64_t start;

	add_awkward(&file);
	for (size_t i = 0; i < 8; i++)
		file.names[sizeof(file.names) - 8 + i] = 'x';
	file.symbols[1].st_name = sizeof(file.names) - 8;
	struct pathprof_code *code = open_symbol_file(&file);
	CU_ASSERT_EQUAL(pathprof_code_function(code, AT(code) + 0x10, &name, &start), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_code_function(code, AT(code) + 0x20, &name, &start), 0);
	CU_ASSERT(is(name, "inner"));
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"look-ups agree with a linear search", test_look_ups},
	{"a symbol that is a byte off is caught", test_look_ups_planted},
	{"a hundred thousand look-ups are no matter", test_look_ups_fast},
	{"nested, overlapping, alias and unsized symbols", test_awkward_symbols},
	{"a name that runs out of the file is none", test_endless_name},
};
UNIT_SUITE(symbols, tests)
