// SPDX-License-Identifier: GPL-2.0-or-later
/* The device's calls and mappings: see kmod_device.h. Source: pathprof/kmod_abi.h. */
#include "kmod_device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "pathprof/profile.h"

/* The largest number of CPUs that Linux supports. */
#define RING_MAX       8192
#define RING_BYTES_MAX (UINT32_C(1) << 30)

/* ---------------------------------------------------------------- refusals */

static int refuse_open(int code, struct pathprof_error *error)
{
	switch (code) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return pathprof_fail(error, -ENOENT,
				     "kmod: there is no %s: the kernel module is not loaded "
				     "(modprobe pathprof; make dkms builds it)",
				     PATHPROF_KMOD_DEVICE);
	case -EBUSY:
		return pathprof_fail(error, code,
				     "kmod: %s is in use: it has one reader at a time, mostly a "
				     "pathprofd that runs already",
				     PATHPROF_KMOD_DEVICE);
	case -EPERM:
	case -EACCES:
		return pathprof_fail(error, code,
				     "kmod: %s: %s: it takes root, or CAP_PERFMON and the right to "
				     "the file",
				     PATHPROF_KMOD_DEVICE, strerror(-code));
	default:
		return pathprof_fail(error, code, "kmod: %s: %s", PATHPROF_KMOD_DEVICE,
				     strerror(-code));
	}
}

static int refuse_version(const struct pathprof_kmod_info *info, struct pathprof_error *error)
{
	return pathprof_fail(error, -EPROTO,
			     "kmod: the loaded module speaks version %u, this daemon version %u: "
			     "install both from one release, then rmmod and modprobe pathprof",
			     info->version, PATHPROF_KMOD_VERSION);
}

static int refuse_start(uint32_t source, int code, struct pathprof_error *error)
{
	if (source != PATHPROF_SOURCE_LBR)
		return pathprof_fail(error, code, "kmod: not started: %s", strerror(-code));
	switch (code) {
	case -EOPNOTSUPP:
		return pathprof_fail(error, code,
				     "kmod: this PMU keeps no branch stack (EOPNOTSUPP): it takes "
				     "Intel LBR, AMD LbrExtV2 or BRS, not hidden by a hypervisor");
	case -ENOENT:
	case -ENODEV:
		return pathprof_fail(error, code,
				     "kmod: the kernel has no hardware counters for this event "
				     "(%s): bare metal, or a virtual machine with a PMU; where "
				     "cores are of two kinds, the source bpf",
				     code == -ENOENT ? "ENOENT" : "ENODEV");
	case -EBUSY:
		return pathprof_fail(error, code,
				     "kmod: another program uses the counters (EBUSY): stop it, or "
				     "choose another source");
	default:
		return pathprof_fail(error, code, "kmod: the event is refused: %s",
				     strerror(-code));
	}
}

/* ---------------------------------------------------------------- opening */

static bool is_usable(const struct pathprof_kmod_info *info)
{
	return info->ring_cnt && info->ring_cnt <= RING_MAX && info->ring_bytes &&
	       info->ring_bytes <= RING_BYTES_MAX;
}

