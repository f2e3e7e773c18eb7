// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A profile being taken.
 *
 * Workload: millions of additions to some ten thousand distinct paths, then one walk over all of
 * them and a clear. Entries lie in plain arrays (the walk, stable indices); beside each array
 * stands a table of entry numbers. Nothing is ever removed singly.
 *
 * Bound: arrays, tables and strings together stay within max_bytes. While an array is being moved
 * its old copy exists too.
 *
 * Keys come from profiled programs, which may be hostile: the hash has a random seed.
 *
 * Locking: none, one owner. Ownership: all strings are copied.
 */
#include "pp_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/vector.h"

#define NAME_MAX_BYTES 4096
#define FIRST_ENTRIES  64

/* ---------------------------------------------------------------- memory within the bound */

static size_t table_bytes(const struct pathprof_profile_index *index)
{
	return sizeof(uint32_t) *
	       ((size_t)index->binaries.table.slot_cnt + index->processes.table.slot_cnt +
		index->paths.table.slot_cnt + index->edges.table.slot_cnt +
		index->clocks.table.slot_cnt + index->contexts.table.slot_cnt +
		index->context_counts.table.slot_cnt + index->segments.table.slot_cnt);
}

static bool has_room(const struct pathprof_profile_index *index, size_t bytes)
{
	size_t used_bytes = index->used_bytes + table_bytes(index);

	return used_bytes <= index->max_bytes && bytes <= index->max_bytes - used_bytes;
}

static bool grow_array(struct pathprof_profile_index *index, void **array, size_t entry_bytes,
		       struct pp_profile_entries *entries, uint32_t room)
{
	size_t more_bytes = (size_t)(room - entries->room) * entry_bytes;

	if (!has_room(index, more_bytes) || pp_array_resize(array, room, entry_bytes) < 0)
		return false;
	entries->room = room;
	index->used_bytes += more_bytes;
	return true;
}

/* Room for one more entry in the array. Doubles; near the bound it takes what is left. */
static bool array_room(struct pathprof_profile_index *index, void **array, size_t entry_bytes,
		       struct pp_profile_entries *entries)
{
	uint32_t room = entries->room;

	if (entries->table.cnt < room)
		return true;
	if (room >= UINT32_MAX / 4)
		return false;
	return grow_array(index, array, entry_bytes, entries, room ? 2 * room : FIRST_ENTRIES) ||
	       grow_array(index, array, entry_bytes, entries, room + room / 8 + 1);
}

bool pp_profile_make_room(struct pathprof_profile_index *index, void **array, size_t entry_bytes,
			  struct pp_profile_entries *entries)
{
	const struct pp_table *table = &entries->table;

	return array_room(index, array, entry_bytes, entries) &&
	       (table->cnt < table->slot_cnt / 2 ||
		has_room(index, pp_table_enlarge_bytes(table, table->cnt + 1)));
}

/* ---------------------------------------------------------------- strings */

static void string_free(struct pathprof_profile_index *index, char *text)
{
	if (text)
		index->used_bytes -= strlen(text) + 1;
	free(text);
}

static char *string_copy(struct pathprof_profile_index *index, const char *text)
{
	size_t len = strnlen(text ? text : "", NAME_MAX_BYTES);

	if (!has_room(index, len + 1))
		return NULL;
	char *copy = len ? strndup(text, len) : strdup("");
	if (copy)
		index->used_bytes += len + 1;
	return copy;
}

/* The newest name that says something wins; without memory the old one stays. */
static void string_update(struct pathprof_profile_index *index, char **text, const char *newer)
{
	if (!newer || !newer[0] || !strncmp(*text, newer, NAME_MAX_BYTES))
		return;
	char *copy = string_copy(index, newer);
	if (!copy)
		return;
	string_free(index, *text);
	*text = copy;
}

static void strings_free(struct pathprof_profile *p)
{
	for (uint32_t i = 0; i < p->binary_cnt; i++)
		string_free(p->index, p->binaries[i].name);
	for (uint32_t i = 0; i < p->process_cnt; i++) {
		string_free(p->index, p->processes[i].comm);
		string_free(p->index, p->processes[i].container);
	}
}

/* ---------------------------------------------------------------- life */

int pathprof_profile_init(struct pathprof_profile *p, size_t max_bytes)
{
	struct pathprof_profile_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->max_bytes = max_bytes;
	/* Early in boot there may be no entropy yet; the seed is then the address of the heap. */
	if (getrandom(&index->seed, sizeof(index->seed), GRND_NONBLOCK) < 0)
		index->seed = (uint64_t)(uintptr_t)index;
	*p = (struct pathprof_profile){.index = index};
	return 0;
}

