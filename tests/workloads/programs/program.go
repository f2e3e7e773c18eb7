// SPDX-License-Identifier: GPL-2.0-or-later

// Closures, interfaces, maps and the library, for so many seconds of CPU time.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sort"
	"strconv"
	"syscall"
)

type shape interface{ area(float64) float64 }
type square struct{}
type circle struct{}

//go:noinline
func (square) area(r float64) (sum float64) {
	for i := 1; i < 100; i++ {
		sum += r * r / float64(i)
	}
	return
}

//go:noinline
func (circle) area(r float64) (sum float64) {
	for i := 1; i < 100; i++ {
		sum += r * 3.14 / float64(i*i)
	}
	return
}

//go:noinline
func countWords(words []string) int {
	counts := map[string]int{}
	for _, word := range words {
		counts[word]++
	}
	return len(counts)
}

func seconds() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Sec
}

func main() {
	end, _ := strconv.ParseInt(os.Args[1], 10, 64)
	data := make([]byte, 1<<20)
	var words []string
	for i := 0; i < 20000; i++ {
		words = append(words, strconv.Itoa(i*7919%5003))
	}
	shapes := []shape{square{}, circle{}}
	sum := 0.0
	for seconds() < end {
		hash := sha256.Sum256(data)
		data[0] = hash[0]
		list := make([]int, 20000)
		for i := range list {
			list[i] = (i*7919 + int(hash[0])) % 10007
			sum += shapes[i&1].area(float64(i))
		}
		sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
		sum += float64(countWords(words) + list[0])
	}
	fmt.Println(sum)
}
