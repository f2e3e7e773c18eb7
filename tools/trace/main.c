// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-trace: runs a program in an emulator and writes down every branch it executes, or counts
 * every path (--paths).
 *
 * Workload: the program runs on one processor, packing on another. Locking: one thread; share.h
 * says what it shares with the program. Ownership: a session holds all there is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "collect.h"
#include "command.h"
#include "counts.h"
#include "follow.h"
#include "launch.h"
#include "options.h"
#include "share.h"
#include "writer.h"

enum { EXIT_NO_TRACE = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

#define PROGRESS_AFTER_NS 2000000000ull
#define PROGRESS_EACH_NS  500000000ull
#define NOTE_MAX_BYTES    60000

struct session {
	struct trace_options options;
	struct trace_command command;
	struct trace_share *share;
	int share_fd;
	char file[PATH_MAX];        /* the file that is written */
	struct trace_writer writer; /* the writer of a trace, */
	struct trace_counts counts; /* or the counts of a profile */
	struct trace_collector collector;
	pid_t pid;
	int status; /* of waitpid */
	bool exited;
	uint64_t begin_ns, said_ns;
};

/* For the signal handlers. */
static struct trace_share *ringing;
static volatile sig_atomic_t traced_pid;  /* 0: the program has ended */
static volatile sig_atomic_t left_signal; /* for those that it left behind; 0: none */

static void complain(const char *text)
{
	fprintf(stderr, "pathprof-trace: %s\n", text);
}

/* ---------------------------------------------------------------- signals */

static void ring(void)
{
	int saved = errno;

	__atomic_add_fetch(&ringing->bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &ringing->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
	errno = saved;
}

static void on_child(int signal)
{
	ring();
}

/* The terminal sends such a signal to the program as well. */
static void on_terminal(int signal)
{
	if (traced_pid > 0)
		return;
	left_signal = signal;
	ring();
}

/* Passes a signal that would end us on to the program, so that the trace is completed. */
static void on_end(int signal)
{
	if (traced_pid > 0)
		kill(traced_pid, signal);
	else
		on_terminal(signal);
}

static void handle(int signal, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigaction(signal, &action, NULL);
}

/* To be called after the start, so that the program inherits the signal handling from before. */
static void handle_signals(struct session *session)
{
	ringing = session->share;
	traced_pid = session->pid;
	handle(SIGCHLD, on_child);
	handle(SIGTERM, on_end);
	handle(SIGHUP, on_end);
	handle(SIGINT, on_terminal);
	handle(SIGQUIT, on_terminal);
}

/* ---------------------------------------------------------------- setting up */

/* 0: not known. */
static uint64_t own_pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) < 0 ? 0 : status.st_ino;
}

static int make_share(struct session *session, struct pathprof_error *error)
{
	size_t bytes = session->options.paths ? TRACE_COUNT_BYTES : TRACE_SHARE_BYTES;
	void *share;

	session->share_fd = memfd_create("pathprof-trace", MFD_CLOEXEC);
	if (session->share_fd < 0)
		return pathprof_fail(error, -errno, "memfd: %s", strerror(errno));
	if (ftruncate(session->share_fd, (off_t)bytes) < 0)
		return pathprof_fail(error, -errno, "memfd: %s", strerror(errno));
	share = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		     session->share_fd, 0);
	if (share == MAP_FAILED)
		return pathprof_fail(error, -errno, "shared memory: %s", strerror(errno));
	session->share = share;
	session->share->magic = TRACE_SHARE_MAGIC;
	session->share->flags = session->options.flags;
	session->share->counts = session->options.paths != NULL;
	session->share->tracer_pid = (uint32_t)getpid();
	session->share->pid_namespace = own_pid_namespace();
	session->share->next_block = 1;
	session->share->skip_cnt = session->options.skip_cnt;
	session->share->budget_words = session->options.limit_words;
	return 0;
}

