// SPDX-License-Identifier: GPL-2.0-or-later
/* Events, whom they follow, and their rings: see cpu_clock.h. */
#include "cpu_clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
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

#include "../track/track_perf.h"
#include "base/clock.h"
#include "isolated.h"

#define CPU_MAX   PP_ISOLATED_CPU_MAX
#define EVENT_MAX 65536
#define PASS_MAX  4
/* How often to look when no event can wake us any more. */
#define BLIND_PERIOD_NS 10000000
#define CPUS_ONLINE     "/sys/devices/system/cpu/online"
/* How often to look which CPUs there are. */
#define RESCAN_EVERY_NS (5 * PP_NSEC_PER_SEC)

struct ring {
	int cpu;
	bool hung_up;                      /* its event's first thread has ended */
	int fd;                            /* the event that owns the ring */
	struct perf_event_mmap_page *page; /* NULL: another process reads it */
	uint8_t *data;
	uint64_t size_bytes;
};

struct pp_cpu_clock {
	struct pp_cpu_clock_config config;
	unsigned int random;
	uint64_t period_ns; /* of all CPUs, where the whole system is followed */
	size_t page_bytes;
	int epoll_fd;
	int blind_fd; /* timer, -1 while events wake us */
	struct ring rings[CPU_MAX];
	int events[EVENT_MAX]; /* every event, ring owners included */
	pid_t tids[EVENT_MAX]; /* threads that have theirs, or are about to */
	size_t ring_cnt, event_cnt, tid_cnt;
	uint64_t rescanned_ns;
	int rescan_code;
	bool is_paused, is_stale;
	bool is_spared[CPU_MAX];
};

/* The kernel's layout of a sample for the sample_type in `attributes`. */
struct sample_record {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t period_ns;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

static uint64_t draw_period(struct pp_cpu_clock *clock)
{
	const struct pp_cpu_clock_config *config = &clock->config;
	uint64_t wide = 2 * config->jitter_ns + 1;

	return config->period_ns - config->jitter_ns + (uint64_t)rand_r(&clock->random) % wide;
}

/* ---------------------------------------------------------------- events and their rings */

static int open_event(struct pp_cpu_clock *clock, pid_t tid, int cpu)
{
	uint32_t ring_bytes = clock->config.ring_pages * (uint32_t)clock->page_bytes;
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attributes),
		.sample_period = tid < 0 ? clock->period_ns : draw_period(clock),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.inherit = tid >= 0,
		.exclude_kernel = !clock->config.kernel,
		.exclude_hv = 1,
		.exclude_idle = 1,
		.watermark = !clock->config.wakes,
		.wakeup_events = clock->config.wakes ? 1 : ring_bytes / 2, /* or bytes */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int keep_event(struct pp_cpu_clock *clock, int fd)
{
	if (clock->event_cnt == EVENT_MAX) {
		close(fd);
		return -EMFILE;
	}
	clock->events[clock->event_cnt++] = fd;
	return 0;
}

static void drop_event(struct pp_cpu_clock *clock, int fd)
{
	for (size_t i = 0; i < clock->event_cnt; i++)
		if (clock->events[i] == fd)
			clock->events[i--] = clock->events[--clock->event_cnt];
	close(fd);
}

static int map_ring(struct pp_cpu_clock *clock, struct ring *ring)
{
	size_t len_bytes = (1 + clock->config.ring_pages) * clock->page_bytes;
	struct epoll_event interest = {.events = EPOLLIN, .data.fd = ring->fd};
	void *page;

	if (!clock->config.ring_pages)
		return 0;
	page = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	ring->page = page;
	ring->data = (uint8_t *)page + clock->page_bytes;
	ring->size_bytes = clock->config.ring_pages * clock->page_bytes;
	if (clock->config.wakes &&
	    epoll_ctl(clock->epoll_fd, EPOLL_CTL_ADD, ring->fd, &interest) < 0)
		return -errno;
	return 0;
}

static void unmap_ring(const struct pp_cpu_clock *clock, const struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, (1 + clock->config.ring_pages) * clock->page_bytes);
}

