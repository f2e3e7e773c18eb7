// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that pathprofctl writes: whatever stands under the name, and whatever goes wrong. */
#include "../../tools/ctl/text/output.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/* ---------------------------------------------------------------- a directory and its files */

/* The test's own directory is the working directory. */
static void begin(void)
{
	CU_ASSERT_EQUAL_FATAL(chdir(unit_tmpdir()), 0);
}

static void make(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static bool holds(const char *path, const char *text)
{
	char got[256] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	fclose(file);
	return !strcmp(got, text);
}

static unsigned int entries(const char *directory)
{
	DIR *d = opendir(directory);
	unsigned int cnt = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt - 2; /* . and .. */
}

/* ---------------------------------------------------------------- writing */

static struct pathprof_error error;

static int write_text(const char *path, const char *text)
{
	struct output output;
	int r = output_begin(&output, path, &error);

	if (r < 0)
		return r;
	fputs(text, output.file);
	return output_end(&output, 0, &error);
}

/* code, and a line with the path and the reason. */
static void check_refused(int r, int code, const char *path, const char *why)
{
	CU_ASSERT_EQUAL(r, code);
	if (r != code)
		fprintf(stderr, "%s: %d instead of %d: %s\n", path, r, code, error.text);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, path));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "cannot be written"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, why));
}

/* ---------------------------------------------------------------- regular files */

static void test_new(void)
{
	struct stat status;
	mode_t before = umask(027);

	begin();
	CU_ASSERT_EQUAL(write_text("new", "text\n"), 0);
	umask(before);
	CU_ASSERT(holds("new", "text\n"));
	CU_ASSERT_EQUAL(stat("new", &status), 0);
	CU_ASSERT_EQUAL(status.st_mode, S_IFREG | 0640);
	CU_ASSERT_EQUAL(entries("."), 1);
}

/* A reader that has the file open reads the old text to its end. */
static void test_replaced(void)
{
	struct stat old, new;

	begin();
	make("file", "old");
	CU_ASSERT_EQUAL(chmod("file", 0640), 0);
	if (geteuid() == 0)
		CU_ASSERT_EQUAL(chown("file", NOBODY, NOBODY), 0);
	CU_ASSERT_EQUAL(stat("file", &old), 0);
	CU_ASSERT_EQUAL(write_text("file", "new"), 0);
	CU_ASSERT_EQUAL(stat("file", &new), 0);
	CU_ASSERT(holds("file", "new"));
	CU_ASSERT_EQUAL(new.st_mode, S_IFREG | 0640);
	CU_ASSERT_EQUAL(new.st_uid, old.st_uid);
	CU_ASSERT_EQUAL(new.st_gid, old.st_gid);
	CU_ASSERT_NOT_EQUAL(new.st_ino, old.st_ino);
	CU_ASSERT_EQUAL(entries("."), 1);
}

static void test_long_name(void)
{
	char name[256];

	begin();
	memset(name, 'x', 255);
	name[255] = '\0';
	CU_ASSERT_EQUAL(write_text(name, "text"), 0);
	CU_ASSERT(holds(name, "text"));
}

static void test_elsewhere(void)
{
	begin();
	CU_ASSERT_EQUAL(mkdir("sub", 0700), 0);
	CU_ASSERT_EQUAL(symlink("sub", "way"), 0);
	CU_ASSERT_EQUAL(write_text("way/file", "text"), 0);
	CU_ASSERT(holds("sub/file", "text"));
	CU_ASSERT_EQUAL(entries("sub"), 1);
	CU_ASSERT_EQUAL(entries("."), 2);
}

/* The draft is seen while it is written, and nobody but its owner may read it. */
static void test_draft(void)
{
	struct output output;
	struct stat status;

	begin();
	make("file", "old");
	CU_ASSERT_EQUAL(chmod("file", 0600), 0);
	CU_ASSERT_EQUAL_FATAL(output_begin(&output, "file", &error), 0);
	fputs("half", output.file);
	fflush(output.file);
	CU_ASSERT(holds("file", "old"));
	CU_ASSERT(holds(output.draft, "half"));
	CU_ASSERT_EQUAL(stat(output.draft, &status), 0);
	CU_ASSERT_EQUAL(status.st_mode, S_IFREG | 0600);
	CU_ASSERT_EQUAL(output_end(&output, -EINVAL, &error), -EINVAL);
	CU_ASSERT(holds("file", "old"));
	CU_ASSERT_EQUAL(entries("."), 1);
}

