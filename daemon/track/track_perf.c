// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perf side-band records: see track_perf.h for the workload, barriers, ownership and source.
 */
#include "track_perf.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vector.h"

#include "../clock/isolated.h"

#define CPU_MAX       4096
#define TASK_MAX      4096
#define RING_BYTES    (256u << 10) /* what an unprivileged user may lock, 516 KiB, has room for */
#define RECORD_MAX    65536
#define ARENA_MAX     (16u << 20)
#define LOOK_EVERY_NS (60 * PP_NSEC_PER_SEC)
#define ONLINE_FILE   "/sys/devices/system/cpu/online"

struct ring {
	struct perf_event_mmap_page *page; /* NULL: this CPU is off */
	const uint8_t *data;
	int fd;
};

/* An event of one task that writes into the ring of its CPU. */
struct task_event {
	pid_t tid;
	int fd;
	unsigned int cpu;
};

struct item {
	uint64_t time_ns;
	uint64_t order; /* as drained: keeps the records of one CPU in order */
	size_t offset;  /* in the arena */
	uint32_t len_bytes;
	pid_t life_pid; /* whose exec, fork or exit it is; 0: none */
};

struct pp_perf {
	pid_t only_pid;
	int epoll_fd;
	size_t page_bytes;
	uint64_t horizon_ns, next_order;
	uint64_t looked_ns, asleep_ns; /* at the events of CPUs; CLOCK_BOOTTIME's lead then */
	struct ring *rings;            /* CPU_MAX of them */
	unsigned int cpu_end;          /* beyond the highest that ever had one */
	struct task_event *tasks;
	size_t task_cnt, task_cap;
	uint8_t *arena;
	size_t arena_bytes, arena_cap;
	struct item *items;
	size_t item_cnt, item_cap;
	size_t next;       /* the first item not handed out */
	bool is_sorted;    /* the items from there on */
	uint64_t lost_cnt; /* by us: no memory; reported as a LOST record */
};

/* ---------------------------------------------------------------- decoding */

struct reader {
	const uint8_t *at, *end;
};

static bool take(struct reader *reader, void *to, size_t len_bytes)
{
	if ((size_t)(reader->end - reader->at) < len_bytes)
		return false;
	memcpy(to, reader->at, len_bytes);
	reader->at += len_bytes;
	return true;
}

/* A string inside the record, which must end there. */
static const char *take_string(const struct reader *reader)
{
	return memchr(reader->at, 0, (size_t)(reader->end - reader->at)) ? (const char *)reader->at
									 : NULL;
}

/* The fields that sample_id_all appends for TID, TIME and CPU. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
};
_Static_assert(sizeof(struct trailer) == 24, "perf: sample_id");

/* The kernel may say that a build-id stands in place of device and inode; open_event() has why not.
 */
static int decode_map(struct reader reader, struct pp_perf_record *record)
{
	struct {
		uint32_t pid, tid;
		uint64_t address, len_bytes, offset;
		uint32_t dev_major, dev_minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
	} map;
	struct pp_vma *vma = &record->vma;

	if (!take(&reader, &map, sizeof(map)) || map.len_bytes == 0 ||
	    map.address + map.len_bytes < map.address)
		return -EINVAL;
	vma->name = take_string(&reader);
	if (!vma->name)
		return -EINVAL;
	record->pid = (pid_t)map.pid;
	record->tid = (pid_t)map.tid;
	vma->start = map.address;
	vma->end = map.address + map.len_bytes;
	vma->offset = map.offset;
	vma->dev_major = map.dev_major;
	vma->dev_minor = map.dev_minor;
	vma->inode = map.inode;
	vma->generation = map.generation;
	record->kind = PP_PERF_MAP;
	return 0;
}

static int decode_comm(struct reader reader, uint16_t misc, struct pp_perf_record *record)
{
	uint32_t ids[2];

	if (!take(&reader, ids, sizeof(ids)))
		return -EINVAL;
	record->comm = take_string(&reader);
	if (!record->comm)
		return -EINVAL;
	record->pid = (pid_t)ids[0];
	record->tid = (pid_t)ids[1];
	record->kind = misc & PERF_RECORD_MISC_COMM_EXEC ? PP_PERF_EXEC : PP_PERF_COMM;
	return 0;
}

