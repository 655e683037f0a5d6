package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// result is what became of a write. Where it is neither ok nor refused, nobody knows.
type result struct {
	ok       bool
	refused  bool   // it is not stored, and never will be by this write
	position uint64 // where it is in the log, at the latest
	verdict  policy.Verdict
}

// writer is what a leader writes with, built when it comes to lead and dropped with its process.
type writer interface {
	term() uint64
	publish(*nostr.Event) result
	push(of nip34.Address, old, to int) result // of a branch, from one commit to another
	drain()                                    // takes nothing more, and returns when all that was taken is written
}

// storeTerm writes batches to a store.
type storeTerm struct {
	l       *life
	number  uint64
	queue   chan *write
	stop    chan struct{} // closed when nothing more is taken
	stopped sync.Once
	done    chan struct{} // closed when the last batch is answered
	noted   chan struct{} // closed when the last notes are kept
}

type write struct {
	event  *nostr.Event
	answer chan result // one slot
}

func newStoreTerm(l *life, number uint64) writer {
	t := &storeTerm{l: l, number: number, queue: make(chan *write), stop: make(chan struct{}), done: make(chan struct{}), noted: make(chan struct{})}
	l.spawn(t.run)
	l.spawn(t.notes)
	return t
}

func (t *storeTerm) term() uint64 { return t.number }

func (t *storeTerm) push(nip34.Address, int, int) result { return result{refused: true} }

func (t *storeTerm) publish(e *nostr.Event) result {
	w := &write{e, make(chan result, 1)}
	select {
	case t.queue <- w:
	case <-t.done:
		return result{refused: true}
	case <-t.l.dead:
		return result{refused: true}
	}
	select {
	case r := <-w.answer:
		return r
	case <-t.l.dead:
		return result{}
	}
}

func (t *storeTerm) drain() {
	t.stopped.Do(func() { close(t.stop) })
	for _, c := range []chan struct{}{t.done, t.noted} {
		select {
		case <-c:
		case <-t.l.dead:
		}
	}
}

// run commits what has come, until it is stopped or deposed.
func (t *storeTerm) run() {
	defer close(t.done)
	for {
		select {
		case w := <-t.queue:
			if !t.commit(t.gather(w)) {
				return
			}
		case <-t.stop:
			return
		case <-t.l.dead:
			return
		}
	}
}

// gather takes what else has come.
func (t *storeTerm) gather(first *write) []*write {
	lot := []*write{first}
	for len(lot) < 20 {
		select {
		case w := <-t.queue:
			lot = append(lot, w)
		default:
			return lot
		}
	}
	return lot
}

// commit writes a batch, and answers. It returns false once the process leads no more.
func (t *storeTerm) commit(lot []*write) bool {
	verdicts, err := t.write(lot)
	if err == nil {
		t.l.w.audit.claim(t.l)
		t.l.w.audit.whole(t.l, 20)
		t.l.applied()
	}
	at := t.l.s.LogPlace().Position
	if !t.l.pass(300, "before it answers", nil) {
		return false
	}
	deposed := errors.Is(err, store.ErrDeposed)
	for i, w := range lot {
		r := result{refused: deposed}
		if err == nil {
			r = result{ok: verdicts[i] == policy.Accept || verdicts[i] == policy.Duplicate, refused: verdicts[i] != policy.Accept && verdicts[i] != policy.Duplicate, position: at}
		}
		w.answer <- r
	}
	if deposed {
		t.l.deposed()
	} else if err != nil && t.l.s.Failure() == nil {
		t.l.w.audit.problem("%s: commit: %v", t.l, err)
	}
	return err == nil
}

func (t *storeTerm) write(lot []*write) (verdicts []policy.Outcome, err error) {
	b, err := t.l.s.Begin()
	if err != nil {
		return nil, err
	}
	defer b.Discard()
	for _, w := range lot {
		out, err := b.Add(w.event, store.Direct)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, out)
	}
	for more := true; more; more = more && t.l.w.calms() { // what a deletion leaves to be done: some of it, and in the end all
		if more, err = b.Purge(4); err != nil {
			return nil, err
		}
	}
	if !t.l.pass(100, "before it commits", nil) {
		return nil, errors.New("the process is over")
	}
	_, err = b.Commit()
	return verdicts, err
}

// notes keeps some notes now and then, beside the batches.
func (t *storeTerm) notes() {
	defer close(t.noted)
	if t.l.w.still {
		return
	}
	for i := 0; t.l.wait(t.l.some(3*time.Second), t.stop); i++ {
		err := t.l.s.KeepNotes(map[string][]byte{fmt.Sprint(i % 5): fmt.Append(nil, t.number, i)}, []string{fmt.Sprint((i + 2) % 5)})
		switch {
		case err == nil:
			t.l.w.audit.claim(t.l)
			t.l.applied()
		case errors.Is(err, store.ErrDeposed):
			t.l.deposed()
			return
		default:
			return
		}
	}
}

// submit has a write done by whoever leads, and returns what the client hears of this process.
func (l *life) submit(do func(writer) result) result {
	if wr := l.leading(); wr != nil {
		return do(wr)
	}
	r := l.forward(do)
	if r.ok && !l.w.plant.answersEarly && !l.await(r.position) {
		return result{}
	}
	return r
}

// forward has the leader do a write.
func (l *life) forward(do func(writer) result) result {
	l.mu.Lock()
	name := l.term.By
	l.mu.Unlock()
	lead := l.w.named(name)
	if lead == nil || lead == l || !l.w.carries(l.node.name, name) || !l.travel() || !lead.enter() {
		return result{refused: true}
	}
	defer lead.all.Done()
	wr := lead.leading()
	if wr == nil || !lead.pass(300, "before it takes a write", l.dead) {
		return result{refused: true}
	}
	r := do(wr)
	if !lead.pass(300, "before it answers a node", l.dead) || !l.travel() || !l.w.carries(l.node.name, name) {
		return result{}
	}
	return r
}

// result is what a process hears of an append.
func (p plant) result(r commitlog.Result, err error) (commitlog.Result, error) {
	if p.refusedIsDone && r == commitlog.Refused || p.unknownIsDone && r == commitlog.Unknown {
		return commitlog.Done, nil
	}
	return r, err
}

// plant is something that is wrong with the nodes, which a world has to notice.
type plant struct {
	refusedIsDone bool // the log says that it took what it has refused
	unknownIsDone bool // the same where nobody knows
	streamsEarly  bool // a leader sends what it has not heard to be in the log
	answersEarly  bool // a node says OK before it shows what the leader has written
}

var plants = []string{"refusedIsDone", "unknownIsDone", "streamsEarly", "answersEarly"}

func planted(name string) (p plant) {
	for i, x := range []*bool{&p.refusedIsDone, &p.unknownIsDone, &p.streamsEarly, &p.answersEarly} {
		*x = i == slices.Index(plants, name)
	}
	return p
}
