// SPDX-License-Identifier: GPL-2.0-or-later
/* Which system calls a burst goes through, and which of these may be broken off. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../daemon/step/step_call.h"

#define CODE 0x400000ull

static size_t read_nops(void *context, uint64_t address, void *to, size_t len_bytes)
{
	memset(to, 0x90, len_bytes);
	return len_bytes;
}

/* A burst that has read one page of code. */
static struct pp_step_code *begin(void)
{
	struct pp_step_code *code = pp_step_code_begin(read_nops, NULL);

	pp_step_code_at(code, CODE + 16);
	return code;
}

static enum pp_step_call look(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct user_regs_struct regs = {
		.rax = (unsigned long long)number, .rdi = a, .rsi = b, .rdx = c, .r10 = d};

	return pp_step_call_look(begin(), &regs, getpid());
}

static void test_numbers(void)
{
	CU_ASSERT_EQUAL(look(SYS_getppid, 0, 0, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_write, 1, 0, 100, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_nanosleep, 0, 0, 0, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_futex, 0, 0, 0, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_execve, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_clone3, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_rt_sigreturn, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_rt_sigprocmask, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_sched_getaffinity, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_ptrace, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
}

/* The kernel takes 32 bits of the number, and knows calls by numbers of another ABI as well. */
static void test_strange_numbers(void)
{
	CU_ASSERT_EQUAL(look(-1, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(0x40000000 + SYS_getppid, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(100000, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(0x700000000 + SYS_exit, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(0x700000000 + SYS_getppid, 0, 0, 0, 0), PP_STEP_CALL_WHOLE);
}

static void test_own_code(void)
{
	CU_ASSERT_EQUAL(look(SYS_munmap, CODE, 4096, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_munmap, CODE - 4096, 4096, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_munmap, CODE + 4096, 4096, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mprotect, CODE - 8192, 8193, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_mprotect, CODE - 4096, 1, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mmap, CODE, 4096, 0, MAP_PRIVATE | MAP_FIXED), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_mmap, CODE, 4096, 0, MAP_PRIVATE), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mremap, 0x10000, 4096, 8192, MREMAP_MAYMOVE), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mremap, 0x10000, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED),
			PP_STEP_CALL_ENDS);
}

static void test_arguments(void)
{
	CU_ASSERT_EQUAL(look(SYS_rt_sigaction, SIGTRAP, 0, 0, 8), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_rt_sigaction, SIGINT, 0, 0, 8), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_recvfrom, 0, 0, 0, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_recvfrom, 0, 0, 0, MSG_WAITALL), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_recvmsg, 0, 0, MSG_WAITALL, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_ioctl, 1, 0x5401, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_ioctl, 1, 0xae80, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_io_uring_enter, 3, 1, 1, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_io_uring_enter, 3, 1, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_io_uring_enter, 3, 0, 1, 0), PP_STEP_CALL_AGAIN);
}

/* A thread may read there that it is traced. */
static void test_procfs(void)
{
	int own = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(own >= 0 && null >= 0);
	CU_ASSERT_EQUAL(look(SYS_read, (uint64_t)own, 0, 1, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_pread64, (uint64_t)own, 0, 1, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_sendfile, 1, (uint64_t)own, 0, 1), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_read, (uint64_t)null, 0, 1, 0), PP_STEP_CALL_AGAIN);
	close(own);
	close(null);
	CU_ASSERT_EQUAL(look(SYS_read, (uint64_t)own, 0, 1, 0), PP_STEP_CALL_AGAIN);
}

static const struct unit_test tests[] = {
	{"tells calls by their number", test_numbers},
	{"knows the kernel's idea of a number", test_strange_numbers},
	{"keeps the code of the window", test_own_code},
	{"looks at arguments", test_arguments},
	{"leaves procfs alone", test_procfs},
};

UNIT_SUITE(step_call, tests)
