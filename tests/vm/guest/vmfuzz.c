// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile control calls and mappings: COUNT of them from a fixed seed, then an honest session that
 * must work as if nothing had been. A call may do what it is for, or fail with an errno that
 * kmod_abi.h names; the module may hold no more memory afterwards than before.
 *
 *     vmfuzz COUNT [SEED]
 *
 * Workload: some ten thousand calls, a second or two.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "../testpmu/testpmu.h"
#include "common.h"
#include "reader.h"

#define PAGE 4096ul

struct fuzz {
	int fd;
	uint64_t random;
	struct pathprof_kmod_info info;
	unsigned char *pages; /* two: writable, and a hole behind */
	unsigned char *read_only;
	uint64_t calls, accepted, chained, mapped, bad;
};

static uint64_t next(struct fuzz *fuzz)
{
	fuzz->random ^= fuzz->random << 13;
	fuzz->random ^= fuzz->random >> 7;
	fuzz->random ^= fuzz->random << 17;
	return fuzz->random;
}

static uint64_t below(struct fuzz *fuzz, uint64_t limit)
{
	return next(fuzz) % limit;
}

/* Zero, one, edges of widths, and now and then anything. */
static uint64_t odd_number(struct fuzz *fuzz)
{
	static const uint64_t edges[] = {0,   1,          2,          31,         32,    64,
					 65,  4095,       4096,       65535,      65536, 1ull << 31,
					 ~0u, 1ull << 32, ~0ull >> 1, 1ull << 63, ~0ull, 100000};

	return below(fuzz, 4) ? edges[below(fuzz, sizeof(edges) / sizeof(edges[0]))] : next(fuzz);
}

/* A session that would be right, for either source. */
static struct pathprof_kmod_start honest(bool lbr)
{
	struct pathprof_kmod_start start = {
		.version = PATHPROF_KMOD_VERSION,
		.source = lbr ? PATHPROF_SOURCE_LBR : PATHPROF_SOURCE_SWLBR,
		.mode = PATHPROF_MODE_RAW,
		.period = 1000000,
		.window = lbr ? 0 : 16,
		.budget_ppm = PATHPROF_BUDGET_MAX,
	};

	if (lbr) {
		start.pmu_type = (uint32_t)pmu_type("pathprof_test");
		start.pmu_config = 32;
		start.pmu_config1 = 0x10000000;
	}
	return start;
}

/* ... that ends its windows by instructions. */
static void horizon(struct fuzz *fuzz, struct pathprof_kmod_start *start)
{
	start->horizon = 1 + (uint32_t)below(fuzz, PATHPROF_HORIZON_MAX);
	start->window = 0;
}

/* ... that compresses, with whatever of the chain may be chosen. */
static void chain(struct fuzz *fuzz, struct pathprof_kmod_start *start)
{
	start->mode = PATHPROF_MODE_CHAIN | (below(fuzz, 2) ? PATHPROF_MODE_RAW : 0);
	start->profiles = (uint32_t)below(fuzz, 4);
	start->kinds = below(fuzz, 2) ? (uint32_t)below(fuzz, 128) : 0;
	if (start->source == PATHPROF_SOURCE_LBR)
		start->metric = (uint32_t)below(fuzz, PATHPROF_METRIC_CNT);
	if (below(fuzz, 2))
		start->chain =
			(struct pathprof_kmod_chain){.sampler = 1,
						     .rate = 1 + (uint32_t)below(fuzz, 300),
						     .substream_bits = (uint32_t)below(fuzz, 12),
						     .assoc_size = (uint32_t)below(fuzz, 17),
						     .max_length = 32,
						     .hpt_bits = (uint32_t)below(fuzz, 8),
						     .hpt_ways = 1 + (uint32_t)below(fuzz, 16),
						     .hpt_policy = (uint32_t)below(fuzz, 2)};
}

