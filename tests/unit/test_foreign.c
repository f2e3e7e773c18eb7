// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of others: whatever a name refers to, only regular files are opened. Opens are detected by
 * inotify, which sees every open() and no look (O_PATH).
 */
#include "pathprof/code.h"
#include "pathprof/foreign.h"
#include "pathprof/inlines.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* ---------------------------------------------------------------- who opens what */

static int watch(const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT(inotify_add_watch(fd, path, IN_OPEN) >= 0);
	return fd;
}

/* Since the watch began; ends it. */
static bool was_opened(int watch_fd)
{
	char events[4096];
	bool opened = read(watch_fd, events, sizeof(events)) > 0;

	close(watch_fd);
	return opened;
}

static const char *in_dir(const char *dir, const char *name)
{
	static char paths[4][512];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	CU_ASSERT_EQUAL(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void make_file(const char *path, const void *bytes, size_t len_bytes)
{
	FILE *file = fopen(path, "we");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(bytes, 1, len_bytes, file), len_bytes);
	fclose(file);
}

/* ---------------------------------------------------------------- kinds */

static void check_refused(const char *path)
{
	struct pathprof_error error = {""};
	int watched = watch(path);

	CU_ASSERT_EQUAL(pathprof_foreign_look(PATHPROF_OWN_ROOT, path), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_foreign_open(PATHPROF_OWN_ROOT, path, &error), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "is no regular file"));
	CU_ASSERT_FALSE(was_opened(watched));
}

static void test_kinds(void)
{
	const char *dir = unit_tmpdir();

	CU_ASSERT_EQUAL(mkfifo(in_dir(dir, "fifo"), 0600), 0);
	make_socket(in_dir(dir, "socket"));
	CU_ASSERT_EQUAL(symlink("fifo", in_dir(dir, "link")), 0);
	check_refused(in_dir(dir, "fifo"));
	check_refused(in_dir(dir, "link"));
	check_refused(in_dir(dir, "socket"));
	check_refused(dir);
	/* a device that no other program opens meanwhile, as each does /dev/null */
	check_refused("/dev/full");
}

