// SPDX-License-Identifier: GPL-2.0-or-later
/* Questions for profiles, and their answers: see pgo.h. */
#include "pgo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "child.h"
#include "pathprof/format.h"
#include "scratch.h"
#include "share.h"
#include "tenants.h"

#define WAITING_MAX   (HUB_TENANTS_MAX * 16)
#define KEPT_MAX      4
#define KEPT_BYTES    (4u << 20) /* a larger one is not kept */
#define KEPT_NS       (PATHPROF_PARCEL_SLOT_S * PP_NSEC_PER_SEC)
#define CHILD_NS      (120 * PP_NSEC_PER_SEC)
#define ANSWER_MAX    (16u << 20)
#define SPAN_S        86400
#define ARGUMENTS_MAX 32 /* of a child */
#define RELEASE_MIN   8  /* digits */

/* The formats that compilers and layout tools read. */
static const enum pathprof_format formats[] = {
	PATHPROF_FORMAT_BOLT_FDATA,  PATHPROF_FORMAT_BOLT_PREAGG,  PATHPROF_FORMAT_PROFGEN_RAW,
	PATHPROF_FORMAT_LLVM_SAMPLE, PATHPROF_FORMAT_AUTOFDO_TEXT,
};

/* Jobs under way and waiting. */
static const struct hub_share waiting_most = {.tenant = 16, .reader = 8};

/* A kept answer, which would come out the same. */
struct kept {
	struct hub_pgo_job job;
	uint64_t made_ns;
};

struct hub_pgo_jobs {
	const char *files;
	char *scratch;
	void (*on_done)(struct hub_pgo_job *job);
	struct hub_pgo_job *waiting[WAITING_MAX]; /* the first is under way */
	size_t cnt;
	struct hub_child child;
	struct kept kept[KEPT_MAX];
	bool is_over;
};

static int64_t seconds_of(const char *text)
{
	char *end;
	long long seconds;

	errno = 0;
	seconds = strtoll(text, &end, 10);
	return text[0] < '0' || text[0] > '9' || *end || errno ||
			       seconds > INT64_MAX / (int64_t)PP_NSEC_PER_SEC
		       ? -1
		       : seconds;
}

/* ---------------------------------------------------------------- answers */

static void set_answer(struct hub_pgo_job *job, unsigned int status, const char *bytes, size_t len)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, len);

	free(job->bytes);
	job->bytes = malloc(len + 1);
	job->status = job->bytes ? status : 503;
	job->len = job->bytes ? len : 0;
	job->is_done = true;
	if (job->bytes) {
		memcpy(job->bytes, bytes, len);
		job->bytes[len] = 0;
	}
	snprintf(job->etag, sizeof(job->etag), "\"%016" PRIx64 "%016" PRIx64 "\"",
		 (uint64_t)hash.high64, (uint64_t)hash.low64);
}

static void refuse(struct hub_pgo_job *job, unsigned int status, const char *why)
{
	set_answer(job, status, why, strlen(why));
}

/* The answer is a line with the build-id, then the profile, or the reason why there is none. */
static void take_answer(struct hub_pgo_job *job, const struct hub_child *child)
{
	const char *answer = child->answer ? child->answer : "";
	const char *line = memchr(answer, '\n', child->len);
	size_t head = line ? (size_t)(line - answer) + 1 : 0;

	if (child->status != HUB_OK && child->status != HUB_NONE && child->status != HUB_NO_FILE) {
		refuse(job, 503, "the profile could not be made: the hub's log says why");
		return;
	}
	if (head > sizeof(job->build_id))
		head = 0;
	if (head)
		snprintf(job->build_id, sizeof(job->build_id), "%.*s", (int)head - 1, answer);
	if (child->status == HUB_NO_FILE)
		hub_files_want(job->files, job->build_id);
	set_answer(job, child->status == HUB_OK ? 200 : 404, answer + head, child->len - head);
}

static struct hub_owner owner_of(const struct hub_pgo_job *job)
{
	return (struct hub_owner){job->db, job->reader};
}

static bool is_kept(const struct kept *kept)
{
	return kept->job.bytes && pp_monotonic_ns() - kept->made_ns <= KEPT_NS;
}