static int decode_task(struct reader reader, enum pp_perf_kind kind, struct pp_perf_record *record)
{
	uint32_t ids[4]; /* pid, parent's pid, tid, parent's tid */

	if (!take(&reader, ids, sizeof(ids)))
		return -EINVAL;
	record->pid = (pid_t)ids[0];
	record->parent_pid = (pid_t)ids[1];
	record->tid = (pid_t)ids[2];
	record->kind = kind;
	return 0;
}

static int decode_lost(struct reader reader, struct pp_perf_record *record)
{
	uint64_t lost[2]; /* event id, count */

	if (!take(&reader, lost, sizeof(lost)))
		return -EINVAL;
	record->lost_cnt = lost[1];
	record->kind = PP_PERF_LOST;
	return 0;
}

int pp_perf_decode(const void *bytes, size_t len_bytes, struct pp_perf_record *ret_record)
{
	struct reader reader = {bytes, (const uint8_t *)bytes + len_bytes};
	struct pp_perf_record record = {.kind = PP_PERF_OTHER};
	struct perf_event_header header;
	struct trailer trailer;
	int r = 0;

	if (!take(&reader, &header, sizeof(header)) || header.size != len_bytes ||
	    (size_t)(reader.end - reader.at) < sizeof(trailer))
		return -EINVAL;
	reader.end -= sizeof(trailer);
	memcpy(&trailer, reader.end, sizeof(trailer));
	record.time_ns = trailer.time_ns;
	switch (header.type) {
	case PERF_RECORD_MMAP2:
		r = decode_map(reader, &record);
		break;
	case PERF_RECORD_COMM:
		r = decode_comm(reader, header.misc, &record);
		break;
	case PERF_RECORD_FORK:
		r = decode_task(reader, PP_PERF_FORK, &record);
		break;
	case PERF_RECORD_EXIT:
		r = decode_task(reader, PP_PERF_EXIT, &record);
		break;
	case PERF_RECORD_LOST:
		r = decode_lost(reader, &record);
		break;
	default:
		break;
	}
	if (!r)
		*ret_record = record;
	return r;
}

int pp_perf_parse_cpus(const char *text, bool *is_on, size_t cnt)
{
	memset(is_on, 0, cnt * sizeof(*is_on));
	while (*text && *text != '\n') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text || *text == '-')
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (end == text || *text == '-')
				return -EINVAL;
		}
		if (last < first || last >= cnt || (*end && *end != ',' && *end != '\n'))
			return -EINVAL;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			is_on[cpu] = true;
		text = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/* ---------------------------------------------------------------- opening */

/*
 * attr.build_id stays off. Where one event asks for it the kernel (perf_event_mmap_output) leaves
 * the flag set for whoever is told of the mapping next and did not ask: perf 6.1 then takes an
 * inode for a build-id and overruns its stack.
 */
