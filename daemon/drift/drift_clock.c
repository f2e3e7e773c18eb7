// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the clock is set, the times that drift remembers move with it, so that how long ago
 * something was stays as it is. Else nothing would be judged until a clock that was set back has
 * caught up (a window must be newer than the last), and one set forward would end every alert as
 * out of date. Happens rarely. One owner, the event loop.
 */
#include "drift_state.h"

void pp_drift_move_time(int64_t *time_ns, int64_t by_ns)
{
	int64_t moved_ns;

	/* 0: never */
	if (*time_ns && !__builtin_add_overflow(*time_ns, by_ns, &moved_ns))
		*time_ns = moved_ns > 0 ? moved_ns : 1;
}

static void move_span(struct pathprof_rolling_span *span, int64_t by_ns)
{
	for (uint32_t i = 0; i < span->cnt; i++) {
		pp_drift_move_time(&span->buckets[i].begin_ns, by_ns);
		pp_drift_move_time(&span->buckets[i].end_ns, by_ns);
	}
}

static void move_subject(struct pp_drift_subject *subject, int64_t by_ns)
{
	pp_drift_move_time(&subject->asked_ns, by_ns);
	pp_drift_move_time(&subject->seen_ns, by_ns);
	pp_drift_move_time(&subject->rolling.renewed_ns, by_ns);
	for (uint32_t i = 0; i < subject->rolling.recent_cnt; i++)
		pp_drift_move_time(&subject->rolling.recent[i].end_ns, by_ns);
	move_span(&subject->rolling.base, by_ns);
	move_span(&subject->rolling.held, by_ns);
	/* containers share it: to ask too early costs a look, to ask hours late costs the names */
	if (subject->portable)
		subject->portable->retry_ns = 0;
}

static void move_alert(struct pp_drift_alert *alert, int64_t by_ns)
{
	struct pathprof_alert_state *state = &alert->state;

	pp_drift_move_time(&state->since_ns, by_ns);
	pp_drift_move_time(&state->fired_ns, by_ns);
	pp_drift_move_time(&state->resolved_ns, by_ns);
	pp_drift_move_time(&state->seen_ns, by_ns);
	alert->changed = true;
}

void pp_drift_move_alerts(struct pp_drift_alerts *alerts, int64_t by_ns)
{
	for (uint32_t i = 0; i < alerts->cnt; i++)
		move_alert(alerts->list[i], by_ns);
}

void pp_drift_clock_set(struct pp_drift *drift, int64_t by_ns)
{
	if (!drift)
		return;
	for (uint32_t i = 0; i < drift->subjects.cnt; i++)
		move_subject(drift->subjects.list[i], by_ns);
	pp_drift_move_alerts(&drift->alerts, by_ns);
	pp_drift_move_restore(drift, by_ns);
}

int64_t pp_drift_alerts_ahead_ns(const struct pp_drift_alerts *alerts, int64_t now_ns)
{
	int64_t latest_ns = now_ns;

	for (uint32_t i = 0; i < alerts->cnt; i++)
		if (alerts->list[i]->state.seen_ns > latest_ns)
			latest_ns = alerts->list[i]->state.seen_ns;
	return latest_ns - now_ns;
}

void pp_drift_leave_future(struct pp_drift *drift)
{
	int64_t ahead_ns = pp_drift_alerts_ahead_ns(&drift->alerts, drift->common.end_ns);

	if (ahead_ns)
		pp_drift_clock_set(drift, -ahead_ns);
}
