// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading /proc, hostile content included. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/track/track_cgroup.h"
#include "../../daemon/track/track_ident.h"
#include "../../daemon/track/track_proc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "unit.h"

static int parse_vma(const char *text, struct pp_vma *ret_vma)
{
	static char line[512];

	snprintf(line, sizeof(line), "%s", text);
	return pp_proc_parse_vma(line, ret_vma);
}

static void test_maps_line(void)
{
	struct pp_vma vma;

	CU_ASSERT_EQUAL_FATAL(parse_vma("7f00a000-7f00b000 r-xp 00002000 fe:01 1234      "
					"         /usr/lib/a b\\012c.so (deleted)\n",
					&vma),
			      1);
	CU_ASSERT_EQUAL(vma.start, 0x7f00a000);
	CU_ASSERT_EQUAL(vma.end, 0x7f00b000);
	CU_ASSERT_EQUAL(vma.offset, 0x2000);
	CU_ASSERT_EQUAL(vma.dev_major, 0xfe);
	CU_ASSERT_EQUAL(vma.dev_minor, 1);
	CU_ASSERT_EQUAL(vma.inode, 1234);
	CU_ASSERT_STRING_EQUAL(vma.name, "/usr/lib/a b\\012c.so (deleted)");
	CU_ASSERT_EQUAL(parse_vma("1000-2000 rw-p 00000000 00:00 0 ", &vma), 0);
	CU_ASSERT_EQUAL_FATAL(parse_vma("1000-2000 --xp 00000000 00:00 0", &vma), 1);
	CU_ASSERT_STRING_EQUAL(vma.name, "");
}

static void test_maps_line_hostile(void)
{
	static const char *const bad[] = {
		"",
		"\n",
		"-",
		"1000",
		"1000-",
		"1000-2000",
		"2000-1000 r-xp 0 0:0 0",
		"1000-1000 r-xp 0 0:0 0",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xpx0 0:0 0",
		"1000-2000 r-xp -1 0:0 0",
		"1000-2000 r-xp 0 00 0",
		"1000-2000 r-xp 0 0:0 x",
		"1000-2000 r-xp 0 0:0 1x",
		"11111111122222222-2 r-xp 0 0:0 0",
		"1000-fffffffffffffffff r-xp 0 0:0 0",
		"1000-2000 r-xp 0 111111111:0 0",
		"1000-2000 r-xp 0 0:0 99999999999999999999",
		" 1000-2000 r-xp 0 0:0 0",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pp_vma vma = {.start = 7};

		CU_ASSERT_EQUAL(parse_vma(bad[i], &vma), -EINVAL);
		CU_ASSERT_EQUAL(vma.start, 7);
	}
}

#define STAT_TAIL " S 12 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 3 0 98765 1 2 3 111 222 333 0 0"

static void test_stat_line(void)
{
	struct pp_stat stat, other;

	CU_ASSERT_EQUAL_FATAL(pp_proc_parse_stat("77 (a) R (b)" STAT_TAIL, &stat), 0);
	CU_ASSERT_STRING_EQUAL(stat.comm, "a) R (b");
	CU_ASSERT_EQUAL(stat.state, 'S');
	CU_ASSERT_EQUAL(stat.ppid, 12);
	CU_ASSERT_EQUAL(stat.thread_cnt, 3);
	CU_ASSERT_EQUAL(stat.start_time, 98765);
	CU_ASSERT_NOT_EQUAL(stat.signature, 0);
	CU_ASSERT_EQUAL(pp_proc_parse_stat("77 (0123456789abcdefgh)" STAT_TAIL, &other), 0);
	CU_ASSERT_STRING_EQUAL(other.comm, "0123456789abcde");
	CU_ASSERT_EQUAL(other.signature, stat.signature);
	CU_ASSERT_FALSE(stat.is_kernel);
	CU_ASSERT_EQUAL(pp_proc_parse_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 "
					   "1 0 27 0 0 18446744073709551615 0 0 0",
					   &other),
			0);
	CU_ASSERT_TRUE(other.is_kernel);
}

