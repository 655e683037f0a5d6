package gitproc

import (
	"context"
	"slices"
	"sync"
	"time"
)

// slots are how many processes of a kind run at once. Who waits gets one in turns of parties, those before others that have
// fewest at the time.
type slots struct {
	places, perParty int           // who may wait
	most             time.Duration // how long others than our own wait; 0 is without a bound

	mu      sync.Mutex // guards what follows
	free    int
	running map[string]int // slots of each party that has any
	waiting map[string][]*waiter
	turn    []string // the parties that wait, who waits longest for a turn in front
	queued  int
	refused uint64
}

type waiter struct{ granted chan struct{} }

func newSlots(n, places, perParty int) *slots {
	return &slots{places: places, perParty: perParty, free: n, running: map[string]int{}, waiting: map[string][]*waiter{}}
}

// take waits for a slot.
func (s *slots) take(ctx context.Context, party string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := s.ask(party)
	if w == nil {
		return ErrBusy
	}
	err := s.await(ctx, party, w)
	if err != nil && !s.leave(party, w) { // it was granted meanwhile
		s.give(party)
	}
	return err
}

// await waits until w has its slot. It fails when it takes too long, or ctx ends.
func (s *slots) await(ctx context.Context, party string, w *waiter) error {
	select {
	case <-w.granted:
		return nil
	default:
	}
	var late <-chan time.Time
	if s.most > 0 && party != "" {
		t := time.NewTimer(s.most)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-w.granted:
		return nil
	case <-late:
		return ErrBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask takes a slot or a place among those that wait; nil if there is neither. Those of the own party always have a place.
func (s *slots) ask(party string) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{make(chan struct{})}
	if s.free > 0 {
		s.free--
		s.grant(party, w)
		return w
	}
	if party != "" && (s.queued >= s.places || len(s.waiting[party]) >= s.perParty) {
		s.refused++
		return nil
	}
	if len(s.waiting[party]) == 0 {
		s.turn = append(s.turn, party)
	}
	s.waiting[party] = append(s.waiting[party], w)
	s.queued++
	return w
}

func (s *slots) grant(party string, w *waiter) {
	s.running[party]++
	close(w.granted)
}

// leave takes back what w waits for, unless it was granted.
func (s *slots) leave(party string, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting[party], w)
	if i < 0 {
		return false
	}
	s.drop(party, i)
	return true
}

// drop takes one out of those that wait.
func (s *slots) drop(party string, i int) {
	s.queued--
	if s.waiting[party] = slices.Delete(s.waiting[party], i, i+1); len(s.waiting[party]) == 0 {
		delete(s.waiting, party)
		s.turn = slices.DeleteFunc(s.turn, func(p string) bool { return p == party })
	}
}

// give hands a slot on.
func (s *slots) give(party string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[party]--; s.running[party] == 0 {
		delete(s.running, party)
	}
	if len(s.turn) == 0 {
		s.free++
		return
	}
	next := slices.MinFunc(s.turn, func(a, b string) int { return s.running[a] - s.running[b] })
	w := s.waiting[next][0]
	s.drop(next, 0)
	if i := slices.Index(s.turn, next); i >= 0 { // it has had its turn
		s.turn = append(slices.Delete(s.turn, i, i+1), next)
	}
	s.grant(next, w)
}
