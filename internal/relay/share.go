package relay

import "time"

// The buckets of an address.
const (
	connecting  = iota // new connections
	publishing         // events
	requesting         // other messages, and work
	receiving          // bytes
	deciding           // the work of deciding events
	controlling        // pings and pongs
	bucketKinds
)

// share is what one address, or one network of many, has used up and holds. Guarded by visitors.mu.
type share struct {
	buckets [bucketKinds]bucketLevel
	raw     int // connections of any kind
	held    [poolKinds]holding
	members int           // addresses in a network
	turns   chan struct{} // as many as may work at once for what others wait for
}

func newShare() *share { return &share{turns: make(chan struct{}, wholeNetwork)} }

// untouched reports whether it is like a new one.
func (s *share) untouched(now time.Time, rates Rates, times int) bool {
	for kind := range s.buckets {
		if !s.buckets[kind].full(now, times*rates.of(kind)) {
			return false
		}
	}
	for kind := range s.held {
		if s.held[kind].size != 0 {
			return false
		}
	}
	return s.raw == 0
}

// of is the rate of a bucket of one address, a second.
func (r Rates) of(kind int) int {
	switch kind {
	case connecting:
		return r.Connections
	case publishing:
		return r.Events
	case receiving:
		return r.Bytes
	}
	return r.Requests
}

// wait is how long the address has to wait until it may have one more of a kind. It is called with mu held.
func (v *visitors) wait(one *visitor, kind int) time.Duration {
	if one == nil {
		return 0
	}
	now, rate := v.now(), v.rates.of(kind)
	wait := one.own.buckets[kind].wait(now, rate)
	if one.network != nil {
		wait = max(wait, one.network.buckets[kind].wait(now, wholeNetwork*rate))
	}
	return wait
}

// spend counts what the address has used up, be it there or not. It is called with mu held.
func (v *visitors) spend(one *visitor, kind int, tokens float64) {
	if one == nil {
		return
	}
	now, rate := v.now(), v.rates.of(kind)
	one.own.buckets[kind].charge(now, tokens, rate)
	if one.network != nil {
		one.network.buckets[kind].charge(now, tokens, wholeNetwork*rate)
	}
}

// take counts one of a kind, or says how long it has to wait.
func (v *visitors) take(one *visitor, kind int) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	wait := v.wait(one, kind)
	if wait == 0 {
		v.spend(one, kind, 1)
	}
	return wait
}

// mayPublish counts an event, or says that there are too many.
func (v *visitors) mayPublish(one *visitor) bool { return v.take(one, publishing) == 0 }

// admit counts a request, or says how long it has to wait.
func (v *visitors) admit(one *visitor) time.Duration { return v.take(one, requesting) }

// mayControl counts a ping or pong, or says that there are too many.
func (v *visitors) mayControl(one *visitor) bool { return v.take(one, controlling) == 0 }

// charge counts the work that a request has made.
func (v *visitors) charge(one *visitor, steps int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.spend(one, requesting, float64(steps)/stepsPerRequest)
}

// chargeDecision counts the work that the decision of an event has made.
func (v *visitors) chargeDecision(one *visitor, steps int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.spend(one, deciding, float64(steps)/stepsPerRequest)
}

// owed is how long the address has to wait until another of its events may be decided.
func (v *visitors) owed(one *visitor) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wait(one, deciding)
}

// debt is how long the address has to wait for what it has used up already.
func (v *visitors) debt(one *visitor) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wait(one, requesting)
}

// received counts bytes that have come.
func (v *visitors) received(one *visitor, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.spend(one, receiving, float64(n))
}

// mayReceive says how long it has to wait before more bytes are read.
func (v *visitors) mayReceive(one *visitor) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wait(one, receiving)
}
