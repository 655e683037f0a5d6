package main

import (
	"context"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
	"github.com/graspd/graspd/internal/testkit"
)

// TestOtherRulesForgetWhatWasRefused: what was refused under one domain or
// difficulty is fetched and decided again under another.
func TestOtherRulesForgetWhatWasRefused(t *testing.T) {
	c := Config{Data: t.TempDir(), Cache: 1 << 20}
	ann := testkit.Announcement(testkit.Key(1), time.Now().Unix()-100, "proj", "wss://new.example.org")
	state := func(domain string, pow int, offer bool) store.State {
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
		if offer {
			src := door.Source(ingest.SourceConfig{Label: "test"})
			got := make(chan policy.Verdict, 1)
			if err := src.Submit(ctx, ann, store.Catchup, func(v policy.Verdict) { got <- v }); err != nil {
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
	if got := state("old.example.org", 0, true); got != store.Remembered {
		t.Fatalf("refused: state %d", got)
	}
	if got := state("old.example.org", 0, false); got != store.Remembered {
		t.Errorf("after a restart: state %d", got)
	}
	if got := state("new.example.org", 64, false); got != store.Unknown {
		t.Errorf("under another domain: state %d", got)
	}
	if got := state("new.example.org", 64, true); got != store.Remembered {
		t.Errorf("refused for want of work: state %d", got)
	}
	if got := state("new.example.org", 0, false); got != store.Unknown {
		t.Errorf("under another difficulty: state %d", got)
	}
	if got := state("new.example.org", 0, true); got != store.Stored {
		t.Errorf("offered again: state %d", got)
	}
}