static void test_stat_line_hostile(void)
{
	static const char *const bad[] = {
		"",
		"1",
		"1 (a",
		"1 a)",
		")(",
		"1 (a)",
		"1 (a) ",
		"1 (a) S",
		"1 (a) S 1 2 3",
		"1 (a) S x 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 3 0 98765 1",
		"1 (a) S 1 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 3 0 -5 1",
		"1 (a) S 99999999999 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 3 0 5 1",
	};
	struct pp_stat stat = {.ppid = 7};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(pp_proc_parse_stat(bad[i], &stat), -EINVAL);
	CU_ASSERT_EQUAL(stat.ppid, 7);
}

static void test_status(void)
{
	pid_t pid = 0;
	uid_t uid = 99;

	CU_ASSERT_EQUAL(pp_proc_parse_status("Name:\tNSpid:\nUid:\t5\t6\t7\t8\nNSpid:\t900\t17\t2\n"
					     "NSpgid:\t1\n",
					     &pid, &uid),
			0);
	CU_ASSERT_EQUAL(pid, 2);
	CU_ASSERT_EQUAL(uid, 5);
	pid = 1;
	CU_ASSERT_EQUAL(pp_proc_parse_status("Uid:\t5\n", &pid, &uid), -EINVAL);
	CU_ASSERT_EQUAL(pp_proc_parse_status("NSpid:\t5\n", &pid, &uid), -EINVAL);
	CU_ASSERT_EQUAL(pp_proc_parse_status("Uid:\tx\nNSpid:\t5\n", &pid, &uid), -EINVAL);
	CU_ASSERT_EQUAL(pp_proc_parse_status("Uid:\t5\nNSpid:\t-5\n", &pid, &uid), -EINVAL);
	CU_ASSERT_EQUAL(pp_proc_parse_status("Uid:\t5\nNSpid:\n", &pid, &uid), -EINVAL);
	CU_ASSERT_EQUAL(pid, 1);
}

/* A child in so many groups, which waits until the other end of *ret_hold is closed. */
static bool start_in_groups(size_t cnt, pid_t *ret_pid, int *ret_hold)
{
	_cleanup_free_ gid_t *gids = calloc(cnt, sizeof(*gids));
	int told[2], hold[2];
	char is_in = 0;

	CU_ASSERT_FATAL(gids && !pipe2(told, O_CLOEXEC) && !pipe2(hold, O_CLOEXEC));
	for (size_t i = 0; i < cnt; i++)
		gids[i] = 4000000000u + (gid_t)i;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		close(hold[1]);
		is_in = setgroups(cnt, gids) == 0;
		_exit(write(told[1], &is_in, 1) < 0 || read(hold[0], &is_in, 1) < 0);
	}
	close(told[1]);
	close(hold[0]);
	*ret_hold = hold[1];
	CU_ASSERT_FATAL(*ret_pid > 0 && read(told[0], &is_in, 1) == 1);
	close(told[0]);
	return is_in;
}

static bool check_status_in_groups(size_t cnt)
{
	int hold = -1;
	pid_t inner = 0, pid = 0;
	uid_t uid = 99;
	bool is_in = start_in_groups(cnt, &pid, &hold);

	if (is_in) {
		CU_ASSERT_EQUAL(pp_proc_status(pid, &inner, &uid), 0);
		CU_ASSERT_EQUAL(inner, pid);
		CU_ASSERT_EQUAL(uid, getuid());
		CU_ASSERT_EQUAL(pp_proc_uid(pid), getuid());
	}
	close(hold);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
	return is_in;
}

/* The innermost pid comes behind the groups; that of some 730 groups begins at 8 KiB. */
static void test_status_of_many_groups(void)
{
	bool is_in = check_status_in_groups(65536);

	for (size_t cnt = 700; is_in && cnt < 760; cnt++)
		is_in = check_status_in_groups(cnt);
	if (!is_in)
		unit_skip("only root can be in many groups");
}

