// SPDX-License-Identifier: GPL-2.0-or-later
/* struct perf_sample_data says which of its fields are filled (6.1 and later). */
#include <linux/perf_event.h>

u64 probe(const struct perf_sample_data *data);
u64 probe(const struct perf_sample_data *data)
{
	return data->sample_flags & PERF_SAMPLE_BRANCH_STACK;
}
