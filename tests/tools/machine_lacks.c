// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints, a line each, the things that tests want and that no package or setting brings to this
 * machine: breakpoints (some hypervisors give debug registers that never strike), 32-bit programs.
 * For tests/run, which lets tests be skipped for these. Nothing of pathprof's own is asked.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEBUG_REGISTER(i) (offsetof(struct user, u_debugreg) + (i) * sizeof(long))
#define EXECUTE_0_LOCAL   1L
#define TRIALS            20

static void __attribute__((noinline)) landmark(void)
{
	__asm__ volatile("nop");
}

static void pass_landmark(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	landmark();
	_exit(0);
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	if (!pid)
		run();
	return pid;
}

/* How often of TRIALS times a child stops at the landmark; -1: nobody may trace here. */
static int strikes_of_breakpoint(void)
{
	struct user_regs_struct regs;
	int status, strikes = 0;

	for (int i = 0; i < TRIALS; i++) {
		pid_t pid = start(pass_landmark);

		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(0), landmark) ||
		    ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(7), EXECUTE_0_LOCAL) ||
		    ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
			return -1;
		if (!WIFSTOPPED(status))
			continue;
		strikes += !ptrace(PTRACE_GETREGS, pid, NULL, &regs) &&
			   regs.rip == (uint64_t)(uintptr_t)landmark;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	return strikes;
}

/* mov $1, %eax; xor %ebx, %ebx; int $0x80: exit(0) of the 32-bit kind */
static const struct {
	Elf32_Ehdr header;
	Elf32_Phdr segment;
	unsigned char code[9];
} program_32 = {
	{{ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
	 ET_EXEC,
	 EM_386,
	 EV_CURRENT,
	 0x10000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
	 sizeof(Elf32_Ehdr),
	 0,
	 0,
	 sizeof(Elf32_Ehdr),
	 sizeof(Elf32_Phdr),
	 1,
	 0,
	 0,
	 0},
	{PT_LOAD, 0, 0x10000, 0x10000, sizeof(program_32), sizeof(program_32), PF_R | PF_X, 4096},
	{0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80},
};

static void execute_32(void)
{
	int fd = memfd_create("32", 0);
	char *const none[] = {NULL};

	if (write(fd, &program_32, sizeof(program_32)) == (ssize_t)sizeof(program_32))
		fexecve(fd, none, none);
	_exit(1);
}

static int runs_32(void)
{
	pid_t pid = start(execute_32);
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

int main(void)
{
	int strikes = strikes_of_breakpoint();

	if (strikes >= 0 && strikes < TRIALS)
		puts("breakpoints");
	if (!runs_32())
		puts("32-bit programs");
	return 0;
}
