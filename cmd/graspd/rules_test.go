package main

import (
	"context"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestOtherRulesForgetWhatWasRefused: what was refused under one domain or
// difficulty is fetched and decided again under another.
func TestOtherRulesForgetWhatWasRefused(t *testing.T) {
	c := Config{Data: t.TempDir(), Cache: 1 << 20}
	ann := testkit.Announcement(testkit.Key(1), time.Now().Unix()-100, "proj", "wss://new.example.org")
	kept := testkit.Announcement(testkit.Key(2), time.Now().Unix()-100, "kept", "wss://old.example.org")
	state := func(domain string, pow int, offers ...*nostr.Event) store.State {
		service, err := grasp.ParseService(domain)
		if err != nil {
			t.Fatal(err)
		}
		c.MinPoW = pow
		s, door, err := node.OpenDoor(c.door(service, policy.Lists{}, nil))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- door.Run(ctx) }()
		for _, e := range offers {
			src := door.Source(ingest.SourceConfig{Label: "test"})
			got := make(chan policy.Verdict, 1)
			if err := src.Submit(ctx, e, store.Catchup, func(v policy.Verdict) { got <- v }); err != nil {
				t.Fatal(err)
			}
			<-got
			src.Close()
		}
		v := s.View()
		known, err := v.Known(ann.ID)
		v.Close()
		cancel()
		for _, err := range []error{err, <-ended, s.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return known.State
	}
	if got := state("old.example.org", 0, ann); got != store.Remembered {
		t.Fatalf("refused: state %d", got)
	}
	if got := state("old.example.org", 0); got != store.Unknown {
		t.Errorf("after a restart without a repository: state %d; it is brought again, and the operator told what it lists", got)
	}
	if got := state("old.example.org", 0, ann, kept); got != store.Remembered {
		t.Fatalf("refused again: state %d", got)
	}
	if got := state("old.example.org", 0); got != store.Remembered {
		t.Errorf("after a restart: state %d", got)
	}
	if got := state("new.example.org", 64); got != store.Unknown {
		t.Errorf("under another domain: state %d", got)
	}
	if got := state("new.example.org", 64, ann); got != store.Remembered {
		t.Errorf("refused for want of work: state %d", got)
	}
	if got := state("new.example.org", 0); got != store.Unknown {
		t.Errorf("under another difficulty: state %d", got)
	}
	if got := state("new.example.org", 0, ann); got != store.Stored {
		t.Errorf("offered again: state %d", got)
	}
}