static struct ring *find_ring(struct pp_cpu_clock *clock, int cpu)
{
	for (size_t i = 0; i < clock->ring_cnt; i++)
		if (clock->rings[i].cpu == cpu)
			return &clock->rings[i];
	return NULL;
}

/* The event that owns the ring of its CPU. */
static int add_ring(struct pp_cpu_clock *clock, int fd, int cpu)
{
	struct ring *ring = &clock->rings[clock->ring_cnt];
	int r;

	*ring = (struct ring){.cpu = cpu, .fd = fd};
	r = map_ring(clock, ring);
	if (!r || ring->page)
		clock->ring_cnt++;
	else
		drop_event(clock, fd);
	return r;
}

/* The event of one thread (or of all, tid -1) on one CPU. -ENODEV: no such CPU online. */
static int add_event(struct pp_cpu_clock *clock, pid_t tid, int cpu)
{
	struct ring *ring = find_ring(clock, cpu);
	int fd = open_event(clock, tid, cpu);
	int r;

	if (fd < 0)
		return fd;
	r = keep_event(clock, fd);
	if (r)
		return r;
	if (!ring)
		return add_ring(clock, fd, cpu);
	if (!clock->config.ring_pages)
		return 0;
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno : 0;
}

/* Takes over the configured events. The first sample of each tells its CPU. */
static int take_over(struct pp_cpu_clock *clock)
{
	int r = 0;

	for (size_t i = 0; i < clock->config.event_cnt && i < CPU_MAX && !r; i++) {
		int fd = fcntl(clock->config.events[i], F_DUPFD_CLOEXEC, 0);

		r = fd < 0 ? -errno : keep_event(clock, fd);
		if (!r)
			r = add_ring(clock, fd, -1);
	}
	return r;
}

static int add_thread(struct pp_cpu_clock *clock, pid_t tid)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; cpu < cpu_cnt && cpu < CPU_MAX; cpu++) {
		int r = clock->is_spared[cpu] ? -ENODEV : add_event(clock, tid, cpu);

		if (r && r != -ENODEV)
			return r;
	}
	return clock->event_cnt ? 0 : -ENODEV;
}

/* ---------------------------------------------------------------- which threads to follow */

static bool has_thread(const struct pp_cpu_clock *clock, pid_t tid)
{
	for (size_t i = 0; i < clock->tid_cnt; i++)
		if (clock->tids[i] == tid)
			return true;
	return false;
}

/* Notes the threads of pid that are not known yet. Returns their number or -errno. */
static int list_process(struct pp_cpu_clock *clock, pid_t pid)
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

		if (tid <= 0 || clock->tid_cnt == EVENT_MAX || has_thread(clock, tid))
			continue;
		clock->tids[clock->tid_cnt++] = tid;
		added++;
	}
	closedir(dir);
	return added;
}

