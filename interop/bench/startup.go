package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// startUp is (h): from the start of the process until it is ready, with much stored.
func (w *world) startUp(ctx context.Context) error {
	empty, err := w.starts(ctx, w.path("empty"))
	if err != nil {
		return err
	}
	data, err := w.base(ctx)
	if err != nil {
		return err
	}
	corpus, err := w.starts(ctx, data)
	if err != nil {
		return err
	}
	if data, err = w.unsigned(ctx, w.million(), 500); err != nil {
		return err
	}
	large, err := w.starts(ctx, data)
	if err != nil {
		return err
	}
	against := "an empty store: " + span(empty)
	w.report.add(line{what: fmt.Sprintf("ready with %d events", w.corpus.n), measured: span(corpus), against: against, ratio: corpus.Seconds() / empty.Seconds(),
		target: "≤ 1 s", met: corpus <= time.Second})
	w.report.add(line{what: fmt.Sprintf("ready with about %d events", w.million()), measured: span(large), against: against, ratio: large.Seconds() / empty.Seconds()})
	w.report.note("From the start of the process until `/readyz` says so, the median of five. The system has the files in memory. The larger store holds events without signatures that were written straight into it.")
	return nil
}

// starts is the median time until a graspd is ready.
func (w *world) starts(ctx context.Context, data string, args ...string) (time.Duration, error) {
	w.say("starting on %s", data)
	var all []time.Duration
	for range 5 {
		g, err := w.graspd(ctx, data, args...)
		if err != nil {
			return 0, err
		}
		var ready time.Time
		for status := 0; status != http.StatusOK; {
			if _, status, err = g.get(ctx, "/readyz"); err != nil {
				return 0, err
			}
			ready = time.Now()
			time.Sleep(time.Millisecond)
		}
		all = append(all, ready.Sub(g.begun))
		if err := g.stop(); err != nil {
			return 0, err
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}
