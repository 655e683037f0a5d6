package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// announce is an announcement of repository d in an earlier minute, which lists these relays.
func announce(minutesAgo int, author, d string, relays ...string) *nostr.Event {
	at := now.Add(-time.Duration(minutesAgo) * time.Minute)
	return eventAt(at, author, nip34.KindRepository, tag("d", d), append(tag("relays"), relays...))
}

func inviting(e *nostr.Event, who ...string) *nostr.Event {
	t := tag("maintainers")
	for _, w := range who {
		t = append(t, key(w).String())
	}
	c := e.Clone()
	c.Tags = append(c.Tags, t)
	c.ID = c.ComputeID()
	return c
}

func wantServed(t *testing.T, d *door, e *nostr.Event, want bool) {
	t.Helper()
	if got := slices.Contains(d.served(), e.ID); got != want {
		t.Errorf("served %v, want %v: kind %d %v", got, want, e.Kind, e.Tags)
	}
}

// A root event that arrives before its announcement, or names several repositories of which the last is here.
func TestRootBeforeItsAnnouncement(t *testing.T) {
	d := newDoor(t)
	issue := event("bob", nip34.KindIssue, tag("a", repo("carol")), tag("a", repo("dave")), tag("a", repo("alice")))
	if got := d.submit(issue); got != policy.Unrelated {
		t.Fatalf("alone: %v", got)
	}
	d.submit(announce(1, "alice", "d", ours))
	wantServed(t, d, issue, true)
}

// A comment that arrives before the issue that it answers, and that before its repository.
func TestCommentBeforeItsIssue(t *testing.T) {
	d := newDoor(t)
	issue := event("bob", nip34.KindIssue, tag("a", repo("alice")))
	comment := event("carol", nostr.KindComment, tag("E", issue.ID.String()), tag("e", issue.ID.String()))
	reply := event("dave", nostr.KindComment, tag("e", comment.ID.String()))
	quoted := event("erin", 1)
	quoting := event("bob", 1, tag("a", repo("alice")), tag("q", quoted.ID.String()))
	for _, e := range []*nostr.Event{quoted, reply, comment, issue, quoting} {
		if got := d.submit(e); got != policy.Unrelated {
			t.Fatalf("kind %d: %v", e.Kind, got)
		}
	}
	d.submit(announce(1, "alice", "d", ours))
	for _, e := range []*nostr.Event{issue, comment, reply, quoting, quoted} {
		wantServed(t, d, e, true)
	}
}

// What was refused is taken when the reason ends: the repository is announced, the maintainer is listed.
func TestRefusedUntilListed(t *testing.T) {
	d := newDoor(t)
	bob := announce(9, "bob", "d", "wss://elsewhere.example")
	state := event("bob", nip34.KindState, tag("d", "d"))
	d.submit(announce(8, "alice", "d", ours))
	d.submit(bob)
	d.submit(state)
	wantServed(t, d, bob, false)
	wantServed(t, d, state, false)
	d.submit(inviting(announce(1, "alice", "d", ours), "bob"))
	wantServed(t, d, bob, true)
	wantServed(t, d, state, true)
}

// States and announcements of invited maintainers that arrive before the owner's, deletions before their target.
func TestArrivedTooEarly(t *testing.T) {
	d := newDoor(t)
	bob := inviting(announce(9, "bob", "d", "wss://elsewhere.example"), "alice", "carol")
	carol := announce(9, "carol", "d")
	bobs, carols := event("bob", nip34.KindState, tag("d", "d")), event("carol", nip34.KindState, tag("d", "d"))
	issue := event("erin", nip34.KindIssue, tag("a", repo("alice")))
	deletion := event("erin", nostr.KindDeletion, tag("e", issue.ID.String()))
	early := []*nostr.Event{carols, carol, bobs, bob, deletion, issue}
	for _, e := range early {
		if got := d.submit(e); !got.Orphan() {
			t.Fatalf("kind %d: %v", e.Kind, got)
		}
	}
	d.submit(inviting(announce(5, "alice", "d", ours), "bob"))
	for _, e := range early {
		wantServed(t, d, e, true)
	}
}

