// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes apart: what such a process may do, what comes of its death and of answers that are
 * none, and that a file read by one is read as by the caller itself.
 */
#include "pathprof/apart.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../libprofile/src/apart/pp_apart.h"
#include "elf_writer.h"
#include "pathprof/code.h"
#include "pathprof/confine.h"
#include "pathprof/graph.h"
#include "pathprof/inlines.h"

#define SELF      "/proc/self/exe"
#define SOCKET_FD 3 /* of a process apart */

#define CHATTER_CNT 6000 /* for a minute: whoever asks may come late */
#define PATIENCE_NS 100000000

enum question {
	ASK_COUNT = 1, /* how many questions there were */
	ASK_OPEN,      /* text: a path; code: 0 or -errno */
	ASK_CALL,      /* a system call of that number, without arguments */
	ASK_WRITE,     /* to the descriptor that comes along */
	ASK_DIE,
	ASK_LEAVE,
	ASK_RUBBISH,
	ASK_LONG_RUBBISH,
	ASK_CHATTER,   /* it tells for a minute how far it is, and answers then */
	ASK_BEG,       /* the same, and asks for a file each time */
	ASK_HANG_UP,   /* it closes its socket, and lives on */
	ASK_DEAF,      /* it asks for files, and reads none of the answers */
	ASK_TWO_FILES, /* it sends two descriptors in one message */
	ASK_IS_SOCKET, /* code: whether that descriptor of its own is one */
	ASK_FCNTL,     /* that command, of its socket, with its own number */
};

/* ---------------------------------------------------------------- the process */

static int open_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int code = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return code;
}

static int call(long number)
{
	return syscall(number, 0, 0, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static void hang_up(void)
{
	unsigned int word = 0;

	close(SOCKET_FD);
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
}

static void be_deaf(struct pathprof_apart_message *m)
{
	m->kind = PP_APART_OPEN;
	m->bytes = 0;
	pathprof_apart_add(m, "/nonexistent", sizeof("/nonexistent"));
	while (pp_apart_send(SOCKET_FD, m) == 0)
		;
}

/* A message each 10 ms, so that there is never a long silence. */
static void chatter(bool begs)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	unsigned int word = 0;

	for (int i = 0; i < CHATTER_CNT; i++) {
		if (begs)
			open_text("/nonexistent");
		else
			pathprof_apart_tell(1, 2);
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, &pause);
	}
}

static void send_two_files(const struct pathprof_apart_message *m)
{
	const int files[2] = {SOCKET_FD, SOCKET_FD};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(files))];
	} control = {.bytes = {0}};
	struct iovec part = {(void *)m, offsetof(struct pathprof_apart_message, text)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = sizeof(control)};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(files));
	memcpy(CMSG_DATA(&control.head), files, sizeof(files));
	(void)sendmsg(SOCKET_FD, &packet, 0);
}

static int is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A process that is no longer ours does this. */
static void misbehave(struct pathprof_apart_message *m, uint32_t kind)
{
	if (kind == ASK_HANG_UP)
		hang_up();
	else if (kind == ASK_DEAF)
		be_deaf(m);
	m->kind = PP_APART_PROGRESS;
	m->bytes = 0;
	if (kind == ASK_TWO_FILES)
		send_two_files(m);
}

static void answer(struct pathprof_apart_message *m, int fd)
{
	static unsigned int cnt;
	uint32_t kind = m->kind;

	cnt++;
	m->numbers[1] = cnt;
	if (kind == ASK_OPEN)
		m->code = open_text(m->text);
	else if (kind == ASK_CALL)
		m->code = call((long)m->numbers[0]);
	else if (kind == ASK_WRITE)
		m->code = write(fd, "x", 1) < 0 ? -errno : 0;
	else if (kind == ASK_DIE)
		__builtin_trap();
	else if (kind == ASK_LEAVE)
		_exit(5);
	else if (kind == ASK_RUBBISH)
		(void)!write(SOCKET_FD, "rubbish", 7);
	else if (kind == ASK_IS_SOCKET)
		m->code = is_socket((int)m->numbers[0]);
	else if (kind == ASK_FCNTL)
		m->code = fcntl(SOCKET_FD, (int)m->numbers[0], getpid()) < 0 ? -errno : 0;
	else if (kind == ASK_LONG_RUBBISH)
		m->bytes = 1u << 30;
	else if (kind == ASK_CHATTER || kind == ASK_BEG)
		chatter(kind == ASK_BEG);
	else if (kind >= ASK_HANG_UP)
		misbehave(m, kind);
	if (kind == ASK_LONG_RUBBISH)
		(void)!write(SOCKET_FD, m, 4096);
	m->bytes = 0;
	if (fd >= 0)
		close(fd);
}

