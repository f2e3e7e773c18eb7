// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts of branches as BOLT, llvm-profgen and AutoFDO write them: every kind of line and of error.
 */
#include "reading.h"

#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- BOLT, pre-aggregated */

static void test_preagg_lines(void)
{
	reading_is(PATHPROF_FORMAT_BOLT_PREAGG,
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
		   "call-range 4b196f 4b19e0 3 0\n"
		   "call-range 4b196f 4b19e0 4 0\n"
		   "trace 1149 114a 1155 5 0\n"
		   "trace 1149 114a 1155 6 0\n"
		   "trace 1149 114a 1155 7 2\n"
		   "address 1149 8 0\n"
		   "branch 1 2 3 4\n");
}

static void test_preagg_places(void)
{
	reading_is(PATHPROF_FORMAT_BOLT_PREAGG,
		   "B X:1149 aa55:114a 1 0\n"
		   "B 0 00112233445566778899aabbccddeeff00112233:ffffffffffffffff 1 0\n"
		   "F 0xaa550000:40bc 0xaa550000:40dc 587\n"
		   "T X:0 12 0 1\n",
		   "branch out aa55:114a 1 0\n"
		   "branch out 00112233445566778899aabbccddeeff00112233:ffffffffffffffff 1 0\n"
		   "range aa550000:40bc aa550000:40dc 587 0\n"
		   "trace out 12 out 1 0\n");
}

/* A trace may be but a branch, or but a range. */
static void test_preagg_marked_traces(void)
{
	reading_is(PATHPROF_FORMAT_BOLT_PREAGG,
		   "T 10 20 ffffffffffffffff 1\n"
		   "T ffffffffffffffff 20 30 2\n"
		   "T fffffffffffffffe 20 30 3\n"
		   "T fffffffffffffffd 20 30 4\n"
		   "R 0 20 30 5\n",
		   "branch 10 20 1 0\n"
		   "range 20 30 2 0\n"
		   "call-range 20 30 3 0\n"
		   "call-range 20 30 4 0\n"
		   "call-range 20 30 5 0\n");
}

static void test_preagg_largest_count(void)
{
	reading_is(PATHPROF_FORMAT_BOLT_PREAGG, "B 1 2 18446744073709551615 18446744073709551615\n",
		   "branch 1 2 18446744073709551615 18446744073709551615\n");
}

