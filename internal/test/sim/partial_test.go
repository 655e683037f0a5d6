package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestRelaysThatReconcileInPartAreReadInFull: they compare their newest events of each filter only and do not say so.
func TestRelaysThatReconcileInPartAreReadInFull(t *testing.T) {
	plain := func(roots, comments int) func(p *pair) []*nostr.Event {
		return func(p *pair) []*nostr.Event {
			x := p.project("proj", roots, p.relay.URL)
			all := x.all()
			for i, issue := range x.issues {
				for n := range comments - 1 {
					all = append(all, answer(issue.CreatedAt+10+int64(n), i, issue, issue))
				}
			}
			return all
		}
	}
	// Of five comments on a root event four answer a comment.
	nested := func(p *pair) []*nostr.Event {
		x := p.project("proj", 30, p.relay.URL)
		all := append([]*nostr.Event{x.ann}, x.issues...)
		for i, issue := range x.issues {
			last := issue
			for n := range 20 {
				if n%5 == 0 {
					last = issue
				}
				c := answer(issue.CreatedAt+10+int64(n), i, issue, last)
				all, last = append(all, c), c
			}
		}
		return all
	}
	oneSecond := func(p *pair) []*nostr.Event {
		x := p.project("proj", 5, p.relay.URL)
		all := append([]*nostr.Event{x.ann}, x.issues...)
		for i := range 60 {
			all = append(all, answer(x.issues[4].CreatedAt+10, i, x.issues[0], x.issues[0]))
		}
		return all
	}
	for name, c := range map[string]struct {
		habits testkit.Habits
		make   func(p *pair) []*nostr.Event
	}{
		"a hundred, and few by id":        {testkit.Habits{NegNewest: 100, PageCap: 500, Given: 60}, plain(500, 3)},
		"the same, oldest first":          {testkit.Habits{NegNewest: 100, PageCap: 500, Given: 60, Oldest: true}, plain(500, 3)},
		"answers to answers":              {testkit.Habits{NegNewest: 150, PageCap: 500}, nested},
		"answers to answers, few by id":   {testkit.Habits{NegNewest: 150, PageCap: 100, Given: 20}, nested},
		"half of the root events":         {testkit.Habits{NegNewest: 150, PageCap: 500}, plain(500, 3)},
		"less than what was once probed":  {testkit.Habits{NegNewest: 50, PageCap: 500}, plain(200, 2)},
		"one event":                       {testkit.Habits{NegNewest: 1, PageCap: 20}, plain(30, 2)},
		"none, or a few":                  {testkit.Habits{NegNewest: 3, NegVaries: true, PageCap: 100}, plain(30, 2)},
		"all but some of one second":      {testkit.Habits{NegNewest: 40, PageCap: 100}, oneSecond},
		"the same where some is withheld": {testkit.Habits{NegNewest: 40, PageCap: 500, Withheld: 10}, oneSecond},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Habits = c.habits
				all := c.make(p)
				p.relay.Store(all...)
				p.here.Start()
				p.here.Publish(all[0])
				settle(t, p.here, time.Hour)
				shown := p.relay.Events()
				missing := 0
				for _, e := range all {
					if slices.Contains(shown, e) && !p.here.Has(e) && c.habits.Withheld == 0 {
						missing++
					}
				}
				s := state(t, p.here, p.relay.URL)
				if missing > 0 {
					t.Errorf("%d of %d are missing, and the relay is %s: %+v", missing, len(all), s.Phase, s)
				}
				if s.Negentropy != "truncates" || s.Coverage != nil {
					t.Errorf("it is not found out: %+v", s)
				}
				t.Logf("%d events, asked %d times", len(all), asks(p.relay))
			})
		})
	}
}

// answer is a comment under a root event that answers an event.
func answer(at int64, by int, root, to *nostr.Event) *nostr.Event {
	return testkit.Mark(testkit.Someone(3+by), at, nostr.KindComment, fmt.Sprint("answer ", by, at, to.ID),
		nostr.Tag{"E", root.ID.String()}, nostr.Tag{"e", to.ID.String()})
}
