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
#include "pathprof/profile.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/table.h"
#include "base/vector.h"
#include "pp_path_sums.h"

#define NAME_MAX_BYTES  4096
#define PATH_LENGTH_MAX 32
#define FIRST_ENTRIES   64
/* The array doubles: segments never take more than a quarter of the memory. */
#define SEGMENTS_PART 8

/* One array's room, and the table that finds its entries. */
struct entries {
	struct pp_table table;
	uint32_t room;
};

struct pathprof_profile_index {
	size_t max_bytes, used_bytes;
	uint64_t seed;
	struct entries binaries, processes, paths, edges, clocks, contexts, context_counts,
		segments;
};

static const char *const drop_names[PATHPROF_DROP_CNT] = {
	[PATHPROF_DROP_UNRESOLVED] = "unresolved",
	[PATHPROF_DROP_TABLE_FULL] = "table-full",
	[PATHPROF_DROP_QUEUE_FULL] = "queue-full",
	[PATHPROF_DROP_MALFORMED] = "malformed",
	[PATHPROF_DROP_TRACED] = "traced",
	[PATHPROF_DROP_32BIT] = "32bit",
	[PATHPROF_DROP_SECCOMP] = "seccomp",
	[PATHPROF_DROP_GONE] = "gone",
	[PATHPROF_DROP_DENIED] = "denied",
	[PATHPROF_DROP_STOPPED] = "stopped",
	[PATHPROF_DROP_BUDGET] = "budget",
	[PATHPROF_DROP_TRACKER_LOST] = "tracker-lost",
	[PATHPROF_DROP_BUSY] = "busy",
	[PATHPROF_DROP_REFUSED] = "refused",
	[PATHPROF_DROP_KERNEL] = "kernel",
	[PATHPROF_DROP_REALTIME] = "realtime",
	[PATHPROF_DROP_ISOLATED] = "isolated",
	[PATHPROF_DROP_OWN] = "own",
	[PATHPROF_DROP_INIT] = "init",
	[PATHPROF_DROP_SILENT] = "silent",
	[PATHPROF_DROP_STARTING] = "starting",
};

static const char *const end_names[PATHPROF_END_CNT] = {
	[PATHPROF_END_FULL] = "full",       [PATHPROF_END_SYSCALL] = "syscall",
	[PATHPROF_END_FLAGS] = "flags",     [PATHPROF_END_TRAP] = "trap",
	[PATHPROF_END_FAR] = "far",         [PATHPROF_END_SS] = "ss",
	[PATHPROF_END_TSX] = "tsx",         [PATHPROF_END_REP] = "rep",
	[PATHPROF_END_FETCH] = "fetch",     [PATHPROF_END_SIGNAL] = "signal",
	[PATHPROF_END_DISCONT] = "discont", [PATHPROF_END_STEPS] = "steps",
	[PATHPROF_END_TIME] = "time",       [PATHPROF_END_EXIT] = "exit",
	[PATHPROF_END_SWITCH] = "switch",
};

const char *pathprof_drop_name(enum pathprof_drop drop)
{
	return (unsigned int)drop < PATHPROF_DROP_CNT ? drop_names[drop] : NULL;
}

const char *pathprof_end_name(uint32_t end)
{
	return end < PATHPROF_END_CNT ? end_names[end] : NULL;
}

const char *pathprof_basis_name(enum pathprof_basis basis)
{
	switch (basis) {
	case PATHPROF_BASIS_TIME:
		return "time";
	case PATHPROF_BASIS_BRANCHES:
		return "branches";
	}
	return NULL;
}

const char *pathprof_source_name(uint32_t source)
{
	switch (source) {
	case PATHPROF_SOURCE_STEP:
		return "step";
	case PATHPROF_SOURCE_SWLBR:
		return "swlbr";
	case PATHPROF_SOURCE_LBR:
		return "lbr";
	case PATHPROF_SOURCE_IMPORT:
		return "import";
	case PATHPROF_SOURCE_TRACE:
		return "trace";
	}
	return NULL;
}

/* ---------------------------------------------------------------- hashes */

static uint64_t hash_id(uint64_t seed, const struct pathprof_build_id *id)
{
	uint64_t hash = pp_hash_mix(seed, (uint64_t)id->kind << 8 | id->len_bytes);

	for (unsigned int i = 0; i < id->len_bytes; i++)
		hash = pp_hash_mix(hash, id->bytes[i]);
	return hash;
}