/* Names that drafts of this and of older versions had or could have. */
static void test_planted_links(void)
{
	static const char *const names[] = {"out.draft", "out.new", "out.db"};

	begin();
	make("victim", "untouched");
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(symlink("victim", names[i]), 0);
	CU_ASSERT_EQUAL(write_text("out", "text"), 0);
	CU_ASSERT(holds("out", "text"));
	CU_ASSERT(holds("victim", "untouched"));
	CU_ASSERT_EQUAL(entries("."), 5);
}

/* ---------------------------------------------------------------- links */

static void test_link(void)
{
	struct stat status;

	begin();
	CU_ASSERT_EQUAL(mkdir("a", 0700), 0);
	CU_ASSERT_EQUAL(mkdir("b", 0700), 0);
	make("b/file", "old");
	CU_ASSERT_EQUAL(symlink("../b/file", "a/second"), 0);
	CU_ASSERT_EQUAL(symlink("a/second", "first"), 0);
	CU_ASSERT_EQUAL(write_text("first", "new"), 0);
	CU_ASSERT(holds("b/file", "new"));
	CU_ASSERT_EQUAL(lstat("first", &status), 0);
	CU_ASSERT(S_ISLNK(status.st_mode));
	CU_ASSERT_EQUAL(lstat("a/second", &status), 0);
	CU_ASSERT(S_ISLNK(status.st_mode));
	CU_ASSERT_EQUAL(entries("b"), 1);
}

static void test_dangling(void)
{
	begin();
	CU_ASSERT_EQUAL(mkdir("there", 0700), 0);
	CU_ASSERT_EQUAL(symlink("there/file", "link"), 0);
	CU_ASSERT_EQUAL(write_text("link", "text"), 0);
	CU_ASSERT(holds("there/file", "text"));
	CU_ASSERT_EQUAL(symlink("nowhere/file", "far"), 0);
	check_refused(write_text("far", "text"), -ENOENT, "far", "No such file");
}

static void test_loop(void)
{
	begin();
	CU_ASSERT_EQUAL(symlink("two", "one"), 0);
	CU_ASSERT_EQUAL(symlink("one", "two"), 0);
	check_refused(write_text("one", "text"), -ELOOP, "one", "Too many levels");
	CU_ASSERT_EQUAL(entries("."), 2);
}

/* ---------------------------------------------------------------- devices, pipes, sockets */

/*
 * The test never names the machine's own devices as an output while it may replace them: a module
 * that is wrong would. false: none can be made, as for other users than root.
 */
static bool make_device(const char *name, unsigned int minor)
{
	int fd;

	if (mknod(name, S_IFCHR | 0666, makedev(1, minor)) < 0)
		return false;
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_device(void)
{
	struct stat before, after;

	begin();
	if (!make_device("null", 3)) {
		unit_skip("no device can be made and opened here");
		return;
	}
	CU_ASSERT_EQUAL(symlink("null", "link"), 0);
	CU_ASSERT_EQUAL(stat("null", &before), 0);
	CU_ASSERT_EQUAL(write_text("null", "text"), 0);
	CU_ASSERT_EQUAL(write_text("link", "text"), 0);
	CU_ASSERT_EQUAL(stat("null", &after), 0);
	CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
	CU_ASSERT(S_ISCHR(after.st_mode));
	CU_ASSERT_EQUAL(entries("."), 2);
}

/* Text that arrives in fd, which is closed. */
static bool arrived(int fd, const char *text)
{
	char got[64] = "";
	ssize_t len_bytes = read(fd, got, sizeof(got) - 1);

	close(fd);
	return len_bytes == (ssize_t)strlen(text) && !strcmp(got, text);
}

static void test_fifo(void)
{
	struct stat status;
	int reader;

	begin();
	CU_ASSERT_EQUAL(mkfifo("pipe", 0600), 0);
	reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CU_ASSERT_FATAL(reader >= 0);
	CU_ASSERT_EQUAL(write_text("pipe", "text"), 0);
	CU_ASSERT(arrived(reader, "text"));
	CU_ASSERT_EQUAL(stat("pipe", &status), 0);
	CU_ASSERT(S_ISFIFO(status.st_mode));
	CU_ASSERT_EQUAL(entries("."), 1);
}

static void test_reader_left(void)
{
	struct output output;
	int reader;

	begin();
	signal(SIGPIPE, SIG_IGN);
	CU_ASSERT_EQUAL(mkfifo("pipe", 0600), 0);
	reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(output_begin(&output, "pipe", &error), 0);
	close(reader);
	fputs("text", output.file);
	check_refused(output_end(&output, 0, &error), -EPIPE, "pipe", "Broken pipe");
}

/* Output to a descriptor: a pipe, as >(program) gives, and a socket, as services have. */
static void test_descriptors(void)
{
	static const char *const ways[] = {"/dev/fd/%d", "/proc/self/fd/%d", "link"};
	int ends[2];
	char path[64];

	begin();
	for (int kind = 0; kind < 2; kind++) {
		for (size_t way = 0; way < 3; way++) {
			int r = kind ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends);

			CU_ASSERT_EQUAL_FATAL(r, 0);
			snprintf(path, sizeof(path), way == 2 ? "/dev/fd/%d" : ways[way], ends[1]);
			if (way == 2) {
				CU_ASSERT_EQUAL(symlink(path, "link"), 0);
				snprintf(path, sizeof(path), "link");
			}
			CU_ASSERT_EQUAL(write_text(path, "text"), 0);
			close(ends[1]);
			CU_ASSERT(arrived(ends[0], "text"));
			unlink("link");
		}
	}
	check_refused(write_text("/dev/fd/999", "text"), -EBADF, "/dev/fd/999", "Bad file");
	CU_ASSERT_EQUAL(entries("."), 0);
}

