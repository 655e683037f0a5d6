package relay

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	negIdle  = 2 * time.Minute  // how long a reconciliation may be idle before it ends
	negYield = 10 * time.Second // how long a reconciliation may be idle before it gives way to a new one that needs its memory
)

// reconciles holds the open reconciliations of all sessions. Their sets share a bounded number of records. To make room for a new
// set, the relay first ends reconciliations that were idle for longer than negYield, the longest idle first, and then the oldest
// ones of the address that has the most records. If that is not enough, it refuses the new one.
type reconciles struct {
	store    *store.Store
	now      func() time.Time
	limits   ReconcileLimits
	records  *fair.Account
	building semaphore // bounds the sets that are being read

	mu   sync.Mutex
	open map[*session]map[string]*reconciliation
}

// reconciliation is one open reconciliation (a session of NIP-77).
type reconciliation struct {
	session *session
	sub     string
	set     *negentropy.Set
	memory  *fair.Grant // the grant for the records of its set
	used    time.Time   // when the client last used it
}

func newReconciles(st *store.Store, now func() time.Time, limits ReconcileLimits, records *fair.Account) *reconciles {
	return &reconciles{
		store: st, now: now, limits: limits, records: records,
		building: make(semaphore, builders),
		open:     map[*session]map[string]*reconciliation{},
	}
}

// remove takes a reconciliation out of all lists. The caller holds mu.
func (r *reconciles) remove(c *reconciliation) {
	ofSession := r.open[c.session]
	delete(ofSession, c.sub)
	if len(ofSession) == 0 {
		delete(r.open, c.session)
	}
	c.memory.GiveBack()
}

// keep opens a reconciliation over a set from build; memory is the grant for the set.
func (r *reconciles) keep(s *session, sub string, set *negentropy.Set, memory *fair.Grant, now time.Time) {
	c := &reconciliation{session: s, sub: sub, set: set, memory: memory, used: now}
	r.add(c)
	memory.Shrink(int64(set.Len()))
	memory.Revocable(func() { r.evict(c) })
}

func (r *reconciles) add(c *reconciliation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[c.session] == nil {
		r.open[c.session] = map[string]*reconciliation{}
	}
	r.open[c.session][c.sub] = c
}

// evict ends a reconciliation because others need its memory. It does not wait.
func (r *reconciles) evict(c *reconciliation) {
	if r.end(c) {
		c.session.relay.counts.revoked.Add(1)
		c.session.out.post(nostr.AppendNegErr(nil, c.sub, "closed: your address holds most of the memory for reconciliations, and others need some; open it again", 0))
	}
}

// end ends a reconciliation, and reports whether it was still open.
func (r *reconciles) end(c *reconciliation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[c.session][c.sub] != c {
		return false
	}
	r.remove(c)
	return true
}

// use returns the set of an open reconciliation, nil where there is no such reconciliation, and notes that the client used it now.
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

// dropAll ends all reconciliations of a session.
func (r *reconciles) dropAll(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open[s] {
		r.remove(c)
	}
}

// expire ends a session's reconciliations that have been idle for longer than negIdle, and returns their ids.
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
