package refs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	waits      = "purgatory: won't be served until git data arrives"
	stillWaits = "duplicate: in purgatory"
)

func TestAnnouncementsWait(t *testing.T) {
	e := event("a", "alice", 5, nip34.KindRepository, tag("d", "d"), tag("maintainers", key("bob").String(), key("carol").String()))
	bob := announcement("bob", 1, "d", "alice")
	by := func(author string) refs.State { return state("s", author, 1, "main=1") }
	flawed, elsewhere := by("alice"), by("alice")
	flawed.Flaw, elsewhere.D = "impossible", "e"
	for _, tc := range []struct {
		name string
		in   refs.About
		want refs.Outcome
	}{
		{"first", refs.About{Lists: true}, refs.Wait},
		{"one is served", refs.About{Lists: true, Replaces: true}, refs.Store},
		{"for others", refs.About{}, refs.Store},
		{"its author's state is here", refs.About{Lists: true, States: []refs.State{by("alice")}}, refs.Store},
		{"a maintainer's state is here", refs.About{Lists: true, Announcements: []refs.Announcement{bob}, States: []refs.State{by("bob")}}, refs.Store},
		{"the state of somebody invited", refs.About{Lists: true, Announcements: []refs.Announcement{bob}, States: []refs.State{by("carol")}}, refs.Wait},
		{"what its author said before", refs.About{Lists: true, Announcements: []refs.Announcement{announcement("alice", 4, "d", "dave"), announcement("dave", 1, "d", "alice")},
			States: []refs.State{by("dave")}}, refs.Wait},
		{"a maintainer of another identifier", refs.About{Lists: true, Announcements: []refs.Announcement{announcement("bob", 1, "e", "alice")}, States: []refs.State{by("bob")}}, refs.Wait},
		{"a stranger's state", refs.About{Lists: true, States: []refs.State{by("mallory")}}, refs.Wait},
		{"a flawed state", refs.About{Lists: true, States: []refs.State{flawed}}, refs.Wait},
		{"a state of another identifier", refs.About{Lists: true, States: []refs.State{elsewhere}}, refs.Wait},
		{"a pull request is here", refs.About{Lists: true, PullRequests: []refs.PullRequest{pullRequest("pr", 1, "1", "bob", "alice")}}, refs.Store},
		{"a pull request for another", refs.About{Lists: true, PullRequests: []refs.PullRequest{pullRequest("pr", 1, "1", "bob")}}, refs.Wait},
		{"a pull request without data", refs.About{Lists: true, PullRequests: []refs.PullRequest{pullRequest("pr", 1, "", "alice")}}, refs.Wait},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantDecision(t, e, tc.in, tc.want, nil, waits)
		})
	}
}

// wantDecision compares, also with hosting off and where the event waits already. ok is the text where it waits.
func wantDecision(t *testing.T, e *nostr.Event, in refs.About, want refs.Outcome, missing []gitwire.ObjectID, ok string) {
	t.Helper()
	if d := refs.Decide(e, in); d.Outcome != refs.Store || d.OK != "" || len(d.Missing) > 0 {
		t.Errorf("hosting off: %+v", d)
	}
	in.Hosting = true
	d := refs.Decide(e, in)
	if want == refs.Store {
		ok = ""
	}
	if d.Outcome != want || d.OK != ok || !slices.Equal(d.Missing, missing) {
		t.Errorf("got %+v, want %v, %q, missing %v", d, want, ok, missing)
	}
	in.Again = true
	if want == refs.Wait {
		ok = stillWaits
	}
	if again := refs.Decide(e, in); again.Outcome != want || again.OK != ok || !slices.Equal(again.Missing, missing) {
		t.Errorf("again: %+v", again)
	}
}