static uint64_t hash_process(uint64_t seed, const struct pathprof_process *p)
{
	return pp_hash_mix(pp_hash_mix(seed, (uint64_t)p->pid << 32 | p->exec_cnt), p->start_time);
}

static uint64_t hash_path(uint64_t seed, const struct pathprof_path_count *p)
{
	uint64_t hash = pp_hash_mix(seed, (uint64_t)p->process << 32 | p->binary);

	return pp_hash_mix(pp_hash_mix(hash, p->start), (uint64_t)p->length << 32 | p->outcomes);
}

static uint64_t hash_edge(uint64_t seed, const struct pathprof_edge_count *e)
{
	uint64_t hash = pp_hash_mix(seed, (uint64_t)e->from_binary << 32 | e->to_binary);

	return pp_hash_mix(pp_hash_mix(pp_hash_mix(hash, e->process), e->from), e->to);
}

static uint64_t hash_clock(uint64_t seed, const struct pathprof_clock_count *c)
{
	return pp_hash_mix(pp_hash_mix(seed, (uint64_t)c->process << 32 | c->binary), c->place);
}

static uint64_t hash_context(uint64_t seed, const struct pathprof_caller *c)
{
	return pp_hash_mix(pp_hash_mix(seed, (uint64_t)c->parent << 32 | c->binary), c->function);
}

static uint64_t hash_context_count(uint64_t seed, const struct pathprof_caller_count *c)
{
	return pp_hash_mix(seed, (uint64_t)c->path << 32 | c->context);
}

static uint64_t hash_segment(uint64_t seed, const struct pathprof_segment_count *s)
{
	const struct pathprof_piece_key *first = &s->first;
	uint64_t hash = pp_hash_mix(hash_path(seed, &s->second), first->start);

	hash = pp_hash_mix(hash, (uint64_t)first->length << 32 | first->outcomes);
	return pp_hash_mix(hash, first->binary);
}

static bool same_process(const struct pathprof_process *a, const struct pathprof_process *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && a->exec_cnt == b->exec_cnt;
}

static bool same_path(const struct pathprof_path_count *a, const struct pathprof_path_count *b)
{
	return a->start == b->start && a->outcomes == b->outcomes && a->length == b->length &&
	       a->process == b->process && a->binary == b->binary;
}

static bool same_segment(const struct pathprof_segment_count *a,
			 const struct pathprof_segment_count *b)
{
	return a->first.start == b->first.start && a->first.outcomes == b->first.outcomes &&
	       a->first.length == b->first.length && a->first.binary == b->first.binary &&
	       same_path(&a->second, &b->second);
}

static bool same_edge(const struct pathprof_edge_count *a, const struct pathprof_edge_count *b)
{
	return a->from == b->from && a->to == b->to && a->process == b->process &&
	       a->from_binary == b->from_binary && a->to_binary == b->to_binary;
}

static bool same_clock(const struct pathprof_clock_count *a, const struct pathprof_clock_count *b)
{
	return a->place == b->place && a->process == b->process && a->binary == b->binary;
}

static bool same_context(const struct pathprof_caller *a, const struct pathprof_caller *b)
{
	return a->function == b->function && a->parent == b->parent && a->binary == b->binary;
}

static bool same_context_count(const struct pathprof_caller_count *a,
			       const struct pathprof_caller_count *b)
{
	return a->path == b->path && a->context == b->context;
}

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
		       struct entries *entries, uint32_t room)
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
		       struct entries *entries)
{
	uint32_t room = entries->room;

	if (entries->table.cnt < room)
		return true;
	if (room >= UINT32_MAX / 4)
		return false;
	return grow_array(index, array, entry_bytes, entries, room ? 2 * room : FIRST_ENTRIES) ||
	       grow_array(index, array, entry_bytes, entries, room + room / 8 + 1);
}

/* Room for one more entry in the array, and within the bound in its table. */
static bool make_room(struct pathprof_profile_index *index, void **array, size_t entry_bytes,
		      struct entries *entries)
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
	/* Early in boot there may be no entropy yet; then the address of the heap has to do. */
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

	if (!make_room(index, (void **)&p->binaries, sizeof(*p->binaries), &index->binaries))
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

