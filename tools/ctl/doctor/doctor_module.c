// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about loading the kernel module. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../text/cleanup.h"
#include "pathprof/kmod_abi.h"

#define DEVICE         "module device"
#define BURST_INSNS    512 /* a trap each: the horizon that the daemon asks for at most */
#define TRAP_DEAR_NS   2000
#define DEFAULT_BUDGET (PATHPROF_BUDGET_DEFAULT / 1e6)
#define SECURE_BOOT    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static void add_loading(struct facts *facts)
{
	_cleanup_free_ char *disabled = ctl_read_line("/proc/sys/kernel/modules_disabled");

	if (access("/proc/modules", F_OK) < 0)
		fact_value(facts_add(facts, FACT_NO, "module loading",
				     "this kernel is built without modules",
				     "a kernel with CONFIG_MODULES"),
			   "impossible");
	else if (disabled && !strcmp(disabled, "1"))
		fact_value(facts_add(facts, FACT_NO, "module loading",
				     "kernel.modules_disabled is set", "a reboot without it"),
			   "switched off");
	else if (!doctor_capable(CAP_SYS_MODULE))
		fact_value(facts_add(facts, FACT_NO, "module loading", "CAP_SYS_MODULE is missing",
				     "root"),
			   "not permitted");
	else
		fact_value(facts_add(facts, FACT_OK, "module loading", NULL, NULL), "possible");
}

static void add_lockdown(struct facts *facts)
{
	static const char *const names[] = {"none", "integrity", "confidentiality"};
	bool confidential = facts->machine.lockdown == PATHPROF_LOCKDOWN_CONFIDENTIALITY;
	const char *why = confidential ? "only signed modules load, and BPF may not read the "
					 "kernel's memory"
				       : "only signed modules load";

	if (facts->machine.lockdown == PATHPROF_LOCKDOWN_NONE)
		why = NULL;
	fact_value(
		facts_add(facts, why ? FACT_WARN : FACT_OK, "kernel lockdown", why,
			  why ? "a signed module with an enrolled key (mokutil --import)" : NULL),
		"%s", names[facts->machine.lockdown]);
}

/* An EFI variable: four bytes of attributes, then the value. */
static bool secure_boot(void)
{
	_cleanup_close_ int fd = open(SECURE_BOOT, O_RDONLY | O_CLOEXEC);
	unsigned char bytes[5];

	return fd >= 0 && read(fd, bytes, sizeof(bytes)) == sizeof(bytes) && bytes[4] == 1;
}

static void add_secure_boot(struct facts *facts)
{
	if (secure_boot())
		fact_value(facts_add(facts, FACT_WARN, "secure boot", "only signed modules load",
				     "enrol the key that signs it (mokutil --import)"),
			   "on");
	else
		fact_value(facts_add(facts, FACT_OK, "secure boot", NULL, NULL), "off");
}

static void add_headers(struct facts *facts)
{
	_cleanup_free_ char *release = doctor_release();
	_cleanup_free_ char *build = ctl_printf("/lib/modules/%s/build", release);
	_cleanup_free_ char *package = ctl_printf("/usr/share/doc/linux-image-%s", release);
	_cleanup_free_ char *change =
		access(package, F_OK) == 0
			? ctl_printf("apt install linux-headers-%s", release)
			: ctl_strdup("the headers of this kernel, from where the kernel came");

	if (access(build, F_OK) == 0)
		fact_value(facts_add(facts, FACT_OK, "kernel headers", NULL, NULL), "%s", build);
	else
		fact_value(facts_add(facts, FACT_NO, "kernel headers",
				     "a module cannot be built here without them", change),
			   "none for %s", release);
}

static void add_loaded(struct facts *facts)
{
	_cleanup_free_ char *version = ctl_read_line("/sys/module/pathprof/version");

	if (access("/sys/module/pathprof", F_OK) == 0)
		fact_value(facts_add(facts, FACT_OK, "module pathprof", NULL, NULL), "loaded %s",
			   version ? version : "");
	else
		fact_value(facts_add(facts, FACT_NO, "module pathprof",
				     "bursts are taken from user space instead, at a higher price",
				     "modprobe pathprof; make dkms builds it"),
			   "not loaded");
}

/* The number of bursts that the default budget buys, from the time of a trap measured when the
 * module was loaded. */
static void add_trap_cost(struct facts *facts, const struct pathprof_kmod_info *info)
{
	double burst_s = BURST_INSNS * (double)info->trap_ns / 1e9;
	bool dear = info->trap_ns > TRAP_DEAR_NS;
	struct fact *fact;

	if (!info->trap_ns)
		return;
	fact = facts_add(facts, dear ? FACT_WARN : FACT_OK, "debug traps",
			 dear ? "a virtual machine makes them dear, so kmod-swlbr is slow" : NULL,
			 dear ? "bare metal, or a larger Overhead=" : NULL);
	fact_value(fact,
		   "%.1f us each: %g%% of a CPU pays for %.1f bursts of %d "
		   "instructions a second",
		   (double)info->trap_ns / 1e3, 100 * DEFAULT_BUDGET, DEFAULT_BUDGET / burst_s,
		   BURST_INSNS);
}

static void add_refused_device(struct facts *facts, int code)
{
	if (code == EBUSY) {
		facts->module = true;
		facts->module_in_use = true;
		fact_value(facts_add(facts, FACT_OK, DEVICE, NULL, NULL),
			   "in use: it has one reader at a time, mostly a running pathprofd");
	} else if (code == EPERM || code == EACCES) {
		fact_value(facts_add(facts, FACT_NO, DEVICE, strerror(code),
				     "root, or CAP_PERFMON and the right to the file"),
			   "not permitted");
	} else if (code != ENOENT) {
		fact_value(facts_add(facts, FACT_NO, DEVICE, strerror(code), NULL), "%s",
			   PATHPROF_KMOD_DEVICE);
	}
}

static void add_device(struct facts *facts)
{
	_cleanup_close_ int fd = open(PATHPROF_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	struct pathprof_kmod_info info = {0};

	if (fd < 0) {
		add_refused_device(facts, errno);
		return;
	}
	if (ioctl(fd, PATHPROF_IOC_INFO, &info) < 0 || info.version != PATHPROF_KMOD_VERSION) {
		fact_value(facts_add(facts, FACT_NO, DEVICE,
				     "module and programs are not of one release",
				     "install both from one, then rmmod and modprobe pathprof"),
			   "speaks version %u, wanted %u", info.version, PATHPROF_KMOD_VERSION);
		return;
	}
	facts->module = true;
	fact_value(facts_add(facts, FACT_OK, DEVICE, NULL, NULL), "%s, version %u, rings of %u KiB",
		   PATHPROF_KMOD_DEVICE, info.version, info.ring_bytes >> 10);
	add_trap_cost(facts, &info);
}

void doctor_module(struct facts *facts)
{
	add_loading(facts);
	add_lockdown(facts);
	add_secure_boot(facts);
	add_headers(facts);
	add_loaded(facts);
	add_device(facts);
}
