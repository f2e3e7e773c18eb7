/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A share over several hosts has two sources of error: what was sampled on each, and that hosts
 * differ. Where hosts are a sample of those that there are, both show in how the hosts' own shares
 * scatter: hosts are clusters and the share is a ratio (Cochran, Sampling Techniques, 6.3 and 9.2).
 * With a part y and a whole x of each of H hosts
 *
 *     R = sum y / sum x        var R = H / (H - 1) * sum (y - R x)^2 / (sum x)^2
 *
 * and the interval is Student's with H - 1 degrees of freedom; of two hosts it is wide. Where few
 * samples were seen, that of the samples alone is wider, and holds. tests/unit/test_clusters.c has
 * how often such intervals hold. Pure arithmetic; any thread.
 */
#ifndef PATHPROF_CLUSTERS_H
#define PATHPROF_CLUSTERS_H

#include <stdint.h>

#include "pathprof/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over clusters, of which each has 0 <= part <= whole: so that a row needs three figures,
 * however many hosts there are. */
struct pathprof_clusters {
	uint64_t cnt;
	double whole, whole_squares;
	double part, part_squares, product; /* product: sum of part * whole */
};

/*
 * The wider of the two intervals; share: as of all samples together, with the interval that samples
 * alone give. With fewer than two clusters, or if the share is not known, it stays as it is.
 */
void pathprof_clusters_widen(const struct pathprof_clusters *clusters,
			     struct pathprof_share *share);

#ifdef __cplusplus
}
#endif

#endif
