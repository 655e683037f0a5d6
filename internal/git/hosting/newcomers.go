package hosting

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// How many new repositories pushes, git data of other servers and copies may begin. Each takes a directory with a dozen inodes, whatever is in it.
const (
	newPerAddress = 100 // at once, and as many an hour
	newPerNetwork = 400
	newPerOwner   = 100
	newKept       = 50_000 // addresses, networks and owners that are told apart; beyond, all others share one allowance
)

// newcomers counts the repositories that have begun lately. The service's operator, and owners whom the operator trusts, are not counted.
type newcomers struct {
	mu sync.Mutex
	by map[newcomer]*bucket.Bucket

	swept time.Time // when those were forgotten last who began nothing lately
}

// newcomer is an address, a network or an owner who begins repositories.
type newcomer struct {
	kind, name string
	most       int
}

func (n newcomer) rate() bucket.Rate {
	return bucket.Rate{Tokens: n.most, In: time.Hour, Burst: n.most}
}

// newcomersOf returns who has to have an allowance for a new repository.
func newcomersOf(from refs.From, owner string) []newcomer {
	return []newcomer{{"your address", from.Address, newPerAddress}, {"your network", from.Network, newPerNetwork}, {"this owner", owner, newPerOwner}}
}

// take counts a new repository, or says why none may begin yet. It looks and counts in one step, before the repository begins: so who begins many at
// once gets no more. What to do then stands in the refusal. giveBack takes the count back where nothing began.
func (n *newcomers) take(now time.Time, who []newcomer, then string) (giveBack func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range who {
		if b := n.of(now, x); b != nil {
			if wait := b.Wait(now, x.rate()); wait > 0 {
				return nil, reason{ManyNew, fmt.Sprintf("%d new repositories of %s came within an hour, which is as many as may: %s in %s", x.most, x.kind, then, minutes(wait))}
			}
		}
	}
	n.count(now, who, 1)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.count(now, who, -1)
	}, nil
}

// count counts so many new repositories. The caller holds mu.
func (n *newcomers) count(now time.Time, who []newcomer, many float64) {
	for _, x := range who {
		b := n.of(now, x)
		if b == nil {
			b = &bucket.Bucket{}
			n.by[x] = b
		}
		b.Charge(now, x.rate(), many)
	}
}

// begins counts a repository that other servers' data or a copy begins, for its owner; see newcomers.take. One that is here already is not counted.
func (h *Host) begins(r refdb.Repository) (giveBack func(), err error) {
	if !r.Dir.IsZero() || h.trusts(r.Of.PubKey) {
		return func() {}, nil
	}
	return h.newcomers.take(h.cfg.Now(), newcomersOf(refs.From{}, r.Of.PubKey.String())[2:], "this one comes by itself")
}

func (h *Host) trusts(owner nostr.PubKey) bool { return h.cfg.Trusts != nil && h.cfg.Trusts(owner) }

// postponed reports whether something fails until its owner may have new repositories again, or until packs are combined.
func postponed(err error) bool {
	r, is := errors.AsType[reason](err)
	return is && (r.why == ManyNew || r.why == ManyPacks)
}

// of returns the bucket of x; nil where x has begun nothing lately. The caller holds mu.
func (n *newcomers) of(now time.Time, x newcomer) *bucket.Bucket {
	if n.by == nil {
		n.by = map[newcomer]*bucket.Bucket{}
	}
	b := n.by[x]
	if b != nil || len(n.by) < newKept {
		return b
	}
	n.sweep(now)
	if len(n.by) < newKept {
		return nil
	}
	return n.rest(x)
}

// sweep forgets those who began nothing lately, at most once a minute. The caller holds mu.
func (n *newcomers) sweep(now time.Time) {
	if now.Sub(n.swept) < time.Minute {
		return
	}
	n.swept = now
	maps.DeleteFunc(n.by, func(_ newcomer, b *bucket.Bucket) bool { return b.Full(now) })
}

// rest returns the allowance of all that are not told apart.
func (n *newcomers) rest(x newcomer) *bucket.Bucket {
	x.name = "others"
	if n.by[x] == nil {
		n.by[x] = &bucket.Bucket{}
	}
	return n.by[x]
}

// minutes says a wait in words.
func minutes(wait time.Duration) string {
	if m := int(wait/time.Minute) + 1; m > 1 {
		return fmt.Sprintf("%d minutes", m)
	}
	return "a minute"
}
