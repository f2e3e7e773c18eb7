// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of frames, asked for as they are needed: see tables.h. */
#include "tables.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "../drift/names.h"

#define TABLES_MAX 256
#define AGAIN_NS   (60 * PP_NSEC_PER_SEC)
/* CPU time that the children may take before they are limited to a hundredth of one CPU. */
#define CPU_FIRST_NS (5 * PP_NSEC_PER_SEC)
#define CPU_SHARE    100

enum state { WANTED, ASKED, THERE, ABSENT };

struct entry {
	struct pathprof_build_id id;
	enum state state;
	pid_t pid;         /* the last process that met the file before it was asked for */
	char *name;        /* as that process names it */
	uint64_t used;     /* the number of the last question about it */
	uint64_t again_ns; /* absent: not asked for before this time */
	struct pathprof_unwind_table table;
};

struct pp_tables {
	struct pp_names *names;
	sd_event_source *next;            /* asks for the next one, after the call that wants it */
	struct entry entries[TABLES_MAX]; /* the used ones come first */
	size_t entry_cnt;
	size_t bytes, max_bytes;
	uint64_t question, begun_ns;
};

static void entry_free(struct pp_tables *tables, struct entry *entry)
{
	tables->bytes -= entry->table.row_cnt * sizeof(entry->table.rows[0]);
	pathprof_unwind_table_release(&entry->table);
	free(entry->name);
}

/* False: no table may be dropped. */
static bool drop_oldest(struct pp_tables *tables)
{
	size_t oldest = SIZE_MAX;

	for (size_t i = 0; i < tables->entry_cnt; i++) {
		const struct entry *entry = &tables->entries[i];

		if (entry->state != ASKED &&
		    (oldest == SIZE_MAX || entry->used < tables->entries[oldest].used))
			oldest = i;
	}
	if (oldest == SIZE_MAX)
		return false;
	entry_free(tables, &tables->entries[oldest]);
	tables->entries[oldest] = tables->entries[--tables->entry_cnt];
	return true;
}

/* ---------------------------------------------------------------- asking */

static struct entry *first_in_state(struct pp_tables *tables, enum state state)
{
	for (size_t i = 0; i < tables->entry_cnt; i++)
		if (tables->entries[i].state == state)
			return &tables->entries[i];
	return NULL;
}

static bool may_ask(const struct pp_tables *tables)
{
	uint64_t age_ns = pp_monotonic_ns() - tables->begun_ns;

	return !pp_names_busy(tables->names) &&
	       pp_tables_cpu_ns(tables) < CPU_FIRST_NS + age_ns / CPU_SHARE;
}

static void give_up(struct entry *entry)
{
	entry->state = ABSENT;
	entry->again_ns = pp_monotonic_ns() + AGAIN_NS;
}

/* Copies the rows, because the answer that owns them is freed. */
static int copy_table(struct entry *entry, const struct pathprof_unwind_table *from)
{
	entry->table.rows = calloc(from->row_cnt + 1, sizeof(from->rows[0]));
	if (!entry->table.rows)
		return -ENOMEM;
	memcpy(entry->table.rows, from->rows, from->row_cnt * sizeof(from->rows[0]));
	entry->table.row_cnt = from->row_cnt;
	return 0;
}

static void ask_next(struct pp_tables *tables);

static void on_answer(void *context, int code, const struct pp_names_answer *answer)
{
	struct pp_tables *tables = context;
	struct entry *entry = first_in_state(tables, ASKED);

	if (entry && !code && answer->table.row_cnt && !copy_table(entry, &answer->table)) {
		entry->state = THERE;
		tables->bytes += entry->table.row_cnt * sizeof(entry->table.rows[0]);
	} else if (entry) {
		give_up(entry);
	}
	while (tables->bytes > tables->max_bytes && drop_oldest(tables))
		;
	ask_next(tables);
}

