package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	hugeTags   = 230_000
	hugeEvents = 16
)

// relayEvents brings events that no client may.
var relayEvents = attack{
	name:    "relay-events",
	does:    "ten relays of one owner send events of 3.9 MB with 230,000 indexed tags",
	bound:   "an event has 128 KiB and 2,000 tags, whoever brings it; graspd drops a message above 512 KiB that answers no reconciliation",
	flags:   syncing,
	prepare: tenRelays,
	strike:  sendHuge,
}

func tenRelays(ctx context.Context, s *scene) error {
	if err := newFakeRelays(s, 10); err != nil {
		return err
	}
	var urls []string
	for _, f := range s.relays {
		urls = append(urls, f.url)
	}
	if _, err := publishAll(ctx, s, 1, patience, []*nostr.Event{announce("owner", "owned", "", urls...)}); err != nil {
		return err
	}
	s.note = fmt.Sprintf("graspd followed %d of %d relays", followed(ctx, s), len(s.relays))
	return nil
}

// sendHuge has each relay send the same events, each beginning with another one.
func sendHuge(ctx context.Context, s *scene) error {
	var events [hugeEvents][]byte
	for i := range events {
		events[i] = huge(i).AppendJSON(nil)
	}
	return harm(ctx, s, func(ctx context.Context, ws *websocket.Conn, live string, number int) error {
		for i := number; ; i++ {
			frame := nostr.AppendRelayEvent(nil, live, events[i%hugeEvents])
			if err := ws.Write(ctx, websocket.MessageText, frame); err != nil {
				return err
			}
			s.got.messages.Add(1)
			s.got.sent.Add(int64(len(frame)))
			if err := sleep(ctx, 200*time.Millisecond); err != nil {
				return err
			}
		}
	})
}

// huge is an issue in the repository of the ten relays.
func huge(n int) *nostr.Event {
	tags := []nostr.Tag{{"a", fmt.Sprintf("30617:%s:owned", key("owner").PubKey())}}
	for i := range hugeTags {
		tags = append(tags, nostr.Tag{"t", fmt.Sprintf("%02d%06d", n, i)})
	}
	return sign("owner", 1621, "huge ", tags...)
}