/* The share that the owner of a kept answer would have with another job. */
static struct hub_share share_with(const struct hub_pgo_jobs *jobs, const struct kept *kept,
				   const struct hub_pgo_job *job)
{
	const struct hub_owner owner = owner_of(&kept->job), of_job = owner_of(job);
	struct hub_share share = {0, 0};

	hub_share_add(&share, &owner, &of_job, 1);
	for (size_t i = 0; i < KEPT_MAX; i++) {
		const struct hub_owner other = owner_of(&jobs->kept[i].job);

		if (is_kept(&jobs->kept[i]))
			hub_share_add(&share, &owner, &other, 1);
	}
	return share;
}

static bool goes_before(const struct hub_share *share, const struct kept *kept,
			const struct hub_share *other_share, const struct kept *other)
{
	if (share->tenant != other_share->tenant)
		return share->tenant > other_share->tenant;
	if (share->reader != other_share->reader)
		return share->reader > other_share->reader;
	return kept->made_ns < other->made_ns;
}

/* Returns a free place; else the oldest answer of the tenant with most of them, and in it of the
 * reader with most. */
static struct kept *place_to_keep(struct hub_pgo_jobs *jobs, const struct hub_pgo_job *job)
{
	struct kept *place = NULL;
	struct hub_share most = {0, 0};

	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *kept = &jobs->kept[i];
		struct hub_share share;

		if (!is_kept(kept))
			return kept;
		share = share_with(jobs, kept, job);
		if (!place || goes_before(&share, kept, &most, place)) {
			place = kept;
			most = share;
		}
	}
	return place;
}

static void keep(struct hub_pgo_jobs *jobs, const struct hub_pgo_job *job)
{
	struct kept *kept;
	char *key, *reader;

	if (job->status != 200 || job->len > KEPT_BYTES)
		return;
	key = strdup(job->key);
	reader = strdup(job->reader);
	if (!key || !reader) {
		free(key);
		free(reader);
		return;
	}
	kept = place_to_keep(jobs, job);
	free(kept->job.key);
	free(kept->job.reader);
	kept->job.key = key;
	kept->job.reader = reader;
	kept->job.db = job->db;
	set_answer(&kept->job, 200, job->bytes, job->len);
	memcpy(kept->job.build_id, job->build_id, sizeof(job->build_id));
	kept->made_ns = pp_monotonic_ns();
}

