// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Growing arrays; see vector.h. */
#include "vector.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 16

int pp_array_resize(void **array, size_t cnt, size_t bytes)
{
	size_t size;
	void *moved;

	/* With room for nothing an allocator may return NULL, which is no failure. */
	if (__builtin_mul_overflow(cnt ? cnt : 1, bytes, &size))
		return -ENOMEM;
	moved = realloc(*array, size);
	if (!moved)
		return -ENOMEM;
	*array = moved;
	return 0;
}

int pp_array_reserve(void **array, size_t cnt, size_t *room, size_t room_max, size_t bytes)
{
	size_t want = *room ? *room + *room / 2 : ROOM_FIRST;
	int r;

	if (cnt <= *room)
		return 0;
	if (cnt > room_max)
		return -ENOMEM;
	if (want < cnt)
		want = cnt;
	else if (want > room_max)
		want = room_max;
	r = pp_array_resize(array, want, bytes);
	if (r == 0)
		*room = want;
	return r;
}

void *pp_vector_add(struct pp_vector *v, const void *element)
{
	void *slot;

	if (pp_array_reserve(&v->data, v->cnt + 1, &v->room, SIZE_MAX, v->size_bytes) < 0)
		return NULL;
	slot = (char *)v->data + v->cnt++ * v->size_bytes;
	memcpy(slot, element, v->size_bytes);
	return slot;
}
