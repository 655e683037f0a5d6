package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	mainRef = "refs/heads/main"
	longAgo = 100_000 // seconds, so that there is room for as many states one after the other
)

// place is a repository that somebody has at graspd.
type place struct {
	by, d string
	path  string // of its URL
	at    atomic.Int64

	maintainers []string // others
	elsewhere   []string // other servers
}

var ours = func() grasp.Service {
	s, err := grasp.ParseService(domain)
	if err != nil {
		panic(err) // the domain is our own
	}
	return s
}()

func newPlace(by, d string) *place {
	p := &place{by: by, d: d, path: strings.TrimPrefix(ours.CloneURL(key(by).PubKey(), d), ours.WebURL())}
	p.at.Store(time.Now().Unix() - longAgo)
	return p
}

// announcement lists graspd for it, in full.
func (p *place) announcement() *nostr.Event {
	clone := append(nostr.Tag{"clone", ours.CloneURL(key(p.by).PubKey(), p.d)}, p.elsewhere...)
	tags := nostr.Tags{{"d", p.d}, clone, {"relays", service}}
	if len(p.maintainers) > 0 {
		all := nostr.Tag{"maintainers"}
		for _, m := range p.maintainers {
			all = append(all, key(m).PubKey().String())
		}
		tags = append(tags, all)
	}
	return signAt(p.by, p.at.Load(), 30617, tags...)
}

// state is the next one.
func (p *place) state(refs ...ref) *nostr.Event {
	tags := nostr.Tags{{"d", p.d}, {"HEAD", "ref: " + mainRef}}
	for _, r := range refs {
		tags = append(tags, nostr.Tag{r.name, r.id.String()})
	}
	return signAt(p.by, p.at.Add(1), 30618, tags...)
}

// signAt makes an event of that second.
func signAt(by string, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{CreatedAt: at, Kind: kind, Tags: tags}
	if err := key(by).Sign(e, [32]byte{}); err != nil {
		panic(err) // key and event are our own
	}
	return e
}

// ref is one with its object.
type ref struct {
	name string
	id   gitwire.ObjectID
}

// pushBody is the body of a push that sets refs, which were at an object before or, if that is zero, not there.
func pushBody(old gitwire.ObjectID, pack []byte, refs ...ref) []byte {
	q := gitwire.Push{Report: gitwire.ReportStatus, Agent: "siege"}
	slices.SortFunc(refs, func(a, b ref) int { return cmp.Compare(a.name, b.name) })
	for _, r := range refs {
		q.Commands = append(q.Commands, gitwire.Command{Ref: r.name, Old: old, New: r.id})
	}
	return append(q.AppendTo(nil), pack...)
}

// nostrRef is that of a pull request which nobody has announced.
func nostrRef(n int64) string { return fmt.Sprintf("refs/nostr/%064x", n) }
