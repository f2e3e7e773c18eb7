// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF source where no processor keeps branch records: each refusal is one line that says why,
 * and leaves nothing behind. What it does with samples is tested in virtual machines.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/source.h"

/* The kernel's clock: every machine has it, and it has no branch stack. */
#define CLOCK "software/config=0/"

static struct pathprof_error why;

static int probe(const char *event)
{
	why.text[0] = '\0';
	return pp_source_bpf.probe(&(struct pp_source_config){.event = event}, &why);
}

static void test_no_branch_stack(void)
{
	int r = probe(CLOCK);

	/* Without the right to any event that is what is said. */
	CU_ASSERT(r == -EOPNOTSUPP || (geteuid() && (r == -EACCES || r == -EPERM)));
	CU_ASSERT_PTR_NOT_NULL(strstr(why.text, CLOCK));
	CU_ASSERT_PTR_NULL(strchr(why.text, '\n'));
}

static void test_no_such_event(void)
{
	CU_ASSERT_EQUAL(probe("nowhere/config=1/"), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(why.text, "nowhere"));
	CU_ASSERT_EQUAL(probe("software/config=x/"), -EINVAL);
}

static int open_fds(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 256; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static void refuse_notation(const char *notation)
{
	const struct pp_source_config config = {.event = CLOCK, .notation = notation};
	struct pp_source *source = NULL;
	int fds = open_fds();

	why.text[0] = '\0';
	CU_ASSERT_EQUAL(pp_source_bpf.open(&source, &config, &why), -EINVAL);
	CU_ASSERT_PTR_NULL(source);
	CU_ASSERT_PTR_NOT_NULL(strstr(why.text, notation));
	CU_ASSERT_EQUAL(open_fds(), fds);
}

static void test_more_than_a_kernel_has_room_for(void)
{
	refuse_notation("H[P256]4096");
	refuse_notation("H[PR256]2048A32");
	refuse_notation("F64H[PR256]1024");
	refuse_notation("T[16]2049");
	refuse_notation("nonsense");
}

static void test_free_is_null_safe(void)
{
	pp_source_bpf.free(NULL);
}

static const struct unit_test tests[] = {
	{"an event without a branch stack is refused with the reason", test_no_branch_stack},
	{"an event that there is none of is named", test_no_such_event},
	{"a compressor that a kernel has no room for is refused before anything is loaded",
	 test_more_than_a_kernel_has_room_for},
	{"free takes NULL", test_free_is_null_safe},
};
UNIT_SUITE(bpf_source, tests)
