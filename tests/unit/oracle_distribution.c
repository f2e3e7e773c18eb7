// SPDX-License-Identifier: GPL-2.0-or-later
/* The formulas of CCP, one search a term. */
#include "oracle_distribution.h"

#include <math.h>
#include <stdbool.h>

#include "oracle_stream.h"

static double draw_weight(uint64_t *random)
{
	uint64_t magnitude = stream_random(random) % 40;

	if (stream_random(random) % 8 == 0)
		return 0;
	return (double)(1 + stream_random(random) % (1ULL << (magnitude / 4 * 4 + 1)));
}

void oracle_profile_draw(struct oracle_profile *ret_profile, size_t cnt, uint64_t population,
			 uint64_t seed)
{
	uint64_t random = seed * 2 + 1;
	size_t left = cnt < population ? cnt : population;

	ret_profile->cnt = 0;
	/* Each number of the population in turn, with the chance that leaves as many as are wanted.
	 */
	for (uint64_t i = 0; i < population && left; i++)
		if (stream_random(&random) % (population - i) < left) {
			left--;
			ret_profile->events[ret_profile->cnt++] = (struct pathprof_event){
				.key_hi = i / 7, .key_lo = i % 7, .weight = draw_weight(&random)};
		}
}

long double oracle_weight(const struct oracle_profile *p, uint64_t hi, uint64_t lo)
{
	for (size_t i = 0; i < p->cnt; i++)
		if (p->events[i].key_hi == hi && p->events[i].key_lo == lo)
			return p->events[i].weight;
	return 0;
}

long double oracle_total(const struct oracle_profile *p)
{
	long double sum = 0;

	for (size_t i = 0; i < p->cnt; i++)
		sum += p->events[i].weight;
	return sum;
}

static long double share(const struct oracle_profile *p, const struct pathprof_event *key)
{
	return oracle_weight(p, key->key_hi, key->key_lo) / oracle_total(p);
}

long double oracle_entropy(const struct oracle_profile *p)
{
	long double sum = 0;

	for (size_t i = 0; i < p->cnt; i++)
		if (p->events[i].weight > 0)
			sum -= share(p, &p->events[i]) * log2l(share(p, &p->events[i]));
	return sum;
}

/* How many events of p are not in q. */
static size_t unseen(const struct oracle_profile *p, const struct oracle_profile *q)
{
	size_t cnt = 0;

	for (size_t i = 0; i < p->cnt; i++)
		cnt += p->events[i].weight > 0 &&
		       oracle_weight(q, p->events[i].key_hi, p->events[i].key_lo) == 0;
	return cnt;
}

/* q's share of an event when z events are to be made room for. */
static long double smoothed(const struct oracle_profile *q, const struct pathprof_event *key,
			    size_t z, long double epsilon)
{
	long double e = epsilon;

	if (e == 0) {
		e = 1 / (2 * (oracle_total(q) + 1));
		if (z && 1 / (4 * (long double)z) < e)
			e = 1 / (4 * (long double)z);
	}
	return share(q, key) > 0 ? share(q, key) * (1 - (long double)z * e) : e;
}

long double oracle_kl(const struct oracle_profile *p, const struct oracle_profile *q,
		      long double epsilon)
{
	size_t z = unseen(p, q);
	long double sum = 0;

	for (size_t i = 0; i < p->cnt; i++) {
		const struct pathprof_event *e = &p->events[i];

		if (e->weight > 0)
			sum += share(p, e) * log2l(share(p, e) / smoothed(q, e, z, epsilon));
	}
	return sum;
}

long double oracle_overlap(const struct oracle_profile *p, const struct oracle_profile *q)
{
	long double sum = 0;

	for (size_t i = 0; i < p->cnt; i++)
		sum += fminl(share(p, &p->events[i]), share(q, &p->events[i]));
	return sum;
}

long double oracle_angle(const struct oracle_profile *p, const struct oracle_profile *q)
{
	long double product = 0, own_p = 0, own_q = 0;

	for (size_t i = 0; i < p->cnt; i++) {
		product += share(p, &p->events[i]) * share(q, &p->events[i]);
		own_p += share(p, &p->events[i]) * share(p, &p->events[i]);
	}
	for (size_t i = 0; i < q->cnt; i++)
		own_q += share(q, &q->events[i]) * share(q, &q->events[i]);
	return acosl(fminl(product / sqrtl(own_p * own_q), 1)) * 180 / M_PIl;
}