/* The last one whose owner has another: what matters is who, then which. */
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

	if (!make_room(index, (void **)&p->processes, sizeof(*p->processes), &index->processes))
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

/* What was learned since: a thread may rename itself, a process may move to another container. */
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

/* ---------------------------------------------------------------- paths */

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static struct pathprof_path_count *find_path(const struct pathprof_profile *p, uint64_t hash,
					     const struct pathprof_path_count *path)
{
	uint32_t entry =
		pp_table_find(&p->index->paths.table, hash, i, same_path(&p->paths[i], path));

	return entry == PP_TABLE_NONE ? NULL : &p->paths[entry];
}

static struct pathprof_path_count *new_path(struct pathprof_profile *p, uint64_t hash,
					    const struct pathprof_path_count *path)
{
	struct entries *entries = &p->index->paths;
	struct pathprof_path_count *entry;

	if (!make_room(p->index, (void **)&p->paths, sizeof(*p->paths), entries))
		return NULL;
	entry = &p->paths[p->path_cnt];
	*entry = *path;
	if (pp_table_add(&entries->table, hash, i, hash_path(p->index->seed, &p->paths[i])) < 0)
		return NULL;
	p->path_cnt++;
	pp_path_sums_begin(entry);
	return entry;
}

static uint32_t new_context(struct pathprof_profile *p, const struct pathprof_caller *context)
{
	struct entries *entries = &p->index->contexts;
	uint64_t hash = hash_context(p->index->seed, context);

	if (!make_room(p->index, (void **)&p->contexts, sizeof(*p->contexts), entries))
		return 0;
	p->contexts[p->context_cnt] = *context;
	if (pp_table_add(&entries->table, hash, i, hash_context(p->index->seed, &p->contexts[i])) <
	    0)
		return 0;
	return p->context_cnt++;
}

uint32_t pathprof_profile_context(struct pathprof_profile *p, uint32_t parent, uint32_t binary,
				  uint64_t function)
{
	const struct pathprof_caller nobody = {0, PATHPROF_NO_INDEX, UINT64_MAX};
	const struct pathprof_caller context = {parent, binary, function};
	uint32_t entry;

	if ((parent && parent >= p->context_cnt) ||
	    (binary >= p->binary_cnt && binary != PATHPROF_NO_INDEX)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return 0;
	}
	entry = pp_table_find(&p->index->contexts.table, hash_context(p->index->seed, &context), i,
			      same_context(&p->contexts[i], &context));
	if (entry != PP_TABLE_NONE)
		return entry;
	if (!p->context_cnt)
		new_context(p, &nobody);
	entry = p->context_cnt ? new_context(p, &context) : 0;
	p->totals.drops[PATHPROF_DROP_TABLE_FULL] += !entry;
	return entry;
}

static struct pathprof_caller_count *new_context_count(struct pathprof_profile *p, uint64_t hash,
						       const struct pathprof_caller_count *count)
{
	struct entries *entries = &p->index->context_counts;
	uint32_t number = p->context_count_cnt;

	if (!make_room(p->index, (void **)&p->context_counts, sizeof(*p->context_counts), entries))
		return NULL;
	p->context_counts[number] = *count;
	if (pp_table_add(&entries->table, hash, i,
			 hash_context_count(p->index->seed, &p->context_counts[i])) < 0)
		return NULL;
	p->context_count_cnt++;
	return &p->context_counts[number];
}

static void add_context(struct pathprof_profile *p, uint32_t path,
			const struct pathprof_path_count *add, uint32_t context)
{
	struct pathprof_caller_count count = {.path = path, .context = context};
	uint64_t hash = hash_context_count(p->index->seed, &count);
	uint32_t number = pp_table_find(&p->index->context_counts.table, hash, i,
					same_context_count(&p->context_counts[i], &count));
	struct pathprof_caller_count *entry = number == PP_TABLE_NONE
						      ? new_context_count(p, hash, &count)
						      : &p->context_counts[number];

	if (!entry) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
		return;
	}
	entry->samples = add_saturated(entry->samples, add->samples);
	entry->weight += add->weight;
}

static bool is_sum(double value)
{
	return isfinite(value) && value >= 0;
}

