package logtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Nodes are several nodes that write one log, each when it thinks that it leads.
type Nodes struct {
	Seed    uint64
	Count   int           // how many nodes
	Commits int           // how many commits each node tries to make
	Freeze  time.Duration // how long a node may stand still before it appends

	all []*node
}

// node is one of them. Its log may fail in any way that a log may.
type node struct {
	log     commitlog.Log
	r       *rand.Rand
	at      commitlog.Position
	chain   commitlog.Chain
	acked   []commitlog.Entry // that somebody heard OK for
	deposed []commitlog.Entry // that somebody heard an error for
}

// Run lets the nodes write, with a log of each.
func (n *Nodes) Run(t testing.TB, open func() commitlog.Log) {
	var all sync.WaitGroup
	for i := range n.Count {
		x := &node{log: open(), r: rand.New(rand.NewPCG(n.Seed, uint64(i)))}
		n.all = append(n.all, x)
		all.Go(func() {
			for c := range n.Commits {
				if err := x.commit(t.Context(), fmt.Sprintf("%d of node %d", c, i), n.Freeze); err != nil {
					t.Errorf("seed %d, node %d: %v", n.Seed, i, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// commit makes one commit, or learns that another node leads, and follows what that one wrote.
func (x *node) commit(ctx context.Context, body string, freeze time.Duration) error {
	if x.r.IntN(4) == 0 {
		if err := sleep.For(ctx, time.Duration(x.r.Int64N(1+int64(freeze)))); err != nil {
			return err
		}
	}
	e := commitlog.NewEntry(x.at+1, x.chain, []byte(body))
	switch err := commitlog.Settle(ctx, x.log, e, x.chain); {
	case errors.Is(err, commitlog.ErrOther):
		x.deposed = append(x.deposed, e)
		return x.follow(ctx)
	case err != nil:
		return err
	}
	x.acked = append(x.acked, e)
	x.at, x.chain = e.At, e.Chain
	return nil
}

// follow reads up to the end of the log.
func (x *node) follow(ctx context.Context) error {
	for {
		e, err := x.log.Read(ctx, x.at+1)
		switch {
		case errors.Is(err, commitlog.ErrNone):
			return nil
		case errors.Is(err, commitlog.ErrGap), errors.Is(err, commitlog.ErrDamaged):
			return err
		case err != nil:
			if err := sleep.For(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		case !e.Follows(x.at, x.chain):
			return fmt.Errorf("entry %d comes after another one than %v", e.At, x.chain)
		default:
			x.at, x.chain = e.At, e.Chain
		}
	}
}

// Check compares what the nodes were told with a log that has no faults: who heard OK finds it, in one history, and who heard an error does not.
// It returns the log.
func (n *Nodes) Check(t testing.TB, log commitlog.Log) (all []commitlog.Entry) {
	t.Helper()
	var chain commitlog.Chain
	for at := commitlog.Position(1); ; at++ {
		e, err := log.Read(t.Context(), at)
		if errors.Is(err, commitlog.ErrNone) {
			break
		}
		if err != nil || !e.Follows(at-1, chain) {
			t.Fatalf("seed %d: entry %d: %v, or it does not follow the one before", n.Seed, at, err)
		}
		all, chain = append(all, e), e.Chain
	}
	for i, x := range n.all {
		for _, e := range x.acked {
			if int(e.At) > len(all) || all[e.At-1].Chain != e.Chain {
				t.Errorf("seed %d: node %d heard that %d is done, and it is not there", n.Seed, i, e.At)
			}
		}
		for _, e := range x.deposed {
			if all[e.At-1].Chain == e.Chain {
				t.Errorf("seed %d: node %d heard that %d is another's, and it is there", n.Seed, i, e.At)
			}
		}
		if len(x.acked)+len(x.deposed) != n.Commits {
			t.Errorf("seed %d: node %d heard of %d and %d commits", n.Seed, i, len(x.acked), len(x.deposed))
		}
	}
	return all
}
