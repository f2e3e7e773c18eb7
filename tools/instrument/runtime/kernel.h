/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * System calls of the runtime, made without the C library: the program may define functions of
 * these names itself, they may be instrumented, and errno belongs to the program. A function that
 * returns a number returns a negative errno on failure, unless its comment says otherwise.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef __x86_64__
#error "the runtime knows the calls of x86-64 alone"
#endif

static inline long kernel_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline int kernel_open(const char *path, int flags)
{
	return (int)kernel_call(SYS_openat, AT_FDCWD, (long)path, flags, 0666, 0, 0);
}

static inline void kernel_close(int fd)
{
	kernel_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline void kernel_remove(const char *path)
{
	kernel_call(SYS_unlink, (long)path, 0, 0, 0, 0, 0);
}

/* An existing file of the new name is replaced. */
static inline int kernel_rename(const char *path, const char *to)
{
	return (int)kernel_call(SYS_rename, (long)path, (long)to, 0, 0, 0, 0);
}

/* True for a dangling symbolic link as well. */
static inline bool kernel_exists(const char *path)
{
	struct stat status;

	return kernel_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&status, AT_SYMLINK_NOFOLLOW,
			   0, 0) == 0;
}

static inline int kernel_identify(int fd, struct stat *ret_stat)
{
	return (int)kernel_call(SYS_fstat, fd, (long)ret_stat, 0, 0, 0, 0);
}

/*
 * Reserves disk space and makes the file long enough. A signal makes tmpfs give up its reservation;
 * the handler has run by the next try.
 */
static inline int kernel_reserve(int fd, uint64_t from, uint64_t bytes)
{
	int r;

	do
		r = (int)kernel_call(SYS_fallocate, fd, 0, (long)from, (long)bytes, 0, 0);
	while (r == -EINTR);
	return r;
}

/* How much of a resource the process may have: a file beyond RLIMIT_FSIZE raises SIGXFSZ. */
static inline uint64_t kernel_limit(int resource)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	kernel_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0);
	return limit.rlim_cur;
}

/* NULL on failure. */
static inline void *kernel_map(void *at, uint64_t bytes, int flags, int fd, uint64_t from)
{
	long r = kernel_call(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE, flags, fd,
			     (long)from);

	return r < 0 && r > -4096 ? NULL : (void *)r; /* NOLINT(performance-no-int-to-ptr) */
}

static inline void kernel_unmap(uint64_t from, uint64_t bytes)
{
	kernel_call(SYS_munmap, (long)from, (long)bytes, 0, 0, 0, 0);
}

static inline long kernel_read(int fd, char *bytes, size_t room)
{
	return kernel_call(SYS_read, fd, (long)bytes, (long)room, 0, 0, 0);
}

static inline int kernel_pid(void)
{
	return (int)kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int kernel_tid(void)
{
	return (int)kernel_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* False: the thread of this process is gone. True if a seccomp filter hides that. */
static inline int kernel_lives(int pid, int tid)
{
	return kernel_call(SYS_tgkill, pid, tid, 0, 0, 0, 0) != -ESRCH;
}

static inline void kernel_yield(void)
{
	kernel_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static inline long kernel_path_of(const char *link, char *path, size_t bytes)
{
	return kernel_call(SYS_readlink, (long)link, (long)path, (long)bytes, 0, 0, 0);
}

static inline long kernel_directory(char *path, size_t bytes)
{
	return kernel_call(SYS_getcwd, (long)path, (long)bytes, 0, 0, 0, 0);
}

static inline void kernel_write(int fd, const char *text, size_t bytes)
{
	kernel_call(SYS_write, fd, (long)text, (long)bytes, 0, 0, 0);
}

static inline uint64_t kernel_time_ns(void)
{
	struct timespec t = {0, 0};

	kernel_call(SYS_clock_gettime, CLOCK_REALTIME, (long)&t, 0, 0, 0, 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Blocks all signals of this thread; returns the mask of those blocked before. */
static inline uint64_t kernel_hold_signals(void)
{
	uint64_t all = ~0ull, before = 0;

	kernel_call(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)&all, (long)&before, 8, 0, 0);
	return before;
}

/*
 * Whether eight bytes can be read: the kernel reads a signal set there before it sees that the
 * operation -1 is invalid, and changes nothing. A seccomp filter that permits kernel_hold_signals()
 * permits this call.
 */
static inline bool kernel_can_read(const void *place)
{
	return kernel_call(SYS_rt_sigprocmask, -1, (long)place, 0, 8, 0, 0) != -EFAULT;
}

static inline void kernel_let_signals(uint64_t before)
{
	kernel_call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&before, 0, 8, 0, 0);
}

#endif
