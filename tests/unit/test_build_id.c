// SPDX-License-Identifier: GPL-2.0-or-later
/* Identities of code: real files against readelf, hand-made images cut at every length. */
#include "pathprof/build_id.h"
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* An ELF image with one PT_NOTE that holds an unrelated note and then a build-id. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Nhdr other;
	char other_name[4];
	uint8_t other_desc[8]; /* 5 used */
	Elf64_Nhdr note;
	char name[4];
	uint8_t id[20];
};

static void image_init(struct image *i)
{
	memset(i, 0, sizeof(*i));
	memcpy(i->header.e_ident, ELFMAG, SELFMAG);
	i->header.e_ident[EI_CLASS] = ELFCLASS64;
	i->header.e_ident[EI_DATA] = ELFDATA2LSB;
	i->header.e_ident[EI_VERSION] = EV_CURRENT;
	i->header.e_type = ET_DYN;
	i->header.e_machine = EM_X86_64;
	i->header.e_version = EV_CURRENT;
	i->header.e_ehsize = sizeof(i->header);
	i->header.e_phoff = offsetof(struct image, segment);
	i->header.e_phentsize = sizeof(Elf64_Phdr);
	i->header.e_phnum = 1;
	i->segment.p_type = PT_NOTE;
	i->segment.p_offset = offsetof(struct image, other);
	i->segment.p_filesz = sizeof(*i) - offsetof(struct image, other);
	i->segment.p_align = 4;
	i->other = (Elf64_Nhdr){4, 5, NT_GNU_ABI_TAG};
	memcpy(i->other_name, "GNU", 4);
	i->note = (Elf64_Nhdr){4, sizeof(i->id), NT_GNU_BUILD_ID};
	memcpy(i->name, "GNU", 4);
	for (size_t b = 0; b < sizeof(i->id); b++)
		i->id[b] = (uint8_t)(0xa0 + b);
}

/* Reads from a copy of exactly this length, so that a sanitizer sees a step too far. */
static int read_copy(struct pathprof_build_id *id, const void *image, size_t len)
{
	void *copy = malloc(len ? len : 1);
	int rc;

	if (!copy)
		abort();
	memcpy(copy, image, len);
	rc = pathprof_build_id_read_memory(id, copy, len);
	free(copy);
	return rc;
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(bytes, 1, len, f) != len || fclose(f))
		abort();
}

static void test_memory(void)
{
	struct pathprof_build_id id;
	struct image image;

	image_init(&image);
	CU_ASSERT_EQUAL(read_copy(&id, &image, sizeof(image)), 0);
	CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_BUILD_ID);
	CU_ASSERT_EQUAL(id.len_bytes, 20);
	CU_ASSERT_EQUAL(memcmp(id.bytes, image.id, 20), 0);
	image.note.n_type = NT_GNU_ABI_TAG;
	CU_ASSERT_EQUAL(read_copy(&id, &image, sizeof(image)), -ENOENT);
	image.header.e_phnum = 0;
	CU_ASSERT_EQUAL(read_copy(&id, &image, sizeof(image)), -ENOENT);
}

static void test_memory_cut(void)
{
	struct pathprof_build_id id;
	struct image image;

	image_init(&image);
	for (size_t len = 0; len < sizeof(image); len++)
		CU_ASSERT_EQUAL(read_copy(&id, &image, len), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_build_id_read_memory(&id, NULL, 0), -EINVAL);
}

/* Each 32-bit word of headers and notes in turn says something enormous or odd. */
static void test_memory_hostile(void)
{
	static const uint32_t values[] = {0, 1, 3, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
	struct pathprof_build_id before, id;
	struct image image;

	memset(&before, 0x5a, sizeof(before));
	for (size_t at = 0; at + 4 <= sizeof(image); at += 4)
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			image_init(&image);
			memcpy((uint8_t *)&image + at, &values[v], 4);
			id = before;
			int rc = read_copy(&id, &image, sizeof(image));
			CU_ASSERT(rc == 0 || rc == -ENOENT || rc == -EINVAL);
			CU_ASSERT(rc == 0 ? id.len_bytes >= 1 && id.len_bytes <= 20
					  : !memcmp(&id, &before, sizeof(id)));
		}
}

