// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service's judgement held against programs whose truth is known: windows of a made-up program
 * go through the daemon's own code, rolling baseline, dispersion, default rules and alerts, and the
 * errors of both kinds are counted. Seeds are fixed, so the figures are the same everywhere.
 *
 * Bound: a rule calls at most 1 % of windows changed when nothing did, however samples hang
 * together, and whatever the budget leaves of a load that changes.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/drift/drift_state.h"
#include "../../tools/lab/drift/world.h"

#define EVENTS_MAX 1024
#define WINDOW_NS  INT64_C(60000000000)

struct scene {
	enum lab_world_kind kind;
	size_t events;
	uint64_t samples; /* a window */
	struct lab_bursts bursts;
	double varies; /* standard deviation of the logarithm of a share, window by window */
	enum lab_move move;
	double flow;
	uint32_t calm_windows, moved_windows; /* of a trial */
	uint32_t trials;
	bool fooled; /* samples are said to be independent, and no dispersion is seen */
	/*
	 * From the twelfth window on the less frequent half of the events runs while the program
	 * is mostly idle: it has as many bursts as the other, and each stands for less time.
	 */
	bool idles;
	bool unweighed; /* ... and nobody weighs them */
};

struct tally {
	uint32_t judged; /* calm windows for which there were figures */
	uint32_t over;   /* ... at whose end an alert was pending or firing */
	uint32_t fired;
	uint32_t plain_over;                 /* ... with plain D above the fast rule's threshold */
	double corrected, lowest, plain;     /* bits: mean, least and mean of judged calm windows */
	uint32_t caught, caught_windows_max; /* trials; of them the slowest one's windows */
	double caught_windows;               /* mean */
};

/* Asked for names of paths, has none. */
static struct pathprof_store *open_store(void)
{
	struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	char file[300];

	snprintf(file, sizeof(file), "%s/p.db", unit_tmpdir());
	CU_ASSERT_EQUAL_FATAL(pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, &error), 0);
	return store;
}

struct watch {
	struct pp_drift drift;
	struct pp_drift_subject *subject;
	uint64_t random;
	uint32_t window;
	const struct scene *scene;
};

static void watch_begin(struct watch *w, const struct scene *scene, struct pathprof_store *store,
			uint64_t seed)
{
	*w = (struct watch){.random = seed, .scene = scene, .drift.common.store = store};
	pp_drift_join(&w->drift);
	pp_config_defaults(&w->drift.common.config);
	w->drift.common.config.drift_previous = 0;
	w->drift.common.config.drift_samples_min = 50;
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (w->drift.common.config.alerts[i].samples_min > 50)
			w->drift.common.config.alerts[i].samples_min = 50;
	pp_drift_make_rules(&w->drift.alerts);
}

static void watch_end(struct watch *w)
{
	pp_drift_free_subjects(&w->drift.subjects);
	pp_drift_free_alerts(&w->drift.alerts);
	free(w->drift.judge.rows);
}

static double share_behind(const struct lab_world *world, size_t first)
{
	double share = 0;

	for (size_t i = first; i < world->cnt; i++)
		share += world->share[i];
	return share;
}

static void add_burst(struct pathprof_worth *seen, const struct pathprof_event *burst, size_t cnt,
		      double weight)
{
	for (size_t i = 0; i < cnt; i++) {
		seen[i].samples += burst[i].weight;
		seen[i].squares += burst[i].squares;
		seen[i].weight += weight * burst[i].weight;
		seen[i].weight_squares += weight * weight * burst[i].squares;
	}
}

/* Bursts of each half alike, of alike samples; their weights give both their share of the time. */
static void draw_idling(struct watch *w, const struct lab_world *world, struct pathprof_worth *seen)
{
	static struct pathprof_event burst[EVENTS_MAX];
	const uint32_t samples = w->scene->bursts.samples;
	const size_t half = world->cnt / 2;
	const double idle = share_behind(world, half);

	for (uint64_t drawn = 0; drawn < w->scene->samples; drawn += samples) {
		bool wanted = drawn / samples % 2, behind;
		double weight = 2000 * (wanted ? idle : 1 - idle);
		size_t i;

		do {
			lab_world_draw_bursts(world, samples, &w->scene->bursts, &w->random, burst);
			for (i = 0; !(burst[i].weight > 0); i++)
				;
			behind = i >= half;
		} while (behind != wanted);
		add_burst(seen, burst, world->cnt, weight);
	}
}

