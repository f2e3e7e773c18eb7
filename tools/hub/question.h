/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readers' questions to the hub: the list of hosts that sent parcels, and the sum of one host's
 * parcels in a span of time. An answer of the latter kind is a parcel (pathprof/parcel.h), so that
 * its reader has a bounded and checked format, and adds it up like any other.
 *
 * Workload: a question a host, when somebody looks; some 40 ms for an hour of one host. Errors: a
 * status of HTTP, and *ret_object says why. The caller frees all results.
 */
#ifndef HUB_QUESTION_H
#define HUB_QUESTION_H

#include <jansson.h>

#include "hub.h"
#include "pathprof/store.h"

/* Text from a request; NULL: not given. Times are in seconds since 1970. A store may have several
 * hosts. */
struct hub_span {
	const char *store, *host, *since, *until;
};

/* *ret_object: {"stores": [{"store": ID, "host": NAME, "labels": LIST, "parcels": N, "windows": N,
 * "first_slot": S, "last_slot": S}, ...]}, counts and times of all that the hub keeps; of this host
 * and with these labels, each NULL: any. */
unsigned int hub_question_hosts(struct pathprof_store *store, const char *host, const char *labels,
				json_t **ret_object);
/* 200: the caller frees *ret_bytes. 404: that host sent nothing of that time. */
unsigned int hub_question_profile(struct pathprof_store *store, const struct hub_span *span,
				  uint8_t **ret_bytes, size_t *ret_len, json_t **ret_object);

#endif
