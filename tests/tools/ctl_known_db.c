// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a database of which everything is known, for tests/scenario/ctl_*.sh.
 *
 *     ctl_known_db FILE              three windows an hour apart from 2026-01-02 00:00 UTC
 *     ctl_known_db FILE now          one window that ended just now
 *     ctl_known_db FILE old          the three windows as versions before 0.2 wrote them
 *     ctl_known_db FILE branches     the three windows, sampled on branches
 *     ctl_known_db FILE code PROGRAM one window of PROGRAM's code, as standard input says
 *     ctl_known_db FILE status JSON  leaves JSON as the daemon's state
 *     ctl_known_db FILE drift        drift of alpha in the three windows there are, and two alerts
 *
 * alpha (build-id aaaa...) has three paths of weight 600, 300 and 50 in each window, generated
 * code of process 4242 one of 40 with a name, and a binary and a process that call themselves
 * something hostile one of 10.
 *
 * Windows are of 1000 instructions, one run of these paths takes 10, 15, 100, 50 and 40. A clock
 * struck 1000 times in each: 450 times in alpha, 200 and 50 times in two functions of the generated
 * code, 100 times in the hostile binary, 150 times in the kernel (a third of it for the hostile
 * process) and 50 times in no file that is known.
 *
 * Lines of standard input are "path START INSTRUCTIONS SAMPLES" and "clock PLACE SAMPLES"; START
 * and PLACE are file offsets in hex.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "pathprof/store.h"

#define BEGIN_NS  1767312000000000000 /* 2026-01-02 00:00 UTC */
#define HOUR_NS   3600000000000
#define LENGTH_NS 60000000000
#define JIT_START 0x7f0000001000
#define HOSTILE   "/tmp/\033[31mred\n\xff\xe2\x80\xae" /* colour, newline, no UTF-8, reversal */

enum form {
	FORM_HORIZON,
	FORM_OLD,
	FORM_BRANCHES,
};

static const struct pathprof_build_id jit_id = {{0x17}, 20, PATHPROF_ID_JIT};

static int complain(const char *what, const struct pathprof_error *error)
{
	fprintf(stderr, "ctl_known_db: %s: %s\n", what, error->text);
	return 1;
}

