package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// family is a set of events that belong together in many ways, and what of it is served in the end, whatever the order.
func family(at time.Time) (all, served []*nostr.Event) {
	const owner, friend, reporter, helper, stranger = 1, 2, 3, 4, 5
	ago := func(s int) time.Time { return at.Add(-time.Duration(s) * time.Second) }
	repo := announcement(owner, "tool", ago(100), maintainers(friend))
	older := announcement(owner, "tool", ago(200))
	invited := elsewhere(friend, "tool", ago(90), maintainers(owner))
	bug := issue(reporter, repo, ago(80), "bug")
	mirrored := issue(reporter, invited, ago(80), "bug at the friend's")
	reply := comment(helper, bug, ago(70), "reply")
	deeper := comment(reporter, reply, ago(60), "reply to the reply")
	wrong := comment(helper, deeper, ago(50), "deleted soon")
	quoted := event(helper, ago(300), nostr.KindNote, "what the quote names")
	article := event(helper, ago(300), 30023, "an article that the quote names", nostr.Tag{"d", "article"})
	quote := event(helper, ago(40), nostr.KindNote, "look", nostr.Tag{"q", quoted.ID.String()}, nostr.Tag{"a", repo.Address()},
		nostr.Tag{"a", article.Address()})
	served = []*nostr.Event{
		repo, invited, bug, mirrored, reply, deeper, quoted, article, quote,
		state(owner, "tool", ago(30)), state(friend, "tool", ago(20)),
		event(friend, ago(10), nip34.KindGraspList, "", nostr.Tag{"g", "wss://" + domain}),
		deletion(helper, ago(5), wrong),
	}
	all = append(slices.Clone(served), older, wrong,
		elsewhere(stranger, "tool", ago(90), maintainers(stranger)), // invited by nobody
		state(stranger, "tool", ago(30)),
		event(stranger, ago(40), nostr.KindNote, "alone"),
		deletion(stranger, ago(5), event(stranger, ago(50), nostr.KindNote, "not here")),
	)
	return all, served
}

func idsOf(events []*nostr.Event) []string {
	var ids []string
	for _, e := range events {
		ids = append(ids, e.ID.String())
	}
	slices.Sort(ids)
	return ids
}

func names(all []*nostr.Event, ids []string) string {
	var list []string
	for _, e := range all {
		if slices.Contains(ids, e.ID.String()) {
			list = append(list, fmt.Sprintf("%d by %x (%s)", e.Kind, e.PubKey[2], e.Content))
		}
	}
	return strings.Join(list, ", ")
}

// Whatever the order in which the events arrive, over one source or several, from clients or relays, the same are
// served in the end, without a restart and without a second look at any relay.
func TestEveryOrderOfArrivalGivesTheSame(t *testing.T) {
	for seed := range uint64(scaled(150, 30)) {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{config: ingest.Config{Workers: 3}})
				defer w.end()
				w.verifier.Delay = time.Millisecond
				all, served := family(time.Now())
				sources := []*ingest.Source{w.client(), w.peer("a"), w.peer("b")}[:1+seed%3]
				for i, e := range shuffle(seed, all) {
					w.submit(sources[(i+int(seed))%len(sources)], e, store.Source(i%3))
					if seed%2 == 0 {
						time.Sleep(time.Duration(i%4) * 20 * time.Millisecond)
					}
				}
				time.Sleep(time.Second)
				got := w.ids()
				slices.Sort(got)
				if want := idsOf(served); !slices.Equal(got, want) {
					t.Errorf("served:\n%s\nwant:\n%s", names(all, got), names(all, want))
				}
			})
		})
		if !ok {
			return
		}
	}
}

// A comment that arrives before its issue is accepted once the issue is here, and so are those that wait for it.
func TestAChainOfCommentsBackwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const depth = 700 // more than one batch
		w := newWorld(t, setup{})
		defer w.end()
		p := w.peer("a")
		repo := announcement(1, "tool", time.Now())
		chain := []*nostr.Event{repo, issue(2, repo, time.Now(), "bug")}
		for i := range depth {
			chain = append(chain, comment(3, chain[len(chain)-1], time.Now(), fmt.Sprint(i)))
		}
		for _, e := range slices.Backward(chain[1:]) {
			w.want(<-w.submit(p, e, store.Catchup), policy.Unrelated)
		}
		start := time.Now()
		w.want(w.publish(w.client(), repo), policy.Accept)
		if d := time.Since(start); d > 0 {
			t.Errorf("the client waited %v for others' orphans", d)
		}
		time.Sleep(time.Second)
		if n := len(w.ids()); n != len(chain) {
			t.Errorf("%d events are served, want %d", n, len(chain))
		}
		if s := w.door.Stats(); s.Orphans != 0 || s.OrphanCost != 0 {
			t.Errorf("%d orphans of %d bytes are left", s.Orphans, s.OrphanCost)
		}
	})
}

