// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of places in code: see symbols.h. */
#include "symbols.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "demangle.h"
#include "text.h"

#define ANSWER_CNT 4096 /* a power of two; each offset has one place, the last asked wins */

struct binary {
	struct pathprof_build_id id;
	struct pathprof_code *code; /* NULL: not to be had, see why */
	struct pathprof_error why;
};

struct answer {
	size_t binary; /* index + 1; 0: empty */
	uint64_t offset;
	struct symbol symbol;
};

struct symbols {
	struct pathprof_store *store;
	struct binary *binaries;
	size_t binary_cnt;
	struct answer *answers; /* ANSWER_CNT */
};

struct symbols *symbols_new(struct pathprof_store *store)
{
	struct symbols *symbols = ctl_alloc(sizeof(*symbols));

	symbols->store = store;
	symbols->answers = ctl_alloc(ANSWER_CNT * sizeof(*symbols->answers));
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->binary_cnt; i++)
		pathprof_code_free(symbols->binaries[i].code);
	free(symbols->binaries);
	free(symbols->answers);
	free(symbols);
}

/* A FIFO or a device would block or act when opened. */
static int open_regular(struct binary *binary, const char *path)
{
	struct stat status;

	if (path[0] != '/')
		return pathprof_fail(&binary->why, -ENOENT, "%s: no file", path);
	if (stat(path, &status) < 0)
		return pathprof_fail(&binary->why, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return pathprof_fail(&binary->why, -EINVAL, "%s: not a regular file", path);
	return pathprof_code_open(&binary->code, path, &binary->id, &binary->why);
}

/* The vDSO is no file, but every process has it, and with the same kernel it is the same. */
static int open_vdso(struct binary *binary)
{
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	_cleanup_free_ char *path = ctl_printf("/proc/self/fd/%d", fd);
	size_t len_bytes;

	if (!image || fd < 0)
		return -ENOENT;
	len_bytes = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	if (write(fd, image, len_bytes) != (ssize_t)len_bytes)
		return -EIO;
	return open_regular(binary, path);
}

/*
 * Where files of a known build-id are kept: debug packages, and what debuginfod fetched before.
 * What such a file lacks (most have no code) the code reader tells when asked for it.
 */
static int open_elsewhere(struct binary *binary)
{
	static const char *const places[] = {"/usr/lib/debug/.build-id/%.2s/%s",
					     "/usr/lib/debug/.build-id/%.2s/%s.debug"};
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_error first = binary->why;

	if (binary->id.kind != PATHPROF_ID_BUILD_ID || binary->id.len_bytes < 2)
		return -ENOENT;
	pathprof_build_id_text(&binary->id, hex);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		_cleanup_free_ char *path = ctl_printf(places[i], hex, hex + 2);

		if (open_regular(binary, path) == 0)
			return 0;
	}
	binary->why = first;
	return -ENOENT;
}

static void open_code(struct binary *binary, const char *name)
{
	int r;

	if (binary->id.kind == PATHPROF_ID_JIT) {
		pathprof_fail(&binary->why, 0, "%s: generated code, gone with its process", name);
		return;
	}
	r = strcmp(name, "[vdso]") == 0 ? open_vdso(binary) : open_regular(binary, name);
	if (r < 0)
		r = open_elsewhere(binary);
	if (r < 0)
		binary->code = NULL;
	if (r < 0 && !binary->why.text[0])
		pathprof_fail(&binary->why, 0, "%s: %s", name, strerror(-r));
}

static size_t find_binary(struct symbols *symbols, const struct pathprof_build_id *id,
			  const char *name)
{
	size_t at;

	for (at = 0; at < symbols->binary_cnt; at++)
		if (pathprof_build_id_equal(&symbols->binaries[at].id, id))
			return at;
	symbols->binaries = ctl_realloc(symbols->binaries, at, at + 1, sizeof(struct binary));
	symbols->binaries[at].id = *id;
	open_code(&symbols->binaries[at], name ? name : "");
	symbols->binary_cnt++;
	return at;
}

struct pathprof_code *symbols_code(struct symbols *symbols, const struct pathprof_build_id *id,
				   const char *binary_name, struct pathprof_error *why)
{
	size_t at = find_binary(symbols, id, binary_name);
	const struct binary *binary = &symbols->binaries[at];

	if (!binary->code && why)
		*why = binary->why;
	return binary->code;
}

static int lookup_jit(struct symbols *symbols, const struct pathprof_build_id *id, uint64_t offset,
		      struct symbol *symbol)
{
	int r = pathprof_store_jit_symbol(symbols->store, id, offset, symbol->name,
					  sizeof(symbol->name), &symbol->start);

	if (r == 0)
		snprintf(symbol->linkage, sizeof(symbol->linkage), "%s", symbol->name);
	return r;
}

/* Without a symbol the function's start may still be known: symbol->start is set then. */
static int lookup_code(struct pathprof_code *code, uint64_t offset, struct symbol *symbol)
{
	const char *name = NULL;
	uint64_t start;
	int r;

	if (!code)
		return -ENOENT;
	r = pathprof_code_function(code, offset, &name, &start);
	if (r < 0)
		return r;
	symbol->start = start;
	if (!name)
		return -ENOENT;
	snprintf(symbol->linkage, sizeof(symbol->linkage), "%s", name);
	demangle(name, symbol->name, sizeof(symbol->name));
	return 0;
}

static void look_up(struct symbols *symbols, size_t at, const char *binary_name, uint64_t offset,
		    struct symbol *symbol)
{
	const struct binary *binary = &symbols->binaries[at];
	int r;

	symbol->start = offset;
	symbol->linkage[0] = 0;
	if (binary->id.kind == PATHPROF_ID_JIT)
		r = lookup_jit(symbols, &binary->id, offset, symbol);
	else
		r = lookup_code(binary->code, offset, symbol);
	symbol->known = r == 0;
	if (r < 0)
		snprintf(symbol->name, sizeof(symbol->name), "%s+0x%" PRIx64,
			 text_base_name(binary_name ? binary_name : ""), symbol->start);
}

const struct symbol *symbols_function(struct symbols *symbols, const struct pathprof_build_id *id,
				      const char *binary_name, uint64_t offset)
{
	size_t at = find_binary(symbols, id, binary_name);
	uint64_t hash = (offset ^ (uint64_t)at << 48) * 0x9e3779b97f4a7c15ULL;
	struct answer *answer = &symbols->answers[hash >> 52 & (ANSWER_CNT - 1)];

	if (answer->binary != at + 1 || answer->offset != offset) {
		look_up(symbols, at, binary_name, offset, &answer->symbol);
		answer->binary = at + 1;
		answer->offset = offset;
	}
	return &answer->symbol;
}

char *symbols_label(struct symbols *symbols, const struct pathprof_build_id *id,
		    const char *binary_name, uint64_t offset)
{
	const struct symbol *symbol = symbols_function(symbols, id, binary_name, offset);

	if (!symbol->known)
		return ctl_printf("%s+0x%" PRIx64, text_base_name(binary_name ? binary_name : ""),
				  offset);
	if (offset == symbol->start)
		return ctl_strdup(symbol->name);
	return ctl_printf("%s+0x%" PRIx64, symbol->name, offset - symbol->start);
}
