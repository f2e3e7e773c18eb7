// SPDX-License-Identifier: GPL-2.0-or-later
/* Spans, sizes and shares: one grammar, read as it is written, against floating point. */
#include "unit.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/units.h"

#define SECOND UINT64_C(1000000000)
#define DAY    (86400 * SECOND)

static void test_spans(void)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} spans[] = {
		{"1ns", 1},
		{"2nsec", 2},
		{"3us", 3000},
		{"3usec", 3000},
		{"4ms", 4000000},
		{"4msec", 4000000},
		{"90", 90 * SECOND},
		{"5s", 5 * SECOND},
		{"5sec", 5 * SECOND},
		{"1second", SECOND},
		{"5seconds", 5 * SECOND},
		{"6m", 360 * SECOND},
		{"6min", 360 * SECOND},
		{"1minute", 60 * SECOND},
		{"6minutes", 360 * SECOND},
		{"7h", 7 * 3600 * SECOND},
		{"7hr", 7 * 3600 * SECOND},
		{"1hour", 3600 * SECOND},
		{"7hours", 7 * 3600 * SECOND},
		{"8d", 8 * DAY},
		{"1day", DAY},
		{"8days", 8 * DAY},
		{"9w", 63 * DAY},
		{"1week", 7 * DAY},
		{"9weeks", 63 * DAY},
		{"1M", 2629800 * SECOND},
		{"1month", 2629800 * SECOND},
		{"2months", 2 * 2629800 * SECOND},
		{"1y", 31557600 * SECOND},
		{"1year", 31557600 * SECOND},
		{"2years", 2 * 31557600 * SECOND},
		{" 1h 30 min ", 5400 * SECOND},
		{".5s", SECOND / 2},
	};
	uint64_t value;

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		value = 0;
		CU_ASSERT_EQUAL(pp_span_parse(spans[i].text, &value), 0);
		CU_ASSERT_EQUAL(value, spans[i].ns);
	}
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {
		{"4096", 4096},        {"7B", 7},
		{"1K", 1 << 10},       {"1k", 1 << 10},
		{"1KiB", 1 << 10},     {"512MiB", 512 << 20},
		{"512M", 512 << 20},   {"512MB", 512 << 20},
		{"1.5G", 3 << 29},     {"1GiB", 1 << 30},
		{"2 T", 2ULL << 40},   {"2tb", 2ULL << 40},
		{"1TiB ", 1ULL << 40}, {".5kb", 512},
	};
	uint64_t value;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		value = 0;
		CU_ASSERT_EQUAL(pp_size_parse(sizes[i].text, &value), 0);
		CU_ASSERT_EQUAL(value, sizes[i].bytes);
	}
}

static void test_shares(void)
{
	uint64_t value = 0;

	CU_ASSERT_EQUAL(pp_percent_parse("0.5%", &value), 0);
	CU_ASSERT_EQUAL(value, 5000);
	CU_ASSERT_EQUAL(pp_percent_parse("20 %", &value), 0);
	CU_ASSERT_EQUAL(value, 200000);
	CU_ASSERT_EQUAL(pp_percent_parse("100", &value), 0);
	CU_ASSERT_EQUAL(value, 1000000);
	CU_ASSERT_EQUAL(pp_decimal_parse("0.01", &value), 0);
	CU_ASSERT_EQUAL(value, 10000);
	CU_ASSERT_EQUAL(pp_count_parse("12", &value), 0);
	CU_ASSERT_EQUAL(value, 12);
	CU_ASSERT_EQUAL(pp_hex_parse("4005d0", &value), 0);
	CU_ASSERT_EQUAL(value, 0x4005d0);
	CU_ASSERT_EQUAL(pp_hex_parse("0X00000000FFFFFFFFffffffff", &value), 0);
	CU_ASSERT_EQUAL(value, UINT64_MAX);
}

/* Oracle: the same text by sscanf and doubles, good to a part in 10^12. */
static void test_spans_against_doubles(void)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "min", "h", "d", "w"};
	static const double scale[] = {1, 1e3, 1e6, 1e9, 6e10, 3.6e12, 8.64e13, 6.048e14};
	unsigned int seed = 1;

	for (int i = 0; i < 2000; i++) {
		int u = rand_r(&seed) % 8, whole = rand_r(&seed) % 1000;
		char text[64];
		uint64_t value = 0;
		double want = 0;

		snprintf(text, sizeof(text), "%d.%03d %s", whole, rand_r(&seed) % 1000, units[u]);
		CU_ASSERT_EQUAL(pp_span_parse(text, &value), 0);
		CU_ASSERT_EQUAL(sscanf(text, "%lf", &want), 1);
		want *= scale[u];
		CU_ASSERT_TRUE((double)value <= want * (1 + 1e-12) + 1e-3);
		CU_ASSERT_TRUE((double)value >= want * (1 - 1e-12) - 1.001);
	}
}

