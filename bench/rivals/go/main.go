// SPDX-License-Identifier: BSD-2-Clause
// Go on one thread: a million goroutines blocked on a channel, then finished; spawn-and-join of an empty goroutine; servers.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Resident memory at its peak, with the page tables of now, in KiB.
func peakKiB() int {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	sum := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) > 1 && (words[0] == "VmHWM:" || words[0] == "VmPTE:") {
			kib, _ := strconv.Atoi(words[1])
			sum += kib
		}
	}
	return sum
}

func million(n int) {
	gate := make(chan struct{})
	blocked := 0
	var all sync.WaitGroup
	before := peakKiB()
	start := time.Now()
	all.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			blocked++ // one thread
			<-gate
			all.Done()
		}()
	}
	for blocked < n {
		runtime.Gosched()
	}
	created := time.Since(start)
	peak := peakKiB()
	start = time.Now()
	close(gate)
	all.Wait()
	fmt.Println(created.Nanoseconds(), time.Since(start).Nanoseconds(), peak-before)
}

func spawn(n int) {
	start := time.Now()
	for i := 0; i < n; i++ {
		var one sync.WaitGroup
		one.Add(1)
		go one.Done()
		one.Wait()
	}
	fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(n))
}

func main() {
	runtime.GOMAXPROCS(1)
	n := 1000
	if len(os.Args) > 2 {
		n, _ = strconv.Atoi(os.Args[2])
	}
	what := ""
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	switch what {
	case "million":
		million(n)
	case "spawn":
		spawn(n)
	case "quotes":
		serve(os.Args[2], quotes)
	case "http":
		serve(os.Args[2], serveHello)
	case "echo":
		serve(os.Args[2], serveEcho)
	case "nethttp":
		netHTTP(os.Args[2])
	default:
		fmt.Println(runtime.Version())
	}
}