static bool take_kept(const struct hub_pgo_jobs *jobs, struct hub_pgo_job *job)
{
	for (size_t i = 0; i < KEPT_MAX; i++) {
		const struct kept *kept = &jobs->kept[i];

		if (!is_kept(kept) || strcmp(kept->job.key, job->key) != 0)
			continue;
		set_answer(job, 200, kept->job.bytes, kept->job.len);
		memcpy(job->build_id, kept->job.build_id, sizeof(job->build_id));
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------- the child */

static void remove_job(struct hub_pgo_jobs *jobs, size_t at)
{
	memmove(&jobs->waiting[at], &jobs->waiting[at + 1],
		(--jobs->cnt - at) * sizeof(jobs->waiting[0]));
}

/* An option and its value, or nothing. */
static void push(const char **argv, const char *option, const char *value)
{
	size_t cnt = 0;

	while (argv[cnt])
		cnt++;
	if (value) {
		argv[cnt] = option;
		argv[cnt + 1] = value;
	}
}

/* Returns NULL if the job may wait, else the reason why not. */
static const char *judge_share(const struct hub_pgo_jobs *jobs, const struct hub_pgo_job *job)
{
	const struct hub_owner owner = owner_of(job);
	struct hub_share share = {0, 0};

	for (size_t i = 0; i < jobs->cnt; i++) {
		const struct hub_owner other = owner_of(jobs->waiting[i]);

		hub_share_add(&share, &owner, &other, 1);
	}
	return hub_share_judge(&share, 1, &waiting_most);
}

/* Returns the turn after that of the tenant's last job that waits, or of the job under way. */
static uint64_t turn_of(const struct hub_pgo_jobs *jobs, const struct hub_pgo_job *job)
{
	uint64_t last = jobs->cnt ? jobs->waiting[0]->turn : 0;

	for (size_t i = 1; i < jobs->cnt; i++)
		if (jobs->waiting[i]->db == job->db && jobs->waiting[i]->turn > last)
			last = jobs->waiting[i]->turn;
	return last + 1;
}

/* Each tenant has one job a turn; the first that waits stays where it is. */
static void wait_turn(struct hub_pgo_jobs *jobs, struct hub_pgo_job *job)
{
	size_t at = jobs->cnt;

	job->turn = turn_of(jobs, job);
	jobs->cnt++;
	for (; at > 1 && jobs->waiting[at - 1]->turn > job->turn; at--)
		jobs->waiting[at] = jobs->waiting[at - 1];
	jobs->waiting[at] = job;
}

static int start_child(struct hub_pgo_jobs *jobs, const struct hub_pgo_job *job)
{
	char since[24], until[24];
	const char *argv[ARGUMENTS_MAX] = {"pathprof-hub", "pgo"};

	snprintf(since, sizeof(since), "%" PRId64, job->since_s);
	snprintf(until, sizeof(until), "%" PRId64, job->until_s);
	push(argv, "--db", job->db);
	push(argv, "--scratch", jobs->scratch);
	push(argv, "--binary", job->binary);
	push(argv, "--format", job->format);
	push(argv, "--since", since);
	push(argv, "--until", until);
	push(argv, "--files", jobs->files);
	push(argv, "--host", job->host);
	push(argv, "--labels", job->labels);
	push(argv, "--workload", job->workload);
	push(argv, "--release", job->release);
	return hub_child_start(&jobs->child, argv);
}

/* An answer may have been kept while the job waited. */
static void start_next(struct hub_pgo_jobs *jobs)
{
	while (jobs->cnt && !jobs->child.pid) {
		struct hub_pgo_job *job = jobs->waiting[0];

		if (!take_kept(jobs, job)) {
			int r = start_child(jobs, job);

			if (r == 0)
				return;
			refuse(job, 503, strerror(-r));
		}
		remove_job(jobs, 0);
		jobs->on_done(job);
	}
}

bool hub_pgo_turn(struct hub_pgo_jobs *jobs)
{
	struct hub_pgo_job *job = jobs->cnt ? jobs->waiting[0] : NULL;
	enum hub_child_state state;

	if (!job || !jobs->child.pid)
		return false;
	state = hub_child_follow(&jobs->child, CHILD_NS, ANSWER_MAX);
	if (state == HUB_CHILD_RUNS)
		return false;
	if (state == HUB_CHILD_ENDED)
		take_answer(job, &jobs->child);
	else if (state == HUB_CHILD_LOST)
		refuse(job, 503, strerror(-jobs->child.error));
	else if (state == HUB_CHILD_LONG)
		refuse(job, 413,
		       "the profile is larger than one answer holds: ask of a shorter time");
	else
		refuse(job, 503, "it took too long: ask of a shorter time");
	hub_scratch_empty(jobs->scratch);
	keep(jobs, job);
	remove_job(jobs, 0);
	jobs->on_done(job);
	start_next(jobs);
	return true;
}

/* ---------------------------------------------------------------- questions */

/* NULL: it is none of them. */
static const char *format_of(const char *name)
{
	enum pathprof_format format = name ? pathprof_format_named(name) : PATHPROF_FORMAT_NONE;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i] == format)
			return pathprof_format_name(format);
	return NULL;
}

/* The span without since= and until= ends with the last slot whose parcels have come, so all who
 * ask within one slot get the same. */
static bool set_span(struct hub_pgo_job *job, const struct hub_pgo_question *question)
{
	int64_t now_s = pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
	int64_t slot_s =
		(now_s - PATHPROF_PARCEL_SLOT_S) / PATHPROF_PARCEL_SLOT_S * PATHPROF_PARCEL_SLOT_S;

	job->until_s = question->until ? seconds_of(question->until) : slot_s;
	job->since_s = question->since ? seconds_of(question->since) : job->until_s - SPAN_S;
	return job->since_s >= 0 && job->until_s > job->since_s;
}

/* A build-id is taken as it is; everything else is a path. */
static char *binary_of(const char *text)
{
	char *binary = NULL;
	bool is_id = strlen(text) >= 8 && !text[strspn(text, "0123456789abcdef")];

	return asprintf(&binary, "%s%s", is_id ? "" : "/", text) < 0 ? NULL : binary;
}

/* NULL or "" stands for any, and becomes NULL. Returns false if there is no memory. */
static bool copy(char **ret_copy, const char *text)
{
	*ret_copy = text && *text ? strdup(text) : NULL;
	return *ret_copy || !text || !*text;
}

static const char *any(const char *text)
{
	return text ? text : "";
}

