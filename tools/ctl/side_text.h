/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sides as text, a line an event: KEY<TAB>WEIGHT, pathprof/profile_text.h says what is allowed.
 * Keys of this program's own are
 *
 *     path      ID:0xSTART:WAYS       WAYS: T taken, N not taken, "-" none
 *     edge      ID:0xFROM>ID:0xTO
 *     branch    ID:0xEND/1            1: taken, 0: not
 *
 * with ID the build-id in hex. Any other key is itself and no more: it has no function. One thread.
 */
#ifndef CTL_SIDE_TEXT_H
#define CTL_SIDE_TEXT_H

#include <stdio.h>

#include "side.h"

/* -errno, error filled: a line that cannot be is named. */
int side_text_read(struct side *side, const char *file, struct pathprof_error *error);
/* The key of an item. The caller frees. */
char *side_text_key(const struct side *side, const struct side_item *item);

#endif
