// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The pieces that follow calls, and the time that calls take; see pp_calls.h. */
#include "pp_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define CALL_BYTES_MAX 15

static const struct pp_piece *piece_at(const struct pp_pieces *p, uint32_t index)
{
	return pp_keyed_item(&p->pieces, index);
}

static const struct pp_crossing *crossing_at(const struct pp_pieces *p, uint32_t index)
{
	return pp_keyed_item(&p->crossings, index);
}

/* Crossings by their span; all zero between uses. */
struct span_cnts {
	uint64_t ended[PATHPROF_BURST_MAX + 1], censored[PATHPROF_BURST_MAX + 1];
};

/* The working data of pp_calls_init(). */
struct making {
	const struct pp_pieces *pieces;
	struct pp_calls *calls;
	uint32_t *continuing; /* pieces that continue, by where they start */
	uint32_t continuing_cnt;
	uint32_t *places; /* of pieces in it */
	uint32_t *order;  /* crossings, by call and piece */
	double *weights;  /* of the followers of one call */
	struct span_cnts *span_cnts;
};

/* ---------------------------------------------------------------- sorting */

static int by_start(const void *a, const void *b, void *context)
{
	uint64_t x = piece_at(context, *(const uint32_t *)a)->key.start;
	uint64_t y = piece_at(context, *(const uint32_t *)b)->key.start;

	return x < y ? -1 : x > y;
}

static int by_call_and_piece(const void *a, const void *b, void *context)
{
	const struct pp_crossing_key *x = &crossing_at(context, *(const uint32_t *)a)->key;
	const struct pp_crossing_key *y = &crossing_at(context, *(const uint32_t *)b)->key;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return x->next < y->next ? -1 : x->next > y->next;
}

static void sort_all(struct making *m)
{
	const struct pp_pieces *p = m->pieces;

	for (uint32_t i = 0; i < p->pieces.cnt; i++)
		if (!piece_at(p, i)->key.is_fresh)
			m->continuing[m->continuing_cnt++] = i;
	for (uint32_t i = 0; i < p->crossings.cnt; i++)
		m->order[i] = i;
	qsort_r(m->continuing, m->continuing_cnt, sizeof(uint32_t), by_start, (void *)p);
	for (uint32_t i = 0; i < m->continuing_cnt; i++)
		m->places[m->continuing[i]] = i;
	qsort_r(m->order, p->crossings.cnt, sizeof(uint32_t), by_call_and_piece, (void *)p);
}

/* The first continuing piece that starts at an address or behind it. */
static uint32_t first_from(const struct making *m, uint64_t start)
{
	return pp_first(i, 0, m->continuing_cnt,
			piece_at(m->pieces, m->continuing[i])->key.start >= start);
}

/* ---------------------------------------------------------------- where calls lead back to */

static bool is_call(const struct making *m, uint64_t address)
{
	uint32_t index;

	return pp_keyed_find(&m->pieces->calls, &address, &index) == 0;
}

/*
 * A call that no window saw return: the first place behind it where a piece continues, unless
 * another call lies before that.
 */
static uint64_t guess_back(const struct making *m, uint64_t call)
{
	uint32_t at = first_from(m, call + 2);
	uint64_t back;

	if (at == m->continuing_cnt)
		return 0;
	back = piece_at(m->pieces, m->continuing[at])->key.start;
	if (back < call || back - call > CALL_BYTES_MAX)
		return 0;
	for (uint64_t a = call + 1; a < back; a++)
		if (is_call(m, a))
			return 0;
	return back;
}

static void add_followers(struct making *m, struct pp_call_site *site, const struct pp_call *call)
{
	uint64_t back = call->back ? call->back : guess_back(m, call->call);
	uint32_t at = first_from(m, back);
	double sum = 0;

	site->first = m->calls->follower_cnt;
	if (!back)
		return;
	for (; at < m->continuing_cnt; at++) {
		const struct pp_piece *piece = piece_at(m->pieces, m->continuing[at]);

		if (piece->key.start != back)
			break;
		m->calls->followers[m->calls->follower_cnt++] =
			(struct pp_follower){.piece = m->continuing[at], .all = piece->weight};
		sum += piece->weight;
		site->cnt++;
	}
	for (uint32_t i = 0; i < site->cnt; i++)
		m->calls->followers[site->first + i].all /= sum;
}

/* Two calls that lead back to one place, which real code has not, would share its pieces. */
static int count_followers(const struct making *m, uint32_t *ret_cnt)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < m->pieces->calls.cnt; i++) {
		const struct pp_call *call = pp_keyed_item(&m->pieces->calls, i);
		uint64_t back = call->back ? call->back : guess_back(m, call->call);

		cnt += back ? first_from(m, back + 1) - first_from(m, back) : 0;
	}
	if (cnt > UINT32_MAX / 2)
		return -ENOMEM;
	*ret_cnt = (uint32_t)cnt;
	return 0;
}

