package ingest_test

import (
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

func TestAnEventThatTenRelaysSendIsVerifiedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Workers: 4}})
		defer w.end()
		w.verifier.Delay = time.Millisecond
		repo := announcement(1, "tool", time.Now())
		var verdicts []<-chan policy.Verdict
		for i := range 10 {
			verdicts = append(verdicts, w.submit(w.peer(string(rune('a'+i))), repo.Clone(), store.Live))
		}
		accepted := 0
		for _, c := range verdicts {
			switch v := <-c; v.Outcome {
			case policy.Accept:
				accepted++
			case policy.Duplicate:
			default:
				t.Errorf("verdict is %v", v)
			}
		}
		if n := w.verifier.checks(repo.ID); n != 1 || accepted != 1 {
			t.Errorf("verified %d times and accepted %d times, want once each", n, accepted)
		}
		// One that comes later is answered from the store, whatever it holds.
		w.want(w.fetch(w.peer("late"), forge(repo)), policy.Duplicate)
		if n := w.verifier.checks(repo.ID); n != 1 {
			t.Errorf("verified %d times, want once", n)
		}
	})
}

// A forger that is faster than the honest relay gets nothing in and keeps nothing out.
func TestForgedCopyFirstGenuineSecond(t *testing.T) {
	for name, spoil := range map[string]func(*nostr.Event) *nostr.Event{"content": forge, "signature": missigned} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				w := newWorld(t, setup{config: ingest.Config{Workers: 4}})
				defer w.end()
				w.verifier.Gate = func(_ nostr.ID, sig nostr.Sig) {
					if sig[0] != mark {
						<-release
					}
				}
				repo := announcement(1, "tool", time.Now())
				bad := w.submit(w.peer("forger"), spoil(repo), store.Live)
				synctest.Wait()
				good := w.submit(w.peer("honest"), repo, store.Live)
				third := w.submit(w.client(), repo.Clone(), store.Direct)
				synctest.Wait()
				close(release)
				w.want(<-bad, policy.Invalid)
				v, u := <-good, <-third
				if !v.OK() || !u.OK() {
					t.Fatalf("the genuine copies got %v and %v", v, u)
				}
				if e := w.get(repo.ID); e == nil || e.Content != repo.Content || e.Sig != repo.Sig {
					t.Errorf("stored is %+v, want the genuine event", e)
				}
			})
		})
	}
}

// Copies that wait for one that proves forged are verified each for itself, in the turn of their own source, so the
// number of forgeries does not matter.
func TestManyForgedCopiesDoNotDelayTheGenuineOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const forgers = 60
		w := newWorld(t, setup{config: ingest.Config{Workers: 3}})
		defer w.end()
		w.verifier.Delay = time.Millisecond
		repo := announcement(1, "tool", time.Now())
		forger := func(i int) {
			s := w.peer(fmt.Sprint(i))
			for range 100 {
				w.submit(s, missigned(repo), store.Live)
			}
		}
		for i := range forgers / 2 {
			forger(i)
		}
		time.Sleep(5*time.Millisecond + time.Microsecond)
		start := time.Now()
		genuine := w.submit(w.peer("honest"), repo, store.Live)
		for i := range forgers / 2 {
			forger(forgers/2 + i)
		}
		w.want(<-genuine, policy.Accept)
		// Its turn at the verifiers comes after one of each forger, once to wait and once for itself.
		if d, limit := time.Since(start), (50+2*forgers/3+5)*time.Millisecond; d > limit {
			t.Errorf("the genuine copy took %v, want at most %v", d, limit)
		}
	})
}

// A copy that waited in vain is verified before what its source sent after it, which it holds up.
func TestACopyThatWaitedKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld(t, setup{config: ingest.Config{Workers: 2}})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		var mu sync.Mutex
		var order []nostr.ID
		w.verifier.Gate = func(id nostr.ID, sig nostr.Sig) {
			if sig[0] != mark {
				<-release
				return
			}
			mu.Lock()
			order = append(order, id)
			n := len(order)
			mu.Unlock()
			if n == 2 {
				close(release)
				time.Sleep(time.Millisecond)
			}
		}
		w.submit(w.peer("forger"), missigned(repo), store.Live)
		synctest.Wait()
		honest := w.peer("honest")
		events := []*nostr.Event{repo}
		for i := range 100 {
			events = append(events, issue(2, repo, time.Now(), fmt.Sprint(i)))
		}
		var last <-chan policy.Verdict
		for _, e := range events {
			last = w.submit(honest, e, store.Live)
		}
		w.want(<-last, policy.Accept)
		if at := slices.Index(order, repo.ID); at < 2 || at > 4 {
			t.Errorf("the copy was verified as number %d", at)
		}
	})
}

func TestWaitingCopiesTakeTheGenuineEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld(t, setup{config: ingest.Config{Workers: 2}})
		defer w.end()
		w.verifier.Gate = func(nostr.ID, nostr.Sig) { <-release }
		repo := announcement(1, "tool", time.Now())
		first := w.submit(w.peer("a"), repo, store.Live)
		synctest.Wait()
		second := w.submit(w.peer("b"), forge(repo), store.Live)
		third := w.submit(w.client(), forge(repo), store.Direct)
		synctest.Wait()
		if n := w.verifier.checks(repo.ID); n != 1 {
			t.Errorf("%d copies are being verified, want one", n)
		}
		close(release)
		w.want(<-first, policy.Accept)
		w.want(<-second, policy.Duplicate) // the content of a relay's copy is not looked at
		w.want(<-third, policy.Invalid)    // a client hears that it is not what the id says
		if e := w.get(repo.ID); e == nil || e.Content != repo.Content {
			t.Errorf("stored is %+v, want the genuine event", e)
		}
	})
}

// A copy that is recognised in the very moment in which another is proved is decided after that.
func TestTheProvedCopyIsDecidedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true, config: ingest.Config{Workers: 1}})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		proved := w.submit(w.peer("honest"), repo, store.Live)
		recognised := w.submit(w.peer("forger"), missigned(repo), store.Live)
		w.door.ProveFirst()
		w.run()
		w.want(<-recognised, policy.Duplicate)
		w.want(<-proved, policy.Accept)
	})
}

func TestForgedBodyUnderARefusedID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		client, peer := w.client(), w.peer("a")
		repo := announcement(1, "tool", time.Now())
		refused := elsewhere(2, "tool", time.Now())
		w.want(w.publish(client, refused), policy.Unlisted)
		w.want(w.publish(client, repo), policy.Accept)

		// A copy of what was refused, with a body that would be accepted.
		forged := refused.Clone()
		forged.Tags = repo.Clone().Tags
		w.want(w.publish(client, forged), policy.Invalid)
		w.want(w.fetch(peer, forged), policy.Unlisted)
		if w.get(refused.ID) != nil {
			t.Error("a forged body was stored")
		}
	})
}

// What was refused before is verified in full and decided again for a client, and answered from memory for a relay.
func TestRefusedIsDecidedAgainForAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		refused := event(1, time.Now(), nostr.KindNote, "hello")
		w.want(w.fetch(w.peer("a"), refused), policy.Unrelated)
		w.end()

		// Another process, with nothing but the store's memory.
		w = newWorld(t, setup{fs: w.fs})
		defer w.end()
		client, peer := w.client(), w.peer("a")
		w.want(w.fetch(peer, refused), policy.Unrelated)
		if n := w.verifier.checks(refused.ID); n != 0 {
			t.Errorf("verified %d times for a relay, want never", n)
		}
		w.want(w.publish(client, missigned(refused)), policy.Invalid)
		for range 2 {
			// It hears what the policy has to say, also when the event is in the orphan buffer.
			v := w.publish(client, refused)
			w.want(v, policy.Unrelated)
			if !strings.Contains(v.Reason, "names no repository") {
				t.Errorf("the client hears %q", v.Reason)
			}
		}
		if n := w.verifier.checks(refused.ID); n != 2 {
			t.Errorf("verified %d times for a client, want twice", n)
		}
	})
}

func TestForgedIsNeverRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(w.client(), missigned(repo)), policy.Invalid)
		w.want(w.fetch(w.peer("a"), forge(repo)), policy.Invalid)
		if k := w.known(repo); k.State != store.Unknown {
			t.Errorf("the store knows %v of a forged id", k)
		}
		w.want(w.fetch(w.peer("a"), repo), policy.Accept)
	})
}

