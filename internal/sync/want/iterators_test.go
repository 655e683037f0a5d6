package want

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

// Whoever goes through the fold may stop anywhere.
func TestSequencesOfTheFoldEndWithTheirReaders(t *testing.T) {
	r := newRoots()
	var named rootNo // with addresses
	for i := range 30 {
		named = r.add(&rootName{id: nostr.ID{byte(i % 3), 31: byte(i)}})
	}
	for range 5 {
		r.note(named, new(addressed))
	}
	itertest.Seq(t, func(context.Context) iter.Seq[*root] { return r.all() })
	itertest.Seq(t, func(context.Context) iter.Seq[*addressed] { return r.addresses(named) })

	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	itertest.Seq2(t, func(context.Context) iter.Seq2[URL, *Want] {
		d := NewDesired(policy.Rules{Service: service}, []URL{"wss://a.example", "wss://b.example", "wss://c.example"}, Bounds{})
		return d.Changed(time.Hour)
	})
}
