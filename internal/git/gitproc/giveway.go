package gitproc

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// ErrGaveWay says that the process was ended so that others who waited got its slot. It is an ErrBusy, too.
var ErrGaveWay = fmt.Errorf("%w: others waited, and this took more than its part", ErrBusy)

const (
	patience   = 5 * time.Second // how long somebody waits before others have to give way
	pressEvery = time.Second
)

// Work is left alone for its usual time, which goes by the packs that it reads; histories take a part of it.
const (
	usualFree   = 5 * time.Second
	usualPerMiB = 200 * time.Millisecond
)

func usualTime(reads int64) time.Duration { return usualFree + time.Duration(reads>>20)*usualPerMiB }

// active is work that has a slot and a process.
type active struct {
	work
	began time.Time
	usual time.Duration
	kill  func(error)
	gone  bool // it was killed, and gives its slot back soon
}

// runs notes a process of work that has a slot. The caller calls ended when the slot is given back.
func (s *slots) runs(c work, usual time.Duration, kill func(error)) (ended func()) {
	a := &active{work: c, began: time.Now(), usual: usual, kill: kill}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[a] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.active, a)
	}
}

// press has a process end so that w, which has waited for long, gets a slot. One at a time ends, and none where w has its slot meanwhile.
func (s *slots) press(w *waiter) {
	s.mu.Lock()
	var victim *active
	if slices.Contains(s.waiting[w.party], w) {
		victim = s.victim(time.Now(), w)
	}
	if victim != nil {
		victim.gone = true
	}
	s.mu.Unlock()
	if victim != nil {
		victim.kill(ErrGaveWay)
	}
}

// victim returns the work that gives way to w: of the party that took most of the processor, with what it has running, the work that loses least. A
// party that has more than half of the slots gives way at once, and others when their work has taken longer than is usual. Where w must wait for
// heavy work to end, only heavy work gives way. Nil is that nobody does. The caller holds mu.
func (s *slots) victim(now time.Time, w *waiter) (worst *active) {
	if w.party == "" {
		return nil // our own work waits
	}
	took := map[string]float64{w.party: 0}
	for a := range s.active {
		if a.gone {
			return nil
		}
		took[a.party] += now.Sub(a.began).Seconds()
	}
	for party := range took {
		took[party] += float64(s.taken.Seconds(now, party))
	}
	for a := range s.active {
		over := 2*s.running[a.party] > s.all
		late := now.Sub(a.began) > a.usual
		helps := a.heavy || !w.heavy || s.heavy < s.heavies
		if a.party == "" || a.party == w.party || !helps || !over && !late || took[a.party] <= took[w.party] {
			continue
		}
		if worst == nil || cmp.Or(cmp.Compare(took[a.party], took[worst.party]), losesLess(now, a, worst)) > 0 {
			worst = a
		}
	}
	return worst
}

// overlong is how many times its usual time work may take before it goes before what began later.
const overlong = 10

// losesLess returns more than 0 where a gives way rather than b, of the same party: what began last has least to lose, such as an upload that is all
// but complete. So that nothing stays for ever, work that has taken many times what is usual goes first, and of such work what began first.
func losesLess(now time.Time, a, b *active) int {
	stays := func(x *active) bool { return now.Sub(x.began) > overlong*x.usual }
	switch {
	case stays(a) && stays(b):
		return b.began.Compare(a.began)
	case stays(a):
		return 1
	case stays(b):
		return -1
	}
	return a.began.Compare(b.began)
}
