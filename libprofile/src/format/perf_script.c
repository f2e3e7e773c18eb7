// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * `perf script`'s text, and the cut of it that llvm-profgen calls perfscript.
 *
 * A sample is one line, columns and then branches; or, where call stacks were recorded, several:
 * columns, a line for each frame, a line of branches, an empty line. Of the frames the first is
 * taken, as the sample's address. llvm-profgen's has no columns but pid and address, may have the
 * number of times that a sample was seen on a line before it, and lines of remarks that begin with
 * # or ; .
 *
 * Branches by symbol (brstacksym) are -EPROTO: where they lie cannot be told again.
 *
 * Workload: gigabytes; a sample of 32 branches is 1 to 2 kB.
 *
 * Source: tools/perf/builtin-script.c; llvm/tools/llvm-profgen/PerfReader.cpp of LLVM 22.
 */
#include "pp_script.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- handing on */

static bool is_user(uint64_t address)
{
	return !(address >> 63);
}

static int emit(struct pp_scan *text, uint32_t branch_cnt)
{
	struct pp_script *script = text->state;
	struct pathprof_recorded_sample *sample = &script->sample;

	sample->branch_cnt = branch_cnt;
	sample->branches = script->branches;
	sample->repeats = script->repeats;
	sample->user = is_user(sample->ip || !branch_cnt ? sample->ip : script->branches[0].to);
	script->pending = false;
	script->repeats = 0;
	script->counted = false;
	return pp_recording_sample(text->recording, sample);
}

/* The sample begun has no branches. */
static int flush(struct pp_scan *text)
{
	struct pp_script *script = text->state;

	return script->pending ? emit(text, 0) : 0;
}

static void begin(struct pp_script *script, const struct pp_script_columns *columns, uint32_t event)
{
	script->pending = true;
	script->sample = (struct pathprof_recorded_sample){
		.time_ns = columns->time_ns,
		.ip = columns->ip,
		.pid = columns->pid,
		.tid = columns->tid,
		.cpu = columns->cpu,
		.event = event,
		.period = columns->period,
		.hw_idx = -1,
	};
}

/* ---------------------------------------------------------------- lines */

static bool is_flags(const char *at)
{
	return (at[0] == 'P' || at[0] == 'M' || at[0] == '-') && at[1] == '/' &&
	       (at[2] == 'X' || at[2] == '-') && at[3] == '/' && (at[4] == 'A' || at[4] == '-');
}

/* A word SYMBOL+0xN/SYMBOL+0xN/P/-/- or [unknown]/... */
static bool has_symbol_branch(const char *line)
{
	const char *at = line, *word = line;
	char first = 0; /* of + and / in the word */

	for (; *at; at++) {
		if (pp_scan_is_space(*at)) {
			word = at + 1;
			first = 0;
		} else if (!first && (*at == '+' || *at == '/')) {
			first = *at;
		}
		if (*at == '/' && is_flags(at + 1) && (*word == '[' || first == '+'))
			return true;
	}
	return false;
}

static int no_sample(struct pp_scan *text, const char *bad, const char *branch_bad)
{
	if (!branch_bad && has_symbol_branch(text->line))
		return pp_scan_refuse(text, -EPROTO,
				      "branches by symbol are not read: have perf script write "
				      "-F comm,pid,tid,time,event,ip,brstack");
	if (branch_bad)
		return pp_scan_expected(text, branch_bad, "a branch 0xFROM/0xTO/P/-/-/CYCLES");
	return pp_scan_expected(text, bad,
				"columns of -F comm,pid,tid,cpu,time,period,event,ip,brstack");
}

static void skip_space(const char **at)
{
	while (pp_scan_is_space(**at))
		++*at;
}

/* A frame: blanks, an address, and what perf says of it. */
static bool scan_frame(const char *line, bool bare, uint64_t *ret_address)
{
	const char *at = line;

	skip_space(&at);
	return at > line && pp_scan_hex(&at, ret_address) &&
	       (*at == '\0' || (!bare && pp_scan_is_space(*at)));
}

