package gitplan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// bench is a Plan whose fetches a test ends by hand.
type bench struct {
	*testing.T
	plan    *gitplan.Plan
	now     time.Duration
	set     time.Duration // what the wall clock was set by
	under   map[uint64]gitplan.Fetch
	stopped []uint64
	wake    time.Duration
}

func newBench(t *testing.T, c gitplan.Config) *bench {
	return &bench{T: t, plan: gitplan.New(c), under: map[uint64]gitplan.Fetch{}}
}

func (b *bench) clock() backoff.Now {
	return backoff.Now{Mono: b.now, Wall: time.Unix(1_700_000_000, 0).Add(b.now + b.set)}
}

// repository is the address of one: the owner's number and a name.
func repository(owner byte, d string) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{owner}, D: d}
}

// at is a repository of a server.
func at(server string) grasp.Source { return grasp.Source("https://" + server + ".example.org/r.git") }

func sources(servers string) (list []grasp.Source) {
	for name := range strings.FieldsSeq(servers) {
		list = append(list, at(name))
	}
	return list
}

func event(n byte) nostr.ID { return nostr.ID{n} }

// needs are those of the events with these numbers, at once.
func needs(events ...byte) (list []gitplan.Need) {
	for _, n := range events {
		list = append(list, gitplan.Need{Event: event(n)})
	}
	return list
}

// lacks tells the plan and lets it step. It gives what that began, as step does.
func (b *bench) lacks(of nip34.Address, servers string, what ...gitplan.Need) string {
	b.plan.Lacks(b.clock(), gitplan.Lack{Of: of, Needs: what, Sources: sources(servers)})
	return b.step()
}

// adds tells the plan, a moment after what it was told before.
func (b *bench) adds(l gitplan.Lack) {
	b.now++
	b.plan.Lacks(b.clock(), l)
}

// step gives what was begun: "server:events", in order.
func (b *bench) step() string {
	e := b.plan.Step(b.clock())
	b.stopped, b.wake = e.Stop, e.Wake
	var list []string
	for _, f := range e.Start {
		if _, ok := b.under[f.ID]; ok {
			b.Fatalf("fetch %d begins twice", f.ID)
		}
		b.under[f.ID] = f
		text := strings.TrimSuffix(f.Source.Host(), ".example.org")
		for i, id := range f.Needs {
			text += fmt.Sprint(map[bool]string{true: ":", false: ","}[i == 0], id[0])
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// after lets time pass without a step between.
func (b *bench) after(d time.Duration) string {
	b.now += d
	return b.step()
}

// until steps whenever the plan wants to, until it begins something or time is over. It gives what began, and how long that took.
func (b *bench) until(most time.Duration) (string, time.Duration) {
	from := b.now
	for range 100_000 {
		if did := b.step(); did != "" {
			return did, b.now - from
		}
		if b.wake == 0 || b.now+b.wake > from+most {
			b.now = from + most
			return b.step(), most
		}
		b.now += b.wake
	}
	b.Fatal("it does not come to rest")
	return "", 0
}

// fetch is the one under way at a server.
func (b *bench) fetch(server string) gitplan.Fetch {
	b.Helper()
	for _, id := range b.ids() {
		if f := b.under[id]; f.Source.Host() == server+".example.org" {
			return f
		}
	}
	b.Fatalf("%s is not being asked", server)
	return gitplan.Fetch{}
}

func (b *bench) ids() (list []uint64) {
	for id := range b.under {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// ends lets the oldest fetch of a server end, and lets the plan step.
func (b *bench) ends(server string, o gitplan.Outcome) string {
	b.Helper()
	f := b.fetch(server)
	delete(b.under, f.ID)
	b.plan.Ended(b.clock(), f.ID, o)
	return b.step()
}

// gives lets it end with what these events name.
func (b *bench) gives(server string, events ...byte) string {
	b.Helper()
	var o gitplan.Outcome
	for _, n := range events {
		o.Brought = append(o.Brought, event(n))
	}
	return b.ends(server, o)
}

func (b *bench) want(got, want string) {
	b.Helper()
	if got != want {
		b.Fatalf("began %q, want %q", got, want)
	}
}

// within requires a time from least to most.
func (b *bench) within(d, least, most time.Duration) {
	b.Helper()
	if d < least || d > most {
		b.Fatalf("after %v, want %v to %v", d, least, most)
	}
}
