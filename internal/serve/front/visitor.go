package front

import (
	"context"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
)

// StepsPerRequest is how many steps of work, as a store.Meter counts them, count as one request. So many steps take about 5 ms.
const StepsPerRequest = 5000

// Visitor stands for the clients of one address, and knows what the address may still have. A nil Visitor has no limits. Any goroutine may
// call the methods; only TakeTurn blocks.
type Visitor struct {
	all     *visitors
	party   fair.Party
	own     *usage
	network *usage        // the usage of the address's network; nil for IPv4
	turn    chan struct{} // capacity 1: held by the one client that has work for which others wait
}

func newVisitor(all *visitors, party fair.Party, network *usage) *Visitor {
	return &Visitor{all: all, party: party, own: newUsage(), network: network, turn: make(chan struct{}, 1)}
}

// Party names the address and its network in accounts. A nil Visitor is the operator.
func (one *Visitor) Party() fair.Party {
	if one == nil {
		return fair.Party{}
	}
	return one.party
}

// top returns the usage of the network to which the address belongs, or for IPv4 the address's own.
func (one *Visitor) top() *usage {
	if one.network != nil {
		return one.network
	}
	return one.own
}

// Admit counts a request and returns 0, or returns how long the request has to wait.
func (one *Visitor) Admit() time.Duration { return one.take(requesting) }

// MayPublish counts an event, or returns false as there are too many.
func (one *Visitor) MayPublish() bool { return one.take(publishing) == 0 }

// MayControl counts a ping or pong, or returns false as there are too many.
func (one *Visitor) MayControl() bool { return one.take(controlling) == 0 }

// Charge counts the steps of work that a request has made.
func (one *Visitor) Charge(steps int) { one.pay(requesting, float64(steps)/StepsPerRequest) }

// ChargeTime counts work by the time that it took.
func (one *Visitor) ChargeTime(took time.Duration) {
	one.pay(requesting, float64(took)/float64(TimeOf(StepsPerRequest)))
}

// TimeOf returns how long so many steps take, roughly.
func TimeOf(steps int) time.Duration { return time.Duration(steps) * time.Microsecond }

// Debt returns how long the address has to wait because of what it has used up already.
func (one *Visitor) Debt() time.Duration { return one.due(requesting) }

// ChargeDecision counts the steps of work that the decision of an event has made.
func (one *Visitor) ChargeDecision(steps int) { one.pay(deciding, float64(steps)/StepsPerRequest) }

// DecisionDebt returns how long the address has to wait until another of its events may be decided.
func (one *Visitor) DecisionDebt() time.Duration { return one.due(deciding) }

// Received counts bytes that have come.
func (one *Visitor) Received(n int) { one.pay(receiving, float64(n)) }

// MayReceive returns how long to wait until more bytes of the address may be read.
func (one *Visitor) MayReceive() time.Duration { return one.due(receiving) }

// TakeTurn waits until no other client of the address has its turn. A turn is for work for which clients of all addresses queue: with turns,
// each address stands in that queue once, and an IPv6 network networkFactor times. The caller calls end after the work. TakeTurn fails with
// the cause of ctx.
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

// take counts one of a kind and returns 0, or returns how long the address has to wait.
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

// pay charges the address with tokens, whether there are enough or not.
func (one *Visitor) pay(kind int, tokens float64) {
	if one == nil {
		return
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.spend(kind, tokens)
}

// due returns how long the address has to wait until it may have one more of a kind.
func (one *Visitor) due(kind int) time.Duration {
	if one == nil {
		return 0
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	return one.wait(kind)
}

// wait does the work of due. The caller holds mu.
func (one *Visitor) wait(kind int) time.Duration {
	now, rates := one.all.now(), one.all.rates
	wait := one.own.buckets[kind].Wait(now, rates.of(kind, 1))
	if one.network != nil {
		wait = max(wait, one.network.buckets[kind].Wait(now, rates.of(kind, networkFactor)))
	}
	return wait
}

// spend does the work of pay. The caller holds mu.
func (one *Visitor) spend(kind int, tokens float64) {
	now, rates := one.all.now(), one.all.rates
	one.own.buckets[kind].Charge(now, rates.of(kind, 1), tokens)
	if one.network != nil {
		one.network.buckets[kind].Charge(now, rates.of(kind, networkFactor), tokens)
	}
}

// countRaw counts n connections of any kind, or their ends where n is negative. The caller holds mu.
func (one *Visitor) countRaw(n int) {
	one.own.raw += n
	if one.network != nil {
		one.network.raw += n
	}
}
