package store

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// waits keeps the events waiting that did, under their numbers. One of which it cannot be read for how long waits no longer.
func (r *rebuild) waits() error {
	rows := make(map[nostr.ID]waitRow)
	err := r.from.each(tableWait, func(key, value []byte) error {
		row, err := parseWaitRow(value)
		if err != nil || len(key) != 1+32 {
			r.report.problem("wait: %v", errCorrupt)
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
	err = r.from.each(tableWaiting, func(key, value []byte) error {
		if len(key) != 9 || binary.BigEndian.Uint64(key[1:]) == 0 {
			r.report.problem("what waits: key of %d bytes", len(key))
			return nil
		}
		return p.take(Seq(binary.BigEndian.Uint64(key[1:])), value)
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

func (r *rebuild) wait(x Entry, row waitRow) error {
	b, err := r.batch()
	if err != nil {
		return err
	}
	out, err := b.judge(x.Event, isDuplicate, isVanished, isDeleted, isSuperseded, isWaiting, isOutwaited)
	if err == nil && out == policy.Accept {
		b.counters.head = max(b.counters.head, x.Seq)
		err = b.wait(x.Event, x.Seq, Wait{x.Source, row.came, row.until, row.from})
	}
	if err != nil {
		return fmt.Errorf("event that waits %d: %w", x.Seq, err)
	}
	return r.commit(rebuildOps)
}