/* Up to two words of it replaced. */
static void spoil(struct fuzz *fuzz, struct pathprof_kmod_start *start)
{
	unsigned char *bytes = (unsigned char *)start;

	for (uint64_t i = below(fuzz, 3); i > 0; i--) {
		size_t width = below(fuzz, 2) ? 4 : 8;
		size_t at = below(fuzz, sizeof(*start) / width) * width;
		uint64_t value = odd_number(fuzz);

		memcpy(bytes + at, &value, width);
	}
}

static void judge(struct fuzz *fuzz, const char *call, int result)
{
	static const int allowed[] = {EINVAL, EPERM,  EFAULT,     EBUSY,  ENOTTY,
				      ENOMEM, ENOENT, EOPNOTSUPP, EACCES, ENODEV};
	int err = errno;

	fuzz->calls++;
	if (result >= 0)
		return;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (err == allowed[i])
			return;
	if (fuzz->bad++ < 10)
		fprintf(stderr, "vmfuzz: %s gave errno %d\n", call, err);
}

/* Somewhere an argument may not lie, or may lie only in part. */
static void *odd_pointer(struct fuzz *fuzz)
{
	switch (below(fuzz, 6)) {
	case 0:
		return NULL;
	case 1:
		return (void *)0xffff888000000000ul;
	case 2:
		return (void *)0x8000000000000000ul;
	case 3:
		return fuzz->read_only;
	case 4:
		return fuzz->pages + PAGE - below(fuzz, 256); /* runs into the hole */
	default:
		return fuzz->pages + below(fuzz, 64); /* unaligned */
	}
}

/* A session runs: the bounds decide, and nothing else. */
static void try_budget(struct fuzz *fuzz)
{
	uint32_t budget_ppm = (uint32_t)below(fuzz, 2 * PATHPROF_BUDGET_MAX);
	int result = ioctl(fuzz->fd, PATHPROF_IOC_BUDGET, &budget_ppm);

	judge(fuzz, "BUDGET", result);
	if ((result == 0) != (budget_ppm <= PATHPROF_BUDGET_MAX) && fuzz->bad++ < 10)
		fprintf(stderr, "vmfuzz: a budget of %u millionths gave %d\n", budget_ppm, result);
}

static void try_start(struct fuzz *fuzz)
{
	struct pathprof_kmod_start start = honest(below(fuzz, 2));
	int result;

	if (below(fuzz, 2))
		chain(fuzz, &start);
	else if (start.source == PATHPROF_SOURCE_SWLBR && below(fuzz, 2))
		horizon(fuzz, &start);
	spoil(fuzz, &start);
	result = ioctl(fuzz->fd, PATHPROF_IOC_START, &start);
	judge(fuzz, "START", result);
	if (result < 0)
		return;
	fuzz->accepted++;
	fuzz->chained += (start.mode & PATHPROF_MODE_CHAIN) != 0;
	if (below(fuzz, 2))
		judge(fuzz, "DRAIN", ioctl(fuzz->fd, PATHPROF_IOC_DRAIN, odd_number(fuzz)));
	if (below(fuzz, 2))
		try_budget(fuzz);
	if (below(fuzz, 2))
		judge(fuzz, "STOP", ioctl(fuzz->fd, PATHPROF_IOC_STOP));
}

static void try_pointer(struct fuzz *fuzz)
{
	static const unsigned long commands[] = {PATHPROF_IOC_INFO,  PATHPROF_IOC_START,
						 PATHPROF_IOC_STOP,  PATHPROF_IOC_STATS,
						 PATHPROF_IOC_DRAIN, PATHPROF_IOC_BUDGET};
	unsigned long command = commands[below(fuzz, 6)];

	judge(fuzz, "ioctl", ioctl(fuzz->fd, command, odd_pointer(fuzz)));
}

