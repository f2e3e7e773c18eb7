// SPDX-License-Identifier: GPL-2.0-or-later
/* Parsing of --value, and the function and file that it selects. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/config_args.h"
#include "../../daemon/values/value_site.h"
#include "../entry_of.h"
#include "elf_writer.h"
#include "unit.h"

#define TEXT_OFFSET WRITER_PAGE

static const struct {
	const char *text, *file, *function;
	uint32_t argument;
} good[] = {
	{"malloc:1", "", "malloc", 1},
	{"libc.so.6:memcpy:3", "libc.so.6", "memcpy", 3},
	{"/a b/c:d/e:f:6", "/a b/c:d/e", "f", 6},
	{"./x:0x1f40:2", "./x", "0x1f40", 2},
	{"_ZN3foo3barEi:1", "", "_ZN3foo3barEi", 1},
};
static const char *const bad[] = {
	"",          "malloc", ":1",   "malloc:", "malloc:0", "malloc:7",
	"malloc:1:", "f:12",   "f:x",  ":f:1",    "f::1",     "x:0x:1",
	"0x1g:1",    "f: 1",   "f:1 ", "::1",     "f:-1",     "0x11111111111111111:1",
};

static void test_parse(void)
{
	struct pathprof_error error = {""};
	struct pp_value_spec spec;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(pp_value_spec_parse(&spec, good[i].text, &error), 0);
		CU_ASSERT_STRING_EQUAL(spec.file, good[i].file);
		CU_ASSERT_STRING_EQUAL(spec.function, good[i].function);
		CU_ASSERT_EQUAL(spec.argument, good[i].argument);
	}
	CU_ASSERT_EQUAL(pp_value_spec_parse(&spec, "./x:0x1f40:2", &error), 0);
	CU_ASSERT(spec.is_offset && spec.offset == 0x1f40);
	memset(&spec, 0x5a, sizeof(spec));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error.text[0] = '\0';
		CU_ASSERT_EQUAL(pp_value_spec_parse(&spec, bad[i], &error), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "FUNCTION:ARG"));
		CU_ASSERT_EQUAL(spec.argument, 0x5a5a5a5a);
	}
}

static void test_too_long(void)
{
	char text[2 * PATH_MAX];
	struct pp_value_spec spec;

	memset(text, 'a', sizeof(text));
	strcpy(text + PP_VALUE_FUNCTION_MAX, ":1");
	CU_ASSERT_EQUAL(pp_value_spec_parse(&spec, text, NULL), -EINVAL);
	strcpy(text + PP_VALUE_FUNCTION_MAX - 1, ":1");
	CU_ASSERT_EQUAL(pp_value_spec_parse(&spec, text, NULL), 0);
	memset(text, 'a', sizeof(text));
	strcpy(text + PATH_MAX, ":f:1");
	CU_ASSERT_EQUAL(pp_value_spec_parse(&spec, text, NULL), -EINVAL);
}

/* ---------------------------------------------------------------- the function */

#define GLOBAL   ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define LOCAL    ELF64_ST_INFO(STB_LOCAL, STT_FUNC)
#define INDIRECT ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC)

static const char *make_program(bool symbols)
{
	static char path[PATH_MAX];
	struct elf_writer w;

	elf_writer_init(&w);
	memset(w.text, 0x53, sizeof(w.text)); /* push rbx */
	memcpy(w.text + 0x40, "\xf3\x0f\x1e\xfa\x55\xc3", 6);
	if (symbols) {
		elf_writer_symbol(&w, "compress_block", 0x00, 0x10, GLOBAL);
		elf_writer_symbol(&w, "compress_block.cold", 0x10, 0x10, LOCAL);
		elf_writer_symbol(&w, "twice", 0x20, 0x10, LOCAL);
		elf_writer_symbol(&w, "twice", 0x30, 0x10, LOCAL);
		elf_writer_symbol(&w, "guarded", 0x40, 0x06, GLOBAL);
		elf_writer_symbol(&w, "copy", 0x50, 0x10, INDIRECT);
		elf_writer_symbol(&w, "copy_fast", 0x60, 0x10, LOCAL);
		elf_writer_symbol(&w, "alias_of_fast", 0x60, 0x10, LOCAL);
	}
	snprintf(path, sizeof(path), "%s/program", unit_tmpdir());
	elf_writer_save(&w, path);
	return path;
}

