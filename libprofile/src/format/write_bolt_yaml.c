// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * BOLT's YAML profile: not written. It names functions and blocks by hashes of LLVM's own names of
 * opcodes and numbers of registers; a file with other hashes counts as stale. BOLT itself makes it
 * out of what is written here.
 *
 * Source: LLVM, bolt/include/bolt/Profile/ProfileYAMLMapping.h, bolt/lib/Core/HashUtilities.cpp.
 */
#include "pp_export.h"

#include <errno.h>

int pp_write_bolt_yaml(const struct pp_export *x)
{
	return pathprof_fail(x->error, -EOPNOTSUPP,
			     "bolt-yaml holds hashes that only BOLT can make: write bolt-preagg,"
			     " then `perf2bolt --pa -p FILE -o OUT.fdata -w OUT.yaml BINARY`");
}