static int open_event(const struct pp_perf *perf, pid_t tid, unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.inherit = perf->only_pid != 0,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 2,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int watch(const struct pp_perf *perf, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(perf->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_ring(struct pp_perf *perf, pid_t tid, unsigned int cpu)
{
	struct ring *ring = &perf->rings[cpu];
	_cleanup_close_ int fd = open_event(perf, tid, cpu);
	void *memory;
	int r;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, perf->page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	if (memory == MAP_FAILED)
		return -errno;
	r = watch(perf, fd);
	if (r) {
		munmap(memory, perf->page_bytes + RING_BYTES);
		return r;
	}
	ring->page = memory;
	ring->data = (const uint8_t *)memory + perf->page_bytes;
	ring->fd = pp_fd_take(&fd);
	if (cpu >= perf->cpu_end)
		perf->cpu_end = cpu + 1;
	return 0;
}

static void close_ring(struct pp_perf *perf, struct ring *ring)
{
	if (!ring->page)
		return;
	munmap(ring->page, perf->page_bytes + RING_BYTES);
	close(ring->fd);
	*ring = (struct ring){0};
}

static bool has_task(const struct pp_perf *perf, pid_t tid, unsigned int cpu)
{
	for (size_t i = 0; i < perf->task_cnt; i++)
		if (perf->tasks[i].tid == tid && perf->tasks[i].cpu == cpu)
			return true;
	return false;
}

static int add_task(struct pp_perf *perf, pid_t tid, unsigned int cpu, int fd)
{
	if (perf->task_cnt == TASK_MAX)
		return -ENOSPC;
	if (pp_grow(&perf->tasks, perf->task_cnt, &perf->task_cap) < 0)
		return -ENOMEM;
	perf->tasks[perf->task_cnt++] = (struct task_event){tid, fd, cpu};
	return 0;
}

/* The first event of a CPU owns its ring, the others write into it too. */
static int open_task_event(struct pp_perf *perf, pid_t tid, unsigned int cpu)
{
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (!perf->rings[cpu].page) {
		r = open_ring(perf, tid, cpu);
		return r ? r : add_task(perf, tid, cpu, -EBADF);
	}
	fd = open_event(perf, tid, cpu);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, perf->rings[cpu].fd) < 0)
		return -errno;
	r = watch(perf, fd);
	if (!r)
		r = add_task(perf, tid, cpu, fd);
	if (!r)
		(void)pp_fd_take(&fd);
	return r;
}

/* Opens events of the threads of pid on the CPUs in is_on. Returns their number. */
static int open_threads(struct pp_perf *perf, pid_t pid, const bool *is_on)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t cnt;
	int opened = 0, r = pp_proc_tids(pid, &tids, &cnt);

	if (r)
		return r;
	for (size_t i = 0; i < cnt; i++) {
		for (unsigned int cpu = 0; cpu < CPU_MAX; cpu++) {
			if (!is_on[cpu] || has_task(perf, tids[i], cpu))
				continue;
			r = open_task_event(perf, tids[i], cpu);
			if (r == -ESRCH)
				break;
			if (r)
				return r;
			opened++;
		}
	}
	return opened;
}

/* Repeats until no thread or child is new: they may fork while events are being opened. */
static int open_tree(struct pp_perf *perf, const bool *is_on)
{
	const int rounds_max = 16;
	int opened = 1;

	for (int round = 0; round < rounds_max && opened; round++) {
		_cleanup_free_ pid_t *pids = NULL;
		size_t cnt;
		int r = pp_proc_pids(perf->only_pid, &pids, &cnt);

		if (r)
			return r;
		opened = 0;
		for (size_t i = 0; i < cnt; i++) {
			r = open_threads(perf, pids[i], is_on);
			if (r < 0 && (r != -ESRCH || pids[i] == perf->only_pid))
				return r;
			opened += r > 0 ? r : 0;
		}
	}
	return 0;
}

static int open_system(struct pp_perf *perf, const bool *is_on)
{
	int r = 0;

	for (unsigned int cpu = 0; cpu < CPU_MAX && !r; cpu++) {
		if (!is_on[cpu] || perf->rings[cpu].page)
			continue;
		r = open_ring(perf, -1, cpu);
		/* The CPU went offline since the list was read. */
		if (r == -ENODEV)
			r = 0;
	}
	return r;
}

static int read_cpus(const char *cpus, bool *is_on)
{
	char text[4096];
	int r;

	if (!cpus) {
		r = pp_proc_read(ONLINE_FILE, text, sizeof(text));
		if (r < 0)
			return r;
		cpus = text;
	}
	return pp_perf_parse_cpus(cpus, is_on, CPU_MAX);
}

static int open_cpus(struct pp_perf *perf, const bool *is_on)
{
	return perf->only_pid ? open_tree(perf, is_on) : open_system(perf, is_on);
}

static int perf_new(struct pp_perf **ret_perf, pid_t only_pid)
{
	struct pp_perf *perf = calloc(1, sizeof(*perf));

	if (!perf)
		return -ENOMEM;
	perf->only_pid = only_pid;
	perf->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	perf->looked_ns = pp_monotonic_ns();
	perf->asleep_ns = pp_clock_ns(CLOCK_BOOTTIME) - perf->looked_ns;
	perf->rings = calloc(CPU_MAX, sizeof(*perf->rings));
	perf->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!perf->rings || perf->epoll_fd < 0) {
		pp_perf_free(perf);
		return -ENOMEM;
	}
	*ret_perf = perf;
	return 0;
}

