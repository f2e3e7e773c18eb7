/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Between the files of fleet/: how two hosts are held against each other. Pure; any thread. */
#ifndef PP_FLEET_H
#define PP_FLEET_H

#include "pathprof/drift.h"
#include "pathprof/fleet.h"

/* Few hosts: an outlier's nearest is further away than the median host's by this. */
#define FEW_FACTOR 4

/* Without a bootstrap. Errors as pathprof_drift_measure()'s. */
int pp_fleet_measure(struct pathprof_drift *ret_drift, const struct pathprof_distribution *one,
		     const struct pathprof_distribution *other);
/* How far members mostly are from the one most like them: the lower of the two in the middle, at
 * least 0. Sorts bits; cnt is above 0. */
double pp_fleet_usual(double *bits, size_t cnt);
/* One that is so far from the one most like it stands out. */
bool pp_fleet_is_out(double low_bits, double bits, double usual_bits);

/*
 * moved.c: the functions (key_hi) by which `now` differs from `before`, the greatest moved_bits
 * first. A term is the sum over all paths of its function: bits, and the shares p and q, q without
 * smoothing. key_lo is the path that moved most. names: as far as they are known, else empty.
 * -ENOMEM; -ENODATA: a side is empty.
 */
struct pp_fleet_terms {
	struct pathprof_drift_term list[16];
	char names[16][96];
	size_t cnt;
};
int pp_fleet_terms(struct pp_fleet_terms *ret_terms, const struct pathprof_distribution *now,
		   const struct pathprof_distribution *before);
/* Sums up terms of the same name, and leaves out those whose share moved by less than a hundredth.
 */
size_t pp_fleet_join(struct pathprof_fleet_moved *ret_moved, struct pp_fleet_terms *terms);
/* Names terms whose functions are those of build's portable names. The store's errors. */
int pp_fleet_name_portable(struct pp_fleet_terms *terms, struct pathprof_store *store,
			   const struct pathprof_build_id *build, struct pathprof_error *error);

#endif
