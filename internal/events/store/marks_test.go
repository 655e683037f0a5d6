package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestMarks(t *testing.T) {
	now := int64(5000)
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(now, 0) }})
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	has := make(map[nostr.ID][]string)
	shown := make(map[nostr.ID]bool)
	for i := range 400 {
		var values []string
		tags := nostr.Tags{{"d", fmt.Sprint(i)}}
		for _, v := range [][]string{{"one"}, {"two"}, {"one", "three"}, {"four"}, nil}[i%5] {
			tags, values = append(tags, nostr.Tag{"a", v}), append(values, v)
		}
		if i%7 == 0 {
			tags = append(tags, nostr.Tag{"expiration", fmt.Sprint(6000)})
		}
		e := event(byte(i%3), 1000+int64(i/4), []nostr.Kind{1621, 1111}[i%2], tags...)
		has[e.ID], shown[e.ID] = values, i%11 != 0 && i%7 != 0
		if i%11 == 0 {
			err = b.Remember(e, policy.Refuse)
		} else {
			_, err = b.Add(e, store.Live)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := event(1, 1000, 1111, nostr.Tag{"e", "only refused ones name this"})
	if err := b.Remember(refused, policy.Refuse); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	now = 7000
	v := s.View()
	defer v.Close()
	list := nostr.TagFilter{Name: 'a', Values: []string{"none", "three", "two", "one", "two"}}
	for _, f := range []nostr.Filter{
		{Tags: []nostr.TagFilter{list}}, {Tags: []nostr.TagFilter{list}, Kinds: []nostr.Kind{1111}},
		{Tags: []nostr.TagFilter{list}, Since: new(int64(1020)), Until: new(int64(1050)), Limit: new(30)},
	} {
		var pairs []store.Pair
		for p, err := range v.Pairs(t.Context(), f, true) {
			if err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, p)
		}
		i := 0
		for m, err := range v.Marks(t.Context(), f) {
			switch {
			case err != nil:
				t.Fatal(err)
			case i >= len(pairs) || m.Pair != pairs[i]:
				t.Fatalf("%s: mark %d is another than pair %d", f.AppendJSON(nil), i, i)
			case m.Shown != shown[m.ID]:
				t.Errorf("%s: shown %v", f.AppendJSON(nil), m.Shown)
			case m.Value < 0 || m.Value > 3 || !slices.Contains(has[m.ID], list.Values[m.Value]):
				t.Fatalf("%s: an event of %v under value %d", f.AppendJSON(nil), has[m.ID], m.Value)
			}
			i++
		}
		if i != len(pairs) || i < 20 {
			t.Errorf("%s: %d marks, %d pairs", f.AppendJSON(nil), i, len(pairs))
		}
	}
	for _, f := range []nostr.Filter{{Kinds: []nostr.Kind{1621}}, {Tags: []nostr.TagFilter{list, {Name: 'd', Values: []string{"12"}}}}} {
		for m, err := range v.Marks(t.Context(), f) {
			if err != nil || m.Value != store.NoValue {
				t.Fatalf("%s: value %d, %v", f.AppendJSON(nil), m.Value, err)
			}
		}
	}
	var marks []store.Mark
	for m, err := range v.Marks(t.Context(), nostr.Filter{Tags: []nostr.TagFilter{{Name: 'e', Values: []string{"only refused ones name this"}}}}) {
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, m)
	}
	if len(marks) != 1 || marks[0].ID != refused.ID || marks[0].Shown {
		t.Errorf("of what is remembered only: %v", marks)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, list := range []nostr.TagFilter{list, {Name: 'e', Values: []string{"nobody names this"}}} {
		last := error(nil)
		for _, err := range v.Marks(ctx, nostr.Filter{Tags: []nostr.TagFilter{list}}) {
			last = err
		}
		if last == nil {
			t.Errorf("%c: no error of a context that has ended", list.Name)
		}
	}
}
