/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pathprofd --import`: a recording of another tool into a database, without service, root or a
 * process of its own. What is said goes to standard error, the closing table to standard output.
 */
#ifndef PP_IMPORT_MAIN_H
#define PP_IMPORT_MAIN_H

#include "../shared/config.h"
#include "../config_args.h"

/* The exit status: 0; 1 when it failed, with one line that says why. What was read is kept. */
int pp_import_main(const struct pp_args *args, const struct pp_config *config);

#endif
