// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of file servers: see track_remote.h. Source: proc_pid_mountinfo(5). */
#include "track_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../child_cpu.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define KNOWN_CNT   256 /* a power of two */
#define KNOWN_NS    30000000000
#define FLEETING_NS 1000000000
#define OUT_MAX     8
#define WAIT_MS     100
#define TIME_PPM    20000
#define TIME_MAX_NS 500000000
#define ANSWER_FD   3

struct known {
	uint64_t dev, until_ns;
	bool is_remote;
};

/* A child that did not answer in time. */
struct out {
	pid_t child; /* 0: none */
	uint64_t dev;
};

/* Our own mounts of servers. */
struct own_points {
	FILE *mounts; /* the list of all, open to hear of changes; NULL: not read */
	char *points; /* one after the other, each with its 0 */
	size_t len_bytes;
};

struct pp_remote {
	struct known known[KNOWN_CNT];
	struct own_points own;
	struct out out[OUT_MAX];
	int64_t left_ns;
	uint64_t last_ns;
	uint64_t cpu_ns; /* of children that have ended */
};

/* ---------------------------------------------------------------- lists of mounts */

static bool is_remote_type(const char *type)
{
	static const char *const types[] = {
		"nfs",  "nfs4",   "cifs",   "smb3",      "9p",      "ceph",   "afs",
		"coda", "gfs2",   "lustre", "glusterfs", "pvfs2",   "beegfs", "virtiofs",
		"gpfs", "vboxsf", "ocfs2",  "fuse",      "fuseblk", "autofs",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i]))
			return true;
	return !strncmp(type, "fuse.", 5);
}

/* "36 35 98:0 /root /mount/point options - type source ..."; texts lie in the line. */
struct mount_line {
	unsigned int dev_major, dev_minor;
	const char *point, *type;
};

static bool is_octal(const char *text)
{
	return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7';
}

/* Blank, tab, newline and backslash stand there as a backslash and three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && is_octal(text + 1)) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				       (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = 0;
}

/* Cuts the line up. */
static bool parse_mount(char *line, struct mount_line *ret_line)
{
	char *type = strstr(line, " - ");
	int point = 0, end = 0;

	if (!type ||
	    sscanf(line, "%*s %*s %u:%u %*s %n%*s%n", &ret_line->dev_major, &ret_line->dev_minor,
		   &point, &end) != 2 ||
	    !end)
		return false;
	type += 3;
	type[strcspn(type, " \n")] = 0;
	line[end] = 0;
	unescape(line + point);
	ret_line->point = line + point;
	ret_line->type = type;
	return true;
}

static FILE *open_mounts(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	return fopen(path, "re");
}

/* 1: of a server, 0: not, -ENOENT: in none of its mounts, -ESRCH: they cannot be read. */
static int look_up(pid_t pid, uint32_t dev_major, uint32_t dev_minor)
{
	_cleanup_fclose_ FILE *mounts = open_mounts(pid);
	_cleanup_free_ char *line = NULL;
	struct mount_line parsed;
	size_t room_bytes = 0;

	if (!mounts)
		return -ESRCH;
	while (getline(&line, &room_bytes, mounts) >= 0)
		if (parse_mount(line, &parsed) && parsed.dev_major == dev_major &&
		    parsed.dev_minor == dev_minor)
			return is_remote_type(parsed.type);
	return -ENOENT;
}

/*
 * A guess, where the process is gone, is not kept: another one may have the device mounted. The
 * number of a device without a disk may be a server's as soon as it is unmounted.
 */
bool pp_remote_has(struct pp_remote *remote, pid_t pid, uint32_t dev_major, uint32_t dev_minor)
{
	uint64_t dev = makedev(dev_major, dev_minor), now = pp_monotonic_ns();
	struct known *known = &remote->known[(dev ^ dev >> 8) & (KNOWN_CNT - 1)];
	bool is_read;
	int r;

	if (known->dev == dev && now < known->until_ns)
		return known->is_remote;
	r = look_up(pid, dev_major, dev_minor);
	is_read = r != -ESRCH;
	if (r < 0)
		r = look_up(getpid(), dev_major, dev_minor);
	if (r < 0 && !is_read)
		return dev_major == 0;
	known->dev = dev;
	known->is_remote = r < 0 ? dev_major == 0 : r;
	known->until_ns = now + (dev_major || known->is_remote ? KNOWN_NS : FLEETING_NS);
	return known->is_remote;
}

