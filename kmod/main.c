// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof.ko: branch windows from hardware or from the trap flag, compressed where they arise,
 * in rings that one reader maps. This file loads and unloads; docs/kmod.md is the tour.
 *
 * Unloading: an open device holds the module, and no burst outlives the session of an open device.
 * When exit runs neither is left, and each part, as it unregisters, waits for whoever is still
 * inside.
 */
#include <linux/module.h>

#include "control.h"
#include "events.h"
#include "session.h"
#include "source.h"
#include "stats.h"

static int __init pathprof_init(void)
{
	int err;

	err = pp_swlbr_init();
	if (err)
		return err;
	err = pp_events_init();
	if (err)
		goto out_swlbr;
	err = pp_control_init();
	if (err)
		goto out_events;
	pp_stats_init();
	return 0;

out_events:
	pp_events_exit();
out_swlbr:
	pp_swlbr_exit();
	return err;
}

static void __exit pathprof_exit(void)
{
	pp_stats_release();
	pp_control_exit();
	pp_events_exit();
	pp_swlbr_exit();
}

module_init(pathprof_init);
module_exit(pathprof_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Branch windows, compressed where they arise");
MODULE_AUTHOR("The pathprof developers");
