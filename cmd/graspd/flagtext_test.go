package main

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Defaults are written as they are read.
func TestDefaultsAreWrittenAsTheyAreRead(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1: "1", 1 << 10: "1KiB", 1536: "1536", 1536 << 20: "1536MiB", 64 << 20: "64MiB", 1 << 30: "1GiB", 3 << 40: "3TiB", 2048 << 40: "2048TiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 5 * time.Second: "5s", 50 * time.Second: "50s", time.Minute: "1m", 10 * time.Minute: "10m", 24 * time.Hour: "24h",
		90 * time.Minute: "1h30m", time.Hour + 10*time.Second: "1h0m10s", 61 * time.Second: "1m1s", 250 * time.Millisecond: "250ms"} {
		if got := spanText(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		n, d := r.Int64N(5000)<<(10*r.IntN(5)), time.Duration(r.IntN(200_000))*time.Second
		if got, err := parseSize(sizeText(n)); err != nil || got != n {
			t.Fatalf("%d is %s, which is %d: %v", n, sizeText(n), got, err)
		}
		if got, err := time.ParseDuration(spanText(d)); err != nil || got != d {
			t.Fatalf("%v is %s, which is %v: %v", d, spanText(d), got, err)
		}
	}
}
