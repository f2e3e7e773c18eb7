// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracker on programs that live for a moment, load and unload libraries, or run in another
 * root: for tests/scenario/track_*.sh. Exit 0: as it must be, 1: not, 77: not possible here.
 *
 *   track_probe storm COUNT [no-perf|own]        COUNT programs one after the other, under load;
 *                                                own: only this process' tree is tracked
 *   track_probe dlopen LIB SYMBOL LIB SYMBOL     one library, then another in its place
 *   track_probe run [no-perf] FILE -- CMD...     CMD, or a descendant of it, runs FILE's code
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/track/track.h"
#include "../../daemon/track/track_proc.h"
#include "../entry_of.h"

#define EXIT_SKIP 77
/* The address of a position-independent program without randomisation. */
#define PROGRAM_BASE 0x555555554000ull

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "track_probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct pp_track *new_track(bool no_perf, pid_t only_pid)
{
	struct pp_track_config config = {.no_perf = no_perf, .only_pid = only_pid};
	struct pathprof_error error;
	struct pp_track_stats stats;
	struct pp_track *track;

	if (pp_track_new(&track, &config, &error)) {
		fprintf(stderr, "track_probe: %s\n", error.text);
		exit(1);
	}
	pp_track_stats(track, &stats);
	if (!no_perf && !stats.perf) {
		puts("perf_event_open is refused");
		exit(EXIT_SKIP);
	}
	return track;
}

static struct pathprof_build_id id_of(const char *path)
{
	struct pathprof_error error;
	struct pathprof_build_id id = {0};

	if (pathprof_build_id_read_file(&id, path, &error)) {
		fprintf(stderr, "track_probe: %s\n", error.text);
		exit(1);
	}
	return id;
}

/* ---------------------------------------------------------------- storm */

struct program {
	const char *path;
	struct pathprof_build_id id;
	uint64_t entry; /* of the file */
};

static void read_program(struct program *program)
{
	Elf64_Ehdr header;
	FILE *file = fopen(program->path, "re");

	if (!file || fread(&header, sizeof(header), 1, file) != 1)
		die(program->path);
	fclose(file);
	program->entry = header.e_entry;
	program->id = id_of(program->path);
}

static pid_t start_program(const struct program *program)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

		personality(ADDR_NO_RANDOMIZE);
		dup2(null_fd, STDOUT_FILENO);
		execl(program->path, program->path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		die("fork");
	return pid;
}

/* Execs programs until its parent ends. */
static pid_t start_load(const struct program *programs, size_t cnt)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0;; i++)
		waitpid(start_program(&programs[i % cnt]), NULL, 0);
}

/* 1: as it must be, 0: not known, -1: something else. */
static int look(struct pp_track *track, pid_t pid, const struct program *program)
{
	struct pp_location location;

	if (pp_track_resolve(track, pid, 0, PROGRAM_BASE + program->entry, &location))
		return 0;
	if (!pathprof_build_id_equal(&location.id, &program->id))
		return -1;
	return location.offset == program->entry ? 1 : -1;
}

/* Events that the tracker says it had no time for, or the kernel no room. */
static uint64_t unheard(const struct pp_track *track)
{
	struct pp_track_stats stats;

	pp_track_stats(track, &stats);
	return stats.lost + stats.drops[PP_TRACK_DROP_CPU_TIME];
}

/*
 * Records beyond the slice of CPU time that a call may take are for the next call. The load waits
 * meanwhile, or the tracker might be further behind with each call.
 */
static int look_dispatched(struct pp_track *track, pid_t pid, const struct program *program,
			   pid_t load)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t before = unheard(track);
	int result = 0;

	for (int i = 0; i < 100000 && result == 0 && unheard(track) == before; i++) {
		if (i == 1)
			kill(load, SIGSTOP);
		if (i > 0)
			nanosleep(&pause, NULL);
		pp_track_dispatch(track);
		result = look(track, pid, program);
	}
	kill(load, SIGCONT);
	return result;
}

/* With perf: once it has ended. Without: as often as it can be asked while it runs. */
static int look_once(struct pp_track *track, bool no_perf, const struct program *program,
		     pid_t load)
{
	pid_t pid = start_program(program);
	int result = 0;

	if (no_perf)
		while (waitpid(pid, NULL, WNOHANG) == 0)
			if (result == 0)
				result = look(track, pid, program);
	if (no_perf)
		return result;
	waitpid(pid, NULL, 0);
	return look_dispatched(track, pid, program, load);
}

/*
 * Without perf, programs may end unseen. With it each is known, but for those whose events fell to
 * what the tracker itself counts: the load may be more than its share of CPU time is enough for.
 */
static int storm(int count, bool no_perf, pid_t only_pid)
{
	struct program programs[] = {
		{.path = "/bin/true"}, {.path = "/bin/uname"}, {.path = "/bin/pwd"}};
	const size_t cnt = sizeof(programs) / sizeof(programs[0]);
	int right = 0, wrong = 0, told = 0;
	struct pp_track *track;
	pid_t load;

	for (size_t i = 0; i < cnt; i++)
		read_program(&programs[i]);
	track = new_track(no_perf, only_pid);
	load = start_load(programs, cnt);
	for (int i = 0; i < count; i++) {
		uint64_t before = unheard(track);
		int result = look_once(track, no_perf, &programs[(size_t)i % cnt], load);

		right += result > 0;
		wrong += result < 0;
		told += !result && unheard(track) > before;
	}
	kill(load, SIGKILL);
	waitpid(load, NULL, 0);
	printf("execs %d right %d wrong %d told of %d, events unheard %llu\n", count, right, wrong,
	       told, (unsigned long long)unheard(track));
	pp_track_free(track);
	return wrong || (!no_perf && (right + told != count || told > count / 2));
}

