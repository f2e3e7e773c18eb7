// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code reader on this very executable (its symbols, lines and bytes are known from inside), on
 * stripped copies of it, and on ELF files made by hand. Walks, the search for symbols and the
 * search for names have files of their own: test_walk.c, test_symbols.c, test_find_function.c.
 */
#include "test_code.h"

#include "../one_segment.h"
#include "elf_writer.h"
#include "unit.h"

#include <Zydis/Zydis.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct pathprof_code *open_code(const char *path)
{
	struct pathprof_code *code = NULL;
	struct pathprof_error error = {""};

	if (pathprof_code_open(&code, path, NULL, &error))
		printf("  %s\n", error.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(code);
	return code;
}

/* Load bias of this executable: the first object that is reported is the program itself. */
static int take_base(struct dl_phdr_info *info, size_t size, void *context)
{
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

uint64_t offset_of(struct pathprof_code *code, const void *address)
{
	uint64_t base = 0, offset = 0;

	dl_iterate_phdr(take_base, &base);
	CU_ASSERT_EQUAL(
		pathprof_code_vaddr_to_offset(code, (uint64_t)(uintptr_t)address - base, &offset),
		0);
	return offset;
}

static int interrupted; /* calls of pread() that a signal interrupts */

/* libc's own, but for the calls that are to be interrupted. */
ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	ssize_t (*own)(int, void *, size_t, off_t) =
		(ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");

	if (!interrupted)
		return own(fd, buf, size, offset);
	interrupted--;
	errno = EINTR;
	return -1;
}

/* ---------------------------------------------------------------- a function we know */

/* Alignment makes sure that there is padding before such a function. */
#define MARKED __attribute__((noinline, used, aligned(256)))

/* Written by a macro, so that every instruction of it belongs to one line. */
#define DEFINE_MARKED(name)                                                                        \
	enum { MARKED_LINE = __LINE__ };                                                           \
	MARKED static unsigned int name(unsigned int x)                                            \
	{                                                                                          \
		unsigned int sum = 0;                                                              \
		for (unsigned int i = 0; i < x; i++) {                                             \
			sum += i * i;                                                              \
			__asm__ volatile("" : "+r"(sum));                                          \
		}                                                                                  \
		return sum;                                                                        \
	}
DEFINE_MARKED(pathprof_test_marked)

static void test_function(void)
{
	struct pathprof_code *code = open_code(SELF);
	uint64_t offset = offset_of(code, (const void *)pathprof_test_marked), start = 0;
	const char *name = "";

	for (uint64_t into = 0; into < 16; into += 5) {
		CU_ASSERT_EQUAL(pathprof_code_function(code, offset + into, &name, &start), 0);
		CU_ASSERT(is(name, "pathprof_test_marked"));
		CU_ASSERT_EQUAL(start, offset);
	}
	pathprof_code_free(code);
}

static bool ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

static void test_line(void)
{
	struct pathprof_code *code = open_code(SELF);
	uint64_t offset = offset_of(code, (const void *)pathprof_test_marked);
	const char *file = "";
	int line = 0;

	CU_ASSERT_EQUAL(pathprof_code_line(code, offset, &file, &line), 0);
	CU_ASSERT(ends_with(file, __FILE__));
	CU_ASSERT_EQUAL(line, MARKED_LINE);
	pathprof_code_free(code);
}

static void test_line_absent(void)
{
	struct pathprof_code *code = open_code("/lib/x86_64-linux-gnu/libbz2.so.1.0");
	const char *file = NULL;
	uint64_t offset;
	int line = 0;

	/* Anywhere in its code; Debian ships it without debug information. */
	for (offset = 0x2000; offset < 0x8000; offset += 0x800)
		CU_ASSERT_EQUAL(pathprof_code_line(code, offset, &file, &line), -ENOENT);
	CU_ASSERT_PTR_NULL(file);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- symbols against libelf */

struct symbol {
	char name[128];
	uint64_t vaddr, size;
};

struct symbols {
	struct symbol *list;
	size_t cnt;
};

static void add_symbols(struct symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t cnt = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < cnt && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);

		if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size)
			continue;
		/* Twice as many each time: the sanitizer's realloc() always copies. */
		if (!(s->cnt & (s->cnt - 1)))
			s->list = reallocarray(s->list, s->cnt ? 2 * s->cnt : 1, sizeof(*s->list));
		if (!s->list)
			abort();
		struct symbol *add = &s->list[s->cnt++];
		add->vaddr = sym.st_value;
		add->size = sym.st_size;
		snprintf(add->name, sizeof(add->name), "%s", name);
	}
}

