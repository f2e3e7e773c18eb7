/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * One address space: which file lies where, and what lay there before.
 *
 * Workload: a few hundred pieces, looked up by the thousand a second, changed seldom. A sorted
 * array of pieces that never overlap; what was overwritten is kept aside with the time until
 * which it held, so that a late burst still resolves. A fork shares the parent's space until one
 * of the two changes it.
 *
 * An address with no known content at a time counts as what was mapped there next: code that ran
 * was mapped, and the mapping was merely seen late.
 *
 * Ownership: a space holds references to its files; files with none left are freed by
 * pathprof_mapped_files_sweep only, so names handed out live until then. Not thread-safe: one
 * owner.
 */
#ifndef PATHPROF_SPACE_H
#define PATHPROF_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/profile.h"

/* How long what ended or was overwritten is remembered. */
#define PATHPROF_SPACE_GRACE_NS 10000000000ull
/* Just above the number of mappings that a process may have by default (vm.max_map_count). */
#define PATHPROF_SPACE_PIECES_MAX 65536
#define PATHPROF_SPACE_PAST_MAX   256
/* Bytes of all names together. Those of one user take half of what the others' leave of it. */
#define PATHPROF_MAPPED_FILES_BYTES_MAX (16u << 20)
#define PATHPROF_MAPPED_USER_BUCKETS    256

/* One whose processes brought names; goes with the last of them. */
struct pathprof_mapped_user {
	struct pathprof_mapped_user *next;
	uint32_t uid;
	size_t bytes;
};

/* An interned (identity, whose file, name). */
struct pathprof_mapped_file {
	struct pathprof_mapped_file *next;
	uint64_t hash;
	uint32_t refs;
	struct pathprof_build_id id;
	struct pathprof_file from;
	struct pathprof_mapped_user *user; /* whose share it takes; NULL: nobody's */
	uint32_t mark;                     /* its user's; 0 when new */
	char name[];
};

struct pathprof_mapped_files {
	struct pathprof_mapped_file **buckets;
	size_t bucket_cnt; /* a power of two */
	size_t file_cnt;
	size_t bytes; /* of names and what goes with them */
	struct pathprof_mapped_user *users[PATHPROF_MAPPED_USER_BUCKETS];
};

int pathprof_mapped_files_init(struct pathprof_mapped_files *files);
/* Frees every file, referenced or not. */
void pathprof_mapped_files_release(struct pathprof_mapped_files *files);
/*
 * A new reference to the one file of this identity, origin and name. id NULL: none; from NULL: it
 * is not known whose it is. -ENOMEM; -ENOSPC when new ones would take more than
 * PATHPROF_MAPPED_FILES_BYTES_MAX.
 */
int pathprof_mapped_files_get(struct pathprof_mapped_files *files,
			      const struct pathprof_build_id *id, const struct pathprof_file *from,
			      const char *name, struct pathprof_mapped_file **ret_file);
/* The same; a new one takes the share of a user, and finds no room (-ENOSPC) beyond it. */
int pathprof_mapped_files_get_for(struct pathprof_mapped_files *files, uint32_t uid,
				  const struct pathprof_build_id *id,
				  const struct pathprof_file *from, const char *name,
				  struct pathprof_mapped_file **ret_file);
/* A new reference to the one that is there, or NULL. */
struct pathprof_mapped_file *pathprof_mapped_files_find(const struct pathprof_mapped_files *files,
							const struct pathprof_build_id *id,
							const struct pathprof_file *from,
							const char *name);
struct pathprof_mapped_file *pathprof_mapped_file_ref(struct pathprof_mapped_file *file);
/* NULL-safe. */
void pathprof_mapped_file_put(struct pathprof_mapped_file *file);
void pathprof_mapped_files_sweep(struct pathprof_mapped_files *files);

/* file NULL: generated code, whose offset is its address. */
struct pathprof_mapped_piece {
	uint64_t start, end; /* addresses, [start, end) */
	uint64_t offset;     /* file offset of start */
	struct pathprof_mapped_file *file;
};
struct pathprof_mapped_past {
	struct pathprof_mapped_piece piece;
	uint64_t until_ns;
};

struct pathprof_space {
	uint32_t refs;
	uint32_t piece_cnt, piece_cap;
	uint32_t past_cnt, past_cap;
	bool forgets;        /* nothing is kept of what was overwritten: nobody asks for a time */
	uint32_t change_cnt; /* counts what was overwritten or went; a copy goes on from there */
	struct pathprof_mapped_piece *pieces;
	struct pathprof_mapped_past *past; /* oldest first */
};

int pathprof_space_new(struct pathprof_space **ret_space);
struct pathprof_space *pathprof_space_ref(struct pathprof_space *space);
/* NULL-safe. */
void pathprof_space_put(struct pathprof_space *space);
/* Makes *space private to its holder, so that it may be changed. -ENOMEM: unchanged. */
int pathprof_space_own(struct pathprof_space **space);

/*
 * From time_ns on piece lies there; what it covers becomes past. The space takes a reference of
 * its own to piece->file. -EINVAL, -ENOMEM, -ENOSPC: nothing changed.
 */
int pathprof_space_map(struct pathprof_space *space, const struct pathprof_mapped_piece *piece,
		       uint64_t time_ns);
/* From time_ns on nothing lies in [start, end). */
int pathprof_space_unmap(struct pathprof_space *space, uint64_t start, uint64_t end,
			 uint64_t time_ns);
/*
 * From time_ns on memory that is no file's lies in [start, end), where text stays that it is a copy
 * of (pathprof/mapped.h); the program is the file with the lowest text. Elsewhere it is generated
 * code if executable, and else nothing. -EINVAL, -ENOMEM, -ENOSPC: some of it may be done.
 */
int pathprof_space_cover(struct pathprof_space *space, uint64_t start, uint64_t end,
			 bool executable, uint64_t time_ns);
/*
 * Pieces that a scan found, for pathprof_space_replace(): generated code becomes the text of which
 * it is a copy, as far as the space knows of it. Pieces may become more; each has a reference to
 * its file. -ENOMEM, -ENOSPC: unchanged.
 */
int pathprof_space_find_copies(const struct pathprof_space *space,
			       struct pathprof_mapped_piece **pieces, size_t *piece_cnt,
			       size_t *piece_cap);
/* From time_ns on exactly these pieces lie there, in the order of their addresses. */
int pathprof_space_replace(struct pathprof_space *space, const struct pathprof_mapped_piece *pieces,
			   size_t piece_cnt, uint64_t time_ns);
/* Memory that it takes. */
size_t pathprof_space_bytes(const struct pathprof_space *space);
/* NULL when nothing was there. time_ns 0: now. Valid until the space changes. */
const struct pathprof_mapped_piece *pathprof_space_find(const struct pathprof_space *space,
							uint64_t time_ns, uint64_t address);

#endif