static void id_of(struct pathprof_build_id *ret_id, unsigned char byte)
{
	*ret_id = (struct pathprof_build_id){.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	memset(ret_id->bytes, byte, 20);
}

static uint32_t add_process(struct pathprof_profile *p, uint32_t pid, const char *comm,
			    const char *container, uint32_t binary)
{
	char own_comm[32], own_container[32];
	struct pathprof_process process = {
		.pid = pid,
		.start_time = 77,
		.comm = own_comm,
		.container = own_container,
		.binary = binary,
	};

	snprintf(own_comm, sizeof(own_comm), "%s", comm);
	snprintf(own_container, sizeof(own_container), "%s", container);
	return pathprof_profile_process(p, &process);
}

static void add_path(struct pathprof_profile *p, uint32_t process, uint32_t binary, uint64_t start,
		     uint32_t length, uint32_t outcomes, uint64_t samples, unsigned int insns)
{
	const struct pathprof_path_count path = {
		.process = process,
		.binary = binary,
		.start = start,
		.length = length,
		.outcomes = outcomes,
		.samples = samples,
		.weight = (double)samples,
		.insns = (double)samples * (p->horizon ? insns : 0),
	};

	pathprof_profile_add_path(p, &path);
}

static void add_edge(struct pathprof_profile *p, uint32_t from_binary, uint64_t from,
		     uint32_t to_binary, uint64_t to, uint64_t count)
{
	const struct pathprof_edge_count edge = {
		.from_binary = from_binary,
		.to_binary = to_binary,
		.from = from,
		.to = to,
		.count = count,
		.mispredicted = count / 10,
	};

	pathprof_profile_add_edge(p, &edge);
}

static void add_clock(struct pathprof_profile *p, uint32_t process, uint32_t binary, uint64_t place,
		      uint64_t samples)
{
	const struct pathprof_clock_count clock = {process, binary, place, samples};

	pathprof_profile_add_clock(p, &clock);
}

static void set_form(struct pathprof_profile *p, enum form form)
{
	p->source = form == FORM_BRANCHES ? PATHPROF_SOURCE_LBR : PATHPROF_SOURCE_STEP;
	p->basis = form == FORM_BRANCHES ? PATHPROF_BASIS_BRANCHES : PATHPROF_BASIS_TIME;
	p->taken_wanted = 32;
	p->horizon = form == FORM_HORIZON ? 1000 : 0;
	p->clock_hz = form == FORM_HORIZON ? 99 : 0;
	p->clock_kernel = form == FORM_HORIZON;
}

static void fill(struct pathprof_profile *p, int64_t begin_ns, enum form form)
{
	struct pathprof_build_id alpha_id, hostile_id;
	uint32_t alpha, hostile, jit, one, two;

	pathprof_profile_clear(p);
	p->begin_ns = begin_ns;
	p->end_ns = begin_ns + LENGTH_NS;
	p->totals = (struct pathprof_totals){.bursts = 40,
					     .branches = 2000,
					     .taken = 1280,
					     .steps = 9000,
					     .paths = 1000,
					     .stopped_ns = LENGTH_NS / 200};
	set_form(p, form);
	p->totals.ends[PATHPROF_END_FULL] = 40;
	p->totals.drops[PATHPROF_DROP_GONE] = 3;
	p->totals.drops[PATHPROF_DROP_BUDGET] = 12;

	id_of(&alpha_id, 0xaa);
	id_of(&hostile_id, 0xbb);
	alpha = pathprof_profile_binary(p, &alpha_id, "/nonexistent/bin/alpha");
	hostile = pathprof_profile_binary(p, &hostile_id, HOSTILE);
	jit = pathprof_profile_binary(p, &jit_id, "jit:4242");
	one = add_process(p, 4242, "alpha", "web-1", alpha);
	two = add_process(p, 5555, "\033[2Jevil\xff", "", hostile);
	add_path(p, one, alpha, 0x1000, 4, 0xb, 600, 10);
	add_path(p, one, alpha, 0x1040, 1, 0x1, 300, 15);
	add_path(p, one, alpha, 0x2000, 0, 0x0, 50, 100);
	add_path(p, one, jit, JIT_START + 0x10, 32, 0xffffffff, 40, 50);
	add_path(p, two, hostile, 0x3000, 2, 0x0, 10, 40);
	add_edge(p, alpha, 0x1010, alpha, 0x1000, 700);
	add_edge(p, alpha, 0x1050, alpha, 0x1040, 200);
	add_edge(p, alpha, 0x1060, hostile, 0x3000, 100);
	if (form != FORM_HORIZON)
		return;
	add_clock(p, one, alpha, 0x1000, 400);
	add_clock(p, one, alpha, 0x4560, 50);
	add_clock(p, one, jit, JIT_START + 0x20, 200);
	add_clock(p, one, jit, JIT_START + 0x200, 50);
	add_clock(p, two, hostile, 0x3000, 100);
	add_clock(p, one, PATHPROF_NO_INDEX, PATHPROF_PLACE_KERNEL, 100);
	add_clock(p, two, PATHPROF_NO_INDEX, PATHPROF_PLACE_KERNEL, 50);
	add_clock(p, two, PATHPROF_NO_INDEX, PATHPROF_PLACE_UNKNOWN, 50);
}

static int write_windows(struct pathprof_store *store, int64_t begin_ns, unsigned int cnt,
			 enum form form)
{
	const struct pathprof_jit_symbol symbols[] = {
		{&jit_id, JIT_START, 0x100, "Main::run(int)"},
		{&jit_id, JIT_START + 0x200, 0x100, "Main::idle()"},
	};
	struct pathprof_error error = {""};
	struct pathprof_profile profile;
	int64_t id;
	int r = pathprof_profile_init(&profile, 1 << 20);

	for (unsigned int i = 0; r == 0 && i < cnt; i++) {
		fill(&profile, begin_ns + i * HOUR_NS, form);
		r = pathprof_store_add_window(store, &profile, &id, &error);
	}
	if (r == 0)
		r = pathprof_store_add_jit_symbols(store, symbols, 2, &error);
	pathprof_profile_release(&profile);
	return r < 0 ? complain("write", &error) : 0;
}

/* 0.001, 0.3 and 0.4 bits: the last two are over any threshold that makes sense. */
static int write_drift(struct pathprof_store *store)
{
	static const double bits[] = {0.001, 0.3, 0.4};
	struct pathprof_drift_row rows[3];
	struct pathprof_error error = {""};

	for (int i = 0; i < 3; i++) {
		rows[i] = (struct pathprof_drift_row){
			.window = i + 1,
			.binary_name = "/nonexistent/bin/alpha",
			.container = "web-1",
			.baseline = "rolling",
			.window_samples = 950,
			.baseline_samples = 3000,
			.kl_bits = bits[i] + 0.05,
			.kl_corrected_bits = bits[i],
			.kl_low_bits = bits[i] > 0.1 ? bits[i] - 0.1 : 0,
			.kl_high_bits = bits[i] + 0.1,
			.overlap = 0.75,
			.angle_degrees = 30,
			.coverage_static = 0.5,
			.coverage_dynamic = 0.9,
			.matched = 1,
		};
		id_of(&rows[i].binary_id, 0xaa);
	}
	return pathprof_store_add_drift(store, rows, 3, &error) < 0 ? complain("drift", &error) : 0;
}

static int write_alerts(struct pathprof_store *store)
{
	const int64_t end_ns = BEGIN_NS + 2 * HOUR_NS + LENGTH_NS;
	const struct pathprof_alert_row rows[] = {
		{.rule = "fast",
		 .binary = "/nonexistent/bin/alpha",
		 .container = "web-1",
		 .baseline = "rolling",
		 .state = {.phase = PATHPROF_ALERT_FIRING,
			   .since_ns = end_ns,
			   .fired_ns = end_ns,
			   .seen_ns = end_ns,
			   .value = 0.4},
		 .json = "{\"rule\": \"fast\"}"},
		{.rule = "slow",
		 .binary = "/nonexistent/bin/alpha",
		 .container = "",
		 .baseline = "rolling",
		 .state = {.since_ns = end_ns,
			   .fired_ns = BEGIN_NS,
			   .resolved_ns = end_ns,
			   .seen_ns = end_ns,
			   .value = 0.001},
		 .json = ""},
	};
	struct pathprof_error error = {""};

	return pathprof_store_set_alerts(store, rows, 2, NULL, 0, &error) < 0
		       ? complain("alerts", &error)
		       : 0;
}

/* A line of standard input. */
static bool add_line(struct pathprof_profile *p, uint32_t process, uint32_t binary,
		     const char *line)
{
	unsigned long long at, cnt;
	unsigned int insns;

	if (sscanf(line, "path %llx %u %llu", &at, &insns, &cnt) == 3)
		add_path(p, process, binary, at, 0, 0, cnt, insns);
	else if (sscanf(line, "clock %llx %llu", &at, &cnt) == 2)
		add_clock(p, process, binary, at, cnt);
	else
		return false;
	return true;
}

static int write_code(struct pathprof_store *store, const char *program)
{
	struct pathprof_build_id id;
	struct pathprof_error error = {""};
	struct pathprof_profile p;
	uint32_t binary, process;
	char line[256];
	int r = pathprof_build_id_read_file(&id, program, &error);

	if (r < 0 || pathprof_profile_init(&p, 1 << 20) < 0)
		return complain(program, &error);
	p.begin_ns = BEGIN_NS;
	p.end_ns = BEGIN_NS + LENGTH_NS;
	p.totals.bursts = 100;
	set_form(&p, FORM_HORIZON);
	binary = pathprof_profile_binary(&p, &id, program);
	process = add_process(&p, 1, "program", "", binary);
	while (r == 0 && fgets(line, sizeof(line), stdin))
		r = add_line(&p, process, binary, line) ? 0 : -1;
	if (r == 0)
		r = pathprof_store_add_window(store, &p, NULL, &error);
	pathprof_profile_release(&p);
	return r < 0 ? complain("code", &error) : 0;
}

static int64_t a_minute_ago_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 - LENGTH_NS;
}

