// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chain for hardware windows, on windows of real programs that the test PMU delivers (FILE: as
 * tests/tools/cut_windows writes it).
 *
 *     vmsegments check FILE SPEC SAMPLES
 *     vmsegments bytes FILE SAMPLES TIMES
 *     vmsegments drain FILE MILLISECONDS
 *     vmsegments offline FILE SAMPLES
 *
 * `check`: same windows, same bits. Takes windows and what the module made of them at once, makes
 * it again with the same core, and compares each PATH, TUPLE and DEFINE, with one DRAIN in the
 * middle. SPEC is default, small, lfu, tagged, cycles, mispredict, calls, dirty or nmi. `bytes`:
 * what a sample takes in the ring, with all that comes there until the stop, is to be TIMES less
 * than in perf's own. `drain`: DRAIN again and again while NMIs bring windows. `offline`: the CPU
 * of the windows is taken away, and what its tables hold is in its ring at once.
 *
 * Watches a child of its own, so that every ring knows one address space only and its number is 1.
 * As a control of `check` a bit of the first window is changed, and the comparison must fail.
 *
 * Workload: some thousand windows. One thread; a twin of the module's tables for every CPU.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "../../../libprofile/core/pp_chain.h"
#include "../../../libprofile/core/pp_segment.h"
#include "../testpmu/testpmu.h"
#include "lines.h"
#include "reader.h"

#define CONTEXT         ((uint64_t)1 << 48)
#define KEEP_BYTES      (32u << 20)
#define CPU_MAX         8
#define SLOT_MAX        2048
#define KEY_MAX         65536u /* a power of two */
#define PERIOD_NS       100000u
#define DRAIN_PERIOD_NS 30000u
#define RAW_BYTES       795 /* of a sample with 32 entries in perf's own ring */
#define CYCLES_SHIFT    5
#define GIVE_UP_MS      60000u
#define DRAINS_MIN      50
#define FALSIFIED       20

/* A segment by its name; two figures of it. */
struct key {
	uint64_t start, desc;
	double truth, told;
};

struct keys {
	struct key *key; /* KEY_MAX */
	uint32_t cnt;
};

struct twin {
	struct pp_chain chain;
	struct pp_random random;
	struct pathprof_lbr_entry slot[SLOT_MAX][PP_SEGMENT_LENGTH_MAX];
	struct keys defined, seen_defined;
	struct side made, seen;
};

struct check {
	struct reader *reader;
	struct pathprof_kmod_start start;
	struct pp_chain_config config;
	struct twin *twins;  /* by CPU */
	unsigned char *kept; /* every LBR with its record, and a CONTEXT for each DRAIN */
	size_t kept_bytes;
	struct keys profile; /* what ran and what PATH records say, in the replay */
	uint64_t windows, cuts, contexts, path_sum;
	uint64_t given; /* windows that will ever come */
	struct pathprof_kmod_stats before;
	uint64_t bytes[PATHPROF_RECORD_CNT], records[PATHPROF_RECORD_CNT];
};

/* --------------------------------------------------------------------- keys */

static struct key *key_of(struct keys *keys, uint64_t start, uint64_t desc)
{
	uint64_t at = (start ^ desc * 31) * 0x9E3779B97F4A7C15ull >> 48;
	struct key *key;

	if (!keys->key)
		keys->key = calloc(KEY_MAX, sizeof(*keys->key));
	if (!keys->key || keys->cnt > KEY_MAX / 2) {
		fprintf(stderr, "vmsegments: too many segments\n");
		exit(1);
	}
	for (;; at++) {
		key = &keys->key[at % KEY_MAX];
		if (key->start == start && key->desc == desc)
			return key;
		if (!key->desc)
			break;
	}
	keys->cnt++;
	key->start = start;
	key->desc = desc;
	return key;
}

static void keys_clear(struct keys *keys)
{
	if (keys->key)
		memset(keys->key, 0, KEY_MAX * sizeof(*keys->key));
	keys->cnt = 0;
}