/* People are told what a command waits for, and they know the file and no descriptor of it. */
static void test_witness_of_descriptors(void)
{
	const char *dir = unit_tmpdir();
	char seen[PATH_MAX] = "", file[PATH_MAX], path[64];
	int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, pipe_fds[2];

	make_file(in_dir(dir, "named"), "text", 4);
	CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(in_dir(dir, "named"), file));
	fd = open(file, O_RDONLY | O_CLOEXEC);
	pathprof_foreign_witness(seen, sizeof(seen));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	pathprof_foreign_tell(path);
	CU_ASSERT_STRING_EQUAL(seen, file);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	pathprof_foreign_tell(path);
	CU_ASSERT_STRING_EQUAL(seen, file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/named", dir_fd);
	pathprof_foreign_tell(path);
	CU_ASSERT_STRING_EQUAL(seen, file);
	CU_ASSERT_EQUAL(pipe(pipe_fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[0]);
	pathprof_foreign_tell(path);
	CU_ASSERT_STRING_EQUAL(seen, path);
	pathprof_foreign_witness(NULL, 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close(fd);
	close(dir_fd);
}

/* The watch would have noticed: as things were opened before, and as files are. */
static void test_watch_notices(void)
{
	const char *dir = unit_tmpdir();
	const char *fifo = in_dir(dir, "fifo"), *file = in_dir(dir, "file");
	int watched, fd;

	CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
	make_file(file, "text", 4);
	watched = watch(fifo);
	fd = open(fifo, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	CU_ASSERT(fd >= 0);
	close(fd);
	CU_ASSERT(was_opened(watched));
	watched = watch(file);
	fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, file, NULL);
	CU_ASSERT(fd >= 0);
	close(fd);
	CU_ASSERT(was_opened(watched));
}

static void test_files_of_the_kernel(void)
{
	static const char *const files[] = {"/proc/self/mem", "/proc/self/maps",
					    "/proc/sys/kernel/hostname",
					    "/sys/devices/system/cpu/online"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		CU_ASSERT_EQUAL(pathprof_foreign_open(PATHPROF_OWN_ROOT, files[i], NULL), -EINVAL);
		CU_ASSERT_EQUAL(access(files[i], R_OK), 0);
	}
	CU_ASSERT_EQUAL(pathprof_foreign_open(PATHPROF_OWN_ROOT, "/nowhere", NULL), -ENOENT);
}

/* ---------------------------------------------------------------- roots */

static bool reads(int root_fd, const char *path, const char *text)
{
	int fd = pathprof_foreign_open(root_fd, path, NULL);
	char got[16] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

	if (fd >= 0)
		close(fd);
	return n >= 0 && !strcmp(got, text);
}

static void test_no_way_out_of_a_root(void)
{
	const char *dir = unit_tmpdir();
	int root_fd;

	make_file(in_dir(dir, "outside"), "outside", 7);
	CU_ASSERT_EQUAL(mkdir(in_dir(dir, "root"), 0700), 0);
	make_file(in_dir(dir, "root/inside"), "inside", 6);
	CU_ASSERT_EQUAL(symlink("/inside", in_dir(dir, "root/good")), 0);
	CU_ASSERT_EQUAL(symlink("../outside", in_dir(dir, "root/bad")), 0);
	CU_ASSERT_EQUAL(symlink(in_dir(dir, "outside"), in_dir(dir, "root/worse")), 0);
	root_fd = open(in_dir(dir, "root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (pathprof_foreign_look(root_fd, "inside") == -ENOSYS) {
		unit_skip("this kernel has no openat2 (Linux 5.6)");
		close(root_fd);
		return;
	}
	CU_ASSERT(reads(root_fd, "/inside", "inside"));
	CU_ASSERT(reads(root_fd, "/good", "inside"));
	CU_ASSERT_FALSE(reads(root_fd, "/bad", "outside"));
	CU_ASSERT_FALSE(reads(root_fd, "/worse", "outside"));
	CU_ASSERT_FALSE(reads(root_fd, "/../outside", "outside"));
	/* the links would have led there */
	CU_ASSERT(reads(PATHPROF_OWN_ROOT, in_dir(dir, "root/bad"), "outside"));
	CU_ASSERT(reads(PATHPROF_OWN_ROOT, in_dir(dir, "root/worse"), "outside"));
	close(root_fd);
}

/* ---------------------------------------------------------------- others rename meanwhile */

/* Calls of the handler below have this as a fifth argument, which openat2 has not. */
#define LET_THROUGH 0x706174u

static volatile sig_atomic_t give_up_cnt;

/* In place of the kernel, which gives up so often, and then finds the file. */
static void on_openat2(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	long fd = -1;

	(void)number;
	(void)info;
	errno = EAGAIN;
	if (give_up_cnt > 0)
		give_up_cnt--;
	else
		fd = syscall(SYS_openat2, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10],
			     (unsigned long)LET_THROUGH);
	r[REG_RAX] = fd < 0 ? -errno : fd;
}

static bool trap_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LET_THROUGH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	const struct sigaction action = {.sa_sigaction = on_openat2, .sa_flags = SA_SIGINFO};

	return !sigaction(SIGSYS, &action, NULL) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* A look's result when the kernel gives up so often; 0: a file. */
static int look_while_others_rename(int root_fd, int times)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		int r = trap_openat2() ? 0 : -ENOTSUP;

		give_up_cnt = times;
		r = r ? r : pathprof_foreign_look(root_fd, "folder/../file");
		_exit(r >= 0 ? 0 : -r);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void test_others_rename(void)
{
	const char *dir = unit_tmpdir();
	int root_fd, r;

	CU_ASSERT_EQUAL(mkdir(in_dir(dir, "busy"), 0700), 0);
	CU_ASSERT_EQUAL(mkdir(in_dir(dir, "busy/folder"), 0700), 0);
	make_file(in_dir(dir, "busy/file"), "file", 4);
	root_fd = open(in_dir(dir, "busy"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = look_while_others_rename(root_fd, 0);
	if (r == -ENOSYS || r == -ENOTSUP) {
		unit_skip("this kernel has no openat2 (Linux 5.6), or no filters");
	} else {
		CU_ASSERT_EQUAL(r, 0);
		CU_ASSERT_EQUAL(look_while_others_rename(root_fd, 3), 0);
		/* but not for ever */
		CU_ASSERT_EQUAL(look_while_others_rename(root_fd, 100000), -EAGAIN);
	}
	close(root_fd);
}

static void test_root_of_a_process(void)
{
	int root_fd = pathprof_foreign_root(getpid());
	struct stat root, own;

	CU_ASSERT_FATAL(root_fd >= 0);
	CU_ASSERT_EQUAL(fstat(root_fd, &root), 0);
	CU_ASSERT_EQUAL(stat("/", &own), 0);
	CU_ASSERT(root.st_ino == own.st_ino && root.st_dev == own.st_dev);
	close(root_fd);
	CU_ASSERT_EQUAL(pathprof_foreign_root(0x3ffffff), -ESRCH);
}

/* ---------------------------------------------------------------- what holds one up */

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A child that has a lease on path and does not give it back; -1: it gets none. */
static pid_t lease(const char *path)
{
	int ready[2];
	char said = 'n';
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		signal(SIGIO, SIG_IGN);
		said = fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
		(void)!write(ready[1], &said, 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CU_ASSERT_EQUAL(read(ready[0], &said, 1), 1);
	close(ready[0]);
	if (said == 'y')
		return child;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return -1;
}

static void test_leased_file(void)
{
	const char *path = in_dir(unit_tmpdir(), "leased");
	double begin_s;
	pid_t child;

	make_file(path, "text", 4);
	child = lease(path);
	if (child < 0) {
		unit_skip("no leases on this file system");
		return;
	}
	begin_s = now_s();
	CU_ASSERT_EQUAL(pathprof_foreign_open(PATHPROF_OWN_ROOT, path, NULL), -EAGAIN);
	/* the kernel takes a lease away after 45 seconds */
	CU_ASSERT(now_s() - begin_s < 30);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CU_ASSERT(reads(PATHPROF_OWN_ROOT, path, "text"));
}

/* ---------------------------------------------------------------- names within files */

/* A copy of this program, stripped when its debug information is to be looked for elsewhere. */
static bool copy_self(const char *path, const char *objcopy)
{
	char command[2048];

	snprintf(command, sizeof(command), "cp -L /proc/%d/exe %s && objcopy %s %s", getpid(), path,
		 objcopy, path);
	return system(command) == 0; /* NOLINT(cert-env33-c): names made here */
}

static void ask_for_line(const char *path)
{
	struct pathprof_code_segment segment;
	struct pathprof_code *code = NULL;
	const char *file;
	int line;

	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(&code, path, NULL, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_code_segment(code, 0, &segment), 0);
	(void)pathprof_code_line(code, segment.offset + segment.len_bytes / 2, &file, &line);
	pathprof_code_free(code);
}

/* Whether a program whose .gnu_debugaltlink says name makes us open that. */
static bool opens_common(const char *dir, const char *name)
{
	const char *path = in_dir(dir, "program"), *section = in_dir(dir, "section");
	char bytes[600] = "", objcopy[700];
	size_t len = strlen(name) + 1;
	int watched;

	memcpy(bytes, name, len);
	memset(bytes + len, 0x5a, 20);
	make_file(section, bytes, len + 20);
	snprintf(objcopy, sizeof(objcopy), "--add-section .gnu_debugaltlink=%s", section);
	CU_ASSERT_FATAL(copy_self(path, objcopy));
	watched = watch(name);
	ask_for_line(path);
	return was_opened(watched);
}

static void test_common_parts(void)
{
	const char *dir = unit_tmpdir();
	char fifo[256], file[256];

	if (system("objcopy --version >/dev/null 2>&1")) { /* NOLINT(cert-env33-c) */
		unit_skip("no objcopy");
		return;
	}
	snprintf(fifo, sizeof(fifo), "%s", in_dir(dir, "fifo"));
	snprintf(file, sizeof(file), "%s", in_dir(dir, "file"));
	CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
	make_file(file, "no debug information", 20);
	CU_ASSERT_FALSE(opens_common(dir, fifo));
	CU_ASSERT(opens_common(dir, file));
}

/* A FIFO stands where a debug file beside the program is looked for. */
static void test_debug_file(void)
{
	const char *dir = unit_tmpdir();
	char fifo[256], program[256];
	int watched;

	snprintf(fifo, sizeof(fifo), "%s", in_dir(dir, "program.debug"));
	snprintf(program, sizeof(program), "%s", in_dir(dir, "program"));
	if (!copy_self(program, "--strip-all")) {
		unit_skip("no objcopy");
		return;
	}
	make_file(fifo, "x", 1);
	watched = watch(fifo);
	ask_for_line(program);
	CU_ASSERT(was_opened(watched));
	unlink(fifo);
	CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
	watched = watch(fifo);
	ask_for_line(program);
	CU_ASSERT_FALSE(was_opened(watched));
}

/* How many functions there are at main of a program whose debug information lies in .dwo files. */
static int frames_at_main(const char *program)
{
	struct pathprof_source_frame frames[4];
	struct pathprof_inlines *inlines = NULL;
	struct pathprof_code *code = NULL;
	uint64_t start = 0, end = 0;
	int cnt = -1;

	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(&code, program, NULL, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_code_find_function(code, "main", &start, &end), 0);
	if (pathprof_inlines_open(&inlines, code, NULL) == 0)
		cnt = pathprof_inlines_at(inlines, start, frames, 4);
	pathprof_inlines_free(inlines);
	pathprof_code_free(code);
	return cnt;
}

/* libdw opens such a file by its name; for root, with the rights of its owner and no more. */
static void test_split_units(void)
{
	const char *dir = unit_tmpdir();
	char command[1024], program[256], dwo[256];
	int watched;

	make_file(in_dir(dir, "one.c"), "int main(void) { return 0; }\n", 29);
	snprintf(command, sizeof(command),
		 "cd %s && gcc -g -gdwarf-5 -gsplit-dwarf -c one.c -o one.o 2>/dev/null && "
		 "gcc one.o -o program && chmod 711 . ..",
		 dir);
	snprintf(program, sizeof(program), "%s", in_dir(dir, "program"));
	snprintf(dwo, sizeof(dwo), "%s", in_dir(dir, "one.dwo"));
	if (system(command) || access(dwo, R_OK)) { /* NOLINT(cert-env33-c): names made here */
		unit_skip("gcc makes no .dwo files");
		return;
	}
	watched = watch(dwo);
	CU_ASSERT_EQUAL(frames_at_main(program), 1);
	CU_ASSERT(was_opened(watched));
	if (geteuid() != 0) {
		unit_skip("needs root to give a file away");
		return;
	}
	CU_ASSERT_EQUAL(chown(dwo, 65534, 65534), 0);
	CU_ASSERT_EQUAL(frames_at_main(program), 1);
	CU_ASSERT_EQUAL(chmod(dwo, 0), 0);
	watched = watch(dwo);
	CU_ASSERT(frames_at_main(program) < 1);
	CU_ASSERT_FALSE(was_opened(watched));
	/* and root is root again */
	CU_ASSERT(reads(PATHPROF_OWN_ROOT, in_dir(dir, "one.c"), "int main(void) "));
}

static const struct unit_test tests[] = {
	{"only regular files are opened", test_kinds},
	{"a descriptor's path is told as the file's", test_witness_of_descriptors},
	{"this test's watch notices what is opened", test_watch_notices},
	{"files of the kernel are not opened", test_files_of_the_kernel},
	{"no link leads out of a root", test_no_way_out_of_a_root},
	{"a name is looked up again when others rename meanwhile", test_others_rename},
	{"a process' root", test_root_of_a_process},
	{"a leased file does not hold us up", test_leased_file},
	{"what common parts are said to lie in is looked at first", test_common_parts},
	{"split debug information is opened with its owner's rights", test_split_units},
	{"what stands in place of a debug file is looked at first", test_debug_file},
};
UNIT_SUITE(foreign, tests)
