// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The process apart that reads one program and its files of counts: see pp_counted_apart.h. */
#include "pp_counted_apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A process reads one program only, so no program can influence what is told of another. */
static struct pathprof_counted *counted;
static struct pp_counts counts; /* of the last file that was read */
static struct pathprof_error error;

static void answer_error(struct pathprof_apart_message *m)
{
	m->bytes = 0;
	if (m->code < 0)
		pathprof_apart_add(m, error.text, (uint32_t)strlen(error.text));
}

static void answer_open(struct pathprof_apart_message *m, int fd)
{
	m->code = counted ? -EINVAL : pp_counted_open_fd(&counted, fd, m->text, &error);
	answer_error(m);
}

static void put_run(struct pathprof_apart_message *m, const struct pathprof_counts_run *run)
{
	answer_error(m);
	if (m->code == 0)
		pathprof_apart_add(m, run, sizeof(*run));
}

static void answer_run(struct pathprof_apart_message *m, int fd)
{
	struct pathprof_counts_run run;

	m->code = pp_counts_run_fd(fd, m->text, &run, &error);
	put_run(m, &run);
}

static void answer_counts(struct pathprof_apart_message *m, int fd)
{
	pp_counts_release(&counts);
	m->code = counted ? pp_counts_read_fd(&counts, counted, fd, m->text, &error) : -EINVAL;
	put_run(m, &counts.run);
}

/* ---------------------------------------------------------------- to memory of both */

static int write_form(FILE *out)
{
	return counted ? pp_form_write(counted, out) : -EINVAL;
}

static int write_sums(FILE *out)
{
	size_t cnt = counted ? counted->image_bytes / sizeof(*counts.image) : 0;

	if (!counts.image)
		return -EINVAL;
	fwrite(counts.image, sizeof(*counts.image), cnt, out);
	if (counts.hashed_cnt)
		fwrite(counts.hashed, sizeof(*counts.hashed), counts.hashed_cnt, out);
	pp_counts_release(&counts);
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

/* The stream has a descriptor of its own, since closing it closes that. */
static int write_to(int fd, int fn(FILE *out))
{
	int own = dup(fd), r;
	FILE *out = own < 0 ? NULL : fdopen(own, "w");

	if (!out) {
		if (own >= 0)
			close(own);
		return -ENOMEM;
	}
	r = fn(out);
	fclose(out);
	return r;
}

static void answer_written(struct pathprof_apart_message *m, int fd, int fn(FILE *out))
{
	m->code = write_to(fd, fn);
	answer_error(m);
}

/* ---------------------------------------------------------------- */

static void answer_about_file(struct pathprof_apart_message *m, int fd)
{
	switch (m->kind) {
	case PP_ASK_COUNTED:
		return answer_open(m, fd);
	case PP_ASK_FORM:
		return answer_written(m, fd, write_form);
	case PP_ASK_RUN:
		return answer_run(m, fd);
	case PP_ASK_COUNTS:
		return answer_counts(m, fd);
	case PP_ASK_SUMS:
		return answer_written(m, fd, write_sums);
	default:
		m->code = -ENOSYS;
		m->bytes = 0;
	}
}

static void answer(struct pathprof_apart_message *m, int fd)
{
	error.text[0] = '\0';
	if (fd < 0) {
		m->code = -EINVAL;
		m->bytes = 0;
		return;
	}
	answer_about_file(m, fd);
	close(fd);
}

const struct pathprof_apart_service pp_counted_reader = {.answer = answer};
