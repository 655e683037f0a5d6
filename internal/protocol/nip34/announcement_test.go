package nip34_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestParseAnnouncement(t *testing.T) {
	bob, carol := key("bob").String(), key("carol").String()
	base := func(change func(*nip34.Announcement)) nip34.Announcement {
		a := nip34.Announcement{Address: repo("alice", "d"), ID: id("event"), CreatedAt: 1000}
		change(&a)
		return a
	}
	for _, tc := range []struct {
		name string
		tags nostr.Tags
		want nip34.Announcement
	}{
		{"only d", nostr.Tags{tag("d", "d")}, base(func(*nip34.Announcement) {})},
		{"no d", nil, base(func(a *nip34.Announcement) { a.Address.D = "" })},
		{"2,000 characters", nostr.Tags{tag("d", strings.Repeat("🦀", 2000))},
			base(func(a *nip34.Announcement) { a.Address.D = strings.Repeat("🦀", 2000) })},
		{"texts", nostr.Tags{tag("d", "d"), tag("name", "n"), tag("name", "other"), tag("description"), tag("description", "x")},
			base(func(a *nip34.Announcement) { a.Name, a.Description = "n", "x" })},
		{"one tag with many values", nostr.Tags{tag("d", "d"), tag("relays", "a", "b"), tag("clone", "c", "", "d"), tag("web", "e")},
			base(func(a *nip34.Announcement) {
				a.Relays, a.Clone, a.Web = []string{"a", "b"}, []string{"c", "d"}, []string{"e"}
			})},
		{"one tag per value", nostr.Tags{tag("d", "d"), tag("relays", "a"), tag("clone", "c"), tag("relays", "b", "c"), tag("relays")},
			base(func(a *nip34.Announcement) { a.Relays, a.Clone = []string{"a", "b", "c"}, []string{"c"} })},
		{"r tags are no relays", nostr.Tags{tag("d", "d"), tag("r", "wss://a"), tag("relay", "wss://b")},
			base(func(*nip34.Announcement) {})},
		{"euc", nostr.Tags{tag("d", "d"), tag("r", "x"), tag("r", oid, "euc"), tag("r", oid2, "euc")},
			base(func(a *nip34.Announcement) { a.EUC = oid })},
		{"maintainers", nostr.Tags{tag("d", "d"), tag("maintainers", bob, "x", strings.ToUpper(carol)), tag("maintainers", carol, bob)},
			base(func(a *nip34.Announcement) { a.Maintainers = []nostr.PubKey{key("bob"), key("carol")} })},
		{"u is a fork", nostr.Tags{tag("d", "d"), tag("u", "30617:x:d", "wss://hint"), tag("u", "https://x")},
			base(func(a *nip34.Announcement) { a.Fork, a.Upstream = true, []string{"30617:x:d", "https://x"} })},
		{"u without a value is none", nostr.Tags{tag("d", "d"), tag("u"), tag("u", "")}, base(func(*nip34.Announcement) {})},
		{"personal-fork", nostr.Tags{tag("d", "d"), tag("t", "git"), tag("t", "personal-fork")},
			base(func(a *nip34.Announcement) { a.Fork = true })},
		{"other hashtags", nostr.Tags{tag("d", "d"), tag("t", "fork")}, base(func(*nip34.Announcement) {})},
		{"private", nostr.Tags{tag("d", "d"), tag("private", "true")}, base(func(a *nip34.Announcement) { a.Private = true })},
		{"not private", nostr.Tags{tag("d", "d"), tag("private", "false"), tag("private")}, base(func(*nip34.Announcement) {})},
		{"empty tags", nostr.Tags{{}, tag("d", "d"), {}, tag("")}, base(func(*nip34.Announcement) {})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := nip34.ParseAnnouncement(event(nip34.KindRepository, tc.tags...))
			if err != nil || !reflect.DeepEqual(*got, tc.want) {
				t.Fatalf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func TestParseAnnouncementRefuses(t *testing.T) {
	_, err := nip34.ParseAnnouncement(event(nip34.KindState, tag("d", "d")))
	wantErr(t, err, nip34.ErrKind)
	_, err = nip34.ParseAnnouncement(event(nip34.KindRepository, tag("d", strings.Repeat("x", nip34.MaxIdentifier+1))))
	wantErr(t, err, nip34.ErrIdentifier)
}

func TestRoles(t *testing.T) {
	bob := key("bob").String()
	for _, tc := range []struct {
		name                     string
		tag                      nostr.Tag
		valid, active, maintains bool
	}{
		{"lead without times", tag("M", bob), true, true, true},
		{"co-maintainer without times", tag("m", bob), true, true, true},
		{"moderator", tag("o", bob), true, true, false},
		{"begun", tag("m", bob, "100"), true, true, true},
		{"ended", tag("m", bob, "100", "200"), true, false, false},
		{"begun again", tag("m", bob, "100", "200", "300"), true, true, true},
		{"all at once", tag("m", bob, "100", "100", "100"), true, true, true},
		{"defer as the last end", tag("m", bob, "100", "defer"), true, false, false},
		{"defer as a start", tag("m", bob, "defer"), false, false, false},
		{"defer as an earlier end", tag("m", bob, "100", "defer", "300"), false, false, false},
		{"no number", tag("m", bob, "soon"), false, false, false},
		{"empty", tag("m", bob, ""), false, false, false},
		{"negative", tag("m", bob, "-5"), false, false, false},
		{"backwards", tag("m", bob, "200", "100", "300"), false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := nip34.ParseAnnouncement(event(nip34.KindRepository, tc.tag))
			if err != nil || len(a.Roles) != 1 {
				t.Fatalf("got %+v, %v", a, err)
			}
			want := nip34.Role{Letter: tc.tag[0][0], PubKey: key("bob"), Valid: tc.valid, Active: tc.active}
			if r := a.Roles[0]; r != want || r.Maintains() != tc.maintains {
				t.Errorf("got %+v, maintains %v", r, r.Maintains())
			}
		})
	}
	for _, none := range []nostr.Tag{tag("m"), tag("m", "bob"), tag("x", bob), tag("Mm", bob)} {
		if a, err := nip34.ParseAnnouncement(event(nip34.KindRepository, none)); err != nil || len(a.Roles) != 0 {
			t.Errorf("%v: %+v, %v", none, a, err)
		}
	}
}

func TestAnnouncementListsAreBounded(t *testing.T) {
	many := func(name string) nostr.Tag {
		values := nostr.Tag{name}
		for i := range 10_000 {
			values = append(values, key(fmt.Sprint(i)).String())
		}
		return values
	}
	e := event(nip34.KindRepository, many("relays"), many("relays"), many("clone"), many("web"), many("maintainers"))
	for i := range 1500 {
		e.Tags = append(e.Tags, tag("m", key(fmt.Sprint(i)).String()))
	}
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"relays": len(a.Relays), "clone": len(a.Clone), "web": len(a.Web),
		"maintainers": len(a.Maintainers), "roles": len(a.Roles)} {
		if n != nip34.MaxValues {
			t.Errorf("%d %s", n, name)
		}
	}
	if !slices.Equal(a.Relays, e.Tags[0][1:1+nip34.MaxValues]) {
		t.Error("not the first relays")
	}
}