struct summary {
	unsigned int cnt;
	uint64_t sum, last_end;
	bool is_sorted;
};

static int summarise(void *context, const struct pp_vma *vma)
{
	struct summary *summary = context;

	summary->is_sorted = summary->is_sorted && vma->start >= summary->last_end;
	summary->last_end = vma->end;
	if (!strcmp(vma->name, "[vsyscall]"))
		return 0;
	summary->cnt++;
	summary->sum += vma->start * 3 + vma->end * 5 + vma->offset * 7 + vma->inode * 11 +
			strlen(vma->name) * 13 + vma->dev_major * 17ull + vma->dev_minor * 19ull;
	return 0;
}

static void test_ioctl_says_what_the_text_does(void)
{
	struct summary by_ioctl = {.is_sorted = true}, by_text = {.is_sorted = true};
	bool query = true, no_query = false;

	CU_ASSERT(pp_proc_vmas(getpid(), &query, 0, summarise, &by_ioctl) > 0);
	if (!query) {
		unit_skip("this kernel has no PROCMAP_QUERY (Linux 6.11)");
		return;
	}
	CU_ASSERT(pp_proc_vmas(getpid(), &no_query, 0, summarise, &by_text) > 0);
	CU_ASSERT_EQUAL(by_ioctl.cnt, by_text.cnt);
	CU_ASSERT_EQUAL(by_ioctl.sum, by_text.sum);
	CU_ASSERT(by_ioctl.is_sorted && by_text.is_sorted);
	/* a time that is over: what has more than a few mappings is given up, by either way */
	CU_ASSERT_EQUAL(pp_proc_vmas(getpid(), &no_query, 1, summarise, &by_text), -ETIME);
	CU_ASSERT_EQUAL(pp_proc_vmas(0x3ffffff, &query, 0, summarise, &by_text), -ESRCH);
}

#define DEPTH     20 /* of names of 250 bytes */
#define DEEP_NAME 250

/* Directories one in another, by descriptors: no call takes a path as long as theirs. */
struct deep {
	int dirs[DEPTH + 1];
	char name[DEEP_NAME + 1];
};

