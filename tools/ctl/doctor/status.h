/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state that a daemon leaves in its database, and whether that daemon still lives: the process
 * is there and is a pathprofd, and it wrote within the last three windows (30 s at least).
 */
#ifndef CTL_STATUS_H
#define CTL_STATUS_H

#include <jansson.h>
#include <stdbool.h>

#include "pathprof/store.h"

struct daemon_status {
	json_t *members; /* as the daemon wrote them; NULL when none ever did */
	bool running;
	char why_down[128];
};

/* 0 also when the daemon is down; -errno when the database cannot be read. */
int daemon_status_read(struct daemon_status *ret_status, struct pathprof_store *store,
		       struct pathprof_error *error);
void daemon_status_release(struct daemon_status *status);

/* A member of the object, fallback when it is missing or of another type. object may be NULL. */
double daemon_status_number(const json_t *object, const char *key, double fallback);
const char *daemon_status_text(const json_t *object, const char *key, const char *fallback);

#endif
