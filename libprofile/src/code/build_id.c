// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Identities of code: the GNU build-id note, or a digest of what else identifies a file.
 *
 * Workload: once for each file ever mapped executable. Locking: none, no state. Ownership: results
 * are copies.
 *
 * Source: the note format of the ELF gABI, chapter 5; FNV-1a, 128 bits (draft-eastlake-fnv).
 */
#include "pathprof/build_id.h"
#include "pp_build_id.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Real ones are some hundred bytes; a file that claims more is not worth the reading. */
#define NOTES_MAX_BYTES (1u << 20)

#define DIGEST_LEN 16

static uint64_t align_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) & ~(to - 1);
}

static void take_note(struct pathprof_build_id *ret_id, const uint8_t *desc, uint64_t len_bytes)
{
	/* Longer ones exist (--build-id=sha256); their beginning identifies as well, and it is what
	 * the kernel and perf keep. */
	if (len_bytes > PATHPROF_BUILD_ID_MAX)
		len_bytes = PATHPROF_BUILD_ID_MAX;
	*ret_id = (struct pathprof_build_id){
		.len_bytes = (uint8_t)len_bytes,
		.kind = PATHPROF_ID_BUILD_ID,
	};
	memcpy(ret_id->bytes, desc, len_bytes);
}

/* Walks the notes in bytes[0..len), little-endian; padding is 4, or 8 in a segment aligned so. */
static int find_note(struct pathprof_build_id *ret_id, const uint8_t *bytes, uint64_t len_bytes,
		     uint64_t align)
{
	uint64_t pad = align == 8 ? 8 : 4;
	uint64_t at = 0;
	Elf64_Nhdr note;

	while (len_bytes - at >= sizeof(note)) {
		memcpy(&note, bytes + at, sizeof(note));
		uint64_t desc = align_up(sizeof(note) + note.n_namesz, pad);
		uint64_t next = align_up(desc + note.n_descsz, pad);

		if (desc + note.n_descsz > len_bytes - at)
			return -ENOENT;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    note.n_descsz && !memcmp(bytes + at + sizeof(note), "GNU", sizeof("GNU"))) {
			take_note(ret_id, bytes + at + desc, note.n_descsz);
			return 0;
		}
		if (next >= len_bytes - at)
			return -ENOENT;
		at += next;
	}
	return -ENOENT;
}

/* ---------------------------------------------------------------- a file, by libelf */

static int find_in_chunk(struct pathprof_build_id *ret_id, Elf *elf, uint64_t offset,
			 uint64_t len_bytes, uint64_t align)
{
	Elf_Data *data;

	if (!len_bytes || len_bytes > NOTES_MAX_BYTES || offset > INT64_MAX)
		return -ENOENT;
	data = elf_getdata_rawchunk(elf, (int64_t)offset, len_bytes, ELF_T_BYTE);
	if (!data || !data->d_buf)
		return -ENOENT;
	return find_note(ret_id, data->d_buf, data->d_size, align);
}

static int find_in_segments(struct pathprof_build_id *ret_id, Elf *elf)
{
	size_t cnt = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &cnt))
		return -ENOENT;
	for (size_t i = 0; i < cnt && i < INT32_MAX && gelf_getphdr(elf, (int)i, &ph); i++)
		if (ph.p_type == PT_NOTE &&
		    !find_in_chunk(ret_id, elf, ph.p_offset, ph.p_filesz, ph.p_align))
			return 0;
	return -ENOENT;
}

/* Object files and kernel modules have no segments. */
static int find_in_sections(struct pathprof_build_id *ret_id, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
		    !find_in_chunk(ret_id, elf, sh.sh_offset, sh.sh_size, sh.sh_addralign))
			return 0;
	return -ENOENT;
}

static int find_in_file(struct pathprof_build_id *ret_id, int fd)
{
	GElf_Ehdr header;
	Elf *elf;
	int rc = -ENOENT;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOENT;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	    header.e_ident[EI_DATA] == ELFDATA2LSB) {
		rc = find_in_segments(ret_id, elf);
		if (rc)
			rc = find_in_sections(ret_id, elf);
	}
	elf_end(elf);
	return rc;
}

