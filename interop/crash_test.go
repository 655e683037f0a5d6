package interop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coder/websocket"
	gonostr "github.com/nbd-wtf/go-nostr"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What was answered OK is there after kill -9, whenever that comes.
func TestNothingAnsweredOKIsLostByKill(t *testing.T) {
	const rounds, perRound = 8, 2000
	data := t.TempDir()
	now := time.Now().Unix()
	repository := sign(key(1), now-10, 30617, nostr.Tag{"d", "crash"}, nostr.Tag{"relays", service})
	var answered []*nostr.Event
	for round := range rounds {
		n := serve(t, data, domain, "--sync=false")
		requireAll(t, n, answered)
		var events []*nostr.Event
		if round == 0 {
			events = append(events, repository)
		}
		for i := range perRound {
			events = append(events, sign(key(2), now-int64(i), 1621, nostr.Tag{"a", repository.Address()}, nostr.Tag{"subject", fmt.Sprint(round)}))
		}
		killAfter := 1 + rand.IntN(perRound*3/4)
		ok := pipeline(t, n, events, killAfter)
		t.Logf("round %d: killed after %d answers, %d came in all", round, killAfter, len(ok))
		answered = append(answered, ok...)
	}
	requireAll(t, serve(t, data, domain, "--sync=false"), answered)
}

func requireAll(t *testing.T, n *node, events []*nostr.Event) {
	t.Helper()
	if lost, _ := difference(t, n.url, gonostr.Filter{}, events); len(lost) > 0 {
		t.Fatalf("%d of %d events answered OK are gone: %.3q", len(lost), len(events), lost)
	}
}

// pipeline publishes events without waiting for answers, kills the relay after some of them have come, and returns those that were
// answered OK, also by what was still on the way.
func pipeline(t *testing.T, n *node, events []*nostr.Event, killAfter int) []*nostr.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, n.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	sent := ids{}
	for _, e := range events {
		sent[e.ID.String()] = e
	}
	go func() {
		for _, e := range events {
			if c.Write(ctx, websocket.MessageText, nostr.AppendEventMsg(nil, e)) != nil {
				return // killed
			}
		}
	}()
	var ok []*nostr.Event
	for len(ok) < len(events) {
		_, b, err := c.Read(ctx)
		if err != nil {
			break
		}
		m, err := nostr.ParseRelay(b)
		if _, is := m.(nostr.AuthChallenge); is {
			continue
		}
		answer, is := m.(nostr.OK)
		if err != nil || !is || !answer.OK || sent[answer.ID.String()] == nil {
			t.Fatalf("the answer is %s", b)
		}
		ok = append(ok, sent[answer.ID.String()])
		if len(ok) == killAfter {
			n.kill()
		}
	}
	if ctx.Err() != nil {
		t.Fatalf("only %d answers", len(ok))
	}
	return ok
}
