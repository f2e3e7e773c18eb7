// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The core's compressors behind the library's interface, and the notation that names them. */
#include "pathprof/compress.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/pp_front.h"

struct pathprof_compressor {
	struct pp_compress_config config;
	uint32_t flushed;    /* slots of the table behind, or in front, already read out */
	uint32_t front_size; /* 0: no table in front */
	struct pp_compress state;
	struct pp_front front;
};

/* A decimal number without sign or leading junk; false unless 1 <= n <= max. */
static bool parse_number(const char **at, uint32_t max, uint32_t *ret_number)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	while (isdigit((unsigned char)**at)) {
		n = n * 10 + (uint64_t)(*(*at)++ - '0');
		if (n > UINT32_MAX)
			return false;
	}
	if (n < 1 || n > max)
		return false;
	*ret_number = (uint32_t)n;
	return true;
}

static bool accept(const char **at, const char *token)
{
	size_t len = strlen(token);

	if (strncmp(*at, token, len) != 0)
		return false;
	*at += len;
	return true;
}

/* R256, P256, PR256 or CR256. */
static bool parse_sampler(const char **at, struct pp_compress_config *config)
{
	if (accept(at, "CR"))
		config->sampler = PP_SAMPLER_COUNTING_RANDOM;
	else if (accept(at, "R"))
		config->sampler = PP_SAMPLER_RANDOM;
	else if (accept(at, "P"))
		config->sampler = PP_SAMPLER_PERIODIC;
	else
		return false;
	if (config->sampler == PP_SAMPLER_PERIODIC && accept(at, "R"))
		config->phased = 1;
	return parse_number(at, UINT32_MAX, &config->rate);
}

/* A number of entries, ways << *ret_bits and no more than the tables hold. */
static bool parse_size(const char **at, uint32_t ways, uint32_t *ret_bits)
{
	uint32_t n;

	if (!parse_number(at, PP_SPLIT_MAX, &n) || n % ways)
		return false;
	n /= ways;
	if (n & (n - 1))
		return false;
	*ret_bits = (uint32_t)__builtin_ctz(n);
	return true;
}

static bool parse_first_level(const char **at, struct pp_compress_config *config)
{
	if (accept(at, "H["))
		return parse_sampler(at, config) && accept(at, "]") &&
		       parse_size(at, 1, &config->bits);
	if (!accept(at, "T["))
		return parse_sampler(at, config);
	config->sampler = PP_SAMPLER_TAGGED;
	return parse_number(at, UINT32_MAX, &config->rate) && accept(at, "]") &&
	       parse_size(at, config->tagged.ways, &config->bits);
}

/* F64 in front of anything but T, or A16 behind anything; never both. */
static bool parse_levels(const char **at, struct pp_compress_config *config,
			 uint32_t *ret_front_size)
{
	uint32_t front_size = 0;

	if (accept(at, "F") && (!parse_number(at, PP_FRONT_MAX, &front_size) ||
				front_size < PP_FRONT_WAYS || (front_size & (front_size - 1))))
		return false;
	if (!parse_first_level(at, config))
		return false;
	if (!front_size && accept(at, "A") && !parse_number(at, PP_ASSOC_MAX, &config->assoc_size))
		return false;
	*ret_front_size = front_size;
	return !**at && !(front_size && config->sampler == PP_SAMPLER_TAGGED);
}

static int parse_notation(const char *notation, struct pp_compress_config *config,
			  uint32_t *ret_front_size, struct pathprof_error *error)
{
	const char *at = notation;

	if (!parse_levels(&at, config, ret_front_size))
		return pathprof_fail(error, -EINVAL,
				     "compressor '%s': not understood from '%s' on; write R256, "
				     "P256, PR256, CR256, H[P256]2048 or T[256]2048 (tables: a "
				     "power of two, at most %u), and A16 (at most %u) behind it or "
				     "F64 (a power of two, %u to %u; not with T or A) before it if "
				     "wanted",
				     notation, at, PP_SPLIT_MAX, PP_ASSOC_MAX, PP_FRONT_WAYS,
				     PP_FRONT_MAX);
	return 0;
}

static int set_options(struct pp_compress_config *config,
		       const struct pathprof_compress_options *options,
		       struct pathprof_error *error)
{
	config->tagged.ways = options->ways ? options->ways : 2;
	config->tag_bits = options->tag_bits ? options->tag_bits : 2;
	config->tagged.replace = options->replace ? options->replace : 7;
	if (config->tagged.ways > PP_TAGGED_WAYS_MAX)
		return pathprof_fail(error, -EINVAL, "ways: %u is above %u", config->tagged.ways,
				     PP_TAGGED_WAYS_MAX);
	if (config->tag_bits > 8)
		return pathprof_fail(error, -EINVAL, "tag bits: %u is above 8", config->tag_bits);
	if (config->tagged.replace > UINT16_MAX)
		return pathprof_fail(error, -EINVAL, "replace: %u is above %u",
				     config->tagged.replace, UINT16_MAX);
	return 0;
}

