/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a mapping to the identity of its code: the file's ELF note, read through the process
 * (/proc/PID/map_files, its root directory) or, when it is gone, through our own root, device and
 * inode compared each time. The kernel is never asked for the build-id (track_perf.c,
 * track_proc.c).
 *
 * Workload: one call a mapping; files are read once and cached by device, inode, size and time of
 * change (a direct-mapped table: bounded, and a collision costs only another read). Ownership: the
 * caller owns the table. Not thread-safe.
 */
#ifndef PP_TRACK_IDENT_H
#define PP_TRACK_IDENT_H

#include "pathprof/profile.h"
#include "track_proc.h"
#include "track_reader.h"

enum pp_ident_kind {
	PP_IDENT_FILE, /* offset in a file */
	PP_IDENT_VDSO,
	PP_IDENT_JIT,  /* anonymous executable memory: the offset is the address */
	PP_IDENT_SKIP, /* never runs in user space */
};

struct pp_idents;

/* reader looks at files behind mappings and stays the caller's; NULL: we look ourselves. */
int pp_idents_new(struct pp_idents **ret_idents, struct pp_reader *reader);
/* NULL-safe. */
void pp_idents_free(struct pp_idents *idents);
/*
 * Identifies the mapping vma in pid. ret_id is set for _FILE and _VDSO, ret_from to the owner of
 * the file, if the inode is known. Never fails: see kind.
 */
enum pp_ident_kind pp_idents_of(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
				struct pathprof_build_id *ret_id, struct pathprof_file *ret_from);
/*
 * Identifies the program that a link of procfs leads to, /proc/PID/exe. It must not be a file
 * server's (track_remote.h), since we open it ourselves. -errno.
 */
int pp_ident_program(const char *link, struct pathprof_build_id *ret_id,
		     struct pathprof_file *ret_from);
/* CPU time of the children that have read files for it. */
uint64_t pp_idents_child_cpu_ns(const struct pp_idents *idents);
/* Path without " (deleted)"; name holds size bytes. Returns name. */
char *pp_ident_name(const char *path, char *name, size_t size);

#endif