// A newer announcement that no longer lists us, and a relay that keeps offering the older one: it stays gone.
func TestLeftForGood(t *testing.T) {
	older, newer := announce(9, "alice", "d", ours), announce(5, "alice", "d", "wss://elsewhere.example")
	issue := event("bob", nip34.KindIssue, tag("a", repo("alice")))
	for _, order := range [][]*nostr.Event{{older, issue, newer, older}, {newer, older, issue, older}} {
		d := newDoor(t)
		for _, e := range order {
			d.submit(e)
		}
		wantServed(t, d, older, false)
		wantServed(t, d, newer, false)
	}
	d := newDoor(t)
	for _, e := range []*nostr.Event{older, issue, newer} {
		d.submit(e)
	}
	wantServed(t, d, issue, true)
	if got := d.submit(event("carol", nip34.KindIssue, tag("a", repo("alice")))); got != policy.Unrelated {
		t.Errorf("an issue for what left: %v", got)
	}
	back := announce(1, "alice", "d", ours)
	d.submit(back)
	wantServed(t, d, back, true)
}

// An announcement that came by invitation leaves when nobody lists its author any more, and so do those that came by his.
func TestInvitationEnds(t *testing.T) {
	d := newDoor(t)
	bob := inviting(announce(9, "bob", "d", "wss://elsewhere.example"), "alice", "carol")
	carol, dave := announce(9, "carol", "d"), announce(9, "dave", "d", ours)
	for _, e := range []*nostr.Event{inviting(announce(8, "alice", "d", ours), "bob", "dave"), bob, carol, dave} {
		d.submit(e)
	}
	wantServed(t, d, bob, true)
	wantServed(t, d, carol, true)
	d.submit(announce(2, "alice", "d", ours))
	wantServed(t, d, bob, false)
	wantServed(t, d, carol, false)
	wantServed(t, d, dave, true)
	d.submit(inviting(announce(1, "alice", "d", ours), "bob"))
	wantServed(t, d, bob, true)
	wantServed(t, d, carol, true)
}

func TestStrangeIdentifiers(t *testing.T) {
	for _, d := range []string{"", ":", "a:b:c", "../../etc", "a b", "🦀", "30617:x:y", strings.Repeat("ü", 2000)} {
		v := &memory{}
		ann := announce(1, "alice", d, ours)
		if got := decide(t, v, ann); got.Outcome != policy.Accept {
			t.Fatalf("%.20q: %v", d, got)
		}
		v.add(ann)
		address := "30617:" + key("alice").String() + ":" + d
		for _, e := range []*nostr.Event{event("bob", nip34.KindIssue, tag("a", address)), event("bob", 1, tag("q", address)),
			event("alice", nip34.KindState, tag("d", d))} {
			if got := decide(t, v, e); got.Outcome != policy.Accept {
				t.Errorf("%.20q, kind %d: %v", d, e.Kind, got)
			}
		}
		if got := decide(t, v, event("bob", nip34.KindIssue, tag("a", address+":"))); got.Outcome != policy.Unrelated {
			t.Errorf("%.20q with a colon more: %v", d, got)
		}
	}
}

// A substring of our domain is not our domain, and a thousand ways to write our URL are.
func TestListedByHostNotBySubstring(t *testing.T) {
	for url, want := range map[string]policy.Outcome{
		"https://evil-relay.example.org":         policy.Unlisted,
		"wss://notrelay.example.org":             policy.Unlisted,
		"wss://example.org":                      policy.Unlisted,
		"wss://relay.example.org.evil.com":       policy.Unlisted,
		"wss://evil.com/relay.example.org":       policy.Unlisted,
		"wss://relay.example.org@evil.com":       policy.Unlisted,
		"wss://relay.example.org:7334":           policy.Unlisted,
		"WSS://Relay.Example.Org:443/#relay":     policy.Accept,
		"relay.example.org":                      policy.Accept,
		"\n wss://relay.example.org///  ":        policy.Accept,
		"wss://relay.example.org.":               policy.Accept,
		"wss://relay.example.org, wss://evil.co": policy.Unlisted,
	} {
		if got := decide(t, &memory{}, announce(1, "alice", "d", url)); got.Outcome != want {
			t.Errorf("%q: %v", url, got)
		}
	}
}

// An announcement with 10,000 relays and as many of everything else costs bounded work; ours counts among the first.
func TestTenThousandRelays(t *testing.T) {
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf("r%d.io", i))
	}
	late := announce(1, "alice", "d", append(many, ours)...)
	if got := decide(t, &memory{}, late); got.Outcome != policy.Unlisted {
		t.Errorf("ours last: %v", got)
	}
	early := announce(1, "alice", "d", append([]string{ours}, many...)...)
	if got := decide(t, &memory{}, early); got.Outcome != policy.Accept {
		t.Errorf("ours first: %v", got)
	}
}
