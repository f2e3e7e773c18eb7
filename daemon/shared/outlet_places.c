// SPDX-License-Identifier: GPL-2.0-or-later
/* Places and pace at pathprofd's socket: see outlet_places.h. */
#include "outlet_places.h"

#include <unistd.h>

/* systemd's, fixed when it is built; no distribution has others. */
#define DYNAMIC_USER_MIN 61184
#define DYNAMIC_USER_MAX 65519

#define QUESTION_EVERY_US UINT64_C(500000)
#define QUESTIONS_SAVED   8

bool pp_outlet_is_own_user(uid_t user)
{
	return user == 0 || user == geteuid() ||
	       (user >= DYNAMIC_USER_MIN && user <= DYNAMIC_USER_MAX);
}

static size_t places_of(const struct pp_outlet_place *places, uid_t user)
{
	size_t cnt = 0;

	for (size_t i = 0; i < PP_OUTLET_PLACES; i++)
		cnt += places[i].taken && places[i].user == user;
	return cnt;
}

static size_t places_of_others(const struct pp_outlet_place *places)
{
	size_t cnt = 0;

	for (size_t i = 0; i < PP_OUTLET_PLACES; i++)
		cnt += places[i].taken && !pp_outlet_is_own_user(places[i].user);
	return cnt;
}

/* Whether a goes before b, both taken. */
static bool goes_first(const struct pp_outlet_place *places, size_t a, size_t b)
{
	size_t of_a = places_of(places, places[a].user);
	size_t of_b = places_of(places, places[b].user);

	if (of_a != of_b)
		return of_a > of_b;
	if (places[a].deaf != places[b].deaf)
		return places[a].deaf;
	return places[a].since < places[b].since;
}

static bool is_user(uid_t candidate, uid_t user)
{
	return candidate == user;
}

static bool is_other(uid_t candidate, uid_t user)
{
	return !pp_outlet_is_own_user(candidate);
}

static bool is_anybody(uid_t candidate, uid_t user)
{
	return true;
}

/* The client that goes first of those that is_in selects; PP_OUTLET_PLACES: there is none. */
static size_t who_goes(const struct pp_outlet_place *places, bool (*is_in)(uid_t, uid_t),
		       uid_t user)
{
	size_t first = PP_OUTLET_PLACES;

	for (size_t i = 0; i < PP_OUTLET_PLACES; i++)
		if (places[i].taken && is_in(places[i].user, user) &&
		    (first == PP_OUTLET_PLACES || goes_first(places, i, first)))
			first = i;
	return first;
}

size_t pp_outlet_place_for(const struct pp_outlet_place places[PP_OUTLET_PLACES], uid_t user)
{
	if (places_of(places, user) >= PP_OUTLET_PLACES_OF_USER)
		return who_goes(places, is_user, user);
	if (!pp_outlet_is_own_user(user) && places_of_others(places) >= PP_OUTLET_PLACES_OTHERS)
		return who_goes(places, is_other, user);
	for (size_t i = 0; i < PP_OUTLET_PLACES; i++)
		if (!places[i].taken)
			return i;
	return who_goes(places, is_anybody, user);
}

bool pp_outlet_may_ask(struct pp_outlet_askers *askers, uid_t user, uint64_t now_us)
{
	size_t at = 0;

	/* this user's, or the one whose time is up first: usually long ago, so nothing is lost */
	for (size_t i = 0; i < PP_OUTLET_ASKERS; i++) {
		if (askers->list[i].user == user && askers->list[i].paid_us) {
			at = i;
			break;
		}
		if (askers->list[i].paid_us < askers->list[at].paid_us)
			at = i;
	}
	if (askers->list[at].user != user || askers->list[at].paid_us < now_us) {
		askers->list[at].user = user;
		askers->list[at].paid_us = now_us;
	}
	if (askers->list[at].paid_us - now_us > (QUESTIONS_SAVED - 1) * QUESTION_EVERY_US)
		return false;
	askers->list[at].paid_us += QUESTION_EVERY_US;
	return true;
}
