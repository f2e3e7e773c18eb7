// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints the records that the reader of recordings hands on, a line each, as `perf script --ns -F
 * pid,tid,time,event,ip,brstack` (6.1) prints it once its blanks are squeezed:
 *
 *     recording_dump [-s] [-i] [-b] [-m] [-f FORMAT] FILE|-
 *
 *     PID/TID TIME: EVENT: IP FROM/TO/P/-/-/CYCLES/KIND ...
 *     TIME map PID START LENGTH OFFSET x|- NAME        TIME comm|exec PID NAME
 *     TIME fork PID PARENT                             TIME exit PID
 *
 * -b adds what perf 6.1 does not print: `/SPEC/NEWKIND/PRIV` in numbers and N to a branch, `hw N`,
 * `cpu N` and `period N` to a sample, the build-id to a mapping. -s closes with the counts, -i with
 * what the recording says of itself, -m with the kB of memory that were resident at most. Exit 1
 * with the reason when it cannot be read.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pathprof/recording.h"

struct dump {
	const struct pathprof_recording *recording;
	bool all;
};

static const char *const kinds[16] = {
	"",       "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",   "SYSCALL",
	"SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX", "EXTEND"};
static const char *const new_kinds[16] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",
					  "ARCH_2",     "ARCH_3",     "ARCH_4",     "ARCH_5"};

static void print_time(uint64_t time_ns)
{
	printf("%" PRIu64 ".%09" PRIu64, time_ns / 1000000000, time_ns % 1000000000);
}

static char prediction(const struct pathprof_recorded_branch *b)
{
	if (b->flags & PATHPROF_RECORDED_PREDICTED)
		return 'P';
	return b->flags & PATHPROF_RECORDED_MISPREDICTED ? 'M' : '-';
}

static void print_branch(const struct dump *dump, const struct pathprof_recorded_branch *b)
{
	const char *kind = kinds[b->kind];

	if (b->kind == 15)
		kind = new_kinds[b->new_kind] ? new_kinds[b->new_kind] : "?";
	printf(" 0x%" PRIx64 "/0x%" PRIx64 "/%c/%c/%c/%u/%s", b->from, b->to, prediction(b),
	       b->flags & PATHPROF_RECORDED_IN_TX ? 'X' : '-',
	       b->flags & PATHPROF_RECORDED_ABORT ? 'A' : '-', b->cycles, kind);
	if (dump->all)
		printf("/%u/%u/%u%s", b->spec, b->new_kind, b->priv,
		       b->flags & PATHPROF_RECORDED_NOT_TAKEN ? "/N" : "");
}

static int on_sample(void *context, const struct pathprof_recorded_sample *s)
{
	const struct dump *dump = context;

	if (s->pid != UINT32_MAX || s->tid != UINT32_MAX)
		printf("%d/%d ", (int)s->pid, (int)s->tid);
	print_time(s->time_ns);
	printf(": %s: %" PRIx64, pathprof_recording_event(dump->recording, s->event), s->ip);
	for (uint32_t i = 0; i < s->branch_cnt; i++)
		print_branch(dump, &s->branches[i]);
	if (dump->all)
		printf(" hw %" PRId64 " cpu %d period %" PRIu64 "%s%s", s->hw_idx, (int)s->cpu,
		       s->period, s->user ? " user" : "", s->filtered ? " filtered" : "");
	putchar('\n');
	return 0;
}

static int on_mapping(void *context, const struct pathprof_recorded_mapping *m)
{
	const struct dump *dump = context;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	print_time(m->time_ns);
	printf(" map %d 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %c %s", (int)m->pid, m->start,
	       m->end - m->start, m->offset, m->executable ? 'x' : '-', m->name);
	if (dump->all)
		printf(" %s",
		       m->id.kind == PATHPROF_ID_NONE ? "-" : pathprof_build_id_text(&m->id, id));
	putchar('\n');
	return 0;
}

static int on_process(void *context, const struct pathprof_recorded_process *p)
{
	print_time(p->time_ns);
	switch (p->change) {
	case PATHPROF_RECORDED_COMM:
		printf(" comm %d %s\n", (int)p->pid, p->comm);
		break;
	case PATHPROF_RECORDED_EXEC:
		printf(" exec %d %s\n", (int)p->pid, p->comm);
		break;
	case PATHPROF_RECORDED_FORK:
		printf(" fork %d %d\n", (int)p->pid, (int)p->parent);
		break;
	case PATHPROF_RECORDED_EXIT:
		printf(" exit %d\n", (int)p->pid);
		break;
	}
	return 0;
}

static void print_stats(const struct pathprof_recording *recording)
{
	struct pathprof_recording_stats s;

	pathprof_recording_stats(recording, &s);
	printf("# bytes %" PRIu64 " of %" PRIu64 " records %" PRIu64 " samples %" PRIu64
	       " branches %" PRIu64 " mappings %" PRIu64 " counts %" PRIu64 " lost %" PRIu64
	       " unknown %" PRIu64 " reordered %" PRIu64 "%s\n",
	       s.bytes, s.bytes_total, s.records, s.samples, s.branches, s.mappings, s.counts,
	       s.lost, s.unknown, s.reordered, s.truncated ? " truncated" : "");
}

static void print_info(const struct pathprof_recording *recording)
{
	struct pathprof_recording_info info;
	const char *const none = "-";

	pathprof_recording_info(recording, &info);
	printf("# host %s arch %s release %s\n# cpu %s\n# command %s\n",
	       info.hostname ? info.hostname : none, info.arch ? info.arch : none,
	       info.release ? info.release : none, info.cpu ? info.cpu : none,
	       info.command ? info.command : none);
	if (info.realtime_offset_ns != INT64_MIN)
		printf("# offset %" PRId64 "\n", info.realtime_offset_ns);
	if (info.damaged)
		printf("# damaged %s\n", info.damaged);
	for (uint32_t i = 0; i < info.event_cnt; i++)
		printf("# event %u %s\n", i, pathprof_recording_event(recording, i));
}

static void print_memory(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		printf("# memory %ld\n", usage.ru_maxrss);
}

static int complain(const struct pathprof_error *error)
{
	fflush(stdout);
	fprintf(stderr, "recording_dump: %s\n", error->text);
	return 1;
}

int main(int argc, char **argv)
{
	struct dump dump = {0};
	struct pathprof_recording_sink sink = {&dump, on_mapping, on_process, on_sample, NULL};
	enum pathprof_format format = PATHPROF_FORMAT_PERF_DATA;
	bool stats = false, about = false, memory = false;
	struct pathprof_recording *recording;
	struct pathprof_error error = {""};
	int option, fd, r;

	while ((option = getopt(argc, argv, "sibmf:")) != -1) {
		stats |= option == 's';
		about |= option == 'i';
		memory |= option == 'm';
		dump.all |= option == 'b';
		if (option == 'f')
			format = pathprof_format_named(optarg);
	}
	if (optind != argc - 1) {
		fprintf(stderr, "usage: recording_dump [-sibm] [-f FORMAT] FILE|-\n");
		return 2;
	}
	fd = strcmp(argv[optind], "-") == 0 ? STDIN_FILENO : open(argv[optind], O_RDONLY);
	if (fd < 0) {
		perror(argv[optind]);
		return 1;
	}
	if (pathprof_recording_open(&recording, format, fd, argv[optind], &sink, &error) < 0)
		return complain(&error);
	dump.recording = recording;
	do
		r = pathprof_recording_read(recording, &error);
	while (r > 0);
	if (stats)
		print_stats(recording);
	if (about)
		print_info(recording);
	if (memory)
		print_memory();
	pathprof_recording_free(recording);
	return r < 0 ? complain(&error) : 0;
}
