package interop

import (
	"context"
	"testing"
	"time"

	gonostr "github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip77"
	"github.com/nbd-wtf/go-nostr/nip77/negentropy"
	"github.com/nbd-wtf/go-nostr/nip77/negentropy/storage/vector"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// connect opens a go-nostr client.
func connect(t *testing.T, url string, options ...gonostr.RelayOption) *gonostr.Relay {
	t.Helper()
	r, err := gonostr.RelayConnect(t.Context(), url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// publish sends an event and requires its OK.
func publish(t *testing.T, r *gonostr.Relay, e *nostr.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Publish(ctx, *foreign(t, e)); err != nil {
		t.Fatalf("publish %s of kind %d: %v", e.ID, e.Kind, err)
	}
}

// subscribe opens a REQ and waits for its EOSE.
func subscribe(t *testing.T, r *gonostr.Relay, f gonostr.Filter) *gonostr.Subscription {
	t.Helper()
	s, err := r.Subscribe(t.Context(), gonostr.Filters{f})
	if err != nil {
		t.Fatal(err)
	}
	if f.LimitZero {
		select {
		case <-s.EndOfStoredEvents:
		case <-time.After(patience):
			t.Fatal("no EOSE")
		}
	}
	return s
}

// await returns when the subscription brings the event, and with it the time.
func await(t *testing.T, s *gonostr.Subscription, e *nostr.Event) time.Time {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case got, ok := <-s.Events:
			if !ok {
				t.Fatal("the subscription ended")
			}
			if got.ID == e.ID.String() {
				return time.Now()
			}
		case <-late:
			t.Fatalf("event %s of kind %d does not come", e.ID, e.Kind)
		}
	}
}

// difference reconciles with a relay (NIP-77) and returns the ids that only the given events have and those that only the relay has.
func difference(t *testing.T, url string, f gonostr.Filter, events []*nostr.Event) (have, need []string) {
	t.Helper()
	const sub = "difference"
	set := vector.New()
	for _, e := range events {
		set.Insert(gonostr.Timestamp(e.CreatedAt), e.ID.String())
	}
	set.Seal()
	neg := negentropy.New(set, 60_000) // bytes, twice as many in hex; a relay takes messages of 256 KiB
	frames, failed := make(chan string, 16), make(chan string, 1)
	r := connect(t, url, gonostr.WithCustomHandler(func(s string) {
		switch m := nip77.ParseNegMessage(s).(type) {
		case *nip77.MessageEnvelope:
			frames <- m.Message
		default:
			failed <- s
		}
	}), gonostr.WithNoticeHandler(func(s string) { failed <- s }))
	defer r.Close()
	open, _ := nip77.OpenEnvelope{SubscriptionID: sub, Filter: f, Message: neg.Start()}.MarshalJSON()
	<-r.Write(open)
	ended := make(chan struct{})
	go func() {
		for id := range neg.Haves {
			have = append(have, id)
		}
		ended <- struct{}{}
	}()
	go func() {
		for id := range neg.HaveNots {
			need = append(need, id)
		}
		ended <- struct{}{}
	}()
	late := time.After(patience)
	for {
		select {
		case m := <-frames:
			next, err := neg.Reconcile(m)
			if err != nil {
				t.Fatal(err)
			}
			if next == "" {
				<-ended
				<-ended
				end, _ := nip77.CloseEnvelope{SubscriptionID: sub}.MarshalJSON()
				<-r.Write(end)
				return have, need
			}
			msg, _ := nip77.MessageEnvelope{SubscriptionID: sub, Message: next}.MarshalJSON()
			<-r.Write(msg)
		case s := <-failed:
			t.Fatalf("%s answers %s", url, s)
		case <-late:
			t.Fatalf("%s does not answer NIP-77", url)
		}
	}
}
