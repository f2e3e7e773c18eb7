/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Types and functions that the description of a program and the counts of its runs share. */
#ifndef PP_COUNTED_H
#define PP_COUNTED_H

#include "pathprof/path_counts.h"

/* The sum of all tables' entries of one path. */
struct pp_hashed_path {
	uint64_t counter; /* distance from the section's start */
	uint64_t id, count;
};

/* The contents of a file of counts. */
struct pp_counts {
	struct pathprof_counts_run run;
	uint64_t *image; /* the sum of its threads' */
	struct pp_hashed_path *hashed;
	size_t hashed_cnt;
};

struct pp_counted_apart;

struct pathprof_counted {
	struct pathprof_build_id build_id;
	struct pathprof_counted_function *functions;
	uint32_t function_cnt, function_room;
	uint64_t left_out_cnt;
	uint64_t section_address, image_bytes; /* of the section of counters */
	uint64_t *image;                       /* sums, by counter */
	struct pp_hashed_path *hashed;         /* by counter, then by path; each path once */
	size_t hashed_cnt;
	const char **missing; /* functions left out that clang's profile has counters of */
	size_t missing_cnt, missing_room;
	char **texts; /* names and files, that functions point to */
	size_t text_cnt, text_room;
	struct pp_counted_apart *apart; /* NULL: files are read by this process */
};

/* pathprof_counted_open() of an open file, which remains the caller's. */
int pp_counted_open_fd(struct pathprof_counted **ret_counted, int fd, const char *path,
		       struct pathprof_error *error);
/* No counts yet. -EBADMSG: the section would not fit into the file. */
int pp_counted_make_image(struct pathprof_counted *counted, uint64_t file_bytes, const char *path,
			  struct pathprof_error *error);
/* A copy of the text that lives as long as counted; NULL: no memory. */
const char *pp_counted_keep_text(struct pathprof_counted *counted, const char *bytes, size_t len);
/* Takes the section apart. */
int pp_description_read(struct pathprof_counted *counted, const void *section, size_t bytes,
			const char *path, struct pathprof_error *error);
/* Whether the function's numbers lie within their ranges; edges aside, which a flow checks. */
bool pp_counted_is_sound(const struct pathprof_counted *counted,
			 const struct pathprof_counted_function *f);
/* Finds the copies of functions. -ENOMEM. */
int pp_counted_join_copies(struct pathprof_counted *counted);
/* The counter lies in the section, with `cnt` of them. */
bool pp_counted_has_counters(const struct pathprof_counted *counted, uint64_t distance,
			     uint64_t cnt);
/* The number of the function's counters. */
uint64_t pp_counted_counter_cnt(const struct pathprof_counted_function *f);

/*
 * Reads a file of counts, which remains the caller's; nothing but its head is checked against
 * counted. -errno leaves nothing.
 */
int pp_counts_read_fd(struct pp_counts *ret_counts, const struct pathprof_counted *counted, int fd,
		      const char *path, struct pathprof_error *error);
void pp_counts_release(struct pp_counts *counts);
/* pathprof_counts_run() of an open file, which remains the caller's. */
int pp_counts_run_fd(int fd, const char *path, struct pathprof_counts_run *ret_run,
		     struct pathprof_error *error);

#endif
