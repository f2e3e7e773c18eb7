// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Separate debug files: see pp_debug_files.h. */
#include "pp_debug_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "pathprof/build_id.h"
#include "pathprof/foreign.h"

#define DEBUG_ROOT "/usr/lib/debug"
/* The longest file of which a checksum is computed: a sparse file may have any length. */
#define CRC_MAX_BYTES (INT64_C(4) << 30)

/* The identity that the file must have. */
struct wanted {
	const struct pathprof_code *code;
	struct pathprof_build_id id; /* kind BUILD_ID: this one; else: of this checksum */
	uint32_t crc;
};

/* ---------------------------------------------------------------- is it the one */

static bool has_crc(int fd, uint32_t crc)
{
	uint8_t bytes[16384];
	uLong sum = crc32(0, NULL, 0);
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || st.st_size > CRC_MAX_BYTES)
		return false;
	/* A file system may deliver more bytes than the size that it reports. */
	for (off_t at = 0; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n) {
		if (at > CRC_MAX_BYTES)
			return false;
		sum = crc32(sum, bytes, (uInt)n);
	}
	return n == 0 && sum == crc;
}

/* A file whose link names the file itself has nothing to add. */
static bool is_code_itself(const struct pathprof_code *code, int fd)
{
	struct stat st, own;

	return fstat(fd, &st) || fstat(code->fd, &own) ||
	       (st.st_dev == own.st_dev && st.st_ino == own.st_ino);
}

static bool is_wanted(const struct wanted *w, int fd, const char *path)
{
	struct pathprof_build_id id;

	if (is_code_itself(w->code, fd))
		return false;
	if (w->id.kind != PATHPROF_ID_BUILD_ID)
		return has_crc(fd, w->crc);
	return !pathprof_build_id_read_fd(&id, fd, path, NULL) &&
	       pathprof_build_id_equal(&id, &w->id);
}

/* len: what the caller's snprintf into path returned. */
static int try_path(const struct wanted *w, int root_fd, const char *path, int len)
{
	int fd;

	if (len <= 0 || len >= PATH_MAX)
		return -ENOENT;
	fd = pathprof_foreign_open(root_fd, path, NULL);
	if (fd < 0 || is_wanted(w, fd, path))
		return fd < 0 ? -ENOENT : fd;
	close(fd);
	return -ENOENT;
}

/* ---------------------------------------------------------------- where it may lie */

static int try_id(const struct wanted *w, int root_fd)
{
	char hex[PATHPROF_BUILD_ID_TEXT_LEN], path[PATH_MAX];

	if (w->id.kind != PATHPROF_ID_BUILD_ID || w->id.len_bytes < 2)
		return -ENOENT;
	pathprof_build_id_text(&w->id, hex);
	return try_path(
		w, root_fd, path,
		snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2));
}

static int try_by_id(const struct wanted *w)
{
	int fd = try_id(w, PATHPROF_OWN_ROOT);

	if (fd < 0 && w->code->root_fd >= 0)
		fd = try_id(w, w->code->root_fd);
	return fd;
}

/* In the directory that file lies in, below that, and where distributions put them. */
static int try_beside(const struct wanted *w, const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	int root = w->code->root_fd, dir = (int)(slash ? slash - file : 0), fd;
	char path[PATH_MAX];

	if (file[0] != '/' || !slash)
		return -ENOENT;
	fd = try_path(w, root, path, snprintf(path, sizeof(path), "%.*s/%s", dir, file, name));
	if (fd < 0)
		fd = try_path(w, root, path,
			      snprintf(path, sizeof(path), "%.*s/.debug/%s", dir, file, name));
	if (fd < 0)
		fd = try_path(w, root, path,
			      snprintf(path, sizeof(path), DEBUG_ROOT "%.*s/%s", dir, file, name));
	return fd;
}

