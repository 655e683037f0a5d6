package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// by is an announcement of the repository d by somebody, who names relays and invites others.
func (p *pair) by(who int, at int64, d string, relays []grasp.RelayURL, invites ...int) *nostr.Event {
	tags := nostr.Tags{{"d", d}, {"relays"}}
	for _, u := range relays {
		tags[1] = append(tags[1], string(u))
	}
	if len(invites) > 0 {
		m := nostr.Tag{"maintainers"}
		for _, i := range invites {
			m = append(m, testkit.Someone(i).String())
		}
		tags = append(tags, m)
	}
	return testkit.Mark(testkit.Someone(who), at, nip34.KindRepository, "", tags...)
}

// TestARootEventOfManyRepositories, of which some are announced later and live elsewhere: it is followed for all of them.
func TestARootEventOfManyRepositories(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		second, third := p.w.Fake("second.example.net"), p.w.Fake("third.example.net")
		now := p.w.Unix()
		one := p.by(0, now-90, "one", []grasp.RelayURL{p.here.URL, p.relay.URL})
		two := p.by(3, now-90, "two", []grasp.RelayURL{p.here.URL, second.URL})
		three := p.by(4, now-90, "three", []grasp.RelayURL{p.here.URL, third.URL})
		root := testkit.Mark(testkit.Someone(1), now-80, nip34.KindIssue, "everywhere",
			nostr.Tag{"a", three.Address()}, nostr.Tag{"a", one.Address()}, nostr.Tag{"a", two.Address()})
		comments := []*nostr.Event{commentAt(now-70, root), commentAt(now-60, root), commentAt(now-50, root)}
		p.relay.Store(one, root, comments[0])
		second.Store(two, comments[1])
		third.Store(three, comments[2])
		p.here.Start()
		if v := p.here.Publish(root); v.Outcome != policy.Unrelated {
			t.Fatalf("before any announcement: %v", v)
		}
		wait(30 * time.Second)
		p.here.WantStored(one, root, comments[0])
		p.here.Publish(two)
		wait(30 * time.Second)
		p.here.WantStored(comments[1])
		p.here.Publish(three)
		wait(30 * time.Second)
		p.here.WantStored(comments[2])
		for _, r := range []*testkit.FakeRelay{p.relay, second, third} {
			live := commentAt(p.w.Unix(), root)
			live = testkit.Mark(testkit.Someone(2), live.CreatedAt, live.Kind, string(r.URL), live.Tags...)
			r.Add(live)
			wait(time.Second)
			p.here.WantStored(live)
		}
	})
}

// TestACommentBeforeItsIssue is served as soon as the issue is here, by whatever way it comes.
func TestACommentBeforeItsIssue(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		x := p.project("proj", 3, p.relay.URL)
		p.relay.Store(x.ann)
		p.here.Start()
		settle(t, p.here, time.Minute)
		for i := range x.issues {
			issue := x.issueAt(p.w.Unix(), fmt.Sprint("late ", i))
			c := commentAt(p.w.Unix(), issue)
			reply := testkit.Mark(testkit.Someone(5), c.CreatedAt+1, nostr.KindComment, "a reply", nostr.Tag{"e", c.ID.String()})
			for _, e := range []*nostr.Event{reply, c} {
				if v := p.here.Publish(e); v.Outcome != policy.Unrelated {
					t.Fatalf("too early: %v", v)
				}
			}
			wait(time.Minute)
			switch i {
			case 0:
				p.relay.Add(issue)
				wait(time.Second)
			case 1:
				p.here.Publish(issue)
				wait(100 * time.Millisecond)
			default: // found by a catch-up
				p.relay.Store(issue)
				p.relay.Drop()
				wait(time.Minute)
			}
			p.here.WantStored(issue, c, reply)
		}
	})
}

