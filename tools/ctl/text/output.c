// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing a file that the user named: see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pathprof/foreign.h"

#define LINKS_MAX 40 /* as many as the kernel follows */

/* ---------------------------------------------------------------- where a path leads */

struct place {
	int directory; /* O_PATH */
	char *name;    /* name in the directory; "." for the directory itself */
	int own;       /* the descriptor of this process that it stands for, else -1 */
};

static void release(struct place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	free(place->name);
}

/* Follows path, which is relative to the place's directory. */
static int go(struct place *place, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *parent = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	struct place next = {.directory = -1, .name = strdup(*name ? name : "."), .own = -1};
	int r = 0;

	if (!parent || !next.name)
		r = -ENOMEM;
	else if (!*path)
		r = -ENOENT;
	else
		next.directory = openat(place->directory, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r == 0 && next.directory < 0)
		r = -errno;
	free(parent);
	if (r < 0) {
		release(&next);
		return r;
	}
	release(place);
	*place = next;
	return 0;
}

/* /dev/fd/N stands for the descriptor N: a socket cannot be opened by that name. */
static int own_descriptor(const struct place *place)
{
	struct stat here, own;
	char *end;
	long number = strtol(place->name, &end, 10);

	if (*end || end == place->name || number < 0 || number > INT_MAX ||
	    fstat(place->directory, &here) < 0 || stat("/proc/self/fd", &own) < 0)
		return -1;
	return here.st_dev == own.st_dev && here.st_ino == own.st_ino ? (int)number : -1;
}

