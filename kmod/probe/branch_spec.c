// SPDX-License-Identifier: GPL-2.0-or-later
/* Branch entries say whether speculation went the wrong way there (6.1 and later). */
#include <linux/perf_event.h>

int probe(const struct perf_branch_entry *entry);
int probe(const struct perf_branch_entry *entry)
{
	return entry->spec == PERF_BR_SPEC_WRONG_PATH;
}
