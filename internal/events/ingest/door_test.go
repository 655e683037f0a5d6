package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		now := time.Now()
		repo := announcement(1, "tool", now)
		bug := issue(2, repo, now, "bug")
		for _, step := range []struct {
			name  string
			event *nostr.Event
			want  policy.Outcome
			text  string
		}{
			{"announcement", repo, policy.Accept, ""},
			{"again", repo, policy.Duplicate, "duplicate: "},
			{"older version", announcement(1, "tool", now.Add(-time.Hour)), policy.Superseded, "invalid: a newer version"},
			{"issue", bug, policy.Accept, ""},
			{"unrelated", event(3, now, nostr.KindNote, "hello"), policy.Unrelated, "blocked: "},
			{"forged content", forge(issue(2, repo, now, "other")), policy.Invalid, "invalid: id does not match"},
			{"forged signature", missigned(issue(2, repo, now, "other")), policy.Invalid, "invalid: signature"},
			{"from the future", issue(2, repo, now.Add(time.Hour), "future"), policy.Discard, "invalid: created_at"},
			{"expired", event(2, now, 1621, "old", nostr.Tag{"a", repo.Address()}, nostr.Tag{"expiration", "1"}), policy.Expired, "invalid: "},
			{"ephemeral", event(2, now, 20001, "", nostr.Tag{"a", repo.Address()}), policy.Discard, "blocked: "},
			{"deletion", deletion(2, now, bug), policy.Accept, ""},
			{"deleted", bug, policy.Deleted, "blocked: this event was deleted"},
			{"withdrawn", elsewhere(1, "tool", now.Add(time.Second)), policy.Withdraw, "blocked: "},
		} {
			v := w.publish(w.client(), step.event)
			if v.Outcome != step.want || !strings.HasPrefix(v.Reason, step.text) || v.Reason != "" && step.text == "" {
				t.Errorf("%s: verdict is %s %q, want %s %q", step.name, v.Outcome, v.Reason, step.want, step.text)
			}
			if ok := step.want == policy.Accept || step.want == policy.Duplicate; v.OK() != ok {
				t.Errorf("%s: OK is %v", step.name, v.OK())
			}
		}
	})
}

// What was accepted just before is seen by the next decision, within one batch and across sources.
func TestDecisionsSeeWhatWasJustAppended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true}) // so that all of them are on their way at once
		defer w.end()
		p := w.peer("a")
		repo := announcement(1, "tool", time.Now())
		bug := issue(2, repo, time.Now(), "bug")
		reply := comment(3, bug, time.Now(), "yes")
		var last <-chan policy.Verdict
		for _, e := range []*nostr.Event{repo, bug, reply} {
			last = w.submit(p, e, store.Catchup)
		}
		w.run()
		w.want(<-last, policy.Accept)
		if n := w.door.Stats().Commits; n != 1 {
			t.Errorf("%d commits, want 1", n)
		}
	})
}

// Twenty thousand publishes on one connection that waits for no OK: bounded memory, every OK in order.
func TestPipelinedPublishesAreAnsweredInOrder(t *testing.T) {
	n := scaled(20_000, 2_000)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		c := w.client()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(c, repo), policy.Accept)
		answered, all := 0, make(chan struct{})
		for i := range n {
			e := issue(2, repo, time.Now(), strings.Repeat("x", i%50)+time.Duration(i).String())
			want := policy.Accept
			if i%7 == 0 {
				e, want = missigned(e), policy.Invalid
			}
			err := c.Submit(t.Context(), e, store.Direct, func(v policy.Verdict) {
				if answered != i || v.Outcome != want {
					t.Errorf("answer %d is %v to event %d", answered, v, i)
				}
				if answered++; answered == n {
					close(all)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		<-all
		if got := len(w.ids()); got != 1+n-(n+6)/7 {
			t.Errorf("%d events are stored, want %d", got, 1+n-(n+6)/7)
		}
	})
}

func TestSubmitWaitsForAPlace(t *testing.T) {
	big, large := strings.Repeat("x", 240<<10), strings.Repeat("x", 2800<<10)
	for _, c := range []struct {
		name    string
		content []string
		places  int // how many of them pass while nothing is decided
	}{
		{"1,024 events", make([]string, 1030), 1024},
		{"2 MiB", append(slices.Repeat([]string{big}, 9), "x"), 8},
		{"one that is larger passes when there are none", []string{large, "x"}, 1},
		{"a large one waits behind a small one", []string{"x", large}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{})
				defer w.end()
				release := make(chan struct{})
				w.verifier.Gate = func(nostr.ID, nostr.Sig) { <-release }
				s := w.peer("a")
				passed, answered := 0, 0
				done := make(chan struct{})
				go func() {
					defer close(done)
					for i, text := range c.content {
						e := event(i, time.Now(), nostr.KindNote, text)
						if err := s.Submit(t.Context(), e, store.Live, func(policy.Verdict) { answered++ }); err != nil {
							t.Error(err)
						}
						passed++
					}
				}()
				synctest.Wait()
				if passed != c.places {
					t.Errorf("%d events passed, want %d", passed, c.places)
				}
				close(release)
				<-done
				w.end()
				if answered != len(c.content) {
					t.Errorf("%d of %d events were answered", answered, len(c.content))
				}
			})
		})
	}
}

