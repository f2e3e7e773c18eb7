// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds bursts against the truth: each must appear in it verbatim and without a gap, and its start
 * must lie on the straight line before its first branch.
 *
 *     check [-c] TRUTH BURSTS
 *
 * -c first falsifies one field of one branch in every tenth burst that has a branch; then exactly
 * those must be found. Exit status 0: as it should be, 1: not, 125: trouble. Prints
 * `bursts N branches N empty N wrong N falsified N`.
 *
 * Workload: ten thousand bursts against some hundred thousand branches; the truth's places are
 * chained by the hash of a branch.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/abi.h"

#define CHAIN_CNT     (1u << 16)
#define NONE          UINT32_MAX
#define EXIT_TROUBLE  125
#define FALSIFY_EVERY 10
#define SHOWN_CNT     8 /* branches of a wrong burst that are printed */

struct truth {
	struct pathprof_branch *branches;
	uint32_t cnt;
	uint32_t first[CHAIN_CNT];
	uint32_t *next; /* place with the same hash */
};

struct figures {
	unsigned long long bursts, branches, empty, wrong, falsified, missed;
};

static uint32_t chain_of(const struct pathprof_branch *branch)
{
	return (uint32_t)((branch->from * 0x9e3779b97f4a7c15ull ^ branch->next) *
				  0xff51afd7ed558ccdull >>
			  48);
}

static void *read_all(const char *path, size_t *ret_len_bytes)
{
	FILE *file = fopen(path, "rb");
	long len_bytes;
	void *data;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	len_bytes = ftell(file);
	rewind(file);
	data = len_bytes >= 0 ? malloc((size_t)len_bytes + 1) : NULL;
	if (data && fread(data, 1, (size_t)len_bytes, file) != (size_t)len_bytes) {
		free(data);
		data = NULL;
	}
	fclose(file);
	*ret_len_bytes = (size_t)len_bytes;
	return data;
}

static int load_truth(struct truth *truth, const char *path)
{
	size_t len_bytes;

	truth->branches = read_all(path, &len_bytes);
	if (!truth->branches || len_bytes % sizeof(*truth->branches))
		return -1;
	truth->cnt = (uint32_t)(len_bytes / sizeof(*truth->branches));
	truth->next = calloc(truth->cnt + 1, sizeof(*truth->next));
	if (!truth->next)
		return -1;
	memset(truth->first, 0xff, sizeof(truth->first));
	for (uint32_t i = truth->cnt; i-- > 0;) {
		uint32_t chain = chain_of(&truth->branches[i]);

		truth->next[i] = truth->first[chain];
		truth->first[chain] = i;
	}
	return 0;
}

/* The window may begin anywhere before its first branch, so only that one may have run fewer. */
static int is_same(const struct pathprof_branch *truth, const struct pathprof_branch *branches,
		   uint32_t cnt)
{
	struct pathprof_branch first = branches[0];

	if (first.insns > truth->insns || !first.insns)
		return 0;
	first.insns = truth->insns;
	return !memcmp(truth, &first, sizeof(first)) &&
	       !memcmp(truth + 1, branches + 1, (cnt - 1) * sizeof(*branches));
}

/* Whether execution that began at start came to the truth's branch at place next. */
static int starts_before(const struct truth *truth, uint32_t place, __u64 start)
{
	if (start > truth->branches[place].from)
		return 0;
	return !place || start >= truth->branches[place - 1].next;
}

static int is_true(const struct truth *truth, const struct pathprof_burst *burst,
		   const struct pathprof_branch *branches)
{
	uint32_t place = truth->first[chain_of(branches)];

	for (; place != NONE; place = truth->next[place])
		if (truth->cnt - place >= burst->branch_cnt &&
		    is_same(&truth->branches[place], branches, burst->branch_cnt) &&
		    starts_before(truth, place, burst->start))
			return 1;
	return 0;
}

static void falsify(struct pathprof_branch *branch, unsigned int how)
{
	switch (how % 5) {
	case 0:
		branch->from ^= 2;
		break;
	case 1:
		branch->next += 1;
		break;
	case 2:
		branch->kind = branch->kind % 6 + 1;
		break;
	case 3:
		branch->insns += 100000;
		break;
	default:
		branch->taken ^= 1;
	}
}

