package store_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func event(author byte, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: nostr.PubKey{author}, CreatedAt: at, Kind: kind, Tags: tags, Content: "c"}
	e.ID = e.ComputeID()
	return e
}

func TestSmoke(t *testing.T) {
	fs := vfs.NewMem()
	s, err := store.Open(store.Options{Dir: "data", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var last *nostr.Event
	for i := range 100 {
		last = event(1, 1000+int64(i), 1621, nostr.Tag{"a", "30617:x:y"}, nostr.Tag{"t", fmt.Sprint(i % 3)})
		if out, err := b.Add(last, store.Live); err != nil || out != policy.Accept {
			t.Fatal(out, err)
		}
	}
	ref := event(2, 5000, 5, nostr.Tag{"e", last.ID.String()})
	if err := b.Remember(ref, policy.Unrelated); err != nil {
		t.Fatal(err)
	}
	if s.Head() != 0 {
		t.Fatal("visible before commit")
	}
	head, err := b.Commit()
	if err != nil || head != 100 {
		t.Fatal(head, err)
	}
	entries, _, err := s.Since(90, 100)
	if err != nil || len(entries) != 10 {
		t.Fatal(len(entries), err)
	}
	v := s.View()
	limit := 7
	n := 0
	for row, err := range v.Query(t.Context(), nostr.Filter{Tags: []nostr.TagFilter{{Name: 't', Values: []string{"0", "1"}}}, Limit: &limit}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := row.Event(); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 7 {
		t.Fatal(n)
	}
	n = 0
	for _, err := range v.Pairs(t.Context(), nostr.Filter{}, true) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 101 {
		t.Fatal(n)
	}
	v.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
