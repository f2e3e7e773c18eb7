/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Finding the files that a recording speaks of, by the rules of pathprof/import.h.
 *
 * Workload: once for each file that branches lie in, some hundred. One thread.
 */
#ifndef PP_IMPORT_FILES_H
#define PP_IMPORT_FILES_H

#include "pathprof/code.h"
#include "pathprof/import.h"

/*
 * Older perfs write each build-id as 20 bytes, shorter ones filled up with noughts, and do not say
 * so: what ends in as many as would be chance once in 2^32 is cut to the length it must have had.
 */
void pp_import_trim_id(struct pathprof_build_id *id);
/*
 * The one that is named of this identity, or, where id is of kind PATHPROF_ID_NONE, of this name:
 * exactly one will do. NULL: none.
 */
const struct pathprof_import_binary *pp_import_files_find(const struct pathprof_import_files *files,
							  const char *name,
							  const struct pathprof_build_id *id);
/* The path of the file of this identity, as --binary names it; NULL: it names none. */
const char *pp_import_files_path(const struct pathprof_import_files *files,
				 const struct pathprof_build_id *id);
/*
 * The code of that name and identity. id of kind PATHPROF_ID_NONE (the recording does not say) is
 * filled with that of the file found. -ENOENT: not to be had.
 */
int pp_import_files_open(const struct pathprof_import_files *files, const char *name,
			 struct pathprof_build_id *id, struct pathprof_code **ret_code);

#endif
