/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A message as Alertmanager's API (version 2) takes it: labels that say which alert it is, and stay
 * the same from its first message to its last; annotations for people. Pure but for the JSON made.
 */
#ifndef PP_TELL_ALERTMANAGER_H
#define PP_TELL_ALERTMANAGER_H

#include <jansson.h>
#include <stdint.h>

#include "../../daemon/shared/tell.h"

/* {labels, annotations, startsAt, and of a resolved one endsAt}; NULL: out of memory. */
json_t *pp_alertmanager_alert(const struct pp_tell_message *message, const char *host);
/* Until when it holds unless told again; wall_ns: CLOCK_REALTIME. */
int pp_alertmanager_set_end(json_t *alert, int64_t wall_ns);

#endif
