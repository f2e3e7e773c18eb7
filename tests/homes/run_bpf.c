/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Runs the core inside BPF and in user space over the same branches and compares every record that
 * comes out and the whole final state, bit for bit. Prints what the verifier and a branch cost.
 *
 * Workload: a test, a million made-up branches for each configuration, as root. Built
 * -ffreestanding, which selects the table limits of a kernel; libc is used all the same.
 *
 * Locking and ownership: one thread, pinned to one CPU, whose state it shares with the program
 * only between runs. Everything is released at exit.
 *
 * Output: "ok NAME", "not ok NAME: why", "skip NAME: why", figures in lines that begin with #.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "home.h"
#include "stream.h"

#define BRANCHES     (16 * HOME_BATCH) /* a configuration */
#define VERIFIER_MAX 20000             /* processed instructions */
#define LOG_BYTES    (1 << 20)
#define SEED         20251

/* One configuration to compare under. */
struct setting {
	const char *name;
	enum home_what what;
	enum pp_sampler sampler;
	__u32 rate, bits, assoc_size;
	__u32 wpp; /* 1: the mapping for whole program paths */
	__u32 max_length;
	enum pp_extend extend;
	__u32 hpt_bits, hpt_ways;
	enum pp_tnv_rule rule;
	enum pp_hpt_policy hpt_policy;
};

static const struct setting settings[] = {
	{"h-p256-2048-a16", HOME_CHAIN, PP_SAMPLER_PERIODIC, 256, 11, 16, 0, 32, PP_EXTEND_NONE, 7,
	 4, PP_TNV_ALWAYS, PP_HPT_TAIL},
	{"cr16-wpp", HOME_CHAIN, PP_SAMPLER_COUNTING_RANDOM, 16, 0, 0, 1, 32, PP_EXTEND_NONE, 7, 4,
	 PP_TNV_ALWAYS, PP_HPT_LFU},
	{"h-r16-64-short", HOME_CHAIN, PP_SAMPLER_RANDOM, 16, 6, 4, 0, 5, PP_EXTEND_NONE, 3, 8,
	 PP_TNV_ALWAYS, PP_HPT_TAIL},
	{"h-cr64-1024-loop", HOME_CHAIN, PP_SAMPLER_COUNTING_RANDOM, 64, 10, 8, 0, 32,
	 PP_EXTEND_LOOP, 5, 2, PP_TNV_ALWAYS, PP_HPT_LFU},
	{"t64-2048-call", HOME_CHAIN, PP_SAMPLER_TAGGED, 64, 10, 0, 0, 32, PP_EXTEND_CALL, 7, 16,
	 PP_TNV_ALWAYS, PP_HPT_LFU},
	{"t16-128-a16-wpp-loop", HOME_CHAIN, PP_SAMPLER_TAGGED, 16, 6, 16, 1, 32, PP_EXTEND_LOOP, 0,
	 4, PP_TNV_ALWAYS, PP_HPT_TAIL},
	{"p1-wpp-call", HOME_CHAIN, PP_SAMPLER_PERIODIC, 1, 0, 16, 1, 32, PP_EXTEND_CALL, 9, 1,
	 PP_TNV_ALWAYS, PP_HPT_LFU},
	{"values", HOME_VALUES, PP_SAMPLER_RANDOM, 1, 0, 0, 0, 32, PP_EXTEND_NONE, 0, 1,
	 PP_TNV_ALWAYS, PP_HPT_LFU},
	{"values-increasing", HOME_VALUES, PP_SAMPLER_RANDOM, 1, 0, 0, 0, 32, PP_EXTEND_NONE, 0, 1,
	 PP_TNV_INCREASING, PP_HPT_LFU},
	{"values-bounded", HOME_VALUES, PP_SAMPLER_RANDOM, 1, 0, 0, 0, 32, PP_EXTEND_NONE, 0, 1,
	 PP_TNV_BOUNDED, PP_HPT_LFU},
};
#define SETTING_CNT (sizeof(settings) / sizeof(settings[0]))

/* The BPF side: its program, and its maps as this process sees them. */
struct bpf_side {
	struct bpf_object *object;
	int prog_fd;
	struct home_config *config;
	struct home_state *state; /* of this CPU */
	struct pp_branch *input;
	struct home_output *output;
};