/* `what` of the program made: what came out, error filled. */
static int find(struct pp_value_site *ret_site, const char *program, const char *what,
		struct pathprof_error *error)
{
	const struct pp_value_target target = {program, getpid()};

	return pp_value_site_find(ret_site, what, &target, error);
}

static void test_found(void)
{
	const char *program = make_program(true);
	struct pathprof_error error = {""};
	struct pp_value_site site;

	CU_ASSERT_EQUAL_FATAL(find(&site, program, "guarded:2", &error), 0);
	CU_ASSERT_EQUAL(site.start, TEXT_OFFSET + 0x40);
	CU_ASSERT_EQUAL(site.probe, TEXT_OFFSET + 0x44);
	CU_ASSERT_TRUE(site.emulated);
	CU_ASSERT_EQUAL(site.argument, 2);
	CU_ASSERT_STRING_EQUAL(site.name, program);
	pp_value_site_release(&site);
	CU_ASSERT_EQUAL_FATAL(find(&site, program, "0x1030:1", &error), 0);
	CU_ASSERT_EQUAL(site.start, TEXT_OFFSET + 0x30);
	CU_ASSERT_STRING_EQUAL(site.function, "twice");
	pp_value_site_release(&site);
	CU_ASSERT_EQUAL(find(&site, program, "0x1031:1", &error), -ENOENT);
}

/* The site's path leads to the file that was found, whatever has its name by then. */
static void test_file_replaced(void)
{
	const char *program = make_program(true);
	struct stat was, is, by_name;
	struct pathprof_error error = {""};
	struct pp_value_site site;
	char other[PATH_MAX];

	CU_ASSERT_EQUAL(stat(program, &was), 0);
	CU_ASSERT_EQUAL_FATAL(find(&site, program, "guarded:2", &error), 0);
	snprintf(other, sizeof(other), "%s.other", program);
	fclose(fopen(other, "w"));
	CU_ASSERT_EQUAL(rename(other, program), 0);
	CU_ASSERT_EQUAL(stat(program, &by_name), 0);
	CU_ASSERT_EQUAL(stat(site.path, &is), 0);
	CU_ASSERT_EQUAL(is.st_ino, was.st_ino);
	CU_ASSERT_NOT_EQUAL(by_name.st_ino, was.st_ino);
	pp_value_site_release(&site);
	CU_ASSERT_EQUAL(stat(site.path, &is), -1);
}

/* Each refusal says what would do. */
static void test_refused(void)
{
	static const struct {
		const char *what;
		int code;
		const char *said;
	} refusals[] = {
		{"compres_block:1", -ENOENT, "nearest: compress_block"},
		{"compress:1", -ENOENT, "compress_block.cold"},
		{"nothing_like_it_at_all:1", -ENOENT, "no function nothing_like_it_at_all"},
		{"twice:1", -ENOTUNIQ, "2 functions of that name"},
		{"twice:1", -ENOTUNIQ, "0x1020, 0x1030"},
		{"copy:1", -ENOENT, "nearest: copy"},
		{"copy:1", -ENOENT, "chosen when a program starts"},
		{"no-such-file-here:f:1", -ENOENT, "neither a program"},
		{"/no/such/file:f:1", -ENOENT, "no such file"},
		{"f", -EINVAL, "no parameter"},
		{"/etc/passwd:f:1", 0, "FILE:FUNCTION:ARG"},
	};
	const char *program = make_program(true);

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct pathprof_error error = {""};
		struct pp_value_site site;
		int r = find(&site, program, refusals[i].what, &error);

		CU_ASSERT(refusals[i].code ? r == refusals[i].code : r < 0);
		if (!strstr(error.text, refusals[i].said))
			printf("%s: %s\n", refusals[i].what, error.text);
		CU_ASSERT_PTR_NOT_NULL(strstr(error.text, refusals[i].said));
		CU_ASSERT_PTR_NOT_NULL(strstr(error.text, refusals[i].what));
	}
}

