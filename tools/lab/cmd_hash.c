// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>

#include "pathprof/compress.h"

int lab_hash(int argc, char **argv)
{
	static const struct option options[] = {{"bits", required_argument, NULL, 'b'}, {0}};
	unsigned int bits = 11;
	struct pathprof_hash hash;
	struct lab_input in;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'b')
			lab_usage("hash: bad option");
		bits = (unsigned int)lab_option("--bits", optarg, 0, 64);
	}
	pathprof_hash_init(&hash);
	lab_input_init(&in, argv + optind, argc - optind);
	while (lab_input_next(&in)) {
		lab_expect_columns(&in, 2, 2, "PC WORD");
		printf("%" PRIu64 "\n", pathprof_hash_index(&hash, lab_hex(&in, 0, "PC"),
							    lab_hex(&in, 1, "WORD"), bits));
	}
	lab_input_release(&in);
	lab_finish_output();
	return 0;
}