/* Another size, direction, number or magic: must be unknown. */
static void try_command(struct fuzz *fuzz)
{
	unsigned long command = PATHPROF_IOC_START ^ (1ul << below(fuzz, 32));
	int result;

	if (command == PATHPROF_IOC_STOP || command == PATHPROF_IOC_INFO ||
	    command == PATHPROF_IOC_STATS || command == PATHPROF_IOC_DRAIN ||
	    command == PATHPROF_IOC_BUDGET)
		return;
	result = ioctl(fuzz->fd, command, fuzz->pages);
	judge(fuzz, "unknown ioctl", result);
	/* FIOCLEX and its like are answered before a driver is asked. */
	if (result == 0 && _IOC_TYPE(command) == PATHPROF_IOC_MAGIC && fuzz->bad++ < 10)
		fprintf(stderr, "vmfuzz: command 0x%lx was accepted\n", command);
}

static void use_mapping(struct fuzz *fuzz, unsigned char *at, size_t len_bytes, int prot)
{
	volatile unsigned char seen;

	fuzz->mapped++;
	if (prot & PROT_READ)
		seen = at[below(fuzz, len_bytes)];
	if (prot & PROT_WRITE)
		at[below(fuzz, len_bytes)] = (unsigned char)next(fuzz);
	(void)seen;
	if (mremap(at, len_bytes, len_bytes + PAGE, MREMAP_MAYMOVE) != MAP_FAILED &&
	    fuzz->bad++ < 10)
		fprintf(stderr, "vmfuzz: a mapping of %zu bytes could grow\n", len_bytes);
	munmap(at, len_bytes);
}

static void try_map(struct fuzz *fuzz)
{
	static const int shares[] = {MAP_SHARED, MAP_SHARED, MAP_PRIVATE};
	size_t right[] = {PATHPROF_RING_PAGE, PATHPROF_RING_PAGE + fuzz->info.ring_bytes};
	size_t len_bytes = below(fuzz, 4) ? right[below(fuzz, 2)] : PAGE * (below(fuzz, 600) + 1);
	uint64_t at = below(fuzz, 4) ? below(fuzz, 4) * PATHPROF_RING_STRIDE +
					       below(fuzz, 3) * PATHPROF_RING_PAGE
				     : odd_number(fuzz) & ~(PAGE - 1);
	int prot = (int)below(fuzz, 8);
	void *mapping = mmap(NULL, len_bytes, prot, shares[below(fuzz, 3)], fuzz->fd,
			     (off_t)(at & INT64_MAX));

	if (mapping == MAP_FAILED && (errno == EOVERFLOW || errno == ENXIO))
		errno = EINVAL; /* what the kernel itself thinks of such an offset */
	judge(fuzz, "mmap", mapping == MAP_FAILED ? -1 : 0);
	if (mapping == MAP_FAILED)
		return;
	if (prot & PROT_WRITE && len_bytes != PATHPROF_RING_PAGE && fuzz->bad++ < 10)
		fprintf(stderr, "vmfuzz: the producer's page could be mapped for writing\n");
	use_mapping(fuzz, mapping, len_bytes, prot);
}

static void try_other(struct fuzz *fuzz)
{
	struct pollfd poll_fd = {.fd = fuzz->fd, .events = (short)next(fuzz)};

	switch (below(fuzz, 4)) {
	case 0:
		judge(fuzz, "read", (int)read(fuzz->fd, fuzz->pages, 64));
		break;
	case 1:
		judge(fuzz, "write", (int)write(fuzz->fd, fuzz->pages, 64));
		break;
	case 2:
		judge(fuzz, "poll", poll(&poll_fd, 1, 0));
		break;
	default:
		sched_yield();
	}
}

/* Opened anew now and then, with whatever was running. */
static int reopen(struct fuzz *fuzz)
{
	if (fuzz->fd >= 0)
		close(fuzz->fd);
	fuzz->fd = open(PATHPROF_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	return fuzz->fd < 0 ? -errno : ioctl(fuzz->fd, PATHPROF_IOC_INFO, &fuzz->info);
}

static int attack(struct fuzz *fuzz, uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt; i++) {
		if (i % 512 == 0 && reopen(fuzz))
			return -errno;
		switch (below(fuzz, 8)) {
		case 0:
		case 1:
		case 2:
			try_start(fuzz);
			break;
		case 3:
			try_pointer(fuzz);
			break;
		case 4:
			try_command(fuzz);
			break;
		case 5:
		case 6:
			try_map(fuzz);
			break;
		default:
			try_other(fuzz);
		}
	}
	close(fuzz->fd);
	return 0;
}