func TestStatesWait(t *testing.T) {
	has := func(names ...string) func(gitwire.ObjectID) bool {
		return func(o gitwire.ObjectID) bool {
			return slices.ContainsFunc(names, func(n string) bool { return oid(n) == o })
		}
	}
	ref := func(name, object string) nostr.Tag { return tag(refName(name), hexOID(object)) }
	main, dev, same := ref("main", "1"), ref("dev", "2"), ref("same", "1")
	for _, tc := range []struct {
		name    string
		tags    nostr.Tags
		has     func(gitwire.ObjectID) bool
		want    refs.Outcome
		missing string
		ok      string
	}{
		{"nothing is here", nostr.Tags{main, dev}, has(), refs.Wait, "2 1", waits},
		{"part is here", nostr.Tags{main, dev}, has("1"), refs.Wait, "2", waits},
		{"all is here", nostr.Tags{main, dev}, has("1", "2"), refs.Store, "", ""},
		{"each object once", nostr.Tags{main, dev, same}, has("2"), refs.Wait, "1", waits},
		{"no ref", nil, has(), refs.Store, "", ""},
		{"no ref that counts", nostr.Tags{tag("HEAD", "ref: refs/heads/main"), ref("refs/notes/commits", "1"), tag("refs/tags/v^{}", hexOID("1"))}, has(), refs.Store, "", ""},
		{"flawed", nostr.Tags{main, tag("refs/heads/x", "abc123")}, has("1"), refs.Wait, "",
			waits + `; it never can: it has refs/heads/x at 'abc123', which is the id of no object here (40 lower-case hex digits): publish a state without that`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var missing []gitwire.ObjectID
			for n := range strings.FieldsSeq(tc.missing) {
				missing = append(missing, oid(n))
			}
			wantDecision(t, event("s", "alice", 5, nip34.KindState, tc.tags...), refs.About{Has: tc.has}, tc.want, missing, tc.ok)
		})
	}
}

func TestStatesWithTooManyRefs(t *testing.T) {
	e := event("s", "alice", 5, nip34.KindState)
	for i := range nip34.MaxRefs + 1 {
		e.Tags = append(e.Tags, tag(fmt.Sprintf("refs/heads/%d", i), hexOID("1")))
	}
	wantDecision(t, e, refs.About{}, refs.Refuse, nil, "invalid: this state names more than 10000 branches and tags; publish one with fewer")
}

func TestPullRequestsWait(t *testing.T) {
	none := func(gitwire.ObjectID) bool { return false }
	here := func(o gitwire.ObjectID) bool { return o == oid("1") }
	c := tag("c", hexOID("1"))
	text := waits + " (commit " + hexOID("1") + ")"
	for _, kind := range []nostr.Kind{nip34.KindPullRequest, nip34.KindPullRequestUpdate} {
		for _, tc := range []struct {
			name    string
			tags    nostr.Tags
			has     func(gitwire.ObjectID) bool
			want    refs.Outcome
			missing []gitwire.ObjectID
			ok      string
		}{
			{"its tip is not here", nostr.Tags{c}, none, refs.Wait, []gitwire.ObjectID{oid("1")}, text},
			{"its tip is here", nostr.Tags{c}, here, refs.Store, nil, ""},
			{"no tip", nil, none, refs.Store, nil, ""},
			{"no object id", nostr.Tags{tag("c", "main")}, here, refs.Wait, nil, waits + " (commit main)"},
			{"no object id, and long", nostr.Tags{tag("c", strings.Repeat("x\n", 100))}, here, refs.Wait, nil, waits + " (commit " + strings.Repeat(`x\n`, 66) + "x)"},
		} {
			t.Run(fmt.Sprint(kind, " ", tc.name), func(t *testing.T) {
				wantDecision(t, event("p", "bob", 5, kind, tc.tags...), refs.About{Has: tc.has}, tc.want, tc.missing, tc.ok)
			})
		}
	}
}

func TestEverythingElseIsStored(t *testing.T) {
	in := refs.About{Lists: true, Has: func(gitwire.ObjectID) bool { return false }}
	for _, kind := range []nostr.Kind{0, 1, 5, 1111, 1617, 1621, 1622, 1630, 1631, 10317, 30619} {
		wantDecision(t, event("e", "bob", 5, kind, tag("c", hexOID("1")), tag("d", "d"), tag("refs/heads/main", hexOID("1"))), in, refs.Store, nil, "")
	}
}
