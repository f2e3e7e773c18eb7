// SPDX-License-Identifier: GPL-2.0-or-later
/* Watching over a verb: see keeper.h. */
#include "keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../text/cleanup.h"
#include "../text/term.h"
#include "../text/text.h"
#include "base/clock.h"
#include "base/progress.h"
#include "pathprof/foreign.h"

#define LOOK_NS      250000000
#define SILENT_S     5
#define SILENT_LOOKS (SILENT_S * (CTL_NS_PER_S / LOOK_NS))
#define READ_S       120
#define MEMORY_MAX   (UINT64_C(4) << 30)
#define NAME_BYTES   4096
#define ERASE_LINE   "\r\033[K"

/* Memory shared by both: the child writes, the keeper reads. */
struct seen {
	char file[NAME_BYTES]; /* the file being read */
	char at[256];          /* the text from keeper_say() */
	_Atomic bool shows;    /* the child's output is on the terminal */
	_Atomic bool told;     /* the keeper's line is on the terminal */
};

static struct seen *seen; /* NULL: nobody watches */

struct keeper {
	pid_t child;
	char *file; /* seen's */
	const char *verb;
	int64_t begin_ns, say_ns; /* when the next line is due */
	bool live;                /* standard error is a terminal */

	/* The child's state at the last check, and how many earlier checks in a row found the
	 * same. */
	char doing[256];
	int64_t doing_cpu_ns;
	unsigned int same_cnt;
	char last_file[NAME_BYTES];
	int64_t file_cpu_ns;

	struct rusage usage;
};

static int64_t now_ns(void)
{
	return (int64_t)pp_monotonic_ns();
}

static int64_t seconds_to_read(void)
{
	const char *text = getenv("PATHPROF_READ_SECONDS");
	long seconds = text ? strtol(text, NULL, 10) : 0;

	return seconds > 0 ? seconds : READ_S;
}

/* ---- the child */

static uint64_t memory_most(void)
{
#ifdef __SANITIZE_ADDRESS__ /* which maps terabytes for itself */
	return RLIM_INFINITY;
#else
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);

	return half && half < MEMORY_MAX ? half : MEMORY_MAX;
#endif
}

static void limit_memory(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit))
		return;
	if (limit.rlim_cur > memory_most())
		limit.rlim_cur = memory_most();
	setrlimit(RLIMIT_DATA, &limit);
}

/* The keeper's line stays on the terminal until the first output. */
static ssize_t show(void *cookie, const char *bytes, size_t len_bytes)
{
	ssize_t n;

	seen->shows = true;
	if (seen->told)
		fputs(ERASE_LINE, stderr);
	seen->told = false;
	do
		n = write(STDOUT_FILENO, bytes, len_bytes);
	while (n < 0 && errno == EINTR);
	return n < 0 ? 0 : n;
}

static void watch_output(void)
{
	FILE *out = NULL;

	if (isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1)
		out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = show});
	if (!out)
		return;
	setvbuf(out, NULL, _IOLBF, BUFSIZ);
	stdout = out;
}

static _Noreturn void be_child(const struct keeper *keeper, const struct ctl_options *options,
			       const sigset_t *mask, int (*run)(const struct ctl_options *options),
			       int (*finish)(int result))
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, mask, NULL);
	limit_memory();
	pathprof_foreign_witness(keeper->file, NAME_BYTES);
	watch_output();
	exit(finish(run(options)));
}

/* ---- looking at it */

/* Returns NULL if the child is gone, or the file cannot be read. */
static char *read_of(const struct keeper *keeper, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", keeper->child, what);
	return ctl_read_line(path);
}

/* System calls that, if they wait long, wait for a file. For those that read, name_of_fd() rules
 * out pipes and terminals. */
