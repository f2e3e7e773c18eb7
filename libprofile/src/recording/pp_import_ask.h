/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Questions of an import to the recording while that is being read: a few an image, an event
 * and a recording. Where another thread reads ahead (pp_import_relay.h) they wait until it does
 * not.
 */
#ifndef PP_IMPORT_ASK_H
#define PP_IMPORT_ASK_H

#include <pthread.h>
#include <stddef.h>

#include "pathprof/recording.h"

/* Both are somebody else's. */
struct pp_import_asked {
	const struct pathprof_recording
		*recording;    /* NULL: none; all answers are that it is not told */
	pthread_mutex_t *lock; /* NULL: nobody else uses it */
};

static inline void pp_import_ask_begin(const struct pp_import_asked *asked)
{
	if (asked->lock)
		pthread_mutex_lock(asked->lock);
}

static inline void pp_import_ask_end(const struct pp_import_asked *asked)
{
	if (asked->lock)
		pthread_mutex_unlock(asked->lock);
}

static inline bool pp_import_ask_build_id(const struct pp_import_asked *asked, const char *name,
					  struct pathprof_build_id *ret_id)
{
	bool is_told;

	if (!asked->recording)
		return false;
	pp_import_ask_begin(asked);
	is_told = pathprof_recording_build_id(asked->recording, name, ret_id);
	pp_import_ask_end(asked);
	return is_told;
}

static inline enum pathprof_basis pp_import_ask_basis(const struct pp_import_asked *asked,
						      uint32_t event)
{
	enum pathprof_basis basis;

	if (!asked->recording)
		return PATHPROF_BASIS_TIME;
	pp_import_ask_begin(asked);
	basis = pathprof_recording_event_basis(asked->recording, event);
	pp_import_ask_end(asked);
	return basis;
}

static inline struct pathprof_recording_info pp_import_ask_info(const struct pp_import_asked *asked)
{
	struct pathprof_recording_info info = {.realtime_offset_ns = INT64_MIN};

	if (!asked->recording)
		return info;
	pp_import_ask_begin(asked);
	pathprof_recording_info(asked->recording, &info);
	pp_import_ask_end(asked);
	return info;
}

#endif
