package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

const unfinished = 4<<20 - 1024 // bytes of a message that graspd would read if it were the last of it

// relayMessages has messages pending that never end.
var relayMessages = attack{
	name:    "relay-messages",
	does:    "200 relays of as many owners begin a message of 4 MiB and never finish it",
	bound:   "64 MiB for all messages being read from relays; 20 s for 100 KiB of one; graspd closes the connection of who keeps others waiting for 10 s",
	flags:   syncing,
	prepare: manyRelays,
	strike:  neverFinish,
}

func manyRelays(ctx context.Context, s *scene) error {
	if err := newFakeRelays(s, 200); err != nil {
		return err
	}
	var events []*nostr.Event
	for i, f := range s.relays {
		events = append(events, announce(fmt.Sprint("owner", i), fmt.Sprint("owned", i), "", f.url))
	}
	if _, err := publishAll(ctx, s, 20, patience, events); err != nil {
		return err
	}
	s.note = fmt.Sprintf("graspd followed %d of %d relays", followed(ctx, s), len(s.relays))
	return nil
}

func neverFinish(ctx context.Context, s *scene) error {
	// No other messages may be as long.
	beginning := append([]byte(`["NEG-MSG","`), bytes.Repeat([]byte("x"), unfinished)...)
	return harm(ctx, s, func(ctx context.Context, ws *websocket.Conn, _ string, _ int) error {
		w, err := ws.Writer(ctx, websocket.MessageText)
		if err != nil {
			return err
		}
		const piece = 64 << 10
		for rest := beginning; len(rest) > 0; {
			n, err := w.Write(rest[:min(piece, len(rest))])
			s.got.sent.Add(int64(n))
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
		s.got.messages.Add(1)
		for {
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
			if _, err := w.Write([]byte("x")); err != nil { // it has gone
				return err
			}
		}
	})
}