static void draw_window(struct watch *w, const struct lab_world *world,
			struct pathprof_event *events)
{
	const struct scene *s = w->scene;
	struct lab_world varied;

	if (!(s->varies > 0)) {
		lab_world_draw_bursts(world, s->samples, &s->bursts, &w->random, events);
		return;
	}
	CU_ASSERT_EQUAL_FATAL(lab_world_init_varied(&varied, world, s->varies, &w->random), 0);
	lab_world_draw_bursts(&varied, s->samples, &s->bursts, &w->random, events);
	lab_world_release(&varied);
}

static void fill_part(struct watch *w, const struct lab_world *world, struct pathprof_tally *counts)
{
	static struct pathprof_event events[EVENTS_MAX];
	struct pathprof_worth seen[EVENTS_MAX] = {0};
	bool weighed = w->scene->idles && !w->scene->unweighed;

	if (w->scene->idles && w->window >= 12) {
		draw_idling(w, world, seen);
	} else {
		draw_window(w, world, events);
		for (size_t i = 0; i < world->cnt && w->scene->fooled; i++)
			events[i].squares = events[i].weight;
		add_burst(seen, events, world->cnt, 1000);
	}
	for (size_t i = 0; i < world->cnt; i++) {
		const struct pathprof_event key = {.key_lo = i};

		CU_ASSERT_EQUAL(pathprof_tally_append(counts, &key, &seen[i], weighed), 0);
	}
	CU_ASSERT_EQUAL(pathprof_tally_sort(counts), 0);
}

/* Measures a window as the service does. */
static void watch_window(struct watch *w, const struct lab_world *world)
{
	static const struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	struct pathprof_part part = {.id = &id, .name = "/bin/program", .container = ""};

	fill_part(w, world, &part.tally);
	w->drift.common.window = ++w->window;
	w->drift.common.end_ns = w->window * WINDOW_NS;
	w->drift.common.per_burst = w->scene->bursts.samples;
	w->drift.judge.row_cnt = 0;
	w->subject = pp_drift_subject(&w->drift.subjects, &part, true);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->subject);
	if (!w->subject)
		return;
	if (w->scene->fooled) {
		w->subject->rolling.base.dispersion = 1;
		w->subject->rolling.base.changed = false;
	}
	pp_drift_judge(&w->drift.judge, w->subject, &part);
	CU_ASSERT_EQUAL(pp_drift_push(&w->drift.subjects, w->subject, &part, w->drift.common.end_ns,
				      pp_drift_alarmed(&w->drift.alerts, w->subject->alerts)),
			0);
	pathprof_tally_release(&part.tally);
}

static enum pathprof_alert_phase worst_phase(const struct watch *w)
{
	enum pathprof_alert_phase worst = PATHPROF_ALERT_QUIET;

	for (uint32_t i = 0; i < w->drift.alerts.cnt; i++)
		if (w->drift.alerts.list[i]->state.phase > worst)
			worst = w->drift.alerts.list[i]->state.phase;
	return worst;
}

static void take_calm(struct watch *w, struct tally *t, enum pathprof_alert_phase before)
{
	const struct pathprof_drift_row *row = w->drift.judge.rows;

	if (!w->drift.judge.row_cnt)
		return;
	t->judged++;
	t->over += worst_phase(w) != PATHPROF_ALERT_QUIET;
	t->fired += worst_phase(w) == PATHPROF_ALERT_FIRING && before != PATHPROF_ALERT_FIRING;
	t->plain_over += row->kl_bits > pathprof_alert_fast.threshold;
	t->plain += row->kl_bits;
	t->corrected += row->kl_corrected_bits;
	t->lowest = fmin(t->lowest, row->kl_corrected_bits);
}

static void run_trial(const struct scene *scene, const struct lab_world *calm,
		      const struct lab_world *moved, struct pathprof_store *store, uint64_t seed,
		      struct tally *t)
{
	struct watch w;
	bool fired;

