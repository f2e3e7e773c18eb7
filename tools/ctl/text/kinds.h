/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kinds of windows: figures of different kinds mean different things (docs/shares.md), so of a
 * selection with several kinds only the newest is used, and a note says so.
 */
#ifndef CTL_KINDS_H
#define CTL_KINDS_H

#include "../ctl.h"

struct kinds {
	enum pathprof_window_kind used; /* PATHPROF_KIND_ANY: there are no windows */
	unsigned int left_out;          /* bits 1 << kind */
};

/*
 * Chooses, unless the filter names a kind, and restricts the filter to it when there are several.
 * -errno, error filled.
 */
int kinds_choose(struct kinds *ret_kinds, struct pathprof_store *store,
		 struct pathprof_filter *filter, struct pathprof_error *error);
/* Reports which kinds were left out, and why; nothing if none were. */
void kinds_tell(const struct kinds *kinds);
/* Does both. Returns CTL_OK, or a status after a message. ret_kinds: NULL, or the choice. */
int kinds_settle(struct pathprof_store *store, struct pathprof_filter *filter,
		 struct kinds *ret_kinds);

/* "windows weighed by the clock", ...: windows of that kind, in a sentence. */
const char *kinds_text(enum pathprof_window_kind kind);
/* The names that --kind takes; PATHPROF_KIND_ANY: none of them. */
enum pathprof_window_kind kinds_named(const char *name);

#endif
