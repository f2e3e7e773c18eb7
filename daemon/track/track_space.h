/* SPDX-License-Identifier: GPL-2.0-or-later */
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
 * pp_files_sweep only, so names handed out live until then. Not thread-safe: one owner.
 */
#ifndef PP_TRACK_SPACE_H
#define PP_TRACK_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/profile.h"

/* How long what ended or was overwritten is remembered. */
#define PP_TRACK_GRACE_NS 10000000000ull
/* As many as Linux lets a process have by default (vm.max_map_count). */
#define PP_SPACE_PIECES_MAX 65536
#define PP_SPACE_PAST_MAX   256
/* Of all names together. */
#define PP_FILES_BYTES_MAX (16u << 20)

/* An interned (identity, whose file, name). */
struct pp_file {
	struct pp_file *next;
	uint64_t hash;
	uint32_t refs;
	struct pathprof_build_id id;
	struct pathprof_file from;
	char name[];
};

struct pp_files {
	struct pp_file **buckets;
	size_t bucket_cnt; /* a power of two */
	size_t file_cnt;
	size_t bytes; /* of names and what goes with them */
};

int pp_files_init(struct pp_files *files);
/* Frees every file, referenced or not. */
void pp_files_release(struct pp_files *files);
/*
 * A new reference to the one file of this identity, origin and name. id NULL: none; from NULL: it
 * is not known whose it is. -ENOMEM; -ENOSPC when
 * new ones would take more than PP_FILES_BYTES_MAX.
 */
int pp_files_get(struct pp_files *files, const struct pathprof_build_id *id,
		 const struct pathprof_file *from, const char *name, struct pp_file **ret_file);
struct pp_file *pp_file_ref(struct pp_file *file);
/* NULL-safe. */
void pp_file_put(struct pp_file *file);
void pp_files_sweep(struct pp_files *files);

/* file NULL: generated code, whose offset is its address. */
struct pp_piece {
	uint64_t start, end; /* addresses, [start, end) */
	uint64_t offset;     /* file offset of start */
	struct pp_file *file;
};
struct pp_past {
	struct pp_piece piece;
	uint64_t until_ns;
};

struct pp_space {
	uint32_t refs;
	uint32_t piece_cnt, piece_cap;
	uint32_t past_cnt, past_cap;
	uint32_t change_cnt; /* counts what was overwritten or went; a copy goes on from there */
	struct pp_piece *pieces;
	struct pp_past *past; /* oldest first */
};

int pp_space_new(struct pp_space **ret_space);
struct pp_space *pp_space_ref(struct pp_space *space);
/* NULL-safe. */
void pp_space_put(struct pp_space *space);
/* Makes *space private to its holder, so that it may be changed. -ENOMEM: unchanged. */
int pp_space_own(struct pp_space **space);

/*
 * From time_ns on piece lies there; what it covers becomes past. The space takes a reference of
 * its own to piece->file. -EINVAL, -ENOMEM, -ENOSPC: nothing changed.
 */
int pp_space_map(struct pp_space *space, const struct pp_piece *piece, uint64_t time_ns);
/* From time_ns on nothing lies in [start, end). */
int pp_space_unmap(struct pp_space *space, uint64_t start, uint64_t end, uint64_t time_ns);
/*
 * From time_ns on memory that is no file's lies in [start, end), where text stays that it is a copy
 * of (pathprof/mapped.h); the program is the file with the lowest text. Elsewhere it is generated
 * code if executable, and else nothing. -EINVAL, -ENOMEM, -ENOSPC: some of it may be done.
 */
int pp_space_cover(struct pp_space *space, uint64_t start, uint64_t end, bool executable,
		   uint64_t time_ns);
/*
 * Pieces that a scan found, for pp_space_replace(): generated code becomes the text of which it is
 * a copy, as far as the space knows of it. Pieces may become more; each has a reference to its
 * file. -ENOMEM, -ENOSPC: unchanged.
 */
int pp_space_find_copies(const struct pp_space *space, struct pp_piece **pieces, size_t *piece_cnt,
			 size_t *piece_cap);
/* From time_ns on exactly these pieces lie there, in the order of their addresses. */
int pp_space_replace(struct pp_space *space, const struct pp_piece *pieces, size_t piece_cnt,
		     uint64_t time_ns);
/* Memory that it takes. */
size_t pp_space_bytes(const struct pp_space *space);
/* NULL when nothing was there. time_ns 0: now. Valid until the space changes. */
const struct pp_piece *pp_space_find(const struct pp_space *space, uint64_t time_ns,
				     uint64_t address);

#endif
