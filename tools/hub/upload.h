/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of programs, from a host to its hub: those that the hub asks for, that ran here, and that
 * this process may read as anybody may. The file that now has a program's name is sent only if it
 * has the build-id that was asked for.
 */
#ifndef HUB_UPLOAD_H
#define HUB_UPLOAD_H

#include "client.h"
#include "pathprof/store.h"

/* wanted: the list of build-ids in the hub's answer, or NULL. Returns how many files were taken.
 * Failures are logged, and the next round tries again. */
uint64_t hub_upload_files(struct hub_client *client, struct pathprof_store *store,
			  const json_t *wanted);

#endif
