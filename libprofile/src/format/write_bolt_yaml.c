// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * BOLT's YAML profile: not written. It names functions by a hash of their instructions as BOLT
 * lifted them, and blocks by their index in its own graph; a file with other hashes counts as
 * stale. BOLT itself makes it out of what is written here.
 *
 * Source: LLVM, bolt/include/bolt/Profile/ProfileYAMLMapping.h.
 */
#include "pp_export.h"

#include <errno.h>

int pp_write_bolt_yaml(const struct pp_export *x)
{
	return pathprof_fail(x->error, -EOPNOTSUPP,
			     "bolt-yaml holds hashes that only BOLT can make: write bolt-preagg,"
			     " then `perf2bolt --pa -p FILE -o OUT.fdata -w OUT.yaml BINARY`");
}