int main(int argc, char **argv)
{
	struct pathprof_store *store;
	struct pathprof_error error = {""};
	int r;

	if (argc < 2) {
		fputs("usage: ctl_known_db FILE [now | old | branches | code PROGRAM | drift | "
		      "status JSON]\n",
		      stderr);
		return 2;
	}
	if (pathprof_store_open(&store, argv[1], PATHPROF_STORE_WRITE, &error) < 0)
		return complain(argv[1], &error);
	if (argc == 4 && !strcmp(argv[2], "status"))
		r = pathprof_store_set_status(store, argv[3], &error) < 0
			    ? complain("status", &error)
			    : 0;
	else if (argc == 4 && !strcmp(argv[2], "code"))
		r = write_code(store, argv[3]);
	else if (argc == 3 && !strcmp(argv[2], "drift"))
		r = write_drift(store) || write_alerts(store);
	else if (argc == 3 && !strcmp(argv[2], "now"))
		r = write_windows(store, a_minute_ago_ns(), 1, FORM_HORIZON);
	else if (argc == 3 && !strcmp(argv[2], "old"))
		r = write_windows(store, BEGIN_NS, 3, FORM_OLD);
	else if (argc == 3 && !strcmp(argv[2], "branches"))
		r = write_windows(store, BEGIN_NS, 3, FORM_BRANCHES);
	else
		r = write_windows(store, BEGIN_NS, 3, FORM_HORIZON);
	pathprof_store_free(store);
	return r;
}
