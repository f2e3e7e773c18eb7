/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Growing arrays. The owner keeps a typed pointer, how many elements there are, and for how many
 * there is room (any unsigned type; a zeroed owner has an empty array), and frees the array:
 *
 *     if (pp_grow(&list->items, list->cnt, &list->room) < 0)
 *             return -ENOMEM;
 *     list->items[list->cnt++] = item;
 *
 * Room grows by half, so that n additions move fewer than 3 n elements. All return 0 or -ENOMEM,
 * and then the array is as it was. Locking: none, one owner.
 */
#ifndef PP_BASE_VECTOR_H
#define PP_BASE_VECTOR_H

#include <stddef.h>

/* Room for one element more. */
#define pp_grow(array_at, cnt, room_at) pp_reserve(array_at, (size_t)(cnt) + 1, room_at)

/* Room for cnt elements in all, or more. */
#define pp_reserve(array_at, cnt, room_at)                                                         \
	({                                                                                         \
		size_t cnt_ = (cnt), room_ = *(room_at);                                           \
		int r_ = 0;                                                                        \
		if (cnt_ > room_) {                                                                \
			void *array_ = *(array_at);                                                \
			r_ = pp_array_reserve(&array_, cnt_, &room_, (__typeof__(*(room_at)))-1,   \
					      sizeof(**(array_at)));                               \
			*(array_at) = array_;                                                      \
			*(room_at) = room_;                                                        \
		}                                                                                  \
		r_;                                                                                \
	})

/* Room for exactly cnt elements, where additions are few. */
#define pp_resize(array_at, cnt)                                                                   \
	({                                                                                         \
		void *array_ = *(array_at);                                                        \
		int r_ = pp_array_resize(&array_, cnt, sizeof(**(array_at)));                      \
		*(array_at) = array_;                                                              \
		r_;                                                                                \
	})

/* Called by the macros. Elements have so many bytes, and the room stays within room_max. */
int pp_array_reserve(void **array, size_t cnt, size_t *room, size_t room_max, size_t bytes);
int pp_array_resize(void **array, size_t cnt, size_t bytes);

/* An array that knows the size of its elements: {.size_bytes = sizeof(element)} is an empty one. */
struct pp_vector {
	void *data;
	size_t cnt, room, size_bytes;
};

/* The copy of *element behind the others; NULL: no memory. */
void *pp_vector_add(struct pp_vector *v, const void *element);
#define PP_AT(vector, type, i) ((type *)(vector).data + (i))

#endif
