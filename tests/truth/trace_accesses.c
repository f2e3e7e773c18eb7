// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds the loads and stores of an exact trace (--loads, --memory) against those that single
 * stepping saw (trace_truth -a): the same instructions in the same order, with the same sizes,
 * addresses and values.
 *
 *     trace_accesses [-m NAME] [-f SEED] ACCESSES TRACE
 *
 * Under an emulator the program lies elsewhere. An address, or a value that is one, may differ by
 * the distance by which its mapping was moved: the first access there tells the distance, every
 * other must have the same. Mappings are those of one name, the stack up to what the kernel put
 * there, and single pages of anonymous memory. The stack protector's random number counts as a
 * mapping. -f: first falsifies one field of one access of every stream, a different one by SEED.
 *
 * The truth's pieces have eight bytes at most; an access of sixteen is held against two of them.
 * With threads, a trace of loads lacks the loads of locked instructions: they may be missing, and
 * are counted.
 *
 * Exit status 0: the same, 1: not, 125: trouble. Prints `accesses N learned N locked N wrong N`.
 * Workload: a million accesses; distances in an open table.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "pathprof/trace.h"
#include "pathprof/trace_format.h"

#define EXIT_TROUBLE  125
#define EVENT_CNT     4096
#define DISTANCE_CNT  (1u << 16)
#define SHOWN_MAX     8
#define FALSIFY_AFTER 100

struct distance {
	uint64_t key; /* 0: free */
	uint32_t process;
	uint64_t bytes;
};

/* A line of the truth. */
struct seen {
	unsigned long long pc, address, address_key, value, value_key;
	unsigned int size_bytes, store, locked;
	bool is_pair; /* and the next eight bytes */
};

struct check {
	const struct pathprof_trace *trace;
	const char *module_name; /* NULL: the program */
	char program[4096];
	FILE *truth;
	uint32_t process;
	bool loads_only;
	long seed; /* < 0: the truth */
	uint64_t to_falsify;
	struct distance distances[DISTANCE_CNT];
	unsigned long long accesses, learned, locked, wrong;
	struct pathprof_trace_event events[EVENT_CNT];
};

static bool wanted(const struct check *check, const char *path)
{
	const char *name = strrchr(path, '/');

	if (!check->module_name)
		return !strcmp(path, check->program);
	return name && !strncmp(name + 1, check->module_name, strlen(check->module_name));
}

static uint64_t offset_of(const struct check *check, uint64_t address)
{
	const struct pathprof_trace_module_info *module =
		pathprof_trace_locate(check->trace, check->process, address);

	if (!module || !wanted(check, module->name))
		return LINES_OUTSIDE;
	return address - module->start + module->offset;
}

/* Is there what lies at truth, in the mapping of key? */
static bool moved_alike(struct check *check, uint64_t key, uint64_t truth, uint64_t there)
{
	uint32_t i = (uint32_t)((key ^ check->process) * 0x9e3779b97f4a7c15ull >> 48);
	struct distance *d;

	if (!key)
		return false;
	for (;; i = (i + 1) % DISTANCE_CNT) {
		d = &check->distances[i];
		if (!d->key || (d->key == key && d->process == check->process))
			break;
	}
	if (!d->key && check->learned < DISTANCE_CNT / 2) {
		*d = (struct distance){key, check->process, there - truth};
		check->learned++;
	}
	return d->key && d->bytes == there - truth;
}

static bool is_same(struct check *check, const struct seen *seen,
		    const struct pathprof_trace_event *event)
{
	if (offset_of(check, event->access.pc) != seen->pc ||
	    event->access.size_bytes != seen->size_bytes * (seen->is_pair ? 2 : 1) ||
	    event->access.store != seen->store ||
	    !moved_alike(check, seen->address_key, seen->address, event->access.address))
		return false;
	return !check->loads_only || event->access.value == seen->value ||
	       moved_alike(check, seen->value_key, seen->value, event->access.value);
}

static bool read_line(struct check *check, struct seen *ret_seen)
{
	char line[256];
	long at = ftell(check->truth);

	if (!fgets(line, sizeof(line), check->truth))
		return false;
	if (sscanf(line, "%llx %u %u %u %llx %llx %llx %llx", &ret_seen->pc, &ret_seen->size_bytes,
		   &ret_seen->store, &ret_seen->locked, &ret_seen->address, &ret_seen->address_key,
		   &ret_seen->value, &ret_seen->value_key) == 8)
		return true;
	fseek(check->truth, at, SEEK_SET);
	return false;
}

/* The next one that the trace must have. pc: of what it has next, LINES_OUTSIDE: nothing. */
static bool read_truth(struct check *check, uint64_t pc, struct seen *ret_seen)
{
	while (read_line(check, ret_seen)) {
		if (!check->loads_only || (!ret_seen->store && !ret_seen->locked))
			return true;
		if (ret_seen->store)
			continue;
		if (ret_seen->pc == pc)
			return true;
		check->locked++;
	}
	return false;
}

/* The second half of a wide access that the trace has in one. */
static void read_second(struct check *check, struct seen *seen)
{
	struct seen second;

	seen->is_pair = seen->size_bytes == 8 && read_truth(check, seen->pc, &second) &&
			second.pc == seen->pc && second.store == seen->store &&
			second.address == seen->address + 8;
}

