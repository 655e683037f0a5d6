package gitproc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
)

// slots hands out the slots of one kind of work. Heavy work may have half of them, rounded up; the rest is for light work alone, and light
// work goes first, so that nobody with a little waits for those with much. But where no heavy work runs, waiting heavy work gets the next
// slot. A slot goes to the party that has the fewest, of these to the one that took least of the processor lately, and within these to work for
// the owner with the fewest slots and the least processor time. Of equals the one goes first whose turn is longest ago. But every second slot goes to
// whoever waits longest of the parties that have none, once that is patience, whatever they took: so nobody is passed for ever.
//
// A party that waits keeps one place until it is served or has waited for too long, however many come who took less.
//
// One slot beside all may be kept for short work of parties that have no other slot and took less than keptTaken of the processor lately: so who
// fills all slots, from however many addresses, keeps nobody waiting who has little.
type slots struct {
	places, perParty int           // how much work may wait: in all, and of one party
	most             time.Duration // how long the work of a party waits at most; 0 is without a bound
	heavies          int           // how many of the slots heavy work may have

	mu      sync.Mutex // guards the fields below
	free    int
	running map[string]int // slots of each party that has any
	theirs  map[string]int // slots of each owner that has any
	heavy   int            // slots of heavy work
	waiting map[string][]*waiter
	turn    []string      // the parties with work that waits; the one whose turn is longest ago in front
	byAge   map[bool]bool // whether the next slot for heavy work, or light work, goes to whoever waits longest
	queued  int
	burden  int // how many of those are heavy
	refused uint64
	taken   bucket.Usage[string] // processor time, by party
	spent   bucket.Usage[string] // processor time, by owner
	active  map[*active]bool     // work that has a slot and a process
	all     int                  // slots, without the one that is kept
	kept    int                  // 1 where one is kept, which free counts too
}

// work is work that needs a slot.
type work struct {
	party string // who has it done; "" is graspd itself
	owner string // who the work is for, as far as that is signed; "" is nobody
	heavy bool
	long  bool // the slot that is kept is not for it
}

type waiter struct {
	work
	since   time.Time
	granted chan struct{}
	sent    chan struct{} // closed when makeRoom sends it away
}

// heavyFraction says which part of the places heavy work may take: one in so many.
const heavyFraction = 2

// keptTaken is how many seconds of the processor a party may have taken lately that gets the slot that is kept.
const keptTaken = 5

// usualPlaces is how much work may wait: so much that many parties find one place each.
const usualPlaces = 256

func newSlots(n, places, perParty int) *slots {
	return &slots{
		places: places, perParty: perParty, free: n, heavies: (n + 1) / 2,
		running: map[string]int{}, theirs: map[string]int{}, waiting: map[string][]*waiter{}, active: map[*active]bool{}, all: n,
		byAge: map[bool]bool{},
	}
}

// take waits for a slot. It fails with ErrBusy, or with the cause of ctx. The caller gives the slot back with give.
func (s *slots) take(ctx context.Context, c work) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := s.ask(c)
	if w == nil {
		return ErrBusy
	}
	err := s.await(ctx, w)
	if err != nil && s.leave(w) {
		s.give(c)
	}
	return err
}

// takeFree takes a slot without waiting. It fails with ErrBusy where none is free for the work.
func (s *slots) takeFree(ctx context.Context, c work) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{work: c, granted: make(chan struct{})}
	if s.free == 0 || !s.may(w) {
		return ErrBusy
	}
	s.free--
	s.grant(w)
	return nil
}

