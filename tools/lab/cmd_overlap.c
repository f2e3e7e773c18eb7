// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include "pathprof/compare.h"

int lab_overlap(int argc, char **argv)
{
	struct pathprof_counts a, b;
	struct pathprof_error error;

	if (argc != 3)
		lab_usage("overlap: two profiles, please");
	if (pathprof_counts_read(&a, argv[1], &error) < 0 ||
	    pathprof_counts_read(&b, argv[2], &error) < 0)
		lab_fail("%s", error.text);
	printf("%.4f\n", 100 * pathprof_overlap(&a, &b));
	pathprof_counts_release(&a);
	pathprof_counts_release(&b);
	lab_finish_output();
	return 0;
}
