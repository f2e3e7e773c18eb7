/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A twin of what the module has for one CPU: its chain in user space, by the same configuration and
 * from the same seeds, the output of both for the same windows, and the records kept to repeat it.
 * The twin's side is computed here from the interface alone.
 *
 * Workload: some thousand windows. One owner.
 */
#ifndef VM_TWIN_H
#define VM_TWIN_H

#include "../../../libprofile/core/pp_chain.h"
#include "lines.h"
#include "reader.h"

#define TWIN_CPU_MAX 8
#define TWIN_CONTEXT ((uint64_t)1 << 48) /* the number of the one address space there is */

/* But for the paths' part, which branch stacks have no use for. */
static inline void twin_config(const struct pathprof_kmod_chain *chain,
			       struct pp_chain_config *ret_config)
{
	memset(ret_config, 0, sizeof(*ret_config));
	ret_config->compress = (struct pp_compress_config){.sampler = chain->sampler,
							   .rate = chain->rate,
							   .bits = chain->substream_bits,
							   .assoc_size = chain->assoc_size,
							   .tag_bits = chain->tag_bits,
							   .phased = chain->phased};
	ret_config->compress.tagged.rate = chain->rate;
	ret_config->compress.tagged.ways = chain->ways;
	ret_config->compress.tagged.evict = chain->evict;
	ret_config->compress.tagged.replace = chain->replace;
	ret_config->hpt.bits = chain->hpt_bits;
	ret_config->hpt.ways = chain->hpt_ways;
	ret_config->hpt.policy = chain->hpt_policy;
}

/* Initializes the tables as the module does when a session begins. */
static inline void twin_begin(struct pp_chain *twin, const struct pp_chain_config *config,
			      uint64_t seed, uint32_t cpu)
{
	memset(twin, 0, sizeof(*twin));
	pp_compress_init(&twin->compress, &config->compress, seed + cpu);
	pp_hpt_init(&twin->hpt, ~seed - cpu);
}

static inline void twin_tuple(struct pp_chain *twin, const struct pp_chain_config *config,
			      const struct pp_tuple *tuple, struct side *made)
{
	struct pp_message message = {0};

	if (pp_compress_step(&twin->compress, &config->compress, tuple, &message))
		line_add(made, PATHPROF_RECORD_TUPLE, message.tuple.pc, message.tuple.word,
			 message.count);
}

/* The tuples that are still being counted, as a DRAIN or STOP writes them. */
static inline void twin_drain_tuples(struct pp_chain *twin, struct side *made)
{
	struct pp_assoc *assoc = &twin->compress.assoc;

	for (uint32_t i = 0; i < assoc->used; i++)
		line_add(made, PATHPROF_RECORD_TUPLE, assoc->entry[i].tuple.pc,
			 assoc->entry[i].tuple.word, assoc->entry[i].count);
	memset(assoc, 0, sizeof(*assoc));
}

/* Records one behind the other, as they came. */
struct kept {
	unsigned char *bytes;
	size_t len, room;
};

static inline void kept_add(struct kept *kept, struct reader *reader,
			    const struct pathprof_record *record)
{
	if (kept->len + record->size_bytes > kept->room) {
		reader_complain(reader, "too many windows to keep", kept->len);
		return;
	}
	memcpy(kept->bytes + kept->len, record, record->size_bytes);
	kept->len += record->size_bytes;
}

/* The record at *at, which is moved behind it; NULL behind the last. */
static inline struct pathprof_record *kept_next(const struct kept *kept, size_t *at)
{
	struct pathprof_record *record = (void *)(kept->bytes + *at);

	if (*at >= kept->len)
		return NULL;
	*at += record->size_bytes;
	return record;
}

#endif
