/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The character device /dev/pathprof: what kmod_abi.h says of it. With the module. */
#ifndef PATHPROF_KMOD_CONTROL_H
#define PATHPROF_KMOD_CONTROL_H

int pp_control_init(void);
void pp_control_exit(void);

#endif
