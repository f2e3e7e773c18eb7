// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Identities of code: the GNU build-id note, or a digest of what else identifies a file.
 *
 * Workload: once for each file ever mapped executable, whoever made it: a reader of its own, with a
 * bound to what it reads and no memory but its stack. (libelf keeps each note it is asked for, and
 * allocates for as many sections as the file claims.) Locking: none, no state. Ownership: results
 * are copies.
 *
 * Source: the note format of the ELF gABI, chapter 5; FNV-1a, 128 bits (draft-eastlake-fnv).
 */
#include "pathprof/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pathprof/foreign.h"

/*
 * The most that is read of a file for its notes, its headers included. Real notes have some hundred
 * bytes; a file that claims more is not worth reading.
 */
#define READ_MAX_BYTES (64u << 10)
/* Each read of the file is charged this much beside its bytes, so that a million small notes are
 * bounded as well. */
#define READ_COST_BYTES 28

#define DIGEST_LEN 16

/* Nearly all files have their headers and notes in this many first bytes. */
#define HEAD_BYTES 4096

/*
 * The source of bytes: an image in memory, or a file, whose head is read at once and the rest in
 * pieces, never more than left_bytes in all.
 */
struct source {
	const uint8_t *image; /* or the file's head */
	uint64_t image_bytes;
	int fd; /* -1: there is nothing but the image */
	uint64_t left_bytes;
	int failure; /* of reading the file, -errno; 0: none */
};

static bool lies_within(uint64_t offset, uint64_t len_bytes, uint64_t size)
{
	return offset <= size && len_bytes <= size - offset;
}

static bool read_piece(struct source *source, uint64_t offset, void *to, size_t len_bytes)
{
	ssize_t had;

	do
		had = pread(source->fd, to, len_bytes, (off_t)offset);
	while (had < 0 && errno == EINTR);
	if (had < 0)
		source->failure = -errno;
	return had == (ssize_t)len_bytes;
}

static bool take(struct source *source, uint64_t offset, void *to, size_t len_bytes)
{
	uint64_t cost_bytes = len_bytes + READ_COST_BYTES;

	if (lies_within(offset, len_bytes, source->image_bytes)) {
		memcpy(to, source->image + offset, len_bytes);
		return true;
	}
	if (source->fd < 0 || !lies_within(offset, len_bytes, INT64_MAX) ||
	    cost_bytes > source->left_bytes)
		return false;
	source->left_bytes -= cost_bytes;
	return read_piece(source, offset, to, len_bytes);
}

static uint64_t align_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) & ~(to - 1);
}

/* Longer ones exist (--build-id=sha256); their beginning identifies as well, and it is what the
 * kernel and perf keep. */
static bool take_id(struct source *source, uint64_t offset, uint64_t len_bytes,
		    struct pathprof_build_id *ret_id)
{
	struct pathprof_build_id id = {.kind = PATHPROF_ID_BUILD_ID};

	if (len_bytes > PATHPROF_BUILD_ID_MAX)
		len_bytes = PATHPROF_BUILD_ID_MAX;
	id.len_bytes = (uint8_t)len_bytes;
	if (!take(source, offset, id.bytes, len_bytes))
		return false;
	*ret_id = id;
	return true;
}

static bool is_build_id(struct source *source, uint64_t at, const Elf64_Nhdr *note)
{
	char name[sizeof("GNU")];

	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(name) &&
	       note->n_descsz && take(source, at + sizeof(*note), name, sizeof(name)) &&
	       !memcmp(name, "GNU", sizeof(name));
}

/* Finds the build-id among little-endian notes in [at, end), padded to 4, or to 8 if align is 8. */
static int find_note(struct source *source, uint64_t at, uint64_t end, uint64_t align,
		     struct pathprof_build_id *ret_id)
{
	uint64_t pad = align == 8 ? 8 : 4;
	Elf64_Nhdr note;