/* The kernel's links in /proc lead to open files, which their text does not name. */
static bool is_in_proc(const struct place *place)
{
	struct statfs system;

	return fstatfs(place->directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Follows links. place is to be released whatever is returned. */
static int find(struct place *place, const char *path)
{
	char link[PATH_MAX];
	int r;

	*place = (struct place){.directory = AT_FDCWD, .own = -1};
	if (!strcmp(path, "-")) {
		place->own = STDOUT_FILENO;
		return 0;
	}
	r = go(place, path);
	for (int i = 0; r == 0 && i <= LINKS_MAX; i++) {
		ssize_t len_bytes;

		if (is_in_proc(place)) {
			place->own = own_descriptor(place);
			return 0;
		}
		len_bytes = readlinkat(place->directory, place->name, link, sizeof(link) - 1);
		if (len_bytes < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : -errno;
		link[len_bytes] = '\0';
		r = go(place, link);
	}
	return r ? r : -ELOOP;
}

bool output_is_stdout(const char *path)
{
	struct place place;
	bool is = path && find(&place, path) == 0 && place.own == STDOUT_FILENO;

	if (path)
		release(&place);
	return is;
}

/* ---------------------------------------------------------------- the draft of a regular file */

/* For handlers: the output whose draft is to be removed, and the process that made it. */
static struct output *volatile pending;
static volatile pid_t pending_owner;

static void remove_pending(void)
{
	const struct output *output = pending;

	if (output && pending_owner == getpid())
		unlinkat(output->directory, output->draft, 0);
	pending = NULL;
}

static void end_by(int signal)
{
	remove_pending();
	raise(signal); /* SA_RESETHAND: it ends the process now */
}

/* Handles signals that would end the process, unless they are ignored or handled already. */
static void remove_at_end(struct output *output)
{
	static const int fatal[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
	static bool registered;
	const struct sigaction ours = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	pending_owner = getpid();
	pending = output;
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (sigaction(fatal[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(fatal[i], &ours, NULL);
	if (!registered)
		registered = atexit(remove_pending) == 0;
}

static void drop_draft(struct output *output)
{
	if (output->directory >= 0)
		unlinkat(output->directory, output->draft, 0);
	pending = NULL;
}

static int keep_rights(const struct output *output, const struct stat *old)
{
	if (fchown(output->fd, old->st_uid, old->st_gid) < 0 ||
	    fchmod(output->fd, old->st_mode & 0777) < 0)
		return -errno;
	return 0;
}

/* Takes the place's directory and name. old: what lies there; NULL: nothing. */
static int open_draft(struct output *output, struct place *place, const struct stat *old,
		      struct pathprof_error *error)
{
	uint64_t random;
	int r;

	if (old && faccessat(place->directory, place->name, W_OK, AT_EACCESS) < 0)
		return -errno;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(output->draft, sizeof(output->draft), ".pathprof-%016" PRIx64, random);
	output->directory = place->directory;
	output->name = place->name;
	place->directory = -1;
	place->name = NULL;
	remove_at_end(output);
	/* Until its owner is set, nobody else may read it. */
	output->fd = openat(output->directory, output->draft,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
	if (output->fd < 0)
		return pathprof_fail(error, -errno,
				     "%s: cannot be written: no file can be created in its "
				     "directory: %s",
				     output->path, strerror(errno));
	r = old ? keep_rights(output, old) : 0;
	if (r < 0)
		return pathprof_fail(error, r,
				     "%s: cannot be written: it cannot stay user %u's and group "
				     "%u's: %s: remove it first, or choose another name",
				     output->path, old->st_uid, old->st_gid, strerror(-r));
	return 0;
}

/* ---------------------------------------------------------------- what is written into */

/* Opening a pipe without a reader waits for one. */
static int open_there(struct output *output, const struct place *place, mode_t kind)
{
	/* find() has followed all links but those of /proc, which openat() must follow. */
	int how = S_ISLNK(kind) ? O_TRUNC : O_NOFOLLOW;

	pathprof_foreign_tell(""); /* that wait is for none of the files read before */
	output->fd = openat(place->directory, place->name, O_WRONLY | O_CLOEXEC | O_NOCTTY | how);
	return output->fd < 0 ? -errno : 0;
}

static int use_descriptor(struct output *output, int own)
{
	if (own == STDOUT_FILENO && fflush(stdout) != 0)
		return -errno;
	output->fd = fcntl(own, F_DUPFD_CLOEXEC, 0);
	return output->fd < 0 ? -errno : 0;
}

static int open_place(struct output *output, struct place *place, struct pathprof_error *error)
{
	struct stat there;

	if (place->own >= 0)
		return use_descriptor(output, place->own);
	if (fstatat(place->directory, place->name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? open_draft(output, place, NULL, error) : -errno;
	if (S_ISREG(there.st_mode))
		return open_draft(output, place, &there, error);
	if (S_ISDIR(there.st_mode))
		return -EISDIR;
	if (S_ISSOCK(there.st_mode))
		return pathprof_fail(
			error, -ENXIO,
			"%s: cannot be written: it is a socket: write into a pipe to a "
			"program that connects to it",
			output->path);
	return open_there(output, place, there.st_mode);
}

/* ---------------------------------------------------------------- the stream */

/* All of it or an error, which is remembered: a stream only knows that there was one. */
static ssize_t put(void *cookie, const char *bytes, size_t len_bytes)
{
	struct output *output = cookie;
	size_t done = 0;

	while (output->code == 0 && done < len_bytes) {
		ssize_t n = write(output->fd, bytes + done, len_bytes - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			output->code = n ? -errno : -EIO;
	}
	return (ssize_t)done;
}

static int open_stream(struct output *output)
{
	output->file = fopencookie(output, "w", (cookie_io_functions_t){.write = put});
	return output->file ? 0 : -ENOMEM;
}

static void forget(struct output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	if (output->directory >= 0)
		close(output->directory);
	free(output->name);
}

static int fail(const struct output *output, int code, struct pathprof_error *error)
{
	return pathprof_fail(error, code, "%s: cannot be written: %s",
			     strcmp(output->path, "-") ? output->path : "standard output",
			     strerror(-code));
}

int output_begin(struct output *ret_output, const char *path, struct pathprof_error *error)
{
	struct output *output = ret_output;
	struct place place;
	int r;

	*output = (struct output){.path = path, .directory = -1, .fd = -1};
	if (!path) {
		output->file = stdout;
		return 0;
	}
	if (error)
		error->text[0] = '\0';
	r = find(&place, path);
	if (r == 0)
		r = open_place(output, &place, error);
	if (r == 0)
		r = open_stream(output);
	release(&place);
	if (r == 0)
		return 0;
	drop_draft(output);
	forget(output);
	return error && error->text[0] ? r : fail(output, r, error);
}

int output_end(struct output *output, int result, struct pathprof_error *error)
{
	if (!output->path)
		return result == -EPIPE ? 0 : result;
	if (fclose(output->file) != 0 && output->code == 0)
		output->code = -errno;
	if (close(output->fd) < 0 && output->code == 0)
		output->code = -errno;
	output->fd = -1;
	if (output->code == -EPIPE && output_is_stdout(output->path))
		output->code = result = 0;
	if (result == 0 && output->code == 0 && output->name &&
	    renameat(output->directory, output->draft, output->directory, output->name) < 0)
		output->code = -errno;
	if (result < 0 || output->code < 0)
		drop_draft(output);
	pending = NULL;
	forget(output);
	return output->code < 0 ? fail(output, output->code, error) : result;
}
