/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TIME and RUNS (pathprof/shares.h) of everything that is selected: paths and clock samples are
 * read from the store, assigned to functions by symbols.h, and worked out at once.
 *
 * Code in no function that is known counts as one function a binary, because neither the start of
 * a path nor a place of the clock says where a function would begin.
 *
 * Workload: tens of thousands of paths and places, once a command or once a second. Everything
 * belongs to the shares but the symbols, which outlive them. One thread.
 */
#ifndef CTL_SHARES_H
#define CTL_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../code/symbols.h"
#include "../text/kinds.h"
#include "pathprof/shares.h"

/* The figures that a row has. */
struct figures {
	struct pathprof_share time, runs; /* NAN: not known */
	double weight;
	double share; /* of all weight */
	uint64_t samples;
	uint32_t hosts; /* that have it; 0: not of a fleet */
};

struct shares_binary {
	struct pathprof_build_id id;
	char *name;
	uint64_t clock_samples;
	struct figures figures;
	uint32_t nameless; /* private: of its code in no known function; index + 1 of its stratum */
};

struct shares_function {
	uint32_t binary;
	const struct symbol *symbol; /* NULL: the binary's code in no function that is known */
	uint64_t path_cnt;
	struct figures figures;
	uint32_t stratum; /* private */
};

struct shares_path {
	struct pathprof_path_row row; /* binary_name is the shares' */
	uint32_t function;
	struct figures figures;
};

#define SHARES_EXACT UINT64_MAX /* observations where nothing was sampled */

/* Kinds of clock samples that have no file. */
enum shares_elsewhere { SHARES_KERNEL, SHARES_UNKNOWN, SHARES_ELSEWHERE_CNT };

struct shares {
	enum pathprof_window_kind kind;
	uint64_t clock_samples;                   /* all of them, with those of the next three */
	uint64_t kernel_samples, kernel_nameless; /* in the kernel: in functions, in none */
	uint64_t unknown_samples;                 /* in no file, and not in the kernel */
	uint64_t observations; /* samples that count as independent: see interval_of_share() */
	double insns_a_sample, horizon, cut_samples;    /* as in struct pathprof_shares */
	double unseen;                                  /* likewise, of all that was selected */
	bool path_time;                                 /* some path has TIME */
	uint32_t host_cnt;                              /* of a fleet; 0: it is none */
	struct figures elsewhere[SHARES_ELSEWHERE_CNT]; /* of kernel_nameless, unknown_samples */

	struct shares_path *paths; /* heaviest first */
	struct shares_function *functions;
	struct shares_binary *binaries;
	size_t path_cnt, function_cnt, binary_cnt;

	struct shares_index *index; /* private */
};

/*
 * Reads the filter's selection, all of one kind; its limit is ignored. -errno, error filled. The
 * caller frees *ret_shares.
 */
int shares_load(struct shares **ret_shares, struct pathprof_store *store, struct symbols *symbols,
		const struct pathprof_filter *filter, enum pathprof_window_kind kind,
		uint64_t observations, struct pathprof_error *error);
/* NULL-safe. */
void shares_free(struct shares *shares);

/* Shares of TIME that no path has: in the kernel, and in code of which none was seen whole. */
struct shares_pathless {
	double kernel, code; /* NAN: no clock ran */
};
struct shares_pathless shares_pathless(const struct shares *shares);
/* NULL if it is not among them. */
const struct shares_path *shares_find_path(const struct shares *shares, int64_t id);
const struct shares_binary *shares_find_binary(const struct shares *shares,
					       const struct pathprof_build_id *id);
/* An order by what they are, the same in each database of the same counts. */
int shares_compare_binaries(const struct shares_binary *a, const struct shares_binary *b);
int shares_compare_functions(const struct shares *shares, const struct shares_function *a,
			     const struct shares_function *b);
/* The figures of a row that has so many clock samples and no paths. */
struct figures shares_of_samples(const struct shares *shares, uint64_t samples);

/*
 * The possible error of a share: the 95 % score interval of a proportion (E. B. Wilson, "Probable
 * inference, the law of succession, and statistical inference", JASA 22, 1927), which unlike the
 * textbook interval stays inside 0..1 and holds for rare paths.
 *
 * It takes its observations for independent. Paths of one burst follow one another and are not: a
 * burst in a loop is thirty times the same path. So what counts as an observation is a burst (the
 * widest a cluster sample can be), unless even fewer samples were seen.
 */
struct interval {
	double low, high; /* 0..1 */
};

/* share (0..1) over so many independent observations; 0 of them: 0..1. */
struct interval interval_of_share(double share, uint64_t observations);

#endif