static void test_lengths(void)
{
	struct pathprof_build_id id;
	struct {
		struct image image;
		uint8_t more[12];
	} big = {.more = {1}};

	for (uint32_t len = 0; len <= 32; len++) {
		image_init(&big.image);
		big.image.segment.p_filesz += sizeof(big.more);
		big.image.note.n_descsz = len;
		int rc = read_copy(&id, &big, sizeof(big));
		CU_ASSERT_EQUAL(rc, len ? 0 : -ENOENT);
		if (!rc)
			CU_ASSERT_EQUAL(id.len_bytes, len < 20 ? len : 20);
	}
}

static size_t vdso_size(uintptr_t start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uintptr_t from, to;
	size_t size = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 && from == start)
			size = to - from;
	if (maps)
		fclose(maps);
	return size;
}

static void test_vdso(void)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	size_t size = start ? vdso_size(start) : 0;
	struct pathprof_build_id id;

	if (!size) {
		unit_skip("this kernel maps no vDSO");
		return;
	}
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel hands over a number */
	CU_ASSERT_EQUAL(pathprof_build_id_read_memory(&id, (const void *)start, size), 0);
	CU_ASSERT_EQUAL(id.len_bytes, 20);
}

/* The build-id by readelf, in lower-case hex; "" if there is none. */
static void readelf_id(const char *path, char *ret_text, size_t size)
{
	char command[512], line[256];
	FILE *p;

	snprintf(command, sizeof(command), "readelf -nW %s 2>/dev/null", path);
	p = popen(command, "re"); /* NOLINT(cert-env33-c): a name from here */
	ret_text[0] = 0;
	while (p && fgets(line, sizeof(line), p)) {
		char *at = strstr(line, "Build ID: ");
		if (at)
			snprintf(ret_text, size, "%.*s", (int)strcspn(at + 10, "\n"), at + 10);
	}
	if (p)
		pclose(p);
}

static void test_file(void)
{
	static const char *const files[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/bin/sh",
					    "/usr/bin/python3", "/lib64/ld-linux-x86-64.so.2"};
	char want[128], text[PATHPROF_BUILD_ID_TEXT_LEN];
	int compared = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct pathprof_build_id id;

		readelf_id(files[i], want, sizeof(want));
		if (!want[0])
			continue;
		CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, files[i], NULL), 0);
		CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_BUILD_ID);
		CU_ASSERT_STRING_EQUAL(pathprof_build_id_text(&id, text), want);
		compared++;
	}
	if (!compared)
		unit_skip("readelf knows no build-id here");
}

static void test_file_and_memory_agree(void)
{
	struct pathprof_build_id a, b;
	struct image image;
	char path[256];

	image_init(&image);
	snprintf(path, sizeof(path), "%s/image", unit_tmpdir());
	write_file(path, &image, sizeof(image));
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&a, path, NULL), 0);
	CU_ASSERT_EQUAL(read_copy(&b, &image, sizeof(image)), 0);
	CU_ASSERT(pathprof_build_id_equal(&a, &b));
}

/* ---------------------------------------------------------------- files that claim much */

#define NOTES      1500
#define NOTE_BYTES (UINT64_C(1) << 20)

/* A sparse file of as many segments of notes, the last of which has the build-id. */
static void write_sparse(const char *path, uint16_t segment_cnt, uint64_t segment_bytes)
{
	FILE *file = fopen(path, "we");
	uint64_t first = UINT64_C(1) << 22;
	struct image image;

	if (!file)
		abort();
	image_init(&image);
	image.header.e_phnum = segment_cnt;
	fwrite(&image.header, sizeof(image.header), 1, file);
	for (uint16_t i = 0; i < segment_cnt; i++) {
		image.segment.p_offset = first + i * segment_bytes;
		image.segment.p_filesz = segment_bytes;
		fwrite(&image.segment, sizeof(image.segment), 1, file);
	}
	fseeko(file, (off_t)image.segment.p_offset, SEEK_SET);
	fwrite(&image.other, sizeof(image) - offsetof(struct image, other), 1, file);
	fflush(file);
	if (ftruncate(fileno(file), (off_t)(first + segment_cnt * segment_bytes)) || fclose(file))
		abort();
}

