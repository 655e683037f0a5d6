package moderate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/moderate"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
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
		want moderate.Subject
		kind string
	}{
		{"an author", nostr.Tags{{"p", p, "spam"}}, moderate.Of(alice), "spam"},
		{"an author, no reason", nostr.Tags{{"p", p}}, moderate.Of(alice), "other"},
		{"a reason of their own", nostr.Tags{{"p", p, "rude"}}, moderate.Of(alice), "other"},
		{"an event", nostr.Tags{{"p", p}, {"e", e, "malware"}}, moderate.One(id), "malware"},
		{"an event, the reason beside its author", nostr.Tags{{"p", p, "spam"}, {"e", e}}, moderate.One(id), "spam"},
		{"an event, no reason", nostr.Tags{{"p", p}, {"e", e}}, moderate.One(id), "other"},
		{"a repository", nostr.Tags{{"a", at, "illegal"}, {"p", p}}, moderate.At(a), "illegal"},
		{"a repository's state", nostr.Tags{{"a", state, "illegal"}, {"p", p}}, moderate.At(a), "illegal"},
		{"an event in a repository", nostr.Tags{{"a", at}, {"e", e, "spam"}}, moderate.One(id), "spam"},
		{"a repository by an event", nostr.Tags{{"e", e}, {"a", at, "spam"}}, moderate.At(a), "spam"},
	} {
		r, ok := moderate.ReadReport(&nostr.Event{Kind: nostr.KindReport, Tags: tt.tags, Content: strings.Repeat("é", 1000), CreatedAt: 7})
		if !ok || r.Subject != tt.want || r.Kind != tt.kind || len(r.Text) > 300 || len(r.Text) < 290 || r.At != 7 {
			t.Errorf("%s: %v, %s, %v", tt.name, r.Subject, r.Kind, ok)
		}
	}
	for _, tags := range []nostr.Tags{nil, {{}}, {{"e", "x"}}, {{"p"}}, {{"a", "30023:" + p + ":d"}}} {
		if r, ok := moderate.ReadReport(&nostr.Event{Tags: tags}); ok {
			t.Errorf("%v is about %v", tags, r.Subject)
		}
	}
}

// TestSurplus: the oldest leave, those of the author who has too many and then those of all.
func TestSurplus(t *testing.T) {
	report := func(by, at int) moderate.Report {
		r := moderate.Report{At: int64(at)}
		r.By[0], r.By[1] = byte(by), byte(by>>8)
		r.ID[0], r.ID[1], r.ID[2] = byte(at), byte(at>>8), byte(by)
		return r
	}
	var list []moderate.Report
	for i := range moderate.MaxReportsByAuthor + 2 {
		list = append(list, report(1, 1000-i))
	}
	old := []nostr.ID{list[len(list)-2].ID, list[len(list)-1].ID}
	if got := moderate.Surplus(list); !slices.Equal(got, old) {
		t.Errorf("%v, want %v", got, old)
	}
	list = nil
	for i := range moderate.MaxReports + 1 {
		list = append(list, report(i, i+1))
	}
	if got := moderate.Surplus(list); !slices.Equal(got, []nostr.ID{list[0].ID}) {
		t.Errorf("%v, want %v", got, list[0].ID)
	}
	if got := moderate.Surplus(list[1:]); got != nil {
		t.Errorf("%v leave though they fit", got)
	}
}
