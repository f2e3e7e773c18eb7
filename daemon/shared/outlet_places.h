/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places at pathprofd's socket: which user gets one, and how often a user's questions are answered.
 *
 *     places     32, of which others than the service's own users have at most 24; 4 a user
 *     questions  8 at once, then 2 a second, of each user
 *
 * The service's own users are root, the one that pathprofd runs as, and those that systemd makes
 * for a service with DynamicUser=, as pathprof-relay's unit has it: no login gets such an id.
 * Eight places are always left to these.
 *
 * A new client always gets a place. If none is free, a client of the user with most places goes:
 * one that does not read, else the one that has been there longest.
 *
 * Workload: looked through once a connection. No allocation, no state but the caller's; one owner.
 */
#ifndef PP_OUTLET_PLACES_H
#define PP_OUTLET_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PP_OUTLET_PLACES         32
#define PP_OUTLET_PLACES_OTHERS  24
#define PP_OUTLET_PLACES_OF_USER 4
#define PP_OUTLET_ASKERS         64

struct pp_outlet_place {
	bool taken;
	bool deaf; /* does not read what it is sent */
	uid_t user;
	uint64_t since; /* in the order of coming */
};

bool pp_outlet_is_own_user(uid_t user);

/* Index of the place for a client of this user. If it is taken, its client has to go. */
size_t pp_outlet_place_for(const struct pp_outlet_place places[PP_OUTLET_PLACES], uid_t user);

/* When each user's questions so far are paid for. All zero: nobody has asked. */
struct pp_outlet_askers {
	struct {
		uid_t user;
		uint64_t paid_us;
	} list[PP_OUTLET_ASKERS];
};

/* Counts a question of this user if it may be answered now (CLOCK_MONOTONIC): else false. */
bool pp_outlet_may_ask(struct pp_outlet_askers *askers, uid_t user, uint64_t now_us);

#endif
