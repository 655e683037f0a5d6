package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// machine says what the figures were measured on.
func machine() string {
	b, _ := os.ReadFile("/proc/loadavg") // where there is none, nothing is said of it
	return fmt.Sprintf("%d cores, %s, %s, %s/%s", runtime.GOMAXPROCS(0), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH) + busy(string(b))
}

// busy tells how many processes ran in the minute before, by what the system says of its load, where more than one did.
func busy(load string) string {
	var x float64
	if _, err := fmt.Sscan(load, &x); err != nil || x < 1 {
		return ""
	}
	return fmt.Sprintf("; **other work shared it**: its load was %.1f before", x)
}

// processor is the model of the processor, where the system tells it.
func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor unknown"
	}
	for l := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "processor unknown"
}

// spent is the processor time of this process so far.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocated is what this process has allocated so far, in bytes.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}
