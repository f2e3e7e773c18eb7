// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of what was defined, against a plain list of the last sixteen of each set. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_defined.h"
#include "oracle_stream.h"

#define STEPS 200000
#define NAMES 40000 /* some fives of sixteen a set */

struct name {
	uint64_t start, desc;
};

/* By set, last used first. */
struct list {
	struct name name[PP_DEFINED_WAYS];
	uint32_t cnt;
};
static struct list lists[1 << PP_DEFINED_BITS];

static struct list *list_of(const struct name *name)
{
	return &lists[pp_defined_key(name->start, name->desc) >> (64 - PP_DEFINED_BITS)];
}

static bool list_remember(struct list *list, const struct name *name)
{
	uint32_t at = 0;
	bool known;

	while (at < list->cnt && memcmp(&list->name[at], name, sizeof(*name)) != 0)
		at++;
	known = at < list->cnt;
	if (!known && list->cnt < PP_DEFINED_WAYS)
		list->cnt++;
	if (at == PP_DEFINED_WAYS)
		at--;
	memmove(&list->name[1], &list->name[0], at * sizeof(*name));
	list->name[0] = *name;
	return known;
}

static struct name draw(uint64_t *random)
{
	uint64_t drawn = stream_random(random) % NAMES;

	return (struct name){0x400000 + drawn / 7, (drawn % 7 + 1) << 32 | drawn * 2654435761u};
}

/* How often the two disagree. flip: a bit of one key of the table, half way. */
static uint32_t disagreements(uint64_t flip)
{
	struct pp_defined *defined = calloc(1, sizeof(*defined));
	uint64_t random = 12345;
	uint32_t wrong = 0, known = 0;

	memset(lists, 0, sizeof(lists));
	for (uint32_t i = 0; i < STEPS; i++) {
		struct name name = draw(&random);
		uint32_t told = pp_defined_remember(defined, name.start, name.desc);

		wrong += told != list_remember(list_of(&name), &name);
		known += told;
		if (i == STEPS / 2)
			for (uint32_t set = 0; set < 1 << PP_DEFINED_BITS; set++)
				defined->key[set][1] ^= flip;
	}
	CU_ASSERT(known > STEPS / 20 && known < STEPS);
	free(defined);
	return wrong;
}

static void test_against_a_list(void)
{
	CU_ASSERT_EQUAL(disagreements(0), 0);
	CU_ASSERT(disagreements(1 << 20) > 0);
}

static void test_forgotten_is_new_again(void)
{
	struct pp_defined *defined = calloc(1, sizeof(*defined));

	CU_ASSERT_EQUAL(pp_defined_remember(defined, 1, 2), 0);
	CU_ASSERT_EQUAL(pp_defined_remember(defined, 1, 2), 1);
	pp_defined_forget(defined, 1, 2);
	CU_ASSERT_EQUAL(pp_defined_remember(defined, 1, 2), 0);
	/* Others stay. */
	CU_ASSERT_EQUAL(pp_defined_remember(defined, 1, 3), 0);
	CU_ASSERT_EQUAL(pp_defined_remember(defined, 1, 2), 1);
	free(defined);
}

static const struct unit_test tests[] = {
	{"what was defined of late is known, as a list knows it", test_against_a_list},
	{"what did not reach the reader is new again", test_forgotten_is_new_again},
};
UNIT_SUITE(defined, tests)
