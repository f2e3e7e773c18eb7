// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch stacks of a program, out of its truth: windows of taken branches as hardware would have
 * recorded them, evenly over the run but not in its order, in the form that the test PMU hands out
 * (testpmu.h).
 *
 *     vmcut TRUTH ENTRIES WINDOWS > FILE
 *
 * Workload: 10^5 branches. Exit status 0: so many were written.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "pathprof/abi.h"
#include "pathprof/kmod_abi.h"

#define TAKEN_MAX (1u << 22)
#define SPREAD    1597 /* a prime: the first few windows are from all over the run, too */

/* One entry a taken branch, in the order they ran. The number of them. */
static uint64_t load(const char *path, struct pathprof_lbr_entry *entries)
{
	struct pathprof_branch b;
	FILE *file = fopen(path, "rb");
	uint64_t cnt = 0;

	while (file && cnt < TAKEN_MAX && fread(&b, sizeof(b), 1, file) == 1)
		if (b.taken)
			entries[cnt++] = (struct pathprof_lbr_entry){
				.from = b.from | UINT64_C(1) << 48,
				.to = b.next | (uint64_t)b.kind << 48 | PATHPROF_LBR_PREDICTED,
			};
	if (file)
		fclose(file);
	return cnt;
}

int main(int argc, char **argv)
{
	static struct pathprof_lbr_entry entries[TAKEN_MAX];
	uint64_t cnt = argc == 4 ? load(argv[1], entries) : 0;
	uint64_t depth = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t windows = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

	if (!windows || !depth || cnt <= depth) {
		fprintf(stderr, "usage: vmcut TRUTH ENTRIES WINDOWS > FILE\n");
		return 1;
	}
	for (uint64_t i = 0; i < windows; i++)
		if (fwrite(&entries[(cnt - depth) * (i * SPREAD % windows) / windows],
			   sizeof(*entries), depth, stdout) != depth)
			return 1;
	return fflush(stdout) ? 1 : 0;
}
