// SPDX-License-Identifier: GPL-2.0-or-later
/* The loss of each input of a combination: see combine_losses.h. */
#include "combine_losses.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../text/cleanup.h"
#include "../text/table.h"
#include "pathprof/compare.h"

static int measure_method(struct combine_losses *losses, enum pathprof_combine_method method,
			  const struct pathprof_distribution *const *inputs, bool branches)
{
	struct pathprof_combined combined = {.events = NULL};
	struct pathprof_distribution all;
	int r = pathprof_combine(&combined, method, inputs, losses->input_cnt, branches);

	if (r == 0)
		r = pathprof_distribution_init(&all, combined.events, combined.cnt);
	for (size_t i = 0; i < losses->input_cnt; i++) {
		struct pathprof_relative_entropy kl = {.bits = NAN};

		if (r == 0 && inputs[i]->total > 0)
			r = pathprof_relative_entropy(inputs[i], &all, 0, &kl);
		losses->bits[i][method] = r == 0 ? kl.bits : NAN;
	}
	free(combined.events);
	return r == -ENODATA || r == -ERANGE ? 0 : r;
}

int combine_losses_measure(struct combine_losses *ret_losses,
			   const struct pathprof_distribution *const *inputs, size_t input_cnt,
			   bool branches)
{
	int r = 0;

	ret_losses->input_cnt = input_cnt;
	for (int method = 0; r == 0 && method < PATHPROF_COMBINE_CNT; method++)
		r = measure_method(ret_losses, (enum pathprof_combine_method)method, inputs,
				   branches);
	return r;
}

static void add_bits(struct table *table, double bits, bool chosen)
{
	if (isnan(bits))
		table_cell(table, CTL_DIM, "-");
	else
		table_cell(table, chosen ? CTL_NAME : CTL_PLAIN, "%.4f", bits);
}

/* Returns the greatest loss of all inputs. */
static double most(const struct combine_losses *losses, int method)
{
	double bits = NAN;

	for (size_t i = 0; i < losses->input_cnt; i++)
		bits = fmax(bits, losses->bits[i][method]);
	return bits;
}

void combine_losses_print(const struct combine_losses *losses, const char *const *words,
			  enum pathprof_combine_method chosen, FILE *out)
{
	static const struct table_column columns[] = {{"BITS LOST BY", TABLE_SHRINK},
						      {"UNSCALED", TABLE_RIGHT},
						      {"SCALED", TABLE_RIGHT},
						      {"POLLING", TABLE_RIGHT},
						      {"KL", TABLE_RIGHT}};
	struct table table;

	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i <= losses->input_cnt; i++) {
		bool last = i == losses->input_cnt;

		table_row(&table, 0);
		table_cell(&table, last ? CTL_DIM : CTL_PLAIN, "%s", last ? "most" : words[i]);
		for (int m = 0; m < PATHPROF_COMBINE_CNT; m++)
			add_bits(&table, last ? most(losses, m) : losses->bits[i][m],
				 m == (int)chosen);
	}
	table_print(&table, out, false);
	table_release(&table);
	fprintf(out,
		"Relative entropy of each from the combined profile; written was that by %s.\n",
		pathprof_combine_name(chosen));
}
