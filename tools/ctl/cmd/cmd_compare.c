// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl compare: how far B, the profile of what ran, is from A, the assumed profile (a
 * baseline, a deployed profile, another build), and which functions make the difference.
 */
#include "../compare/comparison.h"
#include "../compare/selector.h"
#include "../ctl.h"
#include "../text/svg.h"

#define DEFAULT_LIMIT 10

static int show(const struct ctl_options *options, struct side *a, struct side *b)
{
	uint32_t limit = options->limit_given ? options->filter.limit : DEFAULT_LIMIT;
	struct comparison comparison;
	int r = comparison_init(&comparison, a, b, options);

	if (r)
		return r;
	if (options->json)
		comparison_print_json(&comparison, limit, svg_listing(options));
	else
		comparison_print(&comparison, limit, svg_listing(options));
	if (options->svg)
		r = comparison_draw(&comparison, options->svg);
	comparison_release(&comparison);
	return r;
}

int cmd_compare(const struct ctl_options *options)
{
	enum side_kind kind =
		options->sort == CTL_SORT_TIME ? SIDE_TIMES : (enum side_kind)options->events;
	struct side a, b;
	int r;

	if (options->sort == CTL_SORT_TIME && options->events)
		return ctl_usage(options, "--sort time compares functions: leave it out with "
					  "--edges, --calls and --branches");
	if (options->argc != 2)
		return ctl_usage(options, "two profiles are needed: A, what was assumed, and B, "
					  "what ran");
	r = selector_load(&a, options, options->argv[0], kind);
	if (r)
		return r;
	r = selector_load(&b, options, options->argv[1], kind);
	if (r == CTL_OK) {
		r = side_check_kinds(&a, &b);
		if (r == CTL_OK)
			r = show(options, &a, &b);
		side_release(&b);
	}
	side_release(&a);
	return r;
}