// TestWhatArrivesTooEarly in one catch-up: states, invited maintainers and deletions, the newest of everything first. One
// catch-up later all is as it would be in the right order.
func TestWhatArrivesTooEarly(t *testing.T) {
	for name, habits := range map[string]testkit.Habits{
		"reconciled": {}, "paged": {Neg: testkit.NegNotice, PageCap: 2}, "paged, oldest first": {Neg: testkit.NegNotice, PageCap: 2, Oldest: true},
		"in any order": {Neg: testkit.NegErr, Moody: true},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Habits = habits
				at := func(ago int64) int64 { return p.w.Unix() - ago }
				elsewhere := []grasp.RelayURL{p.relay.URL}
				owner := p.by(0, at(9000), "proj", []grasp.RelayURL{p.here.URL, p.relay.URL}, 3)
				bob := p.by(3, at(800), "proj", elsewhere, 0, 4)
				carol := p.by(4, at(700), "proj", elsewhere, 3)
				stranger := p.by(5, at(600), "proj", elsewhere)
				stored, gone := []*nostr.Event{owner, bob, carol}, []*nostr.Event{stranger}
				for i, who := range []int{0, 3, 4, 5} {
					s := testkit.Mark(testkit.Someone(who), at(500-int64(i)), nip34.KindState, "", nostr.Tag{"d", "proj"})
					if who == 5 {
						gone = append(gone, s)
					} else {
						stored = append(stored, s)
					}
				}
				for i, of := range []*nostr.Event{owner, bob, carol} {
					kept := testkit.Mark(testkit.Someone(1), at(400-int64(i)), nip34.KindIssue, fmt.Sprint("kept ", i), nostr.Tag{"a", of.Address()})
					deleted := testkit.Mark(testkit.Someone(1), at(300-int64(i)), nip34.KindIssue, "deleted", nostr.Tag{"a", of.Address()})
					deletion := testkit.Mark(testkit.Someone(1), at(200-int64(i)), nostr.KindDeletion, "",
						nostr.Tag{"e", deleted.ID.String()}, nostr.Tag{"a", of.Address()})
					stored, gone = append(stored, kept, deletion, commentAt(at(100-int64(i)), kept)), append(gone, deleted)
				}
				p.relay.Store(slices.Concat(stored, gone)...)
				p.here.Start()
				settle(t, p.here, 30*time.Minute)
				p.here.WantStored(stored...)
				p.here.WantAbsent(gone...)
			})
		})
	}
}

// TestWhatIsOldOrDeletedMovesNothing, however often a relay offers it.
func TestWhatIsOldOrDeletedMovesNothing(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
		inPair(t, func(t *testing.T, p *pair) {
			p.relay.Neg = neg
			x := p.project("proj", 4, p.relay.URL)
			older := p.by(0, x.ann.CreatedAt-50, "proj", []grasp.RelayURL{p.here.URL, p.relay.URL})
			states := []*nostr.Event{}
			for i := range 3 {
				states = append(states, testkit.Mark(testkit.Someone(0), x.ann.CreatedAt+int64(i), nip34.KindState, "", nostr.Tag{"d", "proj"}))
			}
			gone := testkit.Mark(testkit.Someone(1), p.w.Unix()-50, nostr.KindDeletion, "", nostr.Tag{"e", x.issues[0].ID.String()}, nostr.Tag{"a", x.ann.Address()})
			p.relay.Store(append(append(x.all(), older, gone), states...)...)
			p.here.Start()
			settle(t, p.here, 10*time.Minute)
			p.here.WantStored(x.ann, gone, states[2], x.issues[1])
			p.here.WantAbsent(older, x.issues[0], states[0], states[1])
			wait(time.Minute)
			head, sent := p.here.Store().Head(), p.relay.Sent()
			wait(26 * time.Hour)
			if neg == testkit.NegWorks && p.relay.Sent() != sent {
				t.Errorf("%d events were fetched again", p.relay.Sent()-sent)
			}
			for _, e := range []*nostr.Event{older, x.issues[0], states[0]} {
				p.relay.Add(e) // shows it live
			}
			wait(time.Minute)
			if h := p.here.Store().Head(); h != head {
				t.Errorf("the feed has %d entries more", h-head)
			}
			if s := state(t, p.here, p.relay.URL); s.Counters.Daily != 0 || s.Counters.Live != 0 {
				t.Errorf("counted as new: %+v", s.Counters)
			}
		})
	}
}

// TestAForgeryThatIsFaster than the honest relay, under the same id: the genuine event is taken from the next copy, at once.
func TestAForgeryThatIsFaster(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		liar := p.w.Fake("liar.example.net")
		x := p.project("proj", 2, p.relay.URL, liar.URL)
		p.relay.Store(x.all()...)
		liar.Store(x.ann)
		p.here.Start()
		settle(t, p.here, time.Minute)
		forged := func(e *nostr.Event) *nostr.Event {
			f := &nostr.Event{ID: e.ID, PubKey: e.PubKey, CreatedAt: e.CreatedAt, Kind: e.Kind, Tags: e.Tags, Content: "forged", Sig: e.Sig}
			return f
		}
		genuine := x.issueAt(p.w.Unix(), "genuine")
		liar.Add(forged(genuine))
		wait(time.Second)
		p.here.WantAbsent(genuine)
		p.relay.Add(genuine)
		wait(time.Second)
		p.here.WantStored(genuine)
		// One that was refused, genuine, for what it names is not here.
		late := x.issueAt(p.w.Unix(), "late")
		answer := commentAt(p.w.Unix(), late)
		if v := p.here.Publish(answer); v.Outcome != policy.Unrelated {
			t.Fatal(v)
		}
		lie := forged(answer)
		lie.Tags = append(lie.Tags, nostr.Tag{"a", x.ann.Address()})
		liar.Add(lie)
		wait(time.Second)
		p.here.WantAbsent(answer)
		p.relay.Add(late)
		wait(time.Second)
		p.here.WantStored(late, answer)
		for id, e := range p.here.Served() {
			if e.ComputeID() != id || e.Content == "forged" {
				t.Errorf("a forgery is served: %+v", e)
			}
		}
	})
}