/* All sized functions of .symtab, straight from libelf. */
static void read_symbols(struct symbols *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	Elf *elf;

	*s = (struct symbols){0};
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			add_symbols(s, elf, scn, &sh);
	elf_end(elf);
	close(fd);
}

static bool any_symbol_holds(const struct symbols *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->cnt; i++)
		if (vaddr - s->list[i].vaddr < s->list[i].size)
			return true;
	return false;
}

/* Aliases share an address. */
static bool is_name_of(const struct symbols *s, uint64_t vaddr, const char *name)
{
	for (size_t i = 0; i < s->cnt; i++)
		if (s->list[i].vaddr == vaddr && !strcmp(s->list[i].name, name))
			return true;
	return false;
}

static void test_symbols(void)
{
	struct pathprof_code *code = open_code(SELF);
	struct symbols s;
	unsigned int compared = 0, wrong = 0;

	read_symbols(&s, SELF);
	for (size_t i = 0; i < s.cnt; i++) {
		uint64_t offset, start = 0, want;
		const char *name = NULL;

		if (pathprof_code_vaddr_to_offset(code, s.list[i].vaddr, &want))
			continue;
		offset = want + s.list[i].size - 1;
		compared++;
		wrong += pathprof_code_function(code, offset, &name, &start) || !name ||
			 start != want || !is_name_of(&s, s.list[i].vaddr, name);
	}
	CU_ASSERT(compared > 50);
	CU_ASSERT_EQUAL(wrong, 0);
	free(s.list);
	pathprof_code_free(code);
}

/* The padding between two functions is neither's, although a symbol comes before it. */
static void test_padding(void)
{
	struct pathprof_code *code = open_code(SELF);
	unsigned int seen = 0;
	struct symbols s;

	read_symbols(&s, SELF);
	for (size_t i = 0; i < s.cnt; i++) {
		uint64_t end = s.list[i].vaddr + s.list[i].size, offset, start;
		const char *name = NULL;

		if (end % 16 == 0 || any_symbol_holds(&s, end) ||
		    pathprof_code_vaddr_to_offset(code, end, &offset))
			continue;
		int rc = pathprof_code_function(code, offset, &name, &start);
		seen++;
		CU_ASSERT(rc == -ENOENT || strcmp(name ? name : "", s.list[i].name) != 0);
	}
	CU_ASSERT(seen > 0);
	free(s.list);
	pathprof_code_free(code);
}

