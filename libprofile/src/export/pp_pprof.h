/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* pprof's messages, packed and written: what its two writers share. */
#ifndef PP_PPROF_H
#define PP_PPROF_H

#include <stdio.h>

#include "pprof.pb-c.h"

/* In gzip, as the format has it. -ENOMEM; that the file could not be written its caller finds out.
 */
int pp_pprof_write(const PpPprof__Profile *profile, FILE *file);

#endif
