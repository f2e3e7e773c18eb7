// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>

#include "pathprof/compress.h"

static void parse_options(int argc, char **argv, struct pathprof_compress_options *options)
{
	static const struct option long_options[] = {
		{"seed", required_argument, NULL, 's'},     {"evict", required_argument, NULL, 'e'},
		{"replace", required_argument, NULL, 'r'},  {"ways", required_argument, NULL, 'w'},
		{"tag-bits", required_argument, NULL, 't'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 's':
			options->seed = lab_option("--seed", optarg, 1, UINT64_MAX);
			break;
		case 'e':
			options->evict = (uint32_t)lab_option("--evict", optarg, 1, UINT32_MAX);
			break;
		case 'r':
			options->replace = (uint32_t)lab_option("--replace", optarg, 1, UINT16_MAX);
			break;
		case 'w':
			options->ways = (uint32_t)lab_option("--ways", optarg, 1, 8);
			break;
		case 't':
			options->tag_bits = (uint32_t)lab_option("--tag-bits", optarg, 1, 8);
			break;
		default:
			lab_usage("compress: bad option");
		}
	}
}

static void print(const struct pathprof_message *m)
{
	printf("0x%" PRIx64 " 0x%" PRIx64 " %" PRIu64 "\n", m->pc, m->word, m->count);
}

int lab_compress(int argc, char **argv)
{
	struct pathprof_compress_options options = {0};
	struct pathprof_compressor *compressor;
	struct pathprof_message message;
	struct pathprof_error error;
	uint64_t tuples = 0, messages = 0;
	struct lab_input in;

	parse_options(argc, argv, &options);
	if (optind >= argc)
		lab_usage("compress: no compressor named");
	if (pathprof_compressor_new(&compressor, argv[optind], &options, &error) < 0)
		lab_usage("%s", error.text);
	lab_input_init(&in, argv + optind + 1, argc - optind - 1);
	while (lab_input_next(&in)) {
		lab_expect_columns(&in, 2, 2, "PC WORD");
		tuples++;
		if (!pathprof_compressor_step(compressor, lab_hex(&in, 0, "PC"),
					      lab_hex(&in, 1, "WORD"), &message))
			continue;
		messages++;
		print(&message);
	}
	while (pathprof_compressor_flush(compressor, &message)) {
		messages++;
		print(&message);
	}
	lab_input_release(&in);
	pathprof_compressor_free(compressor);
	lab_finish_output();
	fprintf(stderr, "# tuples %" PRIu64 " messages %" PRIu64 "\n", tuples, messages);
	return 0;
}