/* ---------------------------------------------------------------- how long calls take */

/* Counts the crossings order[first..end) by span. Returns how many there are. */
static uint64_t count_spans(struct making *m, uint32_t first, uint32_t end, uint32_t *ret_longest)
{
	uint32_t longest = 0;
	uint64_t cnt = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct pp_crossing *x = crossing_at(m->pieces, m->order[i]);
		uint64_t *cnts = x->key.fate == PP_FATE_RETURNED ? m->span_cnts->ended
								 : m->span_cnts->censored;

		cnts[x->key.span] += x->cnt;
		longest = x->key.span > longest ? x->key.span : longest;
		cnt += x->cnt;
	}
	*ret_longest = longest;
	return cnt;
}

/* Kaplan-Meier over the crossings order[first..end). */
static struct pp_outlook outlook_of(struct making *m, uint32_t first, uint32_t end)
{
	struct pp_outlook outlook = {.first = m->calls->span_cnt};
	struct span_cnts *cnts = m->span_cnts;
	uint32_t longest;
	uint64_t at_risk = count_spans(m, first, end, &longest);
	double left = 1;

	outlook.seen_cnt = at_risk;
	for (uint32_t taken = 0; taken <= longest; taken++) {
		double share = 0;

		if (cnts->ended[taken]) {
			share = left * (double)cnts->ended[taken] / (double)at_risk;
			m->calls->spans[m->calls->span_cnt++] =
				(struct pp_span){.share = share, .taken = taken};
			outlook.cnt++;
		}
		at_risk -= cnts->ended[taken] + cnts->censored[taken];
		cnts->ended[taken] = cnts->censored[taken] = 0;
		left -= share;
	}
	outlook.far_share = left > 1e-9 ? left : 0;
	return outlook;
}

/* ---------------------------------------------------------------- which piece follows */

/* The place of a piece among the followers; site->cnt or more when it is none. */
static uint32_t place_of(const struct making *m, const struct pp_call_site *site, uint32_t piece)
{
	if (!site->cnt || piece == PP_PIECE_NONE || piece_at(m->pieces, piece)->key.is_fresh)
		return site->cnt;
	/* One before the first is beyond the last. */
	return m->places[piece] - m->places[m->calls->followers[site->first].piece];
}

static void normalise(struct pp_follower *followers, uint32_t cnt, double near, double far)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct pp_follower *f = &followers[i];

		f->near = near > 0 ? f->near / near : f->all;
		f->far = far > 0 ? f->far / far : f->all;
	}
}

/* near: as seen across the call. far: what of the piece's weight was not. */
static void split_followers(struct making *m, struct pp_call_site *site, uint32_t first,
			    uint32_t end)
{
	struct pp_follower *followers = m->calls->followers + site->first;
	double near = 0, far = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct pp_crossing *x = crossing_at(m->pieces, m->order[i]);
		uint32_t place = place_of(m, site, x->key.next);

		if (place < site->cnt)
			followers[place].near += x->weight;
	}
	for (uint32_t i = 0; i < site->cnt; i++) {
		double rest = piece_at(m->pieces, followers[i].piece)->weight - followers[i].near;

		followers[i].far = rest > 0 ? rest : 0;
		near += followers[i].near;
		far += followers[i].far;
	}
	normalise(followers, site->cnt, near, far);
}

/* The crossings order[first..end) of one piece; those of one follower lie together. */
static void add_pairs(struct making *m, const struct pp_call_site *site, uint32_t piece,
		      uint32_t first, uint32_t end)
{
	struct pp_calls *calls = m->calls;
	struct pp_piece_call *of = &calls->pieces[piece];
	double sum = 0;

	of->outlook = outlook_of(m, first, end);
	of->first = calls->pair_cnt;
	for (uint32_t i = first; i < end; i++) {
		const struct pp_crossing *x = crossing_at(m->pieces, m->order[i]);
		uint32_t place;

		place = place_of(m, site, x->key.next);
		if (place >= site->cnt)
			continue;
		if (!of->cnt || calls->pairs[calls->pair_cnt - 1].follower != place) {
			calls->pairs[calls->pair_cnt++] = (struct pp_pair){.follower = place};
			of->cnt++;
		}
		calls->pairs[calls->pair_cnt - 1].share += x->weight;
		sum += x->weight;
		of->pair_cnt += x->cnt;
	}
	for (uint32_t i = 0; i < of->cnt; i++)
		calls->pairs[of->first + i].share /= sum;
}

