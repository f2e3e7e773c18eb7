// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Keys of what is stored; see events.h. Each is a hash of one flat record without padding. */
#include "pathprof/events.h"

#include <string.h>
#include <xxhash.h>

#include "pp_keys.h"

/* Sets length and kind apart from bytes, so that a shorter identity is never a longer one's. */
uint64_t pathprof_event_group(const struct pathprof_build_id *id)
{
	uint8_t record[PATHPROF_BUILD_ID_MAX + 2] = {0};
	size_t len = id->len_bytes < PATHPROF_BUILD_ID_MAX ? id->len_bytes : PATHPROF_BUILD_ID_MAX;

	memcpy(record, id->bytes, len);
	record[PATHPROF_BUILD_ID_MAX] = (uint8_t)len;
	record[PATHPROF_BUILD_ID_MAX + 1] = id->kind;
	return XXH3_64bits(record, sizeof(record));
}

uint64_t pathprof_event_group_in(uint64_t group, uint64_t program)
{
	const uint64_t record[2] = {group, program};

	return !program || program == group ? group : XXH3_64bits(record, sizeof(record));
}

void pathprof_event_of_path(struct pathprof_event *ret_event, uint64_t group, uint64_t start,
			    uint32_t length, uint32_t outcomes, double weight)
{
	*ret_event = (struct pathprof_event){
		.key_hi = group,
		.key_lo = pp_key(PP_KEY_PATH, start, length, outcomes),
		.weight = weight,
	};
}

/* Within one binary to_group adds nothing that key_hi does not say. */
void pathprof_event_of_edge(struct pathprof_event *ret_event, uint64_t from_group, uint64_t from,
			    uint64_t to_group, uint64_t to, double weight)
{
	*ret_event = (struct pathprof_event){
		.key_hi = from_group,
		.key_lo = pp_key(PP_KEY_EDGE, from, to, from_group == to_group ? 0 : to_group),
		.weight = weight,
	};
}