static bool lies_below(const char *path, const char *point)
{
	size_t len_bytes = strlen(point);

	if (len_bytes && point[len_bytes - 1] == '/')
		len_bytes--;
	return !strncmp(path, point, len_bytes) && (path[len_bytes] == '/' || !path[len_bytes]);
}

/* The last of the longest that path lies below: mounts are listed in their order. */
bool pp_remote_listed(FILE *mounts, const char *path)
{
	_cleanup_free_ char *line = NULL;
	struct mount_line parsed;
	size_t room_bytes = 0, longest = 0;
	bool is_remote = false;

	while (getline(&line, &room_bytes, mounts) >= 0) {
		if (!parse_mount(line, &parsed) || !lies_below(path, parsed.point) ||
		    strlen(parsed.point) < longest)
			continue;
		longest = strlen(parsed.point);
		is_remote = is_remote_type(parsed.type);
	}
	return is_remote;
}

bool pp_remote_path(pid_t pid, const char *path)
{
	_cleanup_fclose_ FILE *mounts = open_mounts(pid);

	return mounts && pp_remote_listed(mounts, path);
}

/* ---------------------------------------------------------------- our own mounts */

static void forget_points(struct own_points *own)
{
	if (own->mounts)
		fclose(own->mounts);
	free(own->points);
	*own = (struct own_points){0};
}

/* Whether all of them are written. */
static bool write_points(FILE *mounts, FILE *points)
{
	_cleanup_free_ char *line = NULL;
	struct mount_line parsed;
	size_t room_bytes = 0;

	while (getline(&line, &room_bytes, mounts) >= 0)
		if (parse_mount(line, &parsed) && is_remote_type(parsed.type))
			fwrite(parsed.point, 1, strlen(parsed.point) + 1, points);
	return feof(mounts) && !ferror(points);
}

static bool read_points(struct own_points *own)
{
	FILE *points = open_memstream(&own->points, &own->len_bytes);
	bool is_whole;

	if (!points)
		return false;
	own->mounts = open_mounts(getpid());
	is_whole = own->mounts && write_points(own->mounts, points);
	return !fclose(points) && is_whole;
}

/* The kernel tells whoever holds the list open of each change since it was opened. */
static bool are_points_new(const struct own_points *own)
{
	struct pollfd change = {.events = POLLPRI};

	if (!own->mounts)
		return false;
	change.fd = fileno(own->mounts);
	return poll(&change, 1, 0) == 0;
}

bool pp_remote_own_path(struct pp_remote *remote, const char *path)
{
	struct own_points *own = &remote->own;

	if (!are_points_new(own)) {
		forget_points(own);
		if (!read_points(own)) {
			forget_points(own);
			return pp_remote_path(getpid(), path);
		}
	}
	for (const char *at = own->points; at < own->points + own->len_bytes; at += strlen(at) + 1)
		if (lies_below(path, at))
			return pp_remote_path(getpid(), path);
	return false;
}

/* ---------------------------------------------------------------- children */

/* Whether it has ended; options are those of wait4(). */
static bool reap(struct pp_remote *remote, struct out *out, int options)
{
	struct rusage usage = {0};
	pid_t got = wait4(out->child, NULL, options, &usage);

	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got > 0)
		remote->cpu_ns += pp_child_cpu_ns(&usage);
	out->child = 0;
	return true;
}

uint64_t pp_remote_cpu_ns(const struct pp_remote *remote)
{
	return remote->cpu_ns;
}

static bool has_time(struct pp_remote *remote)
{
	uint64_t now = pp_monotonic_ns(), passed_ns = now - remote->last_ns;

	if (!remote->last_ns || passed_ns > TIME_MAX_NS / TIME_PPM * UINT64_C(1000000))
		remote->left_ns = TIME_MAX_NS;
	else
		remote->left_ns += (int64_t)(passed_ns * TIME_PPM / 1000000);
	if (remote->left_ns > TIME_MAX_NS)
		remote->left_ns = TIME_MAX_NS;
	remote->last_ns = now;
	return remote->left_ns > 0;
}