static bool path_is_sound(const struct pathprof_profile *p, const struct pathprof_path_count *path)
{
	return path->process < p->process_cnt && path->binary < p->binary_cnt &&
	       path->length <= PATH_LENGTH_MAX && is_sum(path->weight) && is_sum(path->insns) &&
	       is_sum(path->weight_squares) && (!path->slice || path->slice_samples > 0);
}

void pathprof_profile_add_path(struct pathprof_profile *p, const struct pathprof_path_count *add)
{
	pathprof_profile_add_called_path(p, add, 0);
}

void pathprof_profile_add_called_path(struct pathprof_profile *p,
				      const struct pathprof_path_count *add, uint32_t context)
{
	/* Its process or binary found the table full: counted there. */
	if (add->process == PATHPROF_NO_INDEX || add->binary == PATHPROF_NO_INDEX)
		return;
	if (!path_is_sound(p, add) || (context && context >= p->context_cnt)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	uint64_t hash = hash_path(p->index->seed, add);
	struct pathprof_path_count *entry = find_path(p, hash, add);
	if (!entry)
		entry = new_path(p, hash, add);
	if (!entry) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
		return;
	}
	pp_path_sums_add(entry, add);
	if (context)
		add_context(p, (uint32_t)(entry - p->paths), add, context);
}

/* ---------------------------------------------------------------- segments */

static bool segments_have_room(const struct pathprof_profile *p)
{
	const size_t entry_bytes = sizeof(*p->segments) + 2 * sizeof(uint32_t);

	return p->segment_cnt < p->index->max_bytes / SEGMENTS_PART / entry_bytes;
}

static struct pathprof_segment_count *find_segment(const struct pathprof_profile *p, uint64_t hash,
						   const struct pathprof_segment_count *segment)
{
	uint32_t entry = pp_table_find(&p->index->segments.table, hash, i,
				       same_segment(&p->segments[i], segment));

	return entry == PP_TABLE_NONE ? NULL : &p->segments[entry];
}

static struct pathprof_segment_count *new_segment(struct pathprof_profile *p, uint64_t hash,
						  const struct pathprof_segment_count *segment)
{
	struct entries *entries = &p->index->segments;
	struct pathprof_segment_count *entry;

	if (!segments_have_room(p) ||
	    !make_room(p->index, (void **)&p->segments, sizeof(*p->segments), entries))
		return NULL;
	entry = &p->segments[p->segment_cnt];
	*entry = *segment;
	if (pp_table_add(&entries->table, hash, i, hash_segment(p->index->seed, &p->segments[i])) <
	    0)
		return NULL;
	p->segment_cnt++;
	pp_path_sums_begin(&entry->second);
	return entry;
}

void pathprof_profile_add_segment(struct pathprof_profile *p,
				  const struct pathprof_segment_count *add)
{
	struct pathprof_segment_count *entry;
	uint64_t hash;

	if (add->second.process == PATHPROF_NO_INDEX || add->second.binary == PATHPROF_NO_INDEX ||
	    add->first.binary == PATHPROF_NO_INDEX)
		return;
	if (!path_is_sound(p, &add->second) || add->first.binary >= p->binary_cnt ||
	    add->first.length > PATH_LENGTH_MAX) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	hash = hash_segment(p->index->seed, add);
	entry = find_segment(p, hash, add);
	if (!entry)
		entry = new_segment(p, hash, add);
	if (entry)
		pp_path_sums_add(&entry->second, &add->second);
	else
		p->segments_lost = add_saturated(p->segments_lost, add->second.samples);
}

/* ---------------------------------------------------------------- edges and clock samples */

static struct pathprof_edge_count *find_edge(const struct pathprof_profile *p, uint64_t hash,
					     const struct pathprof_edge_count *edge)
{
	uint32_t entry =
		pp_table_find(&p->index->edges.table, hash, i, same_edge(&p->edges[i], edge));

	return entry == PP_TABLE_NONE ? NULL : &p->edges[entry];
}

static bool new_edge(struct pathprof_profile *p, uint64_t hash,
		     const struct pathprof_edge_count *edge)
{
	struct entries *entries = &p->index->edges;

	if (!make_room(p->index, (void **)&p->edges, sizeof(*p->edges), entries))
		return false;
	p->edges[p->edge_cnt] = *edge;
	if (pp_table_add(&entries->table, hash, i, hash_edge(p->index->seed, &p->edges[i])) < 0)
		return false;
	p->edge_cnt++;
	return true;
}

