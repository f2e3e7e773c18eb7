/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples by cpu-clock events: the kernel writes down, some hundred times a second on each busy
 * CPU, which thread's user code its timer interrupted. One ring a CPU; a restricted sampler opens
 * one inherited event for each thread and CPU and leads them all to the CPU's ring, for the kernel
 * maps no inherited event that follows its thread from CPU to CPU.
 *
 * Only fresh samples are worth a burst: a thread seen long ago sleeps by now. The rest is counted
 * and passed over. The period is drawn anew after each pick, so that no loop of the same length
 * can hide.
 *
 * One thread. The rings are shared with the kernel: it moves data_head (its barrier pairs with the
 * acquire here), we move data_tail (release; the kernel reads it before it writes on).
 * Source: perf_event_open(2).
 */
#include "sampler.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "step_engine.h"

#define RING_PAGES    8
#define CPU_MAX       8192
#define EVENT_MAX     4096
#define PASS_MAX      4
#define PAUSE_MAX     64
#define FRESH_MIN_NS  (2 * PP_NSEC_PER_MSEC)
#define PERIOD_MIN_NS 50000
/* How often to look when no event can wake us any more. */
#define BLIND_PERIOD_NS (10 * PP_NSEC_PER_MSEC)

struct ring {
	int cpu;
	int fd; /* the event that owns the ring */
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t size_bytes;
};

struct perf_sampler {
	struct pp_sampler base;
	struct pp_sampler_config config;
	uint64_t period_ns;
	uint64_t random;
	size_t page_bytes;
	int epoll_fd;
	int blind_fd; /* timer, -1 while events wake us */
	struct ring *rings;
	size_t ring_cnt;
	int *events; /* every event, ring owners included */
	pid_t *tids; /* threads that have theirs */
	size_t event_cnt, tid_cnt;
};

/* As the kernel writes it for the sample_type in `attributes`. */
struct sample_record {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* Three quarters to five quarters of the nominal period. */
static uint64_t draw_period(struct perf_sampler *sampler)
{
	return sampler->period_ns * 3 / 4 +
	       pp_sampler_random(&sampler->random) % (sampler->period_ns / 2 + 1);
}

static int open_event(struct perf_sampler *sampler, pid_t tid, int cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attributes),
		.sample_period = draw_period(sampler),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.inherit = tid >= 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_idle = 1,
		.wakeup_events = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int keep_event(struct perf_sampler *sampler, int fd)
{
	if (sampler->event_cnt == EVENT_MAX) {
		close(fd);
		return -EMFILE;
	}
	sampler->events[sampler->event_cnt++] = fd;
	return 0;
}

static int map_ring(struct perf_sampler *sampler, struct ring *ring)
{
	size_t len_bytes = (1 + RING_PAGES) * sampler->page_bytes;
	void *page = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	struct epoll_event interest = {.events = EPOLLIN, .data.fd = ring->fd};

	if (page == MAP_FAILED)
		return -errno;
	ring->page = page;
	ring->data = (uint8_t *)page + sampler->page_bytes;
	ring->size_bytes = RING_PAGES * sampler->page_bytes;
	if (epoll_ctl(sampler->epoll_fd, EPOLL_CTL_ADD, ring->fd, &interest))
		return -errno;
	return 0;
}

static struct ring *find_ring(struct perf_sampler *sampler, int cpu)
{
	for (size_t i = 0; i < sampler->ring_cnt; i++)
		if (sampler->rings[i].cpu == cpu)
			return &sampler->rings[i];
	return NULL;
}

/* The event of one thread (or of all, tid -1) on one CPU. -ENODEV: no such CPU online. */
static int add_event(struct perf_sampler *sampler, pid_t tid, int cpu)
{
	struct ring *ring = find_ring(sampler, cpu);
	int fd = open_event(sampler, tid, cpu);
	int code;

	if (fd < 0)
		return fd;
	code = keep_event(sampler, fd);
	if (code)
		return code;
	if (ring)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno : 0;
	ring = &sampler->rings[sampler->ring_cnt];
	*ring = (struct ring){.cpu = cpu, .fd = fd};
	code = map_ring(sampler, ring);
	if (!code || ring->page)
		sampler->ring_cnt++;
	return code;
}

static int add_thread(struct perf_sampler *sampler, pid_t tid)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; cpu < cpu_cnt && cpu < CPU_MAX; cpu++) {
		int code = add_event(sampler, tid, cpu);

		if (code && code != -ENODEV)
			return code;
	}
	return sampler->ring_cnt ? 0 : -ENODEV;
}

/* ---- which threads to follow */

