// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and addresses that a hub's certificate may have, and slips. */
#include "../../tools/hub/address.h"
#include "unit.h"

#include <string.h>

static void test_addresses(void)
{
	static const char *const good[] = {
		"127.0.0.1",  "::1",          "2001:db8::7", "hub",    "hub.example.org",
		"*.fleet.io", "a-b_c.x1.com", "3com.com",    "xn--c1", "localhost",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!hub_is_address(good[i]))
			CU_FAIL(good[i]);
}

static void test_slips(void)
{
	static const char *const bad[] = {
		"",         "127.0.0.1:7443", "[::1]", "hub:7443", "https://hub", "256.0.0.1",
		"10.0.0",   "hub.",           ".hub",  "a..b",     "-hub",        "hub-.org",
		"hub hub2", "hub\n",          "*",     "*.",       "a.*.org",     "h\xc3\xbc.de",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (hub_is_address(bad[i]))
			CU_FAIL(bad[i]);
}

static void test_lengths(void)
{
	char name[256];

	memset(name, 'a', sizeof(name));
	name[63] = 0;
	CU_ASSERT_TRUE(hub_is_address(name));
	name[63] = 'a';
	name[64] = 0;
	CU_ASSERT_FALSE(hub_is_address(name));
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 10 == 9 ? '.' : 'a';
	name[253] = 0;
	CU_ASSERT_TRUE(hub_is_address(name));
	name[253] = 'a';
	name[254] = 0;
	CU_ASSERT_FALSE(hub_is_address(name));
}

static void check_bad(const char *list, const char *want)
{
	size_t len = 0;
	const char *bad = hub_address_find_bad(list, &len);

	if (!want) {
		CU_ASSERT_PTR_NULL(bad);
		return;
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(bad);
	CU_ASSERT_EQUAL(len, strlen(want));
	CU_ASSERT_EQUAL(strncmp(bad, want, len), 0);
}

static void test_lists(void)
{
	check_bad("hub.example.org", NULL);
	check_bad("127.0.0.1,localhost,::1", NULL);
	check_bad("", "");
	check_bad("hub,,hub2", "");
	check_bad("hub,", "");
	check_bad("hub, hub2", " hub2");
	check_bad("hub,10.0.0.1:7443,hub2", "10.0.0.1:7443");
}

static const struct unit_test tests[] = {
	{"addresses and host names are taken", test_addresses},
	{"what is neither is not", test_slips},
	{"names and their parts have a length at most", test_lengths},
	{"of a list the first that is neither is named", test_lists},
};
UNIT_SUITE(address, tests)