/* The user-space side of the same. */
static struct home_state twin;
static struct home_output twin_output[HOME_BATCH];
static struct stream stream;
static char verifier_log[LOG_BYTES];
static int failed;

static __attribute__((format(printf, 2, 3))) void report(const char *name, const char *why, ...)
{
	va_list args;

	if (!why) {
		printf("ok %s\n", name);
		return;
	}
	failed = 1;
	printf("not ok %s: ", name);
	va_start(args, why);
	vprintf(why, args);
	va_end(args);
	putchar('\n');
}

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * 1000000000ULL + (__u64)t.tv_nsec;
}

static void configure(struct home_config *ret_config, const struct setting *s)
{
	struct pp_chain_config *chain = &ret_config->chain;

	memset(ret_config, 0, sizeof(*ret_config));
	chain->compress.sampler = s->sampler;
	chain->compress.rate = s->rate;
	chain->compress.bits = s->bits;
	chain->compress.assoc_size = s->assoc_size;
	chain->compress.tag_bits = 2;
	chain->compress.tagged.rate = s->rate;
	chain->compress.tagged.ways = 2;
	chain->compress.tagged.evict = s->rate / 2;
	chain->compress.tagged.replace = 7;
	if (s->wpp)
		pp_path_config_wpp(&chain->path);
	else
		pp_path_config_bl(&chain->path);
	chain->path.max_length = s->max_length;
	chain->path.extend = s->extend;
	chain->path.extensions = 4;
	chain->hpt.bits = s->hpt_bits;
	chain->hpt.ways = s->hpt_ways;
	chain->hpt.policy = s->hpt_policy;
	pp_tnv_config_default(&ret_config->tnv);
	ret_config->tnv.rule = s->rule;
	ret_config->tnv.converge = 200;
	ret_config->tnv.backoff = 100;
	ret_config->tnv.backoff_max = 5000;
	ret_config->tnv.backoff_random = s->rule == PP_TNV_BOUNDED;
	ret_config->what = s->what;
}

static void prepare(struct home_state *s, const struct home_config *config)
{
	memset(s, 0, sizeof(*s));
	pp_compress_init(&s->chain.compress, &config->chain.compress, SEED);
	pp_hpt_init(&s->chain.hpt, SEED);
	pp_random_init(&s->values.random, SEED);
}

/* What only BPF writes: the words that cut its verifier's precision chains. */
static void forget_scratch(struct home_state *s)
{
	__u32 i;

	s->chain.hpt.scratch = 0;
	s->chain.compress.tagged.scratch = 0;
	s->chain.compress.assoc.scratch = 0;
	s->chain.compress.assoc.scratch2 = 0;
	s->values.scratch = 0;
	for (i = 0; i < PP_VALUE_TABLE_MAX; i++)
		s->values.slot[i].tnv.scratch = 0;
}

/* -1: equal; else the first record that differs. */
static int compare_output(const struct home_output *a, const struct home_output *b)
{
	int i;

	for (i = 0; i < HOME_BATCH; i++)
		if (memcmp(&a[i], &b[i], sizeof(a[i])) != 0)
			return i;
	return -1;
}

/* -1: equal; else the offset of the first byte that differs. */
static long compare_state(const struct home_state *a, const struct home_state *b)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
	size_t i;

	for (i = 0; i < sizeof(*a); i++)
		if (x[i] != y[i])
			return (long)i;
	return -1;
}

/* Runs the program over the batch in its input array. */
static int bpf_batch(struct bpf_side *bpf)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	__u32 first;
	int r;

	for (first = 0; first < HOME_BATCH; first += HOME_SLICE) {
		bpf->config->first = first;
		r = bpf_prog_test_run_opts(bpf->prog_fd, &opts);
		if (r)
			return r;
		if (opts.retval)
			return -EIO;
	}
	return 0;
}

static void twin_batch(const struct home_config *config, const struct pp_branch *input)
{
	__u32 i;

	for (i = 0; i < HOME_BATCH; i++) {
		const struct pp_branch *b = &input[i];
		struct home_output *o = &twin_output[i];

		if (config->what == HOME_CHAIN)
			o->flags = pp_chain_step(&twin.chain, &config->chain, b, &o->message,
						 &o->replaced);
		else
			o->flags =
				pp_value_table_step(&twin.values, &config->tnv, b->from, b->next);
	}
}