/* true: it is new. */
static bool keys_add(struct keys *keys, uint64_t start, uint64_t desc)
{
	uint32_t cnt = keys->cnt;

	key_of(keys, start, desc);
	return keys->cnt != cnt;
}

/* --------------------------------------------------------------------- twin */

static uint64_t digest(const struct pathprof_lbr_entry *entries, uint32_t cnt)
{
	uint64_t hash = cnt;

	for (uint32_t i = 0; i < cnt; i++) {
		hash = (hash ^ entries[i].from) * 0x100000001b3ull;
		hash = (hash ^ entries[i].to) * 0x100000001b3ull;
	}
	return hash;
}

static void make_path(struct check *check, struct twin *twin, uint32_t slot,
		      const struct pp_hpt_entry *entry)
{
	uint32_t shift = check->start.metric == PATHPROF_METRIC_CYCLES ? CYCLES_SHIFT : 0;
	uint64_t desc = entry->desc & ~PP_HPT_VALID;

	if (keys_add(&twin->defined, entry->start, desc))
		line_add(&twin->made, PATHPROF_RECORD_DEFINE, entry->start, desc,
			 digest(twin->slot[slot], PP_DESC_LENGTH(desc)));
	line_add(&twin->made, PATHPROF_RECORD_PATH, entry->start, desc, entry->count << shift);
	key_of(&check->profile, entry->start, desc)->told += (double)(entry->count << shift);
}

static uint64_t weigh(const struct check *check, struct twin *twin, uint64_t events)
{
	if (check->start.metric == PATHPROF_METRIC_CYCLES)
		return (events + (pp_random_next(&twin->random) >> (64 - CYCLES_SHIFT))) >>
		       CYCLES_SHIFT;
	return check->start.metric == PATHPROF_METRIC_RUNS ? 1 : events;
}

/* The plain way: a step, whatever it does, and then a look at where the segment lies. */
static void make_segment(struct check *check, struct twin *twin, const struct pp_segment *segment,
			 const struct pathprof_lbr_entry *window)
{
	const struct pp_hpt_config *config = &check->config.hpt;
	uint64_t start = segment->start | CONTEXT, weight = weigh(check, twin, segment->events);
	uint32_t set = pp_hpt_set(start, segment->desc, config->bits) * config->ways, slot;
	struct pp_hpt_entry left;

	key_of(&check->profile, start, segment->desc)->truth +=
		check->start.metric == PATHPROF_METRIC_RUNS ? 1 : (double)segment->events;
	slot = pp_hpt_find(&twin->chain.hpt.entry[set], config->ways, start,
			   segment->desc | PP_HPT_VALID);
	if (slot == PP_HPT_WAYS_MAX && !weight)
		return;
	if (pp_hpt_step(&twin->chain.hpt, config, start, segment->desc, weight, &left)) {
		slot = pp_hpt_find(&twin->chain.hpt.entry[set], config->ways, start,
				   segment->desc | PP_HPT_VALID);
		make_path(check, twin, set + slot, &left);
	}
	slot = set + pp_hpt_find(&twin->chain.hpt.entry[set], config->ways, start,
				 segment->desc | PP_HPT_VALID);
	for (uint32_t i = 0; i < PP_DESC_LENGTH(segment->desc); i++) {
		const struct pathprof_lbr_entry *entry = &window[segment->first + i];

		twin->slot[slot][i].from = PATHPROF_LBR_ADDRESS(entry->from);
		twin->slot[slot][i].to = PATHPROF_LBR_ADDRESS(entry->to) |
					 (uint64_t)PATHPROF_LBR_KIND(entry->to) << 48;
	}
}

static void make_tuple(struct check *check, struct twin *twin, uint32_t profile, uint64_t from,
		       uint64_t to)
{
	struct pp_tuple tuple = {from | CONTEXT, to | (uint64_t)profile << 48};
	struct pp_message message;

	if ((!check->start.profiles || (check->start.profiles & profile)) &&
	    pp_compress_step(&twin->chain.compress, &check->config.compress, &tuple, &message))
		line_add(&twin->made, PATHPROF_RECORD_TUPLE, message.tuple.pc, message.tuple.word,
			 message.count);
}