static const struct pathprof_apart_service service = {.answer = answer};

/* ---------------------------------------------------------------- asking */

static unsigned int death_cnt;
static char last_death[512];

static void note_death(void *context, const char *why)
{
	death_cnt++;
	snprintf(last_death, sizeof(last_death), "%s", why);
}

static struct pathprof_apart *start(void)
{
	struct pathprof_apart *apart;

	death_cnt = 0;
	CU_ASSERT_EQUAL_FATAL(pathprof_apart_new(&apart, &service, "some file", note_death, NULL),
			      0);
	return apart;
}

static struct pathprof_apart_message message;

static int ask(struct pathprof_apart *apart, enum question kind, uint64_t number, const char *text,
	       int fd)
{
	int r;

	message.kind = kind;
	message.numbers[0] = number;
	message.bytes = 0;
	message.code = 1;
	pathprof_apart_add(&message, text, (uint32_t)strlen(text));
	r = pathprof_apart_ask(apart, &message, fd, NULL, NULL);
	return r < 0 ? r : message.code;
}

/* The first child there is, of which there may be cnt. */
static pid_t child(unsigned int *ret_cnt)
{
	char path[64];
	int pid = 0, first = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	*ret_cnt = 0;
	while (file && fscanf(file, "%d", &pid) == 1)
		first = (*ret_cnt)++ ? first : pid;
	if (file)
		fclose(file);
	return first;
}

static void read_status(pid_t pid, char *text, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	text[file ? fread(text, 1, size - 1, file) : 0] = '\0';
	if (file)
		fclose(file);
}

static unsigned int count_descriptors(pid_t pid)
{
	unsigned int cnt = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		cnt += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return cnt;
}

/* ---------------------------------------------------------------- rights */

static void test_has_no_rights(void)
{
	struct pathprof_apart *apart = start();
	char status[4096];
	unsigned int cnt;
	pid_t pid;

	CU_ASSERT_EQUAL(ask(apart, ASK_COUNT, 0, "", -1), 1);
	pid = child(&cnt);
	CU_ASSERT_EQUAL_FATAL(cnt, 1);
	read_status(pid, status, sizeof(status));
	CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nCapPrm:\t0000000000000000\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nCapEff:\t0000000000000000\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nCapInh:\t0000000000000000\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nCapAmb:\t0000000000000000\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nNoNewPrivs:\t1\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nSeccomp:\t2\n"));
	if (geteuid() == 0) {
		CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nUid:\t65534\t65534\t65534\t65534\n"));
		CU_ASSERT_PTR_NOT_NULL(strstr(status, "\nGid:\t65534\t65534\t65534\t65534\n"));
		CU_ASSERT_EQUAL(count_descriptors(pid), 4);
	}
	pathprof_apart_free(apart);
	child(&cnt);
	CU_ASSERT_EQUAL(cnt, 0);
}

/* Each of them is possible here, so that a filter that is not there would show. */
static void test_calls_are_refused(void)
{
	static const long calls[] = {SYS_socket, SYS_fork,   SYS_kill,  SYS_getppid, SYS_getuid,
				     SYS_pipe,   SYS_ptrace, SYS_ioctl, SYS_openat2};
	struct pathprof_apart *apart = start();

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		CU_ASSERT_EQUAL(ask(apart, ASK_CALL, (uint64_t)calls[i], "", -1), -EPERM);
	CU_ASSERT_EQUAL(ask(apart, ASK_CALL, SYS_getpid, "", -1), 0);
	CU_ASSERT_EQUAL(ask(apart, ASK_FCNTL, F_SETOWN, "", -1), -EPERM);
	CU_ASSERT_EQUAL(ask(apart, ASK_FCNTL, F_GETFL, "", -1), 0);
	CU_ASSERT_EQUAL(ask(apart, ASK_FCNTL, F_SETFD, "", -1), 0);
	CU_ASSERT_EQUAL(call(SYS_getppid), 0);
	CU_ASSERT_EQUAL(call(SYS_getuid), 0);
	CU_ASSERT_EQUAL(death_cnt, 0);
	pathprof_apart_free(apart);
}