static void release_rooms(struct pathprof_profile *p)
{
	struct pathprof_profile_index *index = p->index;

	pp_table_release(&index->binaries.table);
	pp_table_release(&index->processes.table);
	pp_table_release(&index->paths.table);
	pp_table_release(&index->edges.table);
	pp_table_release(&index->clocks.table);
	pp_table_release(&index->contexts.table);
	pp_table_release(&index->context_counts.table);
	pp_table_release(&index->segments.table);
	free(p->binaries);
	free(p->processes);
	free(p->paths);
	free(p->edges);
	free(p->clocks);
	free(p->contexts);
	free(p->context_counts);
	free(p->segments);
	*p = (struct pathprof_profile){.index = index};
}

static void keep_rooms(struct pathprof_profile *p)
{
	struct pathprof_profile_index *index = p->index;

	pp_table_clear(&index->binaries.table);
	pp_table_clear(&index->processes.table);
	pp_table_clear(&index->paths.table);
	pp_table_clear(&index->edges.table);
	pp_table_clear(&index->clocks.table);
	pp_table_clear(&index->contexts.table);
	pp_table_clear(&index->context_counts.table);
	pp_table_clear(&index->segments.table);
	*p = (struct pathprof_profile){
		.binaries = p->binaries,
		.processes = p->processes,
		.paths = p->paths,
		.edges = p->edges,
		.clocks = p->clocks,
		.contexts = p->contexts,
		.context_counts = p->context_counts,
		.segments = p->segments,
		.index = index,
	};
}

/*
 * Rooms of more than half the bound are given back: the next window may need its memory for other
 * arrays than this one did.
 */
void pathprof_profile_clear(struct pathprof_profile *p)
{
	struct pathprof_profile_index *index = p->index;

	strings_free(p);
	if (has_room(index, index->max_bytes / 2)) {
		keep_rooms(p);
		return;
	}
	release_rooms(p);
	*index =
		(struct pathprof_profile_index){.max_bytes = index->max_bytes, .seed = index->seed};
}

void pathprof_profile_release(struct pathprof_profile *p)
{
	if (!p->index)
		return;
	strings_free(p);
	release_rooms(p);
	free(p->index);
	*p = (struct pathprof_profile){0};
}

/* ---------------------------------------------------------------- binaries */

static uint64_t hash_id(uint64_t seed, const struct pathprof_build_id *id)
{
	uint64_t hash = pp_hash_mix(seed, (uint64_t)id->kind << 8 | id->len_bytes);

	for (unsigned int i = 0; i < id->len_bytes; i++)
		hash = pp_hash_mix(hash, id->bytes[i]);
	return hash;
}

static uint32_t find_binary(const struct pathprof_profile *p, uint64_t hash,
			    const struct pathprof_build_id *id)
{
	return pp_table_find(&p->index->binaries.table, hash, i,
			     pathprof_build_id_equal(&p->binaries[i].id, id));
}

static uint32_t new_binary(struct pathprof_profile *p, uint64_t hash,
			   const struct pathprof_build_id *id, const char *name)
{
	struct pathprof_profile_index *index = p->index;

	if (!pp_profile_make_room(index, (void **)&p->binaries, sizeof(*p->binaries),
				  &index->binaries))
		return PATHPROF_NO_INDEX;
	char *copy = string_copy(index, name);
	if (!copy)
		return PATHPROF_NO_INDEX;
	p->binaries[p->binary_cnt] = (struct pathprof_binary){.id = *id, .name = copy};
	if (pp_table_add(&index->binaries.table, hash, i,
			 hash_id(index->seed, &p->binaries[i].id)) < 0) {
		string_free(index, copy);
		return PATHPROF_NO_INDEX;
	}
	return p->binary_cnt++;
}

uint32_t pathprof_profile_binary(struct pathprof_profile *p, const struct pathprof_build_id *id,
				 const char *name)
{
	if (id->len_bytes > PATHPROF_BUILD_ID_MAX || id->kind > PATHPROF_ID_JIT) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return PATHPROF_NO_INDEX;
	}
	uint64_t hash = hash_id(p->index->seed, id);
	uint32_t entry = find_binary(p, hash, id);
	if (entry != PATHPROF_NO_INDEX) {
		if (!p->binaries[entry].name[0])
			string_update(p->index, &p->binaries[entry].name, name);
		return entry;
	}
	entry = new_binary(p, hash, id, name);
	if (entry == PATHPROF_NO_INDEX)
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
	return entry;
}

static bool same_file(const struct pathprof_file *a, const struct pathprof_file *b)
{
	return a->owner == b->owner && a->device == b->device && a->inode == b->inode;
}

/* The last file whose owner has another one: distinct owners matter more than distinct files. */
static struct pathprof_file *spare_file(struct pathprof_binary *binary)
{
	for (uint32_t i = binary->file_cnt; i-- > 0;)
		for (uint32_t j = 0; j < i; j++)
			if (binary->files[j].owner == binary->files[i].owner)
				return &binary->files[i];
	return NULL;
}

