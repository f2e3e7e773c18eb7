// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * AutoFDO's text (`create_llvm_prof --profiler=text`): three blocks, each a line with a number and
 * so many lines: ranges `FROM-TO:COUNT`, samples `ADDRESS:COUNT`, branches `FROM->TO:COUNT`.
 * Behind them its writer may put a text of its own, which AutoFDO does not look at; here lines that
 * begin with # are passed over, and others are refused: they may be entries too many for a block.
 *
 * Another deviation: AutoFDO reads with scanf() and so takes several entries a line; here an entry
 * is a line.
 *
 * Source: TextSampleReaderWriter in sample_reader.cc of AutoFDO 0.30.
 */
#include "pp_count_block.h"

static const enum pathprof_recorded_count_kind kinds[] = {
	PATHPROF_RECORDED_RANGE,
	PATHPROF_RECORDED_ADDRESS,
	PATHPROF_RECORDED_BRANCH,
};
#define BLOCKS (sizeof(kinds) / sizeof(kinds[0]))

struct autofdo {
	unsigned int block_cnt; /* begun */
	struct pp_count_block block;
};

static bool is_over(const struct autofdo *autofdo)
{
	return autofdo->block_cnt == BLOCKS && pp_count_block_is_over(&autofdo->block);
}

static int remark_line(struct pp_scan *text, const char *line)
{
	if (*line != '#')
		return pp_scan_expected(text, line, "the end of the file or a # remark");
	text->recording->stats.unknown++;
	return 0;
}

static int autofdo_line(struct pp_scan *text, char *line)
{
	struct autofdo *autofdo = text->state;
	struct pathprof_recorded_count count;
	int r;

	if (is_over(autofdo))
		return remark_line(text, line);
	if (autofdo->block_cnt == 0 || pp_count_block_is_over(&autofdo->block))
		autofdo->block = (struct pp_count_block){.kind = kinds[autofdo->block_cnt++],
							 .prefixed = true};
	r = pp_count_block_line(text, &autofdo->block, line, &count);
	return r <= 0 ? r : pp_recording_count(text->recording, &count);
}

static int autofdo_end(struct pp_scan *text)
{
	if (is_over(text->state))
		return 0;
	return pp_scan_refuse(text, -EBADMSG, "the file ends before the counts that it announces");
}

static const struct pp_scan_format autofdo_format = {
	.state_bytes = sizeof(struct autofdo),
	.cut = PP_SCAN_CUT_TAKEN,
	.line = autofdo_line,
	.end = autofdo_end,
};

static int autofdo_open(struct pathprof_recording *recording, struct pathprof_error *error)
{
	return pp_scan_recording_open(&autofdo_format, recording, error);
}

const struct pp_recording_ops pp_autofdo_text_ops = {
	.open = autofdo_open,
	.read = pp_scan_recording_read,
	.free = pp_scan_recording_free,
};
