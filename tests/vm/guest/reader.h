/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plain reader of the module, for the programs that test it in a virtual machine: opens the
 * device, maps its rings, and takes every record out, holding each against what kmod_abi.h
 * promises. Suspicious on purpose, and slow.
 *
 * Workload: some thousand records a second on a handful of CPUs. One thread. The mappings and the
 * descriptor belong to the struct and go with it.
 */
#ifndef VM_READER_H
#define VM_READER_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pathprof/kmod_abi.h"

#define READER_RING_MAX 64

struct ring {
	const struct pathprof_ring_producer *producer; /* NULL: no such CPU */
	struct pathprof_ring_consumer *consumer;
	const unsigned char *data;
	uint32_t len_bytes;
	uint32_t seq; /* expected next */
	uint64_t received, missing, bytes;
};

struct reader {
	int fd;
	struct pathprof_kmod_info info;
	struct ring rings[READER_RING_MAX];
	uint64_t bad; /* promises broken; each is printed, up to ten */
};

typedef void reader_record_fn(void *context, const struct pathprof_record *record);

static inline void reader_complain(struct reader *reader, const char *what, uint64_t value)
{
	if (reader->bad++ < 10)
		fprintf(stderr, "reader: %s (%llu)\n", what, (unsigned long long)value);
}

static inline int reader_map_ring(struct reader *reader, uint32_t cpu)
{
	struct ring *ring = &reader->rings[cpu];
	off_t at = (off_t)(cpu * PATHPROF_RING_STRIDE);
	size_t len_bytes = PATHPROF_RING_PAGE + reader->info.ring_bytes;
	void *consumer =
		mmap(NULL, PATHPROF_RING_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, reader->fd, at);
	void *producer =
		mmap(NULL, len_bytes, PROT_READ, MAP_SHARED, reader->fd, at + PATHPROF_RING_PAGE);

	if (consumer == MAP_FAILED || producer == MAP_FAILED)
		return -errno;
	ring->consumer = consumer;
	ring->producer = producer;
	ring->len_bytes = ring->producer->data_len_bytes;
	if (ring->producer->version != PATHPROF_KMOD_VERSION || ring->producer->cpu != cpu ||
	    ring->producer->data_off_bytes != PATHPROF_RING_PAGE ||
	    ring->len_bytes != reader->info.ring_bytes || ring->len_bytes & (ring->len_bytes - 1))
		return -EPROTO;
	ring->data = (const unsigned char *)producer + PATHPROF_RING_PAGE;
	return 0;
}

/* Every CPU that is plugged in here. The rings of others are asked for by fuzz, not by this. */
static inline int reader_open(struct reader *reader)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);
	int err = 0;

	memset(reader, 0, sizeof(*reader));
	reader->fd = open(PATHPROF_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (reader->fd < 0)
		return -errno;
	if (ioctl(reader->fd, PATHPROF_IOC_INFO, &reader->info))
		return -errno;
	if (reader->info.version != PATHPROF_KMOD_VERSION || cpu_cnt > READER_RING_MAX)
		return -EPROTO;
	for (uint32_t cpu = 0; !err && cpu < (uint32_t)cpu_cnt; cpu++) {
		err = reader_map_ring(reader, cpu);
		if (err == -EINVAL && cpu > 0)
			err = 0; /* it is not plugged in */
	}
	return err;
}

static inline void reader_close(struct reader *reader)
{
	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++) {
		struct ring *ring = &reader->rings[cpu];

		if (!ring->producer)
			continue;
		munmap((void *)(uintptr_t)ring->producer, PATHPROF_RING_PAGE + ring->len_bytes);
		munmap(ring->consumer, PATHPROF_RING_PAGE);
	}
	if (reader->fd >= 0)
		close(reader->fd);
}