// Between two events of clients there is at most one step of other work: an event that is ready while many orphans are decided
// again is decided after one of them at most, and of the others few are in its batch.
func TestManyOrphansDoNotDelayAClient(t *testing.T) {
	const orphans, at = 900, 100
	for name, c := range map[string]struct{ clients, most int }{"one event": {1, 1}, "many events": {20, 20}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var decided func() // called before each decision
				w := newWorld(t, setup{config: ingest.Config{Now: func() time.Time {
					if decided != nil {
						decided()
					}
					return time.Now()
				}}})
				defer w.end()
				repo, now := announcement(1, "tool", time.Now()), time.Now()
				<-w.flood(w.peer("a"), orphans, func(i int) *nostr.Event { return issue(2, repo, now, fmt.Sprint(i)) }, store.Catchup)
				synctest.Wait()
				client, direct, seen, together, left := w.client(), map[nostr.ID]bool{}, 0, int64(0), c.clients
				decided = func() {
					if seen++; seen != at { // the writer is among the orphans
						return
					}
					for i := range c.clients {
						e := announcement(100+i, "next", now)
						direct[e.ID] = true
						if err := client.Submit(t.Context(), e, store.Direct, func(policy.Verdict) {
							if left--; left == 0 {
								together = w.store.Stats().Events
							}
						}); err != nil {
							t.Error(err)
						}
					}
					time.Sleep(time.Millisecond) // until they are verified
				}
				w.want(w.publish(w.client(), repo), policy.Accept)
				time.Sleep(10 * time.Second)
				entries, _, err := w.store.Since(0, 2000)
				if err != nil || len(entries) != orphans+1+c.clients {
					t.Fatalf("%d events are stored, %v", len(entries), err)
				}
				others, before := 0, 0 // orphans so far, and those from the hook to the last direct event
				for _, e := range entries[1:] {
					if !direct[e.Event.ID] {
						others++
					} else {
						before = others - (at - 1)
					}
				}
				if before < 0 || before > c.most+1 {
					t.Errorf("%d orphans were decided between a client's event being ready and its decision, want %d at most", before, c.most+1)
				}
				if together > at+int64(c.clients)+64+2 {
					t.Errorf("%d events were stored with the client's", together)
				}
			})
		})
	}
}

// The orphans that a source may keep, that all may keep, and that deletions have to themselves.
func TestTheOrphanBufferIsBounded(t *testing.T) {
	limits := ingest.Limits{OrphanEvents: 320, OrphanBytes: 320 * 4096} // shares: 30 of 240, deletions 10 of 80
	now := time.Now()
	repo := announcement(1, "tool", now)
	bug := issue(1, repo, now, "bug")
	orphanOf := func(i int) *nostr.Event { return comment(100+i, bug, now, "x") }
	for _, c := range []struct {
		name   string
		submit func(w *world)
		want   int64        // in the buffer
		kept   int          // accepted once the issue is here
		oldest *nostr.Event // of those that are kept
	}{
		{"one source", func(w *world) {
			s := w.peer("a")
			for i := range 100 {
				w.fetch(s, orphanOf(i))
			}
		}, 30, 30, orphanOf(70)},
		{"sources of one label", func(w *world) {
			for i := range 100 {
				s := w.peer("a")
				w.fetch(s, orphanOf(i))
				s.Close()
			}
		}, 30, 30, orphanOf(70)},
		{"many sources", func(w *world) {
			for i := range 300 {
				w.fetch(w.peer(fmt.Sprint(i)), orphanOf(i))
			}
		}, 240, 240, orphanOf(60)},
		{"bytes of one source", func(w *world) {
			s := w.peer("a")
			for i := range 100 {
				w.fetch(s, comment(100+i, bug, now, strings.Repeat("x", 20_000)))
			}
		}, 5, 5, nil}, // of 122,880
		{"bytes of tags", func(w *world) {
			s := w.peer("a")
			for i := range 100 {
				e := orphanOf(i)
				for range 300 {
					e.Tags = append(e.Tags, nostr.Tag{"t"})
				}
				w.fetch(s, sign(*e))
			}
		}, 5, 5, nil},
		{"too large for a share", func(w *world) {
			w.fetch(w.peer("a"), comment(100, bug, now, strings.Repeat("x", 130_000)))
		}, 0, 0, nil},
		{"deletions of many sources", func(w *world) {
			for i := range 100 {
				w.fetch(w.peer(fmt.Sprint(i)), deletion(100+i, now, bug))
			}
			for i := range 300 {
				w.fetch(w.peer(fmt.Sprint(i)), orphanOf(i+100))
			}
		}, 320, 320, orphanOf(160)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{opt: store.Options{Now: func() time.Time { return now }},
					config: ingest.Config{Limits: limits, Now: func() time.Time { return now }}})
				defer w.end()
				c.submit(w)
				if got := w.door.Stats().Orphans; got != c.want {
					t.Errorf("%d orphans are held, want %d", got, c.want)
				}
				w.want(w.publish(w.client(), repo), policy.Accept)
				w.want(w.publish(w.client(), bug), policy.Accept)
				time.Sleep(10 * time.Second)
				if got := len(w.ids()) - 2; got != c.kept {
					t.Errorf("%d orphans were accepted, want %d", got, c.kept)
				}
				if c.oldest != nil && w.get(c.oldest.ID) == nil {
					t.Error("the oldest one that fits was not kept")
				}
			})
		})
	}
}

