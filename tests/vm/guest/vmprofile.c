// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds what the service stored of a program against the program's truth: every edge must be a
 * transfer that it makes, every path one that it takes, and both must weigh about what they do
 * there.
 *
 *     vmprofile [-cw] [-o OVERLAP] [-p OVERLAP] LONG SHORT BASE EDGES PATHS
 *
 * LONG and SHORT as tests/truth/truth.c writes them, of a program that does the same over and over:
 * what LONG has more is what it does once it has started. BASE what file offsets lack to addresses;
 * EDGES lines `FROM TO COUNT`, PATHS lines `START OUTCOMES WEIGHT` (outcomes as letters T and N,
 * `-` for none). -o and -p say what edges and paths must have in common with the truth; -c
 * falsifies one line in ten first; then exactly those must be found. Exit status 0: as it should
 * be, 1: not, 125: trouble.
 *
 * Workload: 10^5 branches, some hundred edges and paths. The path stack is the core's: what is
 * tested here lies between the core and the database.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../libprofile/core/pp_path_stack.h"
#include "pathprof/abi.h"

#define EXIT_TROUBLE  125
#define SLOT_CNT      (1u << 16)
#define FALSIFY_EVERY 10
#define ELSEWHERE     0x10000000u /* no code there */
#define HOTTEST_LEAST 0.5         /* of its share */
#define OVERLAP_LEAST 0.6         /* programs spend time where they branch, but not in proportion */

struct options {
	bool falsify, wpp;
	double edges, paths; /* overlaps, at least */
};

/* An edge (from, to) or a path (start, desc), and how often it comes. */
struct key {
	uint64_t a, b;
	bool is_true; /* somewhere in the truth */
	double truth, stored;
};

struct table {
	struct key slots[SLOT_CNT]; /* not true and stored 0: free */
	double truth, stored;
	uint64_t wrong, falsified, lines;
};

static struct key *find(struct table *table, uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
	struct key *key;

	for (uint32_t i = (uint32_t)(hash >> 48);; i++) {
		key = &table->slots[i % SLOT_CNT];
		if ((key->a == a && key->b == b) || (!key->is_true && key->stored == 0))
			break;
	}
	key->a = a;
	key->b = b;
	return key;
}

static void add_truth(struct table *table, uint64_t a, uint64_t b, int sign)
{
	struct key *key = find(table, a, b);

	key->is_true = true;
	key->truth += sign;
	table->truth += sign;
}

static void add_stored(struct table *table, uint64_t a, uint64_t b, double weight)
{
	struct key *key = find(table, a, b);

	table->lines++;
	table->wrong += !key->is_true;
	key->stored += weight;
	table->stored += weight;
}

/* ---------------------------------------------------------------- the truth */

static int load(const char *path, int sign, bool wpp, struct table *edges, struct table *paths)
{
	struct pp_path_stack stack = {.depth = 0};
	struct pp_path_config config;
	struct pathprof_branch b;
	struct pp_path popped;
	FILE *file = fopen(path, "rb");

	if (!file)
		return -1;
	if (wpp)
		pp_path_config_wpp(&config);
	else
		pp_path_config_bl(&config);
	while (fread(&b, sizeof(b), 1, file) == 1) {
		struct pp_branch branch = {
			.from = b.from,
			.target = b.target,
			.next = b.next,
			.info = PP_BRANCH_INFO(b.kind, b.taken),
			.events = 1,
		};

		if (b.taken)
			add_truth(edges, b.from, b.next, sign);
		if (pp_path_stack_step(&stack, &config, &branch, &popped))
			add_truth(paths, popped.start, popped.desc, sign);
	}
	fclose(file);
	return edges->truth > 0 && paths->truth > 0 ? 0 : -1;
}

/* ---------------------------------------------------------------- what was stored */

static int read_edges(const char *path, uint64_t base, bool falsify, struct table *edges)
{
	unsigned long long from, to, cnt;
	FILE *file = fopen(path, "r");

	if (!file)
		return -1;
	while (fscanf(file, "%llx %llx %llu", &from, &to, &cnt) == 3) {
		bool false_one = falsify && edges->lines % FALSIFY_EVERY == 0;

		edges->falsified += false_one;
		add_stored(edges, base + from, base + to + (false_one ? ELSEWHERE : 0),
			   (double)cnt);
	}
	fclose(file);
	return edges->lines ? 0 : -1;
}