/* Says why there are no events, and what would help. */
static int refuse(int code, struct pathprof_error *error)
{
	if (code == -ENOSPC)
		return pathprof_fail(error, code,
				     "tracker: there are too many threads for an event each on "
				     "every CPU, of which there may be %d",
				     TASK_MAX);
	if (code == -EMFILE)
		return pathprof_fail(error, code,
				     "perf_event_open: %s, for an event each thread and CPU; needs "
				     "a higher LimitNOFILE= or ulimit -n",
				     strerror(-code));
	return pathprof_fail(error, code,
			     "perf_event_open: %s; needs CAP_PERFMON, or "
			     "kernel.perf_event_paranoid at 2 or less for own processes",
			     strerror(-code));
}

int pp_perf_open(struct pp_perf **ret_perf, pid_t only_pid, const char *cpus,
		 struct pathprof_error *error)
{
	bool is_on[CPU_MAX];
	struct pp_perf *perf = NULL;
	int r = read_cpus(cpus, is_on);

	if (r)
		return pathprof_fail(error, r, "%s: no list of CPUs", ONLINE_FILE);
	r = perf_new(&perf, only_pid);
	if (r)
		return pathprof_fail(error, r, "tracker: %s", strerror(-r));
	r = open_cpus(perf, is_on);
	if (!r && !pp_perf_cpu_cnt(perf))
		r = -ENODEV;
	if (r) {
		pp_perf_free(perf);
		return refuse(r, error);
	}
	*ret_perf = perf;
	return 0;
}

void pp_perf_free(struct pp_perf *perf)
{
	if (!perf)
		return;
	for (size_t i = 0; i < perf->task_cnt; i++)
		if (perf->tasks[i].fd >= 0)
			close(perf->tasks[i].fd);
	for (unsigned int cpu = 0; perf->rings && cpu < perf->cpu_end; cpu++)
		close_ring(perf, &perf->rings[cpu]);
	if (perf->epoll_fd >= 0)
		close(perf->epoll_fd);
	free(perf->rings);
	free(perf->tasks);
	free(perf->arena);
	free(perf->items);
	free(perf);
}

int pp_perf_fd(const struct pp_perf *perf)
{
	return perf->epoll_fd;
}

unsigned int pp_perf_cpu_cnt(const struct pp_perf *perf)
{
	unsigned int cnt = 0;

	for (unsigned int cpu = 0; cpu < perf->cpu_end; cpu++)
		cnt += perf->rings[cpu].page != NULL;
	return cnt;
}

/* ---------------------------------------------------------------- draining */

static int reserve_arena(struct pp_perf *perf, size_t more_bytes)
{
	if (perf->arena_bytes + more_bytes > ARENA_MAX)
		return -ENOSPC;
	return pp_reserve(&perf->arena, perf->arena_bytes + more_bytes, &perf->arena_cap);
}

/* The data area is used again from its beginning when its end is reached. */
static void copy_out(const struct ring *ring, uint64_t tail, void *to, size_t len_bytes)
{
	size_t at = tail & (RING_BYTES - 1);
	size_t first = RING_BYTES - at < len_bytes ? RING_BYTES - at : len_bytes;

	memcpy(to, ring->data + at, first);
	memcpy((uint8_t *)to + first, ring->data, len_bytes - first);
}

/* The process that begins, ends or becomes another program by it; 0: none, as for a thread. */
static pid_t life_pid(const struct pp_perf_record *record)
{
	switch (record->kind) {
	case PP_PERF_EXEC:
		return record->pid;
	case PP_PERF_EXIT:
		return record->pid == record->tid ? record->pid : 0;
	case PP_PERF_FORK:
		return record->pid == record->parent_pid ? 0 : record->pid;
	default:
		return 0;
	}
}

static void keep_record(struct pp_perf *perf, const struct ring *ring, uint64_t tail,
			uint32_t len_bytes)
{
	struct item *item;
	struct pp_perf_record record;
	uint8_t *bytes;

	if (reserve_arena(perf, RECORD_MAX) ||
	    pp_grow(&perf->items, perf->item_cnt, &perf->item_cap) < 0) {
		perf->lost_cnt++;
		return;
	}
	bytes = perf->arena + perf->arena_bytes;
	copy_out(ring, tail, bytes, len_bytes);
	if (pp_perf_decode(bytes, len_bytes, &record)) {
		perf->lost_cnt++;
		return;
	}
	if (record.kind == PP_PERF_OTHER)
		return;
	item = &perf->items[perf->item_cnt++];
	*item = (struct item){.time_ns = record.time_ns,
			      .order = perf->next_order++,
			      .offset = perf->arena_bytes,
			      .len_bytes = len_bytes,
			      .life_pid = life_pid(&record)};
	perf->is_sorted = false;
	/* Records are decoded in place: keeps them aligned. */
	perf->arena_bytes += (len_bytes + 7u) & ~7u;
}

