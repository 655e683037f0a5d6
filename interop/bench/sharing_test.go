package main

import (
	"testing"
	"time"
)

func TestLinesOfALatency(t *testing.T) {
	ms := func(all ...int) (out []time.Duration) {
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	alone := figuresOf{ok: ms(2, 2, 4), events: 1000, pushes: 40}
	f := figuresOf{ok: ms(20, 22, 40), okElsewhere: ms(24, 30, 60), lag: ms(0, 1, 51), events: 499, pushes: 10}
	lines := linesOf(f, alone, usual)
	if l := lines[0]; l.what != "EVENT until OK at the leader, +20 ms" || l.measured != "22.0 ms, 99 of 100 within 22.0 ms" || l.ratio != 11 || l.target != "" {
		t.Errorf("%+v", l)
	}
	if l := lines[1]; l.ratio != 15 {
		t.Errorf("%+v", l)
	}
	if l := lines[3]; l.met || l.target == "" || l.ratio != 0.499 {
		t.Errorf("%+v", l)
	}
	if l := lines[4]; l.ratio != 0.25 {
		t.Errorf("%+v", l)
	}
	f.events, f.lag = 500, ms(0, 50)
	if lines = linesOf(f, alone, usual); !lines[3].met || !lines[2].met {
		t.Errorf("%+v", lines)
	}
	f.lag = ms(51)
	if lines = linesOf(f, alone, 0); lines[3].target != "" || lines[2].met {
		t.Errorf("%+v", lines)
	}
}

func TestABusyMachine(t *testing.T) {
	for load, want := range map[string]string{"0.90 5.0 5.0 1/2 3": "", "6.80 6.63 6.73 9/211 1025": "; **other work shared it**: its load was 6.8 before", "": ""} {
		if got := busy(load); got != want {
			t.Errorf("%q for %q", got, load)
		}
	}
}

func TestRequestsAreCounted(t *testing.T) {
	v := &way{}
	for _, path := range []string{"/name/relay/log/00000000000000000001", "/name/relay/packs/abc-1-2", "/name/", "/name/relay/packs/abc-1-2.idx"} {
		v.count(path)
	}
	if v.all.Load() != 4 || v.packs.Load() != 2 {
		t.Errorf("%d, %d for packs", v.all.Load(), v.packs.Load())
	}
	x := &nodes{all: []*bucketNode{{way: v}, {way: v}}}
	if all, packs := x.requests(); all != 8 || packs != 4 {
		t.Errorf("%d, %d for packs", all, packs)
	}
	x.slow(usual)
	if v.delay.Load() != int64(usual) {
		t.Error("it is not slower")
	}
}
