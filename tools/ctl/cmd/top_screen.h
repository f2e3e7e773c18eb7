/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live screen of `top`, in ncurses. One thread; owns the terminal while it runs. */
#ifndef CTL_TOP_SCREEN_H
#define CTL_TOP_SCREEN_H

#include "../view/view.h"

#define TOP_ROWS_MAX 1000 /* nobody scrolls further */

struct top_config {
	const struct ctl_options *options;
	const char *db; /* the store's file */
	struct pathprof_store *store;
	struct pathprof_filter filter;
	enum ctl_sort sort;
	int64_t sliding_ns; /* select the last so many; 0: the filter's times stand */
	const struct view *view;
};

/* Runs until the user quits. Returns an exit status. */
int top_screen(const struct top_config *config);

#endif
