// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Recursive descent: from the starts of functions to all reachable code, instruction by
 * instruction.
 *
 * Whether code behind a call runs depends on the callee. A call waits in the callee's list until a
 * return of the callee is found, or a jump out of it to a function that returns. Functions that are
 * still waited for at the end never return (the least fixpoint). A function with code that was not
 * understood counts as returning, so an error adds an edge rather than loses one. So does one that
 * goes over to another stack.
 *
 * A jump from one function into the middle of another is looked at when all else is read: it must
 * not cut the other's instructions in two. A jump within a function may, since programs jump over a
 * lock prefix. Then both readings are kept.
 */
#include "pp_builder.h"

#include <string.h>

#include "base/search.h"

#define TELL_BYTES (1u << 20)

void pp_explore_push(struct pp_builder *b, uint64_t vaddr, uint32_t range)
{
	struct pp_place place = {vaddr, range};

	if (!pp_vector_add(&b->places, &place))
		b->failed = true;
}

static void tell_progress(struct pp_builder *b, uint32_t len)
{
	b->done_bytes += len;
	if (!b->progress || b->done_bytes - b->told_bytes < TELL_BYTES)
		return;
	b->told_bytes = b->done_bytes;
	b->progress(b->context, b->done_bytes < b->total_bytes ? b->done_bytes : b->total_bytes,
		    b->total_bytes);
}

/* ---------------------------------------------------------------- who returns */

static void wait_for(struct pp_builder *b, uint32_t callee, uint64_t vaddr, uint32_t range)
{
	struct pp_state *state = pp_owner_state(b, pp_owner_root(b, callee));
	struct pp_waiter waiter = {vaddr, range, state->waiters};

	if (b->waiters.cnt >= PP_NONE || !pp_vector_add(&b->waiters, &waiter)) {
		b->failed = true;
		return;
	}
	state->waiters = (uint32_t)b->waiters.cnt - 1;
}

static bool returns(const struct pp_builder *b, uint32_t range)
{
	return pp_owner_state(b, pp_owner_root(b, range))->returns;
}

/*
 * Takes one waiter off, and puts those of a function that now returns before the rest: a list of
 * lists without a stack.
 */
static uint32_t wake(struct pp_builder *b, uint32_t at)
{
	struct pp_waiter waiter = *PP_AT(b->waiters, struct pp_waiter, at);
	struct pp_state *state;
	uint32_t last;

	if (waiter.vaddr) {
		pp_explore_push(b, waiter.vaddr, waiter.range);
		return waiter.next;
	}
	state = pp_owner_state(b, pp_owner_root(b, waiter.range));
	if (state->returns || state->never)
		return waiter.next;
	state->returns = true;
	last = state->waiters;
	if (last == PP_NONE)
		return waiter.next;
	/* The woken function's list is walked first; its end is linked to what is left. */
	at = last;
	state->waiters = PP_NONE;
	while (PP_AT(b->waiters, struct pp_waiter, last)->next != PP_NONE)
		last = PP_AT(b->waiters, struct pp_waiter, last)->next;
	PP_AT(b->waiters, struct pp_waiter, last)->next = waiter.next;
	return at;
}

void pp_explore_returns(struct pp_builder *b, uint32_t range)
{
	struct pp_state *state = pp_owner_state(b, pp_owner_root(b, range));
	uint32_t at = state->waiters;

	if (state->returns || state->never)
		return;
	state->returns = true;
	state->waiters = PP_NONE;
	while (at != PP_NONE)
		at = wake(b, at);
}

/* range continues in another one without a call: it returns if that does. */
static void return_with(struct pp_builder *b, uint32_t range, uint32_t other)
{
	if (pp_owner_root(b, range) == pp_owner_root(b, other))
		return;
	if (returns(b, other))
		pp_explore_returns(b, range);
	else
		wait_for(b, other, 0, range);
}

/* ---------------------------------------------------------------- where transfers lead */

static void cross(struct pp_builder *b, uint32_t from, uint32_t to, uint64_t target)
{
	struct pp_crossing crossing = {target, from, to};

	if (!pp_vector_add(&b->crossings, &crossing))
		b->failed = true;
}

static uint32_t range_or_guess(struct pp_builder *b, uint64_t vaddr)
{
	uint32_t range = pp_owner_of(b, vaddr);

	return range == PP_NONE ? pp_owner_guess(b, vaddr) : range;
}

static bool is_within(const struct pp_builder *b, uint32_t range, uint64_t vaddr)
{
	const struct pp_state *state = pp_owner_state(b, range);

	return vaddr >= state->start && vaddr < state->end;
}

