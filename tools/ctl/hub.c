// SPDX-License-Identifier: GPL-2.0-or-later
/* A hub's answers as a database: see hub.h. */
#include "hub.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "oneshot.h"
#include "scratch.h"
#include "text/cleanup.h"

#define ARGUMENTS_MAX 32
#define SPAN_NS       (3600 * CTL_NS_PER_S)

static char *certificates_directory(const struct ctl_options *options)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (options->certificates)
		return ctl_strdup(options->certificates);
	if (config && *config == '/')
		return ctl_printf("%s/pathprof", config);
	return ctl_printf("%s/.config/pathprof", home && *home == '/' ? home : "");
}

/* Reports a missing file with advice, since this is usually the first use. */
static int push_file(struct oneshot_arguments *arguments, const char *option, const char *directory,
		     const char *name)
{
	char *file = ctl_printf("%s/%s", directory, name);

	if (access(file, R_OK) < 0)
		return ctl_fail(
			"%s: cannot be read: a hub answers those whom it knows; whoever has "
			"its authority makes reader.pem and reader-key.pem by `pathprof-hub "
			"enrol CA reader --reader`, and ca.pem lies beside them",
			file);
	oneshot_push_option(arguments, option, file);
	return CTL_OK;
}

static int push_certificates(struct oneshot_arguments *arguments, const struct ctl_options *options)
{
	_cleanup_free_ char *directory = certificates_directory(options);
	int r = push_file(arguments, "--cert", directory, "reader.pem");

	if (r == CTL_OK)
		r = push_file(arguments, "--key", directory, "reader-key.pem");
	return r == CTL_OK ? push_file(arguments, "--ca", directory, "ca.pem") : r;
}

/* Rounds outwards to whole seconds. */
static void push_span(struct oneshot_arguments *arguments, const struct ctl_options *options)
{
	const int64_t until_ns = options->filter.until_ns;
	char number[24];

	snprintf(number, sizeof(number), "%lld",
		 (long long)(options->filter.since_ns / CTL_NS_PER_S));
	oneshot_push_option(arguments, "--since", number);
	snprintf(number, sizeof(number), "%lld",
		 (long long)((until_ns + CTL_NS_PER_S - 1) / CTL_NS_PER_S));
	oneshot_push_option(arguments, "--until", until_ns ? number : NULL);
}

static char *hosts_file; /* NULL: none was fetched */

int hub_fetch(struct ctl_options *options, bool alerts, struct scratch *scratch)
{
	struct oneshot_arguments arguments;
	struct pathprof_error error = {""};
	char *db;
	int r;

	if (!options->filter.since_ns)
		options->filter.since_ns = pp_realtime_ns() - SPAN_NS;
	r = scratch_make(scratch, &error);
	if (r < 0)
		return ctl_fail_error("--hub", r, &error);
	db = ctl_printf("%s/" SCRATCH_DB, scratch->directory);
	oneshot_begin(&arguments, "pathprof-hub", ARGUMENTS_MAX);
	oneshot_push(&arguments, "fetch");
	hosts_file = alerts ? NULL : ctl_printf("%s/" SCRATCH_HOSTS, scratch->directory);
	if (alerts)
		oneshot_push(&arguments, "--alerts");
	oneshot_push_option(&arguments, "--hosts", hosts_file);
	oneshot_push_option(&arguments, "--hub", options->hub);
	oneshot_push_option(&arguments, "--db", db);
	oneshot_push_option(&arguments, "--host", options->host);
	oneshot_push_option(&arguments, "--labels", options->labels[0] ? options->labels : NULL);
	push_span(&arguments, options);
	r = push_certificates(&arguments, options);
	if (r == CTL_OK)
		r = oneshot_run("--hub", arguments.list) ? CTL_FAILURE : CTL_OK;
	options->db = db;
	return r;
}

json_t *hub_hosts(void)
{
	return hosts_file ? json_load_file(hosts_file, 0, NULL) : NULL;
}

/* ---------------------------------------------------------------- files of builds */

static struct {
	const struct ctl_options *options; /* NULL: no hub is in use */
	const char *directory;
} in_use;

void hub_use_files(const struct ctl_options *options, const char *directory)
{
	in_use.options = options;
	in_use.directory = directory;
}

char *hub_file(const struct pathprof_build_id *id)
{
	struct oneshot_arguments arguments;
	char text[PATHPROF_BUILD_ID_TEXT_LEN];
	char *file;

	if (!in_use.options || id->kind != PATHPROF_ID_BUILD_ID)
		return NULL;
	file = ctl_printf("%s/%s", in_use.directory, pathprof_build_id_text(id, text));
	oneshot_begin(&arguments, "pathprof-hub", ARGUMENTS_MAX);
	oneshot_push(&arguments, "fetch");
	oneshot_push_option(&arguments, "--hub", in_use.options->hub);
	oneshot_push_option(&arguments, "--build", text);
	oneshot_push_option(&arguments, "--db", file);
	if (push_certificates(&arguments, in_use.options) == CTL_OK &&
	    oneshot_run("--hub", arguments.list) == 0)
		return file;
	free(file);
	return NULL;
}
