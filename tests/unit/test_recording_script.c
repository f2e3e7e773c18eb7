// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples as perf script prints them, whichever columns it was asked for, and as llvm-profgen wants
 * them. */
#include "reading.h"

#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		/* An event that perf knows by its number alone. */
		{"            bzip2  1234/1235  12.345678:      10007 raw 0x20c4:u:      "
		 "7f0011223344",
		 "user 12345678000 1234/1235 cpu -1 event 0*10007 ip 7f0011223344 x1"},
		{"  1234/1235  12.345678: raw 0x20c4:",
		 "user 12345678000 1234/1235 cpu -1 event 0*1 ip 0 x1"},
		{"raw 0x20c4:u:      7f0011223344",
		 "user 0 -1/-1 cpu -1 event 0*1 ip 7f0011223344 x1"},
		{"   1234      10007 raw 0x20c4:u:      7f0011223344",
		 "user 0 1234/1234 cpu -1 event 0*10007 ip 7f0011223344 x1"},
		/* A period without an event. */
		{"  1234/1235  12.345678:      10007     7f0011223344",
		 "user 12345678000 1234/1235 cpu -1 event 0*10007 ip 7f0011223344 x1"},
		{"  1234/1235  12.345678:      10007 ",
		 "user 12345678000 1234/1235 cpu -1 event 0*10007 ip 0 x1"},
		{"   1234      10007      7f0011223344",
		 "user 0 1234/1234 cpu -1 event 0*10007 ip 7f0011223344 x1"},
		{"   1234      10007 ", "user 0 1234/1234 cpu -1 event 0*10007 ip 0 x1"},
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
		reading_is(PERF, text, read);
	}
}

/* Names that a process may give itself. */
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
		reading_is(PERF, text,
			   "user 1000000000 77/78 cpu -1 event 0*1 ip 7f0011223344 x1 10>20P\n"
			   "user 2000000000 77/78 cpu 1 event 0*1 ip 7f0011223344 x1\n");
	}
}

static void test_script_flags(void)
{
	static const struct {
		const char *branch, *read;
	} tests[] = {
		/* The forms that perf has written since 3.x. */
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
		reading_is(PERF, text, read);
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
		reading_is(PERF, text, read);
	}
}

/* perf says of kernel code or a process only what its addresses say. */
static void test_script_kernel(void)
{
	reading_is(PERF, " 0x10/0xffffffff81000000/P/-/-/0 \n",
		   "kernel 0 -1/-1 cpu -1 event 0*1 ip 0 x1 10>ffffffff81000000P\n");
}

static void test_script_no_branches(void)
{
	reading_is(PERF,
		   "            bzip2  1234/1235  12.345678: cycles:      7f0011223344 \n"
		   "    77 \n    78 \n\n",
		   "user 12345678000 1234/1235 cpu -1 event 0*1 ip 7f0011223344 x1\n"
		   "user 0 77/77 cpu -1 event 0*1 ip 0 x1\n"
		   "user 0 78/78 cpu -1 event 0*1 ip 0 x1\n");
}

static void test_script_call_stacks(void)
{
	reading_is(PERF,
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
	reading_is(
		PERF,
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
	reading_is(PERF,
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

	r = reading_of_text(
		PERF, "# ========\n# hostname : box\n# os release : 6.1\n#\n"
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
	reading_is(PERF, text, expected);
	sprintf(at, " 1/1  1.000000: another: 0x1/0x2/P/-/-/0\n");
	r = reading_of_text(PERF, text);
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, "FILE:301: more than 256 events"));
	CU_ASSERT_STRING_EQUAL(r.event, "ev0:u");
	free(r.text);
}

/* perf prints an event so that it knows by its number alone. */
static void test_script_raw_event(void)
{
	struct reading r;

	r = reading_of_text(PERF, "bzip2  1/1  1.000000:      10007 raw 0x20c4:u: \n"
				  "\t    7f0011223344 f (/usr/bin/x)\n"
				  " 0x10/0x20/P/-/-/0 \n");
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_STRING_EQUAL(r.error.text, "");
	CU_ASSERT_STRING_EQUAL(
		r.text, "user 1000000000 1/1 cpu -1 event 0*10007 ip 7f0011223344 x1 10>20P\n");
	CU_ASSERT_STRING_EQUAL(r.event, "raw 0x20c4:u");
	free(r.text);
}

static void test_script_cut_off(void)
{
	struct reading r;

	r = reading_of_text(PERF, "  1/1 0x10/0x20/P/-/-/0 \n  1/1 0x10/0x20/P/-/-/1");
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
		{" 1/1 raw 0x20c4:u: 0x1/2/P/-/-/0\n", "expected a branch"},
		{" 1/1 raw 0x20c4 0x1/0x2/P/-/-/0\n", "expected a branch"},
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

	READING_FAILS(PERF, -EBADMSG, bad);
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

	READING_FAILS(PERF, -EPROTO, script);
	READING_FAILS(BARE, -EPROTO, bare);
}

static void test_script_stack_length(void)
{
	char *most = reading_repeated(" 1/1", " 0x1/0x2/P/-/-/0 ", 1024, "\n");
	char *more = reading_repeated(" 1/1", " 0x1/0x2/P/-/-/0 ", 1025, "\n");
	struct reading r;

	r = reading_of_text(PERF, most);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_EQUAL(r.stats.branches, 1024);
	free(r.text);
	r = reading_of_text(PERF, more);
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
	reading_is(BARE,
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
	reading_is(BARE,
		   "\t          4005dc\n\t          400634\n 0x10/0x20/P/-/-/0 \n"
		   "\n"
		   "3\n\t          4005dd\n 0x10/0x20/P/-/-/0 \n"
		   "1099511627776\n          400684 0x10/0x20/P/-/-/0\n"
		   "\t          4005de\n\t          400634\n\n"
		   "\t          4005df\n",
		   "user 0 -1/-1 cpu -1 event 0*1 ip 4005dc x1 10>20P\n"
		   "user 0 -1/-1 cpu -1 event 0*1 ip 4005dd x3 10>20P\n"
		   "user 0 -1/-1 cpu -1 event 0*1 ip 400684 x1099511627776 10>20P\n"
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
		{"0\n", "expected a number of samples, 1 to 2^40,"},
		{"1099511627777\n", "expected a number of samples, 1 to 2^40,"},
		{"18446744073709551615\n", "expected a number of samples, 1 to 2^40,"},
		{"1\n1\n", "FILE:2: expected a sample after its number"},
		{"18446744073709551616\n", "expected branches"},
	};

	READING_FAILS(BARE, -EBADMSG, bad);
}

static const struct unit_test tests[] = {
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
	{"perf script: an event by number", test_script_raw_event},
	{"perf script: a text cut off", test_script_cut_off},
	{"perf script: what is wrong with a line", test_script_errors},
	{"perf script: symbols and build-ids instead of addresses", test_script_kinds_not_read},
	{"perf script: stacks as long as may be", test_script_stack_length},
	{"perfscript: samples", test_bare_samples},
	{"perfscript: call stacks and numbers of samples", test_bare_call_stacks},
	{"perfscript: what is wrong with a line", test_bare_errors},
};
UNIT_SUITE(recording_script, tests)
