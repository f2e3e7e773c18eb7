// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch stacks cut out of an exact trace, as a script for perf_data_write, and beside it what an
 * import of them must come to: counted here the slow way, window by window, in the addresses of the
 * process.
 *
 *     trace_recording TRACE STACKS N SCRIPT EXPECTED
 *
 * EXPECTED has, unsorted, a line for each edge and path:
 *
 *     edge BUILDID FROM BUILDID TO COUNT MISPREDICTED      path BUILDID START LENGTH OUTCOMES COUNT
 * WEIGHT
 *
 * Stacks lie at random places, evenly over the taken branches of the first stream, a millisecond
 * apart; every seventeenth branch address is mispredicted. Workload: ten thousand stacks of some
 * ten million branches, two passes. One owner.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace_events.h"
#include "pathprof/code.h"
#include "pathprof/paths.h"
#include "pathprof/reconstruct.h"

#define ENTRIES_MAX 128
#define ROUND       256 /* stacks */
#define FILES_MAX   64
#define TABLE       (1u << 20)

struct key {
	const struct pathprof_trace_module_info *module, *to_module;
	uint64_t a, b; /* from, to; or start, length << 32 | outcomes */
	uint64_t cnt, mispredicted;
	double weight;
	bool is_path;
};

struct file {
	const struct pathprof_trace_module_info *module;
	struct pathprof_code *code;
};

struct cut {
	const struct pathprof_trace *trace;
	uint32_t process;
	uint64_t *places;
	size_t place_cnt, next;
	uint32_t entries;
	struct pathprof_taken ring[ENTRIES_MAX];
	uint64_t known, taken;
	struct file files[FILES_MAX];
	size_t file_cnt;
	struct pathprof_reconstructor *reconstructor;
	struct key *table;
	FILE *script;
	uint64_t clock;
	uint32_t depth;
};

static void fail(const char *what)
{
	fprintf(stderr, "trace_recording: %s\n", what);
	exit(1);
}

/* ---------------------------------------------------------------- what it must come to */

static uint64_t offset_of(const struct pathprof_trace_module_info *module, uint64_t address)
{
	return module->offset + (address - module->start);
}

static struct key *find(struct cut *cut, const struct key *key)
{
	uint64_t hash = (key->a * 0x9e3779b97f4a7c15u ^ key->b) * 0xbf58476d1ce4e5b9u;
	uint32_t slot = (uint32_t)(hash >> 40) & (TABLE - 1);

	for (uint32_t tries = 0; tries < TABLE; tries++, slot = (slot + 1) & (TABLE - 1)) {
		struct key *at = &cut->table[slot];

		if (!at->cnt) {
			*at = *key;
			return at;
		}
		if (at->a == key->a && at->b == key->b && at->module == key->module &&
		    at->to_module == key->to_module && at->is_path == key->is_path)
			return at;
	}
	fail("too many edges");
	return NULL;
}

static void count_edge(struct cut *cut, const struct pathprof_taken *taken)
{
	const struct pathprof_trace_module_info *from =
		pathprof_trace_locate(cut->trace, cut->process, taken->from);
	const struct pathprof_trace_module_info *to =
		pathprof_trace_locate(cut->trace, cut->process, taken->to);
	struct key key = {.module = from, .to_module = to}, *at;

	if (!from || !to)
		fail("a branch outside every module");
	key.a = offset_of(from, taken->from);
	key.b = offset_of(to, taken->to);
	at = find(cut, &key);
	at->cnt++;
	at->mispredicted += taken->from % 17 == 0;
}

static void count_path(void *context, const struct pathprof_path_seen *path)
{
	struct cut *cut = context;
	struct key key = {.is_path = true}, *at;

	key.module = pathprof_trace_locate(cut->trace, cut->process, path->start);
	if (!key.module)
		fail("a path outside every module");
	key.a = offset_of(key.module, path->start);
	key.b = (uint64_t)path->length << 32 | path->outcomes;
	at = find(cut, &key);
	at->cnt++;
	at->weight += path->weight;
}

static struct pathprof_code *code_of(struct cut *cut,
				     const struct pathprof_trace_module_info *module)
{
	struct pathprof_code *code = NULL;

	for (size_t i = 0; i < cut->file_cnt; i++)
		if (strcmp(cut->files[i].module->name, module->name) == 0)
			return cut->files[i].code;
	if (cut->file_cnt == FILES_MAX)
		fail("too many files");
	if (module->name[0] == '/')
		pathprof_code_open(&code, module->name, &module->build_id, NULL);
	cut->files[cut->file_cnt++] = (struct file){module, code};
	return code;
}

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct cut *cut = context;
	const struct pathprof_trace_module_info *module =
		pathprof_trace_locate(cut->trace, cut->process, address);
	struct pathprof_code *code = module ? code_of(cut, module) : NULL;

	if (!code)
		return -1;
	*ret_place = (struct pathprof_mapping_place){
		.code = code, .start = module->start, .end = module->end, .offset = module->offset};
	return 0;
}

static void count_window(struct cut *cut, const struct pathprof_taken *taken)
{
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint32_t cnt, at;

	for (uint32_t i = 0; i < cut->entries; i++)
		count_edge(cut, &taken[i]);
	if (pathprof_reconstruct(cut->reconstructor, taken, cut->entries, branches, &cnt, &at))
		fail("a window does not fit its code: is the file another one now?");
	if (pathprof_paths_of_burst(branches, cnt, PATHPROF_MAPPING_BL, count_path, cut) < 0)
		fail("a branch of no known kind");
}