/* The parent opens files for the child: an ELF file that it may not read itself, nothing else. */
static void test_opens_by_asking(void)
{
	struct pathprof_apart *apart = start();
	const char *dir = unit_tmpdir();
	char own[300], text[300], core[300], copy[2000];

	snprintf(own, sizeof(own), "%s/elf", dir);
	snprintf(text, sizeof(text), "%s/text", dir);
	snprintf(core, sizeof(core), "%s/core", dir);
	/* type 4, ET_CORE, behind the 16 bytes that say which ELF it is */
	snprintf(copy, sizeof(copy),
		 "cp -L /proc/%d/exe %s && echo secret >%s && chmod 400 %s %s && "
		 "{ head -c 16 %s; printf '\\4\\0'; } >%s",
		 getpid(), own, text, own, text, own, core);
	CU_ASSERT_EQUAL_FATAL(system(copy), 0); /* NOLINT(cert-env33-c) */
	CU_ASSERT_EQUAL(chmod(dir, 0700), 0);
	CU_ASSERT_EQUAL(ask(apart, ASK_OPEN, 0, own, -1), 0);
	CU_ASSERT_EQUAL(ask(apart, ASK_OPEN, 0, text, -1), -EACCES);
	CU_ASSERT_EQUAL(ask(apart, ASK_OPEN, 0, core, -1), -EACCES);
	CU_ASSERT_EQUAL(ask(apart, ASK_OPEN, 0, "/dev/null", -1), -EINVAL);
	CU_ASSERT_EQUAL(ask(apart, ASK_OPEN, 0, "/nonexistent", -1), -ENOENT);
	CU_ASSERT_EQUAL(open_text(text), 0);
	pathprof_apart_free(apart);
}

/* ---------------------------------------------------------------- its end */

static void check_death(enum question kind, const char *why)
{
	struct pathprof_apart *apart = start();

	CU_ASSERT_EQUAL(ask(apart, ASK_COUNT, 0, "", -1), 1);
	CU_ASSERT_EQUAL(ask(apart, kind, 0, "", -1), -EOWNERDEAD);
	CU_ASSERT_EQUAL(death_cnt, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(last_death, "some file"));
	CU_ASSERT_PTR_NOT_NULL(strstr(last_death, why));
	CU_ASSERT_PTR_NOT_NULL_FATAL(pathprof_apart_why(apart));
	CU_ASSERT_STRING_EQUAL(pathprof_apart_why(apart), last_death);
	/* It stays dead, and that is not told again. */
	CU_ASSERT_EQUAL(ask(apart, ASK_COUNT, 0, "", -1), -EOWNERDEAD);
	CU_ASSERT_EQUAL(death_cnt, 1);
	pathprof_apart_free(apart);
}

static void test_deaths(void)
{
	check_death(ASK_DIE, strsignal(SIGILL));
	check_death(ASK_LEAVE, "it left");
	check_death(ASK_RUBBISH, "its answer is none");
	check_death(ASK_LONG_RUBBISH, "its answer is none");
}

/* One that is no longer ours cannot keep its asker waiting, nor fill its table of descriptors. */
static void test_hostile_ones(void)
{
	unsigned int before = count_descriptors(getpid());

	check_death(ASK_HANG_UP, "some file");
	check_death(ASK_DEAF, "its answer is none");
	check_death(ASK_TWO_FILES, "its answer is none");
	CU_ASSERT_EQUAL(count_descriptors(getpid()), before);
}

/* The start is waited for as ever. */
static void check_deadline(enum question kind)
{
	struct pathprof_apart *apart = start();

	CU_ASSERT_EQUAL(ask(apart, ASK_COUNT, 0, "", -1), 1);
	pp_apart_set_patience(PATIENCE_NS);
	CU_ASSERT_EQUAL(ask(apart, kind, 0, "", -1), -EOWNERDEAD);
	pp_apart_set_patience(PP_APART_PATIENCE_NS);
	CU_ASSERT_PTR_NOT_NULL(strstr(last_death, "it did not answer in ten minutes"));
	pathprof_apart_free(apart);
}

/* The wait for an answer is limited, even if the child sends or asks other things meanwhile. */
static void test_deadline(void)
{
	check_deadline(ASK_CHATTER);
	check_deadline(ASK_BEG);
}