static long resident_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Each note is 12 bytes without a name, so a terabyte of them takes hours to walk, too. */
static void test_file_that_claims_much(void)
{
	long before_kb = resident_kb();
	struct pathprof_build_id id;
	char path[256];

	snprintf(path, sizeof(path), "%s/sparse", unit_tmpdir());
	write_sparse(path, 2, 1200);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_BUILD_ID);
	write_sparse(path, NOTES, NOTE_BYTES);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_FILE);
	write_sparse(path, 2, UINT64_C(1) << 40);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_FILE);
	CU_ASSERT(resident_kb() - before_kb < 32 << 10);
}

/* A file of the other class; its notes are the same. */
static void test_file_of_32_bits(void)
{
	struct image image;
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		char notes[sizeof(image) - offsetof(struct image, other)];
	} small;
	struct pathprof_build_id id;
	char path[256];

	image_init(&image);
	memset(&small, 0, sizeof(small));
	memcpy(small.header.e_ident, image.header.e_ident, EI_NIDENT);
	small.header.e_ident[EI_CLASS] = ELFCLASS32;
	small.header.e_phoff = sizeof(small.header);
	small.header.e_phentsize = sizeof(small.segment);
	small.header.e_phnum = 1;
	small.segment.p_type = PT_NOTE;
	small.segment.p_offset = sizeof(small.header) + sizeof(small.segment);
	small.segment.p_filesz = sizeof(small.notes);
	small.segment.p_align = 4;
	memcpy(small.notes, &image.other, sizeof(small.notes));
	snprintf(path, sizeof(path), "%s/small", unit_tmpdir());
	write_file(path, &small, sizeof(small));
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_BUILD_ID);
	CU_ASSERT_EQUAL(memcmp(id.bytes, image.id, 20), 0);
	small.header.e_phentsize++;
	write_file(path, &small, sizeof(small));
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
	CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_FILE);
}

/* Only sections, as object files and kernel modules have; more of them than the header can say. */
static void test_file_of_sections(void)
{
	struct pathprof_build_id id;
	Elf64_Shdr sections[3] = {{.sh_size = 3}, {.sh_type = SHT_PROGBITS}, {.sh_type = SHT_NOTE}};
	struct image image;
	char path[256];
	FILE *file;

	image_init(&image);
	image.header.e_phnum = 0;
	image.header.e_shoff = sizeof(image);
	image.header.e_shentsize = sizeof(Elf64_Shdr);
	sections[2].sh_offset = offsetof(struct image, other);
	sections[2].sh_size = sizeof(image) - offsetof(struct image, other);
	snprintf(path, sizeof(path), "%s/sections", unit_tmpdir());
	for (uint16_t cnt = 0; cnt <= 3; cnt++) {
		image.header.e_shnum = cnt;
		file = fopen(path, "we");
		if (!file || fwrite(&image, sizeof(image), 1, file) != 1 ||
		    fwrite(sections, sizeof(sections), 1, file) != 1 || fclose(file))
			abort();
		CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, NULL), 0);
		CU_ASSERT_EQUAL(id.kind,
				cnt == 0 || cnt == 3 ? PATHPROF_ID_BUILD_ID : PATHPROF_ID_FILE);
	}
}

static void test_file_without(void)
{
	struct pathprof_build_id first, again, touched;
	struct timespec times[2] = {{1, 0}, {1, 0}};
	char path[256];

	snprintf(path, sizeof(path), "%s/plain", unit_tmpdir());
	write_file(path, "no ELF", 6);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&first, path, NULL), 0);
	CU_ASSERT_EQUAL(first.kind, PATHPROF_ID_FILE);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&again, path, NULL), 0);
	CU_ASSERT(pathprof_build_id_equal(&first, &again));
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, times, 0), 0);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&touched, path, NULL), 0);
	CU_ASSERT(!pathprof_build_id_equal(&first, &touched));
}

