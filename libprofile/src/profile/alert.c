// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The alert rules' state machine. */
#include "pathprof/alert.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define POOLED_MAX 1024

enum { ABOVE = false, BELOW = true };

#define METRIC(id, name, fires, most, figure) {name, fires},
#define FIGURE(id, name, fires, most, figure) figure,

static const struct {
	const char *name;
	bool below;
} metrics[PATHPROF_METRIC_CNT] = {PATHPROF_METRICS(METRIC)};

const struct pathprof_alert_rule pathprof_alert_fast = {
	.metric = PATHPROF_METRIC_KL_CORRECTED,
	.threshold = 0.01,
	.hysteresis = 0.005,
	.samples_min = 200,
	.windows_pooled = 1,
	.windows_to_fire = 2,
	.windows_to_resolve = 2,
	.cool_down_ns = 300000000000,
};
const struct pathprof_alert_rule pathprof_alert_slow = {
	.metric = PATHPROF_METRIC_KL_CORRECTED,
	.threshold = 0.005,
	.hysteresis = 0.0025,
	.samples_min = 200,
	.windows_pooled = 3,
	.windows_to_fire = 1,
	.windows_to_resolve = 2,
	.cool_down_ns = 300000000000,
};

const char *pathprof_metric_name(enum pathprof_metric metric)
{
	return (unsigned int)metric < PATHPROF_METRIC_CNT ? metrics[metric].name : NULL;
}

bool pathprof_metric_fires_below(enum pathprof_metric metric)
{
	return (unsigned int)metric < PATHPROF_METRIC_CNT && metrics[metric].below;
}

int pathprof_alert_rule_check(const struct pathprof_alert_rule *rule)
{
	if ((unsigned int)rule->metric >= PATHPROF_METRIC_CNT || !isfinite(rule->threshold) ||
	    !isfinite(rule->hysteresis) || rule->hysteresis < 0 || !isfinite(rule->samples_min) ||
	    rule->samples_min < 0 || !rule->windows_pooled || rule->windows_pooled > POOLED_MAX ||
	    !rule->windows_to_fire || !rule->windows_to_resolve || rule->cool_down_ns < 0)
		return -EINVAL;
	return 0;
}

int pathprof_alert_state_check(const struct pathprof_alert_state *s)
{
	bool fired = s->fired_ns != 0, resolved = s->resolved_ns != 0;

	if (s->phase >= PATHPROF_ALERT_PHASE_CNT || isnan(s->value) || s->since_ns > s->seen_ns ||
	    s->fired_ns > s->seen_ns || s->resolved_ns > s->seen_ns)
		return -EBADMSG;
	if (s->phase == PATHPROF_ALERT_FIRING &&
	    (!fired || s->since_ns != s->fired_ns || (resolved && s->resolved_ns >= s->fired_ns)))
		return -EBADMSG;
	if (s->phase != PATHPROF_ALERT_FIRING &&
	    (fired != resolved || s->resolved_ns < s->fired_ns))
		return -EBADMSG;
	if (s->phase == PATHPROF_ALERT_PENDING && !s->streak_cnt)
		return -EBADMSG;
	return 0;
}

struct pathprof_alert_input pathprof_alert_input_of(enum pathprof_metric metric,
						    const struct pathprof_drift *drift,
						    int64_t time_ns)
{
	const struct pathprof_drift *d = drift;
	const double figures[PATHPROF_METRIC_CNT] = {PATHPROF_METRICS(FIGURE)};
	double value = (unsigned int)metric < PATHPROF_METRIC_CNT ? figures[metric] : NAN;

	return (struct pathprof_alert_input){
		.time_ns = time_ns,
		.samples = drift->window_samples,
		.value = value,
		.value_low = metric == PATHPROF_METRIC_KL_CORRECTED ? drift->kl_low_bits : value};
}

static bool is_beyond(const struct pathprof_alert_rule *rule, double value)
{
	return pathprof_metric_fires_below(rule->metric) ? value < rule->threshold
							 : value > rule->threshold;
}

