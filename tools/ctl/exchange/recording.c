// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings of other tools: see recording.h. */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"

int recording_open(const char *name, int *ret_fd, struct pathprof_error *error)
{
	int fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return pathprof_fail(error, -errno, "%s: %s", name, strerror(errno));
	*ret_fd = fd;
	return 0;
}

void recording_tell(const char *name, const struct pathprof_recording *recording)
{
	struct pathprof_recording_stats stats;
	struct pathprof_recording_info info;

	pathprof_recording_stats(recording, &stats);
	pathprof_recording_info(recording, &info);
	if (info.damaged)
		ctl_note("%s: damaged in it, and done without: %s", name, info.damaged);
	if (stats.truncated)
		ctl_note("%s: ends in the middle of a record: its writer was killed; read as far "
			 "as it goes",
			 name);
	if (stats.lost)
		ctl_note("%s: the recorder lost %" PRIu64 " %s, as the file says", name, stats.lost,
			 pp_plural(stats.lost, "event", "events"));
}

int recording_tell_loss(const struct ctl_options *options, const struct pathprof_ledger *ledger,
			const char *rest)
{
	uint64_t max_ppm = options->max_loss ? options->max_loss_ppm : PATHPROF_LEDGER_LOSS_PPM;
	uint64_t loss_ppm = pathprof_ledger_loss_ppm(ledger);

	if (loss_ppm <= max_ppm)
		return CTL_OK;
	if (!options->no_report)
		ctl_note("%.1f %% of what was asked for is left out, more than --max-loss: %s, and "
			 "recording longer adds nothing that is missing",
			 (double)loss_ppm / 1e4, rest);
	return CTL_LOSS;
}
