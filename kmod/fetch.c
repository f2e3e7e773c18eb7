// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workload: once a debug trap, so it is two loads when all is well. What cannot be read at once is
 * tried up to the end of its page, since the page behind it may not be there, or need not.
 */
#include "fetch.h"

#include <linux/mm.h>
#include <linux/uaccess.h>

static bool fetch_whole(const u64 __user *from, u64 *ret_words)
{
	u64 low, high;

	pagefault_disable();
	if (!user_access_begin(from, PP_FETCH_BYTES))
		goto out_enable;
	unsafe_get_user(low, from, out_end);
	unsafe_get_user(high, from + 1, out_end);
	user_access_end();
	pagefault_enable();
	ret_words[0] = low;
	ret_words[1] = high;
	return true;

out_end:
	user_access_end();
out_enable:
	pagefault_enable();
	return false;
}

static noinline u32 fetch_to_page_end(u64 address, u8 *ret_code)
{
	u32 len = PAGE_SIZE - offset_in_page(address);

	if (len >= PP_FETCH_BYTES)
		return 0;
	return copy_from_user_nofault(ret_code, (const void __user *)address, len) ? 0 : len;
}

u32 pp_fetch(u64 address, u8 *ret_code)
{
	u64 words[PP_FETCH_BYTES / sizeof(u64)];

	if (unlikely(!fetch_whole((const u64 __user *)address, words)))
		return fetch_to_page_end(address, ret_code);
	memcpy(ret_code, words, sizeof(words));
	return PP_FETCH_BYTES;
}