/* A line of a sample begun: a frame or the branches. 0: neither. */
static int more_of_sample(struct pp_scan *text, const char *line, const char *stack,
			  uint32_t branch_cnt)
{
	struct pp_script *script = text->state;
	uint64_t address;
	int r;

	if (branch_cnt && strspn(line, " \t") == (size_t)(stack - line)) {
		r = emit(text, branch_cnt);
		return r < 0 ? r : 1;
	}
	if (branch_cnt || !scan_frame(line, script->bare, &address))
		return 0;
	if (!script->sample.ip)
		script->sample.ip = address;
	return 1;
}

/* A line with columns. */
static int sample_line(struct pp_scan *text, const struct pp_script_columns *columns,
		       const char *branch_bad, uint32_t branch_cnt)
{
	struct pp_script *script = text->state;
	uint32_t event = 0;
	int r;

	/* In the names of the process and the event anything may stand. */
	if (branch_bad && branch_bad < columns->right)
		branch_bad = NULL;
	if (columns->bad || branch_bad || (!branch_cnt && has_symbol_branch(columns->right)))
		return no_sample(text, columns->bad, branch_bad);
	/* A name alone may be anything. */
	if (!columns->anchored && !columns->has_event && !columns->has_ip &&
	    columns->pid == UINT32_MAX && !branch_cnt)
		return no_sample(text, text->line, NULL);
	if (columns->has_event) {
		r = pp_scan_event_of(text, columns->event, columns->event_len, &event);
		if (r < 0)
			return r;
	}
	begin(script, columns, event);
	/* Lines of a stack can follow an anchored line only, as that cannot be one of them. */
	return branch_cnt || columns->has_ip || !columns->anchored ? emit(text, branch_cnt) : 0;
}

/* A word of hex digits, and the blanks behind it. */
static bool scan_hex_word(const char **at, uint64_t *ret_value)
{
	const char *p = *at;
	uint64_t value;

	if (!pp_scan_hex(&p, &value) || (*p && !pp_scan_is_space(*p)))
		return false;
	skip_space(&p);
	*at = p;
	*ret_value = value;
	return true;
}

/* [[PID] ADDRESS] */
static void scan_bare_columns(const char **at, struct pp_script_columns *columns)
{
	const char *p;

	*columns = (struct pp_script_columns){
		.pid = UINT32_MAX, .tid = UINT32_MAX, .cpu = UINT32_MAX, .period = 1};
	skip_space(at);
	p = *at;
	if (!scan_hex_word(at, &columns->ip) || !scan_hex_word(at, &columns->ip))
		return;
	if (pp_script_pid(&p, &columns->pid) && pp_scan_is_space(*p))
		columns->tid = columns->pid;
	else
		*at = p;
}

/* Branches whose addresses have "BUILDID:" before them. */
static bool has_build_id_branch(const char *line)
{
	const char *at = strstr(line, ":0x");

	return at && strstr(at + 1, "/") && strstr(at + 1, ":0x");
}

static int no_bare_sample(struct pp_scan *text, const char *bad, const char *branch_bad)
{
	if (!branch_bad && has_symbol_branch(text->line))
		return no_sample(text, bad, NULL);
	if (has_build_id_branch(text->line))
		return pp_scan_refuse(text, -EPROTO, "addresses by build-id are not read");
	return pp_scan_expected(
		text, branch_bad ? branch_bad : bad,
		"branches 0xFROM/0xTO/P/-/-/CYCLES, after pid and address at most,");
}

/* llvm-profgen's: pid and address at most before the branches, or the first frame. */
static int bare_line(struct pp_scan *text, const char *line, const char *stack,
		     const char *branch_bad, uint32_t branch_cnt)
{
	struct pp_script_columns columns;
	const char *at = line;

	scan_bare_columns(&at, &columns);
	/* An address alone is a frame, and frames are indented. */
	if (branch_bad || at != stack || (!branch_cnt && !pp_scan_is_space(*line)))
		return no_bare_sample(text, at, branch_bad);
	begin(text->state, &columns, 0);
	return branch_cnt ? emit(text, branch_cnt) : 0;
}