/* All guesses of a gap extend to its end: the start of another guess belongs to that one. */
static bool is_own(struct pp_builder *b, uint32_t range, uint64_t vaddr)
{
	const uint8_t *mark;

	if (!is_within(b, range, vaddr))
		return false;
	if (range < b->ranges.cnt || vaddr == pp_owner_state(b, range)->start)
		return true;
	mark = pp_text_mark(&b->text, vaddr);
	return mark && !(*mark & PP_MARK_GUESS);
}

void pp_explore_reach(struct pp_builder *b, uint32_t range, uint64_t target)
{
	uint32_t other;

	if (is_own(b, range, target)) {
		pp_explore_push(b, target, range);
		return;
	}
	other = range_or_guess(b, target);
	if (other == PP_NONE) {
		pp_explore_returns(b, range);
		return;
	}
	return_with(b, range, other);
	pp_owner_join(b, range, other);
	if (pp_owner_root(b, range) == pp_owner_root(b, other))
		pp_explore_push(b, target, other);
	else if (target != pp_owner_state(b, other)->start)
		cross(b, range, other, target);
}

static void give_up(struct pp_builder *b, uint32_t range)
{
	b->stats.broken_cnt++;
	pp_owner_state(b, pp_owner_root(b, range))->flags |= PATHPROF_FUNCTION_BROKEN;
	pp_explore_returns(b, range);
}

/*
 * Extends a range by the padding behind it, which hand-written assembly may fall through into the
 * next function. (Nothing is read behind a call that ends a range.)
 */
static bool grows(struct pp_builder *b, uint32_t range, uint64_t vaddr)
{
	struct pp_insn insn;
	uint64_t end = vaddr;
	uint8_t *mark;

	if (range >= b->ranges.cnt)
		return false;
	while (pp_owner_of(b, end) == PP_NONE && pp_text_is_padding(&b->text, end, end + 1)) {
		mark = pp_text_mark(&b->text, end);
		if (!mark || (*mark & PP_MARK_GUESS))
			break;
		end += pp_text_decode(&b->text, end, &insn);
	}
	pp_owner_state(b, range)->end = end;
	return end > vaddr;
}

static void fall_into(struct pp_builder *b, uint32_t range, uint64_t vaddr)
{
	if (!pp_text_mark(&b->text, vaddr))
		give_up(b, range);
	else if (pp_owner_of(b, vaddr) == PP_NONE && grows(b, range, vaddr))
		pp_explore_push(b, vaddr, range);
	else
		pp_explore_reach(b, range, vaddr);
}

uint64_t pp_explore_pad(const struct pp_builder *b, uint64_t call)
{
	size_t low = pp_first(i, 0, b->pad_cnt, b->pads[i].start > call);

	return low && call < b->pads[low - 1].end ? b->pads[low - 1].pad : 0;
}

const char *pp_explore_import(struct pp_builder *b, uint64_t vaddr, const struct pp_insn *insn)
{
	uint32_t len;
	const uint8_t *bytes = pp_text_bytes(&b->text, vaddr, &len);
	int32_t distance;

	if (!bytes || insn->len < 6 || insn->len > len)
		return NULL;
	/* FF /2 or /4 with [rip + distance], behind any prefixes. */
	if (bytes[insn->len - 6] != 0xff || (bytes[insn->len - 5] & 0xc7) != 0x05)
		return NULL;
	memcpy(&distance, bytes + insn->len - 4, sizeof(distance));
	return pp_data_import(b->code, vaddr + insn->len + (uint64_t)(int64_t)distance);
}

bool pp_explore_goes_on(struct pp_builder *b, uint64_t next, uint64_t end)
{
	return next < end && !pp_text_is_padding(&b->text, next, end);
}

static void flag_setjmp(struct pp_builder *b, uint32_t range, const char *name)
{
	if (name && pp_name_is_setjmp(name))
		pp_owner_state(b, pp_owner_root(b, range))->flags |= PATHPROF_FUNCTION_SETJMP;
}

bool pp_explore_call_returns(struct pp_builder *b, uint64_t vaddr, const struct pp_insn *insn)
{
	const char *name;
	uint32_t callee;

	if (insn->kind == PP_KIND_ICALL) {
		name = pp_explore_import(b, vaddr, insn);
		return !name || !pp_name_is_noreturn(name);
	}
	callee = pp_owner_of(b, insn->target);
	if (callee == PP_NONE)
		callee = pp_map_get(&b->guesses, insn->target);
	return insn->target == vaddr + insn->len || callee == PP_NONE ||
	       insn->target != pp_owner_state(b, callee)->start || returns(b, callee);
}

