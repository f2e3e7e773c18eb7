/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `pathprofctl status` says of pathprof-relay: whether it is there, why not, what waits. */
#ifndef CTL_RELAY_STATUS_H
#define CTL_RELAY_STATUS_H

#include <jansson.h>

#include "pathprof/store.h"

/* members: the daemon's state in the store, the database at path. NULL: it says nothing of a relay.
 */
char *relay_status_text(const json_t *members, struct pathprof_store *store, const char *path);
/* Adds relay_waiting to the object where it is known. */
void relay_status_json(json_t *object, const json_t *members, struct pathprof_store *store,
		       const char *path);

#endif