static void make_window(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_lbr *lbr = (const void *)(record + 1);
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);
	struct twin *twin = &check->twins[record->cpu];
	struct pp_segment_state state = {0};
	struct pp_segment segment;

	for (uint32_t i = 0; i < lbr->branch_cnt; i++) {
		struct pp_taken taken = {PATHPROF_LBR_ADDRESS(entries[i].from),
					 PATHPROF_LBR_ADDRESS(entries[i].to),
					 PATHPROF_LBR_KIND(entries[i].to), 0};

		taken.events = check->start.metric == PATHPROF_METRIC_CYCLES
				       ? PATHPROF_LBR_CYCLES(entries[i].from)
				       : !!(entries[i].to & PATHPROF_LBR_MISPREDICTED);
		if (entries[i].to & PATHPROF_LBR_CUT)
			pp_segment_cut(&state);
		if (!check->start.kinds || check->start.kinds >> taken.kind & 1) {
			make_tuple(check, twin, PATHPROF_PROFILE_EDGES, taken.from, taken.to);
			if (taken.kind == PERF_BR_CALL || taken.kind == PERF_BR_IND_CALL)
				make_tuple(check, twin, PATHPROF_PROFILE_CALLS, taken.from,
					   taken.to);
		}
		if (pp_segment_step(&state, &taken, &segment))
			make_segment(check, twin, &segment, entries);
	}
}

static void make_drain(struct check *check, struct twin *twin)
{
	struct pp_assoc *assoc = &twin->chain.compress.assoc;
	struct pp_hpt *hpt = &twin->chain.hpt;

	for (uint32_t slot = 0; slot < SLOT_MAX; slot++)
		if ((hpt->entry[slot].desc & PP_HPT_VALID) &&
		    (check->config.hpt.policy != PP_HPT_TAIL ||
		     pp_hpt_leave(hpt, &hpt->entry[slot])))
			make_path(check, twin, slot, &hpt->entry[slot]);
	memset(hpt->entry, 0, sizeof(hpt->entry));
	for (uint32_t i = 0; i < assoc->used; i++)
		line_add(&twin->made, PATHPROF_RECORD_TUPLE, assoc->entry[i].tuple.pc,
			 assoc->entry[i].tuple.word, assoc->entry[i].count);
	memset(assoc, 0, sizeof(*assoc));
}

static void make_drain_all(struct check *check)
{
	for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++)
		make_drain(check, &check->twins[cpu]);
}

static void begin_twin(const struct check *check, struct twin *twin, uint32_t cpu)
{
	uint64_t seed = check->start.chain.seed;

	memset(&twin->chain, 0, sizeof(twin->chain));
	pp_compress_init(&twin->chain.compress, &check->config.compress, seed + cpu);
	pp_hpt_init(&twin->chain.hpt, ~seed - cpu);
	pp_random_init(&twin->random, seed ^ (uint64_t)cpu << 32 ^ 0x9E3779B97F4A7C15ull);
	keys_clear(&twin->defined);
	side_clear(&twin->made);
}

/* The twins from the beginning, over all that was kept; how many lines differ. */
static uint64_t replay(struct check *check, int verbose)
{
	uint64_t wrong = 0;

	keys_clear(&check->profile);
	for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++)
		begin_twin(check, &check->twins[cpu], cpu);
	for (size_t at = 0; at < check->kept_bytes;) {
		const struct pathprof_record *record = (const void *)(check->kept + at);

		if (record->type == PATHPROF_RECORD_LBR)
			make_window(check, record);
		else
			make_drain_all(check);
		at += record->size_bytes;
	}
	make_drain_all(check);
	for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++)
		wrong +=
			side_differences(&check->twins[cpu].made, &check->twins[cpu].seen, verbose);
	return wrong;
}

/* ------------------------------------------------------------------- reading */

static void keep(struct check *check, const struct pathprof_record *record)
{
	if (check->kept_bytes + record->size_bytes > KEEP_BYTES) {
		reader_complain(check->reader, "too many windows to keep", check->windows);
		return;
	}
	memcpy(check->kept + check->kept_bytes, record, record->size_bytes);
	check->kept_bytes += record->size_bytes;
}

