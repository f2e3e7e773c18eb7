/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a selection is empty: what the database holds instead, and what was in the way. */
#ifndef CTL_NOTHING_H
#define CTL_NOTHING_H

#include <stddef.h>

#include "pathprof/store.h"

/* A sentence without a full stop, to be shown after "nothing matches: ". Returns text. */
const char *nothing_text(char *text, size_t text_size, struct pathprof_store *store,
			 const struct pathprof_filter *filter);

#endif
