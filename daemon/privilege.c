// SPDX-License-Identifier: GPL-2.0-or-later
/* Capabilities by libcap: see privilege.h. The kernel keeps them a thread, not a process. */
#include "privilege.h"

#include <errno.h>
#include <string.h>
#include <sys/capability.h>

#define CAPS_MAX 64

/* Lists the numbers of the bits that are set, for libcap. Returns how many. */
static int list_of(uint64_t caps, cap_value_t list[static CAPS_MAX])
{
	int cnt = 0;

	for (int cap = 0; cap < CAPS_MAX; cap++)
		if (caps >> cap & 1)
			list[cnt++] = cap;
	return cnt;
}

static bool has(cap_t state, cap_flag_t set, cap_value_t cap)
{
	cap_flag_value_t value = CAP_CLEAR;

	return cap_get_flag(state, cap, set, &value) == 0 && value == CAP_SET;
}

bool pp_privilege_has(uint64_t caps)
{
	cap_t state = cap_get_proc();
	cap_value_t list[CAPS_MAX];
	int cnt = list_of(caps, list);
	bool all = state != NULL;

	for (int i = 0; all && i < cnt; i++)
		all = has(state, CAP_EFFECTIVE, list[i]);
	if (state)
		cap_free(state);
	return all;
}

/* The capabilities of caps that this set has in another state than value. */
static uint64_t differing(cap_t state, cap_flag_t set, uint64_t caps, cap_flag_value_t value)
{
	uint64_t found = 0;

	for (int cap = 0; cap < CAPS_MAX; cap++)
		if ((caps >> cap & 1) && has(state, set, cap) != (value == CAP_SET))
			found |= PP_PRIVILEGE(cap);
	return found;
}

/* Capabilities set or cleared in one of this thread's sets, the others as they are. 0 or -errno. */
static int change(cap_flag_t set, uint64_t caps, cap_flag_value_t value, uint64_t *ret_changed)
{
	cap_t state = cap_get_proc();
	cap_value_t list[CAPS_MAX];
	uint64_t changed;
	int cnt, r = 0;

	if (!state)
		return -errno;
	changed = differing(state, set, caps, value);
	cnt = list_of(changed, list);
	if (cnt && (cap_set_flag(state, set, cnt, list, value) < 0 || cap_set_proc(state) < 0))
		r = -errno;
	else
		*ret_changed = changed;
	cap_free(state);
	return r;
}

/*
 * A program of root's would get the capabilities back by exec, so they leave the bounding set, too.
 * That takes a capability of its own, and who lacks it is not root.
 */
static void shrink_bounding(uint64_t caps)
{
	cap_value_t list[CAPS_MAX];
	int cnt = list_of(caps, list);

	for (int i = 0; i < cnt; i++)
		if (cap_get_bound(list[i]) > 0)
			(void)cap_drop_bound(list[i]);
}

int pp_privilege_drop(uint64_t caps, struct pathprof_error *error)
{
	static const cap_flag_t sets[] = {CAP_INHERITABLE, CAP_EFFECTIVE, CAP_PERMITTED};
	uint64_t changed;
	int r = 0;

	shrink_bounding(caps);
	/* The ambient set follows the other two. */
	for (size_t i = 0; !r && i < sizeof(sets) / sizeof(sets[0]); i++)
		r = change(sets[i], caps, CAP_CLEAR, &changed);
	return r ? pathprof_fail(error, r, "giving up capabilities: %s", strerror(-r)) : 0;
}

int pp_privilege_try_without(uint64_t caps, pp_privilege_fn *fn, void *context,
			     struct pathprof_error *error)
{
	uint64_t aside = 0, restored;
	int r = change(CAP_EFFECTIVE, caps, CAP_CLEAR, &aside), back;

	if (r)
		return pathprof_fail(error, r, "putting capabilities aside: %s", strerror(-r));
	r = fn(context);
	if (!r)
		return pp_privilege_drop(caps, error);
	back = change(CAP_EFFECTIVE, aside, CAP_SET, &restored);
	if (back)
		return pathprof_fail(error, back, "taking capabilities back: %s", strerror(-back));
	return r;
}
