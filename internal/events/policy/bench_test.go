package policy_test

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func BenchmarkDecide(b *testing.B) {
	crowd := &memory{}
	for i := range policy.MaxAnnouncements {
		var others []string
		for j := range 100 {
			others = append(others, fmt.Sprint((i+j)%policy.MaxAnnouncements))
		}
		crowd.events = append(crowd.events, inviting(announce(9, fmt.Sprint(i), "d", ours), others...))
	}
	for _, bc := range []struct {
		name string
		v    policy.View
		e    *nostr.Event
	}{
		{"issue", yes(true), event("bob", nip34.KindIssue, tag("a", repo("alice")))},
		{"unrelated note", yes(false), event("bob", 1)},
		{"announcement of elsewhere", yes(false), announce(1, "bob", "d", "wss://a.example", "wss://b.example")},
		{"announcement among a thousand that list each other", crowd, announce(1, "bob", "d", "wss://a.example")},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decide(b, bc.v, bc.e)
			}
		})
	}
}
