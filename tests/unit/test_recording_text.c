// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recordings that are texts: what each line of each format hands on, what is wrong with a line that
 * cannot be read, and lines themselves.
 *
 * What a reading hands on is written down, a line a record, and held against lines written by hand;
 * for many records, against what a generator wrote the text from.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pathprof/recording.h"

/* ---------------------------------------------------------------- writing down */

struct reading {
	FILE *log;
	char *text;
	size_t text_bytes;
	int result; /* of open or the last read */
	struct pathprof_error error;
	struct pathprof_recording_stats stats;
	char hostname[64], event[64]; /* of the first event */
	uint32_t event_cnt;
};

static int note_mapping(void *context, const struct pathprof_recorded_mapping *m)
{
	struct reading *r = context;
	char id[PATHPROF_BUILD_ID_TEXT_LEN] = "-";

	if (m->id.kind)
		pathprof_build_id_text(&m->id, id);
	fprintf(r->log, "map %" PRIu64 " %d %" PRIx64 "-%" PRIx64 "@%" PRIx64 " %s %s %s\n",
		m->time_ns, (int)m->pid, m->start, m->end, m->offset, m->executable ? "x" : "-", id,
		m->name);
	return 0;
}

static int note_process(void *context, const struct pathprof_recorded_process *p)
{
	static const char *const changes[] = {"?", "comm", "exec", "fork", "exit"};
	struct reading *r = context;

	fprintf(r->log, "%s %" PRIu64 " %d of %d %s\n", changes[p->change], p->time_ns, (int)p->pid,
		(int)p->parent, p->comm ? p->comm : "-");
	return 0;
}

static void note_branch(FILE *log, const struct pathprof_recorded_branch *b)
{
	fprintf(log, " %" PRIx64 ">%" PRIx64 "%s%s%s%s%s", b->from, b->to,
		b->flags & PATHPROF_RECORDED_PREDICTED ? "P" : "",
		b->flags & PATHPROF_RECORDED_MISPREDICTED ? "M" : "",
		b->flags & PATHPROF_RECORDED_NOT_TAKEN ? "N" : "",
		b->flags & PATHPROF_RECORDED_IN_TX ? "X" : "",
		b->flags & PATHPROF_RECORDED_ABORT ? "A" : "");
	if (b->cycles)
		fprintf(log, "c%u", b->cycles);
	if (b->kind || b->spec)
		fprintf(log, "k%u.%u.%u", b->kind, b->new_kind, b->spec);
}

static int note_sample(void *context, const struct pathprof_recorded_sample *s)
{
	struct reading *r = context;

	fprintf(r->log, "%s %" PRIu64 " %d/%d cpu %d event %u*%" PRIu64 " ip %" PRIx64 " x%" PRIu64,
		s->user ? "user" : "kernel", s->time_ns, (int)s->pid, (int)s->tid, (int)s->cpu,
		s->event, s->period, s->ip, s->repeats + 1);
	for (uint32_t i = 0; i < s->branch_cnt; i++)
		note_branch(r->log, &s->branches[i]);
	fprintf(r->log, "\n");
	CU_ASSERT_EQUAL(s->hw_idx, -1);
	return 0;
}

static void note_place(FILE *log, const struct pathprof_recorded_place *p)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	if (p->outside) {
		fprintf(log, " out");
		return;
	}
	fprintf(log, " ");
	if (p->symbol)
		fprintf(log, "{%s}+", p->symbol);
	if (p->id.kind)
		fprintf(log, "%s:", pathprof_build_id_text(&p->id, id));
	fprintf(log, "%" PRIx64, p->address);
}

static int note_count(void *context, const struct pathprof_recorded_count *c)
{
	static const char *const kinds[] = {"?", "branch", "range", "trace", "address"};
	struct reading *r = context;

	fprintf(r->log, "%s", kinds[c->kind]);
	note_place(r->log, &c->from);
	if (c->kind != PATHPROF_RECORDED_ADDRESS)
		note_place(r->log, &c->to);
	if (c->kind == PATHPROF_RECORDED_TRACE)
		note_place(r->log, &c->end);
	fprintf(r->log, " %" PRIu64 " %" PRIu64 "\n", c->count, c->mispredicted);
	return 0;
}

static int refuse_count(void *context, const struct pathprof_recorded_count *c)
{
	return -ECANCELED;
}

static void note_info(struct reading *r, const struct pathprof_recording *recording)
{
	struct pathprof_recording_info info;

	pathprof_recording_info(recording, &info);
	snprintf(r->hostname, sizeof(r->hostname), "%s", info.hostname ? info.hostname : "-");
	r->event_cnt = info.event_cnt;
	if (info.event_cnt)
		snprintf(r->event, sizeof(r->event), "%s", pathprof_recording_event(recording, 0));
	CU_ASSERT_PTR_NULL(pathprof_recording_event(recording, info.event_cnt));
}

static struct reading read_fd(enum pathprof_format format, int fd)
{
	struct reading r = {0};
	struct pathprof_recording_sink sink = {&r, note_mapping, note_process, note_sample,
					       note_count};
	struct pathprof_recording *recording;

	r.log = open_memstream(&r.text, &r.text_bytes);
	r.result = pathprof_recording_open(&recording, format, fd, "FILE", &sink, &r.error);
	if (r.result == 0) {
		do
			r.result = pathprof_recording_read(recording, &r.error);
		while (r.result > 0);
		pathprof_recording_stats(recording, &r.stats);
		note_info(&r, recording);
		pathprof_recording_free(recording);
	}
	fclose(r.log);
	return r;
}

static int file_of(const char *text, size_t len)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, len), (ssize_t)len);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static struct reading read_bytes(enum pathprof_format format, const char *text, size_t len)
{
	int fd = file_of(text, len);
	struct reading r = read_fd(format, fd);

	close(fd);
	return r;
}

static struct reading read_text(enum pathprof_format format, const char *text)
{
	return read_bytes(format, text, strlen(text));
}

/* What text hands on are these lines; prints the difference. */
static void check(enum pathprof_format format, const char *text, const char *expected)
{
	struct reading r;

	r = read_text(format, text);
	if (r.result != 0 || strcmp(r.text, expected) != 0)
		printf("\n%s--- read as\n%s--- instead of\n%s--- %s\n", text, r.text, expected,
		       r.error.text);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_STRING_EQUAL(r.text, expected);
	CU_ASSERT_EQUAL(r.stats.bytes, strlen(text));
	CU_ASSERT_EQUAL(r.stats.bytes_total, strlen(text));
	CU_ASSERT_FALSE(r.stats.truncated);
	free(r.text);
}

struct bad_line {
	const char *text, *error; /* error: part of the line said */
};

static void check_bad(enum pathprof_format format, int code, const struct bad_line *bad, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct reading r;

		r = read_text(format, bad[i].text);
		if (r.result != code || !strstr(r.error.text, bad[i].error))
			printf("\n%s--- is %d \"%s\" instead of %d \"%s\"\n", bad[i].text, r.result,
			       r.error.text, code, bad[i].error);
		CU_ASSERT_EQUAL(r.result, code);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, bad[i].error));
		CU_ASSERT_EQUAL(strncmp(r.error.text, "FILE:", 5), 0);
		CU_ASSERT_PTR_NULL(strchr(r.error.text, '\n'));
		free(r.text);
	}
}
#define CHECK_BAD(format, code, bad) check_bad(format, code, bad, sizeof(bad) / sizeof((bad)[0]))