static long double function_weight(const struct oracle_profile *p, uint64_t hi)
{
	long double sum = 0;

	for (size_t i = 0; i < p->cnt; i++)
		sum += p->events[i].key_hi == hi ? p->events[i].weight : 0;
	return sum;
}

long double oracle_similarity(const struct oracle_profile *p, const struct oracle_profile *q)
{
	long double sum = 0;

	for (uint64_t hi = 0; hi < ORACLE_EVENTS_MAX; hi++) {
		long double in_p = function_weight(p, hi), in_q = function_weight(q, hi),
			    inside = 0;
		long double share_p = in_p / oracle_total(p), share_q = in_q / oracle_total(q);

		for (uint64_t lo = 0; lo < 7 && in_p > 0 && in_q > 0; lo++)
			inside += fminl(oracle_weight(p, hi, lo) / in_p,
					oracle_weight(q, hi, lo) / in_q);
		sum += inside * (1 - fabsl(share_p - share_q)) * (share_p + share_q) / 2;
	}
	return sum;
}

void oracle_coverage(const struct oracle_profile *p, const struct oracle_profile *q,
		     long double *ret_static, long double *ret_dynamic)
{
	long double both = 0, touched = 0, weight = 0;

	for (size_t i = 0; i < p->cnt; i++) {
		const struct pathprof_event *e = &p->events[i];

		if (e->weight == 0)
			continue;
		touched++;
		if (oracle_weight(q, e->key_hi, e->key_lo) > 0) {
			both++;
			weight += e->weight;
		}
	}
	*ret_static = both / touched;
	*ret_dynamic = weight / oracle_total(p);
}

struct oracle_branches oracle_branches(const struct oracle_profile *p,
				       const struct oracle_profile *q)
{
	struct oracle_branches b = {0};
	long double branches = 0, total = oracle_total(p);

	for (uint64_t hi = 0; hi < ORACLE_EVENTS_MAX; hi++)
		for (uint64_t lo = 0; lo < 8; lo += 2) {
			long double p0 = oracle_weight(p, hi, lo),
				    p1 = oracle_weight(p, hi, lo + 1);
			long double q0 = oracle_weight(q, hi, lo),
				    q1 = oracle_weight(q, hi, lo + 1);
			bool conflict = q0 + q1 > 0 && (p1 > p0) != (q1 > q0);

			if (p0 + p1 == 0)
				continue;
			branches++;
			b.static_coverage += q0 + q1 > 0;
			b.dynamic_coverage += q0 + q1 > 0 ? p0 + p1 : 0;
			b.static_conflict += conflict;
			b.dynamic_conflict += conflict ? p0 + p1 : 0;
			b.accuracy += q1 > q0 ? p1 : p0;
			b.accuracy_own += p1 > p0 ? p1 : p0;
		}
	b.static_coverage /= branches;
	b.static_conflict /= branches;
	b.dynamic_coverage /= total;
	b.dynamic_conflict /= total;
	b.accuracy /= total;
	b.accuracy_own /= total;
	return b;
}

static long double blend(const struct oracle_profile *p, const struct oracle_profile *q,
			 const struct pathprof_event *key, long double lambda)
{
	long double in_p = smoothed(p, key, unseen(q, p), 0),
		    in_q = smoothed(q, key, unseen(p, q), 0);

	return powl(in_p, lambda) * powl(in_q, 1 - lambda);
}

long double oracle_log_z(const struct oracle_profile *p, const struct oracle_profile *q,
			 long double lambda)
{
	long double sum = 0;

	for (size_t i = 0; i < p->cnt; i++)
		if (p->events[i].weight > 0)
			sum += blend(p, q, &p->events[i], lambda);
	for (size_t i = 0; i < q->cnt; i++)
		if (q->events[i].weight > 0 &&
		    oracle_weight(p, q->events[i].key_hi, q->events[i].key_lo) == 0)
			sum += blend(p, q, &q->events[i], lambda);
	return log2l(sum);
}

long double oracle_geometric(const struct oracle_profile *p, const struct oracle_profile *q,
			     long double lambda, uint64_t hi, uint64_t lo)
{
	struct pathprof_event key = {hi, lo, 0};

	return blend(p, q, &key, lambda) / exp2l(oracle_log_z(p, q, lambda));
}
