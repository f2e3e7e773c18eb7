/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the files are that a recording speaks of. What is opened is always held to the identity
 * that was recorded; by its name alone a file is taken only when the operator named it or its tree.
 *
 * Searched in this order: the --binary files, the --sysroot, the recorded path on this host, and
 * where perf and distributions keep files by build-id (~/.debug, /usr/lib/debug/.build-id).
 *
 * Workload: once for each file that branches lie in, some hundred. Strings are argv's. One thread.
 */
#ifndef PP_IMPORT_FILES_H
#define PP_IMPORT_FILES_H

#include "pathprof/build_id.h"
#include "pathprof/code.h"
#include "pathprof/error.h"

#define PP_IMPORT_BINARY_MAX 64

struct pp_import_binary {
	char *path; /* absolute */
	struct pathprof_build_id id;
};

struct pp_import_files {
	struct pp_import_binary binaries[PP_IMPORT_BINARY_MAX];
	unsigned int binary_cnt;
	const char *sysroot; /* NULL: none */
};

/*
 * Older perfs write each build-id as 20 bytes, shorter ones filled up with noughts, and do not say
 * so: what ends in as many as would be chance once in 2^32 is cut to the length it must have had.
 */
void pp_import_trim_id(struct pathprof_build_id *id);
/* A --binary: it must be there, and be code. Negative errno, error filled. */
int pp_import_files_add(struct pp_import_files *files, const char *path,
			struct pathprof_error *error);
void pp_import_files_release(struct pp_import_files *files);
/* The path of the file of this identity, as --binary names it; NULL: it names none. */
const char *pp_import_files_path(const struct pp_import_files *files,
				 const struct pathprof_build_id *id);
/*
 * The code of that name and identity. id of kind PATHPROF_ID_NONE (the recording does not say) is
 * filled with that of the file found. -ENOENT: not to be had.
 */
int pp_import_files_open(const struct pp_import_files *files, const char *name,
			 struct pathprof_build_id *id, struct pathprof_code **ret_code);

#endif