static void test_unreadable(void)
{
	struct pathprof_build_id before, id;
	struct pathprof_error error = {""};
	char path[256];

	memset(&before, 0x5a, sizeof(before));
	id = before;
	snprintf(path, sizeof(path), "%s/fifo", unit_tmpdir());
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, &error), -ENOENT);
	CU_ASSERT(strstr(error.text, path) != NULL);
	CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, path, &error), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_build_id_read_file(&id, "/dev/null", &error), -EINVAL);
	CU_ASSERT_EQUAL(memcmp(&id, &before, sizeof(id)), 0);
}

/* A note that cannot be read is not known to be missing. */
static void test_read_failure(void)
{
	struct pathprof_build_id before, id;
	struct pathprof_error error = {""};
	struct image image;
	char path[256];
	int fd;

	memset(&before, 0x5a, sizeof(before));
	id = before;
	image_init(&image);
	snprintf(path, sizeof(path), "%s/unread", unit_tmpdir());
	write_file(path, &image, sizeof(image));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(pathprof_build_id_read_fd(&id, fd, path, &error), -EBADF);
	CU_ASSERT(strstr(error.text, path) != NULL);
	CU_ASSERT_EQUAL(memcmp(&id, &before, sizeof(id)), 0);
	close(fd);
}

static void test_made(void)
{
	struct pathprof_build_id id, other;
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	/* Published FNV-1a values. */
	pathprof_build_id_make(&id, PATHPROF_ID_JIT, "", 0);
	CU_ASSERT_STRING_EQUAL(pathprof_build_id_text(&id, text),
			       "6c62272e07bb014262b821756295c58d");
	pathprof_build_id_make(&id, PATHPROF_ID_JIT, "foobar", 6);
	CU_ASSERT_STRING_EQUAL(pathprof_build_id_text(&id, text),
			       "343e1662793c64bf6f0d3597ba446f18");
	pathprof_build_id_make(&other, PATHPROF_ID_FILE, "foobar", 6);
	CU_ASSERT(!pathprof_build_id_equal(&id, &other));
}

/* The planted fault: one bit off anywhere is another identity. */
static void test_equal_sees_each_bit(void)
{
	struct pathprof_build_id a, b;

	pathprof_build_id_make(&a, PATHPROF_ID_JIT, "x", 1);
	for (unsigned int bit = 0; bit < 8u * a.len_bytes; bit++) {
		b = a;
		CU_ASSERT(pathprof_build_id_equal(&a, &b));
		b.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CU_ASSERT(!pathprof_build_id_equal(&a, &b));
	}
	b = a;
	b.bytes[a.len_bytes] ^= 1; /* not part of it */
	CU_ASSERT(pathprof_build_id_equal(&a, &b));
}

static const struct unit_test tests[] = {
	{"the note of an image in memory is found behind others", test_memory},
	{"an image cut anywhere is refused", test_memory_cut},
	{"hostile headers and notes are survived, output untouched", test_memory_hostile},
	{"lengths from 1 on; longer than 20 are cut", test_lengths},
	{"the vDSO of this process has one", test_vdso},
	{"files agree with readelf", test_file},
	{"a file and its image agree", test_file_and_memory_agree},
	{"a file that claims much is read in part", test_file_that_claims_much},
	{"a file of 32 bits has one, too", test_file_of_32_bits},
	{"a file of sections has one, too", test_file_of_sections},
	{"a file without a note is known by what stat says", test_file_without},
	{"what is missing or no regular file is refused", test_unreadable},
	{"a file that cannot be read gets no identity", test_read_failure},
	{"made identities follow FNV-1a", test_made},
	{"a single flipped bit is another identity", test_equal_sees_each_bit},
};
UNIT_SUITE(build_id, tests)
