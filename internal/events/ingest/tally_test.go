package ingest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

func listing(relays ...string) *nip34.Announcement { return &nip34.Announcement{Relays: relays} }

func TestNothingWasSeen(t *testing.T) {
	var counts tally
	if got := counts.told(); got.Announcements != 0 || got.From != 0 || got.Names == nil || len(got.Names) != 0 {
		t.Errorf("%+v", got)
	}
}

// The three names that most announcements list are told, each counted once per announcement however it is spelled.
func TestTheMostFrequentNames(t *testing.T) {
	var counts tally
	for i := range 10 {
		counts.saw(listing("wss://a.example", "WSS://A.example:443/", "ws://a.example"), "one")
		if i < 7 {
			counts.saw(listing("wss://b.example:7334"), "two")
		}
		if i < 5 {
			counts.saw(listing("wss://c.example/base", "not a url at all\n"), "")
		}
		if i < 4 {
			counts.saw(listing("wss://d.example"), "one")
		}
	}
	counts.saw(listing(), "three")
	got := counts.told()
	want := []status.NameSeen{{Name: "a.example", Announcements: 10}, {Name: "b.example:7334", Announcements: 7}, {Name: "c.example/base", Announcements: 5}}
	if got.Announcements != 27 || got.From != 3 || !slices.Equal(got.Names, want) {
		t.Errorf("%+v", got)
	}
}

// One name that stands out is found among a million that strangers make up, in whatever order they come.
func TestNamesThatAreMadeUp(t *testing.T) {
	var counts tally
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		if r.IntN(10) == 0 {
			counts.saw(listing("wss://real.example"), "one")
		}
		counts.saw(listing(fmt.Sprintf("wss://%d.example", i)), fmt.Sprint(i))
	}
	got := counts.told()
	if len(got.Names) != 3 || got.Names[0].Name != "real.example" || got.From != 1000 {
		t.Errorf("%+v", got)
	}
}

// Of one announcement ten names count, and a hundred values are looked at.
func TestAnAnnouncementWithManyRelays(t *testing.T) {
	many := make([]string, 0, 200)
	for i := range 200 {
		many = append(many, fmt.Sprintf("wss://%02d.example", i))
	}
	var counts tally
	counts.saw(listing(many...), "")
	for range 2 {
		counts.saw(listing("wss://09.example"), "")
		counts.saw(listing("wss://10.example"), "")
	}
	want := []status.NameSeen{{Name: "09.example", Announcements: 3}, {Name: "10.example", Announcements: 2}, {Name: "00.example", Announcements: 1}}
	if got := counts.told(); !slices.Equal(got.Names, want) {
		t.Errorf("%+v", got)
	}
	bad := make([]string, 150)
	counts = tally{}
	counts.saw(listing(append(bad, "wss://a.example")...), "")
	if got := counts.told(); len(got.Names) != 0 {
		t.Errorf("%+v", got)
	}
}

// A name beyond the bound takes the place of the least frequent and its count, so that one that becomes frequent late is found.
func TestANameThatComesLate(t *testing.T) {
	var counts tally
	for i := range 64 {
		for range 5 {
			counts.saw(listing(fmt.Sprintf("wss://%02d.example", i)), "")
		}
	}
	counts.saw(listing("wss://late.example"), "")
	if got := counts.told().Names[0]; got != (status.NameSeen{Name: "late.example", Announcements: 6}) {
		t.Errorf("%+v", got)
	}
}
