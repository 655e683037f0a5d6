package relay

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"graspd/internal/negentropy"
	"graspd/internal/store"
)

const (
	negIdle  = 2 * time.Minute  // after which a reconciliation ends
	negYield = 10 * time.Second // after which it gives way to a new one that needs its memory
)

// reconciles are the open reconciliations of all sessions. Their sets share a bounded number of records: where a new one does
// not fit, those that were idle for longest, 10 s at least, are ended; where that is not enough it is refused.
type reconciles struct {
	store    *store.Store
	now      func() time.Time
	limits   ReconcileLimits
	building chan struct{} // holds a token for each set that is being read

	mu   sync.Mutex
	open map[*session]map[string]*reconciliation
	left int              // records that may still be taken
	held map[*visitor]int // records that clients of an address have
}

// reconciliation is one NIP-77 session.
type reconciliation struct {
	session *session
	sub     string
	set     *negentropy.Set
	used    time.Time
}

func newReconciles(st *store.Store, now func() time.Time, limits ReconcileLimits) *reconciles {
	return &reconciles{
		store: st, now: now, limits: limits, left: limits.Total,
		building: make(chan struct{}, builders),
		open:     map[*session]map[string]*reconciliation{},
		held:     map[*visitor]int{},
	}
}

// remove is called with mu held.
func (r *reconciles) remove(c *reconciliation) {
	ofSession := r.open[c.session]
	delete(ofSession, c.sub)
	if len(ofSession) == 0 {
		delete(r.open, c.session)
	}
	r.left += c.set.Len()
	r.hold(c.session.visitor, -c.set.Len())
}

// keep opens a reconciliation over a set that was built.
func (r *reconciles) keep(s *session, sub string, set *negentropy.Set, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[s] == nil {
		r.open[s] = map[string]*reconciliation{}
	}
	r.open[s][sub] = &reconciliation{session: s, sub: sub, set: set, used: now}
}

// use gives the set of an open reconciliation, nil where there is none.
func (r *reconciles) use(s *session, sub string, now time.Time) *negentropy.Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.open[s][sub]
	if c == nil {
		return nil
	}
	c.used = now
	return c.set
}

func (r *reconciles) count(s *session) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open[s])
}

// total counts the open reconciliations of all sessions.
func (r *reconciles) total() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ofSession := range r.open {
		n += len(ofSession)
	}
	return n
}

// drop ends a reconciliation, if it is open.
func (r *reconciles) drop(s *session, sub string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.open[s][sub]; c != nil {
		r.remove(c)
	}
}

// dropAll ends all of a session's.
func (r *reconciles) dropAll(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open[s] {
		r.remove(c)
	}
}

// expire ends a session's reconciliations that have been idle for too long and returns their ids.
func (r *reconciles) expire(s *session, now time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var subs []string
	for _, sub := range slices.SortedFunc(maps.Keys(r.open[s]), cmp.Compare) {
		if c := r.open[s][sub]; now.Sub(c.used) >= negIdle {
			r.remove(c)
			subs = append(subs, sub)
		}
	}
	return subs
}