// await waits until w has its slot. It fails when that takes too long, when makeRoom sends w away, or when ctx ends.
func (s *slots) await(ctx context.Context, w *waiter) error {
	select {
	case <-w.granted:
		return nil
	default:
	}
	var late <-chan time.Time
	if s.most > 0 && w.party != "" {
		t := time.NewTimer(s.most)
		defer t.Stop()
		late = t.C
	}
	press := time.NewTicker(pressEvery)
	defer press.Stop()
	for waited := pressEvery; ; {
		select {
		case <-w.granted:
			return nil
		case <-w.sent:
			return ErrBusy
		case <-press.C:
			if waited += pressEvery; waited > patience {
				s.press(w)
			}
		case <-late:
			return s.tooLong(ErrBusy)
		case <-ctx.Done():
			return s.tooLong(context.Cause(ctx))
		}
	}
}

// tooLong counts a wait that has ended because it took too long.
func (s *slots) tooLong(why error) error {
	if errors.Is(why, ErrBusy) && !errors.Is(why, ErrGaveWay) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused++
	}
	return why
}

// sure reports whether the work of a party always gets a place, and keeps it: whoever has it done bounds how much of it there is.
func sure(party string) bool { return party == "" || party == OtherServers }

// ask takes a slot or a place to wait, and returns nil if there is neither.
func (s *slots) ask(c work) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{work: c, since: time.Now(), granted: make(chan struct{}), sent: make(chan struct{})}
	if s.free > 0 && s.may(w) {
		s.free--
		s.grant(w)
		return w
	}
	if !sure(c.party) && (len(s.waiting[c.party]) >= s.perParty || !s.hasRoom(c)) {
		s.refused++
		return nil
	}
	if len(s.waiting[c.party]) == 0 {
		s.turn = append(s.turn, c.party)
	}
	s.waiting[c.party] = append(s.waiting[c.party], w)
	s.queued++
	if c.heavy {
		s.burden++
	}
	return w
}

// keepOne keeps one slot beside all for short work of parties that have no other and took little. It is called before anything else.
func (s *slots) keepOne() { s.kept, s.free = 1, s.free+1 }

// may reports whether w may have a free slot. The caller holds mu.
func (s *slots) may(w *waiter) bool {
	return (s.free > s.kept || s.hasLittle(w)) && (!w.heavy || s.heavy < s.heavies)
}

// hasLittle reports whether w may have the slot that is kept. The caller holds mu.
func (s *slots) hasLittle(w *waiter) bool {
	now := time.Now()
	return !w.heavy && !w.long && s.running[w.party] == 0 && s.theirs[w.owner] == 0 &&
		s.taken.Seconds(now, w.party) < keptTaken && s.spent.Seconds(now, w.owner) < keptTaken
}

// hasRoom reports whether there is a place for c to wait, and makes one where c has the better claim. The caller holds mu.
func (s *slots) hasRoom(c work) bool {
	if c.heavy && s.burden >= max(1, s.places/heavyFraction) {
		return s.makeRoom(c)
	}
	return s.queued < s.places || s.makeRoom(work{party: c.party})
}

// makeRoom sends away the last waiting work of the party that has the most waiting, and reports whether it did. That party must have more
// waiting than the party of c would have, or as much and have taken more of the processor lately. A party keeps one place. For heavy work only
// heavy work gives way. The caller holds mu.
func (s *slots) makeRoom(c work) bool {
	now := time.Now()
	has := func(party string) (n, last int) {
		for i, w := range s.waiting[party] {
			if w.heavy || !c.heavy {
				n, last = n+1, i
			}
		}
		return n, last
	}
	more := func(a, b string, more int) int {
		n, _ := has(a)
		m, _ := has(b)
		return cmp.Or(n-m-more, s.taken.Seconds(now, a)-s.taken.Seconds(now, b))
	}
	others := slices.DeleteFunc(slices.Clone(s.turn), func(p string) bool { n, _ := has(p); return sure(p) || n < 2 })
	if len(others) == 0 {
		return false
	}
	worst := slices.MaxFunc(others, func(a, b string) int { return more(a, b, 0) })
	if more(worst, c.party, 1) <= 0 {
		return false
	}
	_, last := has(worst)
	close(s.waiting[worst][last].sent)
	s.drop(worst, last)
	s.refused++
	return true
}

