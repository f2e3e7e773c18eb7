// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Asking the process that reads a program and its counts: see pp_counted_apart.h. */
#include "pp_counted_apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pathprof/foreign.h"

struct pp_counted_apart {
	struct pathprof_apart *process;
	char *path; /* of the program */
	int fd;     /* the program; -1: the process has none */
	struct pathprof_apart_message message;
};

void pp_counted_apart_close(struct pp_counted_apart *apart)
{
	if (!apart)
		return;
	pathprof_apart_free(apart->process);
	if (apart->fd >= 0)
		close(apart->fd);
	free(apart->path);
	free(apart);
}

static int new_apart(struct pp_counted_apart **ret_apart,
		     const struct pathprof_apart_service *service, const char *path,
		     struct pathprof_error *error)
{
	struct pp_counted_apart *apart = calloc(1, sizeof(*apart));

	if (apart) {
		apart->fd = -1;
		apart->path = strdup(path);
	}
	if (!apart || !apart->path ||
	    pathprof_apart_new(&apart->process, service, path, NULL, NULL) < 0) {
		pp_counted_apart_close(apart);
		pathprof_fail(error, -ENOMEM, "%s: out of memory", path);
		return -ENOMEM;
	}
	*ret_apart = apart;
	return 0;
}

/* ---------------------------------------------------------------- asking */

/* The answer's code, or why there is none. */
static int ask(struct pp_counted_apart *apart, enum pp_counted_question kind, int fd,
	       const char *path)
{
	struct pathprof_apart_message *m = &apart->message;
	int r;

	m->kind = kind;
	m->code = 0;
	m->bytes = 0;
	if (!pathprof_apart_add(m, path, (uint32_t)strlen(path)))
		return -ENAMETOOLONG;
	r = pathprof_apart_ask(apart->process, m, fd, NULL, NULL);
	return r < 0 ? r : m->code > 0 ? -EBADMSG : m->code;
}

/* Starts the process, if need be, and gives it the program. */
static int ready(struct pp_counted_apart *apart)
{
	int r = pathprof_apart_start(apart->process);

	return r <= 0 ? r : ask(apart, PP_ASK_COUNTED, apart->fd, apart->path);
}

/* The answer's own words, if there are any. path: the file in question. */
static int fail(const struct pp_counted_apart *apart, int r, const char *path,
		struct pathprof_error *error)
{
	const struct pathprof_apart_message *m = &apart->message;
	const char *why = pathprof_apart_why(apart->process);

	if (why && strcmp(path, apart->path) == 0)
		return pathprof_fail(error, r, "%s", why);
	if (why)
		return pathprof_fail(error, r, "%s, at %s: leave that out", why, path);
	if (m->code == r && m->bytes)
		return pathprof_fail(error, r, "%s", m->text);
	return pathprof_fail(error, r, "%s: cannot be read apart: %s", path, strerror(-r));
}

/* ---------------------------------------------------------------- memory of both */

static int64_t bytes_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? -errno : st.st_size;
}

/* A copy of bytes from a place on; the process may have cut the memory meanwhile. */
static int copy_out(int fd, uint64_t place, size_t bytes, void **ret_copy)
{
	char *copy = malloc(bytes + 1);
	size_t had = 0;

	if (!copy)
		return -ENOMEM;
	while (had < bytes) {
		ssize_t n = pread(fd, copy + had, bytes - had, (off_t)(place + had));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(copy);
			return n < 0 ? -errno : -EBADMSG;
		}
		had += (size_t)n;
	}
	*ret_copy = copy;
	return 0;
}

