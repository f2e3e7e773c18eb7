// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Files by identity and name: see pp_import_files.h. */
#include "pp_import_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/mapped.h"

/* Links stay: a recording may know the file by a link's name. */
static char *absolute(const char *path)
{
	char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0), *joined = NULL;

	if (path[0] == '/')
		return strdup(path);
	if (folder && asprintf(&joined, "%s/%s", folder, path) < 0)
		joined = NULL;
	free(folder);
	return joined;
}

int pathprof_import_files_add(struct pathprof_import_files *files, const char *path,
			      struct pathprof_error *error)
{
	struct pathprof_import_binary binary;
	struct pathprof_code *code = NULL;
	int r;

	if (files->binary_cnt == PATHPROF_IMPORT_BINARY_MAX)
		return pathprof_fail(error, -E2BIG,
				     "--binary: more than %d: name their tree by "
				     "--sysroot",
				     PATHPROF_IMPORT_BINARY_MAX);
	r = pathprof_build_id_read_file(&binary.id, path, error);
	if (r == 0)
		r = pathprof_code_open(&code, path, &binary.id, error);
	if (r < 0)
		return r;
	pathprof_code_free(code);
	binary.path = absolute(path);
	if (!binary.path)
		return pathprof_fail(error, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
	binary.real_path = realpath(path, NULL);
	files->binaries[files->binary_cnt++] = binary;
	return 0;
}

void pathprof_import_files_release(struct pathprof_import_files *files)
{
	while (files->binary_cnt) {
		free(files->binaries[--files->binary_cnt].path);
		free(files->binaries[files->binary_cnt].real_path);
	}
}

void pp_import_trim_id(struct pathprof_build_id *id)
{
	static const uint8_t noughts[PATHPROF_BUILD_ID_MAX];

	if (id->kind != PATHPROF_ID_BUILD_ID || id->len_bytes != PATHPROF_BUILD_ID_MAX ||
	    memcmp(id->bytes + 16, noughts, 4) != 0)
		return;
	/* xxhash and lld's "fast" have 8 bytes; md5 and uuid 16 */
	id->len_bytes = memcmp(id->bytes + 8, noughts, 12) != 0 ? 16 : 8;
}

/* id->kind NONE: of any identity, which is told. */
static int open_path(const char *path, struct pathprof_build_id *id,
		     struct pathprof_code **ret_code)
{
	struct pathprof_build_id found;
	int r;

	if (id->kind != PATHPROF_ID_NONE)
		return pathprof_code_open(ret_code, path, id, NULL);
	r = pathprof_build_id_read_file(&found, path, NULL);
	if (r == 0)
		r = pathprof_code_open(ret_code, path, &found, NULL);
	if (r == 0)
		*id = found;
	return r;
}

const struct pathprof_import_binary *pp_import_files_find(const struct pathprof_import_files *files,
							  const char *name,
							  const struct pathprof_build_id *id)
{
	const struct pathprof_import_binary *found = NULL;

	for (unsigned int i = 0; i < files->binary_cnt; i++) {
		const struct pathprof_import_binary *binary = &files->binaries[i];

		if (id->kind != PATHPROF_ID_NONE) {
			if (pathprof_build_id_is_of(id, &binary->id))
				return binary;
			continue;
		}
		if (!pathprof_mapped_is_named(name, binary->path, binary->real_path))
			continue;
		if (found)
			return NULL;
		found = binary;
	}
	return found;
}

const char *pp_import_files_path(const struct pathprof_import_files *files,
				 const struct pathprof_build_id *id)
{
	for (unsigned int i = 0; i < files->binary_cnt; i++)
		if (pathprof_build_id_is_of(id, &files->binaries[i].id))
			return files->binaries[i].path;
	return NULL;
}

static int open_below(const char *root, const char *name, struct pathprof_build_id *id,
		      struct pathprof_code **ret_code)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s%s", root, name);

	return len > 0 && (size_t)len < sizeof(path) ? open_path(path, id, ret_code)
						     : -ENAMETOOLONG;
}

/*
 * "ROOT/.build-id/ab/cdef.../elf" as perf keeps it, or the file itself as distributions do. Their
 * ".debug" beside it has no code in it and is not looked at.
 */
static int open_by_id(const char *root, const char *leaf, struct pathprof_build_id *id,
		      struct pathprof_code **ret_code)
{
	char text[PATHPROF_BUILD_ID_TEXT_LEN], path[PATH_MAX];
	int len;

	if (id->kind != PATHPROF_ID_BUILD_ID || id->len_bytes < 2)
		return -ENOENT;
	pathprof_build_id_text(id, text);
	len = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", root, text, text + 2, leaf);
	return len > 0 && (size_t)len < sizeof(path) ? open_path(path, id, ret_code)
						     : -ENAMETOOLONG;
}

static int open_kept(struct pathprof_build_id *id, struct pathprof_code **ret_code)
{
	const char *home = getenv("HOME");
	char debug[PATH_MAX];
	int r = -ENOENT;

	if (home && snprintf(debug, sizeof(debug), "%s/.debug", home) < (int)sizeof(debug)) {
		r = open_by_id(debug, "/elf", id, ret_code);
		if (r)
			r = open_by_id(debug, "/vdso", id, ret_code);
	}
	return r ? open_by_id("/usr/lib/debug", "", id, ret_code) : 0;
}

int pp_import_files_open(const struct pathprof_import_files *files, const char *name,
			 struct pathprof_build_id *id, struct pathprof_code **ret_code)
{
	const struct pathprof_import_binary *binary = pp_import_files_find(files, name, id);
	bool known = id->kind != PATHPROF_ID_NONE;

	if (binary && open_path(binary->path, id, ret_code) == 0)
		return 0;
	if (known && !strcmp(name, "[vdso]") && pathprof_code_open_vdso(ret_code, id, NULL) == 0)
		return 0;
	if (files->sysroot && name[0] == '/' && open_below(files->sysroot, name, id, ret_code) == 0)
		return 0;
	/* A file of this host need not be the one that ran, unless it is proven. */
	if (known && name[0] == '/' && open_path(name, id, ret_code) == 0)
		return 0;
	return known && open_kept(id, ret_code) == 0 ? 0 : -ENOENT;
}