static void test_stripped(void)
{
	struct pathprof_error error = {""};
	struct pp_value_site site;

	CU_ASSERT_EQUAL(find(&site, make_program(false), "main:1", &error), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no symbols"));
	CU_ASSERT_EQUAL(find(&site, "/no/such/program", "main:1", &error), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no such program"));
}

/* This very process: its own functions and those of a library it has mapped. */
static void test_running(void)
{
	const struct pp_value_target self = {NULL, getpid()};
	struct pathprof_error error = {""};
	struct pathprof_build_id id;
	struct pp_value_site site;

	CU_ASSERT_EQUAL_FATAL(pp_value_site_find(&site, "pp_value_site_find:3", &self, &error), 0);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, "/proc/self/exe", NULL), 0);
	CU_ASSERT(pathprof_build_id_equal(&id, &site.id));
	CU_ASSERT_EQUAL(site.name[0], '/');
	CU_ASSERT_PTR_NULL(strstr(site.name, "/proc/"));
	pp_value_site_release(&site);
	CU_ASSERT_EQUAL_FATAL(pp_value_site_find(&site, "libc.so.6:malloc:1", &self, &error), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(site.name, "libc.so.6"));
	CU_ASSERT_PTR_NULL(strstr(site.name, "/proc/"));
	pp_value_site_release(&site);
}

/* A program that does nothing but wait for signals: its file. */
static const char *make_waiting(void)
{
	static char path[PATH_MAX];
	struct elf_writer w;

	elf_writer_init(&w);
	/* mov $34, %eax (pause); syscall; jmp to the first */
	memcpy(w.text, "\xb8\x22\0\0\0\x0f\x05\xeb\xf7", 9);
	elf_writer_symbol(&w, "waits", 0x00, 0x09, GLOBAL);
	w.entry = WRITER_TEXT;
	snprintf(path, sizeof(path), "%s/waiting", unit_tmpdir());
	elf_writer_save(&w, path);
	CU_ASSERT_FATAL(chmod(path, 0755) == 0);
	return path;
}

/* A process that executes it; the caller ends it. -1: that cannot be done here. */
static pid_t execute(const char *path)
{
	char name[] = "waiting", byte = 1;
	char *const arguments[] = {name, NULL};
	int failed[2];
	pid_t pid;

	CU_ASSERT_FATAL(!pipe2(failed, O_CLOEXEC));
	pid = fork();
	if (pid == 0) {
		execv(path, arguments);
		_exit(write(failed[1], &byte, 1) < 0);
	}
	close(failed[1]);
	if (pid > 0 && read(failed[0], &byte, 1) != 0) {
		CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
		pid = -1;
	}
	close(failed[0]);
	/* the pipe closes in the middle of the exec; with the entry point there, all is mapped */
	while (pid > 0 && !entry_of(pid) && waitpid(pid, NULL, WNOHANG) == 0)
		;
	return pid;
}