static int read_config(struct pp_compress_config *ret_config, uint32_t *ret_front_size,
		       const char *notation, const struct pathprof_compress_options *options,
		       struct pathprof_error *error)
{
	static const struct pathprof_compress_options defaults;
	struct pp_compress_config config = {0};
	int r;

	if (!options)
		options = &defaults;
	r = set_options(&config, options, error);
	if (r == 0)
		r = parse_notation(notation, &config, ret_front_size, error);
	if (r < 0)
		return r;
	config.tagged.rate = config.rate;
	config.tagged.evict = options->evict ? options->evict : config.rate / 2;
	*ret_config = config;
	return 0;
}

int pathprof_compressor_new(struct pathprof_compressor **ret_compressor, const char *notation,
			    const struct pathprof_compress_options *options,
			    struct pathprof_error *error)
{
	struct pp_compress_config config = {0};
	struct pathprof_compressor *c;
	uint32_t front_size = 0;
	int r = read_config(&config, &front_size, notation, options, error);

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return pathprof_fail(error, -ENOMEM, "compressor '%s': out of memory", notation);
	c->config = config;
	c->front_size = front_size;
	pp_compress_init(&c->state, &config, options ? options->seed : 0);
	*ret_compressor = c;
	return 0;
}

int pathprof_compress_read(struct pathprof_compress_form *ret_form, const char *notation,
			   struct pathprof_error *error)
{
	struct pp_compress_config config = {0};
	uint32_t front_size = 0;
	int r = read_config(&config, &front_size, notation, NULL, error);

	if (r < 0)
		return r;
	*ret_form = (struct pathprof_compress_form){
		.sampler = config.sampler,
		.rate = config.rate,
		.bits = config.bits,
		.assoc_size = config.assoc_size,
		.front_size = front_size,
		.phased = config.phased,
		.ways = config.tagged.ways,
		.tag_bits = config.tag_bits,
		.evict = config.tagged.evict,
		.replace = config.tagged.replace,
	};
	return 0;
}

void pathprof_compressor_free(struct pathprof_compressor *compressor)
{
	free(compressor);
}

static struct pathprof_message from_core(const struct pp_message *m)
{
	return (struct pathprof_message){m->tuple.pc, m->tuple.word, m->count};
}

static bool step(struct pathprof_compressor *c, const struct pp_tuple *tuple,
		 struct pp_message *ret_message)
{
	if (c->front_size)
		return pp_front_step(&c->front, c->front_size, &c->state, &c->config, tuple,
				     ret_message);
	return pp_compress_step(&c->state, &c->config, tuple, ret_message);
}

bool pathprof_compressor_step(struct pathprof_compressor *compressor, uint64_t pc, uint64_t word,
			      struct pathprof_message *ret_message)
{
	struct pp_tuple tuple = {pc, word};
	struct pp_message message = {{0, 0}, 0}; /* gcc cannot follow who filled it */

	if (!step(compressor, &tuple, &message))
		return false;
	*ret_message = from_core(&message);
	return true;
}

/* Removes the next entry from the table in front that is not empty. */
static bool flush_front(struct pathprof_compressor *c, struct pathprof_message *ret_message)
{
	while (c->flushed < c->front_size) {
		struct pp_front_entry *e = &c->front.entry[c->flushed++];

		if (!e->count)
			continue;
		*ret_message = (struct pathprof_message){e->tuple.pc, e->tuple.word, e->count};
		*e = (struct pp_front_entry){0};
		return true;
	}
	c->flushed = 0;
	return false;
}

bool pathprof_compressor_flush(struct pathprof_compressor *compressor,
			       struct pathprof_message *ret_message)
{
	struct pp_assoc *assoc = &compressor->state.assoc;

	if (compressor->front_size)
		return flush_front(compressor, ret_message);
	if (compressor->flushed >= assoc->used) {
		assoc->used = compressor->flushed = 0;
		return false;
	}
	*ret_message = from_core(&assoc->entry[compressor->flushed++]);
	return true;
}

void pathprof_hash_init(struct pathprof_hash *ret_hash)
{
	pp_hash_permutation(ret_hash->permutation);
}

uint64_t pathprof_hash_index(const struct pathprof_hash *hash, uint64_t pc, uint64_t word,
			     unsigned int bits)
{
	return pp_hash_index_plain(hash->permutation, pc, word, bits);
}