static bool has_thread(const struct perf_sampler *sampler, pid_t tid)
{
	for (size_t i = 0; i < sampler->tid_cnt; i++)
		if (sampler->tids[i] == tid)
			return true;
	return false;
}

/* Follows the threads of pid that are not followed yet. How many, or -errno. */
static int add_process(struct perf_sampler *sampler, pid_t pid)
{
	char path[32];
	struct dirent *entry;
	DIR *dir;
	int added = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int code;

		if (tid <= 0 || sampler->tid_cnt == EVENT_MAX || has_thread(sampler, tid))
			continue;
		code = add_thread(sampler, tid);
		if (code == -ESRCH)
			continue;
		if (code) {
			closedir(dir);
			return code;
		}
		sampler->tids[sampler->tid_cnt++] = tid;
		added++;
	}
	closedir(dir);
	return added;
}

static bool descends(pid_t pid, pid_t ancestor)
{
	struct pp_step_stat stat;

	for (int depth = 0; pid > 1 && depth < 64; depth++) {
		if (pid == ancestor)
			return true;
		if (pp_step_read_stat(pid, pid, &stat))
			return false;
		pid = stat.ppid;
	}
	return false;
}

static int add_family(struct perf_sampler *sampler)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int added = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		int code = 0;

		if (pid > 0 && descends(pid, sampler->config.only_pid))
			code = add_process(sampler, pid);
		if (code < 0 && code != -ENOENT && code != -ESRCH) {
			closedir(dir);
			return code;
		}
		added += code > 0 ? code : 0;
	}
	closedir(dir);
	return added;
}

/* Threads may start while we look; those of threads already followed are inherited. */
static int follow(struct perf_sampler *sampler)
{
	int added = 1;

	if (!sampler->config.only_pid)
		return add_thread(sampler, -1);
	for (int pass = 0; pass < PASS_MAX && added > 0; pass++)
		added = add_family(sampler);
	if (added < 0)
		return added;
	return sampler->tid_cnt ? 0 : -ESRCH;
}

/* ---- reading */

/* Copies len_bytes at position out of the ring, around its end if need be. */
static void copy_out(const struct ring *ring, uint64_t position, void *to, size_t len_bytes)
{
	uint64_t offset = position % ring->size_bytes;
	uint64_t room = ring->size_bytes - offset;
	size_t first = len_bytes < room ? len_bytes : (size_t)room;

	memcpy(to, ring->data + offset, first);
	memcpy((uint8_t *)to + first, ring->data, len_bytes - first);
}

struct choice {
	struct pp_sample sample;
	uint64_t oldest_ns; /* what is older is stale */
	uint64_t seen, fresh;
};

static bool is_excluded(const struct perf_sampler *sampler, uint32_t pid)
{
	/* 0: outside our pid namespace, -1: ended. */
	return (pid_t)pid <= 0 || (pid_t)pid == sampler->config.exclude[0] ||
	       (pid_t)pid == sampler->config.exclude[1];
}

/* Each fresh sample gets the same chance: the nth replaces the choice with probability 1/n. */
static void consider(struct perf_sampler *sampler, const struct sample_record *record,
		     struct choice *choice)
{
	if (is_excluded(sampler, record->pid))
		return;
	choice->seen++;
	if (record->time_ns < choice->oldest_ns)
		return;
	choice->fresh++;
	if (pp_sampler_random(&sampler->random) % choice->fresh == 0)
		choice->sample =
			(struct pp_sample){(pid_t)record->pid, (pid_t)record->tid, record->time_ns};
}

static void read_record(struct perf_sampler *sampler, const struct ring *ring, uint64_t position,
			const struct perf_event_header *header, struct choice *choice)
{
	struct sample_record sample;
	struct lost_record lost;

	if (header->type == PERF_RECORD_SAMPLE && header->size >= sizeof(sample)) {
		copy_out(ring, position, &sample, sizeof(sample));
		consider(sampler, &sample, choice);
	} else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(lost)) {
		copy_out(ring, position, &lost, sizeof(lost));
		choice->seen += lost.lost;
	}
}