static void make_deep(struct deep *d)
{
	memset(d->name, 'd', DEEP_NAME);
	d->name[DEEP_NAME] = '\0';
	d->dirs[0] = open(unit_tmpdir(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		CU_ASSERT_EQUAL_FATAL(mkdirat(d->dirs[i], d->name, 0700), 0);
		d->dirs[i + 1] = openat(d->dirs[i], d->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
}

static void remove_deep(struct deep *d)
{
	unlinkat(d->dirs[DEPTH], "file", 0);
	for (int i = DEPTH; i > 0; i--) {
		close(d->dirs[i]);
		unlinkat(d->dirs[i - 1], d->name, AT_REMOVEDIR);
	}
	close(d->dirs[0]);
}

struct search {
	uint64_t start;
	bool is_found, is_behind;
	char name[64];
};

static int note_vma(void *context, const struct pp_vma *vma)
{
	struct search *search = context;

	search->is_behind |= search->is_found;
	if (vma->start == search->start) {
		search->is_found = true;
		snprintf(search->name, sizeof(search->name), "%s", vma->name);
	}
	return 0;
}

static void check_long_path(const void *mapped)
{
	struct search search = {.start = (uintptr_t)mapped};
	bool query = true;

	CU_ASSERT(pp_proc_vmas(getpid(), &query, 0, note_vma, &search) > 0);
	CU_ASSERT_TRUE(search.is_found);
	CU_ASSERT_TRUE(search.is_behind);
	CU_ASSERT_EQUAL(search.name[0], '/');
	if (query)
		CU_ASSERT_STRING_EQUAL(search.name, PP_PROC_LONG_NAME);
}

/* A mapping whose path no call takes hides no others. */
static void test_long_path(void)
{
	struct deep deep;
	void *mapped;
	int file;

	make_deep(&deep);
	file = openat(deep.dirs[DEPTH], "file", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	CU_ASSERT_FATAL(file >= 0);
	CU_ASSERT_EQUAL(ftruncate(file, 4096), 0);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	if (mapped == MAP_FAILED) {
		unit_skip("no code may be mapped from files here");
	} else {
		check_long_path(mapped);
		munmap(mapped, 4096);
	}
	close(file);
	remove_deep(&deep);
}

static void test_path_inside_stays_inside(void)
{
	const char *dir = unit_tmpdir();
	char path[256], target[256];
	int fd;

	snprintf(path, sizeof(path), "%s/file", dir);
	fclose(fopen(path, "w"));
	fd = pp_proc_look_inside(getpid(), path);
	if (fd == -ENOSYS) {
		unit_skip("this kernel has no openat2 (Linux 5.6)");
		return;
	}
	CU_ASSERT(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
	CU_ASSERT_EQUAL(pp_proc_look_inside(getpid(), path), -EINVAL);
	CU_ASSERT_EQUAL(pp_proc_look_inside(getpid(), dir), -EINVAL);
	/* A way through /proc leads out of a container: not taken. */
	snprintf(path, sizeof(path), "%s/link", dir);
	snprintf(target, sizeof(target), "/proc/%d/root/etc/passwd", getpid());
	CU_ASSERT_EQUAL(symlink(target, path), 0);
	CU_ASSERT(pp_proc_look_inside(getpid(), path) < 0);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_cgroup(void)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{"", ""},
		{"0::/\n", ""},
		{"0::/user.slice/user-1000.slice/session-3.scope\n", ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/init.scope", ""},
		{"0::/system.slice/nginx.service\n", "nginx.service"},
		{"0::/system.slice/docker-" ID ".scope\n", ID},
		{"12:pids:/docker/" ID "\n1:name=systemd:/docker/" ID "\n", ID},
		{"9:cpu,cpuacct:/\n4:memory:/docker/" ID "\n0::/\n", ID},
		{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
		 "cri-containerd-" ID ".scope",
		 ID},
		{"1:cpu:/kubepods/besteffort/pod11-22/" ID "\n", ID},
		{"0::/system.slice/containerd.service/kubepods-besteffort-podx.slice:"
		 "cri-containerd:" ID "\n",
		 ID},
		{"0::/machine.slice/libpod-" ID ".scope/container\n", ID},
		{"0::/machine.slice/libpod-conmon-" ID ".scope\n", ""},
		{"0::/machine.slice/machine-my\\x2dbox.scope/payload\n", "my-box"},
		{"0::/machine.slice/systemd-nspawn@web.service/payload\n", "web"},
		{"5:pids:/lxc/web1/init.scope\n", "web1"},
		{"0::/lxc.payload.web2/system.slice/ssh.service\n", "web2"},
		{"0::/lxc.monitor.web2\n", ""},
		{"garbage\n::\n:\n0::\n0::/system.slice/a.service\n", "a.service"},
		{"0::/system.slice/evil\x01\x1b[2J.service", "evil??[2J.service"},
		{"0::/system.slice/a.service (deleted)\n", "a.service"},
		{"1:cpu:/\n0::/system.slice/docker-" ID ".scope (deleted)\n", ID},
		{"0::/" ID "0\n", ""},
		{"0::/zz" ID "\n", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[128];

		CU_ASSERT_STRING_EQUAL(pp_cgroup_parse(cases[i].text, name, sizeof(name)),
				       cases[i].name);
	}
}

static void test_cgroup_cuts_long_names(void)
{
	char text[1024] = "0::/", name[16];

	memset(text + 4, 'a', 900);
	memcpy(text + 904, ".service", 9);
	CU_ASSERT_EQUAL(strlen(pp_cgroup_parse(text, name, sizeof(name))), 15);
}

static void test_names(void)
{
	char name[16];

	CU_ASSERT_STRING_EQUAL(pp_ident_name("/a (deleted)", name, sizeof(name)), "/a");
	CU_ASSERT_STRING_EQUAL(pp_ident_name("/a", name, sizeof(name)), "/a");
	CU_ASSERT_STRING_EQUAL(pp_ident_name("", name, sizeof(name)), "");
	CU_ASSERT_STRING_EQUAL(pp_ident_name("/0123456789abcdefgh", name, sizeof(name)),
			       "/0123456789abcd");
}

static enum pp_ident_kind kind_of(struct pp_idents *idents, const char *name, uint64_t inode)
{
	struct pp_vma vma = {.start = 4096, .end = 8192, .inode = inode, .name = name};
	struct pathprof_file from;
	struct pathprof_build_id id;

	return pp_idents_of(idents, getpid(), &vma, &id, &from);
}

static void test_kinds(void)
{
	struct pp_idents *idents;

	CU_ASSERT_EQUAL_FATAL(pp_idents_new(&idents, NULL), 0);
	CU_ASSERT_EQUAL(kind_of(idents, "[vdso]", 0), PP_IDENT_VDSO);
	CU_ASSERT_EQUAL(kind_of(idents, "[vsyscall]", 0), PP_IDENT_SKIP);
	CU_ASSERT_EQUAL(kind_of(idents, "", 0), PP_IDENT_JIT);
	CU_ASSERT_EQUAL(kind_of(idents, "//anon", 0), PP_IDENT_JIT);
	CU_ASSERT_EQUAL(kind_of(idents, "[heap]", 0), PP_IDENT_JIT);
	CU_ASSERT_EQUAL(kind_of(idents, "/memfd:jit (deleted)", 5), PP_IDENT_JIT);
	CU_ASSERT_EQUAL(kind_of(idents, "/nowhere/at/all", 5), PP_IDENT_FILE);
	pp_idents_free(idents);
}

static uint32_t owner_of(struct pp_idents *idents, const struct pp_vma *vma)
{
	struct pathprof_file from = {0};
	struct pathprof_build_id id;

	CU_ASSERT_EQUAL(pp_idents_of(idents, getpid(), vma, &id, &from), PP_IDENT_FILE);
	CU_ASSERT_EQUAL(from.inode, vma->inode);
	return from.owner;
}

static struct pathprof_build_id id_of(struct pp_idents *idents, const struct pp_vma *vma)
{
	struct pathprof_file from = {0};
	struct pathprof_build_id id = {0};

	CU_ASSERT_EQUAL(pp_idents_of(idents, getpid(), vma, &id, &from), PP_IDENT_FILE);
	return id;
}

struct code_file {
	char path[256];
	int fd;
	struct pp_vma vma;
};

static void make_code(struct code_file *ret_file, mode_t mode, uint64_t generation)
{
	struct stat stat;

	*ret_file = (struct code_file){0};
	snprintf(ret_file->path, sizeof(ret_file->path), "%s/code", unit_tmpdir());
	ret_file->fd = open(ret_file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	CU_ASSERT_FATAL(ret_file->fd >= 0 && fstat(ret_file->fd, &stat) == 0);
	CU_ASSERT_EQUAL(fchmod(ret_file->fd, mode), 0);
	ret_file->vma = (struct pp_vma){.start = 4096,
					.end = 8192,
					.generation = generation,
					.inode = stat.st_ino,
					.dev_major = major(stat.st_dev),
					.dev_minor = minor(stat.st_dev),
					.name = ret_file->path};
}

/* Also when the file is gone, of the same inode; nobody's when everybody may write to it. */
static void test_owners(void)
{
	struct pathprof_build_id known, later;
	struct pp_idents *idents;
	struct code_file code;

	make_code(&code, 0702, 77);
	CU_ASSERT_EQUAL_FATAL(pp_idents_new(&idents, NULL), 0);
	CU_ASSERT_EQUAL(owner_of(idents, &code.vma), PATHPROF_OWNER_UNKNOWN);
	pp_idents_free(idents);

	CU_ASSERT_EQUAL_FATAL(pp_idents_new(&idents, NULL), 0);
	CU_ASSERT_EQUAL(fchmod(code.fd, 0700), 0);
	CU_ASSERT_EQUAL(owner_of(idents, &code.vma), getuid());
	CU_ASSERT_EQUAL(unlink(code.path), 0);
	CU_ASSERT_EQUAL(owner_of(idents, &code.vma), getuid());
	known = id_of(idents, &code.vma);
	code.vma.generation = 78;
	CU_ASSERT_EQUAL(owner_of(idents, &code.vma), PATHPROF_OWNER_UNKNOWN);
	/* another file was given its number since */
	later = id_of(idents, &code.vma);
	CU_ASSERT_FALSE(pathprof_build_id_equal(&known, &later));
	code.vma.generation = 0;
	CU_ASSERT_EQUAL(owner_of(idents, &code.vma), PATHPROF_OWNER_UNKNOWN);
	pp_idents_free(idents);
	close(code.fd);
}

/* Whether the file, changed between two questions of one second, is believed to be as it was. */
static bool is_believed(struct pp_idents *idents, const struct code_file *code)
{
	uint64_t asked_ns, now_ns;

	do {
		CU_ASSERT_EQUAL(fchmod(code->fd, 0700), 0);
		nanosleep(&(struct timespec){1, 100000000}, NULL);
		asked_ns = pp_monotonic_ns();
		CU_ASSERT_EQUAL(owner_of(idents, &code->vma), getuid());
		CU_ASSERT_EQUAL(fchmod(code->fd, 0702), 0);
		if (owner_of(idents, &code->vma) == getuid())
			return true;
		now_ns = pp_monotonic_ns();
	} while (now_ns - asked_ns >= 1000000000);
	return false;
}

/* A machine that starts many programs would be busy with looking at the same few files. */
static void test_looks_once_a_second(void)
{
	struct pp_idents *idents;
	struct code_file code;

	for (uint64_t generation = 0; generation < 2; generation++) {
		make_code(&code, 0700, generation);
		CU_ASSERT_EQUAL_FATAL(pp_idents_new(&idents, NULL), 0);
		CU_ASSERT_TRUE(is_believed(idents, &code));
		nanosleep(&(struct timespec){1, 100000000}, NULL);
		CU_ASSERT_EQUAL(owner_of(idents, &code.vma), PATHPROF_OWNER_UNKNOWN);
		pp_idents_free(idents);
		close(code.fd);
	}
}

static const struct unit_test tests[] = {
	{"a line of maps is taken apart", test_maps_line},
	{"what is no line of maps is refused", test_maps_line_hostile},
	{"a stat line is taken apart, brackets in the name or not", test_stat_line},
	{"what is no stat line is refused", test_stat_line_hostile},
	{"status gives the innermost pid and the user", test_status},
	{"status is read to its end, however many groups are in it", test_status_of_many_groups},
	{"the ioctl says what the text of maps says", test_ioctl_says_what_the_text_does},
	{"a path that is too long ends no list", test_long_path},
	{"a path inside a process' root stays inside and names a file",
	 test_path_inside_stays_inside},
	{"container names come out of v1 and v2 cgroup paths", test_cgroup},
	{"a long cgroup name is cut", test_cgroup_cuts_long_names},
	{"deleted files keep their name", test_names},
	{"mappings are told apart by what they are", test_kinds},
	{"whose file it is, also when it is gone", test_owners},
	{"a file that many map is looked at once a second", test_looks_once_a_second},
};
UNIT_SUITE(track_proc, tests)
