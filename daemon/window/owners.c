// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The owner of a build-id: see owners.h. A table of fixed size with sets of four: a new entry takes
 * the place of the one in its set that was asked about longest ago, a user's before root's.
 * Source: this project.
 */
#include "owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WAYS     4
#define SET_CNT  (PP_OWNERS_MAX / WAYS) /* a power of two */
#define ID_BYTES 16

struct entry {
	struct pathprof_build_id id; /* len_bytes 0: free */
	uint32_t owner;
	uint32_t told[PP_OWNERS_TOLD]; /* the other owners that were told of */
	uint32_t told_cnt;
	uint64_t asked;
};

struct pp_owners {
	uint64_t seed, clock;
	struct entry entries[SET_CNT][WAYS];
};

int pp_owners_new(struct pp_owners **ret_owners)
{
	struct pp_owners *owners = calloc(1, sizeof(*owners));

	if (!owners)
		return -ENOMEM;
	if (getrandom(&owners->seed, sizeof(owners->seed), GRND_NONBLOCK) < 0)
		owners->seed = (uintptr_t)owners;
	*ret_owners = owners;
	return 0;
}

void pp_owners_free(struct pp_owners *owners)
{
	free(owners);
}

/* Identities come from files of anybody: nobody can tell which share a set. */
static struct entry *set_of(struct pp_owners *owners, const struct pathprof_build_id *id)
{
	uint64_t hash = owners->seed;

	for (unsigned int i = 0; i < id->len_bytes; i++) {
		hash = (hash ^ id->bytes[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return owners->entries[hash & (SET_CNT - 1)];
}

static bool is_older(const struct entry *a, const struct entry *b)
{
	if ((a->owner == 0) != (b->owner == 0))
		return b->owner == 0;
	return a->asked < b->asked;
}

static struct entry *entry_of(struct pp_owners *owners, const struct pathprof_build_id *id,
			      uint32_t owner)
{
	struct entry *set = set_of(owners, id), *oldest = set;

	for (unsigned int i = 0; i < WAYS; i++) {
		if (set[i].id.len_bytes && pathprof_build_id_equal(&set[i].id, id))
			return &set[i];
		if (!set[i].id.len_bytes || (oldest->id.len_bytes && is_older(&set[i], oldest)))
			oldest = &set[i];
	}
	*oldest = (struct entry){.id = *id, .owner = owner};
	return oldest;
}

/* Whether there is something to tell of owner; it is told of then. */
static bool tell_first_time(struct entry *entry, uint32_t owner)
{
	for (uint32_t i = 0; i < entry->told_cnt; i++)
		if (entry->told[i] == owner)
			return false;
	if (entry->told_cnt == PP_OWNERS_TOLD)
		return false;
	entry->told[entry->told_cnt++] = owner;
	return true;
}

/* Whether owner takes the build-id from the one who has it. */
static bool takes_it(uint32_t owner, uint32_t from)
{
	return owner == 0 || from == PATHPROF_OWNER_UNKNOWN;
}

static void make_own(const struct pathprof_build_id *id, uint32_t owner,
		     struct pathprof_build_id *ret_id)
{
	struct pathprof_build_id own = {.len_bytes = ID_BYTES + 4, .kind = PATHPROF_ID_FILE};

	memcpy(own.bytes, id->bytes, id->len_bytes < ID_BYTES ? id->len_bytes : ID_BYTES);
	for (unsigned int i = 0; i < 4; i++)
		own.bytes[ID_BYTES + i] = (uint8_t)(owner >> (24 - 8 * i));
	*ret_id = own;
}

bool pp_owners_judge(struct pp_owners *owners, const struct pathprof_build_id *id,
		     const struct pathprof_file *file, bool may_tell,
		     struct pathprof_build_id *ret_id, uint32_t *ret_owner)
{
	struct entry *entry;

	*ret_id = *id;
	*ret_owner = file->owner;
	/* nobody can choose the other kinds of identities */
	if (id->kind != PATHPROF_ID_BUILD_ID || !id->len_bytes)
		return false;
	entry = entry_of(owners, id, file->owner);
	entry->asked = ++owners->clock;
	if (entry->owner != file->owner && takes_it(file->owner, entry->owner)) {
		entry->owner = file->owner;
		entry->told_cnt = 0;
	}
	if (entry->owner == file->owner)
		return false;
	*ret_owner = entry->owner;
	make_own(id, file->owner, ret_id);
	return may_tell && tell_first_time(entry, file->owner);
}