	while (end - at >= sizeof(note) && take(source, at, &note, sizeof(note))) {
		uint64_t desc = align_up(sizeof(note) + note.n_namesz, pad);
		uint64_t next = align_up(desc + note.n_descsz, pad);

		if (desc + note.n_descsz > end - at)
			return -ENOENT;
		if (is_build_id(source, at, &note))
			return take_id(source, at + desc, note.n_descsz, ret_id) ? 0 : -ENOENT;
		if (next >= end - at)
			return -ENOENT;
		at += next;
	}
	return -ENOENT;
}

/* ---------------------------------------------------------------- a file */

/* The position of the headers of segments or of sections, in a file of either class. */
struct table {
	uint64_t offset, cnt;
	uint16_t entry_bytes;
};

struct headers {
	bool is_64bit;
	struct table segments, sections;
};

static bool take_entry(struct source *source, const struct table *table, uint64_t index, void *to,
		       size_t entry_bytes)
{
	return table->entry_bytes == entry_bytes &&
	       take(source, table->offset + index * entry_bytes, to, entry_bytes);
}

static bool take_section(struct source *source, const struct headers *h, uint64_t index,
			 Elf64_Shdr *ret_section)
{
	Elf32_Shdr s;

	if (h->is_64bit)
		return take_entry(source, &h->sections, index, ret_section, sizeof(*ret_section));
	if (!take_entry(source, &h->sections, index, &s, sizeof(s)))
		return false;
	*ret_section = (Elf64_Shdr){.sh_type = s.sh_type,
				    .sh_offset = s.sh_offset,
				    .sh_size = s.sh_size,
				    .sh_info = s.sh_info,
				    .sh_addralign = s.sh_addralign};
	return true;
}

static bool take_segment(struct source *source, const struct headers *h, uint64_t index,
			 Elf64_Phdr *ret_segment)
{
	Elf32_Phdr s;

	if (h->is_64bit)
		return take_entry(source, &h->segments, index, ret_segment, sizeof(*ret_segment));
	if (!take_entry(source, &h->segments, index, &s, sizeof(s)))
		return false;
	*ret_segment = (Elf64_Phdr){.p_type = s.p_type,
				    .p_offset = s.p_offset,
				    .p_filesz = s.p_filesz,
				    .p_align = s.p_align};
	return true;
}

/* Counts that the header has no room for stand in the first section's. */
static void extend(struct source *source, struct headers *h)
{
	Elf64_Shdr first;

	if (!h->sections.offset || (h->sections.cnt && h->segments.cnt != PN_XNUM) ||
	    !take_section(source, h, 0, &first))
		return;
	if (!h->sections.cnt)
		h->sections.cnt = first.sh_size;
	if (h->segments.cnt == PN_XNUM)
		h->segments.cnt = first.sh_info;
}

