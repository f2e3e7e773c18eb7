/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A FUSE server for tests: one directory with one file, whatever it is looked up by. No library:
 * a test wants to decide itself which request is never answered.
 *
 * Use: fd = fuse_mount(DIR, NAME); then for each request read from fd: fuse_answer_one(). One
 * thread.
 */
#ifndef TESTS_FUSE_SERVER_H
#define TESTS_FUSE_SERVER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUSE_PAGE          4096u
#define FUSE_PAGES_MAX     32u
#define FUSE_REQUEST_BYTES (FUSE_PAGE * 64)
#define FUSE_FILE_ID       2

struct fuse_file_served {
	uint64_t len_bytes;
	uint32_t mode;    /* rights */
	uint32_t valid_s; /* how long the kernel may believe what it was told */
	uint32_t read_ahead_bytes;
	/* Fills what is asked for, whole pages. */
	void (*fill)(void *pages, uint64_t offset, size_t len_bytes);
};

/* The server's descriptor, or -1 with errno. Everybody may use the mount. */
static inline int fuse_mount(const char *dir, const char *name)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char text[256];

	if (fd < 0)
		return -1;
	snprintf(text, sizeof(text), "fd=%d,rootmode=40555,user_id=%u,group_id=%u,allow_other", fd,
		 getuid(), getgid());
	if (!mount(name, dir, "fuse", MS_NOSUID | MS_NODEV, text))
		return fd;
	close(fd);
	return -1;
}

static inline void fuse_answer(int fd, uint64_t unique, int error, const void *data,
			       size_t len_bytes)
{
	static char reply[sizeof(struct fuse_out_header) + FUSE_PAGE * FUSE_PAGES_MAX];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + len_bytes), .error = error, .unique = unique};

	memcpy(reply, &header, sizeof(header));
	memcpy(reply + sizeof(header), data, len_bytes);
	if (write(fd, reply, sizeof(header) + len_bytes) < 0 && errno != ENOENT)
		_exit(1);
}

static inline struct fuse_attr fuse_attributes(const struct fuse_file_served *file, uint64_t id)
{
	return (struct fuse_attr){.ino = id,
				  .size = id == FUSE_FILE_ID ? file->len_bytes : 0,
				  .mode = id == FUSE_FILE_ID ? S_IFREG | file->mode
							     : S_IFDIR | 0555,
				  .nlink = 1,
				  .blksize = FUSE_PAGE};
}

static inline void fuse_answer_read(int fd, const struct fuse_file_served *file,
				    const struct fuse_in_header *in)
{
	static char pages[FUSE_PAGE * FUSE_PAGES_MAX];
	const struct fuse_read_in *read_in = (const struct fuse_read_in *)(in + 1);
	size_t len_bytes = read_in->size < sizeof(pages) ? read_in->size : sizeof(pages);

	if (read_in->offset >= file->len_bytes)
		len_bytes = 0;
	else if (len_bytes > file->len_bytes - read_in->offset)
		len_bytes = file->len_bytes - read_in->offset;
	file->fill(pages, read_in->offset, len_bytes);
	fuse_answer(fd, in->unique, 0, pages, len_bytes);
}

static inline void fuse_answer_one(int fd, const struct fuse_file_served *file, const void *request)
{
	const struct fuse_in_header *in = request;
	struct fuse_attr_out attr = {.attr_valid = file->valid_s,
				     .attr = fuse_attributes(file, in->nodeid)};
	struct fuse_entry_out entry = {.nodeid = FUSE_FILE_ID,
				       .entry_valid = file->valid_s,
				       .attr_valid = file->valid_s,
				       .attr = fuse_attributes(file, FUSE_FILE_ID)};
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = 31,
				     .max_readahead = file->read_ahead_bytes,
				     .max_write = FUSE_PAGE,
				     .max_background = 16};
	struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};
	struct fuse_statfs_out statfs = {.st = {.bsize = FUSE_PAGE, .namelen = 255}};

	switch (in->opcode) {
	case FUSE_INIT:
		fuse_answer(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fuse_answer(fd, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		fuse_answer(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS:
		fuse_answer(fd, in->unique, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_OPEN:
		fuse_answer(fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		fuse_answer_read(fd, file, in);
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		fuse_answer(fd, in->unique, 0, "", 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_answer(fd, in->unique, -ENOSYS, "", 0);
	}
}

#endif
