package relaysync

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/store"
	"github.com/graspd/graspd/internal/unasked"
)

// lateness is how long a request that has ended is known, for events that were under way.
const lateness = time.Minute

// asked knows what is open on a connection. The shell writes it, the reader
// looks requests up.
type asked struct {
	mu   sync.Mutex // short lookups only
	subs map[string]*question
	old  []ended // in order of their end
}

// question is a request that was sent: what it asks is the reader's.
type question struct {
	*unasked.Question
	class plan.Class
	over  bool
}

type ended struct {
	sub string
	at  time.Duration
}

func newAsked() *asked { return &asked{subs: make(map[string]*question)} }

func (a *asked) open(r plan.Request) {
	q := &question{Question: unasked.Ask(r.Filters), class: r.Class}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.subs[r.Sub] = q
}

// end marks a request as over and forgets those that ended long ago.
func (a *asked) end(sub string, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.subs[sub]; q != nil && !q.over {
		a.subs[sub] = &question{Question: unasked.Over(), over: true}
		a.old = append(a.old, ended{sub, now})
	}
	for len(a.old) > 0 && now-a.old[0].at > lateness {
		delete(a.subs, a.old[0].sub)
		a.old = a.old[1:]
	}
}

// find returns the request with that subscription id; nil where there is none, or none any more. Only the reader asks.
func (a *asked) find(sub string) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.subs[sub]
}

// source tells the door where events of the request come from.
func (q *question) source() store.Source {
	return [...]store.Source{plan.Live: store.Live, plan.Catchup: store.Catchup, plan.Daily: store.Daily}[q.class]
}
