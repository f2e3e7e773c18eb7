// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text profiles as they come: two of them out of the input, compared, measured and combined by
 * every method.
 *
 * Beyond "no crash": shares lie in 0..1, divergence is a number that is not negative, the interval
 * is in order, a combination is in order and holds what its inputs touched. A property that fails
 * aborts.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pathprof/combine.h"
#include "pathprof/compare.h"
#include "pathprof/drift.h"
#include "pathprof/profile_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

static bool is_share(double x)
{
	return x >= 0 && x <= 1 + 1e-12;
}

static void check_figures(const struct pathprof_distribution *p,
			  const struct pathprof_distribution *q)
{
	struct pathprof_branch_comparison branches;
	struct pathprof_relative_entropy kl;
	double angle, similarity;

	REQUIRE(is_share(pathprof_distribution_overlap(p, q)));
	REQUIRE(pathprof_entropy_bits(p) >= 0);
	if (pathprof_relative_entropy(p, q, 0, &kl) < 0) {
		REQUIRE(!(p->total > 0) || !(q->total > 0));
		return;
	}
	REQUIRE(isfinite(kl.bits) && kl.bits >= 0 && kl.epsilon > 0);
	REQUIRE(pathprof_angle_degrees(p, q, &angle) == 0 && angle >= 0 && angle <= 90.0000001);
	REQUIRE(pathprof_similarity(p, q, &similarity) == 0 && is_share(similarity));
	REQUIRE(pathprof_compare_branches(p, q, &branches) == 0);
	REQUIRE(is_share(branches.accuracy) && branches.accuracy <= branches.accuracy_own + 1e-12);
	REQUIRE(is_share(branches.conflict.dynamic_share + 1 - branches.coverage.dynamic_share));
}

static void check_drift(const struct pathprof_distribution *p,
			const struct pathprof_distribution *q, uint8_t choice)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	struct pathprof_drift drift;
	int r;

	settings.replicates = choice % 2 * 10;
	settings.dispersion = 1 + choice / 16;
	r = pathprof_drift_measure(&drift, p, q, &settings);
	REQUIRE(r == 0 || r == -EDOM || r == -ENODATA);
	if (r < 0)
		return;
	REQUIRE(isfinite(drift.null_bits) && drift.null_bits >= 0);
	REQUIRE(drift.null_limit_bits >= drift.null_bits);
	REQUIRE(drift.kl_low_bits >= 0 && drift.kl_high_bits >= drift.kl_low_bits);
	REQUIRE(isfinite(drift.kl_high_bits));
}

static void check_combined(const struct pathprof_distribution *p,
			   const struct pathprof_distribution *q, bool branches)
{
	const struct pathprof_distribution *inputs[] = {p, q};

	for (unsigned int m = 0; m < PATHPROF_COMBINE_CNT; m++) {
		struct pathprof_combined c;
		struct pathprof_distribution d;
		int r = pathprof_combine(&c, (enum pathprof_combine_method)m, inputs, 2, branches);

		REQUIRE(r == 0 || r == -ENODATA || r == -ERANGE);
		if (r < 0)
			continue;
		REQUIRE(pathprof_distribution_init(&d, c.events, c.cnt) == 0);
		REQUIRE(d.cnt <= p->touched_cnt + q->touched_cnt);
		REQUIRE(m != PATHPROF_COMBINE_KL || fabsl(d.total - 1) < 1e-9L);
		free(c.events);
	}
}

/* A file of those bytes; its name. */
static int write_bytes(const uint8_t *data, size_t size, char *ret_name, size_t name_size)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(ret_name, name_size, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t choice = size ? data[0] : 0;
	size_t half = size / 2;
	char names[2][64];
	const char *const files[] = {names[0], names[1]};
	int first = write_bytes(data + (size > 0), size ? (half ? half - 1 : 0) : 0, names[0],
				sizeof(names[0]));
	int second = write_bytes(data + half, size - half, names[1], sizeof(names[1]));
	struct pathprof_text_profiles *profiles;
	struct pathprof_error error = {""};

	if (pathprof_text_profiles_read(
		    &profiles, files, 2,
		    choice % 4 == 3 ? PATHPROF_TEXT_BRANCHES : PATHPROF_TEXT_ANY, &error) < 0) {
		REQUIRE(error.text[0] && !strchr(error.text, '\n'));
	} else {
		const struct pathprof_distribution *p = pathprof_text_profile(profiles, 0);
		const struct pathprof_distribution *q = pathprof_text_profile(profiles, 1);

		check_figures(p, q);
		check_drift(p, q, choice);
		check_combined(p, q, pathprof_text_are_branches(profiles));
		pathprof_text_profiles_free(profiles);
	}
	close(first);
	close(second);
	return 0;
}
