// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of a kernel's enums, in type information that is made here. */
#include "unit.h"

#include <bpf/btf.h>

#include "../../daemon/bpf/kernel_enum.h"

static void test_values(void)
{
	struct btf *btf = btf__new_empty();

	CU_ASSERT_PTR_NOT_NULL_FATAL(btf);
	CU_ASSERT_FALSE(pp_kernel_enum_has(btf, "helpers", "LATEST"));
	CU_ASSERT(btf__add_int(btf, "LATEST", 4, 0) > 0);
	CU_ASSERT(btf__add_enum(btf, "helpers", 4) > 0);
	CU_ASSERT_FALSE(pp_kernel_enum_has(btf, "helpers", "LATEST"));
	CU_ASSERT_EQUAL(btf__add_enum_value(btf, "FIRST", 0), 0);
	CU_ASSERT_EQUAL(btf__add_enum_value(btf, "LATEST", 175), 0);
	CU_ASSERT(pp_kernel_enum_has(btf, "helpers", "FIRST"));
	CU_ASSERT(pp_kernel_enum_has(btf, "helpers", "LATEST"));
	CU_ASSERT_FALSE(pp_kernel_enum_has(btf, "helpers", "LATE"));
	CU_ASSERT_FALSE(pp_kernel_enum_has(btf, "LATEST", "LATEST"));
	btf__free(btf);
}

static const struct unit_test tests[] = {
	{"an enum has the values that were added, and no other", test_values},
};
UNIT_SUITE(kernel_enum, tests)
