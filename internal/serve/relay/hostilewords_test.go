package relay_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

const (
	stranger0  = 100  // the first of those who sign what guests publish
	honestUser = 5000 // who signs what the honest client publishes
)

// pool is what there is to ask for, and to publish.
type pool struct {
	all       []*nostr.Event // stored before anybody comes
	addresses []string

	mu    sync.Mutex
	known []*nostr.Event // all, and the last of what guests published
}

func newPool(r *rand.Rand) *pool {
	p := &pool{}
	now := time.Now().Unix()
	for n := range 10 {
		owner := testkit.Someone(n)
		name := fmt.Sprintf("project-%d", n)
		p.all = append(p.all, testkit.Mark(owner, now-100_000, nip34.KindRepository, "", nostr.Tag{"d", name}, nostr.Tag{"relays", "wss://" + domain}, nostr.Tag{"clone", "https://" + domain + "/x/" + name + ".git"}))
		p.addresses = append(p.addresses, nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: name}.String())
	}
	for i := range 1500 {
		p.all = append(p.all, p.event(r, r.IntN(20), now-int64(r.IntN(90_000)), r.IntN(200)*r.IntN(20), i))
	}
	p.known = append(p.known, p.all...)
	return p
}

// event is one that the relay takes, or nearly one.
func (p *pool) event(r *rand.Rand, author int, at int64, size, n int) *nostr.Event {
	pk := testkit.Someone(author)
	content := fmt.Sprintf("%d %s", n, strings.Repeat("x", size))
	address := nostr.Tag{"a", p.addresses[r.IntN(len(p.addresses))]}
	root := p.some(r)
	switch r.IntN(10) {
	case 0, 1, 2:
		return testkit.Mark(pk, at, nip34.KindIssue, content, address, nostr.Tag{"subject", "s"})
	case 3, 4:
		return testkit.Mark(pk, at, nip34.KindPatch, content, address, nostr.Tag{"t", "root"})
	case 5:
		if root != nil {
			return testkit.Mark(pk, at, nip34.KindStatusClosed, content, nostr.Tag{"e", root.ID.String(), "", "root"}, address)
		}
	case 6:
		if root != nil {
			return testkit.Mark(pk, at, nostr.KindReaction, "+", nostr.Tag{"e", root.ID.String()}, nostr.Tag{"p", root.PubKey.String()}, address)
		}
	}
	if root == nil {
		return testkit.Mark(pk, at, nip34.KindIssue, content, address)
	}
	return testkit.Mark(pk, at, nostr.KindComment, content, nostr.Tag{"E", root.ID.String()}, nostr.Tag{"K", "1621"}, nostr.Tag{"e", root.ID.String()}, address)
}

// some is an event that is known to anybody, or nil.
func (p *pool) some(r *rand.Rand) *nostr.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from := p.known; len(from) > 0 {
		return from[r.IntN(len(from))]
	} else if len(p.all) > 0 {
		return p.all[r.IntN(len(p.all))]
	}
	return nil
}

// learn adds what a guest publishes.
func (p *pool) learn(r *rand.Rand, e *nostr.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) < 4000 {
		p.known = append(p.known, e)
		return
	}
	p.known[r.IntN(len(p.known))] = e
}

// publication is an event of a guest, of which some are forged, known, too large, or take others away.
func (p *pool) publication(r *rand.Rand, author, n int) *nostr.Event {
	now, pk := time.Now().Unix(), testkit.Someone(stranger0+author)
	switch r.IntN(16) {
	case 0:
		return p.some(r)
	case 1:
		e := p.event(r, stranger0+author, now, 10, n).Clone()
		e.Sig[r.IntN(len(e.Sig))] ^= 1
		return e
	case 2:
		return testkit.Mark(pk, now-int64(r.IntN(1000)), nip34.KindRepository, "", nostr.Tag{"d", fmt.Sprint("project-", r.IntN(14))}, nostr.Tag{"relays", "wss://" + domain}, nostr.Tag{"clone", "https://" + domain + "/x"}, nostr.Tag{"description", fmt.Sprint(n)})
	case 3:
		return testkit.Mark(pk, now-int64(r.IntN(1000)), nip34.KindState, "", nostr.Tag{"d", fmt.Sprint("project-", r.IntN(14))}, nostr.Tag{"refs/heads/main", strings.Repeat("a", 40)})
	case 4:
		tags := []nostr.Tag{{"k", "1621"}}
		for range 1 + r.IntN(100) {
			tags = append(tags, nostr.Tag{"e", p.some(r).ID.String()})
		}
		return testkit.Mark(pk, now, nostr.KindDeletion, fmt.Sprint(n), tags...)
	case 5:
		if r.IntN(10) == 0 {
			return testkit.Mark(pk, now-int64(r.IntN(10)), nostr.KindVanish, fmt.Sprint(n), nostr.Tag{"relay", "ALL_RELAYS"})
		}
	case 6:
		return p.event(r, stranger0+author, now, 1000+r.IntN(150_000), n)
	case 7:
		return testkit.Mark(pk, now+int64(r.IntN(100_000)), nostr.KindNote, fmt.Sprint(n))
	case 8:
		return testkit.Mark(pk, now, nostr.KindComment, fmt.Sprint(n), nostr.Tag{"E", testkit.Someone(r.IntN(1 << 20)).String()}, nostr.Tag{"expiration", fmt.Sprint(now + int64(r.IntN(20)-10))})
	}
	return p.event(r, stranger0+author, now-int64(r.IntN(100)), r.IntN(500), n)
}

// filter is one of any kind, and often one that matches much.
func (p *pool) filter(r *rand.Rand) nostr.Filter {
	var f nostr.Filter
	one := func(of int) bool { return r.IntN(of) == 0 }
	if one(3) {
		for range 1 + r.IntN(3) {
			f.Kinds = append(f.Kinds, []nostr.Kind{nip34.KindIssue, nip34.KindPatch, nostr.KindComment, nostr.KindReaction, nip34.KindRepository, nostr.KindDeletion}[r.IntN(6)])
		}
	}
	if one(6) {
		for range 1 + r.IntN(4)*r.IntN(150) {
			f.IDs = append(f.IDs, p.some(r).ID)
		}
	}
	if one(6) {
		for range 1 + r.IntN(20) {
			f.Authors = append(f.Authors, testkit.Someone(r.IntN(200)))
		}
	}
	if one(4) {
		t := nostr.TagFilter{Name: 'a', Values: []string{p.addresses[r.IntN(len(p.addresses))]}}
		f.Tags = append(f.Tags, t)
	}
	if one(6) {
		t := nostr.TagFilter{Name: []byte{'e', 'E'}[r.IntN(2)]}
		for range 1 + r.IntN(3)*r.IntN(200) {
			t.Values = append(t.Values, p.some(r).ID.String())
		}
		f.Tags = append(f.Tags, t)
	}
	if now := time.Now().Unix(); one(6) {
		f.Since = new(now - int64(r.IntN(100_000)))
	} else if one(6) {
		f.Until = new(now - int64(r.IntN(100_000)))
	}
	if one(2) {
		f.Limit = new([]int{0, 0, 1, 5, 100, 500, 10_000}[r.IntN(7)])
	}
	return f
}
