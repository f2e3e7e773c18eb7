/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a baseline's paths that outlive their builds (match.h), for those that the service did
 * not name: read from the binaries' files while these are at hand. One thread.
 */
#ifndef CTL_BASELINE_NAMES_H
#define CTL_BASELINE_NAMES_H

#include "ctl.h"

/* A pathprof_store_fill_fn; context: const struct ctl_options. What cannot be read stays unnamed.
 */
int baseline_names_fill(void *context, struct pathprof_store *copy, struct pathprof_error *error);

#endif
