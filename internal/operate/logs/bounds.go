package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
)

// How often one line is written. Lines are alike if they have the same message and the same relay; messages are constants.
const (
	burst     = 20              // lines that are alike, at once
	refill    = 3 * time.Minute // until one more of them may be written
	mostAlike = 1000            // lines with one message, at once and in an hour, whatever the relay
	mostKinds = 10_000          // kinds of lines that are told apart; beyond these, relays are not told apart
)

var (
	alike    = bucket.Rate{Tokens: 1, In: refill, Burst: burst}
	sameText = bucket.Rate{Tokens: mostAlike, In: time.Hour, Burst: mostAlike}
)

// relayKey is the attribute that tells relays apart.
const relayKey = "relay"

// bounded leaves out lines that come too often. The next line like them says in left_out how many. It always writes lines below
// slog.LevelInfo: whoever asks for these wants all.
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

// bounds counts lines, and decides which are written.
type bounds struct {
	now func() time.Time

	mu     sync.Mutex // guards the fields below
	alike  map[kind]*lines
	texts  map[string]*lines // by message; the source has only so many
	pruned time.Time         // when one last removed unused entries of alike
}

type kind struct{ message, relay string }

// lines counts the lines of a kind that may still be written.
type lines struct {
	bucket.Bucket
	left int // lines left out since the last one that was written
}

func newBounds(now func() time.Time) *bounds {
	return &bounds{now: now, alike: map[kind]*lines{}, texts: map[string]*lines{}}
}

// pass reports whether a line is to be written, and how many like it were left out before.
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

// one returns the counter of a kind of lines. The caller holds mu.
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
