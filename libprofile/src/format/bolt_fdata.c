// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * BOLT's fdata: branches between places, each a symbol and an offset from it.
 *
 *     [no_lbr [EVENT...]]            the lines are samples, not branches
 *     [symbols]                      each line names functions, entered once (after LLVM 22)
 *     [boltedcollection]             profiled was a binary that BOLT had rewritten; the addresses
 *                                    are those of what it was made from
 *     IS NAME HEX IS NAME HEX MISPREDICTED COUNT
 *     IS NAME HEX COUNT              after no_lbr
 *     IS NAME HEX IS NAME HEX COUNT  memory accesses, IS 3 to 5: passed over
 *
 * IS is 1 for a global symbol, 2 for one of a file (NAME/FILE/NUMBER), 0 for a place in no function
 * of the binary. A blank or backslash in a name has a backslash before it.
 *
 * Deviations from BOLT: a negative count is refused, and so is what follows the data, which BOLT
 * does not look at; the two headers may stand in either order, as perf2bolt writes them.
 *
 * Source: bolt/lib/Profile/DataReader.cpp of LLVM 22.
 */
#include "pp_scan.h"

#include <string.h>

struct fdata {
	bool samples; /* no_lbr */
	bool symbols;
	bool in_data; /* the header is over */
};

/* Takes the backslashes out; the name ends where `at` then stands. */
static bool scan_name(char **at, const char **ret_name)
{
	char *from = *at, *to = *at;

	while (*from && *from != ' ') {
		if (*from == '\\')
			from++;
		if (!*from)
			return false;
		*to++ = *from++;
	}
	if (from == *at || *from != ' ')
		return false;
	*ret_name = *at;
	*to = '\0';
	*at = from + 1;
	return true;
}

static int scan_place(struct pp_scan *text, char **at, char first,
		      struct pathprof_recorded_place *place)
{
	const char *p = *at;
	char is = *p;

	*place = (struct pathprof_recorded_place){0};
	if (is < first || is > first + 2 || p[1] != ' ')
		return pp_scan_expected(
			text, p, first == '0' ? "0, 1 or 2 and a blank" : "3, 4 or 5 and a blank");
	p += 2;
	pp_scan_blanks(&p);
	*at += p - *at;
	if (!scan_name(at, &place->symbol))
		return pp_scan_expected(text, p, "a name and a blank");
	p = *at;
	pp_scan_blanks(&p);
	if (!pp_scan_hex(&p, &place->address) || *p != ' ')
		return pp_scan_expected(text, p, "an offset in hex and a blank");
	pp_scan_blanks(&p);
	*at += p - *at;
	place->outside = is == first;
	if (place->outside)
		place->symbol = NULL;
	return 0;
}

static int scan_count(struct pp_scan *text, char **at, uint64_t *ret_count)
{
	const char *p = *at;

	if (!pp_scan_decimal(&p, ret_count) || (*p && *p != ' '))
		return pp_scan_expected(text, *at, "a count");
	pp_scan_blanks(&p);
	*at += p - *at;
	return 0;
}

static int scan_end(struct pp_scan *text, const char *at)
{
	return *at ? pp_scan_expected(text, at, "the end of the line") : 0;
}

static int branch_line(struct pp_scan *text, char *at)
{
	struct pathprof_recorded_count count = {.kind = PATHPROF_RECORDED_BRANCH};
	int r = scan_place(text, &at, '0', &count.from);

	if (r == 0)
		r = scan_place(text, &at, '0', &count.to);
	if (r == 0)
		r = scan_count(text, &at, &count.mispredicted);
	if (r == 0)
		r = scan_count(text, &at, &count.count);
	if (r == 0)
		r = scan_end(text, at);
	return r < 0 ? r : pp_recording_count(text->recording, &count);
}

static int sample_line(struct pp_scan *text, char *at)
{
	struct pathprof_recorded_count count = {.kind = PATHPROF_RECORDED_ADDRESS};
	int r = scan_place(text, &at, '0', &count.from);

	if (r == 0)
		r = scan_count(text, &at, &count.count);
	if (r == 0)
		r = scan_end(text, at);
	return r < 0 ? r : pp_recording_count(text->recording, &count);
}

static int memory_line(struct pp_scan *text, char *at)
{
	struct pathprof_recorded_place place;
	uint64_t count;
	int r = scan_place(text, &at, '3', &place);

	if (r == 0)
		r = scan_place(text, &at, '3', &place);
	if (r == 0)
		r = scan_count(text, &at, &count);
	if (r == 0)
		r = scan_end(text, at);
	if (r == 0)
		text->recording->stats.unknown++;
	return r;
}

/* The name is the symbol's as it is. BOLT gives each function of that name one entry. */
static int symbol_line(struct pp_scan *text, const char *line)
{
	const struct pathprof_recorded_count count = {
		.kind = PATHPROF_RECORDED_BRANCH,
		.from.outside = true,
		.to = {.symbol = line, .every = true},
		.count = 1,
	};

	return *line ? pp_recording_count(text->recording, &count)
		     : pp_scan_expected(text, line, "a symbol's name");
}

static int event_names(struct pp_scan *text, const char *at)
{
	uint32_t event;
	int r = 0;

	for (pp_scan_blanks(&at); *at && r == 0; pp_scan_blanks(&at)) {
		size_t len = strcspn(at, " ");

		r = pp_scan_event_of(text, at, len, &event);
		at += len;
	}
	return r;
}

/* 1: it was one; 0: it is data. */
static int header_line(struct pp_scan *text, struct fdata *fdata, const char *line)
{
	const char *at = line;
	int r;

	if (strcmp(line, "boltedcollection") == 0)
		return 1;
	if (strcmp(line, "symbols") == 0) {
		fdata->symbols = true;
		return 1;
	}
	if (!pp_scan_word(&at, "no_lbr") || (*at && *at != ' '))
		return 0;
	fdata->samples = true;
	r = event_names(text, at);
	return r < 0 ? r : 1;
}

static int fdata_line(struct pp_scan *text, char *line)
{
	struct fdata *fdata = text->state;

	if (fdata->symbols)
		return symbol_line(text, line);
	if (!fdata->in_data) {
		int r = header_line(text, fdata, line);

		if (r != 0)
			return r;
		fdata->in_data = true;
	}
	if (*line >= '3' && *line <= '5')
		return memory_line(text, line);
	return fdata->samples ? sample_line(text, line) : branch_line(text, line);
}

static const struct pp_scan_format fdata_format = {
	.state_bytes = sizeof(struct fdata),
	.line = fdata_line,
};

static int fdata_open(struct pathprof_recording *recording, struct pathprof_error *error)
{
	return pp_scan_recording_open(&fdata_format, recording, error);
}

const struct pp_recording_ops pp_bolt_fdata_ops = {
	.open = fdata_open,
	.read = pp_scan_recording_read,
	.free = pp_scan_recording_free,
	.info = pp_scan_recording_info,
	.event = pp_scan_recording_event,
};
