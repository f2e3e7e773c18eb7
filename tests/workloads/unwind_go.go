// SPDX-License-Identifier: GPL-2.0-or-later

// The same as unwind_calls.c for Go: functions without a frame, interfaces, closures, maps and the
// collector's own code. Its linker writes .debug_frame only.
package main

import (
	"fmt"
	"os"
	"sort"
	"syscall"
	"unsafe"
)

type work interface {
	run(x uint64, depth int) uint64
}

type mix struct{}
type tree struct{ inner work }

//go:noinline
func turn(x uint64) uint64 {
	for i := uint64(0); i < 40; i++ {
		x = (x<<7|x>>57)*0x9e3779b97f4a7c15 ^ i
	}
	return x
}

//go:noinline
func (m mix) run(x uint64, depth int) uint64 {
	y := turn(x)
	if depth == 0 {
		return y
	}
	return m.run(y, depth-1) + y
}

//go:noinline
func (t tree) run(x uint64, depth int) uint64 {
	names := map[string]uint64{}
	for i := uint64(0); i < 8; i++ {
		names[fmt.Sprint(x+i)] = t.inner.run(x, depth)
	}
	sum := uint64(0)
	for _, y := range names {
		sum ^= y
	}
	return sum
}

func main() {
	often := [4]int64{0, 1013, 0, 1013}
	t := tree{mix{}}
	sum := uint64(0)

	syscall.RawSyscall(syscall.SYS_SETITIMER, 2, uintptr(unsafe.Pointer(&often)), 0)
	for i := uint64(0); ; i++ {
		numbers := make([]uint64, 24)
		for k := range numbers {
			numbers[k] = (i + uint64(k)) * 7919 % 101
		}
		sort.Slice(numbers, func(a, b int) bool {
			return t.inner.run(numbers[a], 1) < t.inner.run(numbers[b], 1)
		})
		sum += numbers[3] + t.run(i, 3)
		if sum == 1 {
			fmt.Fprintln(os.Stderr, sum)
		}
	}
}