static void keep_drain(struct check *check)
{
	struct pathprof_record drain = {.size_bytes = sizeof(drain),
					.type = PATHPROF_RECORD_CONTEXT};

	keep(check, &drain);
}

static void take_window(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_lbr *lbr = (const void *)(record + 1);
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);

	for (uint32_t i = 0; i < lbr->branch_cnt; i++)
		check->cuts += !!(entries[i].to & PATHPROF_LBR_CUT);
	keep(check, record);
	check->windows++;
}

static void take_define(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_segment *segment = (const void *)(record + 1);
	struct twin *twin = &check->twins[record->cpu];

	if (segment->pad || segment->branch_cnt != PP_DESC_LENGTH(segment->desc) ||
	    record->size_bytes != sizeof(*record) + sizeof(*segment) +
					  segment->branch_cnt * sizeof(struct pathprof_lbr_entry)) {
		reader_complain(check->reader, "shape of a DEFINE", segment->branch_cnt);
		return;
	}
	keys_add(&twin->seen_defined, segment->start, segment->desc);
	line_add(&twin->seen, PATHPROF_RECORD_DEFINE, segment->start, segment->desc,
		 digest((const void *)(segment + 1), segment->branch_cnt));
}

/* Nothing is counted that the ring has not defined before. */
static void take_paths(struct check *check, const struct pathprof_record *record)
{
	const struct pathprof_path_record *paths = (const void *)(record + 1);
	size_t cnt = (record->size_bytes - sizeof(*record)) / sizeof(*paths);
	struct twin *twin = &check->twins[record->cpu];

	if (!cnt || record->size_bytes != sizeof(*record) + cnt * sizeof(*paths))
		reader_complain(check->reader, "size of a PATH", record->size_bytes);
	for (size_t i = 0; i < cnt; i++) {
		if (keys_add(&twin->seen_defined, paths[i].start, paths[i].desc))
			reader_complain(check->reader, "PATH without a DEFINE", paths[i].start);
		check->path_sum += paths[i].count;
	}
	line_add_record(&twin->seen, record);
}

static void take(void *context, const struct pathprof_record *record)
{
	const struct pathprof_context *named = (const void *)(record + 1);
	struct check *check = context;

	check->bytes[record->type] += record->size_bytes;
	check->records[record->type]++;
	switch (record->type) {
	case PATHPROF_RECORD_LBR:
		take_window(check, record);
		break;
	case PATHPROF_RECORD_CONTEXT:
		check->contexts++;
		if (named->context != 1 || strcmp((const char *)named->comm, "vmsegments") != 0)
			reader_complain(check->reader, "context", named->context);
		break;
	case PATHPROF_RECORD_PATH:
		take_paths(check, record);
		break;
	case PATHPROF_RECORD_TUPLE:
		line_add_record(&check->twins[record->cpu].seen, record);
		break;
	case PATHPROF_RECORD_DEFINE:
		take_define(check, record);
		break;
	default:
		reader_complain(check->reader, "unexpected record", record->type);
	}
}

/* --------------------------------------------------------------- the session */

static void defaults(struct pathprof_kmod_start *start)
{
	start->source = PATHPROF_SOURCE_LBR;
	start->mode = PATHPROF_MODE_RAW | PATHPROF_MODE_CHAIN;
	start->period = PERIOD_NS;
	start->budget_ppm = PATHPROF_BUDGET_MAX;
	start->pmu_type = (uint32_t)pmu_type("pathprof_test");
	start->pmu_config = 32 | TESTPMU_GIVEN;
	start->chain = (struct pathprof_kmod_chain){.sampler = PP_SAMPLER_PERIODIC,
						    .rate = 256,
						    .substream_bits = 11,
						    .assoc_size = 16,
						    .phased = 1,
						    .max_length = 32,
						    .hpt_bits = 9,
						    .hpt_ways = 4,
						    .hpt_policy = PP_HPT_TAIL};
}

