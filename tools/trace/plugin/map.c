// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which file the code at an address comes from: ranges are looked up in /proc/self/maps when code
 * in them is first translated, and forgotten when the program maps something else there. Only what
 * runs becomes a module of the trace.
 *
 * The emulator's own mappings stand in the same file; nobody asks for them, so they do no harm.
 *
 * Workload: a look-up for each block translated, a few dozen ranges. Locking: plugin_lock().
 * Ownership: a fixed table; when it is full one range goes, and comes back as a new module.
 */
#include "plugin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/trace_format.h"

#define RANGE_MAX      512
#define NAME_MAX_BYTES 4096

struct range {
	uint64_t start, end, offset;
	uint32_t module;
	char *name;
};

static struct range ranges[RANGE_MAX];
static size_t range_cnt;

static const char anonymous[] = "[anon]";

static void drop(size_t i)
{
	free(ranges[i].name);
	ranges[i] = ranges[--range_cnt];
}

/* Drops whole ranges. Their other parts are looked up again when they run. */
void map_forget(uint64_t start, uint64_t end)
{
	for (size_t i = range_cnt; i-- > 0;)
		if (ranges[i].start < end && start < ranges[i].end)
			drop(i);
}

static const struct range *find(uint64_t address)
{
	for (size_t i = 0; i < range_cnt; i++)
		if (address - ranges[i].start < ranges[i].end - ranges[i].start)
			return &ranges[i];
	return NULL;
}

static void define(struct range *range)
{
	struct pathprof_trace_module record = {
		.process = process_number(),
		.start = range->start,
		.end = range->end,
		.offset = range->offset,
		.name_len = (uint16_t)strlen(range->name),
	};

	range->module = __atomic_fetch_add(&plugin_share->next_module, 1, __ATOMIC_RELAXED);
	record.module = range->module;
	process_define(PATHPROF_TRACE_MODULES, &record, sizeof(record), range->name,
		       record.name_len);
}

/* A forked process has the same modules, under its own number. */
void map_define_again(void)
{
	for (size_t i = 0; i < range_cnt; i++)
		define(&ranges[i]);
}

/* One line of maps; name "" for anonymous memory. */
static bool parse_line(const char *line, struct range *ret_range, char *ret_name)
{
	unsigned long start, end, offset;
	int at = 0;

	ret_name[0] = '\0';
	if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &at) < 3)
		return false;
	if (at && line[at] == '/')
		snprintf(ret_name, NAME_MAX_BYTES, "%.*s", (int)strcspn(line + at, "\n"),
			 line + at);
	*ret_range = (struct range){
		.start = start - plugin_guest_base,
		.end = end - plugin_guest_base,
		.offset = ret_name[0] ? offset : 0,
	};
	return true;
}

/* Finds the range of an address. Adjoining anonymous memory, which the emulator protects page by
 * page, counts as one range. */
static bool scan(FILE *maps, uint64_t address, struct range *ret_range, char *ret_name)
{
	char line[NAME_MAX_BYTES + 128], name[NAME_MAX_BYTES] = "";
	struct range now, anon = {0};
	bool found = false;

	while (fgets(line, sizeof(line), maps)) {
		if (!parse_line(line, &now, name))
			continue;
		if (!name[0] && anon.end == now.start)
			now.start = anon.start;
		if (found && (name[0] || now.start != ret_range->start))
			break;
		if (!name[0])
			anon = now;
		if (!found && (address < now.start || address >= now.end))
			continue;
		found = true;
		*ret_range = now;
		memcpy(ret_name, name, sizeof(name));
		if (name[0])
			break;
	}
	return found;
}

static bool look_up(uint64_t address, struct range *ret_range, char *ret_name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found;

	if (!maps)
		return false;
	found = scan(maps, address, ret_range, ret_name);
	fclose(maps);
	return found;
}

uint32_t map_module(uint64_t address)
{
	const struct range *known = find(address);
	char name[NAME_MAX_BYTES] = "";
	struct range range;

	if (known)
		return known->module;
	if (!look_up(address, &range, name))
		range = (struct range){.start = address & ~4095ull, .end = (address | 4095) + 1};
	range.name = strdup(name[0] ? name : anonymous);
	if (!range.name)
		return PATHPROF_TRACE_NO_MODULE;
	map_forget(range.start, range.end);
	if (range_cnt == RANGE_MAX)
		drop(0);
	define(&range);
	ranges[range_cnt++] = range;
	return range.module;
}
