package policy_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func archive(t testing.TB, entries ...string) (a policy.Archive) {
	t.Helper()
	for _, e := range entries {
		if err := a.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// What is archived is carried though its announcement does not list this service, and so are its states and what names it; everything else
// is decided as before (GRASP-05).
func TestWhatIsArchived(t *testing.T) {
	elsewhere := announce(1, "alice", "d", "wss://Elsewhere.example:443/")
	npub := nip19.Npub(key("alice"))
	for _, tc := range []struct {
		name    string
		archive []string
		lists   policy.Lists
		want    policy.Outcome
	}{
		{"nothing", nil, policy.Lists{}, policy.Unlisted},
		{"all", []string{"all"}, policy.Lists{}, policy.Accept},
		{"ALL", []string{"ALL"}, policy.Lists{}, policy.Accept},
		{"an author", []string{npub}, policy.Lists{}, policy.Accept},
		{"an author in hex", []string{key("alice").String()}, policy.Lists{}, policy.Accept},
		{"another author", []string{nip19.Npub(key("bob"))}, policy.Lists{}, policy.Unlisted},
		{"a repository", []string{npub + "/d"}, policy.Lists{}, policy.Accept},
		{"an address", []string{repo("alice")}, policy.Lists{}, policy.Accept},
		{"another repository", []string{npub + "/e"}, policy.Lists{}, policy.Unlisted},
		{"an identifier", []string{"d"}, policy.Lists{}, policy.Accept},
		{"another identifier", []string{"D"}, policy.Lists{}, policy.Unlisted},
		{"a relay", []string{"wss://elsewhere.example"}, policy.Lists{}, policy.Accept},
		{"another relay", []string{"wss://other.example"}, policy.Lists{}, policy.Unlisted},
		{"the relay without TLS", []string{"ws://elsewhere.example"}, policy.Lists{}, policy.Unlisted},
		{"one of several", []string{"x", nip19.Npub(key("bob")), "wss://elsewhere.example"}, policy.Lists{}, policy.Accept},
		{"a denied repository", []string{"all"}, policy.Lists{DenyRepositories: repositories(repo("alice"))}, policy.Refuse},
		{"a denied author", []string{"all"}, policy.Lists{DenyPubKeys: authors("alice")}, policy.Refuse},
		{"one that is not allowed", []string{"all"}, policy.Lists{AllowRepositories: repositories(repo("bob"))}, policy.NoMaintainer},
		{"one that is allowed", []string{"all"}, policy.Lists{AllowRepositories: repositories(repo("alice"))}, policy.Accept},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, git := range []bool{false, true} {
				r := listing(t, tc.lists)
				r.Git, r.Lists.Archive = git, archive(t, tc.archive...)
				v := &memory{}
				got, err := r.Decide(elsewhere, policy.Stranger, v, now)
				if err != nil || got.Outcome != tc.want {
					t.Fatalf("git %v: %v, %v; want %v", git, got, err, tc.want)
				}
				a, err := nip34.ParseAnnouncement(elsewhere)
				if err != nil || r.Serves(a) != (tc.want != policy.Unlisted) {
					t.Errorf("serves: %v, %v", r.Serves(a), err)
				}
				if tc.want != policy.Accept {
					continue
				}
				v.add(elsewhere)
				for _, e := range []*nostr.Event{
					event("alice", nip34.KindState, tag("d", "d")), event("bob", nip34.KindIssue, tag("a", repo("alice"))), announce(2, "alice", "d", "wss://elsewhere.example"),
				} {
					if got, err := r.Decide(e, policy.Stranger, v, now); err != nil || got.Outcome != policy.Accept {
						t.Errorf("git %v, kind %d: %v, %v", git, e.Kind, got, err)
					}
				}
				if ids, err := r.Unwelcome("d", v); err != nil || len(ids) > 0 {
					t.Errorf("unwelcome: %v, %v", ids, err)
				}
			}
		})
	}
}