/* An update takes the file away: the program's name stays, without what the kernel says of that. */
static void test_running_deleted(void)
{
	const char *path = make_waiting();
	const struct pp_value_target target = {NULL, execute(path)};
	struct pathprof_error error = {""};
	struct pp_value_site site;
	int r;

	if (target.pid < 0) {
		unit_skip("files of /tmp cannot be executed");
		return;
	}
	CU_ASSERT_EQUAL(unlink(path), 0);
	r = pp_value_site_find(&site, "waits:1", &target, &error);
	CU_ASSERT_EQUAL(kill(target.pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(target.pid, NULL, 0), target.pid);
	CU_ASSERT_EQUAL_FATAL(r, 0);
	CU_ASSERT_STRING_EQUAL(strrchr(site.name, '/'), "/waiting");
	pp_value_site_release(&site);
}

/* ---------------------------------------------------------------- the order of libraries */

/* Files as a dynamic linker maps them, by address: what was loaded first lies higher. */
static const char *const mapped_files[] = {
	"libsecond.so",
	"libfirst.so",
	"libfirst.so",
	"ld-made.so.2",
};
#define MAPPED_CNT   (sizeof(mapped_files) / sizeof(mapped_files[0]))
#define MAPPED_BYTES (MAPPED_CNT * WRITER_PAGE)

static void make_library(const char *folder, const char *name, unsigned char info_of_some)
{
	char path[PATH_MAX];
	struct elf_writer w;

	elf_writer_init(&w);
	elf_writer_symbol(&w, "made_in_all", 0x00, 0x10, GLOBAL);
	elf_writer_symbol(&w, "made_static_first", 0x10, 0x10, info_of_some);
	elf_writer_symbol(&w, "made_static_in_all", 0x20, 0x10, LOCAL);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	elf_writer_save(&w, path);
}

/* A page of the file as code at that address. */
static bool map_file(const char *folder, const char *name, char *at)
{
	char path[PATH_MAX];
	void *mapped;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	mapped = mmap(at, WRITER_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	return mapped == at;
}

/* All of them in this process; the caller unmaps MAPPED_BYTES. NULL, said: not possible here. */
static char *map_libraries(const char *folder)
{
	char *pages = mmap(NULL, MAPPED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_FATAL(pages != MAP_FAILED);
	make_library(folder, "libsecond.so", GLOBAL);
	make_library(folder, "libfirst.so", LOCAL);
	make_library(folder, "ld-made.so.2", GLOBAL);
	for (size_t i = 0; i < MAPPED_CNT; i++) {
		if (map_file(folder, mapped_files[i], pages + i * WRITER_PAGE))
			continue;
		munmap(pages, MAPPED_BYTES);
		unit_skip("files of /tmp cannot be mapped as code");
		return NULL;
	}
	return pages;
}

struct told {
	const char *folder;
	char program[PATH_MAX];
	char text[256]; /* names of the folder's files, each with a blank after it */
	size_t len, cnt;
	bool program_first;
};

static int note_library(void *context, const struct pp_value_found *library)
{
	struct told *told = context;
	const char *name = strrchr(library->path, '/') + 1;
	size_t room = sizeof(told->text) - told->len;

	close(library->fd);
	if (!told->cnt++)
		told->program_first = strstr(library->path, told->program) != NULL;
	if (strstr(library->path, told->folder))
		told->len += (size_t)snprintf(told->text + told->len, room, "%s ", name);
	CU_ASSERT_FATAL(told->len < sizeof(told->text));
	return 0;
}

/* The program, then what was loaded first, the dynamic linker last; each file once. */
static void test_order(void)
{
	const struct pp_value_target self = {NULL, getpid()};
	struct told told = {.folder = unit_tmpdir()};
	char *pages = map_libraries(told.folder);

	if (!pages)
		return;
	CU_ASSERT_FATAL(readlink("/proc/self/exe", told.program, sizeof(told.program) - 1) > 0);
	CU_ASSERT_EQUAL(pp_value_libraries(&self, "", note_library, &told), 0);
	munmap(pages, MAPPED_BYTES);
	CU_ASSERT_TRUE(told.program_first);
	CU_ASSERT_STRING_EQUAL(told.text, "libfirst.so libsecond.so ld-made.so.2 ");
}

/* A static function is taken only where no library has one of that name for others. */
static void test_which_library(void)
{
	static const struct {
		const char *what, *library;
	} wanted[] = {
		{"made_in_all:1", "/libfirst.so"},
		{"made_static_first:1", "/libsecond.so"},
		{"made_static_in_all:1", "/libfirst.so"},
	};
	const struct pp_value_target self = {NULL, getpid()};
	char *pages = map_libraries(unit_tmpdir());

	for (size_t i = 0; pages && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct pathprof_error error = {""};
		struct pp_value_site site;

		CU_ASSERT_EQUAL_FATAL(pp_value_site_find(&site, wanted[i].what, &self, &error), 0);
		CU_ASSERT_STRING_EQUAL(strrchr(site.name, '/'), wanted[i].library);
		pp_value_site_release(&site);
	}
	if (pages)
		munmap(pages, MAPPED_BYTES);
}

/* An update replaces a library that a process has mapped: the process goes on in the old file. */
static void test_mapped_replaced(void)
{
	const struct pp_value_target self = {NULL, getpid()};
	const char *folder = unit_tmpdir();
	char *pages = map_libraries(folder);
	char whole[PATH_MAX], what[2][PATH_MAX + 32];
	struct stat old, is;

	if (!pages)
		return;
	snprintf(whole, sizeof(whole), "%s/libfirst.so", folder);
	snprintf(what[0], sizeof(what[0]), "libfirst.so:made_in_all:1");
	snprintf(what[1], sizeof(what[1]), "%s:made_in_all:1", whole);
	CU_ASSERT_FATAL(stat(whole, &old) == 0 && unlink(whole) == 0);
	make_library(folder, "libfirst.so", GLOBAL);
	for (int i = 0; i < 2; i++) {
		struct pathprof_error error = {""};
		struct pp_value_site site;

		CU_ASSERT_EQUAL_FATAL(pp_value_site_find(&site, what[i], &self, &error), 0);
		CU_ASSERT_EQUAL(stat(site.path, &is), 0);
		CU_ASSERT_EQUAL(is.st_ino, old.st_ino);
		CU_ASSERT_STRING_EQUAL(site.name, whole);
		pp_value_site_release(&site);
	}
	munmap(pages, MAPPED_BYTES);
}

/* A child whose root is that folder; it waits until it is killed. -1: that cannot be done here. */
static pid_t fork_into(const char *root)
{
	char byte = 0;
	int ready[2];
	pid_t pid;

	CU_ASSERT_FATAL(!pipe2(ready, O_CLOEXEC));
	pid = fork();
	if (pid == 0) {
		byte = chroot(root) == 0;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (byte)
		return pid;
	CU_ASSERT_EQUAL(kill(pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
	return -1;
}

/* A path means what it means to the process: the same path below our root is another file. */
static void test_other_root(void)
{
	const char *program = make_program(true);
	struct pathprof_error error = {""};
	struct pp_value_target target = {NULL, -1};
	char root[PATH_MAX], what[PATH_MAX + 32];
	struct pp_value_site site;

	snprintf(root, sizeof(root), "%s/root", unit_tmpdir());
	CU_ASSERT_FATAL(mkdir(root, 0755) == 0);
	target.pid = fork_into(root);
	if (target.pid < 0) {
		unit_skip("needs the right to change roots");
		return;
	}
	snprintf(what, sizeof(what), "%s:guarded:2", program);
	CU_ASSERT_EQUAL(pp_value_site_find(&site, what, &target, &error), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no such file"));
	CU_ASSERT_EQUAL(kill(target.pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(target.pid, NULL, 0), target.pid);
}

#define NEEDED_MAX 150

/* A file that needs libraries, and no more of an ELF file than says so. */
struct needing {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3]; /* none, names, dynamic */
	Elf64_Dyn dynamic[NEEDED_MAX + 1];
	char names[NEEDED_MAX * 128];
};

static void fill_needing(struct needing *n, size_t names_len, size_t cnt)
{
	n->head = (Elf64_Ehdr){.e_type = ET_DYN,
			       .e_machine = EM_X86_64,
			       .e_version = EV_CURRENT,
			       .e_ehsize = sizeof(Elf64_Ehdr),
			       .e_shoff = offsetof(struct needing, sections),
			       .e_shentsize = sizeof(Elf64_Shdr),
			       .e_shnum = 3,
			       .e_shstrndx = 1};
	memcpy(n->head.e_ident, ELFMAG, SELFMAG);
	n->head.e_ident[EI_CLASS] = ELFCLASS64;
	n->head.e_ident[EI_DATA] = ELFDATA2LSB;
	n->head.e_ident[EI_VERSION] = EV_CURRENT;
	n->sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct needing, names),
				      .sh_size = names_len,
				      .sh_addralign = 1};
	n->sections[2] = (Elf64_Shdr){.sh_type = SHT_DYNAMIC,
				      .sh_offset = offsetof(struct needing, dynamic),
				      .sh_size = (cnt + 1) * sizeof(Elf64_Dyn),
				      .sh_entsize = sizeof(Elf64_Dyn),
				      .sh_link = 1,
				      .sh_addralign = 8};
}

/* Writes one that needs up to NEEDED_MAX libraries of this machine. How many that are. */
static size_t make_needing(const char *path)
{
	static struct needing n;
	DIR *folder = opendir("/usr/lib/x86_64-linux-gnu");
	const struct dirent *entry;
	size_t len = 1, cnt = 0;
	FILE *file = fopen(path, "we");

	while (folder && cnt < NEEDED_MAX && (entry = readdir(folder))) {
		if (entry->d_type != DT_REG || !strstr(entry->d_name, ".so.") ||
		    strlen(entry->d_name) > 100)
			continue;
		n.dynamic[cnt++] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = len};
		len += (size_t)sprintf(n.names + len, "%s", entry->d_name) + 1;
	}
	if (folder)
		closedir(folder);
	fill_needing(&n, len, cnt);
	CU_ASSERT_FATAL(file && fwrite(&n, sizeof(n), 1, file) == 1 && fclose(file) == 0);
	return cnt;
}

static int count_library(void *context, const struct pp_value_found *library)
{
	size_t *left = context;

	close(library->fd);
	return --*left == 0;
}

/* Large programs need hundreds, and none of them may be passed over in silence. */
static void test_many_libraries(void)
{
	struct pp_value_target target = {.pid = getpid()};
	char path[PATH_MAX];
	size_t left;

	snprintf(path, sizeof(path), "%s/needing", unit_tmpdir());
	left = make_needing(path);
	if (left < 65) {
		unit_skip("this machine has fewer than 65 libraries");
		return;
	}
	target.command = path;
	CU_ASSERT_EQUAL(pp_value_libraries(&target, path, count_library, &left), 1);
	CU_ASSERT_EQUAL(left, 0);
}

/* execvp() looks for a program in the current folder where $PATH has an empty part. */
static void test_search_path(void)
{
	static const char *const paths[] = {"/no/such/folder:", ":/no/such/folder", "", "/no::/so"};
	const char *program = make_program(true), *before = getenv("PATH");
	char *kept = before ? strdup(before) : NULL;
	int here = open(".", O_PATH | O_CLOEXEC);
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", program);
	CU_ASSERT_FATAL(!chmod(program, 0755) && !chdir(dirname(folder)) && here >= 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct pathprof_error error = {""};
		struct pp_value_site site;
		int r;

		setenv("PATH", paths[i], 1);
		r = find(&site, "program", "guarded:2", &error);
		CU_ASSERT_EQUAL(r, 0);
		if (r == 0)
			pp_value_site_release(&site);
	}
	setenv("PATH", "/no/such/folder", 1);
	CU_ASSERT_EQUAL(find(&(struct pp_value_site){.fd = -1}, "program", "guarded:2",
			     &(struct pathprof_error){""}),
			-ENOENT);
	if (kept)
		setenv("PATH", kept, 1);
	else
		unsetenv("PATH");
	free(kept);
	CU_ASSERT_EQUAL(fchdir(here), 0);
	close(here);
}

/* ---------------------------------------------------------------- the command line */

/* Words split by blanks; they live until the next call. */
static int parse(struct pp_args *ret_args, const char *words, struct pathprof_error *error)
{
	static char text[256];
	char *argv[16];
	int argc = 0;

	snprintf(text, sizeof(text), "%s", words);
	for (char *word = strtok(text, " "); word && argc < 15; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return pp_args_parse(ret_args, argc, argv, error);
}

static void test_command_line(void)
{
	struct pathprof_error error = {""};
	struct pp_args args;

	CU_ASSERT_EQUAL_FATAL(parse(&args,
				    "pathprofd --record --db x --value f:1 --value g:2"
				    " --value-sampler P1 -- true",
				    &error),
			      0);
	CU_ASSERT_EQUAL_FATAL(args.value_cnt, 2);
	CU_ASSERT_STRING_EQUAL(args.values[0], "f:1");
	CU_ASSERT_STRING_EQUAL(args.values[1], "g:2");
	CU_ASSERT_STRING_EQUAL(args.value_sampler, "P1");
	CU_ASSERT_EQUAL(parse(&args, "pathprofd --record --db x --value-sampler P1 true", &error),
			-EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "only with --value"));
	CU_ASSERT_EQUAL(parse(&args, "pathprofd --value f:1", &error), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "only with --record"));
	CU_ASSERT_EQUAL(parse(&args, "pathprofd --record --db x true --value", &error), 0);
	CU_ASSERT_EQUAL(args.value_cnt, 0);
	CU_ASSERT_EQUAL(parse(&args, "pathprofd --record --db x --value", &error), -EINVAL);
}

static const struct unit_test tests[] = {
	{"file, function and parameter are told apart", test_parse},
	{"names that are too long are refused", test_too_long},
	{"the command line takes several, with --record alone", test_command_line},
	{"a function is found by name and by place", test_found},
	{"holds the file that it found", test_file_replaced},
	{"what is not there is said with what is near", test_refused},
	{"a file without symbols, a program that is none", test_stripped},
	{"a running process has its program and its libraries", test_running},
	{"a running program that was deleted keeps its name", test_running_deleted},
	{"libraries of a process are told as it searches them", test_order},
	{"of several libraries the one that is called is found", test_which_library},
	{"a library that was replaced is the one that is mapped", test_mapped_replaced},
	{"a process of another root has no files of ours", test_other_root},
	{"libraries of a command are told, however many it needs", test_many_libraries},
	{"a command is looked for as execvp() does", test_search_path},
};
UNIT_SUITE(values_spec, tests)
