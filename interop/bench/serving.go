package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const repeats = 21

// serving is (g): what clients ask for, of a process that holds the corpus.
func (w *world) serving(ctx context.Context) error {
	data, err := w.base(ctx)
	if err != nil {
		return err
	}
	g, err := w.graspd(ctx, data, "--sync=false")
	if err != nil {
		return err
	}
	c, err := connect(ctx, g.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	idle, _, err := timed(func() (int, error) { return c.ask(ctx, nostr.Filter{IDs: []nostr.ID{{}}}) })
	if err != nil {
		return err
	}
	waiting, cancel := patience(ctx)
	defer cancel()
	if err := g.calm(waiting); err != nil {
		return err
	}
	w.say("requests")
	for _, q := range w.questions() {
		first, warm, n, err := c.several(ctx, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		l := line{what: fmt.Sprintf("%s (%d events), warm", q.name, n), measured: span(warm), against: "the first time: " + span(first), ratio: warm.Seconds() / first.Seconds()}
		if q.target > 0 {
			l.target, l.met = "≤ "+span(q.target), warm <= q.target
		}
		w.report.add(l)
	}
	if err := w.opening(ctx, c); err != nil {
		return fmt.Errorf("negentropy: %w", err)
	}
	w.say("streaming")
	if err := w.streaming(ctx, g, c); err != nil {
		return err
	}
	w.report.note("From the request until EOSE, or until the first answer of a reconciliation; an empty answer takes %s. Warm is the median of %d. For the first time the process has just started and come to rest; the system has the files in memory.", span(idle), repeats)
	c.CloseNow() // graspd would wait for its farewell
	return g.stop()
}

// timed is how long f takes.
func timed(f func() (int, error)) (time.Duration, int, error) {
	begun := time.Now()
	n, err := f()
	return time.Since(begun), n, err
}

func (c *client) ask(ctx context.Context, f nostr.Filter) (int, error) {
	n, _, err := c.request(ctx, f)
	return n, err
}

// several asks once and then again and again; warm is the median of these.
func (c *client) several(ctx context.Context, q query) (first, warm time.Duration, n int, err error) {
	first, n, err = timed(func() (int, error) { return c.ask(ctx, q.filter) })
	var all []time.Duration
	for i := 0; i < repeats && err == nil; i++ {
		var d time.Duration
		d, _, err = timed(func() (int, error) { return c.ask(ctx, q.filter) })
		all = append(all, d)
	}
	slices.Sort(all)
	return first, all[len(all)/2], n, err
}

// query is a filter with its name, and how soon it should be answered.
type query struct {
	name   string
	filter nostr.Filter
	target time.Duration
}

func (w *world) questions() []query {
	some := func(all []nostr.ID, n int) (out []nostr.ID) {
		n = min(n, len(all))
		for i := range n {
			out = append(out, all[i*len(all)/n])
		}
		return out
	}
	var e []string
	for _, id := range some(w.corpus.roots, 100) {
		e = append(e, id.String())
	}
	a := w.corpus.addresses[:min(100, len(w.corpus.addresses))]
	limit := 500
	return []query{
		{"500 newest", nostr.Filter{Limit: &limit}, 0},
		{"100 `#a`", nostr.Filter{Limit: &limit, Tags: []nostr.TagFilter{{Name: 'a', Values: a}}}, 0},
		{"100 `#e`", nostr.Filter{Limit: &limit, Tags: []nostr.TagFilter{{Name: 'e', Values: e}}}, 0},
		{"500 ids", nostr.Filter{IDs: some(w.corpus.ids, 500)}, 3 * time.Millisecond},
	}
}

// opening measures the first answer of a reconciliation of everything, asked by somebody who has nothing.
func (w *world) opening(ctx context.Context, c *client) error {
	open := func() (int, error) {
		msg := negentropy.NewInitiator(negentropy.NewSet(nil), 0).Start()
		if err := c.Send(ctx, nostr.AppendNegOpen(nil, "n", nostr.Filter{}, msg)); err != nil {
			return 0, err
		}
		m, err := c.Receive(ctx)
		if err != nil {
			return 0, err
		}
		if _, is := m.(nostr.NegMsg); !is {
			return 0, fmt.Errorf("instead of NEG-MSG: %+v", m)
		}
		return 0, c.Send(ctx, nostr.AppendNegClose(nil, "n"))
	}
	first, _, err := timed(open)
	if err != nil {
		return err
	}
	var all []time.Duration
	for range repeats {
		d, _, err := timed(open)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	slices.Sort(all)
	warm := all[len(all)/2]
	w.report.add(line{what: fmt.Sprintf("negentropy opened on all (%d events), warm", w.corpus.n), measured: span(warm),
		against: "the first time: " + span(first), ratio: warm.Seconds() / first.Seconds()})
	return nil
}

// streaming reads everything, page by page, and tells what an event costs the process.
func (w *world) streaming(ctx context.Context, g *process, c *client) error {
	const page = 500
	var took, cpu [2]time.Duration
	var alloc int64
	var sent int
	for i := range 2 {
		was, err := g.allocated(ctx)
		if err != nil {
			return err
		}
		n, before, begun := 0, g.cpu(), time.Now()
		limit, end := page, int64(until)
		for {
			got, oldest, err := c.request(ctx, nostr.Filter{Limit: &limit, Until: &end})
			if err != nil {
				return err
			}
			if n += got; got < page {
				break
			}
			end = oldest - 1
		}
		took[i], cpu[i], sent = time.Since(begun), each(g.cpu()-before, n), n
		is, err := g.allocated(ctx)
		if err != nil {
			return err
		}
		alloc = (is - was) / int64(max(n, 1))
	}
	w.report.add(line{what: fmt.Sprintf("CPU for each of %d events streamed, warm", sent), measured: span(cpu[1]), against: "the first time: " + span(cpu[0]),
		ratio: cpu[1].Seconds() / max(cpu[0].Seconds(), 1e-9), target: "≤ 10 µs", met: cpu[1] <= 10*time.Microsecond})
	w.report.add(line{what: "allocated for each, warm", measured: size(alloc), against: "its size: " + size(w.corpus.bytes/int64(w.corpus.n)), ratio: float64(alloc) / float64(w.corpus.bytes/int64(w.corpus.n))})
	w.report.add(line{what: "events streamed, warm", measured: rate(sent, took[1]), against: "the first time: " + rate(sent, took[0]), ratio: took[0].Seconds() / took[1].Seconds()})
	return nil
}