// What says that it is private is archived by a private service alone; whom it names may carry it (GRASP-08).
func TestPrivateRepositoriesAreNotArchived(t *testing.T) {
	for _, entry := range []string{"all", "d", repo("alice"), "wss://elsewhere.example"} {
		for _, private := range []bool{false, true} {
			r := rules(t)
			r.Private, r.Lists.Archive = private, archive(t, entry)
			for what, tc := range map[string]struct {
				e    *nostr.Event
				want bool
			}{
				"private":           {event("alice", nip34.KindRepository, tag("d", "d"), tag("relays", "wss://elsewhere.example"), tag("private", "true")), private},
				"not so":            {event("alice", nip34.KindRepository, tag("d", "d"), tag("relays", "wss://elsewhere.example"), tag("private", "false")), true},
				"private and named": {event("alice", nip34.KindRepository, tag("d", "d"), tag("relays", "wss://relay.example.org"), tag("private", "true")), true},
			} {
				got, err := r.Decide(tc.e, policy.Stranger, &memory{}, now)
				a, parsed := nip34.ParseAnnouncement(tc.e)
				if err != nil || parsed != nil || (got.Outcome == policy.Accept) != tc.want || r.Serves(a) != tc.want {
					t.Errorf("%s, private service %v, %s: %v, serves %v (%v, %v)", entry, private, what, got, r.Serves(a), err, parsed)
				}
			}
		}
	}
}

// Whoever maintains an archived repository with its owner is part of it.
func TestMaintainersOfWhatIsArchived(t *testing.T) {
	r := rules(t)
	r.Git, r.Lists.Archive = true, archive(t, nip19.Npub(key("alice")))
	v := &memory{}
	v.add(inviting(announce(1, "alice", "d", "wss://elsewhere.example"), "bob"))
	for name, want := range map[string]policy.Outcome{"bob": policy.Accept, "carol": policy.Unlisted} {
		if got, err := r.Decide(announce(1, name, "d", "wss://elsewhere.example"), policy.Stranger, v, now); err != nil || got.Outcome != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestArchiveEntries(t *testing.T) {
	for entry, says := range map[string]string{
		"https://elsewhere.example": "want all, an npub", "wss://": "want all, an npub", "npub1x": "npub", "nsec1x": "secret key",
		strings.Repeat("x", nip34.MaxIdentifier+1): "longer than", "30618:" + key("alice").String() + ":d": "",
		"30617:x:d": "want a repository", "naddr1x": "want a repository",
	} {
		var a policy.Archive
		err := a.Add(entry)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want %q", entry, err, says)
		}
	}
	if a := archive(t, "all", "x", nip19.Npub(key("a")), nip19.Npub(key("a"))+"/d", "wss://a.example", "x"); a.Len() != 5 {
		t.Errorf("%d entries", a.Len())
	}
}

// Rules tell whether something may be archived now that was not before.
func TestOtherArchives(t *testing.T) {
	entries := []string{"all", "x", nip19.Npub(key("a")), nip19.Npub(key("a")) + "/d", "wss://a.example"}
	seen := map[string]string{}
	none := rules(t)
	for _, e := range append(entries, "y", "wss://b.example") {
		r := rules(t)
		r.Lists.Archive = archive(t, e)
		if other, is := seen[r.Fingerprint()]; is || r.Fingerprint() == none.Fingerprint() {
			t.Errorf("%s is as %s", e, other)
		}
		seen[r.Fingerprint()] = e
		if !r.Loosens(none) || none.Loosens(r) || r.Loosens(r) {
			t.Errorf("%s: looser %v, and without it %v", e, r.Loosens(none), none.Loosens(r))
		}
		all := rules(t)
		all.Lists.Archive = archive(t, "all")
		if r.Loosens(all) {
			t.Errorf("%s is more than all", e)
		}
	}
	a, b := rules(t), rules(t)
	var names []string
	for i := range 20 {
		names = append(names, string(rune('a'+i)))
	}
	a.Lists.Archive, b.Lists.Archive = archive(t, append(entries, names...)...), archive(t, append(names, entries...)...)
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("the order of entries counts")
	}
	if with := a.Lists.With(policy.Lists{DenyPubKeys: authors("bob")}); with.Archive.Len() != 26-1 {
		t.Errorf("%+v", with.Archive)
	}
}
