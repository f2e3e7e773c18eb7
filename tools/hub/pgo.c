// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-hub pgo: the profile of one build over all hosts, in a compiler's format, on standard
 * output behind a line with the build-id. `serve` runs it for GET /v1/pgo/.
 *
 * It sums up each host as `fetch` gets it, and has pathprofctl export write the sum: so the bytes
 * are those of `pathprofctl --hub URL export`. Where there is none it says why on standard output
 * and ends with HUB_NONE or HUB_NO_FILE.
 *
 * Workload: some 40 ms a host and the graph of a program. Bounds: memory; serve's of time.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "child.h"
#include "debuginfod.h"
#include "files.h"
#include "hub.h"
#include "pathprof/code.h"
#include "pathprof/fleet.h"
#include "pathprof/parcel_store.h"
#include "pgo.h"
#include "pgo_why.h"

#define MEMORY_BYTES (1ul << 30) /* address space, of pathprofctl as well */
#define DIGITS_MIN   8           /* of a build-id */
#define PATH_BYTES   4096

struct pgo {
	const struct hub_options *options;
	struct pathprof_store *store;
	int64_t since_ns, until_ns;
	struct pathprof_release build; /* the chosen build; its program is owned */
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	/* files in options->scratch */
	char scratch[PATH_BYTES], profile[PATH_BYTES], said[PATH_BYTES];
	char file[PATH_BYTES]; /* file of the build; "": pathprofctl is to look where it ran */
	bool is_lacking;       /* the file is in no place known here */
};

/* Prints the reason for a person or a build system, after a line with the build-id if it is
 * known. */
