// SPDX-License-Identifier: GPL-2.0-or-later
/* The exec hook: hooks that work, fail, hang, flood, and do not read. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/relay/tell_failure.h"
#include "tell_world.h"

#define PATIENCE_MS 60000 /* with a hook that does not hang */
#define HANG_MAX_MS 20000 /* until a slow machine has started one that does */

struct hook {
	struct world world;
	struct pp_tell *tell;
	char dir[128], command[192], out[160];
};

/* A script with $out, a file to write to. */
static void open_hook(struct hook *hook, const char *script, uint32_t timeout_ms)
{
	struct pp_tell_exec_config config = {.timeout_ms = timeout_ms, .retry_ms = 4};
	struct pathprof_error error = {""};
	char path[160];
	FILE *file;

	world_init(&hook->world);
	snprintf(hook->dir, sizeof(hook->dir), "%s", unit_tmpdir());
	snprintf(path, sizeof(path), "%s/hook", hook->dir);
	snprintf(hook->command, sizeof(hook->command), "%s first  second", path);
	snprintf(hook->out, sizeof(hook->out), "%s/out", hook->dir);
	file = fopen(path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fprintf(file, "#!/bin/sh\nout=%s\n%s\n", hook->out, script);
	fclose(file);
	chmod(path, 0700);
	config.command = hook->command;
	CU_ASSERT_FATAL(pp_tell_exec_new(&hook->tell, hook->world.event, &config, &error) == 0);
}

static void close_hook(struct hook *hook)
{
	hook->tell->ops->free(hook->tell);
	CU_ASSERT_FALSE(world_was_held_up(&hook->world));
	world_release(&hook->world);
}

static int tell(struct hook *hook, const char *binary)
{
	struct pp_tell_message message = world_message(binary, PATHPROF_ALERT_FIRED);

	return hook->tell->ops->tell(hook->tell, &message);
}

static const char *written(const struct hook *hook)
{
	static char text[4096];
	FILE *file = fopen(hook->out, "re");
	size_t n = 0;

	if (file) {
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[n] = '\0';
	return text;
}

static void test_reads_json(void)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_FIRED);
	struct hook hook;

	open_hook(&hook, "cat >$out; echo \" $# $2\" >>$out", PATIENCE_MS);
	CU_ASSERT(hook.tell->ops->tell(hook.tell, &message) == 0);
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	CU_ASSERT(!strncmp(written(&hook), message.json, strlen(message.json)));
	CU_ASSERT_STRING_EQUAL(written(&hook) + strlen(message.json), " 2 second\n");
	CU_ASSERT(world_stats(hook.tell).told == 1);
	message.change = PATHPROF_ALERT_SAME;
	CU_ASSERT(hook.tell->ops->tell(hook.tell, &message) == 0);
	CU_ASSERT(world_stats(hook.tell).queued == 0);
	close_hook(&hook);
}

static void test_in_order_one_at_a_time(void)
{
	struct hook hook;

	open_hook(&hook,
		  "mkdir $out.lock || echo both >>$out\n"
		  "sed -E 's/.*\"binary\":\"([^\"]*)\".*/\\1/' >>$out; rmdir $out.lock",
		  PATIENCE_MS);
	tell(&hook, "/1");
	tell(&hook, "/2");
	tell(&hook, "/3");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 3));
	CU_ASSERT_PTR_NOT_NULL(strstr(written(&hook), "/1"));
	CU_ASSERT(strstr(written(&hook), "/1") < strstr(written(&hook), "/2"));
	CU_ASSERT(strstr(written(&hook), "/2") < strstr(written(&hook), "/3"));
	CU_ASSERT_PTR_NULL(strstr(written(&hook), "both"));
	close_hook(&hook);
}

