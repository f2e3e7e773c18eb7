// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The same stream must give the same bits: takes windows together with the output of the module's
 * chain, repeats it from the windows with the same core in user space, and compares the two record
 * by record, including the tables written out at the end.
 *
 *     vmchain SPEC MILLISECONDS      SPEC: default, random, tagged, whole-program, short
 *
 * Watches a child of its own, so that every CPU's ring knows one address space only and its number
 * is 1. As a control a bit of the first few branches is then changed, and the comparison must fail.
 *
 * Workload: some hundred windows. One thread; a twin of the module's tables for every CPU.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "common.h"
#include "twin.h"

#define EDGE        ((uint64_t)PATHPROF_PROFILE_EDGES << 48)
#define CALL        ((uint64_t)PATHPROF_PROFILE_CALLS << 48)
#define KEEP_BYTES  (16u << 20)
#define FALSIFIED   8 /* branches */
#define ENOUGH      100
#define WAIT_MAX_MS 60000 /* a busy machine takes longer until enough windows came */

struct twin {
	struct pp_chain chain;
	struct side made, seen;
};

struct check {
	struct reader *reader;
	struct pp_chain_config config;
	struct twin *twins; /* by CPU */
	struct kept kept;   /* every BURST, for the second time */
	uint64_t windows, branches, contexts;
};

static void make_path(struct twin *twin, const struct pp_hpt_entry *entry)
{
	line_add(&twin->made, PATHPROF_RECORD_PATH, entry->start, entry->desc & ~PP_HPT_VALID,
		 entry->count);
}

static void make_branch(struct twin *twin, const struct pp_chain_config *config,
			const struct pathprof_branch *from)
{
	struct pp_branch branch = {
		.from = from->from | TWIN_CONTEXT,
		.target = from->target | TWIN_CONTEXT,
		.next = from->next | TWIN_CONTEXT,
		.info = PP_BRANCH_INFO(from->kind, from->taken),
		.events = 1,
	};
	struct pp_hpt_entry replaced = {0};
	struct pp_path path;

	twin_tuple(&twin->chain, config, &(struct pp_tuple){branch.from, from->next | EDGE},
		   &twin->made);
	if (from->kind == PP_KIND_CALL || from->kind == PP_KIND_ICALL)
		twin_tuple(&twin->chain, config, &(struct pp_tuple){branch.from, from->next | CALL},
			   &twin->made);
	if (pp_path_stack_step(&twin->chain.stack, &config->path, &branch, &path) &&
	    pp_hpt_step(&twin->chain.hpt, &config->hpt, path.start, path.desc, 1, &replaced))
		make_path(twin, &replaced);
}

static void make_window(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_burst *burst = (const void *)(record + 1);
	const struct pathprof_branch *branches = (const void *)(burst + 1);
	struct twin *twin = &check->twins[record->cpu];

	pp_path_stack_clear(&twin->chain.stack);
	for (uint32_t i = 0; i < burst->branch_cnt; i++)
		make_branch(twin, &check->config, &branches[i]);
}

/* Writes out the tables as the module does when it stops: paths, then tuples. */
static void make_end(struct twin *twin)
{
	const struct pp_hpt *hpt = &twin->chain.hpt;

	for (size_t i = 0; i < sizeof(hpt->entry) / sizeof(hpt->entry[0]); i++)
		if (hpt->entry[i].desc & PP_HPT_VALID)
			make_path(twin, &hpt->entry[i]);
	twin_drain_tuples(&twin->chain, &twin->made);
}

static void keep(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_burst *burst = (const void *)(record + 1);

	kept_add(&check->kept, check->reader, record);
	check->windows++;
	check->branches += burst->branch_cnt;
}

static void take(void *context, const struct pathprof_record *record)
{
	const struct pathprof_context *named = (const void *)(record + 1);
	struct check *check = context;

	switch (record->type) {
	case PATHPROF_RECORD_BURST:
		keep(check, record);
		break;
	case PATHPROF_RECORD_CONTEXT:
		check->contexts++;
		if (named->context != 1 || strcmp((const char *)named->comm, "vmchain") != 0)
			reader_complain(check->reader, "context", named->context);
		break;
	case PATHPROF_RECORD_PATH:
	case PATHPROF_RECORD_TUPLE:
		line_add_record(&check->twins[record->cpu].seen, record);
		break;
	default:
		reader_complain(check->reader, "unexpected record", record->type);
	}
}

/* The twins from the beginning, over every window that was kept. */
static uint64_t replay(struct check *check, uint64_t seed)
{
	const struct pathprof_record *record;
	uint64_t wrong = 0;

	for (uint32_t cpu = 0; cpu < TWIN_CPU_MAX; cpu++) {
		twin_begin(&check->twins[cpu].chain, &check->config, seed, cpu);
		side_clear(&check->twins[cpu].made);
	}
	for (size_t at = 0; (record = kept_next(&check->kept, &at));)
		make_window(check, record);
	for (uint32_t cpu = 0; cpu < TWIN_CPU_MAX; cpu++) {
		struct twin *twin = &check->twins[cpu];

		make_end(twin);
		wrong += side_differences(&twin->made, &twin->seen, 0);
	}
	return wrong;
}

/*
 * The sampler may leave any one branch out, hence several; a window may have fewer than that, its
 * thread was switched away.
 */