static int none(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int none(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	return HUB_NONE;
}

/* ---------------------------------------------------------------- which build */

static bool is_id(const char *text)
{
	return strlen(text) >= DIGITS_MIN && !text[strspn(text, "0123456789abcdef")];
}

static bool is_newer(const struct pathprof_release *a, const struct pathprof_release *b)
{
	return a->first_seen_ns != b->first_seen_ns ? a->first_seen_ns > b->first_seen_ns
						    : a->last_seen_ns > b->last_seen_ns;
}

/* Chooses the newest build of a program that has enough samples. */
static const struct pathprof_release *choose(const struct pathprof_releases *releases)
{
	const struct pathprof_release *best = NULL;

	for (size_t i = 0; i < releases->cnt; i++) {
		const struct pathprof_release *release = &releases->list[i];

		if (release->samples >= HUB_PGO_SAMPLES_MIN && (!best || is_newer(release, best)))
			best = release;
	}
	return best;
}

static uint64_t most_samples(const struct pathprof_releases *releases)
{
	uint64_t most = 0;

	for (size_t i = 0; i < releases->cnt; i++)
		if (releases->list[i].samples > most)
			most = releases->list[i].samples;
	return most;
}

static bool is_narrowed(const struct hub_options *options)
{
	return options->host || options->labels || options->workload || options->release;
}

/* Prints that there is none, and why if the reason can be found. */
static int tell_none(const struct pgo *pgo, const struct pathprof_filter *filter,
		     const char *program)
{
	struct pathprof_error error = {""};

	none("\nno host%s ran %s in that time",
	     is_narrowed(pgo->options) ? " of those asked for" : "", pgo->options->binary);
	if (hub_pgo_why(stdout, pgo->store, pgo->options, filter, program, &error) < 0)
		hub_note("%s", error.text);
	return HUB_NONE;
}

static int take_build(struct pgo *pgo, const struct pathprof_releases *releases)
{
	const struct pathprof_release *best = choose(releases);
	const uint64_t most = most_samples(releases);

	if (!best)
		return none("\n%s: %llu %s seen, a profile wants %d: ask again later, or "
			    "of a longer time",
			    pgo->options->binary, (unsigned long long)most,
			    pp_plural(most, "path was", "paths were"), HUB_PGO_SAMPLES_MIN);
	pgo->build = *best;
	pgo->build.program = strdup(best->program);
	pathprof_build_id_text(&best->id, pgo->id);
	return pgo->build.program ? HUB_OK : hub_fail("out of memory");
}

static int find_build(struct pgo *pgo)
{
	const char *binary = pgo->options->binary;
	const char *id = is_id(binary) ? binary : pgo->options->release;
	struct pathprof_filter filter = {.since_ns = pgo->since_ns,
					 .until_ns = pgo->until_ns,
					 .binary = id,
					 .host = pgo->options->host,
					 .labels = pgo->options->labels,
					 .workload = pgo->options->workload};
	const char *program = is_id(binary) ? NULL : binary;
	struct pathprof_releases releases;
	struct pathprof_error error = {""};
	int r = pathprof_releases_load(&releases, pgo->store, &filter, program, &error);

	if (r < 0)
		r = hub_fail("%s", error.text);
	else
		r = releases.cnt ? take_build(pgo, &releases) : tell_none(pgo, &filter, program);
	pathprof_releases_release(&releases);
	return r;
}

/* ---------------------------------------------------------------- the sum */

struct summing {
	struct pgo *pgo;
	struct pathprof_store *to;
	struct pathprof_error *error;
};

/* The sum is packed and read again, so that it lacks what parcels leave out or round, as for a
 * reader. */
static int add_parcel(const struct summing *s, const struct pathprof_parcel *parcel)
{
	struct pathprof_parcel read = {.slot_s = 0};
	enum pathprof_parcel_added added;
	uint8_t *bytes = NULL;
	uint64_t cut;
	size_t len;
	int r = pathprof_parcel_write(parcel, &bytes, &len, s->error);

	if (r == 0)
		r = pathprof_parcel_read(&read, bytes, len, s->error);
	if (r == 0)
		r = pathprof_store_add_parcel(s->to, &read, &added, s->error);
	if (r == 0)
		r = pathprof_store_add_names(s->to, &read, &cut, s->error);
	pathprof_parcel_release(&read);
	free(bytes);
	return r;
}

static int add_host(void *context, const struct pathprof_host_row *row)
{
	const struct summing *s = context;
	struct pathprof_parcel parcel;
	int r = pathprof_store_host_parcel(s->pgo->store, row, s->pgo->since_ns, s->pgo->until_ns,
					   &parcel, s->error);

	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	r = add_parcel(s, &parcel);
	pathprof_parcel_release(&parcel);
	return r;
}

static int sum_up(void *context, struct pathprof_store *to, struct pathprof_error *error)
{
	struct pgo *pgo = context;
	struct summing summing = {pgo, to, error};
	const struct pathprof_filter filter = {.host = pgo->options->host,
					       .labels = pgo->options->labels};

	return pathprof_store_hosts(pgo->store, &filter, add_host, &summing, error);
}

/* ---------------------------------------------------------------- written by pathprofctl */

/* The file of the build, where the operator keeps files: DIR/ab/cdef..., as in .build-id. */
static bool kept_file(const struct pgo *pgo, char *ret_path, size_t size)
{
	int n = pgo->options->files ? snprintf(ret_path, size, "%s/%.2s/%s", pgo->options->files,
					       pgo->id, pgo->id + 2)
				    : 0;

	return n > 0 && (size_t)n < size && access(ret_path, R_OK) == 0;
}

/* Whether the program's file is still the build that ran: it may have been replaced or removed. */
static bool is_where_it_ran(const struct pgo *pgo)
{
	struct pathprof_build_id id;
	struct pathprof_error error = {""};

	return pathprof_build_id_read_apart(&id, pgo->build.program, NULL, NULL, &error) == 0 &&
	       pathprof_build_id_equal(&id, &pgo->build.id);
}

/* Finds the file of the build for pathprofctl, which refuses one of another build. */
static void find_file(struct pgo *pgo)
{
	if (kept_file(pgo, pgo->file, sizeof(pgo->file)))
		return;
	pgo->file[0] = 0;
	if (is_where_it_ran(pgo) ||
	    hub_debuginfod_find(&pgo->build.id, pgo->file, sizeof(pgo->file)) ||
	    hub_files_find(pgo->options->db, pgo->id, pgo->file, sizeof(pgo->file)))
		return;
	pgo->file[0] = 0;
	pgo->is_lacking = true;
}

#define EXPORT_FIXED 14 /* fixed arguments, followed by the optional ones */
#define NOT_RUN      127

/* The command's messages go to a file; if it fails, their last line is the reason. */
static void export(const struct pgo *pgo, const char *program)
{
	char since[24], until[24];
	const char *argv[EXPORT_FIXED + 5] = {
		"pathprofctl", "--db",       pgo->scratch, "export",
		"--binary",    pgo->id,      "--format",   pgo->options->format,
		"--output",    pgo->profile, "--since",    since,
		"--until",     until};
	size_t cnt = EXPORT_FIXED;

	snprintf(since, sizeof(since), "@%s", pgo->options->since);
	snprintf(until, sizeof(until), "@%s", pgo->options->until);
	if (pgo->options->workload) {
		argv[cnt++] = "--workload";
		argv[cnt++] = pgo->options->workload;
	}
	if (pgo->file[0]) {
		argv[cnt++] = "--file";
		argv[cnt++] = pgo->file;
	}
	/* Files come from hosts, so their contents are read by a process without rights. */
	setenv("PATHPROF_APART", "1", 1);
	if (freopen(pgo->said, "w", stderr))
		execv(program, (char *const *)(uintptr_t)argv);
	_exit(NOT_RUN);
}

static int tell_why(const struct pgo *pgo)
{
	char line[512], last[512] = "pathprofctl export failed";
	FILE *said = fopen(pgo->said, "re");

	while (said && fgets(line, sizeof(line), said))
		memcpy(last, line, sizeof(last));
	if (said)
		fclose(said);
	last[strcspn(last, "\n")] = 0;
	none("%s\n%s%s", pgo->id, strncmp(last, "pathprofctl: ", 13) == 0 ? last + 13 : last,
	     pgo->is_lacking ? "; hosts that may upload it are asked for it" : "");
	return pgo->is_lacking ? HUB_NO_FILE : HUB_NONE;
}

static int copy_profile(const struct pgo *pgo)
{
	FILE *from = fopen(pgo->profile, "re");
	char part[16384];
	size_t n;

	/* The profile follows, or the reason for none; the exit status tells which. */
	printf("%s\n", pgo->id);
	while (from && (n = fread(part, 1, sizeof(part), from)) > 0)
		fwrite(part, 1, n, stdout);
	if (from && !ferror(from) && fclose(from) == 0 && fflush(stdout) == 0)
		return HUB_OK;
	return hub_fail("%s: %s", pgo->profile, strerror(errno));
}

/* pathprofctl did not say why there is no profile. */
static int say_end(const char *program, int status)
{
	if (WIFEXITED(status))
		return hub_fail("%s cannot be run: install it beside pathprof-hub", program);
	return hub_fail("%s was ended by signal %d: ask for fewer hosts or less time", program,
			WTERMSIG(status));
}

static int write_profile(struct pgo *pgo)
{
	char program[PATH_BYTES];
	int status = 0;
	pid_t pid;

	if (!hub_child_find("pathprofctl", program, sizeof(program)))
		return hub_fail("no place for pathprofctl");
	find_file(pgo);
	pid = fork();
	if (pid == 0)
		export(pgo, program);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			pid = -1;
	if (pid < 0)
		return hub_fail("%s: %s", program, strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) == NOT_RUN)
		return say_end(program, status);
	return WEXITSTATUS(status) == 0 ? copy_profile(pgo) : tell_why(pgo);
}

