// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of the kernel's enums: see kernel_enum.h. Source: the kernel's Documentation/bpf/btf.rst.
 */
#include "kernel_enum.h"

#include <bpf/btf.h>
#include <string.h>

bool pp_kernel_enum_has(const struct btf *btf, const char *name, const char *value)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	for (__u32 i = 0; type && i < btf_vlen(type); i++) {
		const char *has = btf__name_by_offset(btf, btf_enum(type)[i].name_off);

		if (has && !strcmp(has, value))
			return true;
	}
	return false;
}
