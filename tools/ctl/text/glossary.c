// SPDX-License-Identifier: GPL-2.0-or-later
/* The words and their verbs: see glossary.h. */
#include "glossary.h"

#include <stdbool.h>
#include <string.h>

#include "../ctl.h"

#define ROWS     " top paths binaries processes show "
#define MOVED    " compare drift alerts "
#define SAMPLED  ROWS " compare windows "
#define RECORDED " values "

/* Each verb stands between blanks. */
static const struct word {
	const char *verbs, *word, *meaning;
} words[] = {
	{ROWS, "TIME", "share of the CPU time, from the samples of a clock"},
	{ROWS, "RUNS", "share of all executions of paths, however long one takes"},
	{ROWS, "+/-", "half of the 95 % interval around the first figure"},
	{ROWS, "SAMPLES", "paths that were seen whole; many of them come out of one burst"},
	{ROWS, "OUTCOMES", "the conditional branches of a path in order: T taken, N not taken"},
	{SAMPLED, "burst", "a stretch of instructions in which a thread was followed"},
	{SAMPLED, "horizon", "how many instructions a burst covers; longer paths are never whole"},
	{SAMPLED, "weight", "the CPU time or the branches that a burst or a path stands for"},
	{" windows ", "HELD", "time that threads were stopped, of one CPU's time in the window"},
	{" windows ", "DROPS", "samples that were left out, by reason"},
	{MOVED, "KL, D(B||A)", "relative entropy: bits that A as a guess of B wastes an event"},
	{MOVED, "by chance", "what of that two recordings of the same behaviour would show"},
	{MOVED, "corrected", "D less what chance makes: this is what an alert looks at"},
	{MOVED, "overlap", "weight that both have in common: 100 % is the same distribution"},
	{MOVED, "angle", "between the two as vectors: 0 degrees the same, 90 nothing common"},
	{MOVED, "coverage", "how much of what B did A had seen at all"},
	{MOVED, "conflict", "branches that mostly go one way in A and the other way in B"},
	{MOVED, "entropy", "bits an event: how evenly a profile spreads over its paths"},
	{RECORDED, "EXECUTIONS", "how often the function was entered; exact"},
	{RECORDED, "INV-1", "share of the most frequent value among the executions looked at"},
	{RECORDED, "INV-N", "the same of all values in the table (16)"},
	{RECORDED, "LVP", "executions with the value of the execution before; exact"},
};
#define WORD_CNT (sizeof(words) / sizeof(words[0]))

static bool is_of(const struct word *word, const char *verb)
{
	const char *at = word->verbs;
	size_t len = strlen(verb);

	for (; (at = strstr(at, verb)); at += len)
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
	return false;
}

void glossary_print(FILE *out, const char *verb)
{
	bool any = false;

	for (size_t i = 0; i < WORD_CNT; i++) {
		if (!is_of(&words[i], verb))
			continue;
		fprintf(out, "%s%-12s %s\n", any ? "" : "\n", words[i].word, words[i].meaning);
		any = true;
	}
}
