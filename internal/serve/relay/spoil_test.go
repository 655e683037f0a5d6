package relay

import (
	"github.com/graspd/graspd/internal/base/contain"
)

// with runs f with the session that has the subscription open.
func (r *Relay) with(sub string, f func(*session)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		if s.subs.get(sub) != nil {
			f(s)
			return
		}
	}
	panic("no session has " + sub)
}

// SpoilIdentity has the next AUTH of a session meet a nil pointer.
func (r *Relay) SpoilIdentity(sub string) { r.with(sub, func(s *session) { s.who = nil }) }

// SpoilCork has whatever is sent to a session next meet a nil pointer.
func (r *Relay) SpoilCork(sub string) { r.with(sub, func(s *session) { s.cork = nil }) }

// SpoilStore has the next look of a session at the store meet a nil pointer.
func (r *Relay) SpoilStore(sub string) {
	r.with(sub, func(s *session) {
		s.relay = &Relay{
			limits: r.limits, now: r.now, ping: r.ping, logger: r.logger, faults: r.faults, dispatcher: r.dispatcher, reconciles: r.reconciles,
			front: r.front, pools: r.pools, counting: r.counting, sessions: r.sessions, buffers: r.buffers, corkBuffers: r.corkBuffers,
		}
	})
}

// DispatchWithAFault works for n sessions; over the one of that number, or over none where it is negative, there is a fault. It
// returns how many were worked for, and which were ended.
func DispatchWithAFault(n, at int) (told int, ended []int) {
	d := &dispatcher{faults: contain.New(nil, nil), index: newIndex()}
	left := make([]*session, n)
	for i := range left {
		left[i] = &session{subs: newSubscriptions(newBell(), nil), end: func(error) { ended = append(ended, i) }}
	}
	next := 0
	d.contained(func() {
		for next < n {
			d.at = left[next]
			next++
			if next-1 == at {
				panic("planted")
			}
			if d.at = nil; at < 0 {
				panic("planted")
			}
			told++
		}
	})
	return told, ended
}