/* A batch on both sides. Adds the time of the user-space side to *spent_ns. */
static int step_batch(struct bpf_side *bpf, const struct home_config *config, __u64 *spent_ns)
{
	__u64 before;
	int i, r;

	for (i = 0; i < HOME_BATCH; i++)
		stream_next(&stream, &bpf->input[i]);
	before = now_ns();
	twin_batch(config, bpf->input);
	*spent_ns += now_ns() - before;
	r = bpf_batch(bpf);
	return r;
}

static __u64 records_out(void)
{
	__u64 n = 0;
	int i;

	for (i = 0; i < HOME_BATCH; i++)
		n += (twin_output[i].flags & 1) + (twin_output[i].flags >> 1 & 1);
	return n;
}

static void compare_setting(struct bpf_side *bpf, const char *entry, const struct setting *s)
{
	struct home_config config;
	__u64 user_ns = 0, out = 0;
	char name[64];
	long at;
	int i, r;

	snprintf(name, sizeof(name), "bpf-%s-%s", entry, s->name);
	configure(&config, s);
	*bpf->config = config;
	prepare(bpf->state, &config);
	prepare(&twin, &config);
	memset(bpf->output, 0, sizeof(twin_output));
	memset(twin_output, 0, sizeof(twin_output));
	stream_init(&stream, SEED);
	for (i = 0; i < BRANCHES / HOME_BATCH; i++) {
		r = step_batch(bpf, &config, &user_ns);
		if (r) {
			report(name, "run: %s", strerror(-r));
			return;
		}
		at = compare_output(bpf->output, twin_output);
		if (at >= 0) {
			report(name, "record %ld of batch %d differs", at, i);
			return;
		}
		out += records_out();
	}
	forget_scratch(bpf->state);
	at = compare_state(bpf->state, &twin);
	if (at >= 0)
		report(name, "final state differs at byte %ld", at);
	else if (!out)
		report(name, "no record came out: nothing was compared");
	else
		report(name, NULL);
	printf("# %s: %d branches, %llu records, ns a branch: BPF %.1f, user %.1f\n", name,
	       BRANCHES, out, (double)bpf->config->spent_ns / BRANCHES, (double)user_ns / BRANCHES);
}

/* Both comparisons must see a single bit. */
static void compare_planted(struct bpf_side *bpf, const char *entry)
{
	static struct home_state copy;
	char name[64];
	int output, state;

	snprintf(name, sizeof(name), "bpf-%s-planted-bits", entry);
	copy = *bpf->state;
	copy.values.slot[PP_VALUE_TABLE_MAX - 1].tnv.entry[PP_TNV_MAX - 1].count ^= 1;
	state = compare_state(&copy, bpf->state) >= 0 && compare_state(bpf->state, bpf->state) < 0;
	bpf->output[HOME_BATCH - 1].replaced.count ^= 1;
	output = compare_output(bpf->output, twin_output) == HOME_BATCH - 1;
	bpf->output[HOME_BATCH - 1].replaced.count ^= 1;
	report(name, state && output ? NULL : "a flipped bit went unseen (state %d, output %d)",
	       state, output);
}

static void measure_harness(struct bpf_side *bpf, const char *entry)
{
	int i;

	bpf->config->what = HOME_NOTHING;
	bpf->config->spent_ns = 0;
	for (i = 0; i < BRANCHES / HOME_BATCH; i++)
		if (bpf_batch(bpf))
			return;
	printf("# bpf-%s: calls and look-ups without a step: %.1f ns a branch\n", entry,
	       (double)bpf->config->spent_ns / BRANCHES);
}

static void check_verifier(const char *entry)
{
	const char *at = strstr(verifier_log, "processed ");
	struct utsname system;
	unsigned long insns = 0;
	char name[64];

	snprintf(name, sizeof(name), "bpf-%s-verifier", entry);
	if (at)
		insns = strtoul(at + strlen("processed "), NULL, 10);
	if (!insns)
		report(name, "the kernel did not say how much it processed");
	else
		report(name, insns < VERIFIER_MAX ? NULL : "processed %lu instructions of %d",
		       insns, VERIFIER_MAX);
	uname(&system);
	printf("# %s: kernel %s processed %lu instructions\n", name, system.release, insns);
}

