/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pathprofd --record`: profiles one program, without service and, where the kernel lets it,
 * without root. The program's standard streams are its own; what we say goes to standard error.
 */
#ifndef PP_ONESHOT_H
#define PP_ONESHOT_H

#include "shared/config.h"
#include "config_args.h"

/*
 * Returns the exit status: the command's (128 + signal when one ended it), 126 or 127 when it
 * could not be run, 0 for -p, 1 when nothing could be recorded.
 */
int pp_oneshot_main(const struct pp_args *args, const struct pp_config *config);

#endif
