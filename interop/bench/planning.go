package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// The worlds that package peer measures itself in.
const (
	smallTown = "1,000 repositories, 50,000 root events, 100 relays"
	largeTown = "10,000 repositories, 500,000 root events, 500 relays"
)

var grow = regexp.MustCompile(`(?m)^BenchmarkGrow/(\d+)\S*\s+\d+\s+([\d.]+) ns/op`)

// planning is (e): what a new root event costs the engine in two worlds, by package peer's own benchmark.
func (w *world) planning(ctx context.Context) error {
	if !w.engine {
		w.report.note("Left out.")
		return nil
	}
	out, err := w.measure(ctx, "-run", "^$", "-bench", "^BenchmarkGrow$", "-benchtime", "2000x", "-timeout", "30m")
	if err != nil {
		return err
	}
	costs, err := growth(out)
	if err != nil {
		return err
	}
	small, large := costs[50_000], costs[500_000]
	ratio := large.Seconds() / small.Seconds()
	w.report.add(line{what: "a new root event, " + largeTown, measured: span(large), against: smallTown + ": " + span(small), ratio: ratio,
		target: "≤ 1.5", met: ratio <= 1.5})
	w.report.note("From the fold to the requests for all five relays of its repository, one goroutine, nothing else running (`peer.BenchmarkGrow`).")
	return nil
}

// measure runs package peer's tests.
func (w *world) measure(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "./internal/sync/peer"}, args...)...)
	c.Dir = w.root
	out, err := c.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, out)
	}
	return out, nil
}

// growth reads the time for each root event, by how many there are, from the output of the benchmark.
func growth(out []byte) (map[int]time.Duration, error) {
	costs := map[int]time.Duration{}
	for _, m := range grow.FindAllSubmatch(out, -1) {
		roots, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return nil, err
		}
		ns, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return nil, err
		}
		costs[roots] = time.Duration(ns)
	}
	if costs[50_000] <= 0 || costs[500_000] <= 0 {
		return nil, fmt.Errorf("the benchmark does not tell both sizes:\n%s", out)
	}
	return costs, nil
}