/* Forty of them: not as many at once, and each answers whenever it is asked. */
static void test_not_too_many(void)
{
	struct pathprof_apart *aparts[40];
	unsigned int cnt;

	for (size_t i = 0; i < 40; i++) {
		aparts[i] = start();
		CU_ASSERT_EQUAL(ask(aparts[i], ASK_COUNT, 0, "", -1), 1);
	}
	child(&cnt);
	CU_ASSERT_EQUAL(cnt, 32);
	/* The last runs still; the first does not, and begins anew. */
	CU_ASSERT_EQUAL(pathprof_apart_start(aparts[39]), 0);
	ask(aparts[39], ASK_COUNT, 0, "", -1);
	CU_ASSERT_EQUAL(message.numbers[1], 2);
	CU_ASSERT_EQUAL(pathprof_apart_start(aparts[0]), 1);
	ask(aparts[0], ASK_COUNT, 0, "", -1);
	CU_ASSERT_EQUAL(message.numbers[1], 1);
	for (size_t i = 0; i < 40; i++)
		pathprof_apart_free(aparts[i]);
	child(&cnt);
	CU_ASSERT_EQUAL(cnt, 0);
	CU_ASSERT_EQUAL(death_cnt, 0);
}

/* A file that it may write to does not grow without end. */
static void test_file_limit(void)
{
	struct pathprof_apart *apart = start();
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/large", unit_tmpdir());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(ask(apart, ASK_WRITE, 0, "", fd), 0);
	CU_ASSERT(lseek(fd, INT64_C(4) << 30, SEEK_SET) > 0);
	CU_ASSERT_EQUAL(ask(apart, ASK_WRITE, 0, "", fd), -EOWNERDEAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(last_death, strsignal(SIGXFSZ)));
	close(fd);
	pathprof_apart_free(apart);
}