static void read_ring(struct perf_sampler *sampler, const struct ring *ring, struct choice *choice)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (tail < head) {
		struct perf_event_header header;

		copy_out(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		read_record(sampler, ring, tail, &header, choice);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* An event whose first thread has ended hangs up for good; its heirs still write to the ring. */
static void go_blind(struct perf_sampler *sampler, int fd)
{
	struct itimerspec period = {{0, BLIND_PERIOD_NS}, {0, BLIND_PERIOD_NS}};
	struct epoll_event interest = {.events = EPOLLIN};

	epoll_ctl(sampler->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	if (sampler->blind_fd >= 0)
		return;
	sampler->blind_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (sampler->blind_fd < 0)
		return;
	interest.data.fd = sampler->blind_fd;
	timerfd_settime(sampler->blind_fd, 0, &period, NULL);
	epoll_ctl(sampler->epoll_fd, EPOLL_CTL_ADD, sampler->blind_fd, &interest);
}

static void clear_wakeups(struct perf_sampler *sampler)
{
	struct epoll_event ready[16];
	int cnt = epoll_wait(sampler->epoll_fd, ready, 16, 0);
	uint64_t ticks;

	for (int i = 0; i < cnt; i++) {
		if (ready[i].data.fd == sampler->blind_fd) {
			if (read(sampler->blind_fd, &ticks, sizeof(ticks)) < 0)
				continue;
		} else if (ready[i].events & (EPOLLHUP | EPOLLERR)) {
			go_blind(sampler, ready[i].data.fd);
		}
	}
}

static void vary_period(struct perf_sampler *sampler)
{
	uint64_t period_ns = draw_period(sampler);

	/* Best effort: an inherited event of an ended thread refuses. */
	for (size_t i = 0; i < sampler->ring_cnt; i++)
		ioctl(sampler->rings[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

/* ---- operations */

static void perf_free(struct pp_sampler *base)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;

	if (!sampler)
		return;
	for (size_t i = 0; i < sampler->ring_cnt; i++)
		munmap(sampler->rings[i].page, (1 + RING_PAGES) * sampler->page_bytes);
	for (size_t i = 0; i < sampler->event_cnt; i++)
		close(sampler->events[i]);
	if (sampler->blind_fd >= 0)
		close(sampler->blind_fd);
	if (sampler->epoll_fd >= 0)
		close(sampler->epoll_fd);
	free(sampler->rings);
	free(sampler->events);
	free(sampler->tids);
	free(sampler);
}

static int allocate(struct perf_sampler **ret_sampler, const struct pp_sampler_config *config)
{
	struct perf_sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return -ENOMEM;
	sampler->base.ops = &pp_sampler_perf;
	sampler->config = *config;
	sampler->period_ns = PP_NSEC_PER_SEC / config->frequency_hz;
	if (sampler->period_ns < PERIOD_MIN_NS)
		sampler->period_ns = PERIOD_MIN_NS;
	sampler->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sampler->blind_fd = -1;
	sampler->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	sampler->rings = calloc(CPU_MAX, sizeof(*sampler->rings));
	sampler->events = calloc(EVENT_MAX, sizeof(*sampler->events));
	sampler->tids = calloc(EVENT_MAX, sizeof(*sampler->tids));
	if (getrandom(&sampler->random, sizeof(sampler->random), GRND_NONBLOCK) < 0 ||
	    !sampler->random)
		sampler->random = pp_step_now() | 1;
	if (sampler->epoll_fd < 0 || !sampler->rings || !sampler->events || !sampler->tids) {
		perf_free(&sampler->base);
		return -ENOMEM;
	}
	*ret_sampler = sampler;
	return 0;
}

static int perf_open(struct pp_sampler **ret_sampler, const struct pp_sampler_config *config)
{
	struct perf_sampler *sampler;
	int code = allocate(&sampler, config);

	if (code)
		return code;
	code = follow(sampler);
	if (code) {
		perf_free(&sampler->base);
		return code;
	}
	*ret_sampler = &sampler->base;
	return 0;
}

static int perf_fd(struct pp_sampler *base)
{
	return ((struct perf_sampler *)base)->epoll_fd;
}

static int perf_pick(struct pp_sampler *base, struct pp_sample *ret_sample, uint64_t *seen)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	uint64_t age_ns = sampler->period_ns > FRESH_MIN_NS ? sampler->period_ns : FRESH_MIN_NS;
	struct choice choice = {.oldest_ns = pp_step_now() - age_ns};

	clear_wakeups(sampler);
	for (size_t i = 0; i < sampler->ring_cnt; i++)
		read_ring(sampler, &sampler->rings[i], &choice);
	*seen += choice.seen;
	if (!choice.fresh)
		return 0;
	vary_period(sampler);
	*ret_sample = choice.sample;
	return 1;
}

/* Events of CPUs do not switch with threads; of many threads' events it would not pay. */
static void perf_pause(struct pp_sampler *base, bool on)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;

	if (!sampler->config.only_pid || sampler->event_cnt > PAUSE_MAX)
		return;
	for (size_t i = 0; i < sampler->event_cnt; i++)
		ioctl(sampler->events[i], on ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

const struct pp_sampler_ops pp_sampler_perf = {
	.name = "cpu-clock",
	.open = perf_open,
	.fd = perf_fd,
	.pick = perf_pick,
	.pause = perf_pause,
	.free = perf_free,
};