/* Twice in vain, then well; after one that never succeeds the next has its turn. */
static void test_fails(void)
{
	struct hook hook;

	open_hook(&hook, "echo x >>$out; [ $(wc -l <$out) -ge 3 ] || { echo no >&2; exit 3; }",
		  PATIENCE_MS);
	tell(&hook, "/1");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	CU_ASSERT(world_stats(hook.tell).told == 1);
	CU_ASSERT(world_stats(hook.tell).failed_tries == 2);
	close_hook(&hook);

	open_hook(&hook, "grep -q /2 && exit 0; kill -TERM $$", PATIENCE_MS);
	tell(&hook, "/1");
	tell(&hook, "/2");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 2));
	CU_ASSERT(world_stats(hook.tell).told == 1);
	CU_ASSERT(world_stats(hook.tell).dropped == 1);
	CU_ASSERT(world_stats(hook.tell).failed_tries == 3);
	close_hook(&hook);
}

/* Since when, and what the hook said, until one works. */
static void test_accounts_for_failures(void)
{
	struct pp_tell_stats stats;
	struct hook hook;
	int64_t since_ns;

	open_hook(&hook, "grep -q /3 && exit 0; printf 'n\\303\\266; \\033' >&2; exit 3",
		  PATIENCE_MS);
	CU_ASSERT_PTR_NULL(world_stats(hook.tell).why);
	tell(&hook, "/1");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	stats = world_stats(hook.tell);
	CU_ASSERT_PTR_NOT_NULL_FATAL(stats.why);
	CU_ASSERT_STRING_EQUAL(stats.why, "it failed with status 3: n???  ");
	since_ns = stats.failing_since_ns;
	CU_ASSERT(since_ns > 0);
	tell(&hook, "/2");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 2));
	CU_ASSERT_EQUAL(world_stats(hook.tell).failing_since_ns, since_ns);
	tell(&hook, "/3");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 3));
	CU_ASSERT_PTR_NULL(world_stats(hook.tell).why);
	close_hook(&hook);
}

/* Or waits for init to notice. */
static bool child_is_gone(void *context)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/stat", strtol(written(context), NULL, 10));
	file = fopen(path, "re");
	if (!file)
		return true;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(file);
	return state == 'Z' || state == 'X';
}

/* True: it came so far that there was a child to kill. */
static bool hangs(uint32_t timeout_ms)
{
	struct hook hook;
	bool began;

	open_hook(&hook, "trap '' TERM; sleep 1000 & echo $! >$out; wait", timeout_ms);
	tell(&hook, "/1");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	CU_ASSERT(world_stats(hook.tell).dropped == 1);
	CU_ASSERT(world_stats(hook.tell).failed_tries == 3);
	began = strtol(written(&hook), NULL, 10) > 1;
	if (began)
		CU_ASSERT(world_until(&hook.world, child_is_gone, &hook));
	close_hook(&hook);
	return began;
}

/* It is killed, and what it started with it; on a busy machine it needs longer to start that. */
static void test_hangs(void)
{
	uint32_t timeout_ms = 150;

	while (timeout_ms < HANG_MAX_MS && !hangs(timeout_ms))
		timeout_ms *= 2;
	CU_ASSERT(timeout_ms < HANG_MAX_MS);
}

static void test_floods_and_does_not_read(void)
{
	struct hook hook;

	open_hook(
		&hook,
		"exec 0<&-; head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; echo x >$out",
		PATIENCE_MS);
	tell(&hook, "/1");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	CU_ASSERT(world_stats(hook.tell).told == 1);
	CU_ASSERT_STRING_EQUAL(written(&hook), "x\n");
	close_hook(&hook);
}

static void test_queue_bound(void)
{
	struct hook hook;
	int full = 0;

	open_hook(&hook, "sleep 1000", PATIENCE_MS);
	for (int i = 0; i < 300; i++)
		full += tell(&hook, "/1") == -ENOBUFS;
	CU_ASSERT(full == 300 - 256);
	CU_ASSERT(world_stats(hook.tell).dropped == 300 - 256);
	CU_ASSERT(world_stats(hook.tell).queued == 256);
	close_hook(&hook);
}

static bool is_begun(void *context)
{
	return written(context)[0] != '\0';
}

