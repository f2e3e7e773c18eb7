// SPDX-License-Identifier: GPL-2.0-or-later
/* Once a session; see chain_config.h. */
#include "chain_config.h"

#include <linux/errno.h>
#include <linux/string.h>

#include "pp_segment.h"

#define RATE_MAX      65536
#define SUBSTREAM_MAX 11 /* log2 */

static const struct pathprof_kmod_chain defaults = {
	.sampler = PP_SAMPLER_PERIODIC,
	.rate = 256,
	.substream_bits = 11,
	.phased = 1,
	.max_length = PP_PATH_LENGTH_MAX,
	.hpt_bits = 7,
	.hpt_ways = 4,
	.hpt_policy = PP_HPT_TAIL,
};

/* A branch stack brings more, and each message of a segment may cost a DEFINE as well. */
static const struct pathprof_kmod_chain segment_defaults = {
	.sampler = PP_SAMPLER_PERIODIC,
	.rate = 256,
	.substream_bits = 11,
	.assoc_size = PP_ASSOC_MAX,
	.phased = 1,
	.max_length = PP_SEGMENT_LENGTH_MAX,
	.hpt_bits = 9,
	.hpt_ways = 4,
	.hpt_policy = PP_HPT_TAIL,
};

static int check_compressor(const struct pathprof_kmod_chain *c)
{
	if (c->rate < 1 || c->rate > RATE_MAX || c->sampler > PP_SAMPLER_TAGGED)
		return -EINVAL;
	if (c->substream_bits > SUBSTREAM_MAX || c->assoc_size > PP_ASSOC_MAX || c->phased > 1)
		return -EINVAL;
	if (c->phased && c->sampler != PP_SAMPLER_PERIODIC)
		return -EINVAL;
	return 0;
}

static int check_tagged(const struct pathprof_kmod_chain *c)
{
	if (c->sampler != PP_SAMPLER_TAGGED)
		return c->tag_bits || c->ways || c->evict || c->replace ? -EINVAL : 0;
	if (c->tag_bits < 1 || c->tag_bits > 8 || c->ways < 1 || c->ways > PP_TAGGED_WAYS_MAX)
		return -EINVAL;
	if (c->evict < 1 || c->evict > 255 || c->replace < 1 || c->replace > 255)
		return -EINVAL;
	return (c->ways << c->substream_bits) > PP_SPLIT_MAX ? -EINVAL : 0;
}

static int check_paths(const struct pathprof_kmod_chain *c)
{
	if (c->map > PATHPROF_MAP_WPP || c->max_length < 1 || c->max_length > PP_PATH_LENGTH_MAX)
		return -EINVAL;
	return 0;
}

/* How long a segment may be is not to be chosen. */
static int check_segments(const struct pathprof_kmod_chain *c)
{
	if (c->map || (c->max_length && c->max_length != PP_SEGMENT_LENGTH_MAX))
		return -EINVAL;
	return 0;
}

static int check_table(const struct pathprof_kmod_chain *c)
{
	if (c->hpt_ways < 1 || c->hpt_ways > PP_HPT_WAYS_MAX || c->hpt_policy > PP_HPT_TAIL)
		return -EINVAL;
	return c->hpt_bits > 11 || (c->hpt_ways << c->hpt_bits) > PP_HPT_MAX ? -EINVAL : 0;
}

static void fill(const struct pathprof_kmod_chain *c, struct pp_chain_config *ret_config)
{
	struct pp_compress_config *compress = &ret_config->compress;

	memset(ret_config, 0, sizeof(*ret_config));
	compress->sampler = c->sampler;
	compress->rate = c->rate;
	compress->bits = c->substream_bits;
	compress->assoc_size = c->assoc_size;
	compress->tag_bits = c->tag_bits;
	compress->phased = c->phased;
	compress->tagged.rate = c->rate;
	compress->tagged.ways = c->ways;
	compress->tagged.evict = c->evict;
	compress->tagged.replace = c->replace;
	if (c->map == PATHPROF_MAP_WPP)
		pp_path_config_wpp(&ret_config->path);
	else
		pp_path_config_bl(&ret_config->path);
	ret_config->path.max_length = c->max_length;
	ret_config->hpt.bits = c->hpt_bits;
	ret_config->hpt.ways = c->hpt_ways;
	ret_config->hpt.policy = c->hpt_policy;
}

int pp_chain_config_read(const struct pathprof_kmod_chain *chain, bool segments,
			 struct pp_chain_config *ret_config)
{
	int err;

	if (!chain->rate) {
		if (memchr_inv(chain, 0, sizeof(*chain)))
			return -EINVAL;
		chain = segments ? &segment_defaults : &defaults;
	}
	err = check_compressor(chain);
	if (!err)
		err = check_tagged(chain);
	if (!err)
		err = segments ? check_segments(chain) : check_paths(chain);
	if (!err)
		err = check_table(chain);
	if (!err)
		fill(chain, ret_config);
	return err;
}
