package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// World makes events that have much to do with each other, and filters that find them.
type World struct {
	r      *rand.Rand
	events []*nostr.Event
}

// NewWorld makes the world of a seed.
func NewWorld(seed uint64) *World { return &World{r: rand.New(rand.NewPCG(seed, 1))} }

var kinds = []nostr.Kind{
	1, 7, 1111, 1617, 1618, 1619, 1621, 1621, 10317, 30617, 30617, 30617, 30618, 0, 30019, nostr.KindGiftWrap, nostr.KindGiftWrap,
	nostr.KindDeletion, nostr.KindDeletion, nostr.KindDeletion, nostr.KindVanish,
}

// unusual are those of them whose events have rows by time alone and by author alone.
var unusual = []nostr.Kind{30019, nostr.KindGiftWrap, nostr.KindVanish}

func (w *World) d() string { return []string{"", "x", "y:z", "é"}[w.r.IntN(4)] }

// Row is the name of a row and a value for it, nil now and then.
func (w *World) Row() (name string, value []byte) {
	name = []string{"r", "r/x", "r/x/y", "r/y", "s", "s\x00", "\xff", "\xff\xff"}[w.r.IntN(8)]
	if w.r.IntN(4) > 0 {
		value = bytes.Repeat([]byte{byte(w.r.IntN(256))}, w.r.IntN(3)*w.r.IntN(300))
	}
	return name, value
}

// source is who may bring what waits.
func (w *World) source() string {
	return []string{"", "client 1.2.3.4", "wss://a", "wss://b"}[w.r.IntN(4)]
}

func (w *World) author() byte { return byte(w.r.IntN(5)) }

func (w *World) kind() nostr.Kind { return kinds[w.r.IntN(len(kinds))] }

// Event is an event of before, or a new one.
func (w *World) Event(now int64) *nostr.Event {
	if len(w.events) > 0 && w.r.IntN(3) == 0 {
		return w.events[w.r.IntN(len(w.events))]
	}
	e := Event(w.author(), now-int64(w.r.IntN(30)), w.kind(), fmt.Sprint(w.r.IntN(1000)))
	draft := e.Clone()
	for range w.r.IntN(6) {
		t := w.tag(now)
		draft.Tags = append(draft.Tags, t)
		if len(t[0]) == 1 && w.r.IntN(3) == 0 { // as comments have it (NIP-22)
			other := slices.Clone(t)
			other[0] = string(t[0][0] ^ ('a' - 'A'))
			draft.Tags = append(draft.Tags, other)
		}
	}
	if e.Kind.IsAddressable() && w.r.IntN(4) > 0 {
		draft.Tags = append(draft.Tags, nostr.Tag{"d", w.d()})
	}
	if w.r.IntN(6) == 0 {
		draft.Tags = append(draft.Tags, nostr.Tag{"expiration", fmt.Sprint(now - 3 + int64(w.r.IntN(40)))})
	}
	draft.ID = draft.ComputeID()
	w.events = append(w.events, draft)
	return draft
}

// value is what a tag of that name may have.
func (w *World) value(name byte) string {
	switch name {
	case 'e', 'E':
		return w.id().String()
	case 'a', 'A':
		return w.address()
	case 'q':
		if w.r.IntN(2) == 0 {
			return w.address()
		}
		return w.id().String()
	case 'p', 'P':
		return Author(w.author()).String()
	}
	return w.d()
}

func (w *World) id() nostr.ID {
	if len(w.events) == 0 {
		return nostr.ID{1}
	}
	return w.events[w.r.IntN(len(w.events))].ID
}

func (w *World) address() string {
	kind := []nostr.Kind{30617, 30618, 10317, 30019, 1}[w.r.IntN(5)]
	if kind == 10317 {
		return Address(w.author(), kind, "")
	}
	return Address(w.author(), kind, w.d())
}

func (w *World) name() byte { return letters[w.r.IntN(len(letters))] }

const letters = "aaAqQeeeEdDtpPz"

func (w *World) tag(now int64) nostr.Tag {
	name := w.name()
	t := nostr.Tag{string(name), w.value(name)}
	switch w.r.IntN(12) {
	case 0:
		return t[:1]
	case 1:
		return append(t, "more", fmt.Sprint(now))
	case 2:
		return nostr.Tag{"subject", t[1]}
	}
	return t
}

// Filter asks for what may well be there.
func (w *World) Filter(now int64) nostr.Filter {
	var f nostr.Filter
	if w.r.IntN(6) == 0 {
		f.IDs = some(w, 6, w.id)
	}
	if w.r.IntN(3) == 0 {
		f.Authors = some(w, 3, func() nostr.PubKey { return Author(w.author()) })
	}
	if w.r.IntN(3) == 0 {
		f.Kinds = some(w, 4, w.kind)
	}
	for range w.r.IntN(3) {
		name := w.name()
		if !slices.ContainsFunc(f.Tags, func(t nostr.TagFilter) bool { return t.Name == name }) {
			f.Tags = append(f.Tags, nostr.TagFilter{Name: name, Values: some(w, 5, func() string { return w.value(name) })})
		}
	}
	if w.r.IntN(4) == 0 {
		f.Since = ptr(now - int64(w.r.IntN(40)))
	}
	if w.r.IntN(4) == 0 {
		f.Until = ptr(now - int64(w.r.IntN(40)))
	}
	if w.r.IntN(3) == 0 {
		f.Limit = ptr(w.r.IntN(12))
	}
	return f
}

func some[T any](w *World, most int, one func() T) []T {
	s := []T{}
	for range w.r.IntN(most + 1) {
		s = append(s, one())
	}
	return s
}