/* The key has the lengths of host and workload, so that their texts cannot run into one another. */
static int fill(struct hub_pgo_job *job, struct hub_ingest *ingest,
		const struct hub_pgo_question *question)
{
	bool is_copied = copy(&job->host, question->host) && copy(&job->labels, question->labels) &&
			 copy(&job->workload, question->workload) &&
			 copy(&job->release, question->release) &&
			 copy(&job->reader, question->reader);

	job->db = hub_ingest_db(ingest);
	job->files = hub_ingest_files(ingest);
	job->binary = binary_of(question->binary);
	if (!job->binary || !is_copied || !job->reader ||
	    asprintf(&job->key, "%s\n%s\n%" PRId64 "\n%" PRId64 "\n%s\n%s\n%zu %zu\n%s\n%s\n%s",
		     job->db, job->format, job->since_s, job->until_s, any(job->labels),
		     any(job->release), strlen(any(job->host)), strlen(any(job->workload)),
		     any(job->host), any(job->workload), job->binary) < 0) {
		job->key = NULL;
		return -ENOMEM;
	}
	return 0;
}

static bool is_release(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return !text || (len >= RELEASE_MIN && len < PATHPROF_BUILD_ID_TEXT_LEN &&
			 !text[strspn(text, "0123456789abcdef")]);
}

unsigned int hub_pgo_begin(struct hub_pgo_jobs *jobs, struct hub_ingest *ingest,
			   const struct hub_pgo_question *question, void *waits,
			   struct hub_pgo_job **ret_job, const char **ret_why)
{
	struct hub_pgo_job *job;

	*ret_why = "format= is to name one that compilers read: see docs/fleet.md";
	if (!format_of(question->format))
		return 400;
	*ret_why = "the hub ends";
	if (jobs->is_over)
		return 503;
	*ret_why = "release= is not the first digits of a build-id, eight or more";
	if (!is_release(question->release))
		return 400;
	job = calloc(1, sizeof(*job));
	*ret_why = "out of memory";
	if (!job)
		return 503;
	job->format = format_of(question->format);
	job->waits = waits;
	if (!set_span(job, question)) {
		hub_pgo_end(jobs, job);
		*ret_why = "since= and until= are seconds since 1970, the second is greater";
		return 400;
	}
	if (fill(job, ingest, question) < 0) {
		hub_pgo_end(jobs, job);
		return 503;
	}
	*ret_why = take_kept(jobs, job) ? NULL : judge_share(jobs, job);
	if (*ret_why) {
		hub_pgo_end(jobs, job);
		return 429;
	}
	if (!job->is_done) {
		wait_turn(jobs, job);
		if (jobs->cnt == 1)
			start_next(jobs);
	}
	*ret_job = job;
	return 200;
}

void hub_pgo_end(struct hub_pgo_jobs *jobs, struct hub_pgo_job *job)
{
	if (!job)
		return;
	for (size_t i = jobs->cnt; i-- > 0;) {
		if (jobs->waiting[i] != job)
			continue;
		if (i == 0) {
			hub_child_release(&jobs->child);
			hub_scratch_empty(jobs->scratch);
		}
		remove_job(jobs, i);
	}
	free(job->key);
	free(job->binary);
	free(job->host);
	free(job->labels);
	free(job->workload);
	free(job->release);
	free(job->reader);
	free(job->bytes);
	free(job);
	start_next(jobs);
}

/* ---------------------------------------------------------------- life */

int hub_pgo_new(struct hub_pgo_jobs **ret_jobs, const char *db, const char *files,
		void (*on_done)(struct hub_pgo_job *job), struct pathprof_error *error)
{
	struct hub_pgo_jobs *jobs = calloc(1, sizeof(*jobs));
	int r;

	if (!jobs)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	jobs->files = files;
	jobs->on_done = on_done;
	r = hub_scratch_new(&jobs->scratch, db, error);
	if (r < 0) {
		free(jobs);
		return r;
	}
	*ret_jobs = jobs;
	return 0;
}

void hub_pgo_stop(struct hub_pgo_jobs *jobs)
{
	if (!jobs)
		return;
	jobs->is_over = true;
	hub_child_release(&jobs->child);
	while (jobs->cnt) {
		struct hub_pgo_job *job = jobs->waiting[0];

		remove_job(jobs, 0);
		refuse(job, 503, "the hub ends");
		jobs->on_done(job);
	}
}

void hub_pgo_free(struct hub_pgo_jobs *jobs)
{
	if (!jobs)
		return;
	hub_child_release(&jobs->child);
	hub_scratch_free(jobs->scratch);
	for (size_t i = 0; i < KEPT_MAX; i++) {
		free(jobs->kept[i].job.key);
		free(jobs->kept[i].job.reader);
		free(jobs->kept[i].job.bytes);
	}
	free(jobs);
}

int hub_pgo_fd(const struct hub_pgo_jobs *jobs)
{
	return hub_child_fd(&jobs->child);
}