/* A place for a child of this device; NULL: one of it is out, or too many are. */
static struct out *find_place(struct pp_remote *remote, uint64_t dev)
{
	struct out *place = NULL;

	for (struct out *out = remote->out; out < remote->out + OUT_MAX; out++) {
		if (out->child && !reap(remote, out, WNOHANG) && out->dev == dev)
			return NULL;
		if (!out->child)
			place = out;
	}
	return place;
}

static _Noreturn void be_child(pp_remote_fn *fn, void *context, size_t answer_bytes, int fd)
{
	struct {
		int r;
		char answer[PP_REMOTE_ANSWER_MAX];
	} said = {0};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* the daemon's files, locks and sockets are not ours to keep open */
	if ((fd != ANSWER_FD && dup2(fd, ANSWER_FD) < 0) || close_range(ANSWER_FD + 1, ~0u, 0) < 0)
		_exit(127);
	said.r = fn(context, said.answer);
	_exit(write(ANSWER_FD, &said, offsetof(typeof(said), answer) + answer_bytes) < 0);
}

/* 0: an answer, with what fn returned in *ret_r. */
static int receive(int fd, int *ret_r, void *ret_answer, size_t answer_bytes)
{
	char said[sizeof(int) + PP_REMOTE_ANSWER_MAX];
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	ssize_t len_bytes;

	if (poll(&ready, 1, WAIT_MS) <= 0)
		return -ETIMEDOUT;
	len_bytes = read(fd, said, sizeof(said));
	if (len_bytes != (ssize_t)(sizeof(int) + answer_bytes))
		return -ECHILD;
	memcpy(ret_r, said, sizeof(int));
	if (*ret_r == 0)
		memcpy(ret_answer, said + sizeof(int), answer_bytes);
	return 0;
}

static int run(struct out *out, pp_remote_fn *fn, void *context, void *ret_answer,
	       size_t answer_bytes)
{
	_cleanup_close_ int input = -EBADF, output = -EBADF;
	int ends[2], r = 0, heard;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	input = ends[0];
	output = ends[1];
	out->child = fork();
	if (out->child == 0)
		be_child(fn, context, answer_bytes, output);
	if (out->child < 0) {
		out->child = 0;
		return -errno;
	}
	pp_cleanup_fd(&output);
	output = -EBADF;
	heard = receive(input, &r, ret_answer, answer_bytes);
	if (heard == -ETIMEDOUT)
		kill(out->child, SIGKILL);
	return heard ? heard : r;
}

int pp_remote_ask(struct pp_remote *remote, uint64_t dev, pp_remote_fn *fn, void *context,
		  void *ret_answer, size_t answer_bytes)
{
	struct out *out = find_place(remote, dev);
	uint64_t begin_ns;
	int r;

	if (!out || answer_bytes > PP_REMOTE_ANSWER_MAX || !has_time(remote))
		return -EBUSY;
	out->dev = dev;
	begin_ns = pp_monotonic_ns();
	r = run(out, fn, context, ret_answer, answer_bytes);
	/* one that has answered ends at once */
	if (out->child && r != -ETIMEDOUT)
		reap(remote, out, 0);
	remote->left_ns -= (int64_t)(pp_monotonic_ns() - begin_ns);
	return r;
}

/* ---------------------------------------------------------------- life */

int pp_remote_new(struct pp_remote **ret_remote)
{
	struct pp_remote *remote = calloc(1, sizeof(*remote));

	if (!remote)
		return -ENOMEM;
	*ret_remote = remote;
	return 0;
}

void pp_remote_free(struct pp_remote *remote)
{
	if (!remote)
		return;
	for (struct out *out = remote->out; out < remote->out + OUT_MAX; out++)
		if (out->child && kill(out->child, SIGKILL) == 0)
			waitpid(out->child, NULL, WNOHANG);
	forget_points(&remote->own);
	free(remote);
}