/* How many of its branches stand somewhere in the truth in a row. */
static uint32_t agreeing(const struct truth *truth, const struct pathprof_burst *burst,
			 const struct pathprof_branch *branches)
{
	uint32_t place = truth->first[chain_of(branches)];
	uint32_t most = 0;

	for (; place != NONE; place = truth->next[place]) {
		uint32_t cnt = 0;

		while (cnt < burst->branch_cnt && cnt < truth->cnt - place &&
		       is_same(&truth->branches[place], branches, cnt + 1))
			cnt++;
		if (cnt > most)
			most = cnt;
	}
	return most;
}

static void report(const struct truth *truth, const struct pathprof_burst *burst,
		   const struct pathprof_branch *branches)
{
	uint32_t cnt = agreeing(truth, burst, branches);

	printf("wrong: burst of %u from 0x%llx, end %u, true for %u, then:", burst->branch_cnt,
	       (unsigned long long)burst->start, burst->end, cnt);
	for (uint32_t i = cnt ? cnt - 1 : 0; i < burst->branch_cnt && i < cnt + SHOWN_CNT; i++)
		printf(" %u/%u:0x%llx-0x%llx", branches[i].kind, branches[i].taken,
		       (unsigned long long)branches[i].from, (unsigned long long)branches[i].next);
	printf("\n");
}

static void check_one(const struct truth *truth, const struct pathprof_burst *burst,
		      struct pathprof_branch *branches, int corrupt, struct figures *figures)
{
	/* Only bursts with a branch count, so that some are falsified however many are empty. */
	unsigned long long place = figures->bursts - figures->empty;
	int falsified = corrupt && burst->branch_cnt && place % FALSIFY_EVERY == 0;
	int right;

	figures->bursts++;
	figures->branches += burst->branch_cnt;
	if (!burst->branch_cnt) {
		figures->empty++;
		return;
	}
	if (falsified)
		falsify(&branches[place % burst->branch_cnt],
			(unsigned int)(place / FALSIFY_EVERY));
	right = is_true(truth, burst, branches);
	figures->falsified += falsified;
	figures->missed += falsified && right;
	if (right || falsified)
		return;
	if (figures->wrong++ < 5)
		report(truth, burst, branches);
}

static int check_all(const struct truth *truth, char *data, size_t len_bytes, int corrupt,
		     struct figures *figures)
{
	size_t at = 0;

	while (len_bytes - at >= sizeof(struct pathprof_burst)) {
		struct pathprof_burst burst;

		memcpy(&burst, data + at, sizeof(burst));
		if (burst.size_bytes > len_bytes - at ||
		    burst.size_bytes !=
			    sizeof(burst) + burst.branch_cnt * sizeof(struct pathprof_branch))
			return -1;
		check_one(truth, &burst, (struct pathprof_branch *)(data + at + sizeof(burst)),
			  corrupt, figures);
		at += burst.size_bytes;
	}
	return at == len_bytes ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct truth truth;
	struct figures figures = {0};
	int corrupt = argc == 4 && !strcmp(argv[1], "-c");
	size_t len_bytes = 0;
	char *data;

	if (argc != 3 + corrupt || load_truth(&truth, argv[1 + corrupt])) {
		fprintf(stderr, "check: needs [-c] TRUTH BURSTS, both readable\n");
		return EXIT_TROUBLE;
	}
	data = read_all(argv[2 + corrupt], &len_bytes);
	if (!data || check_all(&truth, data, len_bytes, corrupt, &figures)) {
		fprintf(stderr, "check: %s: not a file of bursts\n", argv[2 + corrupt]);
		return EXIT_TROUBLE;
	}
	printf("bursts %llu branches %llu empty %llu wrong %llu falsified %llu\n", figures.bursts,
	       figures.branches, figures.empty, figures.wrong, figures.falsified);
	free(data);
	free(truth.branches);
	free(truth.next);
	return figures.wrong || figures.missed || !figures.bursts ||
	       (corrupt && !figures.falsified);
}
