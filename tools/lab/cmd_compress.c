// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>

#include "pathprof/compress.h"

struct compressing {
	struct pathprof_compressor *compressor;
	enum lab_tuples tuples;
	uint64_t tuple_cnt, message_cnt;
};

static void parse_options(int argc, char **argv, struct pathprof_compress_options *options,
			  enum lab_tuples *tuples)
{
	static const struct option long_options[] = {{"seed", required_argument, NULL, 's'},
						     {"evict", required_argument, NULL, 'e'},
						     {"replace", required_argument, NULL, 'r'},
						     {"ways", required_argument, NULL, 'w'},
						     {"tag-bits", required_argument, NULL, 't'},
						     {"tuples", required_argument, NULL, 'u'},
						     {0}};
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
		case 'u':
			*tuples = lab_tuples_option(optarg);
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

static void take_tuple(struct compressing *c, uint64_t pc, uint64_t word)
{
	struct pathprof_message message;

	c->tuple_cnt++;
	if (!pathprof_compressor_step(c->compressor, pc, word, &message))
		return;
	c->message_cnt++;
	print(&message);
}

static void take_line(void *context, const struct lab_input *in)
{
	lab_expect_columns(in, 2, 2, "PC WORD");
	take_tuple(context, lab_hex(in, 0, "PC"), lab_hex(in, 1, "WORD"));
}

static void take_stream(void *context, const struct pathprof_trace *trace, uint32_t stream)
{
	lab_tuples_expect(((struct compressing *)context)->tuples, trace);
}

static void take_event(void *context, const struct pathprof_trace_event *event)
{
	struct compressing *c = context;
	uint64_t pc, word;

	if (lab_tuple_of(c->tuples, event, &pc, &word))
		take_tuple(c, pc, word);
}

int lab_compress(int argc, char **argv)
{
	struct pathprof_compress_options options = {0};
	struct compressing c = {0};
	const struct lab_feed feed = {take_line, take_stream, take_event, &c};
	struct pathprof_message message;
	struct pathprof_error error;

	parse_options(argc, argv, &options, &c.tuples);
	if (optind >= argc)
		lab_usage("compress: no compressor named");
	if (pathprof_compressor_new(&c.compressor, argv[optind], &options, &error) < 0)
		lab_usage("%s", error.text);
	lab_feed(argv + optind + 1, argc - optind - 1, &feed);
	while (pathprof_compressor_flush(c.compressor, &message)) {
		c.message_cnt++;
		print(&message);
	}
	pathprof_compressor_free(c.compressor);
	lab_finish_output();
	fprintf(stderr, "# tuples %" PRIu64 " messages %" PRIu64 "\n", c.tuple_cnt, c.message_cnt);
	return 0;
}
