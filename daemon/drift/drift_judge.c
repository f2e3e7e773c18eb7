// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One subject in one window: measured against each baseline that a rule or a pinned file names,
 * judged by the rules.
 */
#include "drift_judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define MEASURE_MAX (PP_CONFIG_ALERT_MAX + PP_PINNED_MAX + 2)

/* A measurement of the last `pooled` windows together against one baseline. */
struct measured {
	const char *baseline;
	uint32_t pooled;
	bool valid; /* there was something to measure */
	struct pathprof_baseline base;
	struct pathprof_measured figures;
};

struct judgement {
	struct pp_drift_judge *judge;
	struct pp_drift_subject *subject;
	const struct pathprof_part *part;
	struct pathprof_judged judged;
	struct measured measured[MEASURE_MAX];
	uint32_t measured_cnt;
	bool judged_rolling, unsure; /* by the rules on the rolling baseline */
};

static struct pathprof_baseline base_of(const struct judgement *j, const char *baseline)
{
	const struct pp_drift_subject *s = j->subject;

	if (!strcmp(baseline, PATHPROF_BASELINE_ROLLING))
		return pathprof_rolling_baseline(&s->rolling);
	if (!strcmp(baseline, PATHPROF_BASELINE_PREVIOUS))
		return (struct pathprof_baseline){s->previous.portable ? &s->previous.tally : NULL,
						  s->previous.portable};
	return pp_pinned_baseline(&j->judge->pinned, baseline, s->group, s->name, s->container);
}

static struct measured *measured(struct judgement *j, const char *baseline, uint32_t pooled)
{
	struct measured *m;

	for (uint32_t i = 0; i < j->measured_cnt; i++)
		if (j->measured[i].pooled == pooled && !strcmp(j->measured[i].baseline, baseline))
			return &j->measured[i];
	if (j->measured_cnt == MEASURE_MAX)
		return NULL;
	m = &j->measured[j->measured_cnt++];
	*m = (struct measured){
		.baseline = baseline, .pooled = pooled, .base = base_of(j, baseline)};
	m->valid = pathprof_measure(&m->figures, &j->judged, &m->base, pooled) == 0;
	j->judge->measured += m->valid;
	return m;
}

/* ---------------------------------------------------------------- what is kept */

static void show(struct pp_drift_subject *subject, const char *baseline, const struct measured *m)
{
	uint32_t i = 0;

	while (i < subject->shown_cnt && strcmp(subject->shown[i].baseline, baseline) != 0)
		i++;
	if (i == PP_DRIFT_SHOWN_MAX)
		return;
	if (i == subject->shown_cnt)
		subject->shown_cnt++;
	strncpy(subject->shown[i].baseline, baseline, PP_CONFIG_NAME_MAX - 1);
	subject->shown[i].drift = m->figures.drift;
	subject->shown[i].matched = m->figures.matched;
}

static void add_row(struct pp_drift_judge *judge, const struct pathprof_drift_row *row)
{
	if (pp_grow(&judge->rows, judge->row_cnt, &judge->row_room) < 0)
		judge->common->lost++;
	else
		judge->rows[judge->row_cnt++] = *row;
}

/* Whether this is a baseline that the service makes itself; no file may have its name. */
static bool is_reserved(const char *baseline)
{
	return !strcmp(baseline, PATHPROF_BASELINE_ROLLING) ||
	       !strcmp(baseline, PATHPROF_BASELINE_PREVIOUS);
}

/* Strings live as long as the subject and the baselines: until the window's rows are written. */
static void keep(struct judgement *j, const char *baseline)
{
	const struct measured *m = measured(j, baseline, 1);
	struct pathprof_drift_row row = {
		.window = j->judge->common->window,
		.binary_id = j->subject->id,
		.binary_name = j->subject->name,
		.container = j->subject->container,
		.baseline = baseline,
	};

	if (!m || !m->valid)
		return;
	show(j->subject, baseline, m);
	pathprof_measured_row(&m->figures, &row);
	add_row(j->judge, &row);
}

/* ---------------------------------------------------------------- rules */

/* A window that is no evidence leaves open whether those before it have changed. */
static void take_unsure(struct judgement *j, const struct pp_drift_rule *rule,
			const struct pathprof_alert_state *state,
			const struct pathprof_alert_input *input)
{
	if (strcmp(rule->config->baseline, PATHPROF_BASELINE_ROLLING) != 0 ||
	    state->seen_ns != input->time_ns)
		return;
	j->judged_rolling = true;
	j->unsure |= pathprof_alert_is_unsure(&rule->rule, input);
}