static void show(struct check *check, const struct seen *seen,
		 const struct pathprof_trace_event *event)
{
	if (check->wrong++ >= SHOWN_MAX)
		return;
	if (seen)
		fprintf(stderr, "truth %llx %s %u at %llx (%llx): %llx (%llx)\n", seen->pc,
			seen->store ? "stores" : "loads", seen->size_bytes, seen->address,
			seen->address_key, seen->value, seen->value_key);
	if (event)
		fprintf(stderr, "trace %llx %s %u at %llx: %llx\n",
			(unsigned long long)offset_of(check, event->access.pc),
			event->access.store ? "stores" : "loads", event->access.size_bytes,
			(unsigned long long)event->access.address,
			(unsigned long long)event->access.value);
}

static void falsify(struct pathprof_trace_event *event, long seed)
{
	switch (seed % 4) {
	case 0:
		event->access.address += 8;
		break;
	case 1:
		event->access.value ^= 1;
		break;
	case 2:
		event->access.size_bytes *= 2;
		break;
	default:
		event->access.pc++;
	}
}

/* false: nothing of this stream can be held against the truth any more. */
static bool take_access(struct check *check, struct pathprof_trace_event *event)
{
	uint64_t pc = offset_of(check, event->access.pc);
	struct seen seen = {0};

	if (pc == LINES_OUTSIDE)
		return true;
	check->accesses++;
	if (!read_truth(check, pc, &seen)) {
		show(check, NULL, event);
		return false;
	}
	if (event->access.size_bytes == 16)
		read_second(check, &seen);
	if (check->seed >= 0 && check->to_falsify-- == 0)
		falsify(event, check->seed);
	if (is_same(check, &seen, event))
		return true;
	show(check, &seen, event);
	return pc == seen.pc;
}

static int take_events(struct check *check, struct pathprof_trace_cursor *cursor,
		       struct pathprof_error *error)
{
	bool goes_on = true;
	ssize_t cnt;

	while ((cnt = pathprof_trace_read(cursor, check->events, EVENT_CNT, error)) > 0)
		for (ssize_t i = 0; i < cnt && goes_on; i++)
			if (check->events[i].type == PATHPROF_TRACE_EVENT_ACCESS)
				goes_on = take_access(check, &check->events[i]);
	return (int)cnt;
}

static int check_stream(struct check *check, uint32_t stream, struct pathprof_error *error)
{
	const struct pathprof_trace_stream_info *info = pathprof_trace_stream(check->trace, stream);
	struct pathprof_trace_cursor *cursor;
	unsigned int process, thread;
	struct seen seen;
	int err;

	if (fscanf(check->truth, "stream %u %u\n", &process, &thread) != 2 ||
	    process != info->process || thread != info->thread)
		return pathprof_fail(error, -1, "stream %u is not the truth's", stream);
	err = pathprof_trace_cursor_new(&cursor, check->trace, stream, error);
	if (err)
		return err;
	check->process = process;
	check->to_falsify = FALSIFY_AFTER + (check->seed >= 0 ? (uint64_t)check->seed * 7 : 0);
	err = take_events(check, cursor, error);
	pathprof_trace_cursor_free(cursor);
	while (!err && read_truth(check, LINES_OUTSIDE, &seen))
		show(check, &seen, NULL);
	return err;
}

static int check_all(struct check *check, struct pathprof_error *error)
{
	const struct pathprof_trace_info *info = pathprof_trace_info(check->trace);
	int err = 0;

	if (!realpath(info->command[0], check->program))
		return pathprof_fail(error, -1, "%s: is no file", info->command[0]);
	check->loads_only = info->flags & PATHPROF_TRACE_HAS_LOADS;
	for (uint32_t i = 0; i < info->stream_cnt && !err; i++)
		err = check_stream(check, i, error);
	return err;
}

/* Index of the first word that is no option; < 0: usage. */
static int read_options(struct check *check, int argc, char **argv)
{
	int option;

	check->seed = -1;
	while ((option = getopt(argc, argv, "m:f:")) != -1) {
		if (option == 'm')
			check->module_name = optarg;
		else if (option == 'f')
			check->seed = strtol(optarg, NULL, 10);
		else
			return -1;
	}
	return argc - optind == 2 ? optind : -1;
}

int main(int argc, char **argv)
{
	static struct check check;
	struct pathprof_error error = {0};
	struct pathprof_trace *trace;
	int first = read_options(&check, argc, argv);
	int err;

	if (first < 0) {
		fprintf(stderr, "usage: trace_accesses [-m NAME] [-f SEED] ACCESSES TRACE\n");
		return EXIT_TROUBLE;
	}
	check.truth = fopen(argv[first], "re");
	if (!check.truth) {
		perror(argv[first]);
		return EXIT_TROUBLE;
	}
	err = pathprof_trace_open(&trace, argv[first + 1], &error);
	if (!err) {
		check.trace = trace;
		err = check_all(&check, &error);
		pathprof_trace_free(trace);
	}
	fclose(check.truth);
	if (err) {
		fprintf(stderr, "trace_accesses: %s\n", error.text);
		return EXIT_TROUBLE;
	}
	printf("accesses %llu learned %llu locked %llu wrong %llu\n", check.accesses, check.learned,
	       check.locked, check.wrong);
	return check.wrong != 0;
}
