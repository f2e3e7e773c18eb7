// SPDX-License-Identifier: GPL-2.0-or-later
/* See values_link.h. The multi link's attributes are those of <linux/bpf.h> of kernel 6.6. */
#include "values_link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

/* union bpf_attr of BPF_LINK_CREATE, as far as a multi link of probes needs it. */
struct multi_attributes {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};
_Static_assert(sizeof(struct multi_attributes) == 64, "as the kernel has it");

static int open_multi(const struct bpf_program *program, pid_t pid, const char *path,
		      uint64_t offset, uint64_t cookie)
{
	struct multi_attributes attributes = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = PP_VALUES_ATTACH_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)&offset,
		.cookies = (uint64_t)(uintptr_t)&cookie,
		.cnt = 1,
		.pid = (uint32_t)pid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));

	return fd < 0 ? -errno : (int)fd;
}

int pp_values_link_open(struct pp_values_link *ret_link, enum pp_values_way way,
			const struct bpf_program *program, pid_t pid, const char *path,
			uint64_t offset, uint64_t cookie)
{
	struct pp_values_link link = {.pid = pid, .fd = -1};

	if (way == PP_VALUES_WAY_MULTI) {
		link.fd = open_multi(program, pid, path, offset, cookie);
		if (link.fd < 0)
			return link.fd;
	} else {
		struct bpf_uprobe_opts opts = {.sz = sizeof(opts), .bpf_cookie = cookie};

		link.link = bpf_program__attach_uprobe_opts(program, pid, path, offset, &opts);
		if (!link.link)
			return -errno;
	}
	*ret_link = link;
	return 0;
}

void pp_values_link_close(struct pp_values_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	bpf_link__destroy(link->link);
	*link = (struct pp_values_link){.fd = -1};
}