/* Text that others wrote there before stays; text that they write later comes behind. */
static void test_descriptor_of_file(void)
{
	char path[64];
	int fd;

	begin();
	fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CU_ASSERT_EQUAL(write(fd, "one ", 4), 4);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	CU_ASSERT_EQUAL(write_text(path, "two "), 0);
	CU_ASSERT_EQUAL(write(fd, "three", 5), 5);
	close(fd);
	CU_ASSERT(holds("file", "one two three"));
	CU_ASSERT_EQUAL(entries("."), 1);
}

static void test_stdout(void)
{
	static const char *const names[] = {"-", "/proc/self/fd/1", "/dev/fd/1", "link"};
	int saved, ends[2];

	begin();
	CU_ASSERT_EQUAL(symlink("/proc/self/fd/1", "link"), 0);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	for (size_t i = 0; i < 4; i++) {
		int r;

		CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[1]);
		fputs("before ", stdout);
		r = write_text(names[i], "text");
		dup2(saved, STDOUT_FILENO);
		CU_ASSERT_EQUAL(r, 0);
		CU_ASSERT(arrived(ends[0], "before text"));
		CU_ASSERT(output_is_stdout(names[i]));
	}
	close(saved);
	CU_ASSERT(output_is_stdout("/dev/stdout"));
	CU_ASSERT(!output_is_stdout(NULL));
	CU_ASSERT(!output_is_stdout("/dev/fd/2"));
	CU_ASSERT(!output_is_stdout("./-"));
	CU_ASSERT(!output_is_stdout("nowhere/1"));
	CU_ASSERT_EQUAL(entries("."), 1);
}

static void test_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	begin();
	CU_ASSERT_EQUAL(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	check_refused(write_text("socket", "text"), -ENXIO, "socket", "it is a socket");
	close(fd);
	CU_ASSERT_EQUAL(entries("."), 1);
}

/* ---------------------------------------------------------------- what goes wrong */

static void test_directory(void)
{
	begin();
	CU_ASSERT_EQUAL(mkdir("sub", 0700), 0);
	check_refused(write_text("sub", "text"), -EISDIR, "sub", "Is a directory");
	check_refused(write_text("sub/", "text"), -EISDIR, "sub/", "Is a directory");
	check_refused(write_text("/", "text"), -EISDIR, "/", "Is a directory");
	check_refused(write_text("none/file", "text"), -ENOENT, "none/file", "No such file");
	check_refused(write_text("", "text"), -ENOENT, "", "No such file");
	make("file", "old");
	check_refused(write_text("file/", "text"), -ENOTDIR, "file/", "Not a directory");
	CU_ASSERT_EQUAL(entries("sub"), 0);
	CU_ASSERT_EQUAL(entries("."), 2);
}