/* The one that runs is waited for, and no other begins: that is told by the next relay. */
static void test_end(void)
{
	struct pp_tell_stats stats;
	struct hook hook;
	uint64_t begin_us;

	open_hook(&hook, "echo begun >>$out; sleep 0.3; echo ended >>$out", PATIENCE_MS);
	tell(&hook, "/1");
	tell(&hook, "/2");
	stats = world_stats(hook.tell);
	CU_ASSERT(world_until(&hook.world, is_begun, &hook));
	hook.tell->ops->finish(hook.tell, PATIENCE_MS);
	CU_ASSERT_STRING_EQUAL(written(&hook), "begun\nended\n");
	CU_ASSERT_EQUAL(world_stats(hook.tell).told, 1);
	CU_ASSERT_EQUAL(world_stats(hook.tell).queued, 1);
	CU_ASSERT_EQUAL(world_stats(hook.tell).settled, stats.settled + 1);
	hook.tell->ops->free(hook.tell);
	world_release(&hook.world);

	open_hook(&hook, "echo begun >>$out; sleep 1000", PATIENCE_MS);
	tell(&hook, "/1");
	CU_ASSERT(world_until(&hook.world, is_begun, &hook));
	begin_us = pp_tell_now_us();
	hook.tell->ops->finish(hook.tell, 200);
	CU_ASSERT_EQUAL(world_stats(hook.tell).queued, 1);
	hook.tell->ops->free(hook.tell);
	CU_ASSERT(pp_tell_now_us() - begin_us < PATIENCE_MS * UINT64_C(1000) / 2);
	world_release(&hook.world);
}

/* Neither our environment nor our descriptors. */
static void test_inherits_nothing(void)
{
	struct hook hook;

	setenv("NOTIFY_SOCKET", "/run/x", 1);
	open_hook(&hook, "echo \"$NOTIFY_SOCKET.$PWD\" >$out; ls -1 /proc/self/fd | wc -l >>$out",
		  PATIENCE_MS);
	tell(&hook, "/1");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	/* 0, 1, 2 and what ls reads the directory by */
	CU_ASSERT_STRING_EQUAL(written(&hook), "./\n4\n");
	close_hook(&hook);
}

/* Makes a capability ambient, as systemd does for the service. False if we do not have it. */
static bool take_ambient(int cap)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0 ||
	    !(data[CAP_TO_INDEX(cap)].permitted & CAP_TO_MASK(cap)))
		return false;
	data[CAP_TO_INDEX(cap)].inheritable |= CAP_TO_MASK(cap);
	return syscall(SYS_capset, &head, data) == 0 &&
	       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) == 0;
}

/* The output of script when it is run as a hook. */
static void run_hook(const char *script, char *ret_text, size_t size)
{
	struct hook hook;

	open_hook(&hook, script, PATIENCE_MS);
	tell(&hook, "/1");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	snprintf(ret_text, size, "%s", written(&hook));
	close_hook(&hook);
}

static void test_inherits_no_rights(void)
{
	static const char ask[] = "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status "
				  "| tr -d '\\n\\t' >$out; cat /proc/self/oom_score_adj >>$out";
	static const char none[] = "CapInh:0000000000000000CapPrm:0000000000000000"
				   "CapEff:0000000000000000CapAmb:0000000000000000NoNewPrivs:1";
	bool ambient = take_ambient(CAP_SYS_PTRACE) && take_ambient(CAP_DAC_READ_SEARCH);
	char text[4096], own[512];
	FILE *status;

	run_hook(ask, text, sizeof(text));
	CU_ASSERT(!strncmp(text, none, strlen(none)));
	CU_ASSERT_STRING_EQUAL(text + strlen(none), "0\n");
	if (!ambient) {
		unit_skip("no capability here that could have been inherited");
		return;
	}
	/* the same, asked of a program that is started the ordinary way */
	status = popen("grep CapAmb /proc/self/status", "re"); /* NOLINT(cert-env33-c) */
	CU_ASSERT_PTR_NOT_NULL_FATAL(status);
	CU_ASSERT_PTR_NOT_NULL(fgets(own, sizeof(own), status));
	pclose(status);
	CU_ASSERT(strtoull(own + strlen("CapAmb:"), NULL, 16) != 0);
}