// took notes the processor time of a process.
func (s *slots) took(c work, cpu time.Duration) {
	if c.party == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.taken.Add(now, c.party, cpu)
	if c.owner != "" {
		s.spent.Add(now, c.owner, cpu)
	}
}

func (s *slots) grant(w *waiter) {
	s.running[w.party]++
	if w.owner != "" {
		s.theirs[w.owner]++
	}
	if w.heavy {
		s.heavy++
	}
	close(w.granted)
}

// leave gives up the place of w, if it still has one, and reports whether w got its slot meanwhile.
func (s *slots) leave(w *waiter) (granted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.granted:
		return true
	default:
	}
	if i := slices.Index(s.waiting[w.party], w); i >= 0 {
		s.drop(w.party, i)
	}
	return false
}

// drop takes waiting work i of a party out. The caller holds mu.
func (s *slots) drop(party string, i int) {
	s.queued--
	if s.waiting[party][i].heavy {
		s.burden--
	}
	if s.waiting[party] = slices.Delete(s.waiting[party], i, i+1); len(s.waiting[party]) == 0 {
		delete(s.waiting, party)
		s.turn = slices.DeleteFunc(s.turn, func(p string) bool { return p == party })
	}
}

// give gives a slot back, and hands it to work that waits.
func (s *slots) give(c work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	less(s.running, c.party)
	if c.owner != "" {
		less(s.theirs, c.owner)
	}
	if c.heavy {
		s.heavy--
	}
	s.free++
	for w := s.next(); w != nil && s.free > 0; w = s.next() {
		s.pass(w)
	}
}

// pass gives a free slot to work that waits. The caller holds mu.
func (s *slots) pass(w *waiter) {
	s.free--
	s.drop(w.party, slices.Index(s.waiting[w.party], w))
	s.byAge[w.heavy] = !s.byAge[w.heavy]
	if i := slices.Index(s.turn, w.party); i >= 0 { // the party has had its turn
		s.turn = append(slices.Delete(s.turn, i, i+1), w.party)
	}
	s.grant(w)
}

func less(of map[string]int, key string) {
	if of[key]--; of[key] == 0 {
		delete(of, key)
	}
}

// next returns the work that gets a free slot; nil where none waits that may have it. The caller holds mu.
func (s *slots) next() *waiter {
	if s.heavy == 0 {
		if w := s.first(true); w != nil {
			return w
		}
	}
	if w := s.first(false); w != nil {
		return w
	}
	return s.first(true)
}

// first returns the work whose turn it is among heavy work, or among light work, that may have a slot; nil where there is none. The caller holds mu.
func (s *slots) first(heavy bool) *waiter {
	now := time.Now()
	var best *waiter
	for _, party := range s.turn {
		for _, w := range s.waiting[party] {
			if w.heavy == heavy && s.may(w) && (best == nil || s.order(now, w, best) < 0) {
				best = w
			}
		}
	}
	return best
}

// order returns less than 0 where a goes before b, whose turn is longer ago. The caller holds mu.
func (s *slots) order(now time.Time, a, b *waiter) int {
	if s.byAge[a.heavy] {
		switch x, y := s.aged(now, a), s.aged(now, b); {
		case x && y:
			return a.since.Compare(b.since)
		case x:
			return -1
		case y:
			return 1
		}
	}
	return cmp.Or(
		s.running[a.party]-s.running[b.party], s.taken.Seconds(now, a.party)-s.taken.Seconds(now, b.party),
		s.theirs[a.owner]-s.theirs[b.owner], s.spent.Seconds(now, a.owner)-s.spent.Seconds(now, b.owner),
	)
}

// aged reports whether w has waited for long, and its party has no slot. The caller holds mu.
func (s *slots) aged(now time.Time, w *waiter) bool {
	return s.running[w.party] == 0 && now.Sub(w.since) >= patience
}