/* ---------------------------------------------------------------- BOLT, pre-aggregated */

static void test_preagg_lines(void)
{
	check(PATHPROF_FORMAT_BOLT_PREAGG,
	      "B 40169d 4004CF 1 0\n"
	      "F 4b196f 4b19e0 2\n"
	      "f 4b196f 4b19e0 3\n"
	      "r 4b196f 4b19e0 4\n"
	      "T 1149 114a 1155 5\n"
	      "R 1149 114a 1155 6\n"
	      "T 1149 114a 1155 7 2\n"
	      "S 1149 8\n"
	      "  B   1   2   3   4 \n",
	      "branch 40169d 4004cf 1 0\n"
	      "range 4b196f 4b19e0 2 0\n"
	      "range 4b196f 4b19e0 3 0\n"
	      "range 4b196f 4b19e0 4 0\n"
	      "trace 1149 114a 1155 5 0\n"
	      "trace 1149 114a 1155 6 0\n"
	      "trace 1149 114a 1155 7 2\n"
	      "address 1149 8 0\n"
	      "branch 1 2 3 4\n");
}

static void test_preagg_places(void)
{
	check(PATHPROF_FORMAT_BOLT_PREAGG,
	      "B X:1149 aa55:114a 1 0\n"
	      "B 0 00112233445566778899aabbccddeeff00112233:ffffffffffffffff 1 0\n"
	      "T X:0 12 0 1\n",
	      "branch out aa55:114a 1 0\n"
	      "branch out 00112233445566778899aabbccddeeff00112233:ffffffffffffffff 1 0\n"
	      "trace out 12 out 1 0\n");
}

/* A trace may be but a branch, or but a range. */
static void test_preagg_marked_traces(void)
{
	check(PATHPROF_FORMAT_BOLT_PREAGG,
	      "T 10 20 ffffffffffffffff 1\n"
	      "T ffffffffffffffff 20 30 2\n"
	      "T fffffffffffffffe 20 30 3\n"
	      "T fffffffffffffffd 20 30 4\n"
	      "R 0 20 30 5\n",
	      "branch 10 20 1 0\n"
	      "range 20 30 2 0\n"
	      "range 20 30 3 0\n"
	      "range 20 30 4 0\n"
	      "range 20 30 5 0\n");
}

static void test_preagg_largest_count(void)
{
	check(PATHPROF_FORMAT_BOLT_PREAGG, "B 1 2 18446744073709551615 18446744073709551615\n",
	      "branch 1 2 18446744073709551615 18446744073709551615\n");
}

static void test_preagg_events(void)
{
	struct reading r;

	r = read_text(PATHPROF_FORMAT_BOLT_PREAGG, "E br_inst_retired.near_taken:u\nS 12 3\nE x\n");
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_EQUAL(r.event_cnt, 2);
	CU_ASSERT_STRING_EQUAL(r.event, "br_inst_retired.near_taken:u");
	CU_ASSERT_EQUAL(r.stats.records, 3);
	CU_ASSERT_EQUAL(r.stats.counts, 1);
	free(r.text);
}