static void ask_next(struct pp_tables *tables)
{
	struct entry *entry = first_in_state(tables, WANTED);
	struct pp_names_job job = {.pid_cnt = 1, .frames = true, .hurry = true};

	if (!entry || !may_ask(tables))
		return;
	job.id = entry->id;
	job.file = entry->name;
	job.pids[0] = entry->pid;
	entry->state = ASKED;
	if (pp_names_ask(tables->names, &job, on_answer, tables) < 0)
		give_up(entry);
}

static int on_next(sd_event_source *source, void *context)
{
	ask_next(context);
	return 0;
}

static void ask_soon(struct pp_tables *tables)
{
	if (!pp_names_busy(tables->names))
		sd_event_source_set_enabled(tables->next, SD_EVENT_ONESHOT);
}

/* ---------------------------------------------------------------- finding */

static struct entry *new_entry(struct pp_tables *tables, const struct pathprof_build_id *id)
{
	struct entry *entry;

	if (tables->entry_cnt == TABLES_MAX && !drop_oldest(tables))
		return NULL;
	entry = &tables->entries[tables->entry_cnt];
	*entry = (struct entry){.id = *id, .name = strdup("")};
	if (!entry->name)
		return NULL;
	tables->entry_cnt++;
	return entry;
}

/* A name means something in the mount namespace of its process only: both are taken, or none. */
static void want(struct entry *entry, pid_t pid, const char *name)
{
	char *copy;

	entry->state = WANTED;
	if (entry->pid == pid && !strcmp(entry->name, name))
		return;
	copy = strndup(name, PATH_MAX);
	if (!copy)
		return;
	free(entry->name);
	entry->name = copy;
	entry->pid = pid;
}

static struct entry *find_entry(struct pp_tables *tables, const struct pathprof_build_id *id)
{
	for (size_t i = 0; i < tables->entry_cnt; i++)
		if (pathprof_build_id_equal(&tables->entries[i].id, id))
			return &tables->entries[i];
	return NULL;
}

static bool is_due(const struct entry *entry)
{
	return entry->state == ABSENT && pp_monotonic_ns() >= entry->again_ns;
}

int pp_tables_find(void *context, pid_t pid, const struct pp_location *where,
		   const struct pathprof_unwind_table **ret_table)
{
	struct pp_tables *tables = context;
	struct entry *entry;

	if (where->id.kind == PATHPROF_ID_NONE || where->id.kind == PATHPROF_ID_JIT)
		return -ENOENT;
	entry = find_entry(tables, &where->id);
	if (!entry)
		entry = new_entry(tables, &where->id);
	if (!entry)
		return -ENOENT;
	entry->used = ++tables->question;
	if (entry->state == WANTED || is_due(entry)) {
		want(entry, pid, where->name ? where->name : "");
		ask_soon(tables);
	}
	if (entry->state != THERE)
		return entry->state == ABSENT ? -ENOENT : -EAGAIN;
	*ret_table = &entry->table;
	return 0;
}

uint64_t pp_tables_cpu_ns(const struct pp_tables *tables)
{
	struct pp_names_stats stats;

	pp_names_stats(tables->names, &stats);
	return stats.cpu_ns;
}

int pp_tables_new(struct pp_tables **ret_tables, sd_event *event, size_t max_bytes)
{
	struct pp_tables *tables = calloc(1, sizeof(*tables));
	int r;

	if (!tables)
		return -ENOMEM;
	tables->max_bytes = max_bytes;
	tables->begun_ns = pp_monotonic_ns();
	r = pp_names_new(&tables->names, event, NULL);
	if (r >= 0)
		r = sd_event_add_defer(event, &tables->next, on_next, tables);
	if (r >= 0)
		r = sd_event_source_set_enabled(tables->next, SD_EVENT_OFF);
	if (r < 0) {
		pp_tables_free(tables);
		return r;
	}
	*ret_tables = tables;
	return 0;
}

void pp_tables_free(struct pp_tables *tables)
{
	if (!tables)
		return;
	sd_event_source_disable_unref(tables->next);
	pp_names_free(tables->names);
	while (tables->entry_cnt)
		entry_free(tables, &tables->entries[--tables->entry_cnt]);
	free(tables);
}
