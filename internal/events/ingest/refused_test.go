package ingest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestRefusalsAreKept: what clients were refused, with who, what and why, the newest first, and repeats counted; of relays only what names
// this one. They are bounded, also of one address.
func TestRefusalsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := policy.Rules{Service: mustService(t), Lists: policy.Lists{DenyPubKeys: policy.PubKeys{key(9): {}}}}
		w := newWorld(t, setup{})
		defer w.end()
		if err := w.door.SetRules(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		c := w.client()
		w.want(w.publish(c, announcement(1, "tool", now)), policy.Accept)
		w.want(w.publish(c, announcement(1, "tool", now)), policy.Duplicate)
		w.want(w.publish(c, elsewhere(2, "other", now)), policy.Unlisted)
		time.Sleep(time.Minute)
		w.want(w.publish(c, elsewhere(2, "other", now.Add(time.Second))), policy.Unlisted)
		peer := w.peer("wss://a.example")
		w.want(w.fetch(peer, elsewhere(3, "theirs", now)), policy.Unlisted)
		w.want(w.fetch(peer, event(9, now, 1111, "spam")), policy.Refuse)
		w.want(w.fetch(peer, announcement(9, "denied", now)), policy.Refuse)
		got := w.door.LastRefused()
		if x := w.door.LastRefused(); len(x) == 2 {
			x[0].Why = "changed by who asked"
		}
		if len(got) != 2 {
			t.Fatalf("%d are kept: %+v", len(got), got)
		}
		if x := got[0]; x.From != "wss://a.example" || x.Author != nip19.Npub(key(9)) || x.What != "announcement of a repository denied" || x.Why == "" {
			t.Errorf("of a relay: %+v", x)
		}
		if x := got[1]; x.From != "" || x.Times != 2 || !x.Last.Equal(now.Add(time.Minute)) || x.What != "announcement of a repository other" || x.Author != nip19.Npub(key(2)) ||
			x.Address != fmt.Sprintf("30617:%s:other", key(2)) || x.Why == "" {
			t.Errorf("of a client: %+v", x)
		}
		w.publish(c, event(4, now, nostr.KindMetadata, `{"name":"ann"}`))
		if x := w.door.LastRefused()[0]; x.Author != nip19.Npub(key(4)) || x.What != "profile" { // no JSON is read for it
			t.Errorf("of a profile: %+v", x)
		}
		for i := range 3 * ingest.MostRefused { // one address fills a quarter at most
			w.publish(c, elsewhere(10+i, "flood", now))
		}
		if got := w.door.LastRefused(); len(got) != 25+1 || got[len(got)-1].From == "" {
			t.Errorf("after a flood: %d, the oldest %+v", len(got), got[len(got)-1])
		}
		for i := range 3 * ingest.MostRefused {
			w.fetch(w.peer(fmt.Sprintf("wss://%d.example", i)), announcement(9, fmt.Sprint("d", i), now))
		}
		if got := w.door.LastRefused(); len(got) != ingest.MostRefused || got[0].From != "wss://299.example" {
			t.Errorf("%d are kept, the newest %+v", len(got), got[0])
		}
	})
}
