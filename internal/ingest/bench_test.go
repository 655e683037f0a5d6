package ingest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"graspd/internal/grasp"
	"graspd/internal/ingest"
	"graspd/internal/nostr"
	"graspd/internal/policy"
	"graspd/internal/store"
)

// corpus is n signed issues of one repository, and the repository.
func corpus(b *testing.B, n int) (*nostr.Event, []*nostr.Event) {
	b.Helper()
	secret := nostr.SecretKey{31: 1}
	signed := func(e nostr.Event) *nostr.Event {
		if err := secret.Sign(&e, [32]byte{}); err != nil {
			b.Fatal(err)
		}
		parsed, err := nostr.ParseEvent(e.AppendJSON(nil))
		if err != nil {
			b.Fatal(err)
		}
		return parsed
	}
	repo := signed(nostr.Event{CreatedAt: time.Now().Unix(), Kind: 30617, Tags: announcement(1, "tool", time.Now()).Tags})
	events := make([]*nostr.Event, n)
	for i := range events {
		events[i] = signed(nostr.Event{CreatedAt: time.Now().Unix(), Kind: 1621, Content: fmt.Sprint("issue ", i),
			Tags: nostr.Tags{{"a", repo.Address()}, {"p", repo.PubKey.String()}, {"subject", fmt.Sprint(i)}}})
	}
	return repo, events
}

// BenchmarkDoor measures events of one relay through the door with a store on disk, and the mere check of the same
// events on all cores in the same run: the ratio says what the door leaves of the machine.
func BenchmarkDoor(b *testing.B) {
	repo, events := corpus(b, 8192)
	var alone, door time.Duration
	n := 0
	for b.Loop() {
		alone += verifyAlone(b, events)
		door += throughDoor(b, repo, events)
		n += len(events)
	}
	b.ReportMetric(float64(n)/alone.Seconds(), "verified/s")
	b.ReportMetric(float64(n)/door.Seconds(), "stored/s")
	b.ReportMetric(alone.Seconds()/door.Seconds(), "ratio")
}

func verifyAlone(b *testing.B, events []*nostr.Event) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	const workers = 2
	for i := range workers {
		wg.Go(func() {
			for j := i; j < len(events); j += workers {
				if err := nostr.Check(events[j], nostr.Schnorr{}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func throughDoor(b *testing.B, repo *nostr.Event, events []*nostr.Event) time.Duration {
	service, err := grasp.ParseService(domain)
	if err != nil {
		b.Fatal(err)
	}
	st, err := store.Open(store.Options{Dir: b.TempDir(), Floor: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	d := ingest.New(ingest.Config{Store: st, Rules: policy.Rules{Service: service}})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer running.Wait()
	defer cancel()
	s := d.Source(ingest.SourceConfig{Label: "a"})
	var last sync.WaitGroup
	reply := func(v policy.Verdict) {
		if v.Outcome != policy.Accept {
			b.Errorf("verdict is %v", v)
		}
		last.Done()
	}
	start := time.Now()
	for _, e := range append([]*nostr.Event{repo}, events...) {
		last.Add(1)
		if err := s.Submit(ctx, e, store.Catchup, reply); err != nil {
			b.Fatal(err)
		}
	}
	last.Wait()
	return time.Since(start)
}