// A client that sends what a relay sent just before hears OK when that is durable, and not earlier.
func TestDuplicateIsToldWhenItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release := newBusyWorld(t, ingest.Limits{})
		defer w.end()
		defer release()
		repo := announcement(1, "tool", time.Now())
		start := time.Now()
		w.submit(w.peer("a"), repo, store.Live)
		synctest.Wait() // decided, in a batch that waits for another event
		if w.store.Head() != 0 {
			t.Fatal("the batch of a relay is committed already")
		}
		durable := false
		done := make(chan policy.Verdict, 1)
		err := w.client().Submit(t.Context(), repo.Clone(), store.Direct, func(v policy.Verdict) {
			durable = w.get(repo.ID) != nil
			done <- v
		})
		if err != nil {
			t.Fatal(err)
		}
		w.want(<-done, policy.Duplicate)
		if !durable {
			t.Error("OK was told before the commit")
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("the client waited %v for the batch of a relay", d)
		}
	})
}

// Decisions are made in the order of the source, so what a client deleted just before is not a duplicate.
func TestDeletedJustBeforeIsNoDuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld(t, setup{config: ingest.Config{Workers: 2}})
		defer w.end()
		c := w.client()
		repo := announcement(1, "tool", time.Now())
		w.want(w.publish(c, repo), policy.Accept)
		del := deletion(1, time.Now(), repo)
		w.verifier.Gate = func(id nostr.ID, _ nostr.Sig) {
			if id == del.ID {
				<-release
			}
		}
		first := w.submit(c, del, store.Direct)
		second := w.submit(c, repo, store.Direct)
		synctest.Wait() // the copy is recognised, the deletion not verified yet
		close(release)
		w.want(<-first, policy.Accept)
		w.want(<-second, policy.Deleted)
	})
}

// The real check of signatures, which all other tests do without.
func TestRealSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Verifier: nostr.Schnorr{}}})
		defer w.end()
		secret := nostr.SecretKey{31: 7}
		draft := announcement(1, "tool", time.Now()).Clone()
		if err := secret.Sign(draft, [32]byte{}); err != nil {
			t.Fatal(err)
		}
		w.want(w.publish(w.client(), announcement(1, "tool", time.Now())), policy.Invalid) // has the mark only
		w.want(w.fetch(w.peer("a"), missigned(draft)), policy.Invalid)
		w.want(w.fetch(w.peer("a"), forge(draft)), policy.Invalid)
		w.want(w.publish(w.client(), draft), policy.Accept)
	})
}

// Many sources at once send the same events in orders of their own, forged copies among them. The genuine ones are
// served, every one is accepted once, and nothing forged is.
func TestForgersAmongManySources(t *testing.T) {
	for seed := range uint64(scaled(30, 8)) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, setup{config: ingest.Config{Workers: 4}})
			defer w.end()
			w.verifier.Delay = 100 * time.Microsecond
			all, served := family(time.Now())
			var sending sync.WaitGroup
			for i := range uint64(8) {
				s, from := w.peer(string(rune('a'+i))), store.Live
				if i%4 == 0 {
					s, from = w.client(), store.Direct
				}
				sending.Go(func() {
					for j, e := range shuffle(seed*8+i, all) {
						c := []*nostr.Event{e.Clone(), e, forge(e), missigned(e), e}[(uint64(j)+i+seed)%5]
						if err := s.Submit(t.Context(), c, from, nil); err != nil {
							t.Error(err)
						}
						if j%5 == int(seed%5) {
							time.Sleep(time.Duration(i) * time.Millisecond)
						}
					}
					s.Close()
				})
			}
			sending.Wait()
			time.Sleep(time.Second)
			for _, e := range all { // each once from an honest source at the end
				w.submit(w.peer("honest"), e, store.Catchup)
			}
			time.Sleep(time.Second)
			got := w.ids()
			slices.Sort(got)
			if want := idsOf(served); !slices.Equal(got, want) {
				t.Errorf("seed %d: served:\n%s\nwant:\n%s", seed, names(all, got), names(all, want))
			}
			for _, e := range served {
				if got := w.get(e.ID); got != nil && (got.Content != e.Content || got.Sig != e.Sig) {
					t.Errorf("seed %d: a forged copy was stored", seed)
				}
			}
		})
	}
}
