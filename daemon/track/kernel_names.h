/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the kernel's functions: which one lies at an address that the clock struck. They come
 * from /proc/kallsyms, which shows addresses to whoever had CAP_SYSLOG when it was opened, or to
 * everybody where kernel.kptr_restrict is 0 and kernel.perf_event_paranoid at most 1. The service
 * has no such right: its unit hands over the open file as standard input.
 *
 * The kernel's functions form one binary of generated code, called "[kernel]": its identity is the
 * boot's, since modules lie elsewhere after each, and offsets count from _text, so that a database
 * does not tell where the kernel lies.
 *
 * Workload: read at the first look-up (120,000 names, 40 ms, 6 MB, and as much again while it is
 * read anew), and again at the first one after ten minutes, for modules come and go, and one may
 * lie where another lay. A hundred look-ups a second and CPU. One owner.
 */
#ifndef PP_KERNEL_NAMES_H
#define PP_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/build_id.h"

#define PP_KERNEL_NAMES_REREAD_NS UINT64_C(600000000000)

struct pp_kernel_names;

struct pp_kernel_function {
	uint64_t offset, len_bytes;
	const char *name; /* "tcp_sendmsg", "nft_do_chain [nf_tables]"; until the next look-up */
};

/*
 * path: /proc/kallsyms, opened now, with the rights of now, and read later. from_input: where
 * standard input is that file, it is taken, and replaced by /dev/null. -errno.
 */
int pp_kernel_names_open(struct pp_kernel_names **ret_names, const char *path, bool from_input,
			 const char *boot_id);
/* NULL-safe. */
void pp_kernel_names_free(struct pp_kernel_names *names);
/* Identity of the binary. */
const struct pathprof_build_id *pp_kernel_names_id(const struct pp_kernel_names *names);
/*
 * The function at an address. now_ns: CLOCK_MONOTONIC. -ENOENT: none there is known; -EACCES:
 * addresses are hidden; -EIO, -ENOMEM, -ENOSPC: the list could not be read. The next one that can
 * be read is taken.
 */
int pp_kernel_names_at(struct pp_kernel_names *names, uint64_t address, uint64_t now_ns,
		       struct pp_kernel_function *ret_function);
/* The same by what an earlier look-up had as an offset within the function. */
int pp_kernel_names_find(struct pp_kernel_names *names, uint64_t offset,
			 struct pp_kernel_function *ret_function);

#endif
