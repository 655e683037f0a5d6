package main

import (
	"context"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// endlessFrames has graspd read frames that say nothing.
var endlessFrames = attack{
	name:  "relay-frames",
	flags: syncing,
	does:  "6 relays of as many owners send, as fast as they are read: pings, pongs, empty fragments, empty messages, and fragments of a byte",
	bound: "each frame counts, whatever its kind; beyond what a relay may send graspd closes the connection, and tries it again later and later",
	prepare: func(ctx context.Context, s *scene) error {
		if err := newFakeRelays(s, 6); err != nil {
			return err
		}
		var events []*nostr.Event
		for i, f := range s.relays {
			events = append(events, announce(fmt.Sprint("framer", i), fmt.Sprint("frames", i), "", f.url))
		}
		if _, err := publishAll(ctx, s, 6, patience, events); err != nil {
			return err
		}
		s.note = fmt.Sprintf("graspd followed %d of %d relays", followed(ctx, s), len(s.relays))
		return nil
	},
	strike: func(ctx context.Context, s *scene) error {
		return harmRaw(ctx, s, func(number int) (first, then []byte) {
			switch number % 5 {
			case 0:
				return nil, []byte{0x89, 0}
			case 1:
				return nil, []byte{0x8a, 0}
			case 2:
				return []byte{0x01, 0}, []byte{0x00, 0}
			case 3:
				return nil, []byte{0x81, 0}
			}
			return []byte{0x01, 1, '['}, []byte{0x00, 1, ' '}
		})
	},
}

// harmRaw writes frames that no library makes to graspd's connections, until ctx ends.
func harmRaw(ctx context.Context, s *scene, frames func(number int) (first, then []byte)) error {
	done := make(chan struct{})
	for i, f := range s.relays {
		go func() {
			defer func() { done <- struct{}{} }()
			first, then := frames(i)
			var many []byte
			for range 8192 {
				many = append(many, then...)
			}
			for ctx.Err() == nil {
				ws, _ := f.connection()
				c := f.raw.Load()
				if ws != nil && c != nil {
					s.got.opened.Add(1)
					_, err := (*c).Write(first)
					for err == nil && ctx.Err() == nil {
						if err = (*c).SetWriteDeadline(time.Now().Add(time.Second)); err == nil {
							_, err = (*c).Write(many)
							s.got.messages.Add(8192)
							s.got.sent.Add(int64(len(many)))
						}
					}
					if ctx.Err() == nil {
						s.got.cut.Add(1)
					}
					f.forget(ws)
				}
				_ = sleep(ctx, 100*time.Millisecond)
			}
		}()
	}
	for range s.relays {
		<-done
	}
	return nil
}
