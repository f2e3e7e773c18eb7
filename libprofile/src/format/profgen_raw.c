// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * llvm-profgen's unsymbolized profile (--skip-symbolization, --unsymbolized-profile): sections of
 * two blocks, each a line with a number and so many lines: ranges `FROM-TO:COUNT`, then branches
 * `FROM->TO:COUNT`. With call stacks each section begins with its context, `[A @ B]`, and is
 * indented; contexts are passed over, a count is a count whatever called it, but for the build-id
 * that the last frame may have (LLVM 23: `[BUILDID:0xA @ BUILDID:0xB]`), which the counts belong
 * to.
 *
 * Addresses are offsets from the first executable segment (--use-offset, the default) or the ELF
 * file's. The address 1 is llvm-profgen's for "elsewhere"; as an offset it has wrapped around.
 *
 * One deviation: a context ends with its bracket.
 *
 * Source: llvm/tools/llvm-profgen/PerfReader.cpp of LLVM 22.
 */
#include "pp_count_block.h"

#include <string.h>

#define ELSEWHERE 1u

struct raw {
	bool has_branches; /* the block is a section's second one */
	struct pathprof_build_id id;
	struct pp_count_block block;
};

static bool between_sections(const struct raw *raw)
{
	return !raw->block.kind || (raw->has_branches && pp_count_block_is_over(&raw->block));
}

static void begin_block(struct raw *raw)
{
	raw->has_branches = !between_sections(raw);
	raw->block = (struct pp_count_block){.kind = raw->has_branches ? PATHPROF_RECORDED_BRANCH
								       : PATHPROF_RECORDED_RANGE};
}

static bool is_elsewhere(uint64_t address)
{
	return address == ELSEWHERE || address >> 63;
}

static const char *last_frame(const char *line)
{
	const char *frame = line + 1, *at;

	for (at = frame; (at = strstr(at, " @ ")); frame = at)
		at += strlen(" @ ");
	return frame;
}

static int context_line(struct pp_scan *text, struct raw *raw)
{
	const char *at = last_frame(text->line);
	struct pathprof_build_id id;

	if (text->line_len < 2 || text->line[text->line_len - 1] != ']')
		return pp_scan_expected(text, text->line + text->line_len, "]");
	raw->id = (struct pathprof_build_id){0};
	if (pp_scan_build_id(&at, &id) && pp_scan_word(&at, ":0x"))
		raw->id = id;
	raw->has_branches = false;
	raw->block = (struct pp_count_block){.kind = PATHPROF_RECORDED_RANGE};
	return 0;
}

static int raw_line(struct pp_scan *text, char *line)
{
	struct raw *raw = text->state;
	struct pathprof_recorded_count count;
	const char *at = line;
	int r;

	if (*line == '[' && between_sections(raw))
		return context_line(text, raw);
	if (!raw->block.kind || pp_count_block_is_over(&raw->block))
		begin_block(raw);
	while (pp_scan_is_space(*at))
		at++;
	r = pp_count_block_line(text, &raw->block, at, &count);
	if (r <= 0)
		return r;
	count.from.id = count.to.id = raw->id;
	count.from.outside = is_elsewhere(count.from.address);
	count.to.outside = is_elsewhere(count.to.address);
	return pp_recording_count(text->recording, &count);
}

static int raw_end(struct pp_scan *text)
{
	const struct raw *raw = text->state;

	/* A context that nothing follows has begun a block; nothing at all has not. */
	if (between_sections(raw))
		return 0;
	return pp_scan_refuse(text, -EBADMSG, "the file ends before the counts that it announces");
}

static const struct pp_scan_format raw_format = {
	.state_bytes = sizeof(struct raw),
	.cut = PP_SCAN_CUT_TAKEN,
	.line = raw_line,
	.end = raw_end,
};

static int raw_open(struct pathprof_recording *recording, struct pathprof_error *error)
{
	return pp_scan_recording_open(&raw_format, recording, error);
}

const struct pp_recording_ops pp_profgen_raw_ops = {
	.open = raw_open,
	.read = pp_scan_recording_read,
	.free = pp_scan_recording_free,
};