	watch_begin(&w, scene, store, seed);
	for (uint32_t i = 0; i < scene->calm_windows; i++) {
		enum pathprof_alert_phase before = worst_phase(&w);

		watch_window(&w, calm);
		take_calm(&w, t, before);
	}
	fired = worst_phase(&w) == PATHPROF_ALERT_FIRING;
	for (uint32_t i = 1; i <= scene->moved_windows && !fired; i++) {
		watch_window(&w, moved);
		fired = worst_phase(&w) == PATHPROF_ALERT_FIRING;
		if (!fired)
			continue;
		t->caught++;
		t->caught_windows += i;
		if (i > t->caught_windows_max)
			t->caught_windows_max = i;
	}
	watch_end(&w);
}

static struct tally run(const struct scene *scene)
{
	struct lab_world calm, moved;
	struct pathprof_store *store = open_store();
	struct tally t = {0};

	CU_ASSERT_EQUAL_FATAL(lab_world_init(&calm, scene->kind, scene->events), 0);
	CU_ASSERT_EQUAL_FATAL(lab_world_init_moved(&moved, &calm, scene->move, scene->flow), 0);
	for (uint32_t i = 0; i < scene->trials; i++)
		run_trial(scene, &calm, &moved, store, 1000003 * i + scene->samples, &t);
	lab_world_release(&calm);
	lab_world_release(&moved);
	pathprof_store_free(store);
	t.corrected /= t.judged ? t.judged : 1;
	t.plain /= t.judged ? t.judged : 1;
	t.caught_windows /= t.caught ? t.caught : 1;
	return t;
}

/* ---------------------------------------------------------------- nothing changed */

static struct scene calm_scene(uint32_t burst, double stay, uint64_t samples)
{
	return (struct scene){
		.kind = LAB_WORLD_ZIPF,
		.events = 200,
		.samples = samples,
		.bursts = {.samples = burst, .stay = stay, .loop = 8, .known = true},
		.calm_windows = 24,
		.trials = unit_rounds(3, 5),
	};
}

static void add(struct tally *to, const struct tally *t)
{
	to->judged += t->judged;
	to->fired += t->fired;
	to->over += t->over;
	to->plain_over += t->plain_over;
}

static const uint32_t burst_sizes[] = {1, 4, 14, 30};
static const uint64_t sample_sizes[] = {70, 200, 1000, 5000};

/* All sizes of one kind; squares known or not, shares that vary or not. */
static struct tally run_calm(double stay, bool known, double varies)
{
	struct tally all = {0};

	for (size_t b = 0; b < 4; b++)
		for (size_t n = 0; n < 4; n++) {
			struct scene scene = calm_scene(burst_sizes[b], stay, sample_sizes[n]);
			struct tally t;

			scene.bursts.known = known;
			scene.varies = varies;
			t = run(&scene);
			CU_ASSERT(t.judged == scene.trials * (scene.calm_windows - 4));
			/* on average chance is taken off, and not much more */
			CU_ASSERT(t.corrected < 0.1 * t.plain);
			if (known)
				CU_ASSERT(t.corrected > -0.2 * t.plain);
			add(&all, &t);
		}
	return all;
}

static void test_calm(void)
{
	struct tally alike = run_calm(1, true, 0), loops = run_calm(0.7, true, 0);

	CU_ASSERT(alike.fired * 100 <= alike.judged);
	CU_ASSERT(loops.fired * 100 <= loops.judged);
	/* The same count must see what rings too often: plain D does. */
	CU_ASSERT(alike.plain_over * 100 > 90 * alike.judged);
}

static void test_calm_varying(void)
{
	struct tally t = run_calm(0.7, true, 0.1);

	CU_ASSERT(t.fired * 100 <= t.judged);
}

static void test_calm_unknown(void)
{
	struct tally alike = run_calm(1, false, 0), loops = run_calm(0.7, false, 0);

	CU_ASSERT(alike.fired * 100 <= alike.judged);
	CU_ASSERT(loops.fired * 100 <= loops.judged);
}