static bool is_over(const struct pathprof_alert_rule *rule,
		    const struct pathprof_alert_input *input)
{
	return is_beyond(rule, input->value) && is_beyond(rule, input->value_low);
}

bool pathprof_alert_is_unsure(const struct pathprof_alert_rule *rule,
			      const struct pathprof_alert_input *input)
{
	return is_beyond(rule, input->value) && !is_beyond(rule, input->value_low);
}

static bool is_well(const struct pathprof_alert_rule *rule,
		    const struct pathprof_alert_input *input)
{
	if (pathprof_metric_fires_below(rule->metric))
		return input->value >= rule->threshold + rule->hysteresis;
	return input->value <= rule->threshold - rule->hysteresis;
}

static bool is_evidence(const struct pathprof_alert_state *state,
			const struct pathprof_alert_rule *rule,
			const struct pathprof_alert_input *input)
{
	return input->samples >= rule->samples_min && !isnan(input->value) &&
	       !isnan(input->value_low) && input->time_ns > state->seen_ns;
}

static void enter(struct pathprof_alert_state *state, enum pathprof_alert_phase phase,
		  int64_t time_ns)
{
	state->phase = phase;
	state->since_ns = time_ns;
	state->streak_cnt = 0;
}

/* The cool-down may be longer than all time there is: no sum is made. */
static bool is_cooling(const struct pathprof_alert_state *state,
		       const struct pathprof_alert_rule *rule, int64_t time_ns)
{
	int64_t since;

	return state->resolved_ns != 0 &&
	       !__builtin_sub_overflow(time_ns, state->resolved_ns, &since) &&
	       since < rule->cool_down_ns;
}

/* One more window over the threshold, not firing yet. */
static enum pathprof_alert_change take_over(struct pathprof_alert_state *state,
					    const struct pathprof_alert_rule *rule, int64_t time_ns)
{
	bool was_quiet = state->phase == PATHPROF_ALERT_QUIET;

	if (was_quiet)
		enter(state, PATHPROF_ALERT_PENDING, time_ns);
	state->streak_cnt += state->streak_cnt < UINT32_MAX;
	if (state->streak_cnt >= rule->windows_to_fire && !is_cooling(state, rule, time_ns)) {
		enter(state, PATHPROF_ALERT_FIRING, time_ns);
		state->fired_ns = time_ns;
		return PATHPROF_ALERT_FIRED;
	}
	return was_quiet ? PATHPROF_ALERT_BEGAN_PENDING : PATHPROF_ALERT_SAME;
}

static enum pathprof_alert_change take_firing(struct pathprof_alert_state *state,
					      const struct pathprof_alert_rule *rule, bool well,
					      int64_t time_ns)
{
	state->streak_cnt = well ? state->streak_cnt + 1 : 0;
	if (state->streak_cnt < rule->windows_to_resolve)
		return PATHPROF_ALERT_SAME;
	enter(state, PATHPROF_ALERT_QUIET, time_ns);
	state->resolved_ns = time_ns;
	return PATHPROF_ALERT_RESOLVED;
}

enum pathprof_alert_change pathprof_alert_take(struct pathprof_alert_state *state,
					       const struct pathprof_alert_rule *rule,
					       const struct pathprof_alert_input *input)
{
	if (!is_evidence(state, rule, input))
		return PATHPROF_ALERT_SAME;
	state->seen_ns = input->time_ns;
	state->value = input->value;
	if (state->phase == PATHPROF_ALERT_FIRING)
		return take_firing(state, rule, is_well(rule, input), input->time_ns);
	if (is_over(rule, input))
		return take_over(state, rule, input->time_ns);
	if (state->phase == PATHPROF_ALERT_QUIET)
		return PATHPROF_ALERT_SAME;
	enter(state, PATHPROF_ALERT_QUIET, input->time_ns);
	return PATHPROF_ALERT_CALMED;
}
