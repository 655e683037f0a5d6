package storecheck

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// proverLot is how many entries of the log prover proves at once, on each core. proverBytes bounds about how large all these are.
const (
	proverLot   = 64
	proverBytes = 8 << 20
)

// proven is an entry of the log, and what is wrong with it. An entry that could not even be parsed has no event.
type proven struct {
	layout.Entry
	err error
}

// prover proves entries of the log from their bytes, many at a time, and hands them on in order.
type prover struct {
	verifier nostr.Verifier // nil leaves the signatures out
	next     func(proven) error
	seqs     []layout.Seq
	values   [][]byte
	bytes    int
}

func newProver(v nostr.Verifier, next func(proven) error) *prover {
	return &prover{verifier: v, next: next}
}

// take adds an entry; value is valid only during the call.
func (p *prover) take(seq layout.Seq, value []byte) error {
	p.seqs = append(p.seqs, seq)
	p.values = append(p.values, bytes.Clone(value))
	p.bytes += len(value)
	if len(p.seqs) < proverLot*runtime.GOMAXPROCS(0) && p.bytes < proverBytes {
		return nil
	}
	return p.flush()
}

// flush proves the entries that were taken, on all cores, and calls next with each in order.
func (p *prover) flush() error {
	out := make([]proven, len(p.seqs))
	var g sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		g.Go(func() {
			for i := w; i < len(out); i += workers {
				out[i] = p.prove(p.seqs[i], p.values[i])
			}
		})
	}
	g.Wait()
	p.seqs, p.values, p.bytes = p.seqs[:0], p.values[:0], 0
	for _, e := range out {
		if err := p.next(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *prover) prove(seq layout.Seq, value []byte) proven {
	src, json, err := layout.ParseLog(value)
	if err != nil {
		return proven{layout.Entry{Seq: seq}, err}
	}
	e, err := nostr.ParseEvent(json)
	if err != nil {
		return proven{layout.Entry{Seq: seq}, err}
	}
	if err = e.CheckID(); err == nil && p.verifier != nil && !p.verifier.Verify(e.PubKey, e.ID, e.Sig) {
		err = nostr.ErrSig
	}
	return proven{layout.Entry{Seq: seq, Event: e, Source: src}, err}
}
