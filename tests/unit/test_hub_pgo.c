// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions for profiles that wait for one another: who asks what another asked before gets the
 * same answer, which is made once. The child is this program again, which notes that it ran.
 */
#include "../../tools/hub/pgo.h"
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROLE "PATHPROF_UNIT_HUB_PGO" /* the file with a byte for each run */

__attribute__((constructor)) static void be_maker(void)
{
	const char *runs = getenv(ROLE);
	int fd = runs ? open(runs, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (!runs)
		return;
	if (write(fd, "x", 1) != 1 || write(STDOUT_FILENO, "abcdef01\nprofile", 16) != 16)
		_exit(HUB_FAILURE);
	_exit(HUB_OK);
}

/* The rest of the hub; hub_ingest_db() is in test_hub_watch.c. */
struct hub_files *hub_ingest_files(const struct hub_ingest *ingest)
{
	(void)ingest;
	return NULL;
}

void hub_files_want(struct hub_files *files, const char *id)
{
	(void)files, (void)id;
}

static unsigned int done_cnt;

static void on_done(struct hub_pgo_job *job)
{
	done_cnt++;
	CU_ASSERT(job->is_done);
}

static struct hub_pgo_job *ask(struct hub_pgo_jobs *jobs, const char *binary)
{
	const struct hub_pgo_question question = {.reader = "reader",
						  .binary = binary,
						  .format = "bolt-fdata",
						  .since = "300",
						  .until = "600"};
	struct hub_pgo_job *job = NULL;
	const char *why = NULL;

	CU_ASSERT_EQUAL_FATAL(hub_pgo_begin(jobs, NULL, &question, NULL, &job, &why), 200);
	return job;
}

static void await(struct hub_pgo_jobs *jobs, unsigned int cnt)
{
	while (done_cnt < cnt) {
		struct pollfd fd = {.fd = hub_pgo_fd(jobs), .events = POLLIN};

		poll(&fd, 1, 1000);
		hub_pgo_turn(jobs);
	}
}

static void test_same(void)
{
	static const char *const wanted[] = {"bin/a", "bin/b", "bin/a", "bin/a"};
	struct hub_pgo_job *asked[sizeof(wanted) / sizeof(wanted[0])];
	struct hub_pgo_jobs *jobs = NULL;
	struct pathprof_error error = {""};
	char db[256], runs[256];
	struct stat status = {0};

	snprintf(db, sizeof(db), "%s/pgo.db", unit_tmpdir());
	snprintf(runs, sizeof(runs), "%s/pgo.runs", unit_tmpdir());
	CU_ASSERT_EQUAL_FATAL(hub_pgo_new(&jobs, db, NULL, on_done, &error), 0);
	setenv(ROLE, runs, 1);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		asked[i] = ask(jobs, wanted[i]);
	await(jobs, sizeof(wanted) / sizeof(wanted[0]));
	unsetenv(ROLE);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		CU_ASSERT_EQUAL(asked[i]->status, 200);
		CU_ASSERT_STRING_EQUAL(asked[i]->bytes, "profile");
		CU_ASSERT_STRING_EQUAL(asked[i]->build_id, "abcdef01");
		CU_ASSERT_STRING_EQUAL(asked[i]->etag, asked[0]->etag);
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		hub_pgo_end(jobs, asked[i]);
	CU_ASSERT_EQUAL(stat(runs, &status), 0);
	CU_ASSERT_EQUAL(status.st_size, 2);
	hub_pgo_free(jobs);
}

static const struct unit_test tests[] = {
	{"what several ask for meanwhile is made once", test_same},
};
UNIT_SUITE(hub_pgo, tests)