static void test_preagg_events(void)
{
	struct reading r;

	r = reading_of_text(PATHPROF_FORMAT_BOLT_PREAGG,
			    "E br_inst_retired.near_taken:u\nS 12 3\nE x\n");
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

	READING_FAILS(PATHPROF_FORMAT_BOLT_PREAGG, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- BOLT, fdata */

static void test_fdata_branches(void)
{
	reading_is(PATHPROF_FORMAT_BOLT_FDATA,
		   "1 main 3fb 0 /lib/ld-2.21.so 12 4 221\n"
		   "1 main 3fb 2 init/file.c/1 0 0 18446744073709551615\n"
		   "0 [unknown] 0  1  main  A  0  3  \n",
		   "branch {main}+3fb out 221 4\n"
		   "branch {main}+3fb {init/file.c/1}+0 18446744073709551615 0\n"
		   "branch out {main}+a 3 0\n");
}

static void test_fdata_escaped_names(void)
{
	reading_is(PATHPROF_FORMAT_BOLT_FDATA, "1 a\\ b\\\\c 1 1 \\ \\  2 0 1\n",
		   "branch {a b\\c}+1 {  }+2 1 0\n");
}

static void test_fdata_samples(void)
{
	struct reading r;

	reading_is(
		PATHPROF_FORMAT_BOLT_FDATA,
		"no_lbr cycles:u instructions:u\nboltedcollection\n1 main 10 5\n0 [unknown] 0 7\n",
		"address {main}+10 5 0\naddress out 7 0\n");
	reading_is(PATHPROF_FORMAT_BOLT_FDATA, "boltedcollection\nno_lbr\n1 main 10 5\n",
		   "address {main}+10 5 0\n");
	r = reading_of_text(PATHPROF_FORMAT_BOLT_FDATA, "no_lbr cycles:u  br:u\n");
	CU_ASSERT_EQUAL(r.event_cnt, 2);
	CU_ASSERT_STRING_EQUAL(r.event, "cycles:u");
	free(r.text);
}

static void test_fdata_symbols(void)
{
	static const struct bad_line bad[] = {
		{"symbols\nmain\n\n", "FILE:3: expected a symbol's name"},
		{"1 main 1 1 main 2 0 3\nsymbols\n", "FILE:2: expected 0, 1 or 2"},
	};

	reading_is(PATHPROF_FORMAT_BOLT_FDATA, "symbols\nmain\noperator new\nsymbols\n",
		   "branch out {main}+0 1 0\nbranch out {operator new}+0 1 0\n"
		   "branch out {symbols}+0 1 0\n");
	READING_FAILS(PATHPROF_FORMAT_BOLT_FDATA, -EBADMSG, bad);
}

static void test_fdata_memory(void)
{
	struct reading r;

	r = reading_of_text(
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

	READING_FAILS(PATHPROF_FORMAT_BOLT_FDATA, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- llvm-profgen, raw */

static void test_raw_sections(void)
{
	reading_is(PATHPROF_FORMAT_PROFGEN_RAW,
		   "2\n1000-1010:5\n1020-1020:18446744073709551615\n1\n1010->1000:7\n",
		   "range 1000 1010 5 0\nrange 1020 1020 18446744073709551615 0\n"
		   "branch 1010 1000 7 0\n");
	/* Call stacks, of addresses or of names; no branches; sections without a context. */
	reading_is(PATHPROF_FORMAT_PROFGEN_RAW,
		   "[0x7f4 @ 0x7bf]\n  1\n  10-20:1\n  0\n[main:1 @ foo]\n  0\n  1\n  30->40:2\n"
		   "0\n1\n50->60:3",
		   "range 10 20 1 0\nbranch 30 40 2 0\nbranch 50 60 3 0\n");
	reading_is(PATHPROF_FORMAT_PROFGEN_RAW, "", "");
}

static void test_raw_elsewhere(void)
{
	reading_is(PATHPROF_FORMAT_PROFGEN_RAW, "0\n2\n1->1000:7\nffffffffffffc001->1000:8\n",
		   "branch out 1000 7 0\nbranch out 1000 8 0\n");
}

static void test_raw_build_ids(void)
{
	reading_is(PATHPROF_FORMAT_PROFGEN_RAW,
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

	READING_FAILS(PATHPROF_FORMAT_PROFGEN_RAW, -EBADMSG, bad);
}

/* ---------------------------------------------------------------- AutoFDO */

static void test_autofdo_blocks(void)
{
	reading_is(PATHPROF_FORMAT_AUTOFDO_TEXT,
		   "1\n1000-1010:5\n2\n1000:3\n0x1004:18446744073709551615\n1\n1010->1000:7\n",
		   "range 1000 1010 5 0\naddress 1000 3 0\naddress 1004 18446744073709551615 0\n"
		   "branch 1010 1000 7 0\n");
	reading_is(PATHPROF_FORMAT_AUTOFDO_TEXT, "0\n0\n0\n", "");
	reading_is(PATHPROF_FORMAT_AUTOFDO_TEXT, "0\n0\n1\n1->2:3", "branch 1 2 3 0\n");
	reading_is(PATHPROF_FORMAT_AUTOFDO_TEXT, "0\n0\n0\n# made by hand\n#\n", "");
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

	READING_FAILS(PATHPROF_FORMAT_AUTOFDO_TEXT, -EBADMSG, bad);
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
	{"fdata: names of functions alone", test_fdata_symbols},
	{"fdata: memory accesses are checked and counted", test_fdata_memory},
	{"fdata: what is wrong with a line", test_fdata_errors},
	{"raw: sections with and without contexts", test_raw_sections},
	{"raw: what came from elsewhere", test_raw_elsewhere},
	{"raw: build-ids of contexts", test_raw_build_ids},
	{"raw: what is wrong with a line", test_raw_errors},
	{"autofdo: three blocks and remarks", test_autofdo_blocks},
	{"autofdo: what is wrong with a line", test_autofdo_errors},
};
UNIT_SUITE(recording_counts, tests)
