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

/* What is measured against. */
struct base {
	const struct pp_counts *counts;     /* NULL: there is none */
	const struct pp_portable *portable; /* of another build; NULL: of this one */
};

/* A measurement of so many pooled windows against one baseline. */
struct measured {
	const char *baseline;
	uint32_t pooled;
	bool valid; /* there was something to measure */
	struct base base;
	/* in samples of equal weight; by portable names when the base is of another build */
	struct pp_counts window, own_base;
	double matched;
	struct pathprof_drift drift;
};

struct judgement {
	struct pp_drift *drift;
	struct pp_drift_subject *subject;
	const struct pp_drift_part *part;
	double dispersion; /* of the rolling baseline; 0: not known */
	struct measured measured[PP_DRIFT_MEASURE_MAX];
	uint32_t measured_cnt;
};

static struct base base_of(const struct judgement *j, const char *baseline)
{
	const struct pp_drift_subject *s = j->subject;

	if (!strcmp(baseline, PP_DRIFT_PREVIOUS))
		return (struct base){s->previous.portable ? &s->previous.counts : NULL,
				     s->previous.portable};
	if (strcmp(baseline, PP_DRIFT_ROLLING) != 0) {
		const struct pp_pinned_part *part = pp_pinned_part(&j->drift->pinned, baseline,
								   s->group, s->name, s->container);

		return part ? (struct base){&part->counts,
					    part->group == s->group ? NULL : part->portable}
			    : (struct base){NULL, NULL};
	}
	/* one bucket says nothing about how windows scatter */
	return (struct base){s->rolling.base.cnt >= 2 ? &s->rolling.base.sum : NULL, NULL};
}

/* Window and base by names that both builds can have. */
static int match_builds(const struct judgement *j, struct measured *m)
{
	struct pp_portable_pair pair;
	int r = pp_portable_pair(&pair, &m->window, j->subject->portable, &m->own_base,
				 m->base.portable);

	if (r < 0)
		return r;
	pp_counts_move(&m->window, &pair.window);
	pp_counts_move(&m->own_base, &pair.base);
	m->matched = pair.matched;
	return 0;
}

static bool measure(const struct judgement *j, struct measured *m)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	const double least = (double)j->drift->config.drift_samples_min;
	struct pathprof_distribution window, base;

	settings.replicates = 0;
	m->matched = 1;
	if (pp_rolling_pool(&j->subject->rolling, &j->part->counts, m->pooled, &m->window) < 0 ||
	    pp_counts_join(&m->own_base, m->base.counts) < 0)
		return false;
	pp_counts_weigh(&m->window);
	pp_counts_weigh(&m->own_base);
	if (m->base.portable && match_builds(j, m) < 0)
		return false;
	window = pp_counts_distribution(&m->window);
	base = pp_counts_distribution(&m->own_base);
	pathprof_drift_set_bursts(&settings, &window, &base, j->drift->per_burst, j->dispersion);
	return base.total >= (long double)least &&
	       (!m->base.portable || window.total >= (long double)least) &&
	       pathprof_drift_measure(&m->drift, &window, &base, &settings) == 0;
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
	m->valid = m->base.counts && measure(j, m);
	j->drift->measured += m->valid;
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
	subject->shown[i].drift = m->drift;
	subject->shown[i].matched = m->matched;
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

/* No file's name: what the service makes itself. */
static bool is_reserved(const char *baseline)
{
	return !strcmp(baseline, PP_DRIFT_ROLLING) || !strcmp(baseline, PP_DRIFT_PREVIOUS);
}

/* Strings live as long as the subject and the baselines: until the window's rows are written. */
static void keep(struct judgement *j, const char *baseline)
{
	const struct measured *m = measured(j, baseline, 1);

	if (!m || !m->valid)
		return;
	show(j->subject, baseline, m);
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
				  .matched = m->matched,
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
		.portable = j->subject->portable,
		.part = j->part,
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
	base = pp_counts_distribution(&m->own_base);
	news.drift = &m->drift;
	news.base_portable = m->base.portable;
	news.matched = m->matched;
	pp_drift_tell(j->drift, &news);
}

static void judge_rules(struct judgement *j)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (j->drift->rules[i].config && j->subject->alerts[i])
			judge_rule(j, &j->drift->rules[i], j->subject->alerts[i]);
}

static void release(struct measured *m)
{
	pp_counts_release(&m->window);
	pp_counts_release(&m->own_base);
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
	j->dispersion = pp_rolling_dispersion(&subject->rolling);
	if (part->counts.samples >= (double)drift->config.drift_samples_min) {
		keep(j, PP_DRIFT_ROLLING);
		keep(j, PP_DRIFT_PREVIOUS);
		for (uint32_t i = 0; i < drift->pinned.file_cnt; i++)
			if (!is_reserved(drift->pinned.files[i].name))
				keep(j, drift->pinned.files[i].name);
	}
	judge_rules(j);
	for (uint32_t i = 0; i < j->measured_cnt; i++)
		release(&j->measured[i]);
	free(j);
}