static void *map_memory(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len;
	void *memory;

	if (!map)
		return NULL;
	len = ((size_t)bpf_map__value_size(map) + 7) / 8 * 8 * bpf_map__max_entries(map);
	memory = mmap(NULL, (len + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(map), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static int find_memory(struct bpf_side *bpf)
{
	bpf->config = map_memory(bpf->object, ".data.cfg");
	bpf->state = map_memory(bpf->object, "state");
	bpf->input = map_memory(bpf->object, "input");
	bpf->output = map_memory(bpf->object, "output");
	if (!bpf->config || !bpf->state || !bpf->input || !bpf->output)
		return -ENOMEM;
	bpf->state += sched_getcpu();
	return 0;
}

static struct bpf_program *choose_program(struct bpf_object *object, const char *entry)
{
	struct bpf_program *program, *chosen = NULL;

	bpf_object__for_each_program(program, object)
	{
		int wanted = strcmp(bpf_program__name(program), entry) == 0;

		bpf_program__set_autoload(program, wanted);
		if (wanted)
			chosen = program;
	}
	return chosen;
}

/* 0; else a negative errno, that of the load included. */
static int bpf_side_init(struct bpf_side *ret_bpf, const char *path, const char *entry)
{
	struct bpf_program *program;
	struct bpf_map *state;
	int r;

	memset(ret_bpf, 0, sizeof(*ret_bpf));
	ret_bpf->object = bpf_object__open_file(path, NULL);
	/* libbpf has said why. */
	if (!ret_bpf->object)
		return -ENOEXEC;
	program = choose_program(ret_bpf->object, entry);
	state = bpf_object__find_map_by_name(ret_bpf->object, "state");
	if (!program || !state)
		return -ENOENT;
	bpf_map__set_max_entries(state, (__u32)libbpf_num_possible_cpus());
	bpf_program__set_log_level(program, 4);
	bpf_program__set_log_buf(program, verifier_log, sizeof(verifier_log));
	r = bpf_object__load(ret_bpf->object);
	if (r)
		return r;
	ret_bpf->prog_fd = bpf_program__fd(program);
	return find_memory(ret_bpf);
}

static void print_log_tail(void)
{
	size_t len = strlen(verifier_log), keep = 3000;

	printf("%s\n", verifier_log + (len > keep ? len - keep : 0));
}

static void run_entry(const char *path, const char *entry, size_t setting_cnt)
{
	struct bpf_side bpf;
	size_t i;
	int r;

	verifier_log[0] = 0;
	r = bpf_side_init(&bpf, path, entry);
	if (r == -EPERM || r == -ENOSYS) {
		printf("skip bpf-%s: may not load BPF: %s\n", entry, strerror(-r));
	} else if (r) {
		report(entry, "load: %s", strerror(-r));
		print_log_tail();
	} else {
		check_verifier(entry);
		for (i = 0; i < setting_cnt; i++)
			compare_setting(&bpf, entry, &settings[i]);
		compare_planted(&bpf, entry);
		measure_harness(&bpf, entry);
	}
	bpf_object__close(bpf.object);
}

/* With a kernel's limits: what one CPU's state takes. */
static void print_sizes(void)
{
	printf("# bytes: chain %zu (hash %zu, split %zu, tagged %zu, assoc %zu, path stack %zu, "
	       "hot path table %zu), value table %zu\n",
	       sizeof(struct pp_chain), sizeof(struct pp_hash), sizeof(struct pp_split),
	       sizeof(struct pp_tagged), sizeof(struct pp_assoc), sizeof(struct pp_path_stack),
	       sizeof(struct pp_hpt), sizeof(struct pp_value_table));
}

static int pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sched_getcpu(), &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s chain.bpf.o\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pin()) {
		printf("not ok bpf: cannot stay on one CPU: %s\n", strerror(errno));
		return 1;
	}
	libbpf_set_print(quiet);
	print_sizes();
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) == 1)
		run_entry(argv[1], "on_syscall", SETTING_CNT);
	else
		printf("skip bpf-on_syscall: this kernel has no such programs, or not for us\n");
	run_entry(argv[1], "on_raw_tp", 1);
	return failed;
}
