// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds reconstruction against what a processor really executed: takes from each burst the branches
 * that were not taken, puts them back by reading the files mapped, and compares.
 *
 *     retaken BURSTS MAPS
 *
 * BURSTS as `bursts` writes them, of one process; MAPS its /proc/PID/maps. Prints "windows N same
 * N refused N"; exit status 1 when a window that was not refused differs, 2 for trouble of ours.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/reconstruct.h"

#define MAPS_MAX       1024
#define NAME_MAX_BYTES 512

struct map {
	uint64_t start, end, offset;
	char name[NAME_MAX_BYTES];
	struct pathprof_code *code; /* NULL: no file that can be read */
};

struct maps {
	struct map list[MAPS_MAX];
	size_t cnt;
};

static _Noreturn void fail(const char *what, const char *name)
{
	fprintf(stderr, "retaken: %s: %s\n", name, what);
	exit(2);
}

static FILE *open_file(const char *name)
{
	FILE *file = fopen(name, "re");

	if (!file)
		fail(strerror(errno), name);
	return file;
}

static void read_maps(struct maps *maps, const char *name)
{
	FILE *file = open_file(name);
	char line[NAME_MAX_BYTES + 128], rights[5];

	while (maps->cnt < MAPS_MAX && fgets(line, sizeof(line), file)) {
		struct map *map = &maps->list[maps->cnt];

		map->name[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511s",
			   &map->start, &map->end, rights, &map->offset, map->name) < 4)
			fail("not of the form of maps", name);
		if (rights[2] != 'x')
			continue;
		if (map->name[0] != '/' ||
		    pathprof_code_open(&map->code, map->name, NULL, NULL) < 0)
			map->code = NULL;
		maps->cnt++;
	}
	fclose(file);
}

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	const struct maps *maps = context;

	for (size_t i = 0; i < maps->cnt; i++) {
		const struct map *map = &maps->list[i];

		if (address < map->start || address >= map->end || !map->code)
			continue;
		*ret_place = (struct pathprof_mapping_place){map->code, map->start, map->end,
							     map->offset};
		return 0;
	}
	return -ENOENT;
}

/* But for instructions, which reconstruction does not count. */
static bool is_same(const struct pathprof_branch *result, const struct pathprof_branch *branches,
		    uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct pathprof_branch branch = branches[i];

		branch.insns = result[i].insns;
		if (memcmp(&result[i], &branch, sizeof(branch)) != 0)
			return false;
	}
	return true;
}

/* 1: the same, 0: it differs, -1: refused. */
static int hold(struct pathprof_reconstructor *r, const struct pathprof_branch *branches,
		uint32_t cnt)
{
	static struct pathprof_branch result[PATHPROF_BURST_MAX];
	static struct pathprof_taken taken[PATHPROF_BURST_MAX];
	uint32_t taken_cnt = 0, result_cnt = 0, at;

	for (uint32_t i = 0; i < cnt; i++)
		if (branches[i].taken)
			taken[taken_cnt++] =
				(struct pathprof_taken){branches[i].from, branches[i].next};
	if (pathprof_reconstruct(r, taken, taken_cnt, result, &result_cnt, &at))
		return -1;
	return result_cnt == cnt && is_same(result, branches, cnt);
}

/* From its first taken branch to its last; 0: it has none. */
static uint32_t trim(const struct pathprof_branch **branches, uint32_t cnt)
{
	while (cnt && !(*branches)[cnt - 1].taken)
		cnt--;
	while (cnt && !(*branches)->taken) {
		++*branches;
		cnt--;
	}
	return cnt;
}

static int run(struct pathprof_reconstructor *r, const char *name)
{
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	FILE *file = open_file(name);
	uint64_t windows = 0, same = 0, refused = 0;
	struct pathprof_burst burst;

	while (fread(&burst, sizeof(burst), 1, file) == 1) {
		const struct pathprof_branch *first = branches;
		uint32_t cnt = burst.branch_cnt;
		int verdict;

		if (cnt > PATHPROF_BURST_MAX ||
		    fread(branches, sizeof(branches[0]), cnt, file) != cnt)
			fail("a burst is cut off", name);
		cnt = trim(&first, cnt);
		if (!cnt)
			continue;
		verdict = hold(r, first, cnt);
		windows++;
		same += verdict == 1;
		refused += verdict < 0;
	}
	fclose(file);
	printf("windows %" PRIu64 " same %" PRIu64 " refused %" PRIu64 "\n", windows, same,
	       refused);
	return same + refused == windows ? 0 : 1;
}

int main(int argc, char **argv)
{
	static struct maps maps;
	struct pathprof_reconstructor *r;
	int status;

	if (argc != 3)
		fail("usage: retaken BURSTS MAPS", "arguments");
	read_maps(&maps, argv[2]);
	if (pathprof_reconstructor_new(&r, locate, &maps) < 0)
		fail("out of memory", "reconstructor");
	status = run(r, argv[1]);
	pathprof_reconstructor_free(r);
	for (size_t i = 0; i < maps.cnt; i++)
		pathprof_code_free(maps.list[i].code);
	return status;
}
