// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>

#include "pathprof/compress.h"

struct hashing {
	struct pathprof_hash hash;
	unsigned int bits;
	enum lab_tuples tuples;
};

static void print(const struct hashing *h, uint64_t pc, uint64_t word)
{
	printf("%" PRIu64 "\n", pathprof_hash_index(&h->hash, pc, word, h->bits));
}

static void take_line(void *context, const struct lab_input *in)
{
	lab_expect_columns(in, 2, 2, "PC WORD");
	print(context, lab_hex(in, 0, "PC"), lab_hex(in, 1, "WORD"));
}

static void take_stream(void *context, const struct pathprof_trace *trace, uint32_t stream)
{
	lab_tuples_expect(((struct hashing *)context)->tuples, trace);
}

static void take_event(void *context, const struct pathprof_trace_event *event)
{
	const struct hashing *h = context;
	uint64_t pc, word;

	if (lab_tuple_of(h->tuples, event, &pc, &word))
		print(h, pc, word);
}

int lab_hash(int argc, char **argv)
{
	static const struct option options[] = {{"bits", required_argument, NULL, 'b'},
						{"tuples", required_argument, NULL, 'u'},
						{0}};
	struct hashing h = {.bits = 11};
	const struct lab_feed feed = {take_line, take_stream, take_event, &h};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'b')
			h.bits = (unsigned int)lab_option("--bits", optarg, 0, 64);
		else if (c == 'u')
			h.tuples = lab_tuples_option(optarg);
		else
			lab_usage("hash: bad option");
	}
	pathprof_hash_init(&h.hash);
	lab_feed(argv + optind, argc - optind, &feed);
	lab_finish_output();
	return 0;
}
