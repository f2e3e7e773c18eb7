// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which build's paths are named next. After each window it is the turn of builds with more than
 * some percent of unnamed paths: first those compared with another build, one after another, then
 * the one of the others with most. Names go into the store and to all subjects of that build.
 *
 * All of it together takes a thousandth of one CPU on average, and a minute's time to begin with;
 * one build a window that is compared with another one may always be looked at. A build whose file
 * cannot be read is tried again after pauses that grow, each time by another container's file.
 */
#include "drift_naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "pathprof/events.h"

#define UNNAMED_SHARE_MAX 0.02
#define CREDIT_NS         UINT64_C(60000000000)
#define BUDGET_PART       1000 /* a thousandth of one CPU */
#define PAUSE_NS          INT64_C(60000000000)
#define PAUSE_MAX_NS      INT64_C(3600000000000)

struct pp_drift_naming_job {
	struct pp_drift_naming *naming;
	struct pathprof_portable *portable;
	bool compared; /* with another build */
	struct pp_names_path *paths;
	size_t cnt, room;
};

static void free_job(struct pp_drift_naming_job *job)
{
	if (!job)
		return;
	pathprof_portable_unref(job->portable);
	free(job->paths);
	free(job);
}

/* ---------------------------------------------------------------- whose turn it is */

static bool is_within_budget(const struct pp_drift_naming *naming)
{
	struct pp_names_stats stats;
	const uint64_t elapsed_ns = pp_monotonic_ns() - naming->began_ns;

	pp_names_stats(naming->names, &stats);
	return stats.cpu_ns <= CREDIT_NS + elapsed_ns / BUDGET_PART;
}

static bool is_compared(const struct pp_drift_subject *subject)
{
	return subject->previous.portable != NULL;
}

static bool may_ask(const struct pp_drift_naming *naming, const struct pp_drift_subject *subject)
{
	if (is_compared(subject))
		return !naming->compared_asked_cnt || is_within_budget(naming);
	/* those of a container are found by its processes, which a window at hand tells */
	return !naming->others_asked_cnt && (naming->common->profile || !subject->container[0]) &&
	       is_within_budget(naming);
}

static bool wants_names(const struct pp_drift_naming *naming,
			const struct pp_drift_subject *subject)
{
	return subject->seen_ns == naming->common->end_ns &&
	       subject->asked_ns != naming->common->end_ns &&
	       naming->common->end_ns >= subject->portable->retry_ns && subject->unnamed > 0 &&
	       (!subject->portable->functions || subject->unnamed_share > UNNAMED_SHARE_MAX);
}

static bool is_before(const struct pp_drift_subject *a, const struct pp_drift_subject *b)
{
	bool a_first = is_compared(a), b_first = is_compared(b);

	return a_first != b_first ? a_first : a->unnamed > b->unnamed;
}

/* One container's file may be readable where another's is not: each has its turn. */
static struct pp_drift_subject *longest_unasked(const struct pp_drift_naming *naming,
						struct pp_drift_subject *of)
{
	struct pp_drift_subject *longest = of;

	for (uint32_t i = 0; i < naming->subjects->cnt; i++) {
		struct pp_drift_subject *subject = naming->subjects->list[i];

		if (subject->portable == of->portable && subject->asked_ns < longest->asked_ns &&
		    is_compared(subject) == is_compared(of) && wants_names(naming, subject))
			longest = subject;
	}
	return longest;
}

static struct pp_drift_subject *next_subject(const struct pp_drift_naming *naming)
{
	struct pp_drift_subject *next = NULL;

	for (uint32_t i = 0; i < naming->subjects->cnt; i++) {
		struct pp_drift_subject *subject = naming->subjects->list[i];

		if (wants_names(naming, subject) && (!next || is_before(subject, next)))
			next = subject;
	}
	return next && next->portable->pause_ns ? longest_unasked(naming, next) : next;
}

static uint32_t find_binary(const struct pathprof_profile *profile,
			    const struct pathprof_build_id *id)
{
	for (uint32_t i = 0; profile && i < profile->binary_cnt; i++)
		if (pathprof_build_id_equal(&profile->binaries[i].id, id))
			return i;
	return PATHPROF_NO_INDEX;
}

