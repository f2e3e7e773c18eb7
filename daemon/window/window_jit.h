/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the generated code that a closing window saw; part of window.c's work. */
#ifndef PP_WINDOW_JIT_H
#define PP_WINDOW_JIT_H

#include "window.h"

/*
 * Looks up the symbols of up to 16,384 generated addresses in the profile, of which each process
 * has a fair share, and stores them. Code without a symbol is no error. 0, or the sink's error.
 * -ENOMEM.
 */
int pp_window_store_jit(const struct pathprof_profile *profile, const struct pp_resolver *resolver,
			const struct pp_window_sink *sink, struct pathprof_error *error);

#endif