static int answer(struct pgo *pgo)
{
	struct pathprof_error error = {""};
	int r = find_build(pgo);

	if (r != HUB_OK)
		return r;
	if (pathprof_store_make(pgo->scratch, true, sum_up, pgo, &error) < 0)
		return hub_fail("%s", error.text);
	return write_profile(pgo);
}

static bool parse_time(const char *text, int64_t *ret_ns)
{
	char *end;
	long long seconds;

	errno = 0;
	seconds = text ? strtoll(text, &end, 10) : 0;
	*ret_ns = seconds * (int64_t)PP_NSEC_PER_SEC;
	return text && text[0] >= '0' && text[0] <= '9' && !*end && !errno &&
	       seconds < INT64_MAX / (int64_t)PP_NSEC_PER_SEC;
}

int hub_pgo(const struct hub_options *options)
{
	struct pgo pgo = {.options = options};
	struct pathprof_error error = {""};
	int r;

	if (options->argc || !options->db || !options->scratch || !options->binary ||
	    !options->format || !parse_time(options->since, &pgo.since_ns) ||
	    !parse_time(options->until, &pgo.until_ns))
		return hub_usage(options, "--db, --scratch, --binary, --format, --since and "
					  "--until are needed");
	hub_child_be_modest(MEMORY_BYTES);
	snprintf(pgo.scratch, sizeof(pgo.scratch), "%s/fleet.db", options->scratch);
	snprintf(pgo.profile, sizeof(pgo.profile), "%s/profile", options->scratch);
	snprintf(pgo.said, sizeof(pgo.said), "%s/said", options->scratch);
	r = pathprof_store_open(&pgo.store, options->db, PATHPROF_STORE_READ, &error);
	r = r < 0 ? hub_fail("%s", error.text) : answer(&pgo);
	free(pgo.build.program);
	pathprof_store_free(pgo.store);
	fflush(stdout);
	return r;
}
