/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The windows that the stepping collector stored about one binary, in the order taken.
 *
 * Workload: some hundred stored windows of some thousand paths, read once. One owner. Exits with a
 * message when the store cannot be read.
 */
#ifndef LAB_COLLECT_STEP_STORE_H
#define LAB_COLLECT_STEP_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/store.h"
#include "profile.h"

struct lab_step_window {
	int64_t id;
	uint64_t burst_cnt;
};

struct lab_step_store {
	struct pathprof_store *store;
	char binary[PATHPROF_BUILD_ID_TEXT_LEN];
	struct lab_step_window *windows; /* oldest first */
	size_t cnt;
	uint64_t window_cnt;   /* bursts in all of them */
	uint32_t taken_wanted; /* the same in all of them */
};

void lab_step_store_open(struct lab_step_store *s, const char *file,
			 const struct pathprof_build_id *binary);
void lab_step_store_release(struct lab_step_store *s);

/* Columns of the profile. */
enum lab_step_column {
	LAB_STEP_WEIGHTED, /* against window bias, as the collector stores it */
	LAB_STEP_PLAIN,    /* how often a path was seen whole */
	LAB_STEP_COLUMN_CNT,
};

/* Called after each stored window, with the sum of all windows so far, keyed by file offset. */
typedef void lab_step_fn(void *context, const struct lab_profile *steps, uint64_t burst_cnt);
void lab_step_store_read(struct lab_step_store *s, lab_step_fn *fn, void *context);

#endif
