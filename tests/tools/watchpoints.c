// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints how many watchpoints can be opened at once on every CPU, whoever runs there: 0 to 4. For
 * tests/scenario/step_registers.sh.
 *
 * Exit 0: printed, 77: this process may not watch a CPU.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REGISTER_CNT 4
#define EXIT_SKIP    77

static uint64_t watched[REGISTER_CNT];

static int watch(uint32_t i, long cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uint64_t)(uintptr_t)&watched[i],
		.bp_len = HW_BREAKPOINT_LEN_8,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* -errno when the first is refused for another reason than that all are taken. */
static int count(long cpu)
{
	int fds[REGISTER_CNT];
	int cnt = 0, code = 0;

	while (cnt < REGISTER_CNT && (fds[cnt] = watch((uint32_t)cnt, cpu)) >= 0)
		cnt++;
	if (!cnt && errno != ENOSPC)
		code = -errno;
	for (int i = 0; i < cnt; i++)
		close(fds[i]);
	return code ? code : cnt;
}

int main(void)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_ONLN);
	int least = REGISTER_CNT;

	for (long cpu = 0; cpu < cpu_cnt; cpu++) {
		int cnt = count(cpu);

		if (cnt < 0) {
			errno = -cnt;
			perror("watchpoints");
			return EXIT_SKIP;
		}
		least = cnt < least ? cnt : least;
	}
	printf("%d\n", least);
	return 0;
}
