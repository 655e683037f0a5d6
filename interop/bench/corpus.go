package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
	"github.com/graspd/graspd/internal/test/testkit"
)

// collection is the corpus: events that a relay keeps, on a file, and what filters need to ask for them.
type collection struct {
	file      string
	n         int
	bytes     int64
	ids       []nostr.ID
	roots     []nostr.ID
	addresses []string // of announcements
}

// Bounds of created_at, all past.
const (
	since = testkit.Since
	until = testkit.Until
)

// shape is a corpus of about n events: 1,000 repositories with 50,000 root events at the full size. A large one has 10,000 with
// 500,000 in 1,000,000.
func shape(n int, large bool) corpus.Options {
	o := testkit.Usual(n, service)
	if large {
		o.Repositories, o.Roots = max(n/100, 2), n/2
		o.Others = n - o.Repositories - o.Roots
	}
	return o
}

// events makes the corpus with genuine signatures, once. Every repository names the proxy's address as its other relay.
func (w *world) events(ctx context.Context) (*collection, error) {
	if w.corpus != nil {
		return w.corpus, nil
	}
	w.say("making and signing about %d events", w.options.events)
	o := shape(w.options.events, false)
	o.Relays = []string{w.proxy.url()}
	var pending []func()
	o.Sign = func(key nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) { // what names e needs its id; the signature can wait
		e.PubKey = pk
		e.ID = e.ComputeID()
		pending = append(pending, func() {
			if err := key.Sign(e, [32]byte{}); err != nil {
				panic(err) // key and event are our own
			}
		})
	}
	made := corpus.Generate(o)
	if err := onAllCores(ctx, len(pending), func(i int) error { pending[i](); return nil }); err != nil {
		return nil, err
	}
	c := &collection{file: w.path("corpus.jsonl")}
	if err := c.write(made); err != nil {
		return nil, err
	}
	w.corpus = c
	w.report.head = append(w.report.head, fmt.Sprintf("%d events as git relays have them (NIP-34): %d repositories, %d root events, %d bytes each; genuine signatures",
		c.n, len(c.addresses), len(c.roots), c.bytes/int64(c.n)))
	return c, nil
}

// write keeps what a relay is to hold, a line each.
func (c *collection) write(made *corpus.Corpus) (err error) {
	f, err := os.Create(c.file)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for e := range made.Events(corpus.Served) {
		line = append(e.AppendJSON(line[:0]), '\n')
		if _, err := b.Write(line); err != nil {
			return err
		}
		c.n++
		c.bytes += int64(len(line) - 1)
		c.ids = append(c.ids, e.ID)
		switch {
		case nip34.Is(e.Kind, nip34.Root):
			c.roots = append(c.roots, e.ID)
		case e.Kind == nip34.KindRepository:
			c.addresses = append(c.addresses, e.Address())
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// read parses all events, at most the first n.
func (c *collection) read(ctx context.Context, n int) ([]*nostr.Event, error) {
	b, err := os.ReadFile(c.file)
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitN(b, []byte("\n"), c.n+1)[:min(n, c.n)]
	events := make([]*nostr.Event, len(lines))
	err = onAllCores(ctx, len(lines), func(i int) error {
		e, err := nostr.ParseEvent(lines[i])
		events[i] = e
		return err
	})
	return events, err
}

// onAllCores runs f for 0 to n-1 until one fails.
func onAllCores(ctx context.Context, n int, f func(int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	const lot = 64
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for ctx.Err() == nil {
				end := int(next.Add(lot))
				for i := end - lot; i < min(end, n); i++ {
					if err := f(i); err != nil {
						cancel(err)
						return
					}
				}
				if end >= n {
					return
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
