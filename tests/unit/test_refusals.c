// SPDX-License-Identifier: GPL-2.0-or-later
/* Refusals in the hub's log: who is refused without end fills nothing and hides nobody. */
#include "../../tools/hub/peer_text.h"
#include "../../tools/hub/refusals.h"
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "base/clock.h"

#define BEGIN_NS  (1000 * PP_NSEC_PER_SEC)
#define MINUTE_NS (60 * PP_NSEC_PER_SEC)
#define DAY_NS    (24 * 60 * MINUTE_NS)
#define STEP_NS   (PP_NSEC_PER_SEC / 10)

/* Ten refusals a second for a day: how many lines. */
static uint64_t lines_of_a_day(struct hub_refusals *refusals, uint64_t key)
{
	uint64_t lines = 0;

	for (uint64_t ns = 0; ns < DAY_NS; ns += STEP_NS)
		lines += hub_refusals_take(refusals, key, BEGIN_NS + ns);
	return lines;
}

static void test_strangers(void)
{
	struct hub_refusals refusals = {.unsaid_cnt = 0};
	uint64_t lines = lines_of_a_day(&refusals, 0);

	CU_ASSERT_EQUAL(lines, 30 + 24 * 60 - 1);
	CU_ASSERT_EQUAL(hub_refusals_unsaid(&refusals, BEGIN_NS + DAY_NS),
			DAY_NS / STEP_NS - lines);
	CU_ASSERT_EQUAL(hub_refusals_unsaid(&refusals, BEGIN_NS + DAY_NS), 0);
}

static void test_one_host(void)
{
	struct hub_refusals refusals = {.unsaid_cnt = 0};

	CU_ASSERT_EQUAL(lines_of_a_day(&refusals, hub_refusals_key("t", "web1", 403)), 24 * 60);
}

/* The number of names that anybody may have certificates for. */
static void test_many_hosts(void)
{
	struct hub_refusals refusals = {.unsaid_cnt = 0};
	uint64_t lines = 0;
	char name[16];

	for (uint64_t i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "web%u", (unsigned int)(i % 1000));
		lines += hub_refusals_take(&refusals, hub_refusals_key("t", name, 403),
					   BEGIN_NS + i * 1000);
	}
	CU_ASSERT_EQUAL(lines, 60);
	CU_ASSERT_EQUAL(refusals.unsaid_cnt, 100000 - 60);
}

/* Neither strangers nor another host, nor another refusal of its own, keep one back. */
static void test_others(void)
{
	struct hub_refusals refusals = {.unsaid_cnt = 0};

	for (int i = 0; i < 1000; i++) {
		hub_refusals_take(&refusals, 0, BEGIN_NS);
		hub_refusals_take(&refusals, hub_refusals_key("t", "evil", 400), BEGIN_NS);
	}
	CU_ASSERT_TRUE(hub_refusals_take(&refusals, hub_refusals_key("t", "web1", 403), BEGIN_NS));
	CU_ASSERT_FALSE(hub_refusals_take(&refusals, hub_refusals_key("t", "web1", 403), BEGIN_NS));
	CU_ASSERT_TRUE(hub_refusals_take(&refusals, hub_refusals_key("t", "web1", 409), BEGIN_NS));
	CU_ASSERT_TRUE(hub_refusals_take(&refusals, hub_refusals_key("u", "web1", 403), BEGIN_NS));
	CU_ASSERT_TRUE(hub_refusals_take(&refusals, hub_refusals_key("t", "web1", 403),
					 BEGIN_NS + MINUTE_NS));
}

static void test_count_is_told(void)
{
	struct hub_refusals refusals = {.unsaid_cnt = 0};

	CU_ASSERT_FALSE(hub_refusals_is_due(&refusals, BEGIN_NS));
	for (int i = 0; i < 31; i++)
		hub_refusals_take(&refusals, 0, BEGIN_NS);
	CU_ASSERT_FALSE(hub_refusals_is_due(&refusals, BEGIN_NS + MINUTE_NS - 1));
	CU_ASSERT_TRUE(hub_refusals_is_due(&refusals, BEGIN_NS + MINUTE_NS));
	CU_ASSERT_EQUAL(hub_refusals_unsaid(&refusals, BEGIN_NS + MINUTE_NS), 1);
	CU_ASSERT_FALSE(hub_refusals_is_due(&refusals, BEGIN_NS + MINUTE_NS));
	/* that it was told is a line as well: the next number is told a minute later */
	hub_refusals_take(&refusals, hub_refusals_key("t", "web1", 403), BEGIN_NS);
	hub_refusals_take(&refusals, hub_refusals_key("t", "web1", 403), BEGIN_NS + 1);
	hub_refusals_unsaid(&refusals, BEGIN_NS + 2 * MINUTE_NS);
	hub_refusals_take(&refusals, hub_refusals_key("t", "web1", 403), BEGIN_NS + 2);
	CU_ASSERT_FALSE(hub_refusals_is_due(&refusals, BEGIN_NS + 3 * MINUTE_NS - 1));
	CU_ASSERT_TRUE(hub_refusals_is_due(&refusals, BEGIN_NS + 3 * MINUTE_NS));
}

/* ---------------------------------------------------------------- who it was */

static void check_text(const char *address, const struct hub_peer *peer, const char *want)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	const struct sockaddr *from = NULL;
	char text[HUB_PEER_TEXT_BYTES];

	if (address && inet_pton(AF_INET, address, &in.sin_addr) == 1)
		from = (const void *)&in;
	else if (address && inet_pton(AF_INET6, address, &in6.sin6_addr) == 1)
		from = (const void *)&in6;
	CU_ASSERT_STRING_EQUAL(hub_peer_text(text, from, peer), want);
}

static void test_who(void)
{
	const struct hub_peer web = {.name = "web1", .tenant = "default", .is_proven = true};
	const struct hub_peer shop = {.name = "web1", .tenant = "shop", .is_proven = true};
	const struct hub_peer nobody = {.name = ""};

	check_text("192.0.2.7", &web, "192.0.2.7 (web1)");
	check_text("2001:db8::7", &shop, "2001:db8::7 (shop/web1)");
	check_text("::ffff:192.0.2.7", &nobody, "192.0.2.7 (no name)");
	check_text(NULL, &nobody, "unknown address (no name)");
}

/* A name that nobody vouches for could end the line and begin another. */
static void test_made_up_name(void)
{
	const struct hub_peer liar = {.name = "web1): 403:\n\x1b[2J\xc2\x9bx"};

	check_text("192.0.2.7", &liar, "192.0.2.7 (says that it is web1?:?403:???2J??x)");
}

static const struct unit_test tests[] = {
	{"strangers who are refused all day have a line a minute, and are counted", test_strangers},
	{"a host that is refused all day has a line a minute", test_one_host},
	{"many hosts have a ration together", test_many_hosts},
	{"nobody's refusals hide another's", test_others},
	{"refusals that were not said are told by their number", test_count_is_told},
	{"a refusal names address and certificate", test_who},
	{"a name that nobody vouches for is marked, and cannot leave its place", test_made_up_name},
};
UNIT_SUITE(refusals, tests)