static void small(struct pathprof_kmod_chain *chain)
{
	chain->hpt_bits = 3;
	chain->hpt_ways = 3;
	chain->rate = 8;
	chain->assoc_size = 3;
	chain->seed = 12345;
}

static void tagged(struct pathprof_kmod_chain *chain)
{
	small(chain);
	chain->sampler = PP_SAMPLER_TAGGED;
	chain->phased = 0;
	chain->substream_bits = 6;
	chain->tag_bits = 8;
	chain->ways = 4;
	chain->evict = 16;
	chain->replace = 4;
}

static int specify(struct pathprof_kmod_start *start, const char *spec)
{
	static const char *const specs[] = {"default",    "small", "lfu",   "tagged", "cycles",
					    "mispredict", "calls", "dirty", "nmi"};
	size_t i = 0;

	defaults(start);
	while (i < sizeof(specs) / sizeof(specs[0]) && strcmp(specs[i], spec) != 0)
		i++;
	if (i == sizeof(specs) / sizeof(specs[0]))
		return -EINVAL;
	if (!strcmp(spec, "small"))
		small(&start->chain);
	if (!strcmp(spec, "tagged"))
		tagged(&start->chain);
	if (!strcmp(spec, "lfu")) {
		small(&start->chain);
		start->chain.hpt_policy = PP_HPT_LFU;
		start->chain.sampler = PP_SAMPLER_COUNTING_RANDOM;
		start->chain.phased = 0;
	}
	if (!strcmp(spec, "cycles"))
		start->metric = PATHPROF_METRIC_CYCLES;
	if (!strcmp(spec, "mispredict"))
		start->metric = PATHPROF_METRIC_MISPREDICT;
	if (!strcmp(spec, "calls")) {
		start->profiles = PATHPROF_PROFILE_CALLS;
		start->kinds = 1u << PERF_BR_CALL | 1u << PERF_BR_IND;
		start->chain.rate = 16;
	}
	if (!strcmp(spec, "dirty"))
		start->pmu_config |= TESTPMU_DIRTY | TESTPMU_HOLE;
	if (!strcmp(spec, "nmi"))
		start->pmu_config |= TESTPMU_NMI_PAIR;
	return 0;
}

static void config_of(const struct pathprof_kmod_chain *chain, struct pp_chain_config *ret_config)
{
	memset(ret_config, 0, sizeof(*ret_config));
	ret_config->compress = (struct pp_compress_config){.sampler = chain->sampler,
							   .rate = chain->rate,
							   .bits = chain->substream_bits,
							   .assoc_size = chain->assoc_size,
							   .tag_bits = chain->tag_bits,
							   .phased = chain->phased};
	ret_config->compress.tagged.rate = chain->rate;
	ret_config->compress.tagged.ways = chain->ways;
	ret_config->compress.tagged.evict = chain->evict;
	ret_config->compress.tagged.replace = chain->replace;
	ret_config->hpt.bits = chain->hpt_bits;
	ret_config->hpt.ways = chain->hpt_ways;
	ret_config->hpt.policy = chain->hpt_policy;
}

