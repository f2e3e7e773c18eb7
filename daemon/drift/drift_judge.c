// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One subject in one window: measured against each baseline that a rule or a pinned file names,
 * judged by the rules.
 *
 * The interval is the normal one: a bootstrap would cost a hundred times as much, and just when
 * everything changes at once. docs/drift.md has the error rates of both.
 */
#include "drift_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A measurement of so many pooled windows against one baseline. */
struct measured {
	const char *baseline;
	uint32_t pooled;
	bool valid; /* there was something to measure */
	struct pp_counts window;
	const struct pp_counts *base;
	struct pathprof_drift drift;
};

struct judgement {
	struct pp_drift *drift;
	struct pp_drift_subject *subject;
	const struct pp_drift_part *part;
	double dispersion;
	struct measured measured[PP_DRIFT_MEASURE_MAX];
	uint32_t measured_cnt;
};

static const struct pp_counts *base_of(const struct judgement *j, const char *baseline)
{
	if (strcmp(baseline, PP_DRIFT_ROLLING) != 0)
		return pp_pinned_counts(&j->drift->pinned, baseline, j->subject->group,
					j->subject->container);
	/* one bucket says nothing about how windows scatter */
	return j->subject->rolling.base.cnt >= 2 ? &j->subject->rolling.base.sum : NULL;
}

static bool measure(const struct judgement *j, struct measured *m)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	struct pathprof_distribution window, base;

	settings.replicates = 0;
	settings.dispersion = j->dispersion;
	if (pp_rolling_pool(&j->subject->rolling, j->part->events, j->part->cnt, m->pooled,
			    &m->window) < 0)
		return false;
	window = pp_counts_distribution(&m->window);
	base = pp_counts_distribution(m->base);
	if (base.total < (long double)j->drift->config.drift_samples_min ||
	    pathprof_drift_measure(&m->drift, &window, &base, &settings) < 0)
		return false;
	return true;
}

static struct measured *measured(struct judgement *j, const char *baseline, uint32_t pooled)
{
	struct measured *m;

	for (uint32_t i = 0; i < j->measured_cnt; i++)
		if (j->measured[i].pooled == pooled && !strcmp(j->measured[i].baseline, baseline))
			return &j->measured[i];
	if (j->measured_cnt == PP_DRIFT_MEASURE_MAX)
		return NULL;
	m = &j->measured[j->measured_cnt++];
	*m = (struct measured){
		.baseline = baseline, .pooled = pooled, .base = base_of(j, baseline)};
	m->valid = m->base && measure(j, m);
	j->drift->measured += m->valid;
	return m;
}

/* ---------------------------------------------------------------- what is kept */

static void show(struct pp_drift_subject *subject, const char *baseline,
		 const struct pathprof_drift *drift)
{
	uint32_t i = 0;

	while (i < subject->shown_cnt && strcmp(subject->shown[i].baseline, baseline) != 0)
		i++;
	if (i == PP_DRIFT_SHOWN_MAX)
		return;
	if (i == subject->shown_cnt)
		subject->shown_cnt++;
	strncpy(subject->shown[i].baseline, baseline, PP_CONFIG_NAME_MAX - 1);
	subject->shown[i].drift = *drift;
}

static void add_row(struct pp_drift *drift, const struct pathprof_drift_row *row)
{
	if (drift->row_cnt == drift->row_room) {
		size_t room = drift->row_room ? 2 * drift->row_room : 64;
		struct pathprof_drift_row *rows = realloc(drift->rows, room * sizeof(*rows));

		if (!rows) {
			drift->lost++;
			return;
		}
		drift->rows = rows;
		drift->row_room = room;
	}
	drift->rows[drift->row_cnt++] = *row;
}

/* Strings live as long as the subject and the baselines: until the window's rows are written. */
static void keep(struct judgement *j, const char *baseline)
{
	const struct measured *m = measured(j, baseline, 1);

	if (!m || !m->valid)
		return;
	show(j->subject, baseline, &m->drift);
	add_row(j->drift, &(struct pathprof_drift_row){
				  .window = j->drift->window,
				  .binary_id = j->subject->id,
				  .binary_name = j->subject->name,
				  .container = j->subject->container,
				  .baseline = baseline,
				  .window_samples = m->drift.window_samples,
				  .baseline_samples = m->drift.baseline_samples,
				  .kl_bits = m->drift.kl_bits,
				  .kl_corrected_bits = m->drift.kl_corrected_bits,
				  .kl_low_bits = m->drift.kl_low_bits,
				  .kl_high_bits = m->drift.kl_high_bits,
				  .overlap = m->drift.overlap,
				  .angle_degrees = m->drift.angle_degrees,
				  .coverage_static = m->drift.coverage.static_share,
				  .coverage_dynamic = m->drift.coverage.dynamic_share,
				  .matched = 1,
			  });
}

/* ---------------------------------------------------------------- rules */

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
	};

	if (!m || !m->valid)
		return;
	input = pathprof_alert_input_of(rule->rule.metric, &m->drift, j->drift->end_ns);
	news.change = pathprof_alert_take(&alert->state, &rule->rule, &input);
	kept |= alert->state.phase != PATHPROF_ALERT_QUIET;
	alert->changed |= kept;
	if (news.change != PATHPROF_ALERT_FIRED && news.change != PATHPROF_ALERT_RESOLVED)
		return;
	window = pp_counts_distribution(&m->window);
	base = pp_counts_distribution(m->base);
	news.drift = &m->drift;
	pp_drift_tell(j->drift, &news);
}

static void judge_rules(struct judgement *j)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (j->drift->rules[i].config && j->subject->alerts[i])
			judge_rule(j, &j->drift->rules[i], j->subject->alerts[i]);
}

/* Until it can be estimated: paths out of one burst are alike at worst. */
static double dispersion_of(const struct pp_drift *drift, struct pp_drift_subject *subject)
{
	double dispersion = pp_rolling_dispersion(&subject->rolling);

	if (!(dispersion > 0))
		dispersion = drift->per_burst;
	if (!(dispersion >= 1))
		return 1;
	return dispersion < 1000 ? dispersion : 1000;
}

void pp_drift_judge(struct pp_drift *drift, struct pp_drift_subject *subject,
		    const struct pp_drift_part *part)
{
	struct judgement *j = calloc(1, sizeof(*j));

	if (!j) {
		drift->lost++;
		return;
	}
	j->drift = drift;
	j->subject = subject;
	j->part = part;
	j->dispersion = dispersion_of(drift, subject);
	if (part->samples >= (double)drift->config.drift_samples_min) {
		keep(j, PP_DRIFT_ROLLING);
		for (uint32_t i = 0; i < drift->pinned.file_cnt; i++)
			keep(j, drift->pinned.files[i].name);
	}
	judge_rules(j);
	for (uint32_t i = 0; i < j->measured_cnt; i++)
		pp_counts_release(&j->measured[i].window);
	free(j);
}