/* Returns true when the code behind the call is to be read now. */
static bool pass_call(struct pp_builder *b, uint32_t range, uint64_t next, uint64_t target)
{
	uint32_t callee;

	if (target == next)
		return true; /* call to the next instruction, to read the program counter */
	callee = range_or_guess(b, target);
	if (callee == PP_NONE)
		return true;
	if (target != pp_owner_state(b, callee)->start) {
		cross(b, range, callee, target);
		return true;
	}
	pp_owner_state(b, callee)->called = true;
	if (callee < b->ranges.cnt)
		flag_setjmp(b, range, b->ranges.ranges[callee].name);
	if (returns(b, callee))
		return true;
	wait_for(b, callee, next, range);
	return false;
}

static bool pass_any_call(struct pp_builder *b, uint32_t range, uint64_t vaddr,
			  const struct pp_insn *insn)
{
	uint64_t next = vaddr + insn->len, pad = pp_explore_pad(b, vaddr);
	bool goes_on = pp_explore_goes_on(b, next, pp_owner_state(b, range)->end);

	if (pad)
		pp_explore_reach(b, range, pad);
	if (insn->kind == PP_KIND_ICALL) {
		flag_setjmp(b, range, pp_explore_import(b, vaddr, insn));
		return pp_explore_call_returns(b, vaddr, insn) && goes_on;
	}
	/* The callee is noted even if no code of the range follows the call. */
	if (!goes_on) {
		uint32_t callee = range_or_guess(b, insn->target);

		if (callee != PP_NONE)
			pp_owner_state(b, callee)->called = true;
		return false;
	}
	return pass_call(b, range, next, insn->target);
}

/* Returns true when the next instruction may run. */
static bool pass_transfer(struct pp_builder *b, uint32_t range, uint64_t vaddr,
			  const struct pp_insn *insn)
{
	struct pp_place place = {vaddr, range};

	switch (insn->kind) {
	case PP_KIND_COND:
		pp_explore_reach(b, range, insn->target);
		return true;
	case PP_KIND_JMP:
		pp_explore_reach(b, range, insn->target);
		return false;
	case PP_KIND_IJMP:
		if (!pp_vector_add(&b->pending, &place))
			b->failed = true;
		return false;
	case PP_KIND_RET:
		pp_explore_returns(b, range);
		return false;
	default:
		return pass_any_call(b, range, vaddr, insn);
	}
}

/* ---------------------------------------------------------------- reading */

/* Notes the address of a rip-relative lea or, in a file of type ET_EXEC, a 32-bit constant. */
static void note_constant(struct pp_builder *b, uint64_t vaddr, uint32_t insn_len)
{
	uint32_t len;
	const uint8_t *bytes = pp_text_bytes(&b->text, vaddr, &len);
	struct pp_constant constant = {vaddr, 0};
	int32_t distance;
	uint32_t absolute;

	if (!bytes || insn_len < 5)
		return;
	memcpy(&distance, bytes + insn_len - 4, sizeof(distance));
	memcpy(&absolute, bytes + insn_len - 4, sizeof(absolute));
	if (insn_len == 7 && (bytes[0] & 0xf8) == 0x48 && bytes[1] == 0x8d &&
	    (bytes[2] & 0xc7) == 0x05)
		constant.value = vaddr + insn_len + (uint64_t)(int64_t)distance;
	else if (b->non_pic && insn_len <= 7 &&
		 ((bytes[0] & 0xf8) == 0xb8 ||
		  ((bytes[0] & 0xfe) == 0x40 && (bytes[1] & 0xf8) == 0xb8) ||
		  ((bytes[0] & 0xf8) == 0x48 && bytes[1] == 0xc7)))
		constant.value = absolute;
	if (constant.value && !pp_vector_add(&b->constants, &constant))
		b->failed = true;
}

/*
 * Whether an instruction loads rsp from memory that is not of its own frame: then the program goes
 * on with another stack, and comes back here by a jump of whoever takes this one up again, as
 * goroutines do. A frame's own memory is where rsp was kept over a variable array.
 */
static bool switches_stack(struct pp_builder *b, uint64_t vaddr)
{
	uint32_t len, mod, base;
	const uint8_t *bytes = pp_text_bytes(&b->text, vaddr, &len);

	if (!bytes || len < 4 || (bytes[0] & 0xfc) != 0x48 || bytes[1] != 0x8b ||
	    (bytes[2] & 0x38) != 0x20)
		return false;
	mod = bytes[2] >> 6;
	base = (bytes[2] & 7) == 4 ? bytes[3] & 7 : bytes[2] & 7;
	if (mod == 3)
		return false;
	return (bytes[0] & 1) || (base != 4 && base != 5) || (bytes[2] & 0xc7) == 5;
}

