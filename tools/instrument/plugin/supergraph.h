/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Supergraphs: paths that go on into the functions they call (EOPP 3.4). Calls that ran by the
 * counts of an earlier build are inlined before paths are numbered.
 *
 * The hottest calls come first. A call is followed unless
 *
 *   - the callee runs more than 16 paths a call: nearly all belong to its loops, and begin and end
 * in it; where the caller has a table, each would cost more;
 *   - the callee is on a cycle of calls, or cannot be inlined there;
 *   - more than unit->depth calls would be nested;
 *   - the callee has more than 200 blocks, or a function would become four times as large as it is,
 *     and larger than 200 blocks.
 *
 * A call is followed wherever its function is inlined, so that paths that begin before it and end
 * in the callee or behind it are all told apart.
 */
#ifndef SUPERGRAPH_H
#define SUPERGRAPH_H

#include "unit.h"

/* Follows calls by the counts of unit->ran, up to unit->depth deep. */
void supergraph_make(struct unit *unit);

#endif
