package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ingested is what the way through the door took.
type ingested struct {
	events      int
	stored      int64 // of them, in the end
	took, cpu   time.Duration
	allocated   int64
	verifyAlone time.Duration // on all cores
	verifyCPU   time.Duration
}

// ingest is (a): the corpus through the door into a fresh store on the disk, against the mere check of its signatures.
func (w *world) ingest(ctx context.Context) error {
	if _, err := w.base(ctx); err != nil {
		return err
	}
	t := w.through
	w.report.add(line{what: "ingest through the door into a fresh store on disk", measured: rate(t.events, t.took),
		against: "signatures alone on all cores: " + rate(t.events, t.verifyAlone), ratio: t.verifyAlone.Seconds() / t.took.Seconds(),
		target: "≥ 0.6", met: t.verifyAlone.Seconds() >= 0.6*t.took.Seconds()})
	cpu, alone := each(t.cpu, t.events), each(t.verifyCPU, t.events)
	w.report.add(line{what: "CPU for each event", measured: span(cpu), against: "signatures alone: " + span(alone), ratio: cpu.Seconds() / alone.Seconds()})
	w.report.add(line{what: "allocated for each event", measured: size(t.allocated / int64(t.events)), against: "its size: " + size(w.corpus.bytes/int64(w.corpus.n)),
		ratio: float64(t.allocated) / float64(w.corpus.bytes)})
	w.report.note("The events were parsed before the measurement. Signatures alone are the mean of a run before and one after.")
	return nil
}

// base is a data directory with the whole corpus, that came through the door; how long that took stands in through.
func (w *world) base(ctx context.Context) (string, error) {
	if w.stored != "" {
		return w.stored, nil
	}
	c, err := w.events(ctx)
	if err != nil {
		return "", err
	}
	events, err := c.read(ctx, c.n)
	if err != nil {
		return "", err
	}
	w.say("checking the signatures alone")
	t := ingested{events: len(events)}
	first, firstCPU, err := verifyAll(ctx, events)
	if err != nil {
		return "", err
	}
	w.say("%s; the same through the door", rate(len(events), first))
	data := w.path("base")
	before, alloc := spent(), allocated()
	if t.took, t.stored, err = throughDoor(ctx, data, events); err != nil {
		return "", err
	}
	t.cpu, t.allocated = spent()-before, allocated()-alloc
	w.say("%s; signatures alone again", rate(len(events), t.took))
	second, secondCPU, err := verifyAll(ctx, events)
	if err != nil {
		return "", err
	}
	t.verifyAlone, t.verifyCPU = (first+second)/2, (firstCPU+secondCPU)/2
	w.stored, w.through = data, t
	return data, nil
}

func verifyAll(ctx context.Context, events []*nostr.Event) (took, cpu time.Duration, err error) {
	begun, before := time.Now(), spent()
	err = onAllCores(ctx, len(events), func(i int) error { return nostr.Check(events[i], nostr.Schnorr{}) })
	return time.Since(begun), spent() - before, err
}

// openDoor opens a data directory by the rules of every graspd here.
func openDoor(data string) (*store.Store, *ingest.Door, error) {
	service, err := grasp.ParseService(domain)
	if err != nil {
		return nil, nil, err
	}
	return node.OpenDoor(node.Config{Dir: data, Service: service, Store: store.Options{Floor: 1}})
}

// throughDoor stores events as they come from one other relay. It returns the time from the first until all are decided, and how many
// are stored then: neither those that were refused nor old deletions that remove nothing. It fails where the door refused more than the few
// events that have expired or name something before it is here.
func throughDoor(ctx context.Context, data string, events []*nostr.Event) (took time.Duration, stored int64, err error) {
	st, d, err := openDoor(data)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	running, stop := context.WithCancel(ctx)
	var door, last sync.WaitGroup
	door.Go(func() { _ = d.Run(running) })
	defer door.Wait()
	defer stop()
	s := d.Source(ingest.SourceConfig{Label: "another relay"})
	var accepted atomic.Int64
	reply := func(v policy.Verdict) {
		if v.Outcome == policy.Accept {
			accepted.Add(1)
		}
		last.Done()
	}
	begun := time.Now()
	for _, e := range events {
		last.Add(1)
		if err := s.Submit(ctx, e, store.Catchup, reply); err != nil {
			return 0, 0, err
		}
	}
	last.Wait()
	took, stored = time.Since(begun), st.Stats().Events
	if n := accepted.Load(); n < int64(len(events))*99/100 {
		err = fmt.Errorf("%d of %d events were accepted", n, len(events))
	}
	return took, stored, err
}