/* Writes as user nobody, whom file modes bind. Returns the result of write_text(). */
static int write_as_nobody(const char *path, const char *why)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int r;

		if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY)))
			_exit(255);
		r = write_text(path, "new");
		_exit(r < 0 && !strstr(error.text, why) ? 254 : -r);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void test_no_right(void)
{
	char dir[96];

	if (geteuid() != 0) {
		unit_skip("files of others cannot be made here: not root");
		return;
	}
	snprintf(dir, sizeof(dir), "/tmp/pathprof-output.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	CU_ASSERT_EQUAL(chdir(dir), 0);
	make("file", "old");
	CU_ASSERT_EQUAL(chmod("file", 0666), 0);
	CU_ASSERT_EQUAL(chmod(".", 0755), 0);
	CU_ASSERT_EQUAL(write_as_nobody("new", "in its directory: Permission denied"), -EACCES);
	CU_ASSERT_EQUAL(write_as_nobody("file", "in its directory: Permission denied"), -EACCES);
	CU_ASSERT_EQUAL(chmod(".", 0777), 0);
	CU_ASSERT_EQUAL(write_as_nobody("file", "stay user 0's"), -EPERM);
	CU_ASSERT_EQUAL(chmod("file", 0444), 0);
	CU_ASSERT_EQUAL(write_as_nobody("file", "Permission denied"), -EACCES);
	CU_ASSERT(holds("file", "old"));
	CU_ASSERT_EQUAL(entries("."), 1);
	unlink("file");
	rmdir(dir);
}

static void test_full(void)
{
	struct output output;

	begin();
	if (!make_device("full", 7)) {
		unit_skip("no device can be made and opened here");
		return;
	}
	check_refused(write_text("full", "text"), -ENOSPC, "full", "No space left");
	/* The error of a writer that noticed is not what the user is told. */
	CU_ASSERT_EQUAL_FATAL(output_begin(&output, "full", &error), 0);
	for (int i = 0; i < 100000; i++)
		fputs("more than one buffer", output.file);
	CU_ASSERT(ferror(output.file));
	check_refused(output_end(&output, -EIO, &error), -ENOSPC, "full", "No space left");
}

/* The last bytes do not fit: the old file stays. */
static void test_too_large(void)
{
	struct rlimit before, small;

	begin();
	make("file", "old");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 5;
	setrlimit(RLIMIT_FSIZE, &small);
	check_refused(write_text("file", "six ch"), -EFBIG, "file", "File too large");
	setrlimit(RLIMIT_FSIZE, &before);
	CU_ASSERT(holds("file", "old"));
	CU_ASSERT_EQUAL(entries("."), 1);
}

static void test_not_renamed(void)
{
	struct output output;

	begin();
	CU_ASSERT_EQUAL_FATAL(output_begin(&output, "file", &error), 0);
	CU_ASSERT_EQUAL(mkdir("file", 0700), 0);
	fputs("text", output.file);
	check_refused(output_end(&output, 0, &error), -EISDIR, "file", "Is a directory");
	CU_ASSERT_EQUAL(entries("."), 1);
}

/* ends: how the process ends in the midst of it. */
static void check_ended(void (*ends)(void), int status_wanted)
{
	int status = -1;
	pid_t pid;

	begin();
	make("file", "old");
	pid = fork();
	if (pid == 0) {
		struct output output;

		/* who starts tests in the background may have it ignored */
		signal(SIGINT, SIG_DFL);
		if (output_begin(&output, "file", &error) < 0 || entries(".") != 2)
			_exit(1);
		fputs("half", output.file);
		ends();
		_exit(2);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, status_wanted);
	CU_ASSERT(holds("file", "old"));
	CU_ASSERT_EQUAL(entries("."), 1);
}

static void by_term(void)
{
	raise(SIGTERM);
}

static void by_interrupt(void)
{
	raise(SIGINT);
}

static void test_ended(void)
{
	check_ended(by_term, SIGTERM);
	check_ended(by_interrupt, SIGINT);
}

/* A helper that was forked meanwhile leaves the draft alone. */
static void test_helper_ended(void)
{
	struct output output;
	int status = -1;
	pid_t pid;

	begin();
	CU_ASSERT_EQUAL_FATAL(output_begin(&output, "file", &error), 0);
	pid = fork();
	if (pid == 0)
		by_term();
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, SIGTERM);
	fputs("text", output.file);
	CU_ASSERT_EQUAL(output_end(&output, 0, &error), 0);
	CU_ASSERT(holds("file", "text"));
	CU_ASSERT_EQUAL(entries("."), 1);
}

static const struct unit_test tests[] = {
	{"a new file has the mode that umask leaves", test_new},
	{"a file keeps owner and mode, and is replaced at once", test_replaced},
	{"a name as long as names may be", test_long_name},
	{"a file behind a link to a directory", test_elsewhere},
	{"the draft is its owner's, and goes when it is given up", test_draft},
	{"links with names of drafts are not followed", test_planted_links},
	{"a link, and a link to a link, stay", test_link},
	{"a link to nothing creates that", test_dangling},
	{"links in a ring are an error", test_loop},
	{"a device is written into", test_device},
	{"a pipe is written into", test_fifo},
	{"a reader that left is an error", test_reader_left},
	{"descriptors by name: pipes and sockets", test_descriptors},
	{"a descriptor of a file is written on", test_descriptor_of_file},
	{"standard output by all its names", test_stdout},
	{"a socket is refused", test_socket},
	{"a directory is refused", test_directory},
	{"without the right nothing changes", test_no_right},
	{"a full device is an error", test_full},
	{"a file that gets too large is an error", test_too_large},
	{"a draft that cannot be renamed goes", test_not_renamed},
	{"a signal removes the draft", test_ended},
	{"a helper's end does not", test_helper_ended},
};
UNIT_SUITE(output, tests)