/* A label without type and size, then a function without a name. */
__asm__(".pushsection .text\n"
	"pathprof_test_bare:\n"
	"	nop\n"
	"	ret\n"
	"	.cfi_startproc\n"
	"	nop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".popsection\n");
extern const char pathprof_test_bare[];

static void test_bare_label(void)
{
	struct pathprof_code *code = open_code(SELF);
	uint64_t offset = offset_of(code, pathprof_test_bare), start = 0;
	const char *name = NULL;

	CU_ASSERT_EQUAL(pathprof_code_function(code, offset + 1, &name, &start), 0);
	CU_ASSERT(is(name, "pathprof_test_bare"));
	CU_ASSERT_EQUAL(start, offset);
	CU_ASSERT_EQUAL(pathprof_code_function(code, offset + 3, &name, &start), 0);
	CU_ASSERT_PTR_NULL(name);
	CU_ASSERT_EQUAL(start, offset + 2);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- stripped copies */

/* The name behind SELF, for other programs. */
static const char *self_path(void)
{
	static char path[512];
	ssize_t len = readlink(SELF, path, sizeof(path) - 1);

	if (len < 0)
		abort();
	path[len] = 0;
	return path;
}

/* This executable without symbols, under a name of its own. */
static int strip_self(char *path, size_t size)
{
	char command[1024];

	snprintf(path, size, "%s/stripped", unit_tmpdir());
	snprintf(command, sizeof(command), "strip -o %s %s 2>/dev/null", path, self_path());
	return system(command); /* NOLINT(cert-env33-c): names made here */
}

struct bounds_tally {
	unsigned int symbols, compared, wrong;
};

/* The bounds a file without symbols gives, against the symbols of the one it was made from. */
static void compare_bounds(const char *path, struct bounds_tally *ret_tally)
{
	struct pathprof_code *code = open_code(path);
	struct bounds_tally tally = {0};
	struct symbols s;

	read_symbols(&s, SELF);
	for (size_t i = 0; i < s.cnt; i++) {
		uint64_t start = 0, want;
		const char *name = "";

		if (pathprof_code_vaddr_to_offset(code, s.list[i].vaddr, &want))
			continue;
		tally.symbols++;
		/* A few keep a dynamic symbol, and start-up code by hand has no unwind entry. */
		if (pathprof_code_function(code, want + s.list[i].size / 2, &name, &start) || name)
			continue;
		tally.compared++;
		tally.wrong += start != want;
	}
	free(s.list);
	pathprof_code_free(code);
	*ret_tally = tally;
}

static void test_stripped(void)
{
	struct bounds_tally tally;
	char path[256];

	if (strip_self(path, sizeof(path))) {
		unit_skip("no strip");
		return;
	}
	compare_bounds(path, &tally);
	CU_ASSERT(tally.compared > 50);
	CU_ASSERT(tally.compared > tally.symbols * 8 / 10);
	CU_ASSERT_EQUAL(tally.wrong, 0);
}

/* Finds .eh_frame in a file; returns its size, 0 if there is none. */
static size_t find_eh_frame(const char *path, off_t *ret_offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	size_t names, size = 0;
	GElf_Shdr sh;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (!elf_getshdrstrndx(elf, &names) && (scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (!is(name, ".eh_frame"))
			continue;
		*ret_offset = (off_t)sh.sh_offset;
		size = sh.sh_size;
		break;
	}
	elf_end(elf);
	close(fd);
	return size;
}

/* Moves the start of every function .eh_frame knows by two bytes. Returns how many. */
static unsigned int shift_functions(const char *path)
{
	off_t at = 0;
	size_t size = find_eh_frame(path, &at);
	off_t end = at + (off_t)size;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned int shifted = 0;
	uint32_t record[3]; /* length, distance to the CIE (0: is one), start */

	while (end - at >= (off_t)sizeof(record) &&
	       pread(fd, record, sizeof(record), at) == sizeof(record) && record[0]) {
		if (record[1]) {
			record[2] += 2;
			shifted += pwrite(fd, record, sizeof(record), at) == sizeof(record);
		}
		at += (off_t)record[0] + 4;
	}
	close(fd);
	return shifted;
}

/* The planted fault: the comparison above must notice. */
static void test_stripped_planted(void)
{
	struct bounds_tally tally;
	char path[256];

	if (strip_self(path, sizeof(path))) {
		unit_skip("no strip");
		return;
	}
	CU_ASSERT(shift_functions(path) > 50);
	compare_bounds(path, &tally);
	CU_ASSERT(tally.wrong > tally.symbols / 2);
}

/* Puts this executable's debug information beside path, and a link to it into path. */
static int split_debug(const char *path)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 "objcopy --only-keep-debug %s %s.debug && "
		 "objcopy --add-gnu-debuglink=%s.debug %s",
		 self_path(), path, path, path);
	return system(command); /* NOLINT(cert-env33-c): names made here */
}

/* Names and lines come back by way of .gnu_debuglink. */
static void test_debuglink(void)
{
	char path[256];

	if (strip_self(path, sizeof(path)) || split_debug(path)) {
		unit_skip("no strip or objcopy");
		return;
	}
	struct pathprof_code *code = open_code(path);
	uint64_t start = 0, offset = offset_of(code, (const void *)pathprof_test_marked);
	const char *name = "", *file = "";
	int line = 0;

	CU_ASSERT_EQUAL(pathprof_code_function(code, offset + 1, &name, &start), 0);
	CU_ASSERT(is(name, "pathprof_test_marked"));
	CU_ASSERT_EQUAL(start, offset);
	CU_ASSERT_EQUAL(pathprof_code_line(code, offset, &file, &line), 0);
	CU_ASSERT_EQUAL(line, MARKED_LINE);
	pathprof_code_free(code);
}

/* libc's own start of a function it exports, through an address this process knows. */
static void test_libc(void)
{
	struct pathprof_code *code = open_code("/lib/x86_64-linux-gnu/libc.so.6");
	const char *name = NULL;
	uint64_t start, offset;
	unsigned int found = 0;

	for (offset = 0x40000; offset < 0x140000; offset += 0x1000) {
		int rc = pathprof_code_function(code, offset, &name, &start);

		CU_ASSERT(rc == 0 || rc == -ENOENT);
		if (rc)
			continue;
		found++;
		CU_ASSERT(start <= offset);
	}
	CU_ASSERT(found > 200);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- files made by hand */

const char *make_elf(const void *bytes, size_t len)
{
	static const struct one_segment place = {ET_EXEC, HAND_OFFSET, HAND_VADDR};
	static char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/hand", unit_tmpdir());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || one_segment_write(fd, &place, bytes, len) || close(fd))
		abort();
	return path;
}

static int function_at(struct pathprof_code *code, uint64_t vaddr)
{
	uint64_t offset = 0, start;
	const char *name;

	CU_ASSERT_EQUAL(pathprof_code_vaddr_to_offset(code, vaddr, &offset), 0);
	return pathprof_code_function(code, offset, &name, &start);
}

/* Functions without symbols are known by their frames, those of a CIE that has no end are not. */
static void test_long_cie(void)
{
	char augmentation[400] = "zLR";
	struct pathprof_code *code;
	struct elf_writer w;

	memset(augmentation + 3, 'B', sizeof(augmentation) - 4);
	elf_writer_init(&w);
	elf_writer_frame(&w, 0x40, 0x20, -1, "", 0);
	elf_writer_cie(&w, augmentation);
	elf_writer_frame(&w, 0x80, 0x20, -1, "", 0);
	code = elf_writer_open(&w);
	CU_ASSERT_EQUAL(function_at(code, WRITER_TEXT + 0x50), 0);
	CU_ASSERT_EQUAL(function_at(code, WRITER_TEXT + 0x90), -ENOENT);
	pathprof_code_free(code);
}

static void test_addresses(void)
{
	static const uint8_t bytes[64] = {0x90};
	struct pathprof_code *code = open_code(make_elf(bytes, sizeof(bytes)));
	uint64_t value = 7;

	for (uint64_t i = 0; i < sizeof(bytes); i++) {
		CU_ASSERT_EQUAL(pathprof_code_offset_to_vaddr(code, HAND_OFFSET + i, &value), 0);
		CU_ASSERT_EQUAL(value, HAND_VADDR + i);
		CU_ASSERT_EQUAL(pathprof_code_vaddr_to_offset(code, HAND_VADDR + i, &value), 0);
		CU_ASSERT_EQUAL(value, HAND_OFFSET + i);
	}
	value = 7;
	CU_ASSERT_EQUAL(pathprof_code_offset_to_vaddr(code, HAND_OFFSET - 1, &value), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_code_offset_to_vaddr(code, HAND_OFFSET + 64, &value), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_code_vaddr_to_offset(code, HAND_VADDR + 64, &value), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_code_vaddr_to_offset(code, 0, &value), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_code_vaddr_to_offset(code, UINT64_MAX, &value), -ERANGE);
	CU_ASSERT_EQUAL(value, 7);
	pathprof_code_free(code);
}

static void test_instruction_errors(void)
{
	/* nop, call to the nop, no instruction, and a call that is cut off */
	static const uint8_t bytes[] = {0x90, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0x06, 0xe8, 0};
	struct pathprof_code *code = open_code(make_elf(bytes, sizeof(bytes)));
	char text[64] = "kept", small[4];
	unsigned int len = 99;

	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET + 6, text, 64, &len), -ENOEXEC);
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET + 7, text, 64, &len), -ENOEXEC);
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET + 9, text, 64, &len), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, 0, text, 64, &len), -ERANGE);
	CU_ASSERT_STRING_EQUAL(text, "kept");
	CU_ASSERT_EQUAL(len, 99);
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET, text, 64, &len), 0);
	CU_ASSERT_STRING_EQUAL(text, "nop");
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET + 1, text, 64, &len), 0);
	CU_ASSERT_STRING_EQUAL(text, "call 0x200");
	CU_ASSERT_EQUAL(len, 5);
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET + 1, small, 4, &len), 0);
	CU_ASSERT_STRING_EQUAL(small, "cal");
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- instructions of this process */