func TestSubmitEnds(t *testing.T) {
	cause := errors.New("session gone")
	for _, c := range []struct {
		name string
		end  func(w *world, s *ingest.Source, cancel context.CancelCauseFunc)
		want error
	}{
		{"with its context", func(_ *world, _ *ingest.Source, cancel context.CancelCauseFunc) { cancel(cause) }, cause},
		{"with its source", func(_ *world, s *ingest.Source, _ context.CancelCauseFunc) { s.Close() }, ingest.ErrClosed},
		{"with the door", func(w *world, _ *ingest.Source, _ context.CancelCauseFunc) { go w.end() }, ingest.ErrStopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{QueueEvents: 1}}})
				w.verifier.Gate = func(nostr.ID, nostr.Sig) { <-release }
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				s := w.peer("a")
				w.submit(s, event(1, time.Now(), nostr.KindNote, "1"), store.Live)
				result := make(chan error, 1)
				go func() {
					result <- s.Submit(ctx, event(1, time.Now(), nostr.KindNote, "2"), store.Live, func(policy.Verdict) {
						t.Error("an event that was not taken was answered")
					})
				}()
				synctest.Wait()
				c.end(w, s, cancel)
				synctest.Wait()
				select {
				case err := <-result:
					if !errors.Is(err, c.want) {
						t.Errorf("the error is %v, want %v", err, c.want)
					}
				default:
					t.Error("Submit still waits")
				}
				close(release)
				w.end()
			})
		})
	}
}

// Large events are decided one at a time of a party, and few of all; whoever waits comes when it is their turn, and small ones do not
// wait for them.
func TestLargeEventsHaveTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		gate := make(chan struct{})
		w.verifier.Gate = func(nostr.ID, nostr.Sig) { <-gate }
		passed, n := map[string]int{}, 0
		var mu sync.Mutex
		bring := func(party, text string) {
			s := w.door.Source(ingest.SourceConfig{Label: party, Party: party, Direct: true, HoldPlaces: true})
			n++
			e := event(n, time.Now(), nostr.KindNote, text)
			go func() {
				if err := s.Submit(t.Context(), e, store.Direct, nil); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				passed[party]++
			}()
			synctest.Wait()
		}
		large := strings.Repeat("x", 257<<10)
		for range 3 {
			bring("a", large)
		}
		bring("b", large)
		if passed["a"] != 1 || passed["b"] != 1 {
			t.Errorf("large ones that passed: %v", passed)
		}
		bring("a", "small")
		if passed["a"] != 2 {
			t.Error("a small one waits for large ones")
		}
		for i := range 30 {
			bring(fmt.Sprint(i), large)
		}
		all := 0
		for _, n := range passed {
			all += n
		}
		if all != 17 {
			t.Errorf("%d passed, want 16 large ones and a small one", all)
		}
		close(gate)
		synctest.Wait()
		if passed["a"] != 4 || passed["29"] != 1 {
			t.Errorf("in the end %v", passed)
		}
	})
}

func TestHeldPlacesWaitForRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{QueueEvents: 2}}})
		defer w.end()
		s := w.door.Source(ingest.SourceConfig{Direct: true, HoldPlaces: true})
		events := []*nostr.Event{}
		for i := range 4 {
			events = append(events, announcement(i, "tool", time.Now()))
		}
		s.Release(events[0].Size()) // nothing to release
		w.want(w.publish(s, events[0]), policy.Accept)
		w.want(w.publish(s, events[1]), policy.Accept)
		third := make(chan policy.Verdict, 1)
		go func() {
			if err := s.Submit(t.Context(), events[2], store.Direct, func(v policy.Verdict) { third <- v }); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if len(third) != 0 {
			t.Fatal("a third event passed though two places are held")
		}
		s.Release(events[0].Size())
		w.want(<-third, policy.Accept)
		s.Release(events[1].Size())
		s.Release(events[2].Size())
		s.Release(events[2].Size()) // once too often
		w.want(w.publish(s, events[3]), policy.Accept)
	})
}

// What was submitted is decided though its source was closed: many clients close after their last word.
func TestClosedSourceIsStillDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true})
		s := w.client()
		repo := announcement(1, "tool", time.Now())
		got := w.submit(s, repo, store.Direct)
		s.Close()
		s.Close()
		if err := s.Submit(t.Context(), repo, store.Direct, nil); !errors.Is(err, ingest.ErrClosed) {
			t.Errorf("the error is %v", err)
		}
		w.run()
		defer w.end()
		w.want(<-got, policy.Accept)
	})
}

// Sources that close with their queues full leave no more behind than LeftBytes.
func TestClosedSourcesLeaveABoundedRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100
		w := newWorld(t, setup{idle: true, config: ingest.Config{Limits: ingest.Limits{LeftBytes: 10 * each * 1024}}})
		var verdicts []<-chan policy.Verdict
		for i := range 30 {
			s := w.client()
			for j := range each {
				e := event(i, time.Now(), nostr.KindNote, strings.Repeat("x", 256)+time.Duration(j).String())
				verdicts = append(verdicts, w.submit(s, e, store.Direct))
			}
			s.Close()
		}
		w.run()
		defer w.end()
		dropped := 0
		for _, c := range verdicts {
			if v := <-c; v.Outcome == policy.Failed && strings.HasPrefix(v.Reason, "error: ") {
				dropped++
			}
		}
		if dropped < 18*each || dropped > 24*each {
			t.Errorf("%d of %d events were dropped, want about 2,000", dropped, len(verdicts))
		}
		// What was left is gone, so the next one is heard to its end.
		s := w.client()
		got := w.submit(s, announcement(1, "tool", time.Now()), store.Direct)
		s.Close()
		w.want(<-got, policy.Accept)
	})
}

func TestNilReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		if err := w.client().Submit(t.Context(), repo, store.Direct, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w.get(repo.ID) == nil {
			t.Error("the event was not stored")
		}
	})
}
