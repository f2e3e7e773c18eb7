// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions in which two sides differ most, for a cell of a table: see comparison.h. */
#include "comparison.h"

#include <math.h>
#include <stdlib.h>

#include "../text/cleanup.h"
#include "../view/json.h"

#define FUNCTIONS_SHOWN 3
#define SHARE_MIN       0.01 /* a function whose share moved less is not worth a word */

char *comparison_brief(const struct comparison *c)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	const char *between = "";
	int shown = 0;

	if (!out)
		ctl_no_memory();
	for (size_t i = 0; i < c->function_cnt && shown < FUNCTIONS_SHOWN; i++) {
		const struct moved *moved = &c->functions[i];
		_cleanup_free_ char *name = moved_function_name(moved);

		if (fabs(moved->b_share - moved->a_share) < SHARE_MIN)
			continue;
		fprintf(out, "%s%s %.0f%% -> %.0f%%", between, name, 100 * moved->a_share,
			100 * moved->b_share);
		between = ", ";
		shown++;
	}
	if (fclose(out) != 0)
		ctl_no_memory();
	return text;
}

json_t *comparison_brief_json(const struct comparison *c, const char *a_key, const char *b_key)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < c->function_cnt && i < FUNCTIONS_SHOWN; i++) {
		const struct moved *moved = &c->functions[i];
		_cleanup_free_ char *name = moved_function_name(moved);
		json_t *row = json_object();

		json_add_text(row, "function", name);
		json_add_real(row, a_key, moved->a_share);
		json_add_real(row, b_key, moved->b_share);
		json_array_append_new(rows, row);
	}
	return rows;
}