MARKED static unsigned int pathprof_test_caller(unsigned int x)
{
	return pathprof_test_marked(x) * 3 + 1;
}

/* Lengths against the bytes that run; the call names the function it goes to. */
static void test_instructions(void)
{
	struct pathprof_code *code = open_code(SELF);
	const uint8_t *at = (const uint8_t *)(uintptr_t)pathprof_test_caller;
	uint64_t offset = offset_of(code, at);
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;
	unsigned int calls = 0;
	char text[128] = "";
	volatile unsigned int three = 3; /* a constant would make the compiler clone the callee */

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	do {
		unsigned int len = 0;

		CU_ASSERT_FATAL(
			ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, at, 15, &in)));
		CU_ASSERT_EQUAL_FATAL(
			pathprof_code_instruction(code, offset, text, sizeof(text), &len), 0);
		CU_ASSERT_EQUAL(len, in.length);
		calls += !strcmp(text, "call pathprof_test_marked");
		at += in.length;
		offset += in.length;
	} while (in.mnemonic != ZYDIS_MNEMONIC_RET && in.mnemonic != ZYDIS_MNEMONIC_JMP);
	CU_ASSERT_EQUAL(calls, 1);
	CU_ASSERT(pathprof_test_caller(three) % 3 == 1);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- opening */