/* ---------------------------------------------------------------- dlopen */

static void load_and_say(int in, int out, const char *library, const char *symbol)
{
	void *handle = dlopen(library, RTLD_NOW);
	uint64_t address = handle ? (uintptr_t)dlsym(handle, symbol) : 0;
	char byte;

	if (write(out, &address, sizeof(address)) != (ssize_t)sizeof(address) ||
	    read(in, &byte, 1) != 1)
		_exit(1);
	if (handle)
		dlclose(handle);
}

/* A busy machine's events may be more than one call takes. */
static bool is_in(struct pp_track *track, pid_t pid, uint64_t time_ns, uint64_t address,
		  const char *library)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct pathprof_build_id id = id_of(library);
	struct pp_location location;
	int r = -ENOENT;

	for (int i = 0; i < 100000; i++) {
		pp_track_dispatch(track);
		r = pp_track_resolve(track, pid, time_ns, address, &location);
		if (!r && pathprof_build_id_equal(&location.id, &id))
			return true;
		nanosleep(&pause, NULL);
	}
	printf("%s: %s\n", library, r ? strerror(-r) : location.name);
	return false;
}

static uint64_t hear(int fd)
{
	uint64_t address = 0;

	if (read(fd, &address, sizeof(address)) != (ssize_t)sizeof(address) || !address)
		die("library");
	return address;
}

static int load_two(char **argv)
{
	struct pp_track *track = new_track(false, 0);
	uint64_t first, second, first_ns;
	bool is_right;
	int to[2], from[2];
	pid_t pid;

	if (pipe(to) < 0 || pipe(from) < 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		load_and_say(to[0], from[1], argv[0], argv[1]);
		load_and_say(to[0], from[1], argv[2], argv[3]);
		_exit(0);
	}
	close(from[1]);
	first = hear(from[0]);
	first_ns = now_ns();
	is_right = is_in(track, pid, now_ns(), first, argv[0]);
	if (write(to[1], "x", 1) != 1)
		die("pipe");
	second = hear(from[0]);
	is_right &= is_in(track, pid, now_ns(), second, argv[2]);
	is_right &= is_in(track, pid, first_ns, first, argv[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_right &= is_in(track, pid, 0, second, argv[2]);
	pp_track_free(track);
	return !is_right;
}

/* ---------------------------------------------------------------- run */

static bool runs(struct pp_track *track, pid_t pid, const struct pathprof_build_id *id)
{
	const struct pp_track_process *process;
	struct pp_location location;

	if (pp_track_resolve(track, pid, 0, entry_of(pid), &location) ||
	    !pathprof_build_id_equal(&location.id, id))
		return false;
	process = pp_track_process(track, pid);
	if (!process || !pathprof_build_id_equal(&process->exe_id, id))
		return false;
	printf("%s\n", location.name);
	return true;
}

static bool any_runs(struct pp_track *track, pid_t root, const struct pathprof_build_id *id)
{
	bool found = false;
	pid_t *pids;
	size_t cnt;

	pp_track_dispatch(track);
	if (pp_proc_pids(root, &pids, &cnt))
		return false;
	for (size_t i = 0; i < cnt && !found; i++)
		found = runs(track, pids[i], id);
	free(pids);
	return found;
}

static int run(bool no_perf, const char *file, char **command)
{
	struct pathprof_build_id id = id_of(file);
	struct pp_track *track = new_track(no_perf, 0);
	uint64_t give_up_ns = now_ns() + 600000000000ull;
	struct timespec pause = {.tv_nsec = 1000000};
	bool found = false;
	pid_t pid = fork();

	if (pid == 0) {
		setpgid(0, 0);
		execvp(command[0], command);
		_exit(127);
	}
	while (!found && now_ns() < give_up_ns && waitpid(pid, NULL, WNOHANG) == 0) {
		found = any_runs(track, pid, &id);
		nanosleep(&pause, NULL);
	}
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pp_track_free(track);
	return !found;
}

int main(int argc, char **argv)
{
	bool no_perf =
		argc > 2 && (!strcmp(argv[2], "no-perf") || !strcmp(argv[argc - 1], "no-perf"));

	bool own = argc > 3 && !strcmp(argv[3], "own");

	if (argc >= 3 && !strcmp(argv[1], "storm"))
		return storm((int)strtol(argv[2], NULL, 10), no_perf, own ? getpid() : 0);
	if (argc == 6 && !strcmp(argv[1], "dlopen"))
		return load_two(argv + 2);
	if (argc >= 5 + no_perf && !strcmp(argv[1], "run"))
		return run(no_perf, argv[2 + no_perf], argv + 4 + no_perf);
	fprintf(stderr, "usage: see the head of the source\n");
	return 2;
}