static int content_line(struct pp_scan *text, char *line)
{
	struct pp_script *script = text->state;
	struct pp_script_columns columns;
	const char *stack, *bad;
	uint32_t branch_cnt;
	char *record;
	int r = pp_script_stack(text, line, &branch_cnt, &stack, &bad);

	if (r < 0)
		return r;
	record = pp_script_find_record(line, stack, branch_cnt > 0);
	if (record) {
		r = flush(text);
		return r < 0 ? r : pp_script_record(text, line, record);
	}
	if (!script->bare)
		pp_script_columns(line, stack, &columns);
	if (script->pending && (script->bare || *line == '\t' || !columns.anchored)) {
		r = bad && *line != '\t' ? 0 : more_of_sample(text, line, stack, branch_cnt);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	r = flush(text);
	if (r < 0)
		return r;
	return script->bare ? bare_line(text, line, stack, bad, branch_cnt)
			    : sample_line(text, &columns, bad, branch_cnt);
}

/* ---------------------------------------------------------------- what is around them */

static int set_info(struct pp_scan *text, char **info, const char *value)
{
	if (*info)
		return 0;
	*info = strdup(value);
	return *info ? 0 : pp_recording_no_memory(text->error);
}

/* "# hostname : x" and the like, of --header. */
static int comment_line(struct pp_scan *text, const char *line)
{
	const struct {
		const char *name;
		char **value;
	} known[] = {
		{"# hostname : ", &text->hostname}, {"# os release : ", &text->release},
		{"# arch : ", &text->arch},         {"# cpudesc : ", &text->cpu},
		{"# cmdline : ", &text->command},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *at = line;

		if (pp_scan_word(&at, known[i].name))
			return set_info(text, known[i].value, at);
	}
	return 0;
}

static bool is_comment(const struct pp_script *script, const char *line)
{
	if (script->bare)
		return *line == '#' || *line == ';';
	return *line == '#' && !script->begun;
}

/* llvm-profgen's: digits alone. */
static bool is_repeats(const char *line, uint64_t *ret_cnt)
{
	return pp_scan_decimal(&line, ret_cnt) && *line == '\0';
}

static int repeats_line(struct pp_scan *text, uint64_t cnt)
{
	struct pp_script *script = text->state;
	int r = flush(text);

	if (r < 0)
		return r;
	if (script->counted)
		return pp_scan_expected(text, text->line, "a sample after its number");
	if (cnt == 0 || cnt > PATHPROF_RECORDED_REPEATS_MAX)
		return pp_scan_expected(text, text->line, "a number of samples, 1 to 2^40,");
	script->counted = true;
	script->repeats = cnt - 1;
	return 0;
}

static int script_line(struct pp_scan *text, char *line)
{
	struct pp_script *script = text->state;
	uint64_t cnt;

	if (is_comment(script, line))
		return comment_line(text, line);
	if (line[strspn(line, " \t")] == '\0')
		return flush(text);
	script->begun = true;
	if (script->in_list && line[0] == '\t' && line[1] == '\t')
		return 0;
	script->in_list = false;
	if (script->bare && is_repeats(line, &cnt))
		return repeats_line(text, cnt);
	return content_line(text, line);
}

static const struct pp_scan_format script_format = {
	.state_bytes = sizeof(struct pp_script),
	.cut = PP_SCAN_CUT_LEFT,
	.line = script_line,
	.end = flush,
};

static int script_open(struct pathprof_recording *recording, struct pathprof_error *error)
{
	return pp_scan_recording_open(&script_format, recording, error);
}

static int perfscript_open(struct pathprof_recording *recording, struct pathprof_error *error)
{
	int r = script_open(recording, error);

	if (r == 0) {
		struct pp_scan *text = recording->reader;

		((struct pp_script *)text->state)->bare = true;
	}
	return r;
}

const struct pp_recording_ops pp_perf_script_ops = {
	.open = script_open,
	.read = pp_scan_recording_read,
	.free = pp_scan_recording_free,
	.info = pp_scan_recording_info,
	.event = pp_scan_recording_event,
};

const struct pp_recording_ops pp_profgen_perfscript_ops = {
	.open = perfscript_open,
	.read = pp_scan_recording_read,
	.free = pp_scan_recording_free,
	.info = pp_scan_recording_info,
};
