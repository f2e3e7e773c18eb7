// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The BPF collector held against its twin in user space and a plain model (collect_check.h).
 *
 *     collect_check [-n WINDOWS] [-m WINDOWS] [-r ROUNDS] OBJECT FILE.win...
 *     collect_check -v LABEL OBJECT
 *
 * -n: windows for the usual setting, -m: for each other one, -r: rounds that are timed (0: none,
 * and no bytes counted). -v: only what the verifier says of the object.
 *
 * Output: "ok NAME", "not ok NAME: why", "skip NAME: why", figures in lines that begin with #.
 */
#include "collect_check.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

struct options {
	uint64_t windows, others;
	int rounds;
	const char *label;
};

static int failed;

void report(const char *name, const char *why, ...)
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

static bool is_not_for_us(const char *name, int r)
{
	if (r == -EPERM || r == -EACCES || r == -ENOSYS)
		printf("skip %s: may not load BPF: %s\n", name, strerror(-r));
	else if (r == -ENOTSUP)
		printf("# %s: this kernel has no such programs\n", name);
	else
		return false;
	return true;
}

static void run_entry(const char *object, const char *entry, const struct windows *w,
		      const struct options *o, bool measure)
{
	static struct program p;
	int r = program_open(&p, object, entry);

	if (is_not_for_us(entry, r))
		return;
	if (r) {
		report(entry, "cannot be loaded: %s", strerror(-r));
		return;
	}
	conform(&p, entry, w, measure ? o->windows : o->others, o->others);
	conform_planted(&p, entry, w);
	if (measure && o->rounds) {
		figures_speed(&p, w, o->rounds);
		figures_bytes(&p, w);
	}
	program_close(&p);
}

static int check(const char *object, char **files, int file_cnt, const struct options *o)
{
	static struct windows w;
	int r = windows_read(&w, files, file_cnt);
	bool has_syscall = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) == 1;

	if (r) {
		report("bpf-windows", "%s", strerror(-r));
		return failed;
	}
	printf("# bpf: %zu windows of %zu programs, %zu bytes of state a CPU\n", w.window_cnt,
	       w.file_cnt, sizeof(struct pp_collect_state));
	run_entry(object, "on_given", &w, o, true);
	run_entry(object, "on_given_raw_tp", &w, o, !has_syscall);
	return failed;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: collect_check [-n WINDOWS] [-m WINDOWS] [-r ROUNDS] OBJECT FILE...\n"
		"       collect_check -v LABEL OBJECT\n");
	return 2;
}

static int verify(const char *object, const char *label)
{
	int r = program_verify(object, label);

	if (r && r != -E2BIG && !is_not_for_us("bpf-verifier", r))
		report("bpf-verifier", "%s: %s", label, strerror(-r));
	return failed;
}

int main(int argc, char **argv)
{
	struct options o = {.windows = 20000, .others = 2000, .rounds = 0};
	int option;

	while ((option = getopt(argc, argv, "n:m:r:v:")) != -1) {
		if (option == 'n')
			o.windows = strtoull(optarg, NULL, 10);
		else if (option == 'm')
			o.others = strtoull(optarg, NULL, 10);
		else if (option == 'r')
			o.rounds = atoi(optarg);
		else if (option == 'v')
			o.label = optarg;
		else
			return usage();
	}
	if (optind >= argc)
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pin()) {
		printf("not ok bpf: cannot stay on one CPU: %s\n", strerror(errno));
		return 1;
	}
	libbpf_set_print(quiet);
	if (o.label)
		return verify(argv[optind], o.label);
	return check(argv[optind], argv + optind + 1, argc - optind - 1, &o);
}
