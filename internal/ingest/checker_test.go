package ingest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"graspd/internal/ingest"
	"graspd/internal/nostr"
	"graspd/internal/policy"
	"graspd/internal/store"
)

// batching is a Verifier that takes a third of the time in batches, unless a batch has a forgery in it. It keeps their sizes.
type batching struct {
	*marked
	mu           sync.Mutex
	held, failed []int
}

func (v *batching) Batch() func([]*nostr.Event, []bool) {
	return func(events []*nostr.Event, ok []bool) {
		time.Sleep(v.Delay / 3 * time.Duration(len(events)))
		genuine := true
		for i, e := range events {
			ok[i] = e.Sig[0] == mark
			genuine = genuine && ok[i]
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		if genuine {
			v.held = append(v.held, len(events))
			return
		}
		time.Sleep(v.Delay * time.Duration(len(events)))
		v.failed = append(v.failed, len(events))
	}
}

// inBatches is how many events were verified in batches that held and in others, and the size of the largest batch.
func (v *batching) inBatches() (held, failed, most int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range v.held {
		held += n
		most = max(most, n)
	}
	for _, n := range v.failed {
		failed += n
		most = max(most, n)
	}
	return held, failed, most
}

// queued is a world that has a repository, in which nothing is verified before release; what is submitted until then waits.
func queued(t *testing.T, workers int) (w *world, v *batching, repo *nostr.Event, release func()) {
	t.Helper()
	v = &batching{marked: &marked{}}
	w = newWorld(t, setup{config: ingest.Config{Workers: workers, Verifier: v}, idle: true})
	w.verifier = v.marked
	repo = announcement(1, "tool", time.Now())
	b, err := w.store.Begin()
	if err == nil {
		_, err = b.Add(repo, store.Direct)
	}
	if err == nil {
		_, err = b.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w, v, repo, w.run
}

// Whatever is verified together, each event has the verdict that it has alone, in the order of its source.
func TestEachInABatchHasItsOwnVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v, repo, release := queued(t, 2)
		defer w.end()
		const n = 1000 // both verifiers take 128 before the source is proven, and then some without a forgery
		want, got := make([]policy.Outcome, n), make([]policy.Outcome, 0, n)
		peer, genuine := w.peer("a"), []*nostr.Event{}
		for i := range n {
			e := issue(2, repo, time.Now(), fmt.Sprint(i))
			want[i] = policy.Accept
			switch {
			case i > 600 && i%197 == 0:
				e, want[i] = missigned(e), policy.Invalid
			case i > 600 && i%151 == 0:
				e, want[i] = forge(e), policy.Invalid
			case i > 100 && i%31 == 0: // a copy, in the same batch or not
				e, want[i] = genuine[len(genuine)-1-i%3], policy.Duplicate
			default:
				genuine = append(genuine, e)
			}
			if err := peer.Submit(t.Context(), e, store.Catchup, func(v policy.Verdict) { got = append(got, v.Outcome) }); err != nil {
				t.Fatal(err)
			}
		}
		release()
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("verdicts are %v, want %v", got, want)
		}
		if held, failed, most := v.inBatches(); held < 128 || failed == 0 || most > 128 {
			t.Errorf("%d events in batches that held, %d in others, up to %d", held, failed, most)
		}
		if s := w.door.Stats(); s.Verified != uint64(len(genuine)) || s.Forged == 0 {
			t.Errorf("%d verified, %d forged", s.Verified, s.Forged)
		}
	})
}

// Who slips a forgery among what is verified together is verified alone until 128 events in a row were genuine, and so is everybody
// who has just come. So no more than half of the events that are not genuine in a row cost more than they do alone.
func TestForgersAreVerifiedAlone(t *testing.T) {
	for _, every := range []int{1, 10, 128, 129, 256} {
		synctest.Test(t, func(t *testing.T) {
			w, v, repo, release := queued(t, 1)
			defer w.end()
			const n = 600
			honest, forger := w.peer("honest"), w.peer("forger")
			for i := range n {
				w.submit(honest, issue(2, repo, time.Now(), fmt.Sprint("honest ", i)), store.Catchup)
				e := issue(3, repo, time.Now(), fmt.Sprint("forged ", i))
				if i%every == every-1 {
					e = missigned(e)
				}
				w.submit(forger, e, store.Catchup)
			}
			release()
			time.Sleep(time.Second)
			synctest.Wait()
			held, failed, _ := v.inBatches()
			if every <= 128 && failed > 0 || failed > n || held < n/4 {
				t.Errorf("one of %d: %d events were in batches that failed, %d in others", every, failed, held)
			}
		})
	}
}

// Nobody waits for a batch to fill, and a handful is verified one by one.
func TestNoWaitForABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v, repo, release := queued(t, 2)
		defer w.end()
		release()
		client, began := w.client(), time.Now()
		for i := range 200 {
			w.want(w.publish(client, issue(2, repo, began, fmt.Sprint(i))), policy.Accept)
		}
		if held, _, _ := v.inBatches(); time.Since(began) > time.Millisecond || held > 0 {
			t.Errorf("one by one took %v, %d were in batches", time.Since(began), held)
		}
	})
}

// What waits is shared among the verifiers: one does not take all while others have nothing to do.
func TestVerifiersShareWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v, repo, release := queued(t, 4)
		defer w.end()
		v.Delay = 30 * time.Microsecond
		release()
		time.Sleep(time.Second)
		peer := w.peer("a")
		for i := range 128 {
			w.submit(peer, issue(2, repo, time.Now(), fmt.Sprint("before ", i)), store.Catchup)
		}
		time.Sleep(time.Second)
		for i := range 64 {
			w.submit(peer, issue(2, repo, time.Now(), fmt.Sprint(i)), store.Catchup)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if held, _, most := v.inBatches(); held < 50 || most > 16 {
			t.Errorf("%d of 64 events were verified in batches, of up to %d", held, most)
		}
	})
}

// A client waits for one batch at most, and relays have their turns in batches as they have them alone.
func TestTurnsWithinBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v, repo, release := queued(t, 1)
		defer w.end()
		v.Delay = 600 * time.Microsecond
		const batch = 128 * 200 * time.Microsecond
		burst := w.flood(w.peer("burst"), 3000, func(i int) *nostr.Event { return issue(2, repo, time.Now(), fmt.Sprint("burst ", i)) }, store.Catchup)
		release()
		time.Sleep(100 * time.Millisecond) // the burst is proven
		client, other := w.client(), w.peer("other")
		for i := range 3 {
			began := time.Now()
			w.want(w.publish(client, issue(4, repo, began, fmt.Sprint("client ", i))), policy.Accept)
			if took := time.Since(began); took > batch+2*time.Millisecond {
				t.Errorf("the client waited for %v", took)
			}
			began = time.Now()
			w.want(w.publish(other, issue(5, repo, began, fmt.Sprint("other ", i))), policy.Accept)
			if took := time.Since(began); took > 2*batch+60*time.Millisecond { // and for the commit
				t.Errorf("the other relay waited for %v", took)
			}
		}
		select {
		case <-burst:
			t.Error("the burst is over before the others are")
		default:
		}
		<-burst
	})
}