/* ---------------------------------------------------------------- the script */

static void write_id(FILE *out, const struct pathprof_build_id *id)
{
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	fputs(id->len_bytes ? pathprof_build_id_text(id, text) : "-", out);
}

static void write_head(struct cut *cut)
{
	const struct pathprof_trace_info *info = pathprof_trace_info(cut->trace);

	fprintf(cut->script, "file\nevent type=4 config=0xc4 "
			     "sample=ip+tid+time+id+period+branches branch=0x9 ids=1 "
			     "name=branches:u\nbegin\n");
	fprintf(cut->script, "exec 4711 1000 traced\n");
	for (uint32_t i = 0; i < info->module_cnt; i++) {
		const struct pathprof_trace_module_info *m = pathprof_trace_module(cut->trace, i);

		if (m->process != cut->process)
			continue;
		fprintf(cut->script, "mmap2 4711 2000 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " 5 ",
			m->start, m->end - m->start, m->offset);
		write_id(cut->script, &m->build_id);
		fprintf(cut->script, " %s\n", m->name);
	}
}

static void write_window(struct cut *cut)
{
	struct pathprof_taken taken[ENTRIES_MAX];

	for (uint32_t i = 0; i < cut->entries; i++)
		taken[i] = cut->ring[(cut->known - cut->entries + i) % cut->entries];
	count_window(cut, taken);
	cut->clock += 1000000;
	fprintf(cut->script, "sample 0 4711 %" PRIu64 " 0x%" PRIx64, cut->clock,
		taken[cut->entries - 1].to);
	for (uint32_t i = cut->entries; i-- > 0;)
		fprintf(cut->script, " 0x%" PRIx64 ">0x%" PRIx64 ":%c", taken[i].from, taken[i].to,
			taken[i].from % 17 == 0 ? 'M' : 'P');
	fputc('\n', cut->script);
	/* as perf does after each look at the CPUs' buffers */
	if (cut->clock / 1000000 % ROUND == 0)
		fputs("round\n", cut->script);
}

/* ---------------------------------------------------------------- the trace */

static void keep(struct cut *cut, const struct pathprof_branch *branch)
{
	cut->ring[cut->known++ % cut->entries] =
		(struct pathprof_taken){branch->from, branch->next};
	while (cut->next < cut->place_cnt && cut->places[cut->next] <= cut->taken) {
		if (cut->known >= cut->entries)
			write_window(cut);
		cut->next++;
	}
	cut->taken++;
}

static void take(void *context, const struct pathprof_trace_event *event)
{
	struct cut *cut = context;

	if (trace_breaks(event))
		cut->known = 0;
	else if (event->type == PATHPROF_TRACE_EVENT_BRANCH && event->branch.taken)
		keep(cut, &event->branch);
}

static void count_taken(void *context, const struct pathprof_trace_event *event)
{
	uint64_t *taken = context;

	*taken += event->type == PATHPROF_TRACE_EVENT_BRANCH && event->branch.taken;
}

static void write_expected(const struct cut *cut, FILE *out)
{
	for (uint32_t i = 0; i < TABLE; i++) {
		const struct key *k = &cut->table[i];

		if (!k->cnt)
			continue;
		fputs(k->is_path ? "path " : "edge ", out);
		write_id(out, &k->module->build_id);
		fprintf(out, " 0x%" PRIx64 " ", k->a);
		if (k->is_path) {
			fprintf(out, "%" PRIu64 " 0x%" PRIx32 " %" PRIu64 " %.3f\n", k->b >> 32,
				(uint32_t)k->b, k->cnt, k->weight);
			continue;
		}
		write_id(out, &k->to_module->build_id);
		fprintf(out, " 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", k->b, k->cnt,
			k->mispredicted);
	}
}

static FILE *open_out(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		fail(path);
	return out;
}

int main(int argc, char **argv)
{
	struct pathprof_error error = {""};
	struct pathprof_trace *trace;
	struct cut cut = {.clock = 1000000};
	uint64_t taken = 0;
	FILE *expected;

	if (argc != 6)
		fail("usage: trace_recording TRACE STACKS N SCRIPT EXPECTED");
	cut.entries = (uint32_t)atoi(argv[3]);
	if (!cut.entries || cut.entries > ENTRIES_MAX)
		fail("1 to 128 branches a stack");
	if (pathprof_trace_open(&trace, argv[1], &error) < 0)
		fail(error.text);
	cut.trace = trace;
	cut.process = pathprof_trace_stream(trace, 0)->process;
	cut.table = calloc(TABLE, sizeof(*cut.table));
	if (!cut.table || pathprof_reconstructor_new(&cut.reconstructor, locate, &cut) < 0)
		fail("out of memory");
	trace_each_event(trace, 0, count_taken, &taken, fail);
	cut.place_cnt = (size_t)atol(argv[2]);
	cut.places = trace_choose_places(cut.place_cnt, taken, fail);
	cut.script = open_out(argv[4]);
	write_head(&cut);
	trace_each_event(trace, 0, take, &cut, fail);
	expected = open_out(argv[5]);
	write_expected(&cut, expected);
	return fclose(cut.script) || fclose(expected);
}