static void drain_ring(struct pp_perf *perf, struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		copy_out(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			perf->lost_cnt++;
			tail = head;
			break;
		}
		keep_record(perf, ring, tail, header.size);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* An event whose task ended stays readable for ever: it must not keep the event loop awake. */
static void unwatch_ended(struct pp_perf *perf)
{
	struct epoll_event events[16];
	int cnt = epoll_wait(perf->epoll_fd, events, 16, 0);

	for (int i = 0; i < cnt; i++)
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			epoll_ctl(perf->epoll_fd, EPOLL_CTL_DEL, events[i].data.fd, NULL);
}

bool pp_perf_has_records(const struct pp_perf *perf)
{
	for (unsigned int cpu = 0; cpu < perf->cpu_end; cpu++) {
		const struct perf_event_mmap_page *page = perf->rings[cpu].page;

		if (page && __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) != page->data_tail)
			return true;
	}
	return false;
}

int pp_perf_drain(struct pp_perf *perf)
{
	perf->horizon_ns = pp_monotonic_ns();
	for (unsigned int cpu = 0; cpu < perf->cpu_end; cpu++)
		if (perf->rings[cpu].page)
			drain_ring(perf, &perf->rings[cpu]);
	unwatch_ended(perf);
	return 0;
}

/* ---------------------------------------------------------------- handing out */

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Moves the items from first on to the front of the arena, which keeps its room. */
static void keep_from(struct pp_perf *perf, size_t first)
{
	size_t left = perf->item_cnt - first;
	uint8_t *arena;

	if (left == 0) {
		perf->item_cnt = 0;
		perf->arena_bytes = 0;
		return;
	}
	memmove(perf->items, perf->items + first, left * sizeof(*perf->items));
	perf->item_cnt = left;
	arena = malloc(perf->arena_cap);
	/* Without memory they stay where they are, until nothing is left. */
	if (!arena)
		return;
	perf->arena_bytes = 0;
	for (size_t i = 0; i < left; i++) {
		struct item *item = &perf->items[i];

		memcpy(arena + perf->arena_bytes, perf->arena + item->offset, item->len_bytes);
		item->offset = perf->arena_bytes;
		perf->arena_bytes += (item->len_bytes + 7u) & ~7u;
	}
	free(perf->arena);
	perf->arena = arena;
}

static void report_own_loss(struct pp_perf *perf, pp_perf_fn *fn, void *context)
{
	struct pp_perf_record record = {
		.kind = PP_PERF_LOST, .time_ns = perf->horizon_ns, .lost_cnt = perf->lost_cnt};

	if (perf->lost_cnt)
		fn(context, &record);
	perf->lost_cnt = 0;
}

static void sort(struct pp_perf *perf)
{
	if (!perf->is_sorted && perf->item_cnt > perf->next)
		qsort(perf->items + perf->next, perf->item_cnt - perf->next, sizeof(*perf->items),
		      by_time);
	perf->is_sorted = true;
}

/* While the items are unsorted, any of them may be the first. */
bool pp_perf_is_ready(const struct pp_perf *perf)
{
	if (perf->next == perf->item_cnt)
		return false;
	return !perf->is_sorted || perf->items[perf->next].time_ns <= perf->horizon_ns;
}

static bool hand_out_next(struct pp_perf *perf, pp_perf_fn *fn, void *context)
{
	const struct item *item = &perf->items[perf->next];
	struct pp_perf_record record;

	if (perf->next == perf->item_cnt || item->time_ns > perf->horizon_ns)
		return false;
	perf->next++;
	if (!pp_perf_decode(perf->arena + item->offset, item->len_bytes, &record))
		fn(context, &record);
	return true;
}