static int write_command(struct session *session, struct pathprof_error *error)
{
	struct pathprof_trace_chunk chunk = {.type = PATHPROF_TRACE_COMMAND};
	size_t len_bytes = 0;
	char *const *words = session->options.command;
	char *text;
	int r;

	for (size_t i = 0; words[i]; i++)
		len_bytes += strlen(words[i]) + 1;
	if (len_bytes > PATHPROF_TRACE_CHUNK_MAX)
		return pathprof_fail(error, -E2BIG, "the command is too long");
	text = malloc(len_bytes + 1);
	if (!text)
		return pathprof_fail(error, -ENOMEM, "no memory");
	for (size_t i = 0, at = 0; words[i]; i++) {
		size_t word_bytes = strlen(words[i]) + 1;

		memcpy(text + at, words[i], word_bytes);
		at += word_bytes;
	}
	chunk.raw_bytes = (uint32_t)len_bytes;
	r = trace_writer_chunk(&session->writer, chunk, text);
	free(text);
	return r < 0 ? pathprof_fail(error, r, "%s: %s", session->file, strerror(-r)) : 0;
}

static int open_trace(struct session *session, struct pathprof_error *error)
{
	int r = trace_writer_init(&session->writer, session->file, session->options.flags, error);

	if (r == 0)
		r = write_command(session, error);
	if (r == 0)
		trace_collector_init(&session->collector, session->share, &session->writer, NULL,
				     NULL);
	return r;
}

/* Fails now if the profile cannot be written, since it is written only at the end, perhaps after
 * hours. */
static int check_directory(const char *file, struct pathprof_error *error)
{
	const char *slash = strrchr(file, '/');
	char directory[PATH_MAX] = ".";

	if (slash)
		snprintf(directory, sizeof(directory), "%.*s", (int)(slash - file) + 1, file);
	if (access(directory, W_OK | X_OK) == 0)
		return 0;
	return pathprof_fail(error, -errno,
			     "%s: %s: %s cannot be written there: see that the directory is there "
			     "and may be written, or name another",
			     directory, strerror(errno), slash ? slash + 1 : file);
}

static int open_profile(struct session *session, struct pathprof_error *error)
{
	int r = check_directory(session->file, error);

	if (r < 0)
		return r;
	if (trace_counts_init(&session->counts) < 0)
		return pathprof_fail(error, -ENOMEM, "no memory");
	trace_collector_init(&session->collector, session->share, NULL, &session->counts,
			     session->command.program);
	return 0;
}

/* Returns the last %p of a name, so that one in a directory's name is not taken for it; or NULL. */
static const char *find_place(const char *name)
{
	const char *found = NULL;

	for (const char *at = name; (at = strstr(at, "%p")); at += 2)
		found = at;
	return found;
}

/* The last %p in the name becomes our process id. */
static int name_file(struct session *session, struct pathprof_error *error)
{
	const char *name = session->options.paths;
	const char *place = name ? find_place(name) : NULL;
	char pid[16] = "";

	if (!name)
		name = session->options.output;
	if (place)
		snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (snprintf(session->file, sizeof(session->file), "%.*s%s%s",
		     place ? (int)(place - name) : INT_MAX, name, pid,
		     place ? place + 2 : "") >= (int)sizeof(session->file))
		return pathprof_fail(error, -ENAMETOOLONG, "%.40s...: name too long", name);
	return 0;
}

static int open_output(struct session *session, struct pathprof_error *error)
{
	int r = name_file(session, error);

	if (r == 0)
		r = make_share(session, error);
	if (r < 0)
		return r;
	return session->options.paths ? open_profile(session, error) : open_trace(session, error);
}

static int start(struct session *session, struct pathprof_error *error)
{
	struct trace_launch launch = {
		.command = &session->command,
		.cpu = session->options.cpu,
		.share_fd = session->share_fd,
	};

	session->begin_ns = pp_monotonic_ns();
	session->pid = trace_launch(&launch, error);
	if (session->pid < 0)
		return session->pid;
	handle_signals(session);
	return 0;
}

/* ---------------------------------------------------------------- running */

static void kill_all(struct session *session)
{
	trace_collect_signal(&session->collector, SIGKILL);
	if (!session->exited)
		kill(session->pid, SIGKILL);
}

/* Passes on a signal that came when the program had ended. */
static void end_left(struct session *session)
{
	int signal = left_signal;

	if (!signal)
		return;
	left_signal = 0;
	trace_collect_signal(&session->collector, signal);
}