static bool take_headers(struct source *source, struct headers *ret_headers)
{
	uint8_t ident[EI_NIDENT];
	Elf64_Ehdr h64;
	Elf32_Ehdr h32;

	if (!take(source, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (ident[EI_CLASS] == ELFCLASS64 && take(source, 0, &h64, sizeof(h64)))
		*ret_headers = (struct headers){true,
						{h64.e_phoff, h64.e_phnum, h64.e_phentsize},
						{h64.e_shoff, h64.e_shnum, h64.e_shentsize}};
	else if (ident[EI_CLASS] == ELFCLASS32 && take(source, 0, &h32, sizeof(h32)))
		*ret_headers = (struct headers){false,
						{h32.e_phoff, h32.e_phnum, h32.e_phentsize},
						{h32.e_shoff, h32.e_shnum, h32.e_shentsize}};
	else
		return false;
	extend(source, ret_headers);
	return true;
}

/* In a segment or section of notes. */
static int find_within(struct source *source, uint64_t offset, uint64_t len_bytes, uint64_t align,
		       struct pathprof_build_id *ret_id)
{
	if (offset > INT64_MAX || len_bytes > INT64_MAX)
		return -ENOENT;
	return find_note(source, offset, offset + len_bytes, align, ret_id);
}

static int find_in_segments(struct source *source, const struct headers *h,
			    struct pathprof_build_id *ret_id)
{
	Elf64_Phdr ph;

	for (uint64_t i = 0; i < h->segments.cnt && take_segment(source, h, i, &ph); i++)
		if (ph.p_type == PT_NOTE &&
		    !find_within(source, ph.p_offset, ph.p_filesz, ph.p_align, ret_id))
			return 0;
	return -ENOENT;
}

/* Object files and kernel modules have no segments. */
static int find_in_sections(struct source *source, const struct headers *h,
			    struct pathprof_build_id *ret_id)
{
	Elf64_Shdr sh;

	for (uint64_t i = 1; i < h->sections.cnt && take_section(source, h, i, &sh); i++)
		if (sh.sh_type == SHT_NOTE &&
		    !find_within(source, sh.sh_offset, sh.sh_size, sh.sh_addralign, ret_id))
			return 0;
	return -ENOENT;
}

/* -ENOENT: it has none; another -errno: it cannot be read, so nobody knows. */
static int find_in_file(struct pathprof_build_id *ret_id, int fd)
{
	uint8_t head[HEAD_BYTES];
	ssize_t head_bytes = pread(fd, head, sizeof(head), 0);
	struct source source = {.image = head,
				.image_bytes = head_bytes > 0 ? (uint64_t)head_bytes : 0,
				.fd = fd,
				.left_bytes = READ_MAX_BYTES};
	struct headers h;

	if (take_headers(&source, &h) &&
	    (!find_in_segments(&source, &h, ret_id) || !find_in_sections(&source, &h, ret_id)))
		return 0;
	return source.failure ? source.failure : -ENOENT;
}

static void identify_file(struct pathprof_build_id *ret_id, const struct stat *st)
{
	char facts[128];
	int len = snprintf(facts, sizeof(facts), "%ju %ju %jd %jd.%09ld", (uintmax_t)st->st_dev,
			   (uintmax_t)st->st_ino, (intmax_t)st->st_size,
			   (intmax_t)st->st_mtim.tv_sec, (long)st->st_mtim.tv_nsec);

	pathprof_build_id_make(ret_id, PATHPROF_ID_FILE, facts, (size_t)len);
}

int pathprof_build_id_read_fd(struct pathprof_build_id *ret_id, int fd, const char *path,
			      struct pathprof_error *error)
{
	struct stat st;
	int r;

	if (fstat(fd, &st))
		return pathprof_fail(error, -errno, "%s: cannot be examined: %m", path);
	r = find_in_file(ret_id, fd);
	if (r && r != -ENOENT)
		return pathprof_fail(error, r, "%s: its build-id cannot be read: %s", path,
				     strerror(-r));
	if (r)
		identify_file(ret_id, &st);
	return 0;
}

int pathprof_build_id_read_file(struct pathprof_build_id *ret_id, const char *path,
				struct pathprof_error *error)
{
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error);
	int r;

	if (fd < 0)
		return fd;
	r = pathprof_build_id_read_fd(ret_id, fd, path, error);
	close(fd);
	return r;
}

/* ---------------------------------------------------------------- an image in memory */

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
	struct source source = {.image = image, .image_bytes = len_bytes, .fd = -1};
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
		if (!find_note(&source, ph.p_offset, ph.p_offset + ph.p_filesz, ph.p_align, ret_id))
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

/* Fewer bytes than these are no identity: what is filled up to 20 would say next to nothing. */
#define FILLED_LEN_MIN 8

int pathprof_build_id_is_of(const struct pathprof_build_id *recorded,
			    const struct pathprof_build_id *file)
{
	static const uint8_t zeroes[PATHPROF_BUILD_ID_MAX];
	size_t len = length_of(file);

	if (pathprof_build_id_equal(recorded, file))
		return 1;
	return recorded->kind == file->kind && length_of(recorded) == PATHPROF_BUILD_ID_MAX &&
	       len >= FILLED_LEN_MIN && !memcmp(recorded->bytes, file->bytes, len) &&
	       !memcmp(recorded->bytes + len, zeroes, sizeof(zeroes) - len);
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