/* Outcomes as letters to length and bits. */
static uint64_t desc_of(const char *letters)
{
	uint64_t desc = 0;

	if (!strcmp(letters, "-"))
		return 0;
	for (uint32_t i = 0; i < 32 && letters[i]; i++)
		desc = (desc | (uint64_t)(letters[i] == 'T') << i) + (UINT64_C(1) << 32);
	return desc;
}

static int read_paths(const char *path, uint64_t base, bool falsify, struct table *paths)
{
	unsigned long long start;
	char letters[64];
	double weight;
	FILE *file = fopen(path, "r");

	if (!file)
		return -1;
	while (fscanf(file, "%llx %63s %lf", &start, letters, &weight) == 3) {
		bool false_one = falsify && paths->lines % FALSIFY_EVERY == 0;

		paths->falsified += false_one;
		add_stored(paths, base + start + (false_one ? ELSEWHERE : 0), desc_of(letters),
			   weight);
	}
	fclose(file);
	return paths->lines ? 0 : -1;
}

/* ---------------------------------------------------------------- judging */

static double overlap(const struct table *table)
{
	double sum = 0;

	for (uint32_t i = 0; i < SLOT_CNT; i++) {
		double truth = table->slots[i].truth / table->truth;
		double stored = table->slots[i].stored / table->stored;

		sum += truth < stored ? truth : stored;
	}
	return sum;
}

/* The share that the truth's heaviest has in what was stored, as part of its own. */
static double hottest(const struct table *table)
{
	const struct key *most = &table->slots[0];

	for (uint32_t i = 1; i < SLOT_CNT; i++)
		if (table->slots[i].truth > most->truth)
			most = &table->slots[i];
	return most->stored / table->stored / (most->truth / table->truth);
}

static bool judge(const char *name, const struct table *table, const struct options *options,
		  double least)
{
	bool good =
		table->wrong == table->falsified &&
		(options->falsify || (overlap(table) >= least && hottest(table) >= HOTTEST_LEAST));

	printf("%s%s: stored %llu wrong %llu falsified %llu overlap %.3f hottest %.2f of its share",
	       good ? "" : "BAD ", name, (unsigned long long)table->lines,
	       (unsigned long long)table->wrong, (unsigned long long)table->falsified,
	       overlap(table), hottest(table));
	return good;
}

static int parse(int argc, char **argv, struct options *ret_options)
{
	struct options options = {.edges = OVERLAP_LEAST, .paths = OVERLAP_LEAST};
	int letter;

	while ((letter = getopt(argc, argv, "cwo:p:")) != -1) {
		options.falsify |= letter == 'c';
		options.wpp |= letter == 'w';
		if (letter == 'o')
			options.edges = strtod(optarg, NULL);
		else if (letter == 'p')
			options.paths = strtod(optarg, NULL);
		else if (letter == '?')
			return -1;
	}
	if (argc - optind != 5)
		return -1;
	*ret_options = options;
	return 0;
}

static int read_all(char **files, const struct options *options, struct table *edges,
		    struct table *paths)
{
	uint64_t base = strtoull(files[2], NULL, 16);

	if (load(files[0], 1, options->wpp, edges, paths) ||
	    (strcmp(files[1], "-") != 0 && load(files[1], -1, options->wpp, edges, paths)))
		return -1;
	return read_edges(files[3], base, options->falsify, edges) ||
	       read_paths(files[4], base, options->falsify, paths);
}

int main(int argc, char **argv)
{
	static struct table edges, paths;
	struct options options;
	bool good;

	if (parse(argc, argv, &options)) {
		fprintf(stderr,
			"usage: vmprofile [-cw] [-o N] [-p N] LONG SHORT BASE EDGES PATHS\n");
		return EXIT_TROUBLE;
	}
	if (read_all(argv + optind, &options, &edges, &paths)) {
		fprintf(stderr, "vmprofile: nothing to read in one of the files\n");
		return EXIT_TROUBLE;
	}
	good = judge("edges", &edges, &options, options.edges);
	printf("; ");
	good = judge("paths", &paths, &options, options.paths) && good;
	printf("\n");
	return !good;
}
