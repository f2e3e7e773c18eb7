/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many alerts wait for pathprof-relay: those in the database behind the last one that it noted
 * as told, for each receiver of the settings.
 *
 * Source: told.json, pathprof-relay(8).
 */
#ifndef CTL_RELAY_WAIT_H
#define CTL_RELAY_WAIT_H

#include <stdint.h>

#include "pathprof/store.h"

/*
 * notes: the relay's directory; it need not be there. settings: "Exec=, Webhook=" as the daemon has
 * them. ret_cnt: of the receiver for which most wait; 0 where none is named. -EACCES: the caller
 * may not read the notes; -EBADMSG: they are damaged.
 */
int relay_wait_count(int64_t *ret_cnt, struct pathprof_store *store, const char *notes,
		     const char *settings, struct pathprof_error *error);

#endif
