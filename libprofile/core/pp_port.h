/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The one file of the core that knows where it is compiled: user space, a kernel module, BPF, or
 * freestanding with nothing at all. Everything the core needs from outside stands here; the other
 * files contain no conditional compilation.
 *
 * Outside world needed: fixed-width types, nothing else. No libc, no allocation, no globals.
 */
#ifndef PP_PORT_H
#define PP_PORT_H

#if defined(__KERNEL__)
#include <linux/types.h>
#elif defined(__bpf__) || !__STDC_HOSTED__
typedef __UINT8_TYPE__ __u8;
typedef __UINT16_TYPE__ __u16;
typedef __UINT32_TYPE__ __u32;
__extension__ typedef unsigned long long __u64;
typedef __INT8_TYPE__ __s8;
typedef __INT32_TYPE__ __s32;
__extension__ typedef long long __s64;
#else
#include <linux/types.h>
#endif

#define PP_INLINE static __inline__ __attribute__((always_inline, unused))
#define PP_STATIC_ASSERT(cond, name)                                                               \
	typedef char pp_assert_##name[(cond) ? 1 : -1] __attribute__((unused))
#define PP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define PP_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * PP_MASK(x, m): x & m, and the verifier sees it. clang drops a mask that its own range analysis
 * proves redundant, but that proof is not in the object file, and kernels 5.10 to 6.1 then refuse
 * the access ("unbounded min value").
 *
 * PP_LAUNDER(x, slot): x after a trip through map memory (slot: a __u32 of the same state), which
 * cuts the verifier's precision chain: sixteen outcomes of a search become one state.
 *
 * PP_UNROLL / PP_NO_UNROLL stand before a loop with constant bounds.
 */
#if defined(__bpf__)
#define PP_MASK(x, m)                                                                              \
	__extension__({                                                                            \
		__u64 pp_masked = (x);                                                             \
		__asm__ volatile("%0 &= %1" : "+r"(pp_masked) : "i"(m));                           \
		pp_masked;                                                                         \
	})
#define PP_LAUNDER(x, slot)                                                                        \
	__extension__({                                                                            \
		*(volatile __u32 *)(slot) = (x);                                                   \
		*(volatile __u32 *)(slot);                                                         \
	})
#else
#define PP_MASK(x, m)       ((__u64)(x) & (__u64)(m))
#define PP_LAUNDER(x, slot) ((void)(slot), (__u32)(x))
#endif

#if defined(__clang__)
#define PP_UNROLL    _Pragma("clang loop unroll(full)")
#define PP_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define PP_UNROLL _Pragma("GCC unroll 16")
#define PP_NO_UNROLL
#endif

/*
 * The largest table of each kind, a power of two. User space has room for every experiment; a
 * kernel holds what the published designs hold. The size in use is set by each configuration. User
 * space that shares tables with a kernel defines PP_KERNEL_TABLES before it includes the core.
 */
#if defined(__KERNEL__) || defined(__bpf__) || !__STDC_HOSTED__ || defined(PP_KERNEL_TABLES)
#define PP_SPLIT_MAX 2048
#define PP_HPT_MAX   2048
#define PP_ASSOC_MAX 16
#else
#define PP_SPLIT_MAX 65536
#define PP_HPT_MAX   65536
#define PP_ASSOC_MAX 256
#endif

#endif
