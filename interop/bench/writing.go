package main

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

const batchSize = 500

// writing is (i): what a stored event costs, without signatures and without the door.
func (w *world) writing(ctx context.Context) (err error) {
	c, err := w.events(ctx)
	if err != nil {
		return err
	}
	events, err := c.read(ctx, c.n)
	if err != nil {
		return err
	}
	verify, err := oneByOne(events[:min(2000, len(events))])
	if err != nil {
		return err
	}
	s, err := openStore(w.path("written"))
	if err != nil {
		return err
	}
	begun, before := time.Now(), spent()
	for i := 0; i < len(events) && err == nil; i += batchSize {
		if err = ctx.Err(); err == nil {
			err = commit(s, events[i:min(i+batchSize, len(events))])
		}
	}
	err = errors.Join(err, s.Close())
	took, cpu := time.Since(begun), each(spent()-before, len(events))
	if err != nil {
		return err
	}
	w.report.add(line{what: "CPU for each event written", measured: span(cpu), against: "checking its signature: " + span(verify), ratio: cpu.Seconds() / verify.Seconds(),
		target: "≤ 40 µs", met: cpu <= 40*time.Microsecond})
	w.report.add(line{what: "events written", measured: rate(len(events), took)})
	w.report.note("Batches of %d on the disk, the merging of tables and the end of the store included.", batchSize)
	return nil
}

// oneByOne is the time that the check of an event takes.
func oneByOne(events []*nostr.Event) (time.Duration, error) {
	begun := time.Now()
	for _, e := range events {
		if err := nostr.Check(e, nostr.Schnorr{}); err != nil {
			return 0, err
		}
	}
	return each(time.Since(begun), len(events)), nil
}

func openStore(data string) (*store.Store, error) {
	s, _, err := openDoor(data)
	return s, err
}

// commit writes one batch.
func commit(s *store.Store, events []*nostr.Event) error {
	b, err := s.Begin()
	if err != nil {
		return err
	}
	defer b.Discard()
	for _, e := range events {
		if _, err := b.Add(e, store.Catchup); err != nil {
			return err
		}
	}
	_, err = b.Commit()
	return err
}

// unsigned gives an event its author and id, and no signature.
func unsigned(_ nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) {
	e.PubKey = pk
	e.ID = e.ComputeID()
}

// write puts a corpus straight into a store.
func write(ctx context.Context, data string, o corpus.Options) (err error) {
	s, err := openStore(data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var batch []*nostr.Event
	for it := range corpus.Stream(o) {
		if it.Fate != corpus.Served {
			continue
		}
		if batch = append(batch, it.Event); len(batch) == batchSize {
			if err := errors.Join(ctx.Err(), commit(s, batch)); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return commit(s, batch)
}
