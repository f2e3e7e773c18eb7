/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the settings of the chain from user space and converts them to the core's form. The core
 * masks its indices, so a wrong figure would not reach beyond its tables, but count nonsense.
 */
#ifndef PATHPROF_KMOD_CHAIN_CONFIG_H
#define PATHPROF_KMOD_CHAIN_CONFIG_H

#include "pathprof/kmod_abi.h"
#include "pp_chain.h"

/* 0 or -EINVAL. All of it 0 is the default. segments: paths are those of a branch stack. */
int pp_chain_config_read(const struct pathprof_kmod_chain *chain, bool segments,
			 struct pp_chain_config *ret_config);

#endif