static void test_preagg_errors(void)
{
	static const struct bad_line bad[] = {
		{"B 1 2 3 4\nQ 1 2 3\n", "FILE:2: expected T, R, S, E, B, F, f or r"},
		{"\n", "FILE:1: expected T, R, S, E, B, F, f or r and a blank at column 1, found "
		       "the end"},
		{"# remark\n", "expected T, R"},
		{"B1 2 3 4\n", "expected T, R"},
		{"B 0x1 2 3 4\n", "expected an address, [BUILDID:]HEX or X:HEX, at column 3, "
				  "found \"0x1 2 3 4\""},
		{"B 1 g 3 4\n", "expected an address"},
		{"B 1 12345678123456781 3 4\n", "expected an address"},
		{"B X: 2 3 4\n", "expected an address"},
		{"B abc:1 2 3 4\n", "expected an address"},
		{"B 001122334455667788990011223344556677889900:1 2 3 4\n", "expected an address"},
		{"B xyz:1 2 3 4\n", "expected an address"},
		{"B 1\t2 3 4\n", "expected an address"},
		{"B 1\n", "expected an address"},
		{"B 1 2\n", "expected an address"},
		{"B 1 2 3\n", "expected a count at column 8, found the end"},
		{"B 1 2 x 4\n", "expected a count"},
		{"B 1 2 -1 4\n", "expected a count"},
		{"B 1 2 18446744073709551616 4\n", "expected a count"},
		{"B 1 2 3 99999999999999999999\n", "expected a count"},
		{"B 1 2 3 4 5\n", "expected the end of the line at column 11, found \"5\""},
		{"B 1 2 3 4  \n", "expected the end of the line"},
		{"F 1 2 3 4\n", "expected the end of the line"},
		{"T 1 2 3\n", "expected a"},
		{"T 1 2 3 4 5 6\n", "expected the end of the line"},
		{"T 1 2 3 4 x\n", "expected a count"},
		{"S 1\n", "expected an address"},
		{"S 1 2 3\n", "expected the end of the line"},
		{"E \n", "expected the name of an event"},
		{"E a b\n", "expected the end of the line"},
		{"B 1 2 3 4", "FILE:1: the last line has no newline"},
		{"B 1 2 3 4\r\n", "expected a count"},
	};

	CHECK_BAD(PATHPROF_FORMAT_BOLT_PREAGG, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- BOLT, fdata */

static void test_fdata_branches(void)
{
	check(PATHPROF_FORMAT_BOLT_FDATA,
	      "1 main 3fb 0 /lib/ld-2.21.so 12 4 221\n"
	      "1 main 3fb 2 init/file.c/1 0 0 18446744073709551615\n"
	      "0 [unknown] 0  1  main  A  0  3  \n",
	      "branch {main}+3fb out 221 4\n"
	      "branch {main}+3fb {init/file.c/1}+0 18446744073709551615 0\n"
	      "branch out {main}+a 3 0\n");
}

static void test_fdata_escaped_names(void)
{
	check(PATHPROF_FORMAT_BOLT_FDATA, "1 a\\ b\\\\c 1 1 \\ \\  2 0 1\n",
	      "branch {a b\\c}+1 {  }+2 1 0\n");
}

static void test_fdata_samples(void)
{
	struct reading r;

	check(PATHPROF_FORMAT_BOLT_FDATA,
	      "no_lbr cycles:u instructions:u\nboltedcollection\n1 main 10 5\n0 [unknown] 0 7\n",
	      "address {main}+10 5 0\naddress out 7 0\n");
	check(PATHPROF_FORMAT_BOLT_FDATA, "boltedcollection\nno_lbr\n1 main 10 5\n",
	      "address {main}+10 5 0\n");
	r = read_text(PATHPROF_FORMAT_BOLT_FDATA, "no_lbr cycles:u  br:u\n");
	CU_ASSERT_EQUAL(r.event_cnt, 2);
	CU_ASSERT_STRING_EQUAL(r.event, "cycles:u");
	free(r.text);
}

static void test_fdata_memory(void)
{
	struct reading r;

	r = read_text(
		PATHPROF_FORMAT_BOLT_FDATA,
		"1 main 1 1 main 2 0 3\n4 main 10 3 [heap] 5634 7\n5 f/x.c/1 10 4 table 8 1\n");
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_STRING_EQUAL(r.text, "branch {main}+1 {main}+2 3 0\n");
	CU_ASSERT_EQUAL(r.stats.unknown, 2);
	CU_ASSERT_EQUAL(r.stats.counts, 1);
	free(r.text);
}

static void test_fdata_errors(void)
{
	static const struct bad_line bad[] = {
		{"1 main 1 1 main 2 0 3\n9 main 1 1 main 2 0 3\n", "FILE:2: expected 0, 1 or 2"},
		{"\n", "expected 0, 1 or 2 and a blank at column 1, found the end"},
		{"1main 1 1 main 2 0 3\n", "expected 0, 1 or 2"},
		{"1  1 1 main 2 0 3\n", "expected 0, 1 or 2 and a blank at column 8"},
		{"1 main\n", "expected a name and a blank"},
		{"1 main\\\n", "expected a name and a blank"},
		{"1 main 0x1 1 main 2 0 3\n", "expected an offset in hex"},
		{"1 main 1\n", "expected an offset in hex"},
		{"1 main 1 4 main 2 0 3\n", "expected 0, 1 or 2"},
		{"1 main 1 1 main 2 -1 3\n", "expected a count"},
		{"1 main 1 1 main 2 0\n", "expected a count"},
		{"1 main 1 1 main 2 0 3 4\n", "expected the end of the line"},
		{"1 main 1 1 main 2 0 3x\n", "expected a count"},
		{"1 main 1 1 main 2 0 18446744073709551616\n", "expected a count"},
		{"4 main 1 1 main 2 3\n", "expected 3, 4 or 5"},
		{"4 main 1 4 main 2 3 4\n", "expected the end of the line"},
		{"no_lbr\n1 main 1 1 main 2 0 3\n", "FILE:2: expected the end of the line"},
		{"1 main 1 1 main 2 0 3\nno_lbr\n", "FILE:2: expected 0, 1 or 2"},
		{"boltedcollection x\n", "expected 0, 1 or 2"},
		{"1 main 1 1 main 2 0 3", "the last line has no newline"},
	};

	CHECK_BAD(PATHPROF_FORMAT_BOLT_FDATA, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- llvm-profgen, raw */

static void test_raw_sections(void)
{
	check(PATHPROF_FORMAT_PROFGEN_RAW,
	      "2\n1000-1010:5\n1020-1020:18446744073709551615\n1\n1010->1000:7\n",
	      "range 1000 1010 5 0\nrange 1020 1020 18446744073709551615 0\n"
	      "branch 1010 1000 7 0\n");
	/* Call stacks, of addresses or of names; no branches; sections without a context. */
	check(PATHPROF_FORMAT_PROFGEN_RAW,
	      "[0x7f4 @ 0x7bf]\n  1\n  10-20:1\n  0\n[main:1 @ foo]\n  0\n  1\n  30->40:2\n"
	      "0\n1\n50->60:3",
	      "range 10 20 1 0\nbranch 30 40 2 0\nbranch 50 60 3 0\n");
	check(PATHPROF_FORMAT_PROFGEN_RAW, "", "");
}

static void test_raw_elsewhere(void)
{
	check(PATHPROF_FORMAT_PROFGEN_RAW, "0\n2\n1->1000:7\nffffffffffffc001->1000:8\n",
	      "branch out 1000 7 0\nbranch out 1000 8 0\n");
}

static void test_raw_build_ids(void)
{
	check(PATHPROF_FORMAT_PROFGEN_RAW,
	      "[aabb1122:0x5dc @ aabb1122:0x634]\n  1\n  5ff-62f:6\n  0\n"
	      "[deadbeef:0x700200]\n  0\n  1\n  100->200:5\n[add @ bad:2]\n1\n1-2:3\n0\n",
	      "range aabb1122:5ff aabb1122:62f 6 0\nbranch deadbeef:100 deadbeef:200 5 0\n"
	      "range out 2 3 0\n");
}

static void test_raw_errors(void)
{
	static const struct bad_line bad[] = {
		{"x\n", "FILE:1: expected how many lines follow at column 1, found \"x\""},
		{"\n", "expected how many lines follow"},
		{"1 \n", "expected how many lines follow"},
		{"-1\n", "expected how many lines follow"},
		{"1\n10-20:5\n1\n10-20:5\n", "FILE:4: expected -> and an address"},
		{"1\n10->20:5\n", "FILE:2: expected an address in hex at column 4"},
		{"1\n10\n", "expected - and an address at column 3, found the end"},
		{"1\n10-20\n", "expected : and a count"},
		{"1\n10-20:\n", "expected : and a count"},
		{"1\n10-20:5 \n", "expected : and a count"},
		{"1\n10-20:x\n", "expected : and a count"},
		{"1\n10-20:18446744073709551616\n", "expected : and a count"},
		{"1\n10-20:-5\n", "expected : and a count"},
		{"1\n0x10-20:5\n", "expected - and an address"},
		{"1\n10-12345678123456781:5\n", "expected an address in hex"},
		{"2\n10-20:5\n0\n", "FILE:3: expected - and an address"},
		{"1\n10-20:5\n0\n10-20:5\n", "FILE:4: expected how many lines follow"},
		{"2\n10-20:5\n", "the file ends before the counts that it announces"},
		{"0\n", "the file ends before the counts"},
		{"0\n1\n", "the file ends before the counts"},
		{"[0x1]\n", "the file ends before the counts"},
		{"[0x1\n1\n", "FILE:1: expected ] at column 5, found the end"},
		{"1\n[0x1]\n", "FILE:2: expected an address"},
		{"18446744073709551616\n", "expected how many lines follow"},
	};

	CHECK_BAD(PATHPROF_FORMAT_PROFGEN_RAW, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- AutoFDO */

static void test_autofdo_blocks(void)
{
	check(PATHPROF_FORMAT_AUTOFDO_TEXT,
	      "1\n1000-1010:5\n2\n1000:3\n0x1004:18446744073709551615\n1\n1010->1000:7\n",
	      "range 1000 1010 5 0\naddress 1000 3 0\naddress 1004 18446744073709551615 0\n"
	      "branch 1010 1000 7 0\n");
	check(PATHPROF_FORMAT_AUTOFDO_TEXT, "0\n0\n0\n", "");
	check(PATHPROF_FORMAT_AUTOFDO_TEXT, "0\n0\n1\n1->2:3", "branch 1 2 3 0\n");
	check(PATHPROF_FORMAT_AUTOFDO_TEXT, "0\n0\n0\n# made by hand\n#\n", "");
}

static void test_autofdo_errors(void)
{
	static const struct bad_line bad[] = {
		{"", "the file ends before the counts"},
		{"0\n0\n", "the file ends before the counts"},
		{"1\n1-2:3\n1\n1:3\n1\n", "the file ends before the counts"},
		{"# remark\n0\n0\n0\n", "FILE:1: expected how many lines follow"},
		{"0\n1\n1-2:3\n0\n", "FILE:3: expected : and a count"},
		{"0\n0\n1\n1-2:3\n", "FILE:4: expected -> and an address"},
		{"0\n0\n1\n1->2:3\n3->4:5\n", "FILE:5: expected the end of the file or a # remark"},
		{"0\n0\n0\n\n", "FILE:4: expected the end of the file"},
		{"0 0 0\n", "expected how many lines follow"},
	};

	CHECK_BAD(PATHPROF_FORMAT_AUTOFDO_TEXT, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- perf script */

#define PERF PATHPROF_FORMAT_PERF_SCRIPT
#define BARE PATHPROF_FORMAT_PROFGEN_PERFSCRIPT

/* A sample of which nothing is told but its branches, and what -F added. */
#define UNTOLD "user 0 -1/-1 cpu -1 event 0*1 ip 0 x1"

static void test_script_columns(void)
{
	static const struct {
		const char *columns, *read;
	} tests[] = {
		{"            bzip2  1234/1235  [003] 12.345678:      10007 cycles:u:      "
		 "7f0011223344",
		 "user 12345678000 1234/1235 cpu 3 event 0*10007 ip 7f0011223344 x1"},
		{"            bzip2  1234/1235  12.345678901: cycles:  ffffffff81000010",
		 "kernel 12345678901 1234/1235 cpu -1 event 0*1 ip ffffffff81000010 x1"},
		{"  1234/1235  12.345678:", "user 12345678000 1234/1235 cpu -1 event 0*1 ip 0 x1"},
		{"  1234  12.345678:", "user 12345678000 1234/1234 cpu -1 event 0*1 ip 0 x1"},
		{"   12.345678:      7f0011223344",
		 "user 12345678000 -1/-1 cpu -1 event 0*1 ip 7f0011223344 x1"},
		{"  1234/1235       7f0011223344",
		 "user 0 1234/1235 cpu -1 event 0*1 ip 7f0011223344 x1"},
		{"  1234/1235  [001]", "user 0 1234/1235 cpu 1 event 0*1 ip 0 x1"},
		{"   1234 ", "user 0 1234/1234 cpu -1 event 0*1 ip 0 x1"},
		{"           400684", "user 0 -1/-1 cpu -1 event 0*1 ip 400684 x1"},
		{"           400684 main+0x12 (/usr/bin/a b)",
		 "user 0 -1/-1 cpu -1 event 0*1 ip 400684 x1"},
		{"   1234           400684", "user 0 1234/1234 cpu -1 event 0*1 ip 400684 x1"},
		{"cycles:u:      7f0011223344", "user 0 -1/-1 cpu -1 event 0*1 ip 7f0011223344 x1"},
		{"   1234      10007 cycles:u:      7f0011223344",
		 "user 0 1234/1234 cpu -1 event 0*10007 ip 7f0011223344 x1"},
		{"  1234/1234 [000] K      1.000000: c:",
		 "user 1000000000 1234/1234 cpu 0 event 0*1 ip 0 x1"},
		{"          swapper     0/0     1.000000: c:  ffffffff81000010 x+0x1 "
		 "([kernel.kallsyms])",
		 "kernel 1000000000 0/0 cpu -1 event 0*1 ip ffffffff81000010 x1"},
		{"              :-1    -1/-1    1.000000: c:  ffffffff81000010",
		 "kernel 1000000000 -1/-1 cpu -1 event 0*1 ip ffffffff81000010 x1"},
		{"", UNTOLD},
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		char text[512], read[512];

		snprintf(text, sizeof(text), "%s 0x10/0x20/P/-/-/0 \n", tests[i].columns);
		snprintf(read, sizeof(read), "%s 10>20P\n", tests[i].read);
		check(PERF, text, read);
	}
}

/* What a process may call itself. */
static void test_script_hostile_names(void)
{
	static const char *const names[] = {
		"0x1/0x2/P/-/-/0",
		"a 1/2 3.000000:",
		"PERF_RECORD_X:",
		"1/1 cycles: 0x1",
		"#",
		"cycles:",
		"0x1/0x2/",
		"7f00 (x) 0x1/0",
		"\t  7f00 ",
		"(0x1/0x2/P/-/-",
		" 0x1/",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 "%16s    77/78    1.000000: c:      7f0011223344  0x10/0x20/P/-/-/0 \n"
			 "%16s    77/78    [001] 2.000000: c:      7f0011223344 \n",
			 names[i], names[i]);
		check(PERF, text,
		      "user 1000000000 77/78 cpu -1 event 0*1 ip 7f0011223344 x1 10>20P\n"
		      "user 2000000000 77/78 cpu 1 event 0*1 ip 7f0011223344 x1\n");
	}
}

static void test_script_flags(void)
{
	static const struct {
		const char *branch, *read;
	} tests[] = {
		/* As perf wrote them from 3.x on. */
		{"0x10/0x20/P/-/-", "10>20P"},
		{"0x10/0x20/M/X/A/65535", "10>20MXAc65535"},
		{"0x10/0x20/-/-/-/1", "10>20c1"},
		{"0x10/0x20/P/-/-/0/", "10>20P"},
		{"0x10/0x20/P/-/-/0/-", "10>20P"},
		{"0x10/0x20/P/-/-/3/COND", "10>20Pc3k1.0.0"},
		{"0x10/0x20/P/-/-/0//-", "10>20P"},
		{"0x10/0x20/P/-/-/0//NON_SPEC_CORRECT_PATH", "10>20Pk0.0.2"},
		{"0x10/0x20/M/-/-/0/IND_CALL/SPEC_WRONG_PATH", "10>20Mk5.0.1"},
		{"0x10/0x20/M/-/-/0/RET/SPEC_CORRECT_PATH", "10>20Mk6.0.3"},
		{"0x10/0x20/PN/-/-/0/COND/-", "10>20PNk1.0.0"},
		{"0x10/0x20/P/-/-/0/N/A/-", "10>20P"},
		{"0x10/0x20/P/-/-/0/FAULT_DATA/-", "10>20Pk15.1.0"},
		{"0x10/0x20/P/-/-/0/DEBUG_EXIT/-", "10>20Pk15.5.0"},
		{"0x0/0xffffffffffffffff/P/-/-/0/NO_TX/N/A", "0>ffffffffffffffffPk14.0.0"},
		/* -F dso. */
		{"0x10(/usr/bin/x)/0x20([unknown])/P/-/-/0", "10>20P"},
		{"0x10(/usr/bin/x+0x10)/0x20(/a (b)+0x20)/P/-/-/0", "10>20P"},
		{"0x10(/usr/a b/c)/0x20([kernel.kallsyms])/P/-/-/0", "10>20P"},
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		char text[512], read[512];

		snprintf(text, sizeof(text), "  1/1       7f00 %s  %s \n", tests[i].branch,
			 tests[i].branch);
		snprintf(read, sizeof(read), "user 0 1/1 cpu -1 event 0*1 ip 7f00 x1 %s %s\n",
			 tests[i].read, tests[i].read);
		check(PERF, text, read);
	}
}

static void test_script_kinds_and_specs(void)
{
	static const char *const kinds[] = {"",         "COND", "UNCOND",  "IND",    "CALL",
					    "IND_CALL", "RET",  "SYSCALL", "SYSRET", "COND_CALL",
					    "COND_RET", "ERET", "IRQ",     "SERROR", "NO_TX"};

	for (unsigned int i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char text[128], read[128];

		snprintf(text, sizeof(text), " 0x1/0x2/P/-/-/0/%s/- \n", kinds[i]);
		snprintf(read, sizeof(read), UNTOLD " 1>2Pk%u.0.0\n", i);
		check(PERF, text, read);
	}
}

/* perf says of kernel code or a process only what its addresses say. */
static void test_script_kernel(void)
{
	check(PERF, " 0x10/0xffffffff81000000/P/-/-/0 \n",
	      "kernel 0 -1/-1 cpu -1 event 0*1 ip 0 x1 10>ffffffff81000000P\n");
}

static void test_script_no_branches(void)
{
	check(PERF,
	      "            bzip2  1234/1235  12.345678: cycles:      7f0011223344 \n"
	      "    77 \n    78 \n\n",
	      "user 12345678000 1234/1235 cpu -1 event 0*1 ip 7f0011223344 x1\n"
	      "user 0 77/77 cpu -1 event 0*1 ip 0 x1\n"
	      "user 0 78/78 cpu -1 event 0*1 ip 0 x1\n");
}

static void test_script_call_stacks(void)
{
	check(PERF,
	      "bzip2  1234/1235  12.345678: cycles: \n"
	      "\t    7f0011223344 f(int, char) const+0x12 (/usr/bin/x)\n"
	      "\t    7f0011223355 [unknown] ([unknown])\n"
	      " 0x10/0x20/P/-/-/0  0x30/0x40/M/-/-/0 \n"
	      "\n"
	      "abba  1234/1235  13.000000: cycles: \n"
	      "\t    7f0011223344 f (/usr/bin/x)\n"
	      "\n"
	      "face  1234/1235  14.000000: cycles: \n"
	      "face  1234/1235  15.000000: cycles: \n"
	      " 0x10/0x20/P/-/-/0 \n",
	      "user 12345678000 1234/1235 cpu -1 event 0*1 ip 7f0011223344 x1 10>20P 30>40M\n"
	      "user 13000000000 1234/1235 cpu -1 event 0*1 ip 7f0011223344 x1\n"
	      "user 14000000000 1234/1235 cpu -1 event 0*1 ip 0 x1\n"
	      "user 15000000000 1234/1235 cpu -1 event 0*1 ip 0 x1 10>20P\n");
}

static void test_script_mappings(void)
{
	check(PERF,
	      "            bzip2  1234/1235  12.345678: PERF_RECORD_MMAP2 1234/1235: "
	      "[0x7f0000000000(0x2000) @ 0x1000 08:04 19532229 3585508847]: r-xp /usr/bin/a b\n"
	      "PERF_RECORD_MMAP2 12/12: [0x1000(0x10) @ 0 "
	      "<00ffaa5500ffaa5500ffaa5500ffaa5500ffaa55>]"
	      ": rw-s //anon\n"
	      "          swapper     0/0     0.000000: PERF_RECORD_MMAP -1/0: "
	      "[0xffffffff81000000(0xffffffffffffffff) @ 0xffffffff81000000]: x "
	      "[kernel.kallsyms]_text\n"
	      "1632846 PERF_RECORD_MMAP2 12/12: [0x1000(0x10) @ 0x20 103:02 1 2]: --xp /x "
	      "0x1/0x2/P/-/-/0\n",
	      "map 12345678000 1234 7f0000000000-7f0000002000@1000 x - /usr/bin/a b\n"
	      "map 0 12 1000-1010@0 - 00ffaa5500ffaa5500ffaa5500ffaa5500ffaa55 //anon\n"
	      "map 0 -1 ffffffff81000000-ffffffffffffffff@ffffffff81000000 x - "
	      "[kernel.kallsyms]_text\n"
	      "map 0 12 1000-1010@20 x - /x 0x1/0x2/P/-/-/0\n");
}

static void test_script_processes(void)
{
	check(PERF,
	      "  x  1/1  1.000000: PERF_RECORD_COMM: perf:12/12\n"
	      "  x  1/1  2.000000: PERF_RECORD_COMM exec: a:b c:12/12\n"
	      "PERF_RECORD_X:  1/1  2.500000: PERF_RECORD_COMM: PERF_RECORD_X::12/12\n"
	      "  x  1/1  3.000000: PERF_RECORD_COMM: thread:12/13\n"
	      "  x  1/1  4.000000: PERF_RECORD_FORK(14:14):(12:12)\n"
	      "  x  1/1  0.000000: PERF_RECORD_FORK(15:15):(12:12)\n"
	      "PERF_RECORD_FORK(16:16):(12:12)\n"
	      "  x  1/1  5.000000: PERF_RECORD_FORK(12:13):(12:12)\n"
	      "  x  1/1  6.000000: PERF_RECORD_EXIT(12:13):(12:12)\n"
	      "  x  1/1  7.000000: PERF_RECORD_EXIT(14:14):(12:12)\n",
	      "comm 1000000000 12 of 0 perf\n"
	      "exec 2000000000 12 of 0 a:b c\n"
	      "comm 2500000000 12 of 0 PERF_RECORD_X:\n"
	      "fork 4000000000 14 of 12 -\n"
	      "fork 0 15 of 0 -\n"
	      "fork 0 16 of 12 -\n"
	      "exit 7000000000 14 of 12 -\n");
}

static void test_script_other_records(void)
{
	struct reading r;

	r = read_text(PERF,
		      "# ========\n# hostname : box\n# os release : 6.1\n#\n"
		      "  x  1/1  1.000000: PERF_RECORD_LOST lost 12\n"
		      "  x  1/1  1.000000: PERF_RECORD_LOST_SAMPLES lost 18446744073709551615\n"
		      "  x  1/1  1.000000: PERF_RECORD_NAMESPACES 1/1 - nr_namespaces: 7\n"
		      "\t\t[0/net: 4/0xf0000098, 1/uts: 4/0xeffffffe, 2/ipc: 4/0xefffffff,\n"
		      "\t\t 4/user: 4/0xeffffffd, 5/mnt: 4/0xf0000000]\n"
		      "  x  1/1  1.000000: PERF_RECORD_SWITCH_CPU_WIDE OUT  next pid/tid:  0/0\n"
		      "  x  1/1  1.000000: c:  0x1/0x2/P/-/-/0\n");
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_STRING_EQUAL(r.text, "user 1000000000 1/1 cpu -1 event 0*1 ip 0 x1 1>2P\n");
	CU_ASSERT_EQUAL(r.stats.lost, UINT64_MAX);
	CU_ASSERT_EQUAL(r.stats.unknown, 2);
	CU_ASSERT_STRING_EQUAL(r.hostname, "box");
	CU_ASSERT_STRING_EQUAL(r.event, "c");
	free(r.text);
}

/* The index says which of them it was. */
static void test_script_events(void)
{
	char expected[64 * 300], *to = expected, text[64 * 300], *at = text;
	struct reading r;

	for (int i = 0; i < 300; i++) {
		int event = i < 256 ? i : i * 7 % 256;

		at += sprintf(at, " 1/1  1.000000: ev%d:u: 0x1/0x2/P/-/-/0\n", event);
		to += sprintf(to, "user 1000000000 1/1 cpu -1 event %d*1 ip 0 x1 1>2P\n", event);
	}
	check(PERF, text, expected);
	sprintf(at, " 1/1  1.000000: another: 0x1/0x2/P/-/-/0\n");
	r = read_text(PERF, text);
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, "FILE:301: more than 256 events"));
	CU_ASSERT_STRING_EQUAL(r.event, "ev0:u");
	free(r.text);
}

static void test_script_cut_off(void)
{
	struct reading r;

	r = read_text(PERF, "  1/1 0x10/0x20/P/-/-/0 \n  1/1 0x10/0x20/P/-/-/1");
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_STRING_EQUAL(r.text, "user 0 1/1 cpu -1 event 0*1 ip 0 x1 10>20P\n");
	CU_ASSERT_TRUE(r.stats.truncated);
	free(r.text);
}

static void test_script_errors(void)
{
	static const struct bad_line bad[] = {
		{" 1/1 0x1/0x2/P/-/-/0\nhello world\n",
		 "FILE:2: expected columns of -F comm,pid,tid,cpu,time,period,event,ip,brstack at "
		 "column 1, found \"hello world\""},
		{"  x  1/1  1.000000: c: ip 0x1/0x2/P/-/-/0\n", "expected columns of -F"},
		{"  x  1/1  1.000000: c:         7f00112200              7f001122  "
		 "0x1/0x2/P/-/-/0\n",
		 "expected columns of -F"},
		{"  x  1/1  1.000000: c:   jcc        7f001122  0x1/0x2/P/-/-/0\n",
		 "expected columns of -F"},
		{" 1/1 0x1/0x2/P/-/-/0 0x1/0x2/P/-/-/x\n",
		 "expected a branch 0xFROM/0xTO/P/-/-/CYCLES at column 36, found \"x\""},
		{" 1/1 0x1/0x2/Q/-/-/0 0x1/0x2/P/-/-/0\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/-/0 0x1/0x2 0x1/0x2/P/-/-/0\n", "expected a branch"},
		{" 1/1 0x1/2/P/-/-/0\n", "expected a branch"},
		{" 1/1 0x12345678123456781/0x2/P/-/-/0\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/Y/-/0\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/B/0\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/-/65536\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/-/0/JUMP\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/-/0/CALLS\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/-/0/CALL/SPEC\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/-/0/CALL/-/1\n", "expected a branch"},
		{" 1/1 0x1(/x/0x2/P/-/-/0  0x1(/x)/0x2(/y)/P/-/-/0\n", "expected a branch"},
		{" 1/1 0x1/0x2/P/-/-/0  insn: 90 90\n", "expected a branch"},
		{"x 1/1 PERF_RECORD_MMAP2 1: [0x1(0x2) @ 0 0:0 0 0]: r-xp /x\n",
		 "expected PID/TID: [0xSTART(0xLEN) @ 0xOFFSET"},
		{"x 1/1 PERF_RECORD_MMAP2 1/1: [1(0x2) @ 0 0:0 0 0]: r-xp /x\n",
		 "expected PID/TID"},
		{"x 1/1 PERF_RECORD_MMAP2 1/1: [0x1(0xffffffffffffffff) @ 0 0:0 0 0]: r-xp /x\n",
		 "expected PID/TID"},
		{"x 1/1 PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0 0:0 0 0: r-xp /x\n",
		 "expected ]: PROTECTION NAME"},
		{"x 1/1 PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0 0:0 0 0]: what /x\n",
		 "expected ]: PROTECTION NAME"},
		{"x 1/1 PERF_RECORD_MMAP 1/1: [0x1(0x2) @ 0]: x \n", "expected ]: PROTECTION NAME"},
		{"x 1/1 PERF_RECORD_COMM: perf 12\n", "expected NAME:PID/TID"},
		{"x 1/1 PERF_RECORD_COMM: perf:12/x\n", "expected NAME:PID/TID"},
		{"x 1/1 PERF_RECORD_FORK(1:1)\n", "expected PID:TID):(PPID:PTID)"},
		{"x 1/1 PERF_RECORD_EXIT(1:1):(99999999999:1)\n", "expected PID:TID):(PPID:PTID)"},
		{"x 1/1 PERF_RECORD_LOST some\n", "expected how many were lost"},
	};

	CHECK_BAD(PERF, -EBADMSG, bad);
}

static void test_script_kinds_not_read(void)
{
	static const struct bad_line script[] = {
		{" 1/1  main+0x12/foo+0x3/P/-/-/0 \n", "branches by symbol are not read"},
		{"  x  1/1  1.000000: c:  7f00  main+0x1/[unknown]/M/-/-/1/COND/- \n",
		 "branches by symbol are not read"},
	};
	static const struct bad_line bare[] = {
		{"  1 main+0x12/foo+0x3/P/-/-/0 \n", "branches by symbol are not read"},
		{" aabb1122:0x4005c8/aabb1122:0x4005dc\n", "addresses by build-id are not read"},
	};

	CHECK_BAD(PERF, -EPROTO, script);
	CHECK_BAD(BARE, -EPROTO, bare);
}

/* The text so often between the two; the caller frees it. */
static char *repeated(const char *before, const char *text, size_t cnt, const char *after)
{
	char *all;
	size_t bytes;
	FILE *file = open_memstream(&all, &bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(before, file);
	while (cnt--)
		fputs(text, file);
	fputs(after, file);
	fclose(file);
	return all;
}

static void test_script_stack_length(void)
{
	char *most = repeated(" 1/1", " 0x1/0x2/P/-/-/0 ", 1024, "\n");
	char *more = repeated(" 1/1", " 0x1/0x2/P/-/-/0 ", 1025, "\n");
	struct reading r;

	r = read_text(PERF, most);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_EQUAL(r.stats.branches, 1024);
	free(r.text);
	r = read_text(PERF, more);
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, "FILE:1: more than 1024 branches in a stack"));
	CU_ASSERT_EQUAL(r.stats.samples, 0);
	free(r.text);
	free(most);
	free(more);
}

/* ---------------------------------------------------------------- llvm-profgen's perfscript */

static void test_bare_samples(void)
{
	check(BARE,
	      "PERF_RECORD_MMAP2 12/12: [0x1000(0x10) @ 0 08:04 1 2]: r-xp /usr/bin/x\n"
	      "          40062f 0x10/0x20/P/-/-/0  0x30/0x40/M/-/-/3//- \n"
	      "40062f 0x10/0x20/P/-/-/0\n"
	      " 0x10/0x20/P/-/-/0\n"
	      "; a remark\n# another\n\n"
	      "1632846      5f66b792016a 0x10/0x20/P/-/-/0//NON_SPEC_CORRECT_PATH \n"
	      "1632846 PERF_RECORD_FORK(1632847:1632847):(1632846:1632846)\n",
	      "map 0 12 1000-1010@0 x - /usr/bin/x\n"
	      "user 0 -1/-1 cpu -1 event 0*1 ip 40062f x1 10>20P 30>40Mc3\n"
	      "user 0 -1/-1 cpu -1 event 0*1 ip 40062f x1 10>20P\n" UNTOLD " 10>20P\n"
	      "user 0 1632846/1632846 cpu -1 event 0*1 ip 5f66b792016a x1 10>20Pk0.0.2\n"
	      "fork 0 1632847 of 1632846 -\n");
}

static void test_bare_call_stacks(void)
{
	check(BARE,
	      "\t          4005dc\n\t          400634\n 0x10/0x20/P/-/-/0 \n"
	      "\n"
	      "3\n\t          4005dd\n 0x10/0x20/P/-/-/0 \n"
	      "18446744073709551615\n          400684 0x10/0x20/P/-/-/0\n"
	      "\t          4005de\n\t          400634\n\n"
	      "\t          4005df\n",
	      "user 0 -1/-1 cpu -1 event 0*1 ip 4005dc x1 10>20P\n"
	      "user 0 -1/-1 cpu -1 event 0*1 ip 4005dd x3 10>20P\n"
	      "user 0 -1/-1 cpu -1 event 0*1 ip 400684 x18446744073709551615 10>20P\n"
	      "user 0 -1/-1 cpu -1 event 0*1 ip 4005de x1\n"
	      "user 0 -1/-1 cpu -1 event 0*1 ip 4005df x1\n");
}

static void test_bare_errors(void)
{
	static const struct bad_line bad[] = {
		{"  40065d 40065d/0x40068f/M/-/-/1\n",
		 "FILE:1: expected branches 0xFROM/0xTO/P/-/-/CYCLES, after pid and address at "
		 "most, at column 10"},
		{"  40065d 0x1/0x2/P/-/-/0 0x1/\n", "expected branches"},
		{"4005dc\n", "expected branches"},
		{"hello\n", "expected branches"},
		{"bzip2 12/12 1.000000: c: 4005dc 0x1/0x2/P/-/-/0\n", "expected branches"},
		{"\t  4005dc main (/x)\n", "expected branches"},
		{"\t  4005dc\n\t  hello\n", "FILE:2: expected branches"},
		{"0\n", "expected a number of samples, 1 or more,"},
		{"1\n1\n", "FILE:2: expected a sample after its number"},
		{"18446744073709551616\n", "expected branches"},
	};

	CHECK_BAD(BARE, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- lines */

static struct reading read_long_line(const char *before, size_t cnt, const char *after)
{
	char *text = repeated(before, "a", cnt, after);
	struct reading r = read_text(PATHPROF_FORMAT_BOLT_FDATA, text);

	free(text);
	return r;
}

static void test_line_length(void)
{
	static const char rest[] = " 1 1 m 2 0 3\n";
	size_t longest = (1u << 20) - strlen("1 ") - (strlen(rest) - 1);
	struct reading r;

	r = read_long_line("1 ", longest, rest);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_EQUAL(r.stats.counts, 1);
	free(r.text);
	r = read_long_line("1 ", longest + 1, rest);
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_STRING_EQUAL(r.error.text, "FILE:1: the line is longer than a MiB");
	free(r.text);
	/* It does not end at all. */
	r = read_long_line("1 a 1 1 b 2 0 3\n1 ", 2 * longest, "");
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_STRING_EQUAL(r.error.text, "FILE:2: the line is longer than a MiB");
	CU_ASSERT_EQUAL(r.stats.counts, 1);
	free(r.text);
}

static void test_line_nul(void)
{
	struct reading r;

	r = read_bytes(PATHPROF_FORMAT_BOLT_PREAGG, "B 1 2 3 4\nB 1 2 3 \0004\n", 21);
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_STRING_EQUAL(r.error.text, "FILE:2: a NUL byte: this is not a text");
	CU_ASSERT_STRING_EQUAL(r.text, "branch 1 2 3 4\n");
	free(r.text);
}

static void test_unreadable(void)
{
	int fd = open(unit_tmpdir(), O_RDONLY | O_CLOEXEC);
	struct reading r;

	CU_ASSERT_FATAL(fd >= 0);
	r = read_fd(PATHPROF_FORMAT_BOLT_PREAGG, fd);
	CU_ASSERT_EQUAL(r.result, -EISDIR);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, "FILE: cannot read it"));
	free(r.text);
	close(fd);
}

static void test_sink_stops(void)
{
	struct pathprof_recording_sink sink = {.count = refuse_count};
	int fd = file_of("B 1 2 3 4\nrubbish\n", 18);
	struct pathprof_error error = {""};
	struct pathprof_recording *recording;

	CU_ASSERT_EQUAL_FATAL(pathprof_recording_open(&recording, PATHPROF_FORMAT_BOLT_PREAGG, fd,
						      "FILE", &sink, &error),
			      0);
	CU_ASSERT_EQUAL(pathprof_recording_read(recording, &error), -ECANCELED);
	CU_ASSERT_EQUAL(pathprof_recording_read(recording, &error), -ECANCELED);
	pathprof_recording_free(recording);
	close(fd);
}

/* ---------------------------------------------------------------- many */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Any number of bits alike. */
static uint64_t any_address(uint64_t *state)
{
	return next_random(state) >> next_random(state) % 63 | 2;
}

struct generated {
	FILE *text, *log;
	char *text_at, *log_at;
	size_t text_bytes, log_bytes;
};

static void generate_open(struct generated *g)
{
	g->text = open_memstream(&g->text_at, &g->text_bytes);
	g->log = open_memstream(&g->log_at, &g->log_bytes);
	CU_ASSERT_FATAL(g->text && g->log);
}

static void generate_close(struct generated *g)
{
	fclose(g->text);
	fclose(g->log);
}

static void generate_free(struct generated *g)
{
	free(g->text_at);
	free(g->log_at);
}

static void generate_branch(struct generated *g, uint64_t *state)
{
	static const char *const specs[] = {"-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH",
					    "SPEC_CORRECT_PATH"};
	uint64_t bits = next_random(state);
	struct pathprof_recorded_branch b = {.from = any_address(state),
					     .to = any_address(state),
					     .cycles = bits & 1 ? (uint16_t)(bits >> 48) : 0,
					     .spec = bits >> 1 & 3};

	if (bits & 8)
		b.flags |= bits & 16 ? PATHPROF_RECORDED_PREDICTED : PATHPROF_RECORDED_MISPREDICTED;
	if (bits & 32)
		b.flags |= PATHPROF_RECORDED_IN_TX;
	if (bits & 64)
		b.flags |= PATHPROF_RECORDED_ABORT;
	fprintf(g->text, " 0x%" PRIx64 "/0x%" PRIx64 "/%s/%s/%s/%u//%s ", b.from, b.to,
		bits & 8 ? bits & 16 ? "P" : "M" : "-", bits & 32 ? "X" : "-",
		bits & 64 ? "A" : "-", b.cycles, specs[b.spec]);
	note_branch(g->log, &b);
}

static void generate_sample(struct generated *g, uint64_t *state)
{
	uint32_t pid = (uint32_t)next_random(state) >> 12, tid = pid + 1;
	unsigned int cpu = (unsigned int)next_random(state) % 256, s, ns;
	uint64_t ip = any_address(state), cnt = 1 + next_random(state) % 40;

	s = (unsigned int)next_random(state) >> 8;
	ns = (unsigned int)(next_random(state) % 1000000000);
	fprintf(g->text, "%16s %7u/%-7u [%03u] %5u.%09u: %10u %s: %17" PRIx64 " ", "some name", pid,
		tid, cpu, s, ns, cpu + 7, "br:u", ip);
	fprintf(g->log, "%s %" PRIu64 " %u/%u cpu %u event 0*%u ip %" PRIx64 " x1",
		ip >> 63 ? "kernel" : "user", s * UINT64_C(1000000000) + ns, pid, tid, cpu, cpu + 7,
		ip);
	while (cnt--)
		generate_branch(g, state);
	fprintf(g->text, "\n");
	fprintf(g->log, "\n");
}

static void test_many_samples(void)
{
	uint64_t state = 88172645463325252u;
	struct generated g;

	generate_open(&g);
	for (int i = 0; i < 3000; i++)
		generate_sample(&g, &state);
	generate_close(&g);
	CU_ASSERT(g.text_bytes > 3u << 20);
	check(PERF, g.text_at, g.log_at);
	generate_free(&g);
}

static void generate_trace(struct generated *g, uint64_t *state)
{
	uint64_t from = any_address(state) >> 2 | 2, to = any_address(state) >> 2 | 2,
		 end = any_address(state) >> 2 | 2, count = next_random(state);

	fprintf(g->text, "T %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", from, to, end,
		count);
	fprintf(g->log, "trace %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 " 0\n", from, to, end,
		count);
}

struct slow_pipe {
	int fd;
	const char *text;
	size_t len;
};

/* In pieces of odd lengths, so that lines are cut anywhere. */
static void *write_slowly(void *argument)
{
	struct slow_pipe *pipe = argument;
	size_t done = 0, step = 1;

	while (done < pipe->len) {
		size_t part = pipe->len - done < step ? pipe->len - done : step;
		ssize_t got = write(pipe->fd, pipe->text + done, part);

		if (got <= 0)
			break;
		done += (size_t)got;
		step = step * 5 % 8191 + 1;
	}
	close(pipe->fd);
	return NULL;
}

static void test_many_counts_from_a_pipe(void)
{
	uint64_t state = 1234567890123u;
	struct slow_pipe writer;
	struct generated g;
	struct reading r;
	pthread_t thread;
	int ends[2];

	generate_open(&g);
	for (int i = 0; i < 40000; i++)
		generate_trace(&g, &state);
	generate_close(&g);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	writer = (struct slow_pipe){ends[1], g.text_at, g.text_bytes};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_slowly, &writer), 0);
	r = read_fd(PATHPROF_FORMAT_BOLT_PREAGG, ends[0]);
	pthread_join(thread, NULL);
	close(ends[0]);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_EQUAL(r.stats.bytes, g.text_bytes);
	CU_ASSERT_EQUAL(r.stats.bytes_total, 0);
	CU_ASSERT(strcmp(r.text, g.log_at) == 0);
	free(r.text);
	generate_free(&g);
}

/* The check must see one wrong digit among thousands. */
static void test_planted_fault_is_found(void)
{
	uint64_t state = 88172645463325252u;
	struct generated g;
	struct reading r;
	char *digit;

	generate_open(&g);
	for (int i = 0; i < 200; i++)
		generate_sample(&g, &state);
	generate_close(&g);
	digit = strstr(g.text_at + g.text_bytes / 2, "/0x") + 3;
	*digit = *digit == '1' ? '2' : '1';
	r = read_text(PERF, g.text_at);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT(strcmp(r.text, g.log_at) != 0);
	CU_ASSERT_EQUAL(r.text_bytes, g.log_bytes);
	free(r.text);
	generate_free(&g);
}

/* Every text cut anywhere, and every byte of it changed: never more than was there. */
static void test_damage(void)
{
	static const struct {
		enum pathprof_format format;
		const char *text;
	} texts[] = {
		{PERF,
		 "# hostname : box\n x  1/1  1.000000: PERF_RECORD_COMM exec: x:1/1\n"
		 " x 1/2 [001] 1.000000: 12 c:u:      7f00 m (/x) 0x1(/x+0x1)/0x2(/y)/M/X/A/7"
		 "/COND/SPEC_WRONG_PATH \nx 1/2 2.000000: c: \n\t  12 x (y)\n 0x1/0x2/P/-/- \n\n"
		 "PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0 <aa55>]: r-xp /x\n"},
		{BARE,
		 "3\n\t  4005dc\n\t  400684\n 0x1/0x2/P/-/-/0 \n 12 400684 0x3/0x4/M/-/-/0//- \n"},
		{PATHPROF_FORMAT_BOLT_PREAGG,
		 "E c\nT X:1 aa55:2 3 4\nS 1 2\nB 1 2 3 4\nR 0 2 3 4\n"},
		{PATHPROF_FORMAT_BOLT_FDATA, "no_lbr c\n1 a\\ b 1 2\n4 a 1 3 b 2 3\n"},
		{PATHPROF_FORMAT_BOLT_FDATA, "1 a\\\\b 1 0 b 2 3 4\n"},
		{PATHPROF_FORMAT_PROFGEN_RAW,
		 "[aa55:0x1 @ bb66:0x2]\n  1\n  1-2:3\n  1\n  1->2:3\n"},
		{PATHPROF_FORMAT_AUTOFDO_TEXT, "1\n1-2:3\n1\n1:2\n1\n1->2:3\n# x\n"},
	};

	for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
		size_t len = strlen(texts[t].text);
		char text[1024];

		for (size_t i = 0; i < len * 16; i++) {
			struct reading r;

			memcpy(text, texts[t].text, len);
			text[i / 16] = "\0\n\t 0x9f(-/:)~\xff["[i % 16];
			r = read_bytes(texts[t].format, text, i % 16 ? len : i / 16);
			CU_ASSERT(r.result == 0 || r.result == -EBADMSG || r.result == -EPROTO);
			CU_ASSERT(r.result == 0 || strncmp(r.error.text, "FILE:", 5) == 0);
			CU_ASSERT(r.stats.records <= 12);
			free(r.text);
		}
	}
}

static const struct unit_test tests[] = {
	{"pre-aggregated: each kind of line", test_preagg_lines},
	{"pre-aggregated: build-ids and what lies outside", test_preagg_places},
	{"pre-aggregated: traces that are but a branch or a range", test_preagg_marked_traces},
	{"pre-aggregated: counts up to 2^64-1", test_preagg_largest_count},
	{"pre-aggregated: events", test_preagg_events},
	{"pre-aggregated: what is wrong with a line", test_preagg_errors},
	{"fdata: branches", test_fdata_branches},
	{"fdata: escaped names", test_fdata_escaped_names},
	{"fdata: samples, and its headers", test_fdata_samples},
	{"fdata: memory accesses are checked and counted", test_fdata_memory},
	{"fdata: what is wrong with a line", test_fdata_errors},
	{"raw: sections with and without contexts", test_raw_sections},
	{"raw: what came from elsewhere", test_raw_elsewhere},
	{"raw: build-ids of contexts", test_raw_build_ids},
	{"raw: what is wrong with a line", test_raw_errors},
	{"autofdo: three blocks and remarks", test_autofdo_blocks},
	{"autofdo: what is wrong with a line", test_autofdo_errors},
	{"perf script: columns in all variants", test_script_columns},
	{"perf script: names that look like columns", test_script_hostile_names},
	{"perf script: flags of all perf versions", test_script_flags},
	{"perf script: kinds of branches", test_script_kinds_and_specs},
	{"perf script: kernel by address", test_script_kernel},
	{"perf script: samples without branches", test_script_no_branches},
	{"perf script: call stacks", test_script_call_stacks},
	{"perf script: mappings", test_script_mappings},
	{"perf script: processes", test_script_processes},
	{"perf script: other records and comments", test_script_other_records},
	{"perf script: events by name", test_script_events},
	{"perf script: a text cut off", test_script_cut_off},
	{"perf script: what is wrong with a line", test_script_errors},
	{"perf script: symbols and build-ids instead of addresses", test_script_kinds_not_read},
	{"perf script: stacks as long as may be", test_script_stack_length},
	{"perfscript: samples", test_bare_samples},
	{"perfscript: call stacks and numbers of samples", test_bare_call_stacks},
	{"perfscript: what is wrong with a line", test_bare_errors},
	{"lines as long as may be", test_line_length},
	{"a NUL in a line", test_line_nul},
	{"what cannot be read", test_unreadable},
	{"a sink's refusal ends the reading", test_sink_stops},
	{"many samples as they were written", test_many_samples},
	{"many counts through a pipe", test_many_counts_from_a_pipe},
	{"one wrong digit is found", test_planted_fault_is_found},
	{"damaged texts end in an error or the end", test_damage},
};
UNIT_SUITE(recording_text, tests)