static void test_cannot_be_executed(void)
{
	struct hook hook;

	open_hook(&hook, "true", PATIENCE_MS);
	*strchr(hook.command, ' ') = '\0';
	CU_ASSERT_EQUAL(unlink(hook.command), 0);
	tell(&hook, "/1");
	CU_ASSERT(world_until_done(&hook.world, hook.tell, 1));
	CU_ASSERT(world_stats(hook.tell).dropped == 1);
	CU_ASSERT(world_stats(hook.tell).failed_tries == 3);
	close_hook(&hook);
}

static bool has_failed(void *context)
{
	return world_stats(context).failed_tries != 0;
}

/* The kernel reaps children of whoever ignores SIGCHLD. */
static void test_is_reaped_by_others(void)
{
	struct hook hook;
	char path[176];
	FILE *file;

	signal(SIGCHLD, SIG_IGN);
	open_hook(&hook, "echo begun >$out; while [ ! -s $out.go ]; do sleep 0.01; done",
		  PATIENCE_MS);
	tell(&hook, "/1");
	CU_ASSERT(world_until(&hook.world, is_begun, &hook));
	snprintf(path, sizeof(path), "%s.go", hook.out);
	file = fopen(path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs("go\n", file);
	fclose(file);
	CU_ASSERT(world_until(&hook.world, has_failed, hook.tell));
	CU_ASSERT_STRING_EQUAL(world_stats(hook.tell).why, "it ended, but how is not known");
	close_hook(&hook);
	signal(SIGCHLD, SIG_DFL);
}

/* Neither 0, 1 nor 3 is open: the pipe takes the first two, the null device the last. */
static _Noreturn void start_with_few_descriptors(void)
{
	static char program[] = "/bin/echo", word[] = "not-a-report";
	char *const argv[] = {program, word, NULL};
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int output = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t child;

	input = fcntl(input, F_DUPFD_CLOEXEC, 100);
	output = fcntl(output, F_DUPFD_CLOEXEC, 100);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(3);
	_exit(input < 0 || output < 0 || pp_tell_hook_start(&child, argv, input, output) != 0);
}

/* A hook's output is no report of how it was started. */
static void test_few_descriptors(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		start_with_few_descriptors();
	CU_ASSERT(waitpid(child, &status, 0) == child);
	CU_ASSERT_EQUAL(status, 0);
}

static void test_bad_commands(void)
{
	static const struct {
		const char *command;
		int code;
	} bad[] = {{"", -EINVAL}, {"  ", -EINVAL}, {"true", -EINVAL}, {"/nowhere/hook", -ENOENT}};
	struct world world;

	world_init(&world);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct pp_tell_exec_config config = {.command = bad[i].command};
		struct pathprof_error error = {""};
		struct pp_tell *tell = NULL;

		CU_ASSERT(pp_tell_exec_new(&tell, world.event, &config, &error) == bad[i].code);
		CU_ASSERT_PTR_NULL(tell);
		CU_ASSERT_STRING_NOT_EQUAL(error.text, "");
	}
	world_release(&world);
}

static const struct unit_test tests[] = {
	{"gives the JSON on standard input, and its words", test_reads_json},
	{"runs one at a time, in order", test_in_order_one_at_a_time},
	{"tries three times, then goes on with the next", test_fails},
	{"says since when it fails, and what the hook said", test_accounts_for_failures},
	{"kills a hook that hangs, and its children", test_hangs},
	{"outlasts a hook that floods and does not read", test_floods_and_does_not_read},
	{"bounds its queue and counts what it drops", test_queue_bound},
	{"ends with the hook that runs, or without it in time", test_end},
	{"hands down neither environment nor descriptors", test_inherits_nothing},
	{"hands down no capability, nor its place when memory runs out", test_inherits_no_rights},
	{"notices that its hook is gone", test_cannot_be_executed},
	{"does not make up how a hook ended", test_is_reaped_by_others},
	{"starts a hook though few descriptors are open", test_few_descriptors},
	{"refuses what cannot be run", test_bad_commands},
};
UNIT_SUITE(tell_exec, tests)