static void test_identity(void)
{
	struct pathprof_build_id id;
	struct pathprof_code *code = NULL;
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, SELF, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_code_open(&code, SELF, &id, &error), 0);
	pathprof_code_free(code);
	code = NULL;
	id.bytes[0] ^= 1;
	CU_ASSERT_EQUAL(pathprof_code_open(&code, SELF, &id, &error), -ESTALE);
	CU_ASSERT_PTR_NULL(code);
	CU_ASSERT(strstr(error.text, SELF) != NULL);
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int cnt = 0;

	while (dir && readdir(dir))
		cnt++;
	if (dir)
		closedir(dir);
	return cnt;
}

/* With the page that its image begins on to compare with. */
static void test_vdso(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel hands over a number */
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	uint64_t start, end, vaddr, found;
	struct pathprof_code *code = NULL;
	struct pathprof_build_id id;
	char text[64];
	unsigned int len;
	const char *name;
	int before = count_fds();

	if (!image) {
		unit_skip("this kernel maps no vDSO");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_build_id_read_memory(&id, image, 4096), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open_vdso(&code, &id, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_code_find_function(code, "__vdso_getcpu", &start, &end), 0);
	CU_ASSERT(start < end);
	CU_ASSERT_EQUAL(pathprof_code_function(code, end - 1, &name, &found), 0);
	CU_ASSERT_EQUAL(found, start);
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, start, text, sizeof(text), &len), 0);
	CU_ASSERT_EQUAL(pathprof_code_offset_to_vaddr(code, start, &vaddr), 0);
	pathprof_code_free(code);
	code = NULL;
	id.bytes[0] ^= 1;
	CU_ASSERT_EQUAL(pathprof_code_open_vdso(&code, &id, NULL), -ESTALE);
	CU_ASSERT_PTR_NULL(code);
	CU_ASSERT_EQUAL(count_fds(), before);
}

static void test_refused(void)
{
	struct pathprof_code *code = NULL;
	struct pathprof_error error;
	char path[256];
	FILE *f;

	CU_ASSERT_EQUAL(pathprof_code_open(&code, "/nonexistent", NULL, &error), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_code_open(&code, "/", NULL, &error), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_code_open(&code, "/dev/null", NULL, &error), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_code_open(&code, "/etc/passwd", NULL, &error), -EINVAL);
	snprintf(path, sizeof(path), "%s", make_elf("\x90", 1));
	f = fopen(path, "r+e");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fseek(f, EI_CLASS, SEEK_SET);
	fputc(ELFCLASS32, f);
	fclose(f);
	CU_ASSERT_EQUAL(pathprof_code_open(&code, path, NULL, &error), -EINVAL);
	CU_ASSERT_PTR_NULL(code);
	pathprof_code_free(NULL);
}

