/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The parts of one CPU's chain in the kernel module: tuples go through the compressor,
 * branches through the path stack, paths or segments into the hot path table. kmod/pipeline.c and
 * kmod/segments.c have the steps.
 */
#ifndef PP_CHAIN_H
#define PP_CHAIN_H

#include "pp_compress.h"
#include "pp_hpt.h"
#include "pp_path_stack.h"

struct pp_chain_config {
	struct pp_compress_config compress;
	struct pp_path_config path;
	struct pp_hpt_config hpt;
};

struct pp_chain {
	struct pp_path_stack stack;
	struct pp_hpt hpt;
	struct pp_compress compress;
};

#endif
