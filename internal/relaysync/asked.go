package relaysync

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/store"
)

// lateness is how long events of an ended request are not held against the relay.
const lateness = time.Minute

// How many events of one request are not held against the relay though they are
// dropped: from outside the time that was asked for, and of a request that has
// ended, as a relay that takes no notice of limits may have much under way.
const (
	mostOutside = 1000
	mostLate    = 100_000
)

// asked knows what is open on a connection. The shell writes it, the reader
// looks requests up.
type asked struct {
	mu   sync.Mutex // short lookups only
	subs map[string]*question
	old  []ended // in order of their end
}

type question struct {
	class   plan.Class
	asks    []answers
	over    bool
	dropped int // events; the reader's
}

// drop counts an event that is dropped and reports whether it is not held against the relay.
func (q *question) drop(most int) bool {
	q.dropped++
	return q.dropped <= most
}

type ended struct {
	sub string
	at  time.Duration
}

func newAsked() *asked { return &asked{subs: make(map[string]*question)} }

func (a *asked) open(r plan.Request) {
	q := &question{class: r.Class, asks: newAnswers(r.Filters)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.subs[r.Sub] = q
}

// end marks a request as over and forgets those that ended long ago.
func (a *asked) end(sub string, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.subs[sub]; q != nil && !q.over {
		a.subs[sub] = &question{over: true}
		a.old = append(a.old, ended{sub, now})
	}
	for len(a.old) > 0 && now-a.old[0].at > lateness {
		delete(a.subs, a.old[0].sub)
		a.old = a.old[1:]
	}
}

// answer says what to do with an event for sub: q is the request that it
// answers, and late that it is to be dropped without holding it against the relay.
// Only the reader asks.
func (a *asked) answer(sub string, e *nostr.Event) (q *question, late bool) {
	a.mu.Lock()
	q = a.subs[sub]
	a.mu.Unlock()
	if q == nil {
		return nil, false
	}
	if q.over {
		return nil, q.drop(mostLate)
	}
	for _, a := range q.asks {
		if !a.near(e) {
			continue
		}
		if a.within(e) {
			return q, false
		}
		late = true
	}
	return nil, late && q.drop(mostOutside)
}

// source tells the door where events of the request come from.
func (q *question) source() store.Source {
	return [...]store.Source{plan.Live: store.Live, plan.Catchup: store.Catchup, plan.Daily: store.Daily}[q.class]
}