static void identify_file(struct pathprof_build_id *ret_id, const struct stat *st)
{
	char facts[128];
	int len = snprintf(facts, sizeof(facts), "%ju %ju %jd %jd.%09ld", (uintmax_t)st->st_dev,
			   (uintmax_t)st->st_ino, (intmax_t)st->st_size,
			   (intmax_t)st->st_mtim.tv_sec, (long)st->st_mtim.tv_nsec);

	pathprof_build_id_make(ret_id, PATHPROF_ID_FILE, facts, (size_t)len);
}

int pp_build_id_read_fd(struct pathprof_build_id *ret_id, int fd, const char *path,
			struct pathprof_error *error)
{
	struct stat st;

	if (fstat(fd, &st))
		return pathprof_fail(error, -errno, "%s: cannot be examined: %m", path);
	if (find_in_file(ret_id, fd))
		identify_file(ret_id, &st);
	return 0;
}

int pp_open_regular(const char *path, struct pathprof_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc;

	if (fd < 0)
		return pathprof_fail(error, -errno, "%s: cannot be opened: %m", path);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	rc = pathprof_fail(error, -EINVAL, "%s: is no regular file", path);
	close(fd);
	return rc;
}

int pathprof_build_id_read_file(struct pathprof_build_id *ret_id, const char *path,
				struct pathprof_error *error)
{
	int fd = pp_open_regular(path, error);
	int rc;

	if (fd < 0)
		return fd;
	rc = pp_build_id_read_fd(ret_id, fd, path, error);
	close(fd);
	return rc;
}

/* ---------------------------------------------------------------- an image in memory */

static bool lies_within(uint64_t offset, uint64_t len_bytes, uint64_t size)
{
	return offset <= size && len_bytes <= size - offset;
}

/* The image may start at any address: headers are copied out. */
static int read_header(Elf64_Ehdr *ret_header, const uint8_t *image, size_t len_bytes)
{
	Elf64_Ehdr h;

	if (!image || len_bytes < sizeof(h))
		return -EINVAL;
	memcpy(&h, image, sizeof(h));
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB)
		return -EINVAL;
	if (h.e_phnum &&
	    (h.e_phentsize != sizeof(Elf64_Phdr) ||
	     !lies_within(h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr), len_bytes)))
		return -EINVAL;
	*ret_header = h;
	return 0;
}

int pathprof_build_id_read_memory(struct pathprof_build_id *ret_id, const void *image,
				  size_t len_bytes)
{
	const uint8_t *bytes = image;
	Elf64_Ehdr header;
	Elf64_Phdr ph;

	if (read_header(&header, bytes, len_bytes))
		return -EINVAL;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		memcpy(&ph, bytes + header.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_NOTE)
			continue;
		if (!lies_within(ph.p_offset, ph.p_filesz, len_bytes))
			return -EINVAL;
		if (!find_note(ret_id, bytes + ph.p_offset, ph.p_filesz, ph.p_align))
			return 0;
	}
	return -ENOENT;
}

/* ---------------------------------------------------------------- any bytes, comparing, text */

void pathprof_build_id_make(struct pathprof_build_id *ret_id, enum pathprof_id_kind kind,
			    const void *bytes, size_t len_bytes)
{
	const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
	unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
	const uint8_t *b = bytes;

	for (size_t i = 0; i < len_bytes; i++)
		hash = (hash ^ b[i]) * prime;
	*ret_id = (struct pathprof_build_id){.len_bytes = DIGEST_LEN, .kind = (uint8_t)kind};
	for (int i = 0; i < DIGEST_LEN; i++)
		ret_id->bytes[i] = (uint8_t)(hash >> (8 * (DIGEST_LEN - 1 - i)));
}

static size_t length_of(const struct pathprof_build_id *id)
{
	return id->len_bytes < PATHPROF_BUILD_ID_MAX ? id->len_bytes : PATHPROF_BUILD_ID_MAX;
}

int pathprof_build_id_equal(const struct pathprof_build_id *a, const struct pathprof_build_id *b)
{
	return a->kind == b->kind && length_of(a) == length_of(b) &&
	       !memcmp(a->bytes, b->bytes, length_of(a));
}

char *pathprof_build_id_text(const struct pathprof_build_id *id, char *text)
{
	static const char digits[] = "0123456789abcdef";
	char *at = text;

	for (size_t i = 0; i < length_of(id); i++) {
		*at++ = digits[id->bytes[i] >> 4];
		*at++ = digits[id->bytes[i] & 15];
	}
	*at = 0;
	return text;
}
