/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A program that counts its paths and its files of counts, read by a process apart
 * (pathprof/apart.h). counted_apart.c asks, counted_reader.c answers. A description comes back as a
 * form (counted_form.c), counts as sums; both are written to memory that both processes have, and
 * checked when they were copied out of it.
 *
 * Workload: pathprof/path_counts.h; two questions a file. Locking, ownership: as pp_counted.h.
 */
#ifndef PP_COUNTED_APART_H
#define PP_COUNTED_APART_H

#include <stdio.h>

#include "pathprof/apart.h"
#include "pp_counted.h"

/* A question with a file has its path as text; an answer that failed has the words. */
enum pp_counted_question {
	PP_ASK_COUNTED = 1, /* reads the program that comes along */
	PP_ASK_FORM,        /* writes its form to the descriptor that comes along */
	PP_ASK_RUN,         /* struct pathprof_counts_run of the file of counts that comes along */
	PP_ASK_COUNTS,      /* the same, and reads all of it */
	PP_ASK_SUMS,        /* writes its image, and then its struct pp_hashed_path */
};

extern const struct pathprof_apart_service pp_counted_reader;

/* pathprof_counted_open_apart(), with another answerer than pp_counted_reader. */
int pp_counted_open_by(struct pathprof_counted **ret_counted,
		       const struct pathprof_apart_service *service, const char *path,
		       struct pathprof_error *error);

/* -errno of the stream. */
int pp_form_write(struct pathprof_counted *counted, FILE *out);
/* Fills all but the image and the copies of functions. -EBADMSG, -ENOMEM. */
int pp_form_read(struct pathprof_counted *counted, const void *bytes, size_t len);

/* Like pp_counts_read_fd(), by the process that read the program; -EOWNERDEAD besides. */
int pp_counts_read_apart(struct pp_counts *ret_counts, const struct pathprof_counted *counted,
			 const char *path, struct pathprof_error *error);
/* NULL-safe. */
void pp_counted_apart_close(struct pp_counted_apart *apart);

#endif