/* A descriptor of memory that the process wrote the answer to; -errno. */
static int ask_for_memory(struct pp_counted_apart *apart, enum pp_counted_question kind)
{
	int fd = memfd_create("counts", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = ask(apart, kind, fd, "");
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

/* ---------------------------------------------------------------- the program */

/* No record of a form is more than twice as long as what it is made of in the file. */
static int copy_form(int fd, uint64_t file_bytes, void **ret_form, size_t *ret_bytes)
{
	int64_t bytes = bytes_of(fd);

	if (bytes < 0 || (uint64_t)bytes / 2 > file_bytes)
		return bytes < 0 ? (int)bytes : -EBADMSG;
	*ret_bytes = (size_t)bytes;
	return copy_out(fd, 0, (size_t)bytes, ret_form);
}

static int take_form(struct pathprof_counted *counted, uint64_t file_bytes)
{
	int fd = ask_for_memory(counted->apart, PP_ASK_FORM), r;
	void *form = NULL;
	size_t bytes = 0;

	if (fd < 0)
		return fd;
	r = copy_form(fd, file_bytes, &form, &bytes);
	close(fd);
	if (r == 0)
		r = pp_form_read(counted, form, bytes);
	if (r == 0)
		r = pp_counted_join_copies(counted);
	free(form);
	return r;
}

static int fill(struct pathprof_counted *counted, const struct pathprof_apart_service *service,
		int fd, const char *path, struct pathprof_error *error)
{
	int64_t file_bytes = bytes_of(fd);
	int r = new_apart(&counted->apart, service, path, error);

	if (r < 0) {
		close(fd);
		return r;
	}
	counted->apart->fd = fd;
	r = file_bytes < 0 ? (int)file_bytes : ready(counted->apart);
	if (r == 0)
		r = take_form(counted, (uint64_t)file_bytes);
	if (r < 0)
		return fail(counted->apart, r, path, error);
	return pp_counted_make_image(counted, (uint64_t)file_bytes, path, error);
}

int pp_counted_open_by(struct pathprof_counted **ret_counted,
		       const struct pathprof_apart_service *service, const char *path,
		       struct pathprof_error *error)
{
	struct pathprof_counted *counted;
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error), r;

	if (fd < 0)
		return fd;
	counted = calloc(1, sizeof(*counted));
	if (!counted) {
		close(fd);
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", path);
	}
	r = fill(counted, service, fd, path, error);
	if (r < 0)
		pathprof_counted_free(counted);
	else
		*ret_counted = counted;
	return r;
}

int pathprof_counted_open_apart(struct pathprof_counted **ret_counted, const char *path,
				struct pathprof_error *error)
{
	return pp_counted_open_by(ret_counted, &pp_counted_reader, path, error);
}

/* ---------------------------------------------------------------- files of counts */

static int take_run(const struct pp_counted_apart *apart, struct pathprof_counts_run *ret_run)
{
	if (apart->message.bytes != sizeof(*ret_run))
		return -EBADMSG;
	memcpy(ret_run, apart->message.text, sizeof(*ret_run));
	ret_run->object[sizeof(ret_run->object) - 1] = '\0';
	if (ret_run->begin_ns < 0 || ret_run->begin_ns > ret_run->end_ns)
		ret_run->begin_ns = ret_run->end_ns;
	return 0;
}

/* An entry has at most half as many bytes more than what it was read from. */
static int copy_sums(struct pp_counts *counts, int fd, uint64_t image_bytes, uint64_t file_bytes)
{
	uint64_t words_bytes = image_bytes - image_bytes % sizeof(*counts->image), hashed_bytes;
	int64_t bytes = bytes_of(fd);
	void *copy = NULL;
	int r;

	if (bytes < 0 || (uint64_t)bytes < words_bytes)
		return bytes < 0 ? (int)bytes : -EBADMSG;
	hashed_bytes = (uint64_t)bytes - words_bytes;
	if (hashed_bytes % sizeof(*counts->hashed) || hashed_bytes / 2 > file_bytes)
		return -EBADMSG;
	r = copy_out(fd, 0, words_bytes, &copy);
	if (r < 0)
		return r;
	counts->image = copy;
	r = copy_out(fd, words_bytes, hashed_bytes, &copy);
	if (r < 0)
		return r;
	counts->hashed = copy;
	counts->hashed_cnt = hashed_bytes / sizeof(*counts->hashed);
	return 0;
}

static int take_sums(struct pp_counts *counts, const struct pathprof_counted *counted,
		     int counts_fd)
{
	int fd = ask_for_memory(counted->apart, PP_ASK_SUMS), r;
	int64_t file_bytes = bytes_of(counts_fd);

	if (fd < 0)
		return fd;
	r = file_bytes < 0 ? (int)file_bytes
			   : copy_sums(counts, fd, counted->image_bytes, (uint64_t)file_bytes);
	close(fd);
	return r;
}

int pp_counts_read_apart(struct pp_counts *ret_counts, const struct pathprof_counted *counted,
			 const char *path, struct pathprof_error *error)
{
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error), r;

	if (fd < 0)
		return fd;
	*ret_counts = (struct pp_counts){.hashed_cnt = 0};
	r = ready(counted->apart);
	if (r == 0)
		r = ask(counted->apart, PP_ASK_COUNTS, fd, path);
	if (r == 0)
		r = take_run(counted->apart, &ret_counts->run);
	if (r == 0)
		r = take_sums(ret_counts, counted, fd);
	close(fd);
	if (r == 0)
		return 0;
	pp_counts_release(ret_counts);
	return fail(counted->apart, r, path, error);
}

int pathprof_counts_run_apart(const char *path, struct pathprof_counts_run *ret_run,
			      struct pathprof_error *error)
{
	struct pp_counted_apart *apart;
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error), r;

	if (fd < 0)
		return fd;
	r = new_apart(&apart, &pp_counted_reader, path, error);
	if (r == 0) {
		r = ask(apart, PP_ASK_RUN, fd, path);
		if (r == 0)
			r = take_run(apart, ret_run);
		if (r < 0)
			r = fail(apart, r, path, error);
		pp_counted_apart_close(apart);
	}
	close(fd);
	return r;
}