static bool has_pid(const pid_t *pids, uint32_t cnt, pid_t pid)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

uint32_t pp_drift_pids(const struct pp_drift_common *common, const struct pathprof_build_id *id,
		       pid_t *ret_pids)
{
	const struct pathprof_profile *profile = common->profile;
	uint32_t binary = find_binary(profile, id), cnt = 0;

	if (binary == PATHPROF_NO_INDEX)
		return 0;
	for (uint32_t i = 0; i < profile->path_cnt && cnt < PP_NAMES_PIDS_MAX; i++) {
		const struct pathprof_path_count *path = &profile->paths[i];
		pid_t pid;

		if (path->binary != binary)
			continue;
		pid = (pid_t)profile->processes[path->process].pid;
		if (pid > 0 && !has_pid(ret_pids, cnt, pid))
			ret_pids[cnt++] = pid;
	}
	return cnt;
}

void pp_drift_find_unnamed(const struct pp_drift_naming *naming, struct pp_drift_subject *subject,
			   const struct pathprof_part *part)
{
	double unnamed = pathprof_portable_unnamed(subject->portable, &part->tally);

	subject->unnamed = unnamed;
	subject->unnamed_share = part->tally.total > 0 ? unnamed / part->tally.total : 0;
	/* others are asked for while the window is at hand */
	if (unnamed > 0 && is_compared(subject))
		subject->pid_cnt = pp_drift_pids(naming->common, &subject->id, subject->pids);
}

/* ---------------------------------------------------------------- what is asked */

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct pp_drift_naming_job *job = context;
	struct pathprof_event event;

	pathprof_event_of_path(&event, job->portable->group, row->start, row->length, row->outcomes,
			       0);
	if (pathprof_portable_find(job->portable, event.key_lo))
		return 0;
	if (pp_grow(&job->paths, job->cnt, &job->room) < 0)
		return -ENOMEM;
	job->paths[job->cnt++] = (struct pp_names_path){row->start, row->length, row->outcomes};
	return job->cnt == PP_NAMES_PATHS_MAX;
}

/* ---------------------------------------------------------------- what comes back */

static int add_names(struct pp_drift_naming_job *job, const struct pp_names_answer *answer)
{
	struct pathprof_portable_path *paths = malloc((answer->path_cnt + 1) * sizeof(*paths));
	int r;

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < answer->path_cnt; i++) {
		const struct pp_names_path *path = &job->paths[i];
		struct pathprof_event event;

		pathprof_event_of_path(&event, job->portable->group, path->start, path->length,
				       path->outcomes, 0);
		paths[i] = (struct pathprof_portable_path){.key_lo = event.key_lo,
							   .function = answer->paths[i].function,
							   .place = answer->paths[i].place};
	}
	r = pathprof_portable_add(job->portable, paths, answer->path_cnt);
	free(paths);
	return r;
}

static int add_functions(struct pathprof_portable *portable, const struct pp_names_answer *answer)
{
	size_t len_bytes = answer->function_cnt * sizeof(*answer->functions);
	uint64_t *keys = portable->functions ? NULL : malloc(len_bytes + 1);

	if (portable->functions)
		return 0;
	if (!keys)
		return -ENOMEM;
	memcpy(keys, answer->functions, len_bytes);
	pathprof_portable_set_functions(portable, keys, answer->function_cnt);
	return 0;
}

static int store_names(const struct pp_drift_naming_job *job, const struct pp_names_answer *answer,
		       struct pathprof_error *error)
{
	struct pathprof_portable_row *rows = malloc((answer->path_cnt + 1) * sizeof(*rows));
	const struct pathprof_build_id *id = &job->portable->id;
	int r;

	if (!rows)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < answer->path_cnt; i++)
		rows[i] = (struct pathprof_portable_row){
			.start = job->paths[i].start,
			.length = job->paths[i].length,
			.outcomes = job->paths[i].outcomes,
			.function = answer->paths[i].function,
			.place = answer->paths[i].place,
			.function_name = answer->paths[i].name,
		};
	r = pathprof_store_add_portable(job->naming->common->store, id, rows, answer->path_cnt,
					error);
	free(rows);
	if (r == 0 && !job->portable->functions)
		r = pathprof_store_set_function_keys(job->naming->common->store, id,
						     answer->functions, answer->function_cnt,
						     error);
	return r;
}