static bool is_stop(const struct pp_insn *insn)
{
	return insn->hazard == PP_HAZARD_TRAP || insn->hazard == PP_HAZARD_FAR;
}

/* Instructions behind which the program goes on: int N, a call far (FF /3), and enclu (0F 01 D7)
 * with most of its leaves. */
static bool comes_back(const uint8_t *bytes, uint32_t len)
{
	struct pp_decoder d = {.code = bytes, .len = len < PP_INSN_MAX ? len : PP_INSN_MAX};
	uint32_t modrm;

	pp_decode_prefixes(&d);
	modrm = pp_decoder_peek(&d, 1);
	switch (pp_decoder_peek(&d, 0)) {
	case 0xcd:
		return true;
	case 0xff:
		return (modrm & 0x38) == 0x18;
	case 0x0f:
		return modrm == 0x01 && pp_decoder_peek(&d, 2) == 0xd7;
	default:
		return false;
	}
}

static bool runs_on(struct pp_builder *b, uint64_t vaddr, const struct pp_insn *insn)
{
	uint32_t len;
	const uint8_t *bytes = pp_text_bytes(&b->text, vaddr, &len);

	if (!bytes || insn->kind != PP_KIND_NONE)
		return true;
	return !is_stop(insn) || comes_back(bytes, len);
}

/* Reads one instruction. Returns its length when the next one may run, or 0. */
static uint32_t pass(struct pp_builder *b, uint32_t range, uint64_t vaddr, uint8_t *mark)
{
	struct pp_insn insn;
	uint32_t len = pp_text_decode(&b->text, vaddr, &insn);

	if (!len) {
		give_up(b, range);
		return 0;
	}
	*mark = (uint8_t)(*mark | len);
	b->stats.insn_cnt++;
	tell_progress(b, len);
	if (insn.kind != PP_KIND_NONE) {
		*mark |= PP_MARK_BRANCH;
		return pass_transfer(b, range, vaddr, &insn) ? len : 0;
	}
	if (!runs_on(b, vaddr, &insn)) {
		*mark |= PP_MARK_STOP;
		return 0;
	}
	note_constant(b, vaddr, len);
	if (switches_stack(b, vaddr))
		pp_explore_returns(b, range);
	return len;
}

static void read_from(struct pp_builder *b, const struct pp_place *place)
{
	uint64_t vaddr = place->vaddr, end = pp_owner_state(b, place->range)->end;
	bool leads = true;

	for (;;) {
		uint8_t *mark = vaddr < end ? pp_text_mark(&b->text, vaddr) : NULL;
		uint32_t len;

		if (!mark || ((*mark & PP_MARK_GUESS) && vaddr != place->vaddr)) {
			fall_into(b, place->range, vaddr);
			return;
		}
		/* A block begins at a target, and where this reading meets code that was read
		 * before. */
		if (leads || (*mark & PP_MARK_LEN))
			*mark |= PP_MARK_LEADER;
		if (*mark & PP_MARK_LEN) {
			/* The code may have been read for another guess, so whether it returns is
			 * unknown. */
			if (place->range >= b->ranges.cnt)
				pp_explore_returns(b, place->range);
			return;
		}
		len = pass(b, place->range, vaddr, mark);
		if (!len)
			return;
		leads = *mark & PP_MARK_BRANCH;
		vaddr += len;
	}
}

/* Looks at a transfer from one function into the middle of another. */
static void look_at_crossing(struct pp_builder *b, const struct pp_crossing *crossing)
{
	uint8_t *mark = pp_text_mark(&b->text, crossing->target);

	if (!mark)
		return;
	if (*mark & PP_MARK_LEN)
		*mark |= PP_MARK_LEADER;
	else if (pp_text_is_inside(&b->text, crossing->target))
		b->stats.broken_cnt++;
	else
		pp_explore_push(b, crossing->target, crossing->to);
}

static void drain(struct pp_builder *b)
{
	while (b->places.cnt && !b->failed) {
		struct pp_place place = *PP_AT(b->places, struct pp_place, --b->places.cnt);

		read_from(b, &place);
	}
}

void pp_explore(struct pp_builder *b)
{
	drain(b);
	while (b->crossings.cnt && !b->failed) {
		struct pp_crossing crossing =
			*PP_AT(b->crossings, struct pp_crossing, --b->crossings.cnt);

		look_at_crossing(b, &crossing);
		drain(b);
	}
}