/* The path without links: what the file was called when it was opened. */
static const char *real_path(const struct pathprof_code *code, char path[static PATH_MAX])
{
	char link[40];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", code->fd);
	len = readlink(link, path, PATH_MAX - 1);
	path[len > 0 ? len : 0] = '\0';
	return path;
}

static int try_names(const struct wanted *w, const char *name)
{
	const struct pathprof_code *code = w->code;
	char real[PATH_MAX];
	int fd = try_beside(w, code->path, name);

	/* as seen from our root: of no use below another */
	if (fd < 0 && code->root_fd == PATHPROF_OWN_ROOT &&
	    strcmp(real_path(code, real), code->path) != 0)
		fd = try_beside(w, real, name);
	return fd;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int pp_debug_file_find(const struct pathprof_code *code, const char *link, uint32_t crc)
{
	struct wanted w = {.code = code, .crc = crc};
	char name[NAME_MAX + 1];
	int fd;

	if (pathprof_build_id_read_fd(&w.id, code->fd, code->path, NULL))
		return -ENOENT;
	fd = try_by_id(&w);
	if (fd >= 0 || (!link && w.id.kind != PATHPROF_ID_BUILD_ID))
		return fd;
	if (snprintf(name, sizeof(name), "%s%s", link ? link : base_name(code->path),
		     link ? "" : ".debug") >= (int)sizeof(name) ||
	    strchr(name, '/'))
		return -ENOENT;
	return try_names(&w, name);
}

int pp_debug_file_find_common(const struct pathprof_code *code, const char *name, const void *id,
			      size_t id_bytes)
{
	struct wanted w = {.code = code, .id.kind = PATHPROF_ID_BUILD_ID};
	int fd;

	if (!id_bytes || id_bytes > sizeof(w.id.bytes))
		return -ENOENT;
	w.id.len_bytes = (uint8_t)id_bytes;
	memcpy(w.id.bytes, id, id_bytes);
	fd = try_by_id(&w);
	if (fd < 0 && name[0] == '/')
		fd = try_path(&w, code->root_fd, name, (int)strnlen(name, PATH_MAX));
	return fd < 0 && name[0] != '/' ? try_names(&w, name) : fd;
}

/* ---------------------------------------------------------------- nothing */

/* libdw takes a file for debug information when one of its sections is there. */
struct image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3]; /* none, .debug_frame, .shstrtab */
	char names[32];
	uint64_t no_frames;
};

struct pp_nothing {
	Elf *elf;
	Dwarf *dwarf;
	struct image image;
};

static void fill(struct image *image)
{
	static const char names[] = "\0.debug_frame\0.shstrtab";

	*image = (struct image){
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_shoff = offsetof(struct image, sections),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 2},
		.sections = {{.sh_type = SHT_NULL},
			     {.sh_name = 1,
			      .sh_type = SHT_PROGBITS,
			      .sh_offset = offsetof(struct image, no_frames),
			      .sh_size = sizeof(image->no_frames),
			      .sh_addralign = 8},
			     {.sh_name = 14,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct image, names),
			      .sh_size = sizeof(image->names),
			      .sh_addralign = 1}},
	};
	memcpy(image->names, names, sizeof(names));
}

struct pp_nothing *pp_nothing_new(void)
{
	struct pp_nothing *nothing = calloc(1, sizeof(*nothing));

	if (!nothing)
		return NULL;
	fill(&nothing->image);
	nothing->elf = elf_memory((char *)&nothing->image, sizeof(nothing->image));
	nothing->dwarf = nothing->elf ? dwarf_begin_elf(nothing->elf, DWARF_C_READ, NULL) : NULL;
	if (nothing->dwarf)
		return nothing;
	pp_nothing_free(nothing);
	return NULL;
}

Dwarf *pp_nothing_dwarf(struct pp_nothing *nothing)
{
	return nothing->dwarf;
}

void pp_nothing_free(struct pp_nothing *nothing)
{
	if (!nothing)
		return;
	dwarf_end(nothing->dwarf);
	elf_end(nothing->elf);
	free(nothing);
}
