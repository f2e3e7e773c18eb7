// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * BOLT's pre-aggregated profile (`perf2bolt --pa`), a count a line:
 *
 *     B FROM TO COUNT MISPREDICTED   taken branch
 *     F START END COUNT              executed without a taken branch; f: came there from outside,
 *                                    r: came there by a return from outside
 *     T FROM START END COUNT         taken branch, and what was executed after it; R: by a return
 *     S ADDRESS COUNT                samples
 *     E NAME                         the event that was sampled
 *
 * A location is [BUILDID:]HEX; with X for the build-id, or 0, it is of no binary of the profile.
 * LLVM up to 19 knows B, F and f only. Its tools mark a T that is but a branch, an F, an f or an r
 * by addresses of -1, -2 and -3, which are taken as what they mean.
 *
 * Deviations from perf2bolt: a negative count is refused, counts may be as large as 64 bits hold, a
 * build-id is hex, and T and R may end with a count of mispredictions, as some writers have it.
 *
 * Source: bolt/include/bolt/Profile/DataAggregator.h and lib/Profile/DataAggregator.cpp of LLVM 22.
 */
#include "pp_scan.h"

#include <string.h>

/* In the place of T's branch: the rest is an F, an f or an r. Of its end: not known. */
#define NO_BRANCH      UINT64_MAX
#define FROM_OUTSIDE   (UINT64_MAX - 1)
#define RETURN_OUTSIDE (UINT64_MAX - 2)
#define NO_END         UINT64_MAX

static bool scan_address(const char **at, uint64_t *ret_address)
{
	const char *p = *at;

	if (!pp_scan_hex(&p, ret_address) || *p != ' ')
		return false;
	*at = p;
	return true;
}

/* "BUILDID:", simpleperf's "0xBUILDID:", or "X:", and the address in it. */
static bool scan_elsewhere(const char **at, struct pathprof_recorded_place *place)
{
	const char *p = *at;

	place->outside = pp_scan_word(&p, "X:");
	if (!place->outside)
		(void)pp_scan_word(&p, "0x");
	if (!place->outside && (!pp_scan_build_id(&p, &place->id) || !pp_scan_char(&p, ':')))
		return false;
	*at = p;
	return scan_address(at, &place->address);
}

static int scan_place(struct pp_scan *text, const char **at, struct pathprof_recorded_place *place)
{
	const char *p;

	*place = (struct pathprof_recorded_place){0};
	pp_scan_blanks(at);
	p = *at;
	if (scan_address(at, &place->address)) {
		place->outside = place->address == 0;
		return 0;
	}
	if (!scan_elsewhere(at, place))
		return pp_scan_expected(text, p, "an address, [BUILDID:]HEX or X:HEX,");
	return 0;
}

static int scan_count(struct pp_scan *text, const char **at, uint64_t *ret_count)
{
	const char *p;

	pp_scan_blanks(at);
	p = *at;
	if (!pp_scan_decimal(&p, ret_count) || (*p && *p != ' '))
		return pp_scan_expected(text, *at, "a count");
	*at = p;
	return 0;
}

static int scan_end(struct pp_scan *text, const char *at)
{
	pp_scan_char(&at, ' ');
	return *at ? pp_scan_expected(text, at, "the end of the line") : 0;
}

/* Turns a trace one of whose sides is marked as missing into a range or a branch. */
static void reduce_trace(struct pathprof_recorded_count *count, bool by_return)
{
	const uint64_t from = count->from.address;
	bool is_outside = from == FROM_OUTSIDE || from == RETURN_OUTSIDE;

	if (from == NO_BRANCH || is_outside || (by_return && from == 0)) {
		count->kind = PATHPROF_RECORDED_RANGE;
		count->from = count->to;
		count->to = count->end;
		count->after_call = by_return || is_outside;
	} else if (count->end.address == NO_END) {
		count->kind = PATHPROF_RECORDED_BRANCH;
	}
	if (count->kind != PATHPROF_RECORDED_TRACE)
		count->end = (struct pathprof_recorded_place){0};
}

static int event_line(struct pp_scan *text, const char *at)
{
	uint32_t event;
	size_t len;
	int r;

	pp_scan_blanks(&at);
	len = strcspn(at, " ");
	r = pp_scan_event_of(text, at, len, &event);
	return r < 0 ? r : scan_end(text, at + len);
}

static enum pathprof_recorded_count_kind kind_of(char letter)
{
	switch (letter) {
	case 'T':
	case 'R':
		return PATHPROF_RECORDED_TRACE;
	case 'B':
		return PATHPROF_RECORDED_BRANCH;
	case 'F':
	case 'f':
	case 'r':
		return PATHPROF_RECORDED_RANGE;
	case 'S':
		return PATHPROF_RECORDED_ADDRESS;
	default:
		return 0;
	}
}

static int scan_places(struct pp_scan *text, const char **at, struct pathprof_recorded_count *count)
{
	int r = scan_place(text, at, &count->from);

	if (r == 0 && count->kind != PATHPROF_RECORDED_ADDRESS)
		r = scan_place(text, at, &count->to);
	if (r == 0 && count->kind == PATHPROF_RECORDED_TRACE)
		r = scan_place(text, at, &count->end);
	return r;
}

static int scan_counts(struct pp_scan *text, const char **at, struct pathprof_recorded_count *count)
{
	int r = scan_count(text, at, &count->count);
	bool more = r == 0 && (*at)[0] == ' ' && (*at)[1];

	if (count->kind == PATHPROF_RECORDED_BRANCH ||
	    (count->kind == PATHPROF_RECORDED_TRACE && more))
		r = r < 0 ? r : scan_count(text, at, &count->mispredicted);
	return r;
}

static int preagg_line(struct pp_scan *text, char *line)
{
	struct pathprof_recorded_count count = {0};
	const char *at = line;
	char letter;
	int r;

	pp_scan_blanks(&at);
	letter = *at;
	count.kind = kind_of(letter);
	if ((letter != 'E' && count.kind == 0) || at[1] != ' ')
		return pp_scan_expected(text, at, "T, R, S, E, B, F, f or r and a blank");
	count.after_call = letter == 'f' || letter == 'r';
	at++;
	if (letter == 'E')
		return event_line(text, at);
	r = scan_places(text, &at, &count);
	if (r == 0)
		r = scan_counts(text, &at, &count);
	if (r == 0)
		r = scan_end(text, at);
	if (r < 0)
		return r;
	if (count.kind == PATHPROF_RECORDED_TRACE)
		reduce_trace(&count, letter == 'R');
	return pp_recording_count(text->recording, &count);
}

static const struct pp_scan_format preagg = {
	.line = preagg_line,
};

static int preagg_open(struct pathprof_recording *recording, struct pathprof_error *error)
{
	return pp_scan_recording_open(&preagg, recording, error);
}

const struct pp_recording_ops pp_bolt_preagg_ops = {
	.open = preagg_open,
	.read = pp_scan_recording_read,
	.free = pp_scan_recording_free,
	.info = pp_scan_recording_info,
	.event = pp_scan_recording_event,
};