void pathprof_profile_add_file(struct pathprof_profile *p, uint32_t binary,
			       const struct pathprof_file *file)
{
	struct pathprof_binary *entry = &p->binaries[binary];
	struct pathprof_file *place = NULL;
	bool is_new_owner = true;

	for (uint32_t i = 0; i < entry->file_cnt; i++) {
		if (same_file(&entry->files[i], file))
			return;
		is_new_owner = is_new_owner && entry->files[i].owner != file->owner;
	}
	if (entry->file_cnt < PATHPROF_FILES_MAX)
		place = &entry->files[entry->file_cnt++];
	else if (is_new_owner)
		place = spare_file(entry);
	/* of so many owners one more says no more: the last is then nobody in particular */
	if (!place && is_new_owner) {
		entry->files[PATHPROF_FILES_MAX - 1] =
			(struct pathprof_file){.owner = PATHPROF_OWNER_UNKNOWN};
		return;
	}
	if (place)
		*place = *file;
}

/* ---------------------------------------------------------------- processes */

static uint64_t hash_process(uint64_t seed, const struct pathprof_process *p)
{
	return pp_hash_mix(pp_hash_mix(seed, (uint64_t)p->pid << 32 | p->exec_cnt), p->start_time);
}

static bool same_process(const struct pathprof_process *a, const struct pathprof_process *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && a->exec_cnt == b->exec_cnt;
}

static uint32_t find_process(const struct pathprof_profile *p, uint64_t hash,
			     const struct pathprof_process *process)
{
	return pp_table_find(&p->index->processes.table, hash, i,
			     same_process(&p->processes[i], process));
}

static uint32_t new_process(struct pathprof_profile *p, uint64_t hash,
			    const struct pathprof_process *process)
{
	struct pathprof_profile_index *index = p->index;

	if (!pp_profile_make_room(index, (void **)&p->processes, sizeof(*p->processes),
				  &index->processes))
		return PATHPROF_NO_INDEX;
	char *comm = string_copy(index, process->comm);
	char *container = string_copy(index, process->container);
	struct pathprof_process *entry = &p->processes[p->process_cnt];
	*entry = *process;
	if (!comm || !container ||
	    pp_table_add(&index->processes.table, hash, i,
			 hash_process(index->seed, &p->processes[i])) < 0) {
		string_free(index, comm);
		string_free(index, container);
		return PATHPROF_NO_INDEX;
	}
	entry->comm = comm;
	entry->container = container;
	return p->process_cnt++;
}

/* Takes over changes: a thread may rename itself, a process may move to another container. */
static void update_process(struct pathprof_profile *p, struct pathprof_process *entry,
			   const struct pathprof_process *process)
{
	string_update(p->index, &entry->comm, process->comm);
	string_update(p->index, &entry->container, process->container);
	if (entry->binary == PATHPROF_NO_INDEX)
		entry->binary = process->binary;
}

uint32_t pathprof_profile_process(struct pathprof_profile *p,
				  const struct pathprof_process *process)
{
	if (process->binary != PATHPROF_NO_INDEX && process->binary >= p->binary_cnt) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return PATHPROF_NO_INDEX;
	}
	uint64_t hash = hash_process(p->index->seed, process);
	uint32_t entry = find_process(p, hash, process);
	if (entry != PATHPROF_NO_INDEX) {
		update_process(p, &p->processes[entry], process);
		return entry;
	}
	entry = new_process(p, hash, process);
	if (entry == PATHPROF_NO_INDEX)
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
	return entry;
}

/* ---------------------------------------------------------------- totals */

/* A store's numbers end at 2^63. */
static uint64_t add_stored(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

void pathprof_totals_add(struct pathprof_totals *sum, const struct pathprof_totals *add)
{
	sum->bursts = add_stored(sum->bursts, add->bursts);
	sum->branches = add_stored(sum->branches, add->branches);
	sum->taken = add_stored(sum->taken, add->taken);
	sum->steps = add_stored(sum->steps, add->steps);
	sum->paths = add_stored(sum->paths, add->paths);
	sum->insns = add_stored(sum->insns, add->insns);
	sum->pathless = add_stored(sum->pathless, add->pathless);
	sum->stopped_ns = add_stored(sum->stopped_ns, add->stopped_ns);
	sum->source_cpu_ns = add_stored(sum->source_cpu_ns, add->source_cpu_ns);
	for (int i = 0; i < PATHPROF_END_CNT; i++)
		sum->ends[i] = add_stored(sum->ends[i], add->ends[i]);
	for (int i = 0; i < PATHPROF_DROP_CNT; i++)
		sum->drops[i] = add_stored(sum->drops[i], add->drops[i]);
}