/* Runs in a process of its own; whether it returned true. */
static bool holds_in_child(bool check(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(check() ? 0 : 1);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool fsize_stays(rlim_t soft, rlim_t hard)
{
	const struct pathprof_confine_limits limits = {.more_bytes = UINT64_C(1) << 40,
						       .more_data_bytes = UINT64_C(1) << 40,
						       .file_bytes = UINT64_C(4) << 30,
						       .cpu_s = 120};
	struct rlimit limit = {soft, hard};

	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return false;
	pathprof_confine_limits(&limits);
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == soft &&
	       limit.rlim_max == (hard < limits.file_bytes ? hard : limits.file_bytes);
}

static bool soft_limit_stays(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && fsize_stays(1u << 20, limit.rlim_max);
}

/* Root may raise them. */
static bool hard_limit_stays(void)
{
	return fsize_stays(1u << 20, 1u << 21);
}

static void test_lower_limits_stay(void)
{
	CU_ASSERT(holds_in_child(soft_limit_stays));
	CU_ASSERT(holds_in_child(hard_limit_stays));
}

static bool has_no_other_socket(void)
{
	struct pathprof_apart *apart;
	bool is = false;

	close(0);
	close(1);
	if (close_range(3, ~0u, 0) < 0 ||
	    pathprof_apart_new(&apart, &service, "some file", note_death, NULL) < 0)
		return false;
	for (unsigned int fd = 0; fd < SOCKET_FD; fd++)
		is |= ask(apart, ASK_IS_SOCKET, fd, "", -1) != 0;
	is |= ask(apart, ASK_IS_SOCKET, SOCKET_FD, "", -1) != 1;
	pathprof_apart_free(apart);
	return !is;
}

/* Text that a library prints there must not become a message. */
static void test_standard_streams_are_closed(void)
{
	CU_ASSERT(holds_in_child(has_no_other_socket));
}

/* ---------------------------------------------------------------- code */

static void open_both(struct pathprof_code **ret_here, struct pathprof_code **ret_apart)
{
	char path[512];
	ssize_t len = readlink(SELF, path, sizeof(path) - 1);

	CU_ASSERT_FATAL(len > 0);
	path[len] = '\0';
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(ret_here, path, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_code_open_apart(ret_apart, path, NULL, note_death, NULL, NULL), 0);
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* How many answers about the place differ. */
static unsigned int differences_at(struct pathprof_code *a, struct pathprof_code *b,
				   uint64_t offset)
{
	const char *name_a = NULL, *name_b = NULL, *file_a = NULL, *file_b = NULL;
	unsigned int len_a = 0, len_b = 0, cnt = 0;
	uint64_t start_a = 0, start_b = 0;
	char text_a[256] = "", text_b[256] = "";
	int line_a = 0, line_b = 0;

	cnt += pathprof_code_function(a, offset, &name_a, &start_a) !=
	       pathprof_code_function(b, offset, &name_b, &start_b);
	cnt += !same(name_a, name_b) + (start_a != start_b);
	cnt += pathprof_code_line(a, offset, &file_a, &line_a) !=
	       pathprof_code_line(b, offset, &file_b, &line_b);
	cnt += !same(file_a, file_b) + (line_a != line_b);
	cnt += pathprof_code_instruction(a, offset, text_a, sizeof(text_a), &len_a) !=
	       pathprof_code_instruction(b, offset, text_b, sizeof(text_b), &len_b);
	return cnt + !same(text_a, text_b) + (len_a != len_b);
}

static bool same_frame(const struct pathprof_source_frame *a, const struct pathprof_source_frame *b)
{
	return same(a->linkage_name, b->linkage_name) && same(a->name, b->name) &&
	       same(a->file, b->file) && same(a->dir, b->dir) && a->line == b->line &&
	       a->start_line == b->start_line && a->discriminator == b->discriminator &&
	       a->copies == b->copies;
}

static unsigned int frames_differ(struct pathprof_inlines *a, struct pathprof_inlines *b,
				  uint64_t offset)
{
	struct pathprof_source_frame of_a[16], of_b[16];
	int cnt_a = pathprof_inlines_at(a, offset, of_a, 16);
	int cnt_b = pathprof_inlines_at(b, offset, of_b, 16);

	if (cnt_a != cnt_b)
		return 1;
	for (int i = 0; i < cnt_a && i < 16; i++)
		if (!same_frame(&of_a[i], &of_b[i]))
			return 1;
	return 0;
}

#define PLACES_BYTES 6000

/* Every byte from where this file's code is, in order and then from place to place. */
static void test_reads_the_same(void)
{
	struct pathprof_inlines *inlines_here, *inlines_apart;
	struct pathprof_code *here, *apart;
	uint64_t start, end, ahead[64];
	unsigned int differ = 0, shifted = 0;

	open_both(&here, &apart);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_find_function(here, "main", &start, &end), 0);
	CU_ASSERT_EQUAL(pathprof_code_find_function(apart, "main", &ahead[0], &ahead[1]), 0);
	CU_ASSERT(ahead[0] == start && ahead[1] == end);
	CU_ASSERT_EQUAL(pathprof_code_find_function(apart, "no such", &ahead[0], &ahead[1]),
			-ENOENT);
	for (unsigned int i = 0; i < 64; i++)
		ahead[i] = start + i * 64;
	CU_ASSERT_EQUAL(pathprof_code_functions_ahead(apart, ahead, 64), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_inlines_open(&inlines_here, here, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_inlines_open(&inlines_apart, apart, NULL), 0);
	for (uint64_t at = start; at < start + PLACES_BYTES; at++) {
		differ += differences_at(here, apart, at);
		differ += frames_differ(inlines_here, inlines_apart, at);
	}
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t at = start + i * 7919 % PLACES_BYTES;

		differ += differences_at(here, apart, at);
		differ += frames_differ(inlines_here, inlines_apart, at);
		shifted += frames_differ(inlines_here, inlines_apart, at) +
				   differences_at(here, apart, at) ==
			   0;
	}
	CU_ASSERT_EQUAL(differ, 0);
	CU_ASSERT_EQUAL(shifted, 300);
	CU_ASSERT_EQUAL(pathprof_code_instruction(apart, 1, (char[8]){""}, 8, &(unsigned int){0}),
			-ERANGE);
	pathprof_inlines_free(inlines_here);
	pathprof_inlines_free(inlines_apart);
	pathprof_code_free(here);
	pathprof_code_free(apart);
}

static int sum_symbol(void *context, const struct pathprof_code_symbol *symbol)
{
	uint64_t *sum = context;

	for (const char *c = symbol->name; *c; c++)
		*sum = *sum * 31 + (uint64_t)*c;
	*sum = *sum * 31 + symbol->start + 3 * symbol->end + symbol->binding + symbol->chosen_late;
	return 0;
}

static void test_symbols_the_same(void)
{
	struct pathprof_code *here, *apart;
	uint64_t sum_here = 0, sum_apart = 0;

	open_both(&here, &apart);
	CU_ASSERT_EQUAL(pathprof_code_symbols(here, sum_symbol, &sum_here), 0);
	CU_ASSERT_EQUAL(pathprof_code_symbols(apart, sum_symbol, &sum_apart), 0);
	CU_ASSERT(sum_here != 0);
	CU_ASSERT_EQUAL(sum_here, sum_apart);
	pathprof_code_free(here);
	pathprof_code_free(apart);
}

static int sum_block(void *context, const struct pathprof_block *block)
{
	uint64_t *sum = context;

	*sum = *sum * 31 + block->start + 3 * block->end + block->kind + 7 * (uint64_t)block->taken;
	return 0;
}

typedef int walk_fn(struct pathprof_code *code, uint64_t start, uint32_t length, uint32_t outcomes,
		    pathprof_block_fn *fn, void *context, struct pathprof_error *error);

/* Whether there is such a path. */
static bool walks_the_same(struct pathprof_code *here, struct pathprof_code *apart, uint64_t start,
			   uint32_t outcomes, walk_fn *walk)
{
	struct pathprof_error error_here = {""}, error_apart = {""};
	uint64_t sum_here = 0, sum_apart = 0;
	uint32_t length = outcomes / 8, ways = outcomes & ((1u << length) - 1);
	int r = walk(here, start, length, ways, sum_block, &sum_here, &error_here);

	CU_ASSERT_EQUAL(walk(apart, start, length, ways, sum_block, &sum_apart, &error_apart), r);
	CU_ASSERT_EQUAL(sum_here, sum_apart);
	CU_ASSERT_STRING_EQUAL(error_here.text, error_apart.text);
	return r == 0;
}

static void test_walks_the_same(void)
{
	struct pathprof_code *here, *apart;
	uint64_t start, end;
	unsigned int walked = 0;

	open_both(&here, &apart);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_find_function(here, "main", &start, &end), 0);
	for (uint32_t outcomes = 0; outcomes < 64; outcomes++) {
		walked += walks_the_same(here, apart, start, outcomes, pathprof_code_walk);
		walked += walks_the_same(here, apart, start, outcomes, pathprof_code_walk_piece);
	}
	CU_ASSERT(walked > 1);
	pathprof_code_free(here);
	pathprof_code_free(apart);
}

static void count_progress(void *context, uint64_t done, uint64_t total)
{
	unsigned int *cnt = context;

	*cnt += done <= total;
}

static void test_graphs_the_same(void)
{
	struct pathprof_graph *graph_here, *graph_apart;
	struct pathprof_code *here, *apart;
	unsigned int told = 0;

	open_both(&here, &apart);
	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&graph_here, here, NULL, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_graph_build(&graph_apart, apart, count_progress, &told, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(graph_here->block_cnt, graph_apart->block_cnt);
	CU_ASSERT_EQUAL_FATAL(graph_here->edge_cnt, graph_apart->edge_cnt);
	CU_ASSERT_EQUAL_FATAL(graph_here->names_bytes, graph_apart->names_bytes);
	CU_ASSERT_EQUAL(memcmp(graph_here->blocks, graph_apart->blocks,
			       graph_here->block_cnt * sizeof(graph_here->blocks[0])),
			0);
	CU_ASSERT_EQUAL(memcmp(graph_here->edges, graph_apart->edges,
			       graph_here->edge_cnt * sizeof(graph_here->edges[0])),
			0);
	CU_ASSERT_EQUAL(memcmp(graph_here->names, graph_apart->names, graph_here->names_bytes), 0);
	CU_ASSERT(pathprof_build_id_equal(&graph_here->build_id, &graph_apart->build_id));
	CU_ASSERT(told > 0);
	pathprof_graph_free(graph_here);
	pathprof_graph_free(graph_apart);
	pathprof_code_free(here);
	pathprof_code_free(apart);
}

/* A file that a reader dies of: each question says so, and the reason is in the error. */
static void test_survives_its_reader(void)
{
	struct pathprof_error error = {""};
	struct pathprof_code *here, *apart;
	const char *name = NULL;
	uint64_t start, end;
	unsigned int cnt;

	death_cnt = 0;
	open_both(&here, &apart);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_find_function(here, "main", &start, &end), 0);
	kill(child(&cnt), SIGSEGV);
	CU_ASSERT_EQUAL(cnt, 1);
	CU_ASSERT_EQUAL(pathprof_code_function(apart, start, &name, &end), -EOWNERDEAD);
	CU_ASSERT_EQUAL(pathprof_code_walk(apart, start, 0, 0, sum_block, &end, &error),
			-EOWNERDEAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "is gone"));
	CU_ASSERT_EQUAL(death_cnt, 1);
	/* Facts that need no reading are still known. */
	CU_ASSERT_EQUAL(pathprof_code_offset_to_vaddr(apart, start, &end), 0);
	pathprof_code_free(here);
	pathprof_code_free(apart);
}