void pathprof_profile_add_edge(struct pathprof_profile *p, const struct pathprof_edge_count *add)
{
	if (add->process == PATHPROF_NO_INDEX || add->from_binary == PATHPROF_NO_INDEX ||
	    add->to_binary == PATHPROF_NO_INDEX)
		return;
	if (add->process >= p->process_cnt || add->from_binary >= p->binary_cnt ||
	    add->to_binary >= p->binary_cnt || !is_sum(add->weight)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	uint64_t hash = hash_edge(p->index->seed, add);
	struct pathprof_edge_count *entry = find_edge(p, hash, add);
	if (entry) {
		entry->count = add_saturated(entry->count, add->count);
		entry->mispredicted = add_saturated(entry->mispredicted, add->mispredicted);
		entry->weight += add->weight;
	} else if (!new_edge(p, hash, add)) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
	}
}

static void scale_path(struct pathprof_path_count *path, double factor)
{
	path->weight *= factor;
	path->insns *= factor;
	path->weight_squares *= factor * factor;
	path->burst_weight *= factor;
	path->slice_weight *= factor;
}

void pathprof_profile_scale(struct pathprof_profile *p, const double *factors)
{
	for (uint32_t i = 0; i < p->path_cnt; i++)
		scale_path(&p->paths[i], factors[p->paths[i].process]);
	for (uint32_t i = 0; i < p->edge_cnt; i++)
		p->edges[i].weight *= factors[p->edges[i].process];
	for (uint32_t i = 0; i < p->context_count_cnt; i++)
		p->context_counts[i].weight *= factors[p->paths[p->context_counts[i].path].process];
	for (uint32_t i = 0; i < p->segment_cnt; i++)
		scale_path(&p->segments[i].second, factors[p->segments[i].second.process]);
}

static struct pathprof_clock_count *find_clock(const struct pathprof_profile *p, uint64_t hash,
					       const struct pathprof_clock_count *clock)
{
	uint32_t entry =
		pp_table_find(&p->index->clocks.table, hash, i, same_clock(&p->clocks[i], clock));

	return entry == PP_TABLE_NONE ? NULL : &p->clocks[entry];
}

static bool new_clock(struct pathprof_profile *p, uint64_t hash,
		      const struct pathprof_clock_count *clock)
{
	struct entries *entries = &p->index->clocks;

	if (!make_room(p->index, (void **)&p->clocks, sizeof(*p->clocks), entries))
		return false;
	p->clocks[p->clock_cnt] = *clock;
	if (pp_table_add(&entries->table, hash, i, hash_clock(p->index->seed, &p->clocks[i])) < 0)
		return false;
	p->clock_cnt++;
	return true;
}

bool pathprof_is_kernel(const struct pathprof_build_id *id, const char *name)
{
	return id->kind == PATHPROF_ID_JIT && !strcmp(name, PATHPROF_KERNEL_NAME);
}

static bool clock_is_sound(const struct pathprof_profile *p,
			   const struct pathprof_clock_count *clock)
{
	if (clock->process >= p->process_cnt)
		return false;
	if (clock->binary != PATHPROF_NO_INDEX)
		return clock->binary < p->binary_cnt;
	return clock->place == PATHPROF_PLACE_UNKNOWN || clock->place == PATHPROF_PLACE_KERNEL;
}

void pathprof_profile_add_clock(struct pathprof_profile *p, const struct pathprof_clock_count *add)
{
	if (add->process == PATHPROF_NO_INDEX)
		return;
	if (!clock_is_sound(p, add)) {
		p->totals.drops[PATHPROF_DROP_MALFORMED]++;
		return;
	}
	uint64_t hash = hash_clock(p->index->seed, add);
	struct pathprof_clock_count *entry = find_clock(p, hash, add);
	if (entry) {
		entry->samples = add_saturated(entry->samples, add->samples);
	} else if (!new_clock(p, hash, add)) {
		p->totals.drops[PATHPROF_DROP_TABLE_FULL]++;
		return;
	}
	p->totals.clock_samples = add_saturated(p->totals.clock_samples, add->samples);
}

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