// What the store remembers as refused for want of something is forgotten when that is here, also where the buffer has
// dropped it: the next reconciliation fetches it again.
func TestWantEndsAndTheRefusedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{OrphanBytes: 1}}}) // holds none
		defer w.end()
		p, c, now := w.peer("a"), w.client(), time.Now()
		repo := announcement(1, "tool", now, maintainers(2))
		bug, other := issue(2, repo, now, "bug"), issue(2, repo, now, "other")
		quoted := event(3, now, nostr.KindNote, "quoted")
		quote := issue(3, repo, now, "quote")
		quote.Tags = append(quote.Tags, nostr.Tag{"q", quoted.ID.String()})
		quote = sign(*quote)
		for _, step := range []struct {
			name   string
			orphan *nostr.Event
			needed *nostr.Event
		}{
			{"issue of a repository", bug, repo},
			{"comment on an issue", comment(3, other, now, "yes"), other},
			{"note that is quoted", quoted, quote},
			{"announcement of an invited maintainer", elsewhere(2, "lib", now, maintainers(1)), announcement(1, "lib", now, maintainers(2))},
			{"state before its announcement", state(4, "app", now), announcement(4, "app", now)},
			{"deletion by an author unknown yet", deletion(5, now, event(5, now, 1, "gone")), announcement(5, "new", now)},
			{"list of an author unknown yet", event(6, now, nip34.KindGraspList, ""), announcement(6, "new", now)},
		} {
			w.wantOrphan(w.fetch(p, step.orphan))
			if k := w.known(step.orphan); k.State != store.Remembered {
				t.Errorf("%s: not remembered", step.name)
			}
			w.wantOrphan(w.fetch(p, step.orphan))
			w.want(w.publish(c, step.needed), policy.Accept)
			if k := w.known(step.orphan); k.State != store.Unknown {
				t.Errorf("%s: still known as %v", step.name, k)
			}
			w.want(w.fetch(p, step.orphan), policy.Accept)
		}
	})
}

// Forgetting many is done in steps, so that the client whose event ended the want does not wait for all of them.
func TestForgettingManyIsDoneInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{OrphanBytes: 1}}})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		at := time.Now()
		var all []*nostr.Event
		for i := range 1500 {
			all = append(all, issue(2, repo, at, fmt.Sprint(i)))
		}
		<-w.flood(w.peer("a"), len(all), func(i int) *nostr.Event { return all[i] }, store.Catchup)
		if err := w.client().Submit(t.Context(), repo, store.Direct, func(policy.Verdict) {
			left := 0 // while the writer waits for this reply
			for _, e := range all {
				if w.known(e).State == store.Remembered {
					left++
				}
			}
			if left != len(all)-100 {
				t.Errorf("%d of %d were left for later", left, len(all))
			}
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, e := range all {
			if w.known(e).State != store.Unknown {
				t.Fatal("some are still remembered")
			}
		}
	})
}

// An orphan that the store remembers no more, but the buffer still holds, is remembered again when a relay sends it, so
// that it is not fetched again and again.
func TestAnOrphanInTheBufferIsRememberedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{opt: store.Options{MaxRemembered: 1}})
		defer w.end()
		p := w.peer("a")
		first, second := event(1, time.Now(), nostr.KindNote, "1"), event(1, time.Now(), nostr.KindNote, "2")
		w.want(w.fetch(p, first), policy.Unrelated)
		time.Sleep(48 * time.Hour) // the store forgets by age, roughly
		w.want(w.fetch(p, second), policy.Unrelated)
		time.Sleep(48 * time.Hour)
		if w.known(first).State != store.Unknown {
			t.Fatal("both are remembered")
		}
		w.want(w.fetch(p, first), policy.Unrelated)
		if w.known(first).State != store.Remembered {
			t.Error("not remembered")
		}
		if n := w.verifier.checks(first.ID); n != 1 {
			t.Errorf("verified %d times, want once", n)
		}
		if n := w.door.Stats().Orphans; n != 2 {
			t.Errorf("%d orphans are held, want 2", n)
		}
	})
}