static void falsify(const struct kept *kept)
{
	struct pathprof_record *record;
	uint32_t left = FALSIFIED;

	for (size_t at = 0; left && (record = kept_next(kept, &at));) {
		struct pathprof_burst *burst = (void *)(record + 1);
		struct pathprof_branch *branches = (void *)(burst + 1);

		for (uint32_t i = 0; left && i < burst->branch_cnt; i++, left--)
			branches[i].next ^= 2, branches[i].from ^= 2;
	}
}

/* --------------------------------------------------------------- the session */

static struct pathprof_kmod_chain chain_of(const char *spec)
{
	struct pathprof_kmod_chain chain = {
		.sampler = PP_SAMPLER_PERIODIC,
		.rate = 256,
		.substream_bits = 11,
		.phased = 1,
		.max_length = 32,
		.hpt_bits = 7,
		.hpt_ways = 4,
		.hpt_policy = PP_HPT_TAIL,
	};

	if (!strcmp(spec, "random")) {
		chain.sampler = PP_SAMPLER_RANDOM;
		chain.rate = 16;
		chain.assoc_size = 8;
		chain.phased = 0;
		chain.hpt_bits = 2;
		chain.seed = 12345;
	} else if (!strcmp(spec, "tagged")) {
		chain = (struct pathprof_kmod_chain){.sampler = PP_SAMPLER_TAGGED,
						     .rate = 16,
						     .substream_bits = 6,
						     .tag_bits = 8,
						     .ways = 4,
						     .evict = 16,
						     .replace = 4,
						     .max_length = 8,
						     .hpt_bits = 3,
						     .hpt_ways = 2,
						     .hpt_policy = PP_HPT_LFU};
	} else if (!strcmp(spec, "whole-program")) {
		chain.map = PATHPROF_MAP_WPP;
		chain.rate = 4;
		chain.seed = 7;
	} else if (!strcmp(spec, "short")) {
		chain.rate = 1;
	}
	return chain;
}

static void config_of(const struct pathprof_kmod_chain *chain, struct pp_chain_config *ret_config)
{
	twin_config(chain, ret_config);
	if (chain->map == PATHPROF_MAP_WPP)
		pp_path_config_wpp(&ret_config->path);
	else
		pp_path_config_bl(&ret_config->path);
	ret_config->path.max_length = chain->max_length;
}

static __attribute__((noinline)) uint64_t turn(uint64_t x, unsigned int depth)
{
	if (depth && x >> 62)
		return turn(x * 3, depth - 1) + 1;
	return x & 4 ? x ^ depth : x + 1;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (volatile uint64_t x = 1;;)
		x = turn(x * 6364136223846793005ull + 1442695040888963407ull, 6);
}

static int collect(struct check *check, const struct pathprof_kmod_chain *chain, uint32_t window,
		   uint64_t ms)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_RAW | PATHPROF_MODE_CHAIN,
		.period = 200000,
		.window = window,
		.budget_ppm = PATHPROF_BUDGET_MAX,
		.chain = *chain,
	};
	uint64_t end_ms;
	pid_t pid = start_child();
	int err;

	if (pid < 0)
		return -errno;
	start.pid = (uint32_t)pid;
	err = reader_start(check->reader, &start);
	end_ms = now_ms() + ms;
	while (!err && now_ms() < end_ms + (check->windows < ENOUGH ? WAIT_MAX_MS : 0)) {
		reader_wait(check->reader, 20);
		reader_drain(check->reader, take, check);
	}
	if (!err)
		err = reader_stop(check->reader);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	reader_drain(check->reader, take, check);
	return err;
}

static int run(struct check *check, const char *spec, uint64_t ms)
{
	struct pathprof_kmod_chain chain = chain_of(spec);
	uint64_t records = 0, wrong, control;
	int err;

	config_of(&chain, &check->config);
	err = collect(check, &chain, strcmp(spec, "short") ? 32 : 2, ms);
	if (err || !check->windows) {
		fprintf(stderr, "vmchain: %s\n", err ? strerror(-err) : "no windows");
		return 1;
	}
	for (uint32_t cpu = 0; cpu < TWIN_CPU_MAX; cpu++)
		records += side_cnt(&check->twins[cpu].seen);
	wrong = replay(check, chain.seed);
	falsify(&check->kept);
	control = replay(check, chain.seed);
	printf("%s: windows %llu branches %llu records %llu differ %llu, with one falsified %llu\n",
	       spec, (unsigned long long)check->windows, (unsigned long long)check->branches,
	       (unsigned long long)records, (unsigned long long)wrong, (unsigned long long)control);
	return wrong || !control || !records || !check->contexts || check->reader->bad ||
	       reader_lost(check->reader);
}

int main(int argc, char **argv)
{
	static unsigned char kept[KEEP_BYTES];
	static struct twin twins[TWIN_CPU_MAX];
	static struct reader reader;
	struct check check = {.reader = &reader, .twins = twins, .kept = {kept, 0, sizeof(kept)}};
	int err = reader_open(&reader);

	if (err || sysconf(_SC_NPROCESSORS_CONF) > TWIN_CPU_MAX) {
		fprintf(stderr, "vmchain: %s\n", strerror(err ? -err : E2BIG));
		return 1;
	}
	err = run(&check, argc > 1 ? argv[1] : "default",
		  argc > 2 ? strtoull(argv[2], NULL, 10) : 1000);
	reader_close(&reader);
	return err;
}