static int prepare(struct fuzz *fuzz)
{
	fuzz->pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fuzz->read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fuzz->pages == MAP_FAILED || fuzz->read_only == MAP_FAILED)
		return -errno;
	fuzz->fd = -1;
	return munmap(fuzz->pages + PAGE, PAGE) ? -errno : 0;
}

/* The values that a horizon may have, and the settings that it goes with. */
static void try_horizons(struct fuzz *fuzz)
{
	static const struct {
		uint32_t horizon, window, mode;
		bool lbr, accepted;
	} cases[] = {
		{1, 0, PATHPROF_MODE_RAW, false, true},
		{PATHPROF_HORIZON_MAX, 0, PATHPROF_MODE_RAW, false, true},
		{PATHPROF_HORIZON_MAX + 1, 0, PATHPROF_MODE_RAW, false, false},
		{512, 16, PATHPROF_MODE_RAW, false, false},
		{512, 0, PATHPROF_MODE_CHAIN, false, false},
		{512, 0, PATHPROF_MODE_RAW | PATHPROF_MODE_CHAIN, false, false},
		{0, 0, PATHPROF_MODE_RAW, false, false},
		{512, 0, PATHPROF_MODE_RAW, true, false},
	};
	static struct reader reader;

	if (reader_open(&reader) && fuzz->bad++ < 10)
		fprintf(stderr, "vmfuzz: the device cannot be opened\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pathprof_kmod_start start = honest(cases[i].lbr);
		int err;

		start.horizon = cases[i].horizon;
		start.window = cases[i].window;
		start.mode = cases[i].mode;
		err = reader_start(&reader, &start);
		if (err != (cases[i].accepted ? 0 : -EINVAL) && fuzz->bad++ < 10)
			fprintf(stderr, "vmfuzz: horizon %u, case %zu: %d\n", start.horizon, i,
				err);
		reader_stop(&reader);
	}
	reader_close(&reader);
}

/* Both sources, whole and compressed, after all that; how many records came. */
static uint64_t honest_sessions(struct fuzz *fuzz)
{
	static struct reader reader;
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		struct pathprof_kmod_start start = honest(i & 1);

		start.mode |= i & 2 ? PATHPROF_MODE_CHAIN : 0;
		if (reader_open(&reader) || reader_start(&reader, &start))
			return 0;
		for (int turn = 0; turn < 200 && reader_received(&reader) < 20; turn++) {
			for (volatile int burn = 0; burn < 300000; burn++)
				;
			reader_drain(&reader, NULL, NULL);
		}
		if (reader_stop(&reader))
			return 0;
		least = reader_received(&reader) < least ? reader_received(&reader) : least;
		fuzz->bad += reader.bad;
		reader_close(&reader);
	}
	return least;
}

int main(int argc, char **argv)
{
	static struct fuzz fuzz;
	uint64_t cnt = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
	unsigned int area_cnt = module_areas();
	uint64_t records;
	int err;

	fuzz.random = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252ull;
	err = prepare(&fuzz);
	err = err ? err : attack(&fuzz, cnt);
	if (err) {
		fprintf(stderr, "vmfuzz: %s\n", strerror(-err));
		return 1;
	}
	if (module_areas() != area_cnt && fuzz.bad++ < 10)
		fprintf(stderr, "vmfuzz: %u areas before, %u after\n", area_cnt, module_areas());
	try_horizons(&fuzz);
	records = honest_sessions(&fuzz);
	printf("calls %llu accepted %llu compressed %llu mapped %llu records_after %llu bad %llu\n",
	       (unsigned long long)fuzz.calls, (unsigned long long)fuzz.accepted,
	       (unsigned long long)fuzz.chained, (unsigned long long)fuzz.mapped,
	       (unsigned long long)records, (unsigned long long)fuzz.bad);
	return fuzz.bad || !fuzz.accepted || !fuzz.chained || !fuzz.mapped || records < 10;
}
