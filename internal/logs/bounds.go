package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// How often one line is written. Lines are alike if they say the same of the same relay; messages are constants.
const (
	burst     = 20              // alike, at once
	refill    = 3 * time.Minute // for one more of them
	mostAlike = 1000            // with one message, at once and in an hour, whatever the relay
	mostKinds = 10_000          // that are told apart; beyond them relays are not
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
	alike  map[kind]*bucket
	texts  map[string]*bucket // by message; as many as there are in the source
	pruned time.Time          // when alike was last looked through
}

type kind struct{ message, relay string }

// bucket holds the lines that may still be written at the time at.
type bucket struct {
	lines float64
	at    time.Time
	left  int // lines left out since the last one that was written
}

func newBounds(now func() time.Time) *bounds {
	return &bounds{now: now, alike: map[kind]*bucket{}, texts: map[string]*bucket{}}
}

// pass says whether a line is written, and then how many like it were not.
func (b *bounds) pass(message, relay string) (ok bool, left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	text := b.texts[message]
	if text == nil {
		text = &bucket{lines: mostAlike, at: now}
		b.texts[message] = text
	}
	one := b.one(kind{message, relay}, now)
	text.fill(now, mostAlike, time.Hour/mostAlike)
	one.fill(now, burst, refill)
	switch {
	case one.lines < 1:
		one.left++
		return false, 0
	case text.lines < 1:
		text.left++
		return false, 0
	}
	one.lines--
	text.lines--
	left = one.left + text.left
	one.left, text.left = 0, 0
	return true, left
}

// one returns the bucket of lines that are alike. The caller holds mu.
func (b *bounds) one(k kind, now time.Time) *bucket {
	if x := b.alike[k]; x != nil {
		return x
	}
	if len(b.alike) >= mostKinds && now.Sub(b.pruned) >= refill {
		b.pruned = now
		for k, x := range b.alike {
			if x.fill(now, burst, refill); x.lines >= burst && x.left == 0 {
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
	x := &bucket{lines: burst, at: now}
	b.alike[k] = x
	return x
}

// fill adds a line for each step of time that has passed, up to most. A clock that was set back adds nothing.
func (x *bucket) fill(now time.Time, most float64, step time.Duration) {
	x.lines = min(most, x.lines+max(0, float64(now.Sub(x.at))/float64(step)))
	x.at = now
}