/* What the test PMU is to deliver: so many windows at most. 0, -errno. */
static int give(const char *path, uint64_t windows)
{
	static unsigned char window[32 * TESTPMU_BYTES];
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = open(TESTPMU_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC), err = 0;
	ssize_t len;

	if (from < 0 || to < 0)
		err = -errno;
	while (!err && windows-- && (len = read(from, window, sizeof(window))) > 0)
		if (write(to, window, (size_t)len) != len)
			err = errno ? -errno : -EIO;
	close(from);
	close(to);
	return err;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Runs user code for the samples to interrupt, on the CPU that is not the reader's if there is one.
 */
static pid_t start_child(void)
{
	pid_t pid = fork();
	cpu_set_t cpus;

	if (pid)
		return pid;
	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (volatile uint64_t x = 0;; x++)
		;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* With the child at rest no window comes, so it is known what lies before the DRAIN. */
static int drain_at_rest(struct check *check, pid_t pid)
{
	int status;

	if (kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid)
		return -errno;
	reader_drain(check->reader, take, check);
	if (ioctl(check->reader->fd, PATHPROF_IOC_DRAIN))
		return -errno;
	reader_drain(check->reader, take, check);
	keep_drain(check);
	return kill(pid, SIGCONT) ? -errno : 0;
}

/* Until so many windows were taken, by the module's count, or no more can come. */
static int collect_upto(struct check *check, uint64_t windows)
{
	uint64_t end_ms = now_ms() + GIVE_UP_MS, samples;
	struct pathprof_kmod_stats now;

	do {
		if (now_ms() > end_ms)
			return -ETIMEDOUT;
		reader_wait(check->reader, 5);
		reader_drain(check->reader, take, check);
		reader_stats(check->reader, &now);
		samples = stats_since(&check->before, &now, PATHPROF_STAT_SAMPLES);
	} while (stats_since(&check->before, &now, PATHPROF_STAT_WINDOWS) < windows &&
		 samples < check->given);
	return 0;
}

static int collect(struct check *check, uint64_t samples)
{
	pid_t pid = start_child();
	int err;

	if (pid < 0)
		return -errno;
	check->start.pid = (uint32_t)pid;
	err = reader_start(check->reader, &check->start);
	if (!err)
		err = collect_upto(check, samples / 2);
	if (!err)
		err = drain_at_rest(check, pid);
	if (!err)
		err = collect_upto(check, samples);
	if (!err)
		err = reader_stop(check->reader);
	end_child(pid);
	reader_drain(check->reader, take, check);
	return err;
}

/* --------------------------------------------------------------------- parts */

/* What PATH records say of what ran: its sum by theirs, and how much both profiles have in common.
 */
static void compare_profiles(const struct keys *profile, double *ret_mass, double *ret_overlap)
{
	double truth = 0, told = 0, common = 0;

	for (uint32_t i = 0; i < KEY_MAX; i++) {
		truth += profile->key[i].truth;
		told += profile->key[i].told;
	}
	for (uint32_t i = 0; i < KEY_MAX; i++) {
		double a = profile->key[i].truth / truth, b = profile->key[i].told / told;

		common += a < b ? a : b;
	}
	*ret_mass = told / truth;
	*ret_overlap = common;
}

/* Far outside its scatter. Few branches are mispredicted, so what is told of them scatters most. */
static bool is_off(const struct check *check, double mass)
{
	double most = check->start.metric == PATHPROF_METRIC_MISPREDICT ? 2 : 1.25;

	return !(mass * most > 1 && mass < most);
}

/* Every branch of the first windows; a sampler may leave any one out. */
static void falsify(struct check *check)
{
	size_t at = 0;

	for (int i = 0; i < FALSIFIED && at < check->kept_bytes; i++) {
		struct pathprof_record *record = (void *)(check->kept + at);
		struct pathprof_lbr *lbr = (void *)(record + 1);
		struct pathprof_lbr_entry *entries = (void *)(lbr + 1);

		at += record->size_bytes;
		if (record->type != PATHPROF_RECORD_LBR)
			continue;
		for (uint32_t j = 0; j < lbr->branch_cnt; j++) {
			entries[j].from ^= 2 | (uint64_t)64 << 48;
			entries[j].to ^= 2 | PATHPROF_LBR_MISPREDICTED;
		}
	}
}

static int run_check(struct check *check, const char *spec, uint64_t samples)
{
	uint64_t lines = 0, wrong, control;
	double mass, overlap;
	int err = collect(check, samples);

	if (err || !check->windows) {
		fprintf(stderr, "vmsegments: %s\n", err ? strerror(-err) : "no windows");
		return 1;
	}
	for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++)
		lines += side_cnt(&check->twins[cpu].seen);
	wrong = replay(check, 1);
	compare_profiles(&check->profile, &mass, &overlap);
	falsify(check);
	control = replay(check, 0);
	printf("%s: windows %llu cuts %llu lines %llu differ %llu, with one falsified %llu; counts "
	       "%.3f of what ran, overlap %.4f\n",
	       spec, (unsigned long long)check->windows, (unsigned long long)check->cuts,
	       (unsigned long long)lines, (unsigned long long)wrong, (unsigned long long)control,
	       mass, overlap);
	return wrong || !control || !lines || check->windows < samples / 4 || !check->contexts ||
	       check->reader->bad || reader_lost(check->reader) || is_off(check, mass) ||
	       (!check->cuts && !strcmp(spec, "dirty"));
}

static uint64_t ring_bytes(const struct reader *reader)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		if (reader->rings[cpu].producer)
			sum += reader->rings[cpu].producer->head;
	return sum;
}