static bool asks_for_file(long number)
{
	static const long numbers[] = {
		__NR_open,   __NR_openat, __NR_openat2,    __NR_stat,       __NR_fstat,
		__NR_lstat,  __NR_statx,  __NR_newfstatat, __NR_statfs,     __NR_fstatfs,
		__NR_read,   __NR_readv,  __NR_pread64,    __NR_preadv,     __NR_readlink,
		__NR_access, __NR_mmap,   __NR_close,      __NR_getdents64,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (number == numbers[i])
			return true;
	return false;
}

/* The file that a descriptor of the child is open on; "" if it is none: a pipe, a terminal. */
static void name_of_fd(const struct keeper *keeper, unsigned long fd, char name[static NAME_BYTES])
{
	char path[64];
	ssize_t len_bytes;

	snprintf(path, sizeof(path), "/proc/%d/fd/%lu", keeper->child, fd);
	len_bytes = readlink(path, name, NAME_BYTES - 1);
	name[len_bytes > 0 ? len_bytes : 0] = '\0';
	if (name[0] != '/' || !strncmp(name, "/dev/", 5))
		name[0] = '\0';
}

/*
 * The file that the child waits for in `doing`, a line of /proc/PID/syscall: -1 is a page fault.
 * Returns false if it computes, or waits for something else.
 */
static bool waits_for(const struct keeper *keeper, const char *doing, char name[static NAME_BYTES])
{
	unsigned long first = 0;
	long number;

	if (sscanf(doing, "%ld 0x%lx", &number, &first) < 1)
		return false;
	snprintf(name, NAME_BYTES, "%s", keeper->file);
	if (number == -1)
		return name[0];
	if (!asks_for_file(number))
		return false;
	if (number == __NR_read || number == __NR_readv || number == __NR_pread64 ||
	    number == __NR_preadv)
		name_of_fd(keeper, first, name);
	return name[0];
}

/* Whether the child sleeps, and is not stopped by somebody. */
static bool sleeps(const struct keeper *keeper)
{
	_cleanup_free_ char *stat = read_of(keeper, "stat");
	const char *state = stat ? strrchr(stat, ')') : NULL;

	return state && (state[2] == 'S' || state[2] == 'D');
}

static int64_t cpu_of_child_ns(const struct keeper *keeper)
{
	clockid_t clock;

	return clock_getcpuclockid(keeper->child, &clock) ? 0 : (int64_t)pp_clock_ns(clock);
}

/*
 * Counts the checks in a row that found the child asleep in one call without CPU time between them.
 * Seconds would also pass while both processes are suspended or get no CPU.
 */
static unsigned int same_looks(struct keeper *keeper)
{
	_cleanup_free_ char *doing = sleeps(keeper) ? read_of(keeper, "syscall") : NULL;
	int64_t cpu_ns = cpu_of_child_ns(keeper);

	if (doing && !strcmp(doing, keeper->doing) && cpu_ns == keeper->doing_cpu_ns)
		return ++keeper->same_cnt;
	snprintf(keeper->doing, sizeof(keeper->doing), "%s", doing ? doing : "");
	keeper->doing_cpu_ns = cpu_ns;
	keeper->same_cnt = 0;
	return 0;
}

/* Returns the CPU time spent on the current file. */
static int64_t read_ns(struct keeper *keeper)
{
	int64_t cpu_ns = cpu_of_child_ns(keeper);

	if (strncmp(keeper->last_file, keeper->file, NAME_BYTES) != 0) {
		snprintf(keeper->last_file, NAME_BYTES, "%s", keeper->file);
		keeper->file_cpu_ns = cpu_ns;
	}
	return keeper->last_file[0] ? cpu_ns - keeper->file_cpu_ns : 0;
}

/* ---- its end */

/* Whether it came near its limit of memory; a library may have gone on after a failed
 * allocation. */
static bool took_all_memory(const struct keeper *keeper)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit))
		return false;
	if (limit.rlim_cur > memory_most())
		limit.rlim_cur = memory_most();
	return (uint64_t)keeper->usage.ru_maxrss * 1024 > limit.rlim_cur / 10 * 9;
}

static bool is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL ||
	       signal == SIGFPE;
}

/* Ends as the child ended: with its status or signal. */
static int end_as(const struct keeper *keeper, int status)
{
	struct rlimit none = {0, 0};
	int signal = WTERMSIG(status);

	if (WIFEXITED(status) && took_all_memory(keeper) && keeper->file[0])
		ctl_note("%s: takes more memory to read than pathprofctl may use: some of it was "
			 "left out",
			 keeper->file);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (is_crash(signal) && keeper->file[0])
		return ctl_fail("%s: cannot be read: its reader ended by signal %d", keeper->file,
				signal);
	setrlimit(RLIMIT_CORE, &none);
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
	raise(signal);
	return CTL_FAILURE;
}

/* ---- progress meanwhile */

void keeper_say(const char *format, ...)
{
	va_list args;

	if (!seen)
		return;
	va_start(args, format);
	vsnprintf(seen->at, sizeof(seen->at), format, args);
	va_end(args);
}

