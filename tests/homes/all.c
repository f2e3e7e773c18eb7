/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Every step of the core behind a function of its own, at most five arguments each (BPF's limit),
 * so that a build for a home sees all code of every header and nothing folds away. Built by
 * build.sh for each home; never run.
 *
 * Locking and ownership: those of the headers.
 */
#include "pp_assoc.h"
#include "pp_chain.h"
#include "pp_compress.h"
#include "pp_convergent.h"
#include "pp_decode.h"
#include "pp_defined.h"
#include "pp_front.h"
#include "pp_hash.h"
#include "pp_hpt.h"
#include "pp_insn_len.h"
#include "pp_path_stack.h"
#include "pp_port.h"
#include "pp_random.h"
#include "pp_segment.h"
#include "pp_split.h"
#include "pp_tagged.h"
#include "pp_tnv.h"
#include "pp_tuples.h"
#include "pp_types.h"

__u64 home_fold(__u64 x, __u32 bits);
__u64 home_random(struct pp_random *r, __u64 seed);
void home_hash_init(struct pp_hash *h, __u32 bits);
__u64 home_hash_plain(const struct pp_hash *h, const struct pp_tuple *t, __u32 bits);
__u32 home_hash_tag(const struct pp_tuple *t, __u32 bits);
__u32 home_hash_index(const struct pp_hash *h, const struct pp_tuple *t);
__u32 home_hash_index_near(struct pp_hash *h, const struct pp_tuple *t);
__u32 home_split_step(struct pp_split *s, __u32 index, __u32 sampler, __u32 rate);
__u32 home_tagged_step(struct pp_tagged *t, const struct pp_tagged_config *config, __u32 set,
		       __u32 tag);
__u32 home_assoc_step(struct pp_assoc *a, __u32 size, const struct pp_message *m,
		      struct pp_message *ret_evicted);
void home_compress_init(struct pp_compress *c, const struct pp_compress_config *config, __u64 seed);
__u32 home_compress_step(struct pp_compress *c, const struct pp_compress_config *config,
			 const struct pp_tuple *tuple, struct pp_message *ret_message);
struct home_front {
	struct pp_front front;
	struct pp_compress compress;
};
__u32 home_front_step(struct home_front *f, __u32 size, const struct pp_compress_config *config,
		      const struct pp_tuple *tuple, struct pp_message *ret_message);
void home_path_config(struct pp_path_config *ret_bl, struct pp_path_config *ret_wpp);
void home_path_stack_clear(struct pp_path_stack *s);
__u32 home_path_stack_step(struct pp_path_stack *s, const struct pp_path_config *config,
			   const struct pp_branch *b, struct pp_path *ret_path);
__u32 home_hpt_step(struct pp_hpt *h, const struct pp_hpt_config *config,
		    const struct pp_path *path, __u64 count, struct pp_hpt_entry *ret_replaced);
__u32 home_insn_len(const __u8 *code, __u32 len);
__u32 home_insn_len_by_form(const __u8 *code, __u32 len);
void home_segment_cut(struct pp_segment_state *s);
__u32 home_segment_step(struct pp_segment_state *s, const struct pp_taken *b,
			struct pp_segment *ret_segment);
__u32 home_defined_remember(struct pp_defined *d, __u64 start, __u64 desc);
void home_defined_forget(struct pp_defined *d, __u64 start, __u64 desc);
void home_tuple_plan(struct pp_tuple_plan *p, const struct pp_hash *h, __u32 kinds, __u32 profiles,
		     __u32 context);
__u32 home_tuple_near(struct pp_hash *h, __u64 from, __u64 to);
__u32 home_tuple_sample(struct pp_compress *c, const struct pp_compress_config *config, __u32 index,
			const struct pp_tuple *tuple);
void home_tnv_add(struct pp_tnv *t, const struct pp_tnv_config *config, __u64 value, __u64 count);
void home_convergent_init(struct pp_convergent *c, __u64 seed);
__u32 home_convergent_step(struct pp_convergent *c, const struct pp_convergent_config *config,
			   __u64 value);
void home_decode(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn);

__u64 home_fold(__u64 x, __u32 bits)
{
	return pp_fold(x, bits);
}

__u64 home_random(struct pp_random *r, __u64 seed)
{
	pp_random_init(r, seed);
	return pp_random_next(r);
}

void home_hash_init(struct pp_hash *h, __u32 bits)
{
	pp_hash_init(h, bits);
}

__u64 home_hash_plain(const struct pp_hash *h, const struct pp_tuple *t, __u32 bits)
{
	return pp_hash_index_plain(h->permutation, t->pc, t->word, bits);
}

__u32 home_hash_tag(const struct pp_tuple *t, __u32 bits)
{
	return pp_hash_tag(t->pc, t->word, bits);
}

__u32 home_hash_index(const struct pp_hash *h, const struct pp_tuple *t)
{
	return pp_hash_index(h, t->pc, t->word);
}

__u32 home_hash_index_near(struct pp_hash *h, const struct pp_tuple *t)
{
	return pp_hash_index_near(h, t->pc, t->word);
}

__u32 home_split_step(struct pp_split *s, __u32 index, __u32 sampler, __u32 rate)
{
	return pp_split_step(s, index, sampler, rate);
}

__u32 home_tagged_step(struct pp_tagged *t, const struct pp_tagged_config *config, __u32 set,
		       __u32 tag)
{
	return pp_tagged_step(t, config, set, tag);
}

__u32 home_assoc_step(struct pp_assoc *a, __u32 size, const struct pp_message *m,
		      struct pp_message *ret_evicted)
{
	return pp_assoc_step(a, size, &m->tuple, m->count, ret_evicted);
}

void home_compress_init(struct pp_compress *c, const struct pp_compress_config *config, __u64 seed)
{
	pp_compress_init(c, config, seed);
}

__u32 home_compress_step(struct pp_compress *c, const struct pp_compress_config *config,
			 const struct pp_tuple *tuple, struct pp_message *ret_message)
{
	return pp_compress_step(c, config, tuple, ret_message);
}

__u32 home_front_step(struct home_front *f, __u32 size, const struct pp_compress_config *config,
		      const struct pp_tuple *tuple, struct pp_message *ret_message)
{
	return pp_front_step(&f->front, size, &f->compress, config, tuple, ret_message);
}

void home_path_config(struct pp_path_config *ret_bl, struct pp_path_config *ret_wpp)
{
	pp_path_config_bl(ret_bl);
	pp_path_config_wpp(ret_wpp);
}

void home_path_stack_clear(struct pp_path_stack *s)
{
	pp_path_stack_clear(s);
}

__u32 home_path_stack_step(struct pp_path_stack *s, const struct pp_path_config *config,
			   const struct pp_branch *b, struct pp_path *ret_path)
{
	return pp_path_stack_step(s, config, b, ret_path);
}

__u32 home_hpt_step(struct pp_hpt *h, const struct pp_hpt_config *config,
		    const struct pp_path *path, __u64 count, struct pp_hpt_entry *ret_replaced)
{
	return pp_hpt_step(h, config, path->start, path->desc, count, ret_replaced);
}

__u32 home_insn_len(const __u8 *code, __u32 len)
{
	return pp_insn_len(code, len);
}

__u32 home_insn_len_by_form(const __u8 *code, __u32 len)
{
	return pp_insn_len_by_form(code, len);
}

void home_segment_cut(struct pp_segment_state *s)
{
	pp_segment_cut(s);
}

__u32 home_segment_step(struct pp_segment_state *s, const struct pp_taken *b,
			struct pp_segment *ret_segment)
{
	return pp_segment_step(s, b, ret_segment);
}

__u32 home_defined_remember(struct pp_defined *d, __u64 start, __u64 desc)
{
	return pp_defined_remember(d, start, desc);
}

void home_defined_forget(struct pp_defined *d, __u64 start, __u64 desc)
{
	pp_defined_forget(d, start, desc);
}

void home_tuple_plan(struct pp_tuple_plan *p, const struct pp_hash *h, __u32 kinds, __u32 profiles,
		     __u32 context)
{
	pp_tuple_plan_init(p, h, kinds, profiles, context);
}

__u32 home_tuple_near(struct pp_hash *h, __u64 from, __u64 to)
{
	return pp_tuple_near(h, from, to);
}

__u32 home_tuple_sample(struct pp_compress *c, const struct pp_compress_config *config, __u32 index,
			const struct pp_tuple *tuple)
{
	return pp_tuple_sample(c, config, index, tuple->pc, tuple->word);
}

void home_tnv_add(struct pp_tnv *t, const struct pp_tnv_config *config, __u64 value, __u64 count)
{
	pp_tnv_add(t, config, value, count);
}

void home_convergent_init(struct pp_convergent *c, __u64 seed)
{
	pp_convergent_init(c, seed);
}

__u32 home_convergent_step(struct pp_convergent *c, const struct pp_convergent_config *config,
			   __u64 value)
{
	return pp_convergent_step(c, config, value);
}

void home_decode(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	pp_decode(code, len, pc, ret_insn);
}