static uint32_t end_of_group(const struct making *m, uint32_t first, bool same_piece)
{
	const struct pp_crossing_key *key = &crossing_at(m->pieces, m->order[first])->key;
	uint32_t end = first + 1;

	for (; end < m->pieces->crossings.cnt; end++) {
		const struct pp_crossing_key *other = &crossing_at(m->pieces, m->order[end])->key;

		if (other->call != key->call || (same_piece && other->piece != key->piece))
			break;
	}
	return end;
}

/* The crossings order[first..end) of one call. */
static void read_call(struct making *m, struct pp_call_site *site, uint32_t first, uint32_t end)
{
	uint32_t piece_end;

	site->outlook = outlook_of(m, first, end);
	split_followers(m, site, first, end);
	for (uint32_t i = first; i < end; i = piece_end) {
		uint32_t piece = crossing_at(m->pieces, m->order[i])->key.piece;

		piece_end = end_of_group(m, i, true);
		if (piece != PP_PIECE_NONE)
			add_pairs(m, site, piece, i, piece_end);
	}
}

static void read_crossings(struct making *m)
{
	uint32_t cnt = m->pieces->crossings.cnt, first = 0;

	while (first < cnt) {
		uint64_t call = crossing_at(m->pieces, m->order[first])->key.call;
		uint32_t end = end_of_group(m, first, false), index;

		if (pp_keyed_find(&m->pieces->calls, &call, &index) == 0)
			read_call(m, &m->calls->sites[index], first, end);
		/* The analyzer loses sight of m->calls here; pp_calls_init() hands it out. */
		first = end; /* NOLINT(clang-analyzer-unix.Malloc) */
	}
}

/* ---------------------------------------------------------------- all of it */

/* One more than needed: none is no failure. */
static void *array(uint32_t cnt, size_t item_bytes)
{
	return calloc(cnt + (size_t)1, item_bytes);
}

static void find_sites(struct making *m)
{
	for (uint32_t i = 0; i < m->pieces->calls.cnt; i++)
		add_followers(m, &m->calls->sites[i], pp_keyed_item(&m->pieces->calls, i));
	for (uint32_t i = 0; i < m->pieces->pieces.cnt; i++) {
		uint64_t call = piece_at(m->pieces, i)->key.call;
		uint32_t site;

		m->calls->pieces[i].site =
			call && pp_keyed_find(&m->pieces->calls, &call, &site) == 0 ? site
										    : PP_PIECE_NONE;
	}
}

static int allocate(struct making *m)
{
	struct pp_calls *calls = m->calls;
	uint32_t follower_cnt;

	m->continuing = array(m->pieces->pieces.cnt, sizeof(uint32_t));
	m->places = array(m->pieces->pieces.cnt, sizeof(uint32_t));
	m->order = array(m->pieces->crossings.cnt, sizeof(uint32_t));
	if (!m->continuing || !m->places || !m->order)
		return -ENOMEM;
	sort_all(m);
	if (count_followers(m, &follower_cnt) < 0)
		return -ENOMEM;
	calls->sites = array(m->pieces->calls.cnt, sizeof(calls->sites[0]));
	calls->pieces = array(m->pieces->pieces.cnt, sizeof(calls->pieces[0]));
	calls->followers = array(follower_cnt, sizeof(calls->followers[0]));
	calls->pairs = array(m->pieces->crossings.cnt, sizeof(calls->pairs[0]));
	/* Each crossing counts for its call and for its piece. */
	calls->spans = array(2 * m->pieces->crossings.cnt, sizeof(calls->spans[0]));
	if (!calls->sites || !calls->pieces || !calls->followers || !calls->pairs || !calls->spans)
		return -ENOMEM;
	return 0;
}

int pp_calls_init(struct pp_calls *ret_calls, const struct pp_pieces *pieces)
{
	struct span_cnts span_cnts = {.ended = {0}};
	struct making m = {.pieces = pieces, .span_cnts = &span_cnts};
	struct pp_calls calls = {.follower_cnt = 0};
	int r;

	m.calls = &calls;
	r = allocate(&m);
	if (r == 0) {
		find_sites(&m);
		read_crossings(&m);
	}
	free(m.continuing);
	free(m.places);
	free(m.order);
	if (r < 0)
		pp_calls_release(&calls);
	else
		*ret_calls = calls;
	return r;
}

void pp_calls_release(struct pp_calls *calls)
{
	free(calls->sites);
	free(calls->pieces);
	free(calls->followers);
	free(calls->pairs);
	free(calls->spans);
	memset(calls, 0, sizeof(*calls));
}