/* Checks a record; fails only if its size is wrong, since the next one could not be found then. */
static inline int reader_check(struct reader *reader, struct ring *ring,
			       const struct pathprof_record *record, uint64_t left_bytes,
			       uint64_t to_end_bytes)
{
	if (record->size_bytes < sizeof(*record) || record->size_bytes % 8 ||
	    record->size_bytes > left_bytes || record->size_bytes > to_end_bytes) {
		reader_complain(reader, "size of a record", record->size_bytes);
		return -EPROTO;
	}
	if (record->type >= PATHPROF_RECORD_CNT || record->flags)
		reader_complain(reader, "type of a record", record->type);
	if (record->type == PATHPROF_RECORD_PAD)
		return 0;
	if (record->cpu != ring->producer->cpu)
		reader_complain(reader, "CPU of a record", record->cpu);
	ring->missing += record->seq - ring->seq;
	ring->seq = record->seq + 1;
	ring->received++;
	ring->bytes += record->size_bytes;
	return 0;
}

static inline void reader_drain_ring(struct reader *reader, struct ring *ring, reader_record_fn *fn,
				     void *context)
{
	uint64_t head = __atomic_load_n(&ring->producer->head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->consumer->tail;

	if (head - tail > ring->len_bytes)
		reader_complain(reader, "head runs away", head - tail);
	while (tail != head && head - tail <= ring->len_bytes) {
		uint64_t at = tail & (ring->len_bytes - 1);
		const struct pathprof_record *record = (const void *)(ring->data + at);

		if (reader_check(reader, ring, record, head - tail, ring->len_bytes - at)) {
			tail = head;
			break;
		}
		if (fn && record->type != PATHPROF_RECORD_PAD)
			fn(context, record);
		tail += record->size_bytes;
	}
	__atomic_store_n(&ring->consumer->tail, tail, __ATOMIC_RELEASE);
}

static inline void reader_drain(struct reader *reader, reader_record_fn *fn, void *context)
{
	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		if (reader->rings[cpu].producer)
			reader_drain_ring(reader, &reader->rings[cpu], fn, context);
}

static inline void reader_wait(struct reader *reader, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = reader->fd, .events = POLLIN};

	poll(&poll_fd, 1, timeout_ms);
}

static inline int reader_start(struct reader *reader, struct pathprof_kmod_start *start)
{
	start->version = PATHPROF_KMOD_VERSION;
	return ioctl(reader->fd, PATHPROF_IOC_START, start) ? -errno : 0;
}

static inline int reader_stop(struct reader *reader)
{
	return ioctl(reader->fd, PATHPROF_IOC_STOP) ? -errno : 0;
}

static inline int reader_budget(struct reader *reader, uint32_t budget_ppm)
{
	return ioctl(reader->fd, PATHPROF_IOC_BUDGET, &budget_ppm) ? -errno : 0;
}

static inline int reader_stats(struct reader *reader, struct pathprof_collector_stats *ret_stats)
{
	return ioctl(reader->fd, PATHPROF_IOC_STATS, ret_stats) ? -errno : 0;
}

/* The increase of a counter. */
static inline uint64_t stats_since(const struct pathprof_collector_stats *before,
				   const struct pathprof_collector_stats *after, unsigned int which)
{
	return after->value[which] - before->value[which];
}

static inline uint64_t reader_received(const struct reader *reader)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		sum += reader->rings[cpu].received;
	return sum;
}

/* The number of lost records by the rings' own pages. */
static inline uint64_t reader_lost(const struct reader *reader)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < READER_RING_MAX; cpu++)
		if (reader->rings[cpu].producer)
			sum += reader->rings[cpu].producer->lost_full +
			       reader->rings[cpu].producer->lost_nested;
	return sum;
}

/* The dynamic type of a PMU, by its name; negative errno. */
static inline int pmu_type(const char *name)
{
	char path[128];
	int type = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	file = fopen(path, "r");
	if (!file)
		return -errno;
	if (fscanf(file, "%d", &type) != 1)
		type = -EPROTO;
	fclose(file);
	return type;
}

/* A parameter of a module, as a number; 0 when it is not to be had. */
static inline uint64_t module_number(const char *module, const char *parameter)
{
	unsigned long long value = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module, parameter);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

#endif
