// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the profile of one binary in a format of another tool, for tests/scenario/export_tools.sh.
 *
 *     export_dump [-ABJ] [-h HOST] -d DB BINARY FORMAT          from a database
 *     export_dump [-ABJ] -i IN-FORMAT FILE BINARY FORMAT        from counts of another format
 *     export_dump -d DB BINARY density                          enough samples?
 *
 * -A: autofdo-text for AutoFDO before 0.20; -B: bolt-preagg as older LLVMs read it; -J: csv as
 * JSON. Entries left out are reported on standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/export.h"

struct job {
	const char *db, *in_format, *in_file, *host, *binary, *format;
	struct pathprof_export_options options;
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct pathprof_error error;
};

static int read_db(struct job *job)
{
	const struct pathprof_filter everything = {0};
	struct pathprof_store *store;
	int rc = pathprof_store_open(&store, job->db, PATHPROF_STORE_READ, &job->error);

	if (rc)
		return rc;
	rc = pathprof_branch_profile_add_store(&job->profile, store, &everything, job->code,
					       job->graph, &job->error);
	pathprof_store_free(store);
	return rc;
}

static int take_count(void *context, const struct pathprof_recorded_count *count)
{
	struct job *job = context;

	return pathprof_branch_profile_add_count(
		&job->profile, job->code, job->graph,
		pathprof_format_addresses(pathprof_format_named(job->in_format)), count,
		&job->error);
}

static int read_counts(struct job *job)
{
	const struct pathprof_recording_sink sink = {.context = job, .count = take_count};
	struct pathprof_recording *recording;
	int fd = open(job->in_file, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return pathprof_fail(&job->error, -errno, "%s: %m", job->in_file);
	rc = pathprof_recording_open(&recording, pathprof_format_named(job->in_format), fd,
				     job->in_file, &sink, &job->error);
	if (!rc) {
		do
			rc = pathprof_recording_read(recording, &job->error);
		while (rc > 0);
		pathprof_recording_free(recording);
	}
	close(fd);
	return rc;
}

static int put_density(struct job *job)
{
	struct pathprof_density d;
	int rc = pathprof_profile_density(&job->profile, job->graph, &d, &job->error);

	if (!rc)
		printf("density %.1f threshold %.0f more %.1f functions %" PRIu32 " hot %" PRIu32
		       " %s\n",
		       d.density, d.threshold, d.more, d.functions, d.hot,
		       d.enough ? "enough" : "not enough");
	return rc;
}

static int put(struct job *job)
{
	if (!strcmp(job->format, "density"))
		return put_density(job);
	return pathprof_export(pathprof_format_named(job->format), &job->profile, job->code,
			       job->graph, &job->options, stdout, &job->error);
}

static int run(struct job *job)
{
	struct pathprof_build_id id;
	int rc = pathprof_build_id_read_file(&id, job->binary, &job->error);

	if (!rc)
		rc = pathprof_code_open(&job->code, job->binary, NULL, &job->error);
	if (!rc)
		rc = pathprof_graph_build(&job->graph, job->code, NULL, NULL, &job->error);
	if (!rc)
		rc = pathprof_branch_profile_init(&job->profile, &id);
	if (!rc)
		rc = pathprof_branch_profile_name(&job->profile, job->binary, job->host,
						  job->in_format);
	if (!rc)
		rc = job->db ? read_db(job) : read_counts(job);
	if (!rc)
		rc = pathprof_branch_profile_settle(&job->profile);
	if (!rc && job->profile.origin.refused)
		fprintf(stderr, "export_dump: %" PRIu64 " left out\n", job->profile.origin.refused);
	return rc ? rc : put(job);
}

static int usage(void)
{
	fputs("usage: export_dump [-ABJ] [-h HOST] {-d DB | -i FORMAT FILE} BINARY FORMAT\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct job job = {0};
	int option, rc;

	while ((option = getopt(argc, argv, "+ABJh:d:i:")) != -1) {
		if (option == 'A')
			job.options.old_autofdo = true;
		else if (option == 'B')
			job.options.bolt_branches = true;
		else if (option == 'J')
			job.options.json = true;
		else if (option == 'h')
			job.host = optarg;
		else if (option == 'd')
			job.db = optarg;
		else if (option == 'i')
			job.in_format = optarg;
		else
			return usage();
	}
	if (job.in_format && optind < argc)
		job.in_file = argv[optind++];
	if (argc - optind != 2 || !job.db == !job.in_file)
		return usage();
	job.binary = argv[optind];
	job.format = argv[optind + 1];
	rc = run(&job);
	if (rc)
		fprintf(stderr, "export_dump: %s\n",
			job.error.text[0] ? job.error.text : strerror(-rc));
	pathprof_branch_profile_release(&job.profile);
	pathprof_graph_free(job.graph);
	pathprof_code_free(job.code);
	return rc ? 1 : 0;
}
