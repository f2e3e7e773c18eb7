// SPDX-License-Identifier: GPL-2.0-or-later
/* Labels of hosts: order, invalid labels, limits, and the owners of labels. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pathprof/labels.h"

static void test_order(void)
{
	char labels[PATHPROF_LABELS_BYTES] = "";

	CU_ASSERT_EQUAL(pathprof_labels_add(labels, "role=web,dc=ams"), 0);
	CU_ASSERT_STRING_EQUAL(labels, "dc=ams role=web");
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, "  os=12/a:b@c+d \n dc=ams"), 0);
	CU_ASSERT_STRING_EQUAL(labels, "dc=ams os=12/a:b@c+d role=web");
	/* A key that begins another one comes before it. */
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, "dc2=x d=y"), 0);
	CU_ASSERT_STRING_EQUAL(labels, "d=y dc=ams dc2=x os=12/a:b@c+d role=web");
	CU_ASSERT(pathprof_labels_check(labels));
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, ""), 0);
	CU_ASSERT_STRING_EQUAL(labels, "d=y dc=ams dc2=x os=12/a:b@c+d role=web");
}

static void test_none(void)
{
	static const char *const none[] = {
		"role",    "=web",     "role=",          "role=web=1", "role=w*b", "r?le=web",
		"role=[w", "a=\x1b[m", "a=\xe2\x80\xae", "ro'le=web",  "role=\"w", "a=b;c",
	};
	char labels[PATHPROF_LABELS_BYTES] = "dc=ams";

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		CU_ASSERT_EQUAL(pathprof_labels_add(labels, none[i]), -EINVAL);
		CU_ASSERT(!pathprof_labels_check(none[i]));
	}
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, "dc=fra"), -EEXIST);
	CU_ASSERT_STRING_EQUAL(labels, "dc=ams");
	CU_ASSERT(pathprof_labels_check(""));
	CU_ASSERT(!pathprof_labels_check("b=1 a=1"));
	CU_ASSERT(!pathprof_labels_check("a=1  b=1"));
	CU_ASSERT(!pathprof_labels_check("a=1,b=1"));
	CU_ASSERT(!pathprof_labels_check(" a=1"));
	CU_ASSERT(!pathprof_labels_check("a=1 a=1"));
}

static void test_limits(void)
{
	char labels[PATHPROF_LABELS_BYTES] = "", label[PATHPROF_LABELS_BYTES];

	for (unsigned int i = 0; i < PATHPROF_LABELS_MAX; i++) {
		snprintf(label, sizeof(label), "k%u=v", i);
		CU_ASSERT_EQUAL(pathprof_labels_add(labels, label), 0);
	}
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, "another=v"), -E2BIG);
	labels[0] = 0;
	snprintf(label, sizeof(label), "%0*d=v", (int)PATHPROF_LABEL_KEY_MAX, 0);
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, label), 0);
	snprintf(label, sizeof(label), "%0*d=v", (int)PATHPROF_LABEL_KEY_MAX + 1, 0);
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, label), -EINVAL);
	snprintf(label, sizeof(label), "k=%0*d", (int)PATHPROF_LABEL_VALUE_MAX + 1, 0);
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, label), -EINVAL);
	labels[0] = 0;
	for (unsigned int i = 0; i < 7; i++) {
		snprintf(label, sizeof(label), "k%u=%0*d", i, (int)PATHPROF_LABEL_VALUE_MAX, 0);
		CU_ASSERT_EQUAL(pathprof_labels_add(labels, label), 0);
	}
	snprintf(label, sizeof(label), "k7=%0*d", (int)PATHPROF_LABEL_VALUE_MAX, 0);
	CU_ASSERT_EQUAL(pathprof_labels_add(labels, label), -E2BIG);
	CU_ASSERT(pathprof_labels_check(labels));
}

static void test_match(void)
{
	CU_ASSERT(pathprof_labels_match("dc=ams role=web", "role=web"));
	CU_ASSERT(pathprof_labels_match("dc=ams role=web", "dc=ams role=web"));
	CU_ASSERT(pathprof_labels_match("dc=ams", ""));
	CU_ASSERT(!pathprof_labels_match("dc=ams role=web", "role=we"));
	CU_ASSERT(!pathprof_labels_match("dc=ams role=web", "role=web2"));
	CU_ASSERT(!pathprof_labels_match("dc=ams role=web", "os=x"));
	CU_ASSERT(!pathprof_labels_match("", "role=web"));
}

static const struct unit_test tests[] = {
	{"labels are ordered by key, each once", test_order},
	{"what is no label is refused", test_none},
	{"limits", test_limits},
	{"who has which", test_match},
};
UNIT_SUITE(labels, tests)
