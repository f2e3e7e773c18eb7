/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of `pathprofctl status` about pathprof-relay: whether it runs, why not, and what waits
 * for it. */
#ifndef CTL_RELAY_STATUS_H
#define CTL_RELAY_STATUS_H

#include <jansson.h>

#include "pathprof/store.h"

/* members: the daemon's state in the store, which is the database at path. Returns NULL if that
 * state has nothing about a relay. The caller frees. */
char *relay_status_text(const json_t *members, struct pathprof_store *store, const char *path);
/* Adds relay_waiting to the object if it is known. */
void relay_status_json(json_t *object, const json_t *members, struct pathprof_store *store,
		       const char *path);

#endif
