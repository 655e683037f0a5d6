package ingest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

func listing(relays ...string) *nip34.Announcement { return &nip34.Announcement{Relays: relays} }

func TestNothingWasSeen(t *testing.T) {
	var counts unlisted
	if got := counts.told(); got.Announcements != 0 || got.From != 0 || got.Names == nil || len(got.Names) != 0 {
		t.Errorf("%+v", got)
	}
}

// The three names that most announcements list are told, each counted once per announcement however it is spelled.
func TestTheMostFrequentNames(t *testing.T) {
	var counts unlisted
	for i := range 10 {
		counts.count(listing("wss://a.example", "WSS://A.example:443/", "ws://a.example"), "one")
		if i < 7 {
			counts.count(listing("wss://b.example:7334"), "two")
		}
		if i < 5 {
			counts.count(listing("wss://c.example/base", "not a url at all\n"), "")
		}
		if i < 4 {
			counts.count(listing("wss://d.example"), "one")
		}
	}
	counts.count(listing(), "three")
	got := counts.told()
	want := []status.NameSeen{{Name: "a.example", Announcements: 10}, {Name: "b.example:7334", Announcements: 7}, {Name: "c.example/base", Announcements: 5}}
	if got.Announcements != 27 || got.From != 3 || !slices.Equal(got.Names, want) {
		t.Errorf("%+v", got)
	}
}

// Names and relays beyond the bounds are not counted; those counted before them still are.
func TestNamesThatAreMadeUp(t *testing.T) {
	var counts unlisted
	counts.count(listing("wss://real.example"), "one")
	for i := range 20_000 {
		counts.count(listing(fmt.Sprintf("wss://%d.example", i)), fmt.Sprint(i))
	}
	for range 2 {
		counts.count(listing("wss://real.example", "wss://62.example"), "one")
		counts.count(listing("wss://63.example"), "one")
	}
	got := counts.told()
	want := []status.NameSeen{{Name: "62.example", Announcements: 3}, {Name: "real.example", Announcements: 3}, {Name: "0.example", Announcements: 1}}
	if !slices.Equal(got.Names, want) || got.From != 1000 || got.Announcements != 20_005 {
		t.Errorf("%+v", got)
	}
}

// Of one announcement ten values are looked at.
func TestAnAnnouncementWithManyRelays(t *testing.T) {
	many := make([]string, 0, 200)
	for i := range 200 {
		many = append(many, fmt.Sprintf("wss://%02d.example", i))
	}
	var counts unlisted
	counts.count(listing(many...), "")
	for range 2 {
		counts.count(listing("wss://09.example"), "")
		counts.count(listing("wss://10.example"), "")
	}
	want := []status.NameSeen{{Name: "09.example", Announcements: 3}, {Name: "10.example", Announcements: 2}, {Name: "00.example", Announcements: 1}}
	if got := counts.told(); !slices.Equal(got.Names, want) {
		t.Errorf("%+v", got)
	}
}
