/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the generated code that a closing window saw; part of window.c's work. */
#ifndef PP_WINDOW_JIT_H
#define PP_WINDOW_JIT_H

#include "window.h"

/*
 * Looks up the symbol of every generated address in the profile, once a symbol, and stores it.
 * Code without a symbol is no error. 0, or the sink's error. -ENOMEM.
 */
int pp_window_store_jit(const struct pathprof_profile *profile, const struct pp_resolver *resolver,
			const struct pp_window_sink *sink, struct pathprof_error *error);

#endif
