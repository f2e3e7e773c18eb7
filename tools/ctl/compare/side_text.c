// SPDX-License-Identifier: GPL-2.0-or-later
/* Sides as text: see side_load.h. */
#include "side_load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "pathprof/profile_text.h"

#define KEY_MAX 256 /* longer keys are not ours */

/* ---------------------------------------------------------------- keys */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "HEX:0xHEX" at *at, which moves behind it. */
static bool parse_place(const char **at, struct pathprof_build_id *ret_id, uint64_t *ret_offset)
{
	struct pathprof_build_id id = {.kind = PATHPROF_ID_BUILD_ID};
	const char *c = *at;
	uint64_t offset = 0;
	int digits = 0;

	for (; digit(c[0]) >= 0 && digit(c[1]) >= 0; c += 2) {
		if (id.len_bytes == PATHPROF_BUILD_ID_MAX)
			return false;
		id.bytes[id.len_bytes++] = (uint8_t)(16 * digit(c[0]) + digit(c[1]));
	}
	if (!id.len_bytes || strncmp(c, ":0x", 3) != 0)
		return false;
	for (c += 3; digit(*c) >= 0 && digits < 16; c++, digits++)
		offset = offset << 4 | (uint64_t)digit(*c);
	*at = c;
	*ret_id = id;
	*ret_offset = offset;
	return digits > 0;
}

static bool parse_ways(const char *text, struct pathprof_path_row *row)
{
	size_t len = strlen(text);

	if (!strcmp(text, "-"))
		return true;
	if (!len || len > 32 || text[strspn(text, "TN")])
		return false;
	row->length = (uint32_t)len;
	for (size_t i = 0; i < len; i++)
		row->outcomes |= (uint32_t)(text[i] == 'T') << i;
	return true;
}

static bool is_of_edges(const struct side *side)
{
	return side->kind == SIDE_EDGES || side->kind == SIDE_CALLS;
}

/* Whether it is a key of the side's own kind; any other key stays text. */
static bool add_ours(struct side *side, const char *key, double weight)
{
	struct pathprof_path_row row = {0};
	struct pathprof_edge_row edge = {0};
	struct pathprof_build_id id, to_id;

	if (!parse_place(&key, &id, &row.start))
		return false;
	if (side->kind == SIDE_PATHS && *key == ':' && parse_ways(key + 1, &row)) {
		side_add_path(side, side_binary(side, &id, NULL), &row, weight);
		return true;
	}
	if (side->kind == SIDE_BRANCHES && (!strcmp(key, "/0") || !strcmp(key, "/1"))) {
		const struct side_item one = {.weight = weight, .samples = weight};

		side_add_branch(side, side_binary(side, &id, NULL), row.start, key[1] == '1', &one);
		return true;
	}
	if (!is_of_edges(side) || *key++ != '>' || !parse_place(&key, &to_id, &edge.to) || *key)
		return false;
	edge.from = row.start;
	side_add_edge(side, side_binary(side, &id, NULL), side_binary(side, &to_id, NULL), &edge,
		      weight);
	return true;
}

char *side_text_key(const struct side *side, const struct side_item *item)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN], to[PATHPROF_BUILD_ID_TEXT_LEN];
	char ways[TEXT_OUTCOMES_SIZE];

	if (item->binary == SIDE_NO_BINARY)
		return ctl_strdup(item->text);
	pathprof_build_id_text(&side->binaries[item->binary].id, id);
	if (side->kind == SIDE_PATHS)
		return ctl_printf("%s:0x%" PRIx64 ":%s", id, item->from,
				  text_outcomes(ways, item->length, item->outcomes));
	if (side->kind == SIDE_BRANCHES)
		return ctl_printf("%s:0x%" PRIx64 "/%u", id, item->from, item->outcomes);
	pathprof_build_id_text(&side->binaries[item->to_binary].id, to);
	return ctl_printf("%s:0x%" PRIx64 ">%s:0x%" PRIx64, id, item->from, to, item->to);
}

/* ---------------------------------------------------------------- files */

static void add(struct side *side, const char *key, size_t len, double weight)
{
	char own[KEY_MAX];

	if (len < sizeof(own) && !memchr(key, 0, len)) {
		memcpy(own, key, len);
		own[len] = 0;
		if (add_ours(side, own, weight))
			return;
	}
	side_add_text(side, key, len, weight);
}

int side_text_read(struct side *side, const char *file, struct pathprof_error *error)
{
	struct pathprof_text_profiles *profiles;
	const struct pathprof_distribution *distribution;
	int r = pathprof_text_profiles_read(&profiles, &file, 1, PATHPROF_TEXT_ANY, error);

	if (r < 0)
		return r;
	distribution = pathprof_text_profile(profiles, 0);
	for (size_t i = 0; i < distribution->cnt; i++) {
		size_t len;
		const char *key = pathprof_text_key(profiles, &distribution->events[i], &len);

		if (key)
			add(side, key, len, distribution->events[i].weight);
	}
	pathprof_text_profiles_free(profiles);
	return 0;
}