static int open_device(int *ret_fd, struct pathprof_kmod_info *ret_info,
		       struct pathprof_error *error)
{
	_cleanup_close_ int fd = open(PATHPROF_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	struct pathprof_kmod_info info = {0};

	if (fd < 0)
		return refuse_open(errno ? -errno : -EIO, error);
	/* a struct of another size gives the call another number, which the module does not know */
	if (ioctl(fd, PATHPROF_IOC_INFO, &info) && errno != ENOTTY)
		return refuse_open(errno ? -errno : -EIO, error);
	if (info.version != PATHPROF_KMOD_VERSION)
		return refuse_version(&info, error);
	*ret_info = info;
	*ret_fd = pp_steal_fd(&fd);
	return 0;
}

static void unmap_ring(const struct pp_kmod_ring *ring)
{
	munmap((void *)(uintptr_t)ring->producer, PATHPROF_RING_PAGE + (size_t)ring->len_bytes);
	munmap(ring->consumer, PATHPROF_RING_PAGE);
}

/* 0; -ENODEV: there is no such CPU, which is no harm. */
static int map_ring(struct pp_kmod_device *device, uint32_t cpu)
{
	off_t at = (off_t)(cpu * PATHPROF_RING_STRIDE);
	size_t bytes = PATHPROF_RING_PAGE + (size_t)device->info.ring_bytes;
	void *consumer, *producer;
	int r;

	consumer =
		mmap(NULL, PATHPROF_RING_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, device->fd, at);
	if (consumer == MAP_FAILED)
		return errno == ENOMEM || errno == EAGAIN ? -ENOMEM : -ENODEV;
	producer = mmap(NULL, bytes, PROT_READ, MAP_SHARED, device->fd, at + PATHPROF_RING_PAGE);
	r = producer == MAP_FAILED ? -ENOMEM
				   : pp_kmod_ring_init(&device->rings[device->ring_cnt], cpu,
						       producer, bytes, consumer);
	if (r) {
		if (producer != MAP_FAILED)
			munmap(producer, bytes);
		munmap(consumer, PATHPROF_RING_PAGE);
		return r;
	}
	device->ring_cnt++;
	return 0;
}

static int map_rings(struct pp_kmod_device *device, struct pathprof_error *error)
{
	if (!is_usable(&device->info))
		return pathprof_fail(error, -EPROTO,
				     "kmod: the module reports %u rings of %u bytes, which is "
				     "impossible: install module and daemon from one release",
				     device->info.ring_cnt, device->info.ring_bytes);
	device->rings = calloc(device->info.ring_cnt, sizeof(*device->rings));
	if (!device->rings)
		return pathprof_fail(error, -ENOMEM, "kmod: out of memory");
	for (uint32_t cpu = 0; cpu < device->info.ring_cnt; cpu++) {
		int r = map_ring(device, cpu);

		if (r && r != -ENODEV)
			return pathprof_fail(error, r, "kmod: the ring of CPU %u: %s", cpu,
					     strerror(-r));
	}
	if (!device->ring_cnt)
		return pathprof_fail(error, -EPROTO, "kmod: not one ring can be mapped");
	return 0;
}

int pp_kmod_device_open(struct pp_kmod_device *ret_device, struct pathprof_error *error)
{
	struct pp_kmod_device device = {.fd = -EBADF};
	int r = open_device(&device.fd, &device.info, error);

	if (r)
		return r;
	r = map_rings(&device, error);
	if (r) {
		pp_kmod_device_close(&device);
		return r;
	}
	*ret_device = device;
	return 0;
}

void pp_kmod_device_close(struct pp_kmod_device *device)
{
	for (uint32_t i = 0; i < device->ring_cnt; i++)
		unmap_ring(&device->rings[i]);
	free(device->rings);
	device->rings = NULL;
	device->ring_cnt = 0;
	if (device->fd >= 0)
		close(device->fd);
	device->fd = -EBADF;
}

int pp_kmod_device_probe(uint32_t source, struct pathprof_kmod_info *ret_info,
			 struct pathprof_error *error)
{
	_cleanup_close_ int fd = -EBADF;
	struct pathprof_kmod_info info = {0};
	int r = open_device(&fd, &info, error);

	if (r)
		return r;
	if (!(info.sources >> source & 1))
		return pathprof_fail(error, -EOPNOTSUPP, "kmod: the module has no source %s here",
				     pathprof_source_name(source));
	if (ret_info)
		*ret_info = info;
	return 0;
}

/* ---------------------------------------------------------------- calls */

int pp_kmod_device_start(struct pp_kmod_device *device, const struct pathprof_kmod_start *start,
			 struct pathprof_error *error)
{
	if (ioctl(device->fd, PATHPROF_IOC_START, start))
		return refuse_start(start->source, -errno, error);
	return 0;
}

int pp_kmod_device_stop(struct pp_kmod_device *device)
{
	return ioctl(device->fd, PATHPROF_IOC_STOP) ? -errno : 0;
}

int pp_kmod_device_flush(struct pp_kmod_device *device)
{
	return ioctl(device->fd, PATHPROF_IOC_DRAIN) ? -errno : 0;
}

int pp_kmod_device_set_budget(struct pp_kmod_device *device, uint32_t budget_ppm)
{
	return ioctl(device->fd, PATHPROF_IOC_BUDGET, &budget_ppm) ? -errno : 0;
}

int pp_kmod_device_stats(struct pp_kmod_device *device, struct pathprof_collector_stats *ret_stats)
{
	return ioctl(device->fd, PATHPROF_IOC_STATS, ret_stats) ? -errno : 0;
}

int pp_kmod_device_drain(struct pp_kmod_device *device, pp_chain_record_fn *fn, void *context)
{
	int first = 0;

	for (uint32_t i = 0; i < device->ring_cnt; i++) {
		int r = pp_kmod_ring_drain(&device->rings[i], fn, context);

		first = first ? first : r;
	}
	return first;
}
