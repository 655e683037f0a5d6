package moderation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestReadReport: what a report is about, and why.
func TestReadReport(t *testing.T) {
	var alice nostr.PubKey
	alice[0] = 1
	var id nostr.ID
	id[0] = 2
	a := nip34.Address{Kind: nip34.KindRepository, PubKey: alice, D: "d"}
	e, at, p := id.String(), a.String(), alice.String()
	state := strings.Replace(at, "30617", "30618", 1)
	for _, tt := range []struct {
		name string
		tags nostr.Tags
		want moderation.Subject
		kind string
	}{
		{"an author", nostr.Tags{{"p", p, "spam"}}, moderation.Of(alice), "spam"},
		{"an author, no reason", nostr.Tags{{"p", p}}, moderation.Of(alice), "other"},
		{"a reason of their own", nostr.Tags{{"p", p, "rude"}}, moderation.Of(alice), "other"},
		{"an event", nostr.Tags{{"p", p}, {"e", e, "malware"}}, moderation.One(id), "malware"},
		{"an event, the reason beside its author", nostr.Tags{{"p", p, "spam"}, {"e", e}}, moderation.One(id), "spam"},
		{"an event, no reason", nostr.Tags{{"p", p}, {"e", e}}, moderation.One(id), "other"},
		{"a repository", nostr.Tags{{"a", at, "illegal"}, {"p", p}}, moderation.At(a), "illegal"},
		{"a repository's state", nostr.Tags{{"a", state, "illegal"}, {"p", p}}, moderation.At(a), "illegal"},
		{"an event in a repository", nostr.Tags{{"a", at}, {"e", e, "spam"}}, moderation.One(id), "spam"},
		{"a repository by an event", nostr.Tags{{"e", e}, {"a", at, "spam"}}, moderation.At(a), "spam"},
	} {
		r, ok := moderation.ReadReport(&nostr.Event{Kind: nostr.KindReport, Tags: tt.tags, Content: strings.Repeat("é", 1000), CreatedAt: 7})
		if !ok || r.Subject != tt.want || r.Kind != tt.kind || len(r.Text) > 300 || len(r.Text) < 290 || r.At != 7 {
			t.Errorf("%s: %v, %s, %v", tt.name, r.Subject, r.Kind, ok)
		}
	}
	for _, tags := range []nostr.Tags{nil, {{}}, {{"e", "x"}}, {{"p"}}, {{"a", "30023:" + p + ":d"}}} {
		if r, ok := moderation.ReadReport(&nostr.Event{Tags: tags}); ok {
			t.Errorf("%v is about %v", tags, r.Subject)
		}
	}
}

// TestSurplus: the oldest leave, those of the author who has too many and then those of all.
func TestSurplus(t *testing.T) {
	report := func(by, at int) moderation.Report {
		r := moderation.Report{At: int64(at)}
		r.By[0], r.By[1] = byte(by), byte(by>>8)
		r.ID[0], r.ID[1], r.ID[2] = byte(at), byte(at>>8), byte(by)
		return r
	}
	var list []moderation.Report
	for i := range moderation.MaxReportsByAuthor + 2 {
		list = append(list, report(1, 1000-i))
	}
	old := []nostr.ID{list[len(list)-2].ID, list[len(list)-1].ID}
	if got := moderation.Surplus(list); !slices.Equal(got, old) {
		t.Errorf("%v, want %v", got, old)
	}
	list = nil
	for i := range moderation.MaxReports + 1 {
		list = append(list, report(i, i+1))
	}
	if got := moderation.Surplus(list); !slices.Equal(got, []nostr.ID{list[0].ID}) {
		t.Errorf("%v, want %v", got, list[0].ID)
	}
	if got := moderation.Surplus(list[1:]); got != nil {
		t.Errorf("%v leave though they fit", got)
	}
}
