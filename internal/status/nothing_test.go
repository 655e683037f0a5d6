package status_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/status"
)

func TestNothingCarried(t *testing.T) {
	n := status.Nothing{Relay: "wss://git.example.org", Web: "https://git.example.org", Data: "/var/lib/graspd"}
	if n.Amiss() || n.Listed() != "" {
		t.Errorf("%+v", n)
	}
	for _, tt := range []struct {
		announcements uint64
		from          int
		names         []status.NameSeen
		want          []string
	}{
		{0, 0, nil, []string{
			"No repository is kept here yet: no announcement has come since the start.",
			"To change that:",
			"  with ngit (https://ngit.dev), in a repository: ngit init --grasp-server git.example.org --defaults, then git push; everybody clones it from https://git.example.org/<npub>/<identifier>.git",
			"  or by hand: publish an announcement (kind 30617) with wss://git.example.org in its relays tag and https://git.example.org/<npub>/<identifier>.git in its clone tag",
			"  or bring events of repositories that list this relay: stop graspd, and graspd import --domain git.example.org --data /var/lib/graspd FILE",
			"  or carry repositories that do not list this relay, too: start graspd with --archive and npubs, identifiers, URLs of relays to mirror (wss://…), or all"}},
		{1, 1, []status.NameSeen{{Name: "a.example", Announcements: 1}}, []string{
			"No repository is kept here yet: 1 announcement came from 1 relay since the start, and it does not list this relay (wss://git.example.org) in both its relays and its clone tag.",
			"They list a.example (1).",
			"To change that:",
			"  with ngit (https://ngit.dev), in a repository: ngit init --grasp-server git.example.org --defaults, then git push; everybody clones it from https://git.example.org/<npub>/<identifier>.git",
			"  or by hand: publish an announcement (kind 30617) with wss://git.example.org in its relays tag and https://git.example.org/<npub>/<identifier>.git in its clone tag",
			"  or bring events of repositories that list this relay: stop graspd, and graspd import --domain git.example.org --data /var/lib/graspd FILE",
			"  or carry repositories that do not list this relay, too: start graspd with --archive and npubs, identifiers, URLs of relays to mirror (wss://…), or all",
			"  or, where one of these names is this relay's, start graspd with that as --domain"}},
	} {
		n.Announcements, n.From, n.Names = tt.announcements, tt.from, tt.names
		if got := strings.Join(n.Lines(), "\n"); got != strings.Join(tt.want, "\n") {
			t.Errorf("%s\nwant\n%s", got, strings.Join(tt.want, "\n"))
		}
		if n.Amiss() != (tt.announcements > 0) {
			t.Errorf("%+v", n)
		}
	}
	n = status.Nothing{Relay: "wss://git.example.org", Announcements: 12, From: 2, Names: []status.NameSeen{{Name: "a.example", Announcements: 9}, {Name: "b.example:81", Announcements: 3}}}
	if got := n.Seen(); got != "12 announcements came from 2 relays since the start, and none of them lists this relay (wss://git.example.org)" {
		t.Error(got)
	}
	if got := n.Listed(); got != "they list a.example (9), b.example:81 (3)" {
		t.Error(got)
	}
	n.From = 0
	if got := n.Seen(); got != "12 announcements came since the start, and none of them lists this relay (wss://git.example.org)" {
		t.Error(got)
	}
	n.Full = "graspd stores nothing: full"
	if lines := n.Lines(); lines[0] != "No repository is kept here yet: every event is refused, as graspd stores nothing: full." || lines[3] != "  at first make room, as nothing of what follows works before" {
		t.Errorf("%q", lines)
	}
	n.Full = ""
	n.Data = "/srv/my data"
	if all := strings.Join(n.Remedies(), "\n"); strings.Contains(all, "clone") || !strings.Contains(all, `graspd import --domain git.example.org --data "/srv/my data" --git=false FILE`) {
		t.Errorf("%q", n.Remedies())
	}
}