/* A function whose name no answer has room for is one without a symbol. */
static void test_long_name(void)
{
	static struct elf_writer writer;
	static char long_name[WRITER_NAMES / 2 - 1];
	const char *name = "";
	struct pathprof_code *here, *apart;
	uint64_t start = 0;
	char path[512];

	memset(long_name, 'n', sizeof(long_name) - 1);
	elf_writer_init(&writer);
	elf_writer_symbol(&writer, long_name, 0, 16, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	snprintf(path, sizeof(path), "%s/long.elf", unit_tmpdir());
	elf_writer_save(&writer, path);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(&here, path, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open_apart(&apart, path, NULL, note_death, NULL, NULL),
			      0);
	CU_ASSERT_EQUAL(pathprof_code_function(here, WRITER_PAGE + 4, &name, &start), 0);
	CU_ASSERT(same(name, long_name));
	CU_ASSERT_EQUAL(pathprof_code_function(apart, WRITER_PAGE + 4, &name, &start), 0);
	CU_ASSERT_PTR_NULL(name);
	CU_ASSERT_EQUAL(start, WRITER_PAGE);
	pathprof_code_free(here);
	pathprof_code_free(apart);
}

static void test_no_file(void)
{
	const struct pathprof_build_id other = {.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 20};
	struct pathprof_error here = {""}, apart = {""};
	struct pathprof_code *code;
	struct pathprof_build_id id;

	death_cnt = 0;
	CU_ASSERT_EQUAL(pathprof_code_open(&code, "/etc/passwd", NULL, &here), -EINVAL);
	CU_ASSERT_EQUAL(
		pathprof_code_open_apart(&code, "/etc/passwd", NULL, note_death, NULL, &apart),
		-EINVAL);
	CU_ASSERT_STRING_EQUAL(here.text, apart.text);
	CU_ASSERT_EQUAL(
		pathprof_code_open_apart(&code, "/bin/sh", &other, note_death, NULL, &apart),
		-ESTALE);
	CU_ASSERT_EQUAL(pathprof_code_open_apart(&code, "/dev/null", NULL, note_death, NULL, NULL),
			-EINVAL);
	CU_ASSERT_EQUAL(pathprof_build_id_read_apart(&id, "/etc/passwd", note_death, NULL, &apart),
			0);
	CU_ASSERT_EQUAL(id.kind, PATHPROF_ID_FILE);
	CU_ASSERT_EQUAL(death_cnt, 0);
}

static const struct unit_test tests[] = {
	{"a process apart has no rights", test_has_no_rights},
	{"its system calls are refused", test_calls_are_refused},
	{"it opens by asking, and gets ELF files", test_opens_by_asking},
	{"its death is told once", test_deaths},
	{"a hostile one neither holds up nor exhausts its asker", test_hostile_ones},
	{"one that tells and asks without end has a deadline", test_deadline},
	{"lower limits that hold already stay", test_lower_limits_stay},
	{"its standard streams are no sockets, whatever is closed",
	 test_standard_streams_are_closed},
	{"there are never too many", test_not_too_many},
	{"files it writes are bounded", test_file_limit},
	{"code is read the same", test_reads_the_same},
	{"symbols are the same", test_symbols_the_same},
	{"code is walked the same", test_walks_the_same},
	{"graphs are the same", test_graphs_the_same},
	{"a handle survives its reader", test_survives_its_reader},
	{"a name that is too long is none", test_long_name},
	{"what is no such file is told the same", test_no_file},
};
UNIT_SUITE(apart, tests)
