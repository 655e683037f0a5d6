package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/bucket"
)

// How often one line is written. Lines are alike if they say the same of the same relay; messages are constants.
const (
	burst     = 20              // alike, at once
	refill    = 3 * time.Minute // for one more of them
	mostAlike = 1000            // with one message, at once and in an hour, whatever the relay
	mostKinds = 10_000          // that are told apart; beyond them relays are not
)

var (
	alike    = bucket.Rate{Tokens: 1, In: refill, Burst: burst}
	sameText = bucket.Rate{Tokens: mostAlike, In: time.Hour, Burst: mostAlike}
)

// relayKey is the attribute that tells relays apart.
const relayKey = "relay"

// bounded leaves lines out that come too often. The next line like them says how many in left_out. What is
// below slog.LevelInfo is always written: who asks for it wants it all.
type bounded struct {
	slog.Handler
	bounds *bounds
	relay  string
}

func (b *bounded) WithAttrs(as []slog.Attr) slog.Handler {
	relay := b.relay
	for _, a := range as {
		if a.Key == relayKey {
			relay = a.Value.String()
		}
	}
	return &bounded{b.Handler.WithAttrs(as), b.bounds, relay}
}

func (b *bounded) WithGroup(name string) slog.Handler {
	return &bounded{b.Handler.WithGroup(name), b.bounds, b.relay}
}

func (b *bounded) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo {
		return b.Handler.Handle(ctx, r)
	}
	relay := b.relay
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == relayKey {
			relay = a.Value.String()
		}
		return true
	})
	ok, left := b.bounds.pass(r.Message, relay)
	if !ok {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", left))
	}
	return b.Handler.Handle(ctx, r)
}

// bounds counts lines.
type bounds struct {
	now func() time.Time

	mu     sync.Mutex // guards the rest
	alike  map[kind]*lines
	texts  map[string]*lines // by message; as many as there are in the source
	pruned time.Time         // when alike was last looked through
}

type kind struct{ message, relay string }

// lines are those that may still be written.
type lines struct {
	bucket.Bucket
	left int // left out since the last one that was written
}

func newBounds(now func() time.Time) *bounds {
	return &bounds{now: now, alike: map[kind]*lines{}, texts: map[string]*lines{}}
}

// pass says whether a line is written, and then how many like it were not.
func (b *bounds) pass(message, relay string) (ok bool, left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	text := b.texts[message]
	if text == nil {
		text = &lines{}
		b.texts[message] = text
	}
	one := b.one(kind{message, relay}, now)
	switch {
	case one.Wait(now, alike) > 0:
		one.left++
		return false, 0
	case !text.Take(now, sameText):
		text.left++
		return false, 0
	}
	one.Charge(now, alike, 1)
	left = one.left + text.left
	one.left, text.left = 0, 0
	return true, left
}

// one returns the lines that are alike. The caller holds mu.
func (b *bounds) one(k kind, now time.Time) *lines {
	if x := b.alike[k]; x != nil {
		return x
	}
	if len(b.alike) >= mostKinds && now.Sub(b.pruned) >= refill {
		b.pruned = now
		for k, x := range b.alike {
			if x.Full(now) && x.left == 0 {
				delete(b.alike, k)
			}
		}
	}
	if len(b.alike) >= mostKinds {
		k.relay = ""
		if x := b.alike[k]; x != nil {
			return x
		}
	}
	x := &lines{}
	b.alike[k] = x
	return x
}