/* 0 when pid has ended. The name before the number may hold anything, a parenthesis as well. */
static pid_t parent_of(pid_t pid)
{
	char path[32], text[512];
	int parent = 0, fd;
	const char *end;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool descends(pid_t pid, pid_t ancestor)
{
	for (int depth = 0; pid > 0 && depth < 64; depth++) {
		if (pid == ancestor)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

static int list_family(struct pp_cpu_clock *clock)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int added = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		int r = 0;

		if (pid > 0 && descends(pid, clock->config.only_pid))
			r = list_process(clock, pid);
		if (r < 0 && r != -ENOENT && r != -ESRCH) {
			closedir(dir);
			return r;
		}
		added += r > 0 ? r : 0;
	}
	closedir(dir);
	return added;
}

/* Opens events of the threads from this one on; one that has ended needs none. */
static int open_threads(struct pp_cpu_clock *clock, size_t first)
{
	for (size_t i = first; i < clock->tid_cnt; i++) {
		int r = add_thread(clock, clock->tids[i]);

		if (r && r != -ESRCH)
			return r;
	}
	return 0;
}

static void close_events(struct pp_cpu_clock *clock)
{
	for (size_t i = 0; i < clock->ring_cnt; i++)
		unmap_ring(clock, &clock->rings[i]);
	for (size_t i = 0; i < clock->event_cnt; i++)
		close(clock->events[i]);
	clock->ring_cnt = clock->event_cnt = 0;
}

/*
 * A thread that starts while we open may inherit all events of the thread that started it, some or
 * none, and with events of its own as well it would be counted twice. So all are closed and opened
 * again until no thread started meanwhile: one that was there before the first event has inherited
 * none, and one that starts after the last has inherited all. A family that starts threads without
 * pause gets events for the latest ones in the end, for some of them twice.
 */
static int follow_family(struct pp_cpu_clock *clock)
{
	int added = list_family(clock), r;

	for (int pass = 1; added > 0; pass++) {
		size_t known_cnt = clock->tid_cnt;

		r = open_threads(clock, 0);
		if (!r && clock->config.opened)
			clock->config.opened(clock->config.opened_context);
		if (!r)
			added = list_family(clock);
		if (r || added <= 0)
			return r ? r : added;
		if (pass == PASS_MAX)
			return open_threads(clock, known_cnt);
		close_events(clock);
	}
	return added;
}

static int follow(struct pp_cpu_clock *clock)
{
	int r;

	if (clock->config.event_cnt)
		return take_over(clock);
	if (!clock->config.only_pid)
		return add_thread(clock, -1);
	r = follow_family(clock);
	if (r < 0)
		return r;
	return clock->event_cnt ? 0 : -ESRCH;
}

/* ---------------------------------------------------------------- CPUs that come and go */

/* false: not known. */
static bool read_online(bool *is_on)
{
	int fd = open(CPUS_ONLINE, O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 && pp_perf_parse_cpus(text, is_on, CPU_MAX) == 0;
}

/* The kernel has stopped the event of a CPU that went offline, for good. */
static void drop_ring(struct pp_cpu_clock *clock, struct ring *ring)
{
	if (clock->config.wakes)
		epoll_ctl(clock->epoll_fd, EPOLL_CTL_DEL, ring->fd, NULL);
	unmap_ring(clock, ring);
	drop_event(clock, ring->fd);
	*ring = clock->rings[--clock->ring_cnt];
}

static int follow_cpus(struct pp_cpu_clock *clock, const bool *is_on)
{
	int result = 0;

	for (size_t i = clock->ring_cnt; i-- > 0;)
		if (!is_on[clock->rings[i].cpu] || !pp_perf_event_goes_on(clock->rings[i].fd))
			drop_ring(clock, &clock->rings[i]);
	for (int cpu = 0; cpu < CPU_MAX; cpu++) {
		int r = 0;

		if (is_on[cpu] && !clock->is_spared[cpu] && !find_ring(clock, cpu))
			r = add_event(clock, -1, cpu);
		/* A CPU that is gone again by now is tried the next time. */
		if (r && r != -ENODEV)
			result = r;
	}
	return result;
}

/* Paused events stand still, but are not taken for ones that the kernel stopped. */
static int rescan(struct pp_cpu_clock *clock)
{
	uint64_t now_ns = pp_monotonic_ns();
	bool is_on[CPU_MAX];

	if (clock->config.only_pid || clock->is_paused ||
	    now_ns - clock->rescanned_ns < RESCAN_EVERY_NS)
		return clock->rescan_code;
	clock->rescanned_ns = now_ns;
	if (!clock->config.event_cnt)
		return read_online(is_on) ? follow_cpus(clock, is_on) : clock->rescan_code;
	for (size_t i = 0; i < clock->ring_cnt; i++)
		if (!pp_perf_event_goes_on(clock->rings[i].fd))
			clock->is_stale = true;
	return 0;
}

int pp_cpu_clock_rescan_code(const struct pp_cpu_clock *clock)
{
	return clock->rescan_code;
}

bool pp_cpu_clock_is_stale(const struct pp_cpu_clock *clock)
{
	return clock->is_stale;
}

bool pp_cpu_clock_lacks_cpus(struct pp_cpu_clock *clock)
{
	bool is_on[CPU_MAX];

	if (!read_online(is_on))
		return false;
	for (int cpu = 0; cpu < CPU_MAX; cpu++)
		if (is_on[cpu] && !clock->is_spared[cpu] && !find_ring(clock, cpu))
			return true;
	return false;
}

/* ---------------------------------------------------------------- reading */

/* Copies len_bytes at position out of the ring, around its end if need be. */
static void copy_out(const struct ring *ring, uint64_t position, void *to, size_t len_bytes)
{
	uint64_t offset = position % ring->size_bytes;
	uint64_t room = ring->size_bytes - offset;
	size_t first = len_bytes < room ? len_bytes : (size_t)room;

	memcpy(to, ring->data + offset, first);
	memcpy((uint8_t *)to + first, ring->data, len_bytes - first);
}

static struct pp_cpu_sample sample_of(const struct sample_record *record)
{
	unsigned int mode = record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool kernel = mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_HYPERVISOR;

	return (struct pp_cpu_sample){
		.pid = (pid_t)record->pid,
		.tid = (pid_t)record->tid,
		.cpu = (int)record->cpu,
		.time_ns = record->time_ns,
		.period_ns = record->period_ns,
		.address = kernel || mode == PERF_RECORD_MISC_USER ? record->ip : 0,
		.kernel = kernel,
	};
}

/* Returns the samples that this record says are lost. */
static uint64_t read_record(struct ring *ring, uint64_t position,
			    const struct perf_event_header *header, pp_cpu_clock_fn *fn,
			    void *context)
{
	struct sample_record record;
	struct lost_record lost;

	if (header->type == PERF_RECORD_SAMPLE && header->size >= sizeof(record)) {
		copy_out(ring, position, &record, sizeof(record));
		const struct pp_cpu_sample sample = sample_of(&record);

		ring->cpu = sample.cpu;
		fn(context, &sample);
	} else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(lost)) {
		copy_out(ring, position, &lost, sizeof(lost));
		return lost.lost;
	}
	return 0;
}

static uint64_t read_ring(struct ring *ring, pp_cpu_clock_fn *fn, void *context)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail, lost = 0;

	while (tail < head) {
		struct perf_event_header header;

		copy_out(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		lost += read_record(ring, tail, &header, fn, context);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return lost;
}

/* An event whose first thread has ended hangs up for good; its heirs still write to the ring. */
static void go_blind(struct pp_cpu_clock *clock, int fd)
{
	struct itimerspec period = {{0, BLIND_PERIOD_NS}, {0, BLIND_PERIOD_NS}};
	struct epoll_event interest = {.events = EPOLLIN};

	for (size_t i = 0; i < clock->ring_cnt; i++)
		if (clock->rings[i].fd == fd)
			clock->rings[i].hung_up = true;
	epoll_ctl(clock->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	if (clock->blind_fd >= 0)
		return;
	clock->blind_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (clock->blind_fd < 0)
		return;
	interest.data.fd = clock->blind_fd;
	timerfd_settime(clock->blind_fd, 0, &period, NULL);
	epoll_ctl(clock->epoll_fd, EPOLL_CTL_ADD, clock->blind_fd, &interest);
}

static void clear_wakeups(struct pp_cpu_clock *clock)
{
	struct epoll_event ready[16];
	int cnt = epoll_wait(clock->epoll_fd, ready, 16, 0);
	uint64_t ticks;

	for (int i = 0; i < cnt; i++) {
		if (ready[i].data.fd == clock->blind_fd) {
			if (read(clock->blind_fd, &ticks, sizeof(ticks)) < 0)
				continue;
		} else if (ready[i].events & (EPOLLHUP | EPOLLERR)) {
			go_blind(clock, ready[i].data.fd);
		}
	}
}

uint64_t pp_cpu_clock_read(struct pp_cpu_clock *clock, pp_cpu_clock_fn *fn, void *context)
{
	uint64_t lost = 0;

	if (clock->config.wakes)
		clear_wakeups(clock);
	for (size_t i = 0; i < clock->ring_cnt; i++)
		lost += read_ring(&clock->rings[i], fn, context);
	clock->rescan_code = rescan(clock);
	return lost;
}

/* ---------------------------------------------------------------- life */

void pp_cpu_clock_vary(struct pp_cpu_clock *clock)
{
	clock->period_ns = draw_period(clock);
	/* Best effort: an inherited event of an ended thread refuses. */
	for (size_t i = 0; i < clock->ring_cnt; i++)
		ioctl(clock->rings[i].fd, PERF_EVENT_IOC_PERIOD, &clock->period_ns);
}

void pp_cpu_clock_set_period(struct pp_cpu_clock *clock, uint64_t period_ns, uint64_t jitter_ns)
{
	clock->config.period_ns = period_ns;
	clock->config.jitter_ns = jitter_ns;
	pp_cpu_clock_vary(clock);
}

void pp_cpu_clock_pause(struct pp_cpu_clock *clock, bool on)
{
	for (size_t i = 0; i < clock->event_cnt; i++)
		ioctl(clock->events[i], on ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	clock->is_paused = on;
}

size_t pp_cpu_clock_event_cnt(const struct pp_cpu_clock *clock)
{
	return clock->event_cnt;
}

const int *pp_cpu_clock_events(const struct pp_cpu_clock *clock)
{
	return clock->events;
}

int pp_cpu_clock_fd(const struct pp_cpu_clock *clock, int cpu)
{
	for (size_t i = 0; i < clock->ring_cnt && cpu >= 0; i++)
		if (clock->rings[i].cpu == cpu && !clock->rings[i].hung_up)
			return clock->rings[i].fd;
	return clock->epoll_fd;
}

void pp_cpu_clock_free(struct pp_cpu_clock *clock)
{
	if (!clock)
		return;
	close_events(clock);
	if (clock->blind_fd >= 0)
		close(clock->blind_fd);
	if (clock->epoll_fd >= 0)
		close(clock->epoll_fd);
	free(clock);
}

/* The descriptors that pp_cpu_clock_free() closes are set even on failure. */
static int prepare(struct pp_cpu_clock *clock, const struct pp_cpu_clock_config *config)
{
	unsigned int random = (unsigned int)getpid();

	/* early in boot there may be no entropy yet: the number above has to do then */
	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	clock->config = *config;
	if (!config->isolated)
		pp_isolated_cpus(PP_ISOLATED_WHERE, clock->is_spared);
	clock->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	clock->random = random;
	clock->period_ns = draw_period(clock);
	clock->rescanned_ns = pp_monotonic_ns();
	clock->blind_fd = -1;
	clock->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return clock->epoll_fd < 0 ? -errno : 0;
}

int pp_cpu_clock_open(struct pp_cpu_clock **ret_clock, const struct pp_cpu_clock_config *config)
{
	struct pp_cpu_clock *clock = calloc(1, sizeof(*clock));
	int r;

	if (!clock)
		return -ENOMEM;
	r = prepare(clock, config);
	if (!r)
		r = follow(clock);
	clock->config.events = NULL; /* the caller's */
	if (r) {
		pp_cpu_clock_free(clock);
		return r;
	}
	*ret_clock = clock;
	return 0;
}