static int run_bytes(struct check *check, uint64_t samples, uint64_t times)
{
	struct pathprof_kmod_stats after;
	uint64_t bytes, windows, segments;
	int err;

	memset(&check->start.chain, 0, sizeof(check->start.chain));
	check->start.mode = PATHPROF_MODE_CHAIN;
	err = collect(check, samples);
	if (err) {
		fprintf(stderr, "vmsegments: %s\n", strerror(-err));
		return 1;
	}
	reader_stats(check->reader, &after);
	bytes = ring_bytes(check->reader);
	windows = stats_since(&check->before, &after, PATHPROF_STAT_WINDOWS);
	segments = stats_since(&check->before, &after, PATHPROF_STAT_SEGMENTS);
	printf("samples %llu bytes a sample %.2f (perf's own %d, %.0f times): PATH %.2f DEFINE "
	       "%.2f TUPLE %.2f; segments a sample %.1f, counts %.3f of them; DEFINEs %llu\n",
	       (unsigned long long)windows, (double)bytes / (double)windows, RAW_BYTES,
	       RAW_BYTES * (double)windows / (double)bytes,
	       (double)check->bytes[PATHPROF_RECORD_PATH] / (double)windows,
	       (double)check->bytes[PATHPROF_RECORD_DEFINE] / (double)windows,
	       (double)check->bytes[PATHPROF_RECORD_TUPLE] / (double)windows,
	       (double)segments / (double)windows, (double)check->path_sum / (double)segments,
	       (unsigned long long)check->records[PATHPROF_RECORD_DEFINE]);
	return bytes * times > RAW_BYTES * windows || windows < samples || check->reader->bad ||
	       reader_lost(check->reader) ||
	       is_off(check, (double)check->path_sum / (double)segments);
}

/* Every sample was taken, left out because of a DRAIN, or for a reason that has a counter. */
static void balance(struct check *check, const struct pathprof_kmod_stats *after)
{
	const struct pathprof_kmod_stats *before = &check->before;
	uint64_t accounted = stats_since(before, after, PATHPROF_STAT_WINDOWS) +
			     stats_since(before, after, PATHPROF_STAT_LOST_BUSY);

	for (unsigned int i = PATHPROF_STAT_SKIP_KERNEL; i <= PATHPROF_STAT_SKIP_CEILING; i++)
		accounted += stats_since(before, after, i);
	if (accounted != stats_since(before, after, PATHPROF_STAT_SAMPLES))
		reader_complain(check->reader, "samples accounted for", accounted);
}

static int run_drain(struct check *check, uint64_t ms)
{
	struct pathprof_kmod_stats after;
	uint64_t end_ms, drains = 0, segments;
	pid_t pid = start_child();
	int err;

	check->start.mode = PATHPROF_MODE_CHAIN;
	check->start.pmu_config |= TESTPMU_NMI_PAIR | TESTPMU_ANYWHERE;
	check->start.period = DRAIN_PERIOD_NS;
	check->start.pid = (uint32_t)pid;
	err = reader_start(check->reader, &check->start);
	for (end_ms = now_ms() + ms; !err && (now_ms() < end_ms || drains < DRAINS_MIN); drains++) {
		err = ioctl(check->reader->fd, PATHPROF_IOC_DRAIN) ? -errno : 0;
		reader_drain(check->reader, take, check);
		usleep(500);
	}
	err = err ? err : reader_stop(check->reader);
	end_child(pid);
	reader_drain(check->reader, take, check);
	reader_stats(check->reader, &after);
	if (err) {
		fprintf(stderr, "vmsegments: %s\n", strerror(-err));
		return 1;
	}
	balance(check, &after);
	segments = stats_since(&check->before, &after, PATHPROF_STAT_SEGMENTS);
	printf("drains %llu windows %llu in_nmi %llu busy %llu; counts %.3f of %llu segments\n",
	       (unsigned long long)drains,
	       (unsigned long long)stats_since(&check->before, &after, PATHPROF_STAT_WINDOWS),
	       (unsigned long long)stats_since(&check->before, &after, PATHPROF_STAT_NMI),
	       (unsigned long long)stats_since(&check->before, &after, PATHPROF_STAT_LOST_BUSY),
	       (double)check->path_sum / (double)segments, (unsigned long long)segments);
	return check->reader->bad || !segments || reader_lost(check->reader) ||
	       is_off(check, (double)check->path_sum / (double)segments);
}