static void test_format_round_trip(void)
{
	unsigned int seed = 2;

	for (int i = 0; i < 5000; i++) {
		uint64_t v = ((uint64_t)rand_r(&seed) << 31 ^ (uint64_t)rand_r(&seed)) >>
			     (rand_r(&seed) % 62);
		uint64_t back = 0;
		char text[64];

		pp_span_format(v, text, sizeof(text));
		CU_ASSERT_EQUAL(pp_span_parse(text, &back), 0);
		CU_ASSERT_EQUAL(back, v);
		pp_size_format(v, text, sizeof(text));
		CU_ASSERT_EQUAL(pp_size_parse(text, &back), 0);
		CU_ASSERT_EQUAL(back, v);
		pp_percent_format(v, text, sizeof(text));
		CU_ASSERT_EQUAL(pp_percent_parse(text, &back), 0);
		CU_ASSERT_EQUAL(back, v);
	}
}

static void test_refused(void)
{
	uint64_t value = 77;

	CU_ASSERT_EQUAL(pp_percent_parse("5%%", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_percent_parse("", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_percent_parse("-1", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_decimal_parse("1%", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_span_parse("5s x", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_span_parse("5parsecs", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_span_parse("5S", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_span_parse("inf", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_span_parse("1.2.3", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_span_parse("", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_span_parse("18446744073s 1s", &value), -ERANGE);
	CU_ASSERT_EQUAL(pp_size_parse("1.", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_size_parse(".", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_size_parse("1BiB", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_size_parse("1M 1K", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_size_parse("9999999999T", &value), -ERANGE);
	CU_ASSERT_EQUAL(pp_count_parse("0x10", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_count_parse("1.5", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_hex_parse("0x", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_hex_parse("0x0x1", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_hex_parse("12g", &value), -EINVAL);
	CU_ASSERT_EQUAL(pp_hex_parse("11112222333344445", &value), -ERANGE);
	CU_ASSERT_EQUAL(value, 77);
}

/* A value above 0 of any number of digits: 0 would mean another thing. */
static void test_too_small(void)
{
	uint64_t value = 77;

	CU_ASSERT_EQUAL(pp_span_parse("0.9ns", &value), -ERANGE);
	CU_ASSERT_EQUAL(pp_span_parse("0.0000000009d", &value), -ERANGE);
	CU_ASSERT_EQUAL(pp_size_parse("0.5", &value), -ERANGE);
	CU_ASSERT_EQUAL(pp_size_parse("0.0000000005G", &value), -ERANGE);
	CU_ASSERT_EQUAL(pp_percent_parse("0.00009%", &value), -ERANGE);
	CU_ASSERT_EQUAL(pp_decimal_parse("0.0000000000000000000001", &value), -ERANGE);
	CU_ASSERT_EQUAL(value, 77);
	CU_ASSERT_EQUAL(pp_decimal_parse("0.000000000000", &value), 0);
	CU_ASSERT_EQUAL(value, 0);
	CU_ASSERT_EQUAL(pp_decimal_parse("1.0000000000000000000001", &value), 0);
	CU_ASSERT_EQUAL(value, 1000000);
}

/* Files may have any time, and file systems of today know years beyond 2262. */
static void test_file_time(void)
{
	const struct timespec usual = {1700000000, 7}, before = {-5, 9},
			      late = {INT64_MAX, 999999999};
	const struct timespec last = {PP_FILE_TIME_MAX_S - 1, 999999999};

	CU_ASSERT_EQUAL(pp_file_time_ns(&usual), INT64_C(1700000000000000007));
	CU_ASSERT_EQUAL(pp_file_time_ns(&before), 0);
	CU_ASSERT_EQUAL(pp_file_time_ns(&late), INT64_C(9214646400000000000));
	CU_ASSERT_EQUAL(pp_file_time_ns(&last), INT64_C(9214646399999999999));
}

static const struct unit_test tests[] = {
	{"spans have every unit that systemd.time(7) names", test_spans},
	{"sizes are powers of 1024, however they are written", test_sizes},
	{"percentages, decimals, counts", test_shares},
	{"spans agree with floating point", test_spans_against_doubles},
	{"what is formatted reads back", test_format_round_trip},
	{"what is no value, or too large, leaves the output alone", test_refused},
	{"what is more than 0 is never taken for 0", test_too_small},
	{"a file's time is one that sums have room for", test_file_time},
};
UNIT_SUITE(units, tests)
