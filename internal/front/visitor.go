package front

import (
	"context"
	"time"
)

// StepsPerRequest is how much of the store's work costs as much as a request; about 5 ms.
const StepsPerRequest = 5000

// Visitor is one address, with what it may still have; nil is one without limits.
type Visitor struct {
	all     *visitors
	own     *share
	network *share        // what own is part of; nil for IPv4
	turn    chan struct{} // capacity 1: held by the one client that has work for which others wait
}

func newVisitor(all *visitors, network *share) *Visitor {
	return &Visitor{all: all, own: newShare(), network: network, turn: make(chan struct{}, 1)}
}

// top is the largest network that the address belongs to.
func (one *Visitor) top() *share {
	if one.network != nil {
		return one.network
	}
	return one.own
}

// Admit counts a request, or says how long it has to wait.
func (one *Visitor) Admit() time.Duration { return one.take(requesting) }

// MayPublish counts an event, or says that there are too many.
func (one *Visitor) MayPublish() bool { return one.take(publishing) == 0 }

// MayControl counts a ping or pong, or says that there are too many.
func (one *Visitor) MayControl() bool { return one.take(controlling) == 0 }

// Charge counts the work that a request has made.
func (one *Visitor) Charge(steps int) { one.pay(requesting, float64(steps)/StepsPerRequest) }

// Debt is how long the address has to wait for what it has used up already.
func (one *Visitor) Debt() time.Duration { return one.due(requesting) }

// ChargeDecision counts the work that the decision of an event has made.
func (one *Visitor) ChargeDecision(steps int) { one.pay(deciding, float64(steps)/StepsPerRequest) }

// DecisionDebt is how long the address has to wait until another of its events may be decided.
func (one *Visitor) DecisionDebt() time.Duration { return one.due(deciding) }

// Received counts bytes that have come.
func (one *Visitor) Received(n int) { one.pay(receiving, float64(n)) }

// MayReceive says how long it has to wait before more bytes are read.
func (one *Visitor) MayReceive() time.Duration { return one.due(receiving) }

// TakeTurn waits until no other client of the same address has work that many wait for, so that each address stands in that
// line once, and a network of IPv6 a few times. It fails with the cause why ctx ended.
func (one *Visitor) TakeTurn(ctx context.Context) (end func(), err error) {
	if one == nil {
		return func() {}, nil
	}
	turn, all := one.turn, one.top().turns
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case all <- struct{}{}:
		return func() { <-all; <-turn }, nil
	case <-ctx.Done():
		<-turn
		return nil, context.Cause(ctx)
	}
}

// take counts one of a kind, or says how long it has to wait.
func (one *Visitor) take(kind int) time.Duration {
	if one == nil {
		return 0
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	wait := one.wait(kind)
	if wait == 0 {
		one.spend(kind, 1)
	}
	return wait
}

// pay counts what the address has used up, be it there or not.
func (one *Visitor) pay(kind int, tokens float64) {
	if one == nil {
		return
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.spend(kind, tokens)
}

// due is how long the address has to wait until it may have one more of a kind.
func (one *Visitor) due(kind int) time.Duration {
	if one == nil {
		return 0
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	return one.wait(kind)
}

// wait is due for a caller that holds mu.
func (one *Visitor) wait(kind int) time.Duration {
	now, rates := one.all.now(), one.all.rates
	wait := one.own.buckets[kind].Wait(now, rates.of(kind, 1))
	if one.network != nil {
		wait = max(wait, one.network.buckets[kind].Wait(now, rates.of(kind, networkFactor)))
	}
	return wait
}

// spend is pay for a caller that holds mu.
func (one *Visitor) spend(kind int, tokens float64) {
	now, rates := one.all.now(), one.all.rates
	one.own.buckets[kind].Charge(now, rates.of(kind, 1), tokens)
	if one.network != nil {
		one.network.buckets[kind].Charge(now, rates.of(kind, networkFactor), tokens)
	}
}

// countRaw counts connections of any kind, or their ends where n is negative. The caller holds mu.
func (one *Visitor) countRaw(n int) {
	one.own.raw += n
	if one.network != nil {
		one.network.raw += n
	}
}
