package testkit_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/test/testkit"
)

// A live filter whose limit cannot be 0 brings an event that nobody wanted; that
// does not count as history that moves.
func TestDeliveriesLeaveOutWhatLiveFiltersBring(t *testing.T) {
	n := testkit.NewNet(t)
	u := grasp.RelayURL("ws://relay.example.net")
	f := n.Relay(u)
	old := testkit.Mark(testkit.Someone(1), 1000, 1, "stored")
	f.Store(old)
	c, err := n.Dial(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		frame          string
		sent, delivers int // so far
	}{
		{`["REQ","live",{"kinds":[1],"limit":1}]`, 1, 0},
		{`["REQ","page",{"kinds":[1],"limit":500}]`, 2, 1},
		{`["REQ","ids",{"ids":["` + old.ID.String() + `"],"limit":1}]`, 3, 2},
	} {
		if err := c.Write(t.Context(), []byte(step.frame)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // EVENT, EOSE
			if _, err := c.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if f.Sent() != step.sent || f.Deliveries()[old.ID] != step.delivers {
			t.Errorf("after request %d: sent %d, delivered %d, want %d and %d", i, f.Sent(), f.Deliveries()[old.ID], step.sent, step.delivers)
		}
	}
	added := testkit.Mark(testkit.Someone(1), 2000, 1, "new")
	f.Add(added)
	if f.Deliveries()[added.ID] == 0 {
		t.Error("an event that came live does not count")
	}
	_ = c.Close("done")
}
