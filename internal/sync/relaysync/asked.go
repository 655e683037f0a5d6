package relaysync

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
)

// lateness is how long asked remembers a request after its end, as events for it may still be under way.
const lateness = time.Minute

// asked knows the requests of a connection. The shell writes it, the reader looks requests up.
type asked struct {
	mu   sync.Mutex // short lookups only
	subs map[string]*question
	old  []ended // requests that have ended, in that order
}

// question is a request that was sent. Only the reader uses the embedded Expectation.
type question struct {
	*unsolicited.Expectation
	class peer.Class
	over  bool // the request has ended
}

type ended struct {
	sub string
	at  time.Duration
}

func newAsked() *asked { return &asked{subs: make(map[string]*question)} }

// open notes a request, before it is sent.
func (a *asked) open(r peer.Request) {
	q := &question{Expectation: unsolicited.Expect(r.Filters), class: r.Class}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.subs[r.Sub] = q
}

// end marks a request as over, and forgets requests that ended longer ago than lateness. now is monotonic.
func (a *asked) end(sub string, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.subs[sub]; q != nil && !q.over {
		a.subs[sub] = &question{Expectation: unsolicited.Over(), over: true}
		a.old = append(a.old, ended{sub, now})
	}
	for len(a.old) > 0 && now-a.old[0].at > lateness {
		delete(a.subs, a.old[0].sub)
		a.old = a.old[1:]
	}
}

// find returns the request with that subscription id, which may be over; nil where there is none. Only the reader calls find.
func (a *asked) find(sub string) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.subs[sub]
}

// source returns the store.Source of events that answer the request.
func (q *question) source() store.Source {
	return [...]store.Source{peer.Live: store.Live, peer.Catchup: store.Catchup, peer.Daily: store.Daily}[q.class]
}
