// SPDX-License-Identifier: GPL-2.0-or-later
/* The source's part of the overhead budget: see allowance.h. Source: this project. */
#include "allowance.h"

#include <math.h>

#define PPM       1e6
#define PAY_NS    16e9
#define LEAST     0.25
#define STEP      (1.0 / 8)
#define OWED_MOST 2.8 /* times what the budget has in PAY_NS */

/* Nanoseconds of CPU time that this share earns in wall_ns. */
static double earned_ns(const struct pp_allowance *allowance, uint64_t share_ppm, double wall_ns)
{
	return (double)share_ppm / PPM * allowance->cpu_cnt * wall_ns;
}

/* The source's part of the budget, as a ratio: above 1 where the daemon has paid ahead. */
static double wanted_part(const struct pp_allowance *allowance)
{
	double budget_ns = earned_ns(allowance, allowance->budget_ppm, PAY_NS);

	return budget_ns > 0 ? 1 - allowance->owed_ns / budget_ns : 1;
}

static uint64_t share_of(const struct pp_allowance *allowance, double part)
{
	return (uint64_t)lround((double)allowance->budget_ppm * fmin(fmax(part, LEAST), 1));
}

void pp_allowance_init(struct pp_allowance *allowance, uint64_t budget_ppm, unsigned int cpu_cnt,
		       uint64_t now_ns, uint64_t cpu_ns)
{
	*allowance = (struct pp_allowance){
		.cpu_cnt = cpu_cnt,
		.budget_ppm = budget_ppm,
		.seen_ns = now_ns,
		.cpu_ns = cpu_ns,
	};
	allowance->source_ppm = share_of(allowance, 1 - STEP);
}

void pp_allowance_set_budget(struct pp_allowance *allowance, uint64_t budget_ppm)
{
	allowance->budget_ppm = budget_ppm;
	allowance->source_ppm = share_of(allowance, wanted_part(allowance));
}

static void pay(struct pp_allowance *allowance, uint64_t now_ns, uint64_t cpu_ns)
{
	double most_ns = OWED_MOST * earned_ns(allowance, allowance->budget_ppm, PAY_NS);
	double wall_ns = now_ns > allowance->seen_ns ? (double)(now_ns - allowance->seen_ns) : 0;

	allowance->owed_ns -=
		earned_ns(allowance, allowance->budget_ppm - allowance->source_ppm, wall_ns);
	allowance->seen_ns = now_ns;
	/* a child that has just ended is not seen for a moment */
	if (cpu_ns > allowance->cpu_ns) {
		allowance->owed_ns += (double)(cpu_ns - allowance->cpu_ns);
		allowance->cpu_ns = cpu_ns;
	}
	allowance->owed_ns = fmin(allowance->owed_ns, most_ns);
}

bool pp_allowance_look(struct pp_allowance *allowance, uint64_t now_ns, uint64_t cpu_ns)
{
	const uint64_t before_ppm = allowance->source_ppm;
	double part = (double)before_ppm / (double)allowance->budget_ppm, change;

	pay(allowance, now_ns, cpu_ns);
	change = wanted_part(allowance) - part;
	if (fabs(change) > STEP)
		allowance->source_ppm = share_of(allowance, part + change / 2);
	return allowance->source_ppm != before_ppm;
}