/* A program that idles behaves the same however much idle time the budget leaves. */
static void test_calm_idling(void)
{
	struct tally weighed = {0}, unweighed;

	for (size_t b = 0; b < 4; b++)
		for (size_t n = 1; n < 4; n++) {
			struct scene scene = calm_scene(burst_sizes[b], 1, sample_sizes[n]);
			struct tally t;

			scene.idles = true;
			t = run(&scene);
			CU_ASSERT(t.judged > 0);
			CU_ASSERT(t.corrected < 0.1 * t.plain && t.corrected > -0.35 * t.plain);
			add(&weighed, &t);
		}
	CU_ASSERT(weighed.fired * 100 <= weighed.judged);
	unweighed = run(&(struct scene){
		.kind = LAB_WORLD_ZIPF,
		.events = 200,
		.samples = 5000,
		.bursts = {.samples = 4, .stay = 1, .loop = 8, .known = true},
		.calm_windows = 24,
		.trials = unit_rounds(3, 5),
		.idles = true,
		.unweighed = true,
	});
	CU_ASSERT(unweighed.over * 3 > unweighed.judged);
}

/* Bursts that nobody knows of ring: the bound is one that can be missed. */
static void test_planted_bursts(void)
{
	struct scene scene = calm_scene(14, 1, 1000);
	struct tally t;

	scene.fooled = true;
	t = run(&scene);
	CU_ASSERT(t.over * 2 > t.judged);
}

/* ---------------------------------------------------------------- something changed */

static void test_moved(void)
{
	for (unsigned int move = LAB_MOVE_OTHER; move < LAB_MOVE_CNT; move++) {
		struct scene scene = calm_scene(1, 1, 5000);
		struct tally t;

		scene.move = (enum lab_move)move;
		scene.flow = 0.1;
		scene.calm_windows = 8;
		scene.moved_windows = 3;
		scene.trials = unit_rounds(8, 20);
		t = run(&scene);
		CU_ASSERT(t.caught * 100 >= 95 * scene.trials);
		CU_ASSERT(t.caught_windows_max <= 3);
	}
}

/* Half of the flow moves at ten bursts a window; bursts stay at an event with so much probability.
 */
static struct tally run_few_bursts(enum lab_move move, double stay, uint32_t trials)
{
	struct scene scene = calm_scene(14, stay, 140);

	scene.move = move;
	scene.flow = 0.5;
	scene.calm_windows = 8;
	scene.moved_windows = 10;
	scene.trials = trials;
	return run(&scene);
}

static const double stays[] = {1, 0.7};

/* Half of the flow is seen before it becomes the baseline. */
static void test_few_bursts(void)
{
	const uint32_t trials = unit_rounds(20, 60);

	for (size_t i = 0; i < 2; i++) {
		struct tally t = run_few_bursts(LAB_MOVE_OTHER, stays[i], trials);

		CU_ASSERT(t.caught * 100 >= 85 * trials);
		CU_ASSERT(t.caught_windows <= 3);
	}
}

/*
 * One window is not sure of ten new events, and those that come meanwhile must not become the
 * baseline: where they do, 81 % of changes are caught if bursts stay.
 */
static void test_few_bursts_unsure(void)
{
	const uint32_t trials = unit_rounds(40, 200);

	for (size_t i = 0; i < 2; i++) {
		struct tally t = run_few_bursts(LAB_MOVE_NEW, stays[i], trials);

		CU_ASSERT(t.caught * 100 >= 90 * trials);
		CU_ASSERT(t.caught_windows <= 4);
	}
}

/* A change of nothing must not count as caught. */
static void test_planted_stillness(void)
{
	struct scene scene = calm_scene(1, 1, 5000);
	struct tally t;

	scene.move = LAB_MOVE_OTHER;
	scene.moved_windows = 3;
	scene.trials = unit_rounds(8, 20);
	t = run(&scene);
	CU_ASSERT_EQUAL(t.caught, 0);
}

static const struct unit_test tests[] = {
	{"nothing changed, bursts known: at most 1 % of windows alarm", test_calm},
	{"... and shares that vary a bit by themselves", test_calm_varying},
	{"... and bursts not known", test_calm_unknown},
	{"... and a budget that gives idle time as many bursts as busy time", test_calm_idling},
	{"bursts that nobody knows of ring", test_planted_bursts},
	{"10 % of the flow moved: caught within three windows", test_moved},
	{"half of the flow moved, ten bursts a window: caught soon", test_few_bursts},
	{"... also where several windows are not sure", test_few_bursts_unsure},
	{"no flow moved: not caught", test_planted_stillness},
};
UNIT_SUITE(drift_judge, tests)
