package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func (w *world) member(label, share string) *ingest.Source {
	return w.door.Source(ingest.SourceConfig{Label: label, Party: share})
}

// However many relays of one party bring events, another relay's are verified and decided as if they were one; also when it
// is seen only later that they are one party.
func TestManyRelaysOfOnePartyHaveOneTurn(t *testing.T) {
	for _, tc := range []struct {
		name        string
		share       string
		later       bool
		least, most int // of the others' events decided, for 50 of the honest relay's
	}{
		{"one party", "stranger", false, 40, 60},
		{"one party, seen later", "stranger", true, 40, 140},
		{"each by itself", "", false, 900, 1100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{config: ingest.Config{Workers: 1}})
				defer w.end()
				now := time.Now()
				repo := announcement(1, "tool", now)
				w.want(w.publish(w.client(), repo), policy.Accept)
				w.verifier.Delay = time.Millisecond
				others := 0
				var sources []*ingest.Source
				for i := range 20 {
					s := w.member(fmt.Sprint("r", i), tc.share)
					if tc.later {
						s = w.peer(fmt.Sprint("r", i))
					}
					sources = append(sources, s)
					for n := range 51 { // as many as one party may have undecided
						if err := s.Submit(t.Context(), issue(2, repo, now, fmt.Sprint(i, " ", n)), store.Live, func(policy.Verdict) { others++ }); err != nil {
							t.Fatal(err)
						}
					}
				}
				if tc.later {
					for _, s := range sources {
						s.Join(tc.share)
					}
				}
				honest := w.peer("honest")
				start, before := time.Now(), others
				var last <-chan policy.Verdict
				for n := range 50 {
					last = w.submit(honest, issue(3, repo, now, fmt.Sprint("honest ", n)), store.Live)
				}
				w.want(<-last, policy.Accept)
				took := int(time.Since(start)/time.Millisecond) - 50 // one verification each
				if took < tc.least || took > tc.most+100 {
					t.Errorf("meanwhile about %d of the others' were verified, %d decided; want %d to %d", took, others-before, tc.least, tc.most)
				}
				time.Sleep(5 * time.Second)
			})
		})
	}
}

// A party has the places of one source, whatever the number of its sources, but each of them may bring one event at a time;
// whoever waits goes on when a place of any of them becomes free.
func TestPlacesOfAParty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true, config: ingest.Config{Limits: ingest.Limits{QueueEvents: 10}}})
		full := func(s *ingest.Source, i int) bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := s.Submit(ctx, event(2, time.Now(), nostr.KindNote, fmt.Sprint(i)), store.Live, nil)
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			return err != nil
		}
		var sources []*ingest.Source
		taken := 0
		for i := range 5 {
			sources = append(sources, w.member(fmt.Sprint(i), "stranger"))
			for n := 0; !full(sources[i], 1000*i+n); n++ {
				taken++
			}
		}
		if taken != 10+4 {
			t.Errorf("%d places", taken)
		}
		// One that leaves the party has its own, and leaves the party what it had.
		sources[0].Join("")
		if !full(sources[0], 90_000) || full(sources[1], 90_001) {
			t.Error("who leaves a party does not take his events along")
		}
		if w.door.Parties() != 1 {
			t.Errorf("%d parties", w.door.Parties())
		}
		waits := make(chan error, 1)
		go func() {
			for n := range 20 {
				if err := sources[4].Submit(t.Context(), event(2, time.Now(), nostr.KindNote, fmt.Sprint("late ", n)), store.Live, nil); err != nil {
					waits <- err
					return
				}
			}
			waits <- nil
		}()
		synctest.Wait()
		for _, s := range sources[:4] {
			s.Close()
		}
		w.run()
		if err := <-waits; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		sources[4].Close()
		if w.door.Parties() != 0 {
			t.Errorf("%d parties are remembered", w.door.Parties())
		}
		w.end()
	})
}

// Who floods leaves the others of his party a part of the places for each.
func TestPartsOfAParty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true, config: ingest.Config{Limits: ingest.Limits{QueueEvents: 128}}})
		var got []int
		for i, size := range []int{10, 10, 20_000} {
			s := w.member(fmt.Sprint(i), "stranger")
			n := 0
			for ; n < 200; n++ {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := s.Submit(ctx, event(2, time.Now(), nostr.KindNote, fmt.Sprint(i, n, strings.Repeat("x", size))), store.Live, nil)
				cancel()
				if err != nil {
					break
				}
			}
			got = append(got, n)
		}
		if !slices.Equal(got, []int{128, 4, 3}) { // 64 KiB hold three
			t.Errorf("%v events were taken", got)
		}
		w.run()
		time.Sleep(time.Second)
		w.end()
	})
}

// A party that closes its sources and opens others does not get more places by that.
func TestAPartyThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{idle: true, config: ingest.Config{Limits: ingest.Limits{QueueEvents: 10}}})
		total := 0
		for i := range 6 {
			s := w.member(fmt.Sprint(i), "stranger")
			for n := range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if s.Submit(ctx, event(2, time.Now(), nostr.KindNote, fmt.Sprint(i, n)), store.Live, nil) == nil {
					total++
				}
				cancel()
			}
			s.Close()
		}
		if total != 10+5 {
			t.Errorf("%d events were taken", total)
		}
		w.run()
		time.Sleep(time.Second)
		if w.door.Parties() != 0 {
			t.Errorf("%d parties are remembered", w.door.Parties())
		}
		w.end()
	})
}

// In the orphan buffer a party has the part of one source.
func TestOrphansOfAParty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: ingest.Config{Limits: ingest.Limits{OrphanEvents: 320}}})
		defer w.end()
		for i := range 20 {
			s := w.member(fmt.Sprint(i), "stranger")
			for n := range 10 {
				w.want(w.fetch(s, event(2, time.Now(), nostr.KindNote, fmt.Sprint(i, " ", n))), policy.Unrelated)
			}
		}
		if n := w.door.Stats().Orphans; n != 30 { // an eighth of three quarters
			t.Errorf("%d orphans", n)
		}
	})
}