void pp_perf_apply(struct pp_perf *perf, size_t max_cnt, pp_perf_fn *fn, void *context)
{
	sort(perf);
	while (max_cnt && hand_out_next(perf, fn, context))
		max_cnt--;
	/* the front is given back at once when all is over: copying it each time would be work
	   that grows with what waits */
	if (perf->next && !pp_perf_is_ready(perf)) {
		keep_from(perf, perf->next);
		perf->next = 0;
	}
	report_own_loss(perf, fn, context);
}

/* Skips the records in the ring unread. Returns their number. */
static uint64_t skip_ring(struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail, cnt = 0;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		copy_out(ring, tail, &header, sizeof(header));
		cnt++;
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return cnt;
}

uint64_t pp_perf_discard(struct pp_perf *perf)
{
	uint64_t cnt = perf->item_cnt - perf->next;

	for (unsigned int cpu = 0; cpu < perf->cpu_end; cpu++)
		if (perf->rings[cpu].page)
			cnt += skip_ring(&perf->rings[cpu]);
	perf->item_cnt = perf->next = perf->arena_bytes = 0;
	return cnt;
}

bool pp_perf_is_pending(const struct pp_perf *perf, pid_t pid)
{
	for (size_t i = perf->next; i < perf->item_cnt; i++)
		if (perf->items[i].life_pid == pid)
			return true;
	return false;
}

/* ---------------------------------------------------------------- CPUs that come and go */

static void close_cpu(struct pp_perf *perf, unsigned int cpu)
{
	size_t kept = 0;

	drain_ring(perf, &perf->rings[cpu]);
	for (size_t i = 0; i < perf->task_cnt; i++) {
		if (perf->tasks[i].cpu != cpu)
			perf->tasks[kept++] = perf->tasks[i];
		else if (perf->tasks[i].fd >= 0)
			close(perf->tasks[i].fd);
	}
	perf->task_cnt = kept;
	close_ring(perf, &perf->rings[cpu]);
}

bool pp_perf_event_goes_on(int fd)
{
	uint64_t one[2], two[2]; /* count, time enabled */

	return read(fd, one, sizeof(one)) == sizeof(one) &&
	       read(fd, two, sizeof(two)) == sizeof(two) && two[1] > one[1];
}

/*
 * Reading an event wakes its CPU up, so all are read only after the machine slept, and those of
 * CPUs that are not isolated every minute. Events of tasks are on again with their CPU.
 */
static bool begin_look(struct pp_perf *perf, bool *ret_is_spared)
{
	uint64_t now_ns = pp_monotonic_ns();
	uint64_t asleep_ns = pp_clock_ns(CLOCK_BOOTTIME) - now_ns;
	bool has_slept = asleep_ns > perf->asleep_ns + PP_NSEC_PER_MSEC;

	if (perf->only_pid || (!has_slept && now_ns - perf->looked_ns < LOOK_EVERY_NS))
		return false;
	perf->looked_ns = now_ns;
	perf->asleep_ns = asleep_ns;
	if (!has_slept)
		pp_isolated_cpus(PP_ISOLATED_WHERE, ret_is_spared);
	return true;
}

/* The kernel has stopped the events of CPUs that went and came back. */
static void close_stopped(struct pp_perf *perf)
{
	bool is_spared[PP_ISOLATED_CPU_MAX] = {false};

	if (!begin_look(perf, is_spared))
		return;
	for (unsigned int cpu = 0; cpu < perf->cpu_end; cpu++) {
		struct ring *ring = &perf->rings[cpu];

		if (ring->page && !is_spared[cpu] && !pp_perf_event_goes_on(ring->fd))
			close_cpu(perf, cpu);
	}
}

int pp_perf_update_cpus(struct pp_perf *perf, const char *cpus)
{
	bool is_on[CPU_MAX];
	bool is_new = false;
	int r = read_cpus(cpus, is_on);

	if (r)
		return r;
	close_stopped(perf);
	for (unsigned int cpu = 0; cpu < CPU_MAX; cpu++) {
		if (!is_on[cpu] && perf->rings[cpu].page)
			close_cpu(perf, cpu);
		is_new = is_new || (is_on[cpu] && !perf->rings[cpu].page);
	}
	if (!is_new)
		return 0;
	r = open_cpus(perf, is_on);
	return r ? r : 1;
}
