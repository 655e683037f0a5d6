package cluster_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// service is the relay that the nodes are.
var service = func() grasp.Service {
	s, err := grasp.ParseService("relay.example.org")
	if err != nil {
		panic(err)
	}
	return s
}()

var rules = policy.Rules{Service: service, Git: true}

// doorTerm writes through the door, with the ledger of repositories: all of it is built when a node comes to lead, from what its store has.
type doorTerm struct {
	l      *life
	number uint64
	door   *ingest.Door
	ledger *refdb.Ledger
	source *ingest.Source
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

func newDoorTerm(l *life, number uint64) writer {
	t := &doorTerm{l: l, number: number, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.ledger = refdb.New(refdb.Config{Objects: l.w.shelf, Service: service, Store: l.s})
	t.door = ingest.New(ingest.Config{Store: l.s, Rules: rules, Verifier: testkit.Marks{}, Workers: 1, Ledger: t.ledger})
	t.source = t.door.Source(ingest.SourceConfig{Label: "client", Direct: true})
	l.spawn(func() {
		defer close(t.done)
		if err := t.door.Run(t.ctx); err != nil {
			l.w.audit.problem("%s: door: %v", l, err)
		}
	})
	l.spawn(t.watch)
	return t
}

// watch tells of what the door commits by itself, and ends the door with the process.
func (t *doorTerm) watch() {
	defer t.cancel()
	deposed := t.l.s.Deposed()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.wrote()
		case <-deposed:
			deposed = nil
			t.l.deposed()
		case <-t.l.dead:
			return
		}
	}
}

func (t *doorTerm) wrote() {
	if t.l.s.LogPlace().Position > t.l.at() {
		t.l.w.audit.claim(t.l)
		t.l.applied()
	}
}

func (t *doorTerm) term() uint64 { return t.number }

func (t *doorTerm) drain() {
	t.cancel()
	select {
	case <-t.done:
	case <-t.l.dead:
	}
	t.wrote()
}

func (t *doorTerm) publish(e *nostr.Event) result {
	got := make(chan policy.Verdict, 1)
	if err := t.source.Submit(t.ctx, e, store.Direct, func(v policy.Verdict) { got <- v }); err != nil {
		return result{refused: true}
	}
	select {
	case v := <-got:
		return t.heard(v)
	case <-t.l.dead:
		return result{}
	}
}

// heard reads a verdict. Whoever hears that another node leads knows that the event is not here.
func (t *doorTerm) heard(v policy.Verdict) result {
	t.wrote()
	if strings.Contains(v.Reason, "failed over") {
		t.l.w.audit.problem("%s blames an event: %s", t.l, v.Reason)
	}
	return result{ok: v.OK(), refused: v.Outcome == policy.Failed && strings.Contains(v.Reason, "another node"), position: t.l.s.LogPlace().Position, verdict: v}
}

func (t *doorTerm) push(of nip34.Address, old, to int) result {
	p := refs.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", Old: commitID(old), New: commitID(to)}}, From: refs.From{Address: "198.51.100.7"}}
	var opened refdb.Opened
	err := t.door.Exclusively(t.ctx, "", func(x *ingest.Exclusive) (err error) {
		opened, err = t.ledger.Open(x.Turn, of, p)
		return err
	})
	if err != nil || !opened.Known || opened.Refused() || !opened.Changes() {
		return t.pushed(err, false)
	}
	p.Upload = opened.Upload
	dir := t.l.w.shelf.fresh()
	var arrived refdb.Arrived
	err = t.door.Exclusively(t.ctx, "", func(x *ingest.Exclusive) (err error) {
		arrived, err = t.ledger.Arrive(x.Turn, refdb.Arrival{Of: of, Push: &p, Dir: dir, Admit: func(dir refdb.Dir) error {
			t.l.w.shelf.put(dir, commitID(to))
			return nil
		}})
		if err != nil {
			return err
		}
		return x.Serve(arrived.Release)
	})
	return t.pushed(err, arrived.Known && !arrived.Refused())
}

func (t *doorTerm) pushed(err error, ok bool) result {
	t.wrote()
	deposed := errors.Is(err, store.ErrDeposed)
	if err != nil && !deposed && !errors.Is(err, ingest.ErrStopped) && !errors.Is(err, context.Canceled) && t.l.s.Failure() == nil {
		t.l.w.audit.problem("%s: push: %v", t.l, err)
	}
	return result{ok: ok && err == nil, refused: deposed, position: t.l.s.LogPlace().Position}
}

// shelf has the objects of all repositories, which every node reaches.
type shelf struct {
	mu   sync.Mutex
	has  map[refdb.Dir]map[gitwire.ObjectID]bool
	dirs uint64
}

func newShelf() *shelf { return &shelf{has: map[refdb.Dir]map[gitwire.ObjectID]bool{}} }

// Missing implements refdb.Objects.
func (s *shelf) Missing(_ refdb.Rows, dir refdb.Dir, ids []gitwire.ObjectID) (out []gitwire.ObjectID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if !s.has[dir][id] {
			out = append(out, id)
		}
	}
	return out, nil
}

func (s *shelf) put(dir refdb.Dir, id gitwire.ObjectID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[dir] == nil {
		s.has[dir] = map[gitwire.ObjectID]bool{}
	}
	s.has[dir][id] = true
}

// fresh is a directory that no repository has.
func (s *shelf) fresh() (d refdb.Dir) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirs++
	binary.BigEndian.PutUint64(d[:], s.dirs)
	return d
}

// commitID is the nth commit of any repository; 0 is none.
func commitID(n int) (id gitwire.ObjectID) {
	if n == 0 {
		return id
	}
	return gitwire.ObjectIDOf([20]byte{1, byte(n >> 8), byte(n)})
}

func numberOf(id gitwire.ObjectID) int {
	raw := id.AppendRaw(nil)
	if len(raw) < 3 || raw[0] != 1 {
		return 0
	}
	return int(raw[1])<<8 | int(raw[2])
}
