package gitproc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/lately"
)

// slots are how many processes of a kind run at once. Who waits gets one in turns of parties, those before others that have
// fewest at the time, and of these who took least of the processor lately.
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
	taken   lately.Use[string] // of the processor
}

type waiter struct {
	granted chan struct{}
	sent    chan struct{} // closed when it is sent away for others
}

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
	if err == errSent {
		return ErrBusy
	}
	if err != nil && !s.leave(party, w) { // it was granted meanwhile
		s.give(party)
	}
	return err
}

// takeFree takes a slot that is free.
func (s *slots) takeFree(ctx context.Context, party string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return ErrBusy
	}
	s.free--
	s.running[party]++
	return nil
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
	case <-w.sent:
		return errSent
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
	w := &waiter{make(chan struct{}), make(chan struct{})}
	if s.free > 0 {
		s.free--
		s.grant(party, w)
		return w
	}
	if party != "" && (len(s.waiting[party]) >= s.perParty || s.queued >= s.places && !s.makeRoom(party)) {
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

// errSent is why somebody waits no more.
var errSent = errors.New("others who have fewer came")

// makeRoom sends the last one away of the party that has most waiting, if it has more than who asks would have, or as many and
// took more of the processor lately. It is called with mu held.
func (s *slots) makeRoom(party string) bool {
	now := time.Now()
	others := slices.DeleteFunc(slices.Clone(s.turn), func(p string) bool { return p == "" })
	if len(others) == 0 {
		return false
	}
	worst := slices.MaxFunc(others, func(a, b string) int {
		return cmp.Or(len(s.waiting[a])-len(s.waiting[b]), s.taken.Seconds(now, a)-s.taken.Seconds(now, b))
	})
	n := len(s.waiting[worst])
	if cmp.Or(n-len(s.waiting[party])-1, s.taken.Seconds(now, worst)-s.taken.Seconds(now, party)) <= 0 {
		return false
	}
	close(s.waiting[worst][n-1].sent)
	s.drop(worst, n-1)
	s.refused++
	return true
}

// took notes what a process of a party took of the processor.
func (s *slots) took(party string, cpu time.Duration) {
	if party == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken.Add(time.Now(), party, cpu)
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
	now := time.Now()
	next := slices.MinFunc(s.turn, func(a, b string) int {
		return cmp.Or(s.running[a]-s.running[b], s.taken.Seconds(now, a)-s.taken.Seconds(now, b))
	})
	w := s.waiting[next][0]
	s.drop(next, 0)
	if i := slices.Index(s.turn, next); i >= 0 { // it has had its turn
		s.turn = append(slices.Delete(s.turn, i, i+1), next)
	}
	s.grant(next, w)
}
