package storecheck

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// waits has the events that waited go on waiting, under their numbers. Where it cannot read how long an event should wait, the wait is over at
// once.
func (r *rebuild) waits() error {
	rows := make(map[nostr.ID]layout.WaitRow)
	err := r.from.Each(layout.TableWait, func(key, value []byte) error {
		row, err := layout.ParseWaitRow(value)
		if err != nil || len(key) != 1+32 {
			r.report.problem("wait: %v", layout.ErrCorrupt)
			return nil
		}
		rows[nostr.ID(key[1:])] = row
		return nil
	})
	if err != nil {
		return err
	}
	p := newProver(r.check.Verifier, func(p proven) error {
		if p.err != nil {
			r.report.problem("event that waits %d: %v", p.Seq, p.err)
			return nil
		}
		row := rows[p.Event.ID]
		delete(rows, p.Event.ID)
		return r.wait(p.Entry, row)
	})
	err = r.from.Each(layout.TableWaiting, func(key, value []byte) error {
		if len(key) != 9 || binary.BigEndian.Uint64(key[1:]) == 0 {
			r.report.problem("what waits: key of %d bytes", len(key))
			return nil
		}
		return p.take(layout.Seq(binary.BigEndian.Uint64(key[1:])), value)
	})
	if err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	for id := range rows {
		r.report.problem("event %s, which waits, is lost", id)
	}
	return nil
}

func (r *rebuild) wait(x layout.Entry, row layout.WaitRow) error {
	f, err := r.refill()
	if err != nil {
		return err
	}
	w := layout.Waiting{Event: x.Event, Seq: x.Seq, Wait: layout.Wait{Source: x.Source, Came: row.Came, Until: row.Until, From: row.From}}
	if err := f.Wait(w); err != nil {
		return fmt.Errorf("event that waits %d: %w", x.Seq, err)
	}
	return r.commit(rebuildOps)
}
