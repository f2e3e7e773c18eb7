// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The device. Workload: one reader, a call now and then.
 *
 * Locking: `control` holds open, release, START, STOP, DRAIN and BUDGET apart. It is never held
 * while user memory is touched or mapped: mmap comes with the address space locked, a page fault
 * takes that lock.
 *
 * Ownership: the open file has the rings and the session; release() ends both. Mappings and calls
 * under way hold the file, so release() finds neither.
 */
#include "control.h"

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#include "pathprof/kmod_abi.h"
#include "ring.h"
#include "session.h"
#include "stats.h"
#include "swlbr_calibrate.h"

static DEFINE_MUTEX(control);
static bool taken; /* somebody has it open; under control */

static int control_open(struct inode *inode, struct file *file)
{
	int err;

	if (!perfmon_capable())
		return -EPERM;
	mutex_lock(&control);
	err = taken ? -EBUSY : pp_ring_alloc();
	if (!err)
		taken = true;
	mutex_unlock(&control);
	return err ? err : nonseekable_open(inode, file);
}

static int control_release(struct inode *inode, struct file *file)
{
	mutex_lock(&control);
	pp_session_stop();
	pp_ring_free();
	taken = false;
	mutex_unlock(&control);
	return 0;
}

static long ioctl_info(void __user *to)
{
	struct pathprof_kmod_info info = {
		.version = PATHPROF_KMOD_VERSION,
		.ring_cnt = nr_cpu_ids,
		.ring_bytes = pp_ring_bytes(),
		.sources = 1u << PATHPROF_SOURCE_SWLBR | 1u << PATHPROF_SOURCE_LBR,
		.trap_ns = pp_swlbr_trap_ns(),
		.step_max = PP_STEP_MAX,
		.stats_cnt = PATHPROF_STAT_CNT,
	};

	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

static long ioctl_start(const void __user *from)
{
	struct pathprof_kmod_start start;
	long err;

	if (!perfmon_capable())
		return -EPERM;
	if (copy_from_user(&start, from, sizeof(start)))
		return -EFAULT;
	mutex_lock(&control);
	err = pp_session_start(&start);
	mutex_unlock(&control);
	return err;
}

static long ioctl_stop(void)
{
	mutex_lock(&control);
	pp_session_stop();
	mutex_unlock(&control);
	return 0;
}

static long ioctl_drain(void)
{
	mutex_lock(&control);
	pp_session_drain();
	mutex_unlock(&control);
	return 0;
}

static long ioctl_budget(const void __user *from)
{
	u32 budget_ppm;
	long err;

	if (!perfmon_capable())
		return -EPERM;
	if (copy_from_user(&budget_ppm, from, sizeof(budget_ppm)))
		return -EFAULT;
	mutex_lock(&control);
	err = pp_session_set_budget(budget_ppm);
	mutex_unlock(&control);
	return err;
}

static long ioctl_stats(void __user *to)
{
	struct pathprof_collector_stats stats;

	pp_stats_sum(&stats);
	return copy_to_user(to, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static long control_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *user = (void __user *)argument;

	switch (command) {
	case PATHPROF_IOC_INFO:
		return ioctl_info(user);
	case PATHPROF_IOC_START:
		return ioctl_start(user);
	case PATHPROF_IOC_STOP:
		return ioctl_stop();
	case PATHPROF_IOC_STATS:
		return ioctl_stats(user);
	case PATHPROF_IOC_DRAIN:
		return ioctl_drain();
	case PATHPROF_IOC_BUDGET:
		return ioctl_budget(user);
	default:
		return -ENOTTY;
	}
}

static int control_mmap(struct file *file, struct vm_area_struct *vma)
{
	return pp_ring_mmap(vma);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = control_open,
	.release = control_release,
	.unlocked_ioctl = control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = control_mmap,
	.poll = pp_ring_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pathprof",
	.fops = &operations,
	.mode = 0600,
};

int pp_control_init(void)
{
	return misc_register(&device);
}

void pp_control_exit(void)
{
	misc_deregister(&device);
}
