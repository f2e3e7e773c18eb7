// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The ledger of a recording's branches: see pathprof/ledger.h. */
#include "pathprof/ledger.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/plural.h"

#define MILLION UINT64_C(1000000)

struct reason {
	const char *name;
	bool is_loss;
};

static const struct reason reasons[] = {
#define REASON(name, text, is_loss) {text, is_loss},
	PATHPROF_LEDGER_REASONS(REASON)
#undef REASON
};

const char *pathprof_ledger_name(enum pathprof_ledger_reason reason)
{
	return (unsigned int)reason < PATHPROF_LEDGER_CNT ? reasons[reason].name : "unknown";
}

static double share_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

uint64_t pathprof_ledger_loss_ppm(const struct pathprof_ledger *ledger)
{
	double lost = 0;

	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		lost += reasons[i].is_loss ? (double)ledger->left[i] : 0;
	return lost > 0 ? (uint64_t)(lost / (lost + (double)ledger->used) * (double)MILLION) : 0;
}

const char *pathprof_ledger_text(const struct pathprof_ledger *ledger, char *text)
{
	char *at = text, *end = text + PATHPROF_LEDGER_TEXT_LEN;

	at += snprintf(at, (size_t)(end - at), "%" PRIu64 " %s read, %" PRIu64 " used (%.1f %%)",
		       ledger->branches, pp_plural(ledger->branches, "branch", "branches"),
		       ledger->used, 100 * share_of(ledger->used, ledger->branches));
	for (int i = 0, said = 0; i < PATHPROF_LEDGER_CNT; i++) {
		if (!ledger->left[i])
			continue;
		at += snprintf(at, (size_t)(end - at), "%s %" PRIu64 " %s (%.1f %%)",
			       said++ ? "," : "; left out:", ledger->left[i], reasons[i].name,
			       100 * share_of(ledger->left[i], ledger->branches));
	}
	return text;
}