static void say_progress(struct session *session)
{
	uint64_t now = pp_monotonic_ns();

	if (session->options.quiet || session->options.paths || !isatty(STDERR_FILENO) ||
	    now - session->begin_ns < PROGRESS_AFTER_NS ||
	    now - session->said_ns < PROGRESS_EACH_NS)
		return;
	session->said_ns = now;
	fprintf(stderr, "\r\033[K%.0f s, %.0f M words, %.1f MB",
		(double)(now - session->begin_ns) / 1e9,
		(double)session->collector.totals.word_cnt / 1e6,
		(double)session->writer.offset / 1e6);
}

static void reap(struct session *session)
{
	if (!session->exited && waitpid(session->pid, &session->status, WNOHANG) == session->pid) {
		session->exited = true;
		traced_pid = 0;
	}
}

static void wait_for_bell(struct session *session, uint32_t seen)
{
	const struct timespec timeout = {.tv_nsec = 50 * 1000 * 1000};

	syscall(SYS_futex, &session->share->bell, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static int collect(struct session *session)
{
	for (;;) {
		uint32_t seen = __atomic_load_n(&session->share->bell, __ATOMIC_ACQUIRE);
		int r;

		reap(session);
		r = trace_collect(&session->collector);
		if (r < 0)
			return r;
		/* each time again, since processes forked meanwhile were not known before */
		if (__atomic_load_n(&session->share->cut, __ATOMIC_ACQUIRE))
			kill_all(session);
		end_left(session);
		if (session->exited && !trace_collect_alive(&session->collector))
			break;
		say_progress(session);
		wait_for_bell(session, seen);
	}
	return trace_collect_rest(&session->collector);
}

/* The words of the command, as a line. */
static char *command_text(char *const *words)
{
	char *text = NULL;
	size_t len_bytes = 0;
	FILE *file = open_memstream(&text, &len_bytes);

	if (!file)
		return NULL;
	for (size_t i = 0; words[i] && len_bytes < NOTE_MAX_BYTES; i++) {
		fprintf(file, "%s%s", i ? " " : "", words[i]);
		fflush(file);
	}
	if (fclose(file) == 0 && len_bytes > NOTE_MAX_BYTES)
		text[NOTE_MAX_BYTES] = '\0';
	return text;
}

static int write_profile(struct session *session, struct pathprof_error *error)
{
	struct pathprof_totals *totals = &session->counts.profile.totals;
	char *note = command_text(session->options.command);
	int r;

	/* Readers of the profile learn from this that something is missing. */
	totals->drops[PATHPROF_DROP_TABLE_FULL] +=
		session->share->lost_streams + session->counts.lost_processes;
	r = trace_counts_write(&session->counts, session->file, note, error);
	free(note);
	return r;
}

static int run(struct session *session, struct pathprof_error *error)
{
	int r = collect(session);

	if (r == 0 && !session->options.paths)
		r = trace_writer_finish(&session->writer);
	if (r == 0 && session->collector.totals.stream_cnt == 0)
		return pathprof_fail(error, -EPROTO,
				     "the emulator did not start the program; what it says stands "
				     "above, --cpu takes what qemu-x86_64 -cpu help lists");
	if (r == 0)
		return session->options.paths ? write_profile(session, error) : 0;
	__atomic_store_n(&session->share->stopped, 1, __ATOMIC_RELEASE);
	kill_all(session);
	if (!session->exited)
		waitpid(session->pid, &session->status, 0);
	return pathprof_fail(error, r, "%s: %s; the program was killed", session->file,
			     strerror(-r));
}

/* ---------------------------------------------------------------- ending */

static void say_losses(const struct session *session)
{
	if (session->share->lost_streams)
		fprintf(stderr,
			"pathprof-trace: %u %s too many, or in another pid namespace, not "
			"recorded\n",
			session->share->lost_streams,
			pp_plural(session->share->lost_streams, "thread or process",
				  "threads or processes"));
	if (session->collector.totals.lost_defs)
		fprintf(stderr, "pathprof-trace: %u %s damaged\n",
			session->collector.totals.lost_defs,
			pp_plural(session->collector.totals.lost_defs, "definition was",
				  "definitions were"));
	if (session->counts.lost_processes)
		fprintf(stderr,
			"pathprof-trace: the counts of %u %s are not whole: too many paths, "
			"or the program wrote over them\n",
			session->counts.lost_processes,
			pp_plural(session->counts.lost_processes, "process", "processes"));
	if (session->share->cut)
		fprintf(stderr, "pathprof-trace: the limit was reached, the program was killed\n");
}

/* The end of the line: how much ran. */
static void say_traced(const struct session *session)
{
	const struct trace_totals *totals = &session->collector.totals;

	fprintf(stderr, ", %.2f s, %u %s in %u %s, %u %s executed out of sight\n",
		(double)(pp_monotonic_ns() - session->begin_ns) / 1e9, totals->stream_cnt,
		pp_plural(totals->stream_cnt, "thread", "threads"), totals->process_cnt,
		pp_plural(totals->process_cnt, "process", "processes"), totals->exec_cnt,
		pp_plural(totals->exec_cnt, "program", "programs"));
}

static void say_counts(const struct session *session)
{
	const struct pathprof_profile *profile = &session->counts.profile;

	fprintf(stderr, "pathprof-trace: %u %s of %u %s, run %llu %s", profile->path_cnt,
		pp_plural(profile->path_cnt, "path", "paths"), profile->binary_cnt,
		pp_plural(profile->binary_cnt, "file", "files"),
		(unsigned long long)profile->totals.paths,
		pp_plural(profile->totals.paths, "time", "times"));
	say_traced(session);
}

static void say_words(const struct session *session)
{
	const uint64_t words = session->collector.totals.word_cnt;

	fprintf(stderr, "pathprof-trace: %llu %s in %llu bytes", (unsigned long long)words,
		pp_plural(words, "word", "words"), (unsigned long long)session->writer.offset);
	say_traced(session);
}

/* A test may compare the output of its program, so as a wrapper we print nothing. */
static void say_totals(const struct session *session)
{
	bool is_wrapper = session->options.paths && !isatty(STDERR_FILENO);

	if (!session->options.quiet && !is_wrapper) {
		if (session->said_ns)
			fprintf(stderr, "\r\033[K");
		session->options.paths ? say_counts(session) : say_words(session);
	}
	say_losses(session);
}

static int exit_status(const struct session *session)
{
	if (session->share->cut)
		return EXIT_SUCCESS;
	if (WIFSIGNALED(session->status))
		return 128 + WTERMSIG(session->status);
	return WEXITSTATUS(session->status);
}

static int trace(struct session *session, struct pathprof_error *error)
{
	int r = trace_command_init(&session->command, session->options.command, error);

	if (r < 0)
		return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	if (open_output(session, error) < 0)
		return EXIT_NO_TRACE;
	if (start(session, error) < 0)
		return EXIT_CANNOT_RUN;
	if (run(session, error) < 0)
		return EXIT_NO_TRACE;
	say_totals(session);
	return exit_status(session);
}

static void release(struct session *session)
{
	trace_command_release(&session->command);
	if (session->collector.share)
		trace_collector_release(&session->collector);
	if (session->writer.fd >= 0)
		trace_writer_release(&session->writer);
	if (session->options.paths)
		trace_counts_release(&session->counts);
}

/* Runs the command natively, and traces the programs of a directory. */
static int follow(struct session *session, struct pathprof_error *error)
{
	if (trace_follow(&session->options, &session->status, error) < 0)
		return EXIT_CANNOT_RUN;
	return WIFSIGNALED(session->status) ? 128 + WTERMSIG(session->status)
					    : WEXITSTATUS(session->status);
}

/* Opens standard descriptors that are closed, or messages would go into the trace when it gets such
 * a number. They are closed in the program still. */
static void hold_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct session session = {.share_fd = -1, .writer.fd = -1};
	struct pathprof_error error = {""};
	int status, r;

	hold_standard_descriptors();
	r = trace_follow_link(&session.options, argv, &error);
	if (r == 0)
		r = trace_options_parse(&session.options, argc, argv, &error);
	if (r < 0) {
		complain(error.text);
		return EXIT_NO_TRACE;
	}
	if (session.options.help || session.options.version) {
		session.options.help ? trace_options_help()
				     : (void)puts("pathprof-trace " PATHPROF_VERSION);
		return EXIT_SUCCESS;
	}
	status = session.options.follow ? follow(&session, &error) : trace(&session, &error);
	if (error.text[0])
		complain(error.text);
	release(&session);
	return status;
}