/* The second CPU comes or goes. 0, -errno. */
static int put_cpu(const char *online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0 || write(fd, online, 1) != 1)
		err = -errno;
	close(fd);
	return err;
}

static int run_offline(struct check *check, uint64_t samples)
{
	struct pathprof_kmod_stats after;
	pid_t pid = start_child();
	uint64_t segments, told;
	int err;

	check->start.mode = PATHPROF_MODE_CHAIN;
	check->start.pid = (uint32_t)pid;
	err = reader_start(check->reader, &check->start);
	if (!err)
		err = collect_upto(check, samples);
	end_child(pid);
	if (!err)
		err = put_cpu("0");
	reader_drain(check->reader, take, check);
	reader_stats(check->reader, &after);
	told = check->path_sum;
	err = err ? err : put_cpu("1");
	err = err ? err : reader_stop(check->reader);
	reader_drain(check->reader, take, check);
	if (err) {
		fprintf(stderr, "vmsegments: %s\n", strerror(-err));
		return 1;
	}
	segments = stats_since(&check->before, &after, PATHPROF_STAT_SEGMENTS);
	printf("counts %.3f of %llu segments when the CPU was gone, %llu more at the stop\n",
	       (double)told / (double)segments, (unsigned long long)segments,
	       (unsigned long long)(check->path_sum - told));
	return check->reader->bad || reader_lost(check->reader) || check->path_sum != told ||
	       is_off(check, (double)told / (double)segments);
}

static int run(struct check *check, int argc, char **argv)
{
	uint64_t number = strtoull(argv[argc - 1], NULL, 10);
	const char *spec = argc == 5 && !strcmp(argv[1], "check") ? argv[3] : "default";
	int err = specify(&check->start, spec);

	check->given = argc == 5 && !strcmp(argv[1], "check") ? number : UINT64_MAX;
	if (check->given == number)
		check->start.pmu_config |= TESTPMU_ONCE;
	reader_stats(check->reader, &check->before);
	err = err ? err : give(argv[2], check->given);
	if (err) {
		fprintf(stderr, "vmsegments: %s: %s\n", argv[2], strerror(-err));
		return 1;
	}
	config_of(&check->start.chain, &check->config);
	if (argc == 5 && !strcmp(argv[1], "check"))
		return run_check(check, spec, number);
	if (argc == 5 && !strcmp(argv[1], "bytes"))
		return run_bytes(check, strtoull(argv[3], NULL, 10), number);
	if (argc == 4 && !strcmp(argv[1], "drain"))
		return run_drain(check, number);
	if (argc == 4 && !strcmp(argv[1], "offline"))
		return run_offline(check, number);
	return 2;
}

int main(int argc, char **argv)
{
	static unsigned char kept[KEEP_BYTES];
	static struct twin twins[CPU_MAX];
	static struct reader reader;
	struct check check = {.reader = &reader, .twins = twins, .kept = kept};
	int err = argc < 4 ? -EINVAL : reader_open(&reader);

	if (err || sysconf(_SC_NPROCESSORS_CONF) > CPU_MAX) {
		fprintf(stderr, "vmsegments: %s\n", strerror(err ? -err : E2BIG));
		return 1;
	}
	err = run(&check, argc, argv);
	reader_close(&reader);
	return err;
}