static void judge_rule(struct judgement *j, const struct pp_drift_rule *rule,
		       struct pp_drift_alert *alert)
{
	struct measured *m = measured(j, rule->config->baseline, rule->rule.windows_pooled);
	bool kept = alert->state.phase != PATHPROF_ALERT_QUIET || alert->state.fired_ns;
	struct pathprof_alert_input input;
	struct pathprof_distribution window, base;
	struct pp_drift_news news = {
		.alert = alert,
		.rule = &rule->rule,
		.subject = j->subject,
		.window = &window,
		.base = &base,
		.portable = j->subject->portable,
		.part = j->part,
	};

	if (!m || !m->valid)
		return;
	input = pathprof_alert_input_of(rule->rule.metric, &m->figures.drift,
					j->judge->common->end_ns);
	news.change = pathprof_alert_take(&alert->state, &rule->rule, &input);
	take_unsure(j, rule, &alert->state, &input);
	kept |= alert->state.phase != PATHPROF_ALERT_QUIET;
	alert->changed |= kept;
	if (news.change != PATHPROF_ALERT_FIRED && news.change != PATHPROF_ALERT_RESOLVED)
		return;
	window = pathprof_tally_distribution(&m->figures.window);
	base = pathprof_tally_distribution(&m->figures.base);
	news.drift = &m->figures.drift;
	news.base_portable = m->base.portable;
	news.matched = m->figures.matched;
	news.is_new_normal = !strcmp(rule->config->baseline, PATHPROF_BASELINE_ROLLING) &&
			     j->subject->rolling.renewed_ns > alert->state.fired_ns;
	pp_drift_tell(j->judge->telling, &news);
}

static void judge_rules(struct judgement *j)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (j->judge->alerts->rules[i].config && j->subject->alerts[i])
			judge_rule(j, &j->judge->alerts->rules[i], j->subject->alerts[i]);
}

static bool is_blind(const struct pp_drift_judge *judge, const struct pp_drift_rule *rule)
{
	if (!rule->config || is_reserved(rule->config->baseline))
		return false;
	for (uint32_t i = 0; i < judge->pinned.file_cnt; i++)
		if (!strcmp(judge->pinned.files[i].name, rule->config->baseline))
			return false;
	return true;
}

void pp_drift_tell_blind(struct pp_drift_judge *judge)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		struct pp_drift_rule *rule = &judge->alerts->rules[i];
		bool blind = is_blind(judge, rule);

		if (blind && !rule->blind)
			pp_log(LOG_WARNING,
			       "[Alert %s] judges nothing: Baseline=%s: no such baseline could be "
			       "read in %s: pathprofctl baseline set %s makes it",
			       rule->config->name, rule->config->baseline, judge->pinned.directory,
			       rule->config->baseline);
		rule->blind = blind;
	}
}

void pp_drift_judge(struct pp_drift_judge *judge, struct pp_drift_subject *subject,
		    const struct pathprof_part *part)
{
	struct judgement *j = calloc(1, sizeof(*j));

	if (!j) {
		judge->common->lost++;
		return;
	}
	j->judge = judge;
	j->subject = subject;
	j->part = part;
	j->judged = (struct pathprof_judged){
		.rolling = &subject->rolling,
		.window = &part->tally,
		.portable = subject->portable,
		.dispersion = pathprof_rolling_dispersion(&subject->rolling),
		.per_burst = judge->common->per_burst,
		.samples_min = (double)judge->common->config.drift_samples_min,
	};
	if (pp_drift_is_enough(judge->common, &part->tally)) {
		/* The endpoint shows no baseline that is gone or cannot be measured now. */
		subject->shown_cnt = 0;
		keep(j, PATHPROF_BASELINE_ROLLING);
		keep(j, PATHPROF_BASELINE_PREVIOUS);
		for (uint32_t i = 0; i < judge->pinned.file_cnt; i++)
			if (!is_reserved(judge->pinned.files[i].name))
				keep(j, judge->pinned.files[i].name);
	}
	judge_rules(j);
	if (j->judged_rolling)
		subject->unsure = j->unsure;
	for (uint32_t i = 0; i < j->measured_cnt; i++)
		pathprof_measured_release(&j->measured[i].figures);
	free(j);
}