static void ask_everything(struct pathprof_code *code, uint64_t offset)
{
	const char *text;
	char line[64];
	unsigned int len;
	uint64_t start;
	int number;

	pathprof_code_function(code, offset, &text, &start);
	pathprof_code_line(code, offset, &text, &number);
	pathprof_code_instruction(code, offset, line, sizeof(line), &len);
}

static void test_descriptors(void)
{
	int before = count_fds();

	for (int i = 0; i < 3; i++) {
		struct pathprof_code *code = open_code(SELF);

		ask_everything(code, offset_of(code, (const void *)pathprof_test_marked));
		pathprof_code_free(code);
		code = open_code(make_elf("\xc3", 1));
		ask_everything(code, HAND_OFFSET);
		pathprof_code_free(code);
	}
	CU_ASSERT_EQUAL(count_fds(), before);
}

/* A file that ends anywhere opens or does not, but never kills. */
static void test_cut_files(void)
{
	char path[256];
	struct stat st;

	if (strip_self(path, sizeof(path)) || stat(path, &st)) {
		unit_skip("no strip");
		return;
	}
	for (off_t len = st.st_size; len >= 0; len -= len > 4096 ? st.st_size / 23 + 1 : 61) {
		struct pathprof_code *code = NULL;
		struct pathprof_error error;

		CU_ASSERT_EQUAL(truncate(path, len), 0);
		int rc = pathprof_code_open(&code, path, NULL, &error);
		CU_ASSERT(rc == 0 || rc == -EINVAL || rc == -EBADMSG);
		for (uint64_t offset = 0; !rc && offset < (uint64_t)st.st_size; offset += 9973)
			ask_everything(code, offset);
		pathprof_code_free(code);
	}
}

static void test_shrinking_file(void)
{
	uint8_t bytes[8192];
	char text[64];
	unsigned int len;

	memset(bytes, 0x90, sizeof(bytes));
	const char *path = make_elf(bytes, sizeof(bytes));
	struct pathprof_code *code = open_code(path);
	CU_ASSERT_EQUAL(truncate(path, 0), 0);
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET + 5000, text, 64, &len),
			-ERANGE);
	pathprof_code_free(code);
}

/* A read that a signal interrupts is made again. */
static void test_interrupted_read(void)
{
	static const uint8_t nops[8192] = {[0 ... 8191] = 0x90};
	const char *path = make_elf(nops, sizeof(nops));
	struct pathprof_code *code = open_code(path);
	char text[64] = "";
	unsigned int len = 0;

	interrupted = 2;
	CU_ASSERT_EQUAL(pathprof_code_instruction(code, HAND_OFFSET + 5000, text, 64, &len), 0);
	CU_ASSERT_EQUAL(interrupted, 0);
	CU_ASSERT_EQUAL(len, 1);
	CU_ASSERT_STRING_EQUAL(text, "nop");
	interrupted = 0;
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"a known function has its name and start", test_function},
	{"a known function has its file and line", test_line},
	{"no line information is said so", test_line_absent},
	{"every sized function is found by its last byte", test_symbols},
	{"padding between functions is nobody's", test_padding},
	{"a label without size ends where the unwinder's function begins", test_bare_label},
	{"a stripped file knows its functions' bounds", test_stripped},
	{"bounds that are two bytes off are caught", test_stripped_planted},
	{"a debug link brings names and lines back", test_debuglink},
	{"libc's functions start before what is in them", test_libc},
	{"frames of a CIE that is longer than any are passed over", test_long_cie},
	{"offsets and addresses convert within the segment only", test_addresses},
	{"undecodable, cut off, outside: three errors", test_instruction_errors},
	{"a listing follows the running bytes and names its calls", test_instructions},
	{"another identity is refused", test_identity},
	{"the vDSO is read like a file, and held to its identity", test_vdso},
	{"what is no x86-64 ELF file is refused", test_refused},
	{"no descriptor is leaked", test_descriptors},
	{"files cut anywhere are survived", test_cut_files},
	{"a file that shrinks while open is survived", test_shrinking_file},
	{"a read that a signal interrupts goes on", test_interrupted_read},
};
UNIT_SUITE(code, tests)