static void take_answer(struct pp_drift_naming_job *job, const struct pp_names_answer *answer)
{
	struct pathprof_error error = {""};
	int r = store_names(job, answer, &error);

	if (r < 0)
		pp_drift_lost(job->naming->common, r, "names of paths not written", error.text);
	r = add_names(job, answer);
	if (r == 0)
		r = add_functions(job->portable, answer);
	if (r < 0)
		pp_drift_lost(job->naming->common, r, "names of paths lost", strerror(-r));
	job->portable->pause_ns = 0;
}

static void pause_build(const struct pp_drift_common *common, struct pathprof_portable *portable)
{
	portable->pause_ns = portable->pause_ns ? 2 * portable->pause_ns : PAUSE_NS;
	if (portable->pause_ns > PAUSE_MAX_NS)
		portable->pause_ns = PAUSE_MAX_NS;
	portable->retry_ns = common->end_ns + portable->pause_ns;
}

/* A file that is gone, or was replaced since, is no trouble: its build is compared with no other.
 */
static bool is_trouble(int code)
{
	return code < 0 && code != -ENOENT && code != -ESTALE && code != -ECANCELED;
}

static void on_named(void *context, int code, const struct pp_names_answer *answer)
{
	struct pp_drift_naming_job *job = context;
	struct pp_drift_naming *naming = job->naming;

	pp_drift_work_begin(naming->common);
	naming->job = NULL;
	if (answer)
		take_answer(job, answer);
	else if (code != -ECANCELED)
		pause_build(naming->common, job->portable);
	if (is_trouble(code))
		pp_drift_lost(naming->common, code, "a binary's file could not be read",
			      strerror(-code));
	free_job(job);
	if (code != -ECANCELED)
		pp_drift_name_some(naming);
	pp_drift_work_end(naming->common);
}

/* ---------------------------------------------------------------- together */

static int ask(struct pp_drift_naming *naming, struct pp_drift_subject *subject,
	       struct pp_drift_naming_job *job)
{
	struct pp_names_job asked = {.id = subject->id, .file = subject->name};
	int r = pathprof_store_known_paths(naming->common->store, &subject->id, take_path, job,
					   NULL);

	if (r < 0)
		return r;
	asked.paths = job->paths;
	asked.path_cnt = job->cnt;
	if (naming->common->profile)
		subject->pid_cnt = pp_drift_pids(naming->common, &subject->id, subject->pids);
	asked.pid_cnt = subject->pid_cnt;
	memcpy(asked.pids, subject->pids, sizeof(asked.pids));
	return pp_names_ask(naming->names, &asked, on_named, job);
}

/* On a busy machine a large file takes minutes: a build that is compared does not wait for it. */
static void make_way(struct pp_drift_naming *naming, const struct pp_drift_subject *subject)
{
	if (subject && is_compared(subject) && naming->job && !naming->job->compared)
		pp_names_cancel(naming->names);
}

void pp_drift_name_some(struct pp_drift_naming *naming)
{
	struct pp_drift_subject *subject;
	struct pp_drift_naming_job *job;
	int r;

	if (!naming->names)
		return;
	subject = next_subject(naming);
	make_way(naming, subject);
	if (pp_names_busy(naming->names))
		return;
	job = subject && may_ask(naming, subject) ? calloc(1, sizeof(*job)) : NULL;
	if (!job)
		return;
	subject->asked_ns = naming->common->end_ns;
	naming->compared_asked_cnt += is_compared(subject);
	naming->others_asked_cnt += !is_compared(subject);
	job->compared = is_compared(subject);
	job->naming = naming;
	job->portable = pathprof_portable_ref(subject->portable);
	r = ask(naming, subject, job);
	if (r == 0) {
		naming->job = job;
		return;
	}
	if (is_trouble(r))
		pp_drift_lost(naming->common, r, "paths cannot be named", strerror(-r));
	pause_build(naming->common, job->portable);
	free_job(job);
}
