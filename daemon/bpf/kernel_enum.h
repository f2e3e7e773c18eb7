/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether an enum of the kernel has a value, as bpf_core_enum_value_exists() answers a BPF program:
 * user space must not promise what the program then finds missing.
 *
 * Workload: once, when a source that needs the value is opened. Pure function over the caller's
 * BTF.
 */
#ifndef PP_KERNEL_ENUM_H
#define PP_KERNEL_ENUM_H

#include <stdbool.h>

struct btf;

bool pp_kernel_enum_has(const struct btf *btf, const char *name, const char *value);

#endif