static char *text_of_doing(void)
{
	_cleanup_free_ char *copy = NULL, *file = NULL;

	if (seen->at[0]) {
		copy = ctl_printf("%.*s", (int)sizeof(seen->at) - 1, seen->at);
		return text_escape(copy);
	}
	if (!seen->file[0])
		return ctl_strdup("reading the profile");
	copy = ctl_printf("%.*s", NAME_BYTES - 1, seen->file);
	file = text_escape(text_base_name(copy));
	return ctl_printf("reading %s", file);
}

static void say(struct keeper *keeper)
{
	int64_t since_ns = now_ns() - keeper->begin_ns;
	_cleanup_free_ char *doing = NULL, *line = NULL, *fitting = NULL;

	if (since_ns < keeper->say_ns || (keeper->live && seen->shows))
		return;
	keeper->say_ns = keeper->live ? since_ns + CTL_NS_PER_S : 2 * since_ns;
	doing = text_of_doing();
	line = ctl_printf("pathprofctl: %s: %lld s: %s", keeper->verb,
			  (long long)(since_ns / CTL_NS_PER_S), doing);
	fitting = text_shorten(line, ctl_term.terminal ? ctl_term.width - 1 : 200);
	seen->told = keeper->live;
	fprintf(stderr, "%s%s%s", keeper->live ? ERASE_LINE : "", fitting,
		keeper->live ? "" : "\n");
	fflush(stderr);
}

static void say_no_more(const struct keeper *keeper)
{
	if (keeper->live && seen->told)
		fputs(ERASE_LINE, stderr);
}

/* ---- watching */

/* Signals that end a command; those of the terminal reach the child by themselves. */
static const int handed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
static const int of_terminal[] = {SIGINT, SIGQUIT};

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
		sigaddset(set, handed_on[i]);
	for (size_t i = 0; i < sizeof(of_terminal) / sizeof(of_terminal[0]); i++)
		sigaddset(set, of_terminal[i]);
}

static bool is_handed_on(int signal, const siginfo_t *info)
{
	for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
		if (signal == handed_on[i])
			return true;
	/* sent by somebody to this process alone */
	return (signal == SIGINT || signal == SIGQUIT) && info->si_code <= 0;
}

/* Kills the child, which may not die while it waits for a file server. */
static void give_up(const struct keeper *keeper)
{
	kill(keeper->child, SIGKILL);
	say_no_more(keeper);
}

/* Returns 0 while the child goes on. */
static int judge(struct keeper *keeper)
{
	char name[NAME_BYTES];

	if (same_looks(keeper) >= SILENT_LOOKS && waits_for(keeper, keeper->doing, name)) {
		give_up(keeper);
		return ctl_fail("%s: does not answer (after %d s)", name, SILENT_S);
	}
	if (read_ns(keeper) >= seconds_to_read() * CTL_NS_PER_S) {
		give_up(keeper);
		return ctl_fail("%s: takes more than %lld s to read (PATHPROF_READ_SECONDS=)",
				keeper->last_file, (long long)seconds_to_read());
	}
	return 0;
}

static int watch(struct keeper *keeper, const sigset_t *signals)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	int status, r = 0;

	while (!r) {
		siginfo_t info;
		int signal = sigtimedwait(signals, &info, &pause);

		if (signal > 0 && is_handed_on(signal, &info))
			kill(keeper->child, signal);
		if (wait4(keeper->child, &status, WNOHANG, &keeper->usage) == keeper->child) {
			say_no_more(keeper);
			return end_as(keeper, status);
		}
		if (signal < 0) {
			say(keeper);
			r = judge(keeper);
		}
	}
	return r;
}

int keeper_run(const struct ctl_options *options, int (*run)(const struct ctl_options *options),
	       int (*finish)(int result))
{
	struct keeper keeper = {
		.child = -1,
		.verb = options->verb,
		.begin_ns = now_ns(),
		.say_ns = (int64_t)pp_progress_after_ns(),
		.live = isatty(STDERR_FILENO) == 1,
	};
	sigset_t signals, before;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED) {
		seen = NULL;
		return finish(run(options));
	}
	keeper.file = seen->file;
	fflush(NULL);
	wanted_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	keeper.child = fork();
	if (keeper.child == 0)
		be_child(&keeper, options, &before, run, finish);
	if (keeper.child > 0)
		return watch(&keeper, &signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return finish(run(options));
}
