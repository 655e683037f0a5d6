package refs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What went wrong in servers like this one.

// Between advertisement and push a sync brought what the push brings.
func TestTheSyncWasFaster(t *testing.T) {
	m := members("alice")
	before, next := state("before", "alice", 1, "main=1 dev=1"), state("next", "alice", 2, "main=2 tags/v=2")
	p := push("main:1>2 tags/v:>2 dev:1>")
	wantVerdict(t, refs.Judge(standing(ruled(m, before), m, next), p), "ok ok ok", "next")
	wantVerdict(t, refs.Judge(standing(ruled(m, before, next), m), p), "ok ok ok", "")
}

// While the pack came, a newer state was released: what is pushed would undo it.
func TestANewerStateWasFaster(t *testing.T) {
	m := members("alice", "bob")
	before, ours, theirs := state("before", "alice", 1, "main=1"), state("ours", "alice", 2, "main=2"), state("theirs", "bob", 3, "main=3")
	p := push("main:1>2")
	wantVerdict(t, refs.Judge(standing(ruled(m, before), m, ours, theirs), p), "ok", "ours")
	wantVerdict(t, refs.Judge(standing(ruled(m, before, theirs), m, ours), p), "moved", "")
	p = push("main:3>2")
	wantVerdict(t, refs.Judge(standing(ruled(m, before, theirs), m, ours), p), "older_state", "")
}

// Clients put what annotated tags lead to beside them.
func TestAnnotatedTagsMatch(t *testing.T) {
	s, err := refs.ReadState(event("s", "alice", 2, nip34.KindState, tag("d", "d"), tag("refs/heads/main", hexOID("1")),
		tag("refs/tags/v1", hexOID("tag")), tag("refs/tags/v1^{}", hexOID("1")), tag("HEAD", "ref: refs/heads/main")))
	if err != nil {
		t.Fatal(err)
	}
	m := members("alice")
	wantVerdict(t, refs.Judge(standing(refs.Projection{}, m, s), push("main:>1 tags/v1:>tag")), "ok ok", "s")
	d := refs.Decide(event("s", "alice", 2, nip34.KindState, tag("refs/tags/v1", hexOID("tag")), tag("refs/tags/v1^{}", hexOID("1"))),
		refs.About{Hosting: true, Has: func(o gitwire.ObjectID) bool { return o == oid("tag") }})
	if d.Outcome != refs.Store {
		t.Errorf("the tag is complete: %+v", d)
	}
}

// Of two states of one second the lowest id rules, in whatever order they come and are released.
func TestStatesOfOneSecond(t *testing.T) {
	m := members("alice", "bob")
	low, high := state("0", "alice", 5, "main=1"), state("1", "bob", 5, "main=2")
	if low.ID.Compare(high.ID) > 0 {
		low, high = high, low
	}
	for _, p := range []refs.Projection{ruled(m, low, high), ruled(m, high, low)} {
		if p.ID != low.ID || !p.Refs.Equal(low.Refs) {
			t.Errorf("%v rules", p.ID)
		}
	}
	both := low
	both.Refs = high.Refs
	for _, states := range [][]refs.State{{both, high}, {high, both}} {
		v := refs.Judge(standing(refs.Projection{}, m, states...), refs.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: high.Refs[0].ID}}})
		if v.State == nil || v.State.ID != low.ID {
			t.Errorf("released is %+v", v.State)
		}
	}
	if v := refs.Judge(standing(ruled(m, low), m, high), refs.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", Old: low.Refs[0].ID, New: high.Refs[0].ID}}}); causes(v) != "older_state" {
		t.Errorf("the one with the higher id: %s", causes(v))
	}
}

// A newer state was deleted, and an older one that was left ruled again.
func TestNoOlderStateRulesAgain(t *testing.T) {
	m := members("alice", "bob")
	of := repo("alice", "d")
	older, newer := state("older", "bob", 1, "main=1"), state("newer", "alice", 2, "main=2")
	p := ruled(m, older, newer)
	left := refs.Change{Members: m, States: []refs.State{older}}
	if q := p.Next(of, left); q.ID != newer.ID || !q.Refs.Equal(newer.Refs) {
		t.Errorf("%+v rules", q)
	}
	if q := p.Anew(of, left); q.ID != newer.ID {
		t.Errorf("made anew: %+v rules", q)
	}
	wantVerdict(t, refs.Judge(standing(p, m, state("s", "bob", 1, "main=3")), push("main:2>3")), "older_state", "")
	wantVerdict(t, refs.Judge(standing(p, m, state("s", "bob", 3, "main=3")), push("main:2>3")), "ok", "s")
}

// council is who maintains the repository of an author by real rules.
func council(owner string, all ...refs.Announcement) *grasp.Set { return councilOf(key(owner), all...) }

func councilOf(owner nostr.PubKey, all ...refs.Announcement) *grasp.Set {
	var listings []grasp.Listing
	for _, a := range all {
		listings = append(listings, a.Listing)
	}
	s := grasp.FamilyOf(listings).Maintainers(owner)
	return &s
}

// One who is listed and does not list back is invited, and that is all.
func TestInvitedPeopleCannotPush(t *testing.T) {
	alice := announcement("alice", 1, "d", "bob")
	theirs := state("s", "bob", 5, "main=1")
	for _, tc := range []struct {
		bob  refs.Announcement
		want string
	}{
		{announcement("bob", 1, "d"), "not_maintainer"},
		{announcement("bob", 1, "d", "carol"), "not_maintainer"},
		{announcement("bob", 1, "d", "alice"), "ok"},
	} {
		m := council("alice", alice, tc.bob)
		v := refs.Judge(standing(refs.Projection{}, m, theirs), push("main:>1"))
		if causes(v) != tc.want {
			t.Errorf("%v: %s", tc.bob.Listed, causes(v))
		}
		if p := ruled(m, theirs); p.Ruled != (tc.want == "ok") {
			t.Errorf("%v: rules %v", tc.bob.Listed, p.Ruled)
		}
	}
}

// Who has left a project still has the repository of his own, and what rules there.
func TestAFormerMaintainersOwnRepository(t *testing.T) {
	alice, bob := announcement("alice", 1, "d"), announcement("bob", 1, "d", "alice")
	theirs, hers := state("bobs", "bob", 5, "main=1"), state("alices", "alice", 3, "main=2")
	for _, tc := range []struct{ owner, rules string }{{"alice", "alices"}, {"bob", "bobs"}} {
		p := refs.Projection{}.Next(repo(tc.owner, "d"), refs.Change{Members: council(tc.owner, alice, bob), States: []refs.State{theirs, hers}})
		if p.ID != id(tc.rules) {
			t.Errorf("at %s: %v rules", tc.owner, p.ID)
		}
	}
	in := standing(refs.Projection{}, council("bob", alice, bob), theirs)
	in.Of = repo("bob", "d")
	wantVerdict(t, refs.Judge(in, push("main:>1")), "ok", "bobs")
}

// A change of the membership came while another event was being saved, and was lost.
func TestMembershipAndStateAtOnce(t *testing.T) {
	of := repo("alice", "d")
	mine, theirs, next := state("mine", "alice", 5, "main=1"), state("theirs", "bob", 9, "main=2"), state("next", "alice", 6, "main=3")
	p := ruled(members("alice", "bob"), mine, theirs)
	q := p.Next(of, refs.Change{Members: members("alice"), States: []refs.State{next, theirs}})
	if q.ID != next.ID {
		t.Errorf("%v rules after both", q.ID)
	}
	late := p.Next(of, refs.Change{Members: members("alice", "bob"), States: []refs.State{next}}).
		Next(of, refs.Change{Members: members("alice"), States: []refs.State{next, theirs}})
	if late.ID != next.ID {
		t.Errorf("%v rules where the membership changes after the state", late.ID)
	}
}

// Repositories with one identifier have nothing in common but the name.
func TestRepositoriesOfOneIdentifier(t *testing.T) {
	alice, bob := announcement("alice", 1, "d"), announcement("bob", 1, "d")
	in := standing(refs.Projection{}, council("alice", alice, bob), state("s", "bob", 5, "main=1"))
	wantVerdict(t, refs.Judge(in, push("main:>1")), "not_maintainer", "")
	in.Of, in.Members = repo("bob", "d"), council("bob", alice, bob)
	wantVerdict(t, refs.Judge(in, push("main:>1")), "ok", "s")
}

// What is pushed beside an authorised branch into a namespace that nobody judges.
func TestOtherNamespacesDoNotRideAlong(t *testing.T) {
	m := members("alice")
	in := standing(refs.Projection{}, m, state("s", "alice", 5, "main=1"))
	for _, name := range []string{"HEAD", "refs/notes/commits", "refs/pull/1/head", "refs/replace/x", "refs/config", "refs/stash", "refs/x", "refs/headsx/y",
		"refs/remotes/origin/main", "refs/nostr", "refs/for/main"} {
		p := push("main:>1")
		p.Commands = append(p.Commands, gitwire.Command{Ref: name, New: oid("2")})
		v := refs.Judge(in, p)
		wantVerdict(t, v, "ok namespace", "s")
		if needs := v.Needs(p); len(needs) != 1 || needs[0] != oid("1") || !v.Refused() {
			t.Errorf("%s: needs %v, refused %v", name, needs, v.Refused())
		}
		p.Atomic = true
		wantVerdict(t, refs.Judge(in, p), "with_others namespace", "")
	}
}

// Values of events are no arguments: what is no object id is never looked for, pushed for or served.
func TestValuesThatAreNoObjectIDs(t *testing.T) {
	for _, value := range []string{"--output=x", "HEAD", "main:x", "+refs/*:refs/*", "abc123", "", "^" + hexOID("1"), hexOID("1") + "\n", "ABCDEF" + hexOID("1")[6:]} {
		e := event("s", "alice", 5, nip34.KindState, tag("d", "d"), tag("refs/heads/main", hexOID("1")), tag("refs/heads/x", value))
		asked := false
		d := refs.Decide(e, refs.About{Hosting: true, Has: func(gitwire.ObjectID) bool { asked = true; return true }})
		if d.Outcome != refs.Wait || asked || len(d.Missing) > 0 {
			t.Errorf("%q: %+v, asked %v", value, d, asked)
		}
		s, err := refs.ReadState(e)
		if err != nil {
			t.Fatal(err)
		}
		if p := ruled(members("alice"), s); p.Ruled {
			t.Errorf("%q rules", value)
		}
		wantVerdict(t, refs.Judge(standing(refs.Projection{}, members("alice"), s), push("main:>1")), "flawed_state", "")
	}
}

// Clients set up a branch that HEAD names, whether it is there or not.
func TestAnEmptyRepositoryHasNoHead(t *testing.T) {
	m := members("alice")
	for _, p := range []refs.Projection{{}, ruled(m, withHead(state("s", "alice", 1, ""), "main")),
		ruled(m, state("s", "alice", 1, "main=1"), state("t", "alice", 2, "tags/v=1"))} {
		if p.Head != "" {
			t.Errorf("HEAD is at %q of %v", p.Head, p.All())
		}
	}
}

// Upper-case ids and note1… made refs that never went.
func TestOneSpellingOfAnEventID(t *testing.T) {
	in := standing(refs.Projection{}, members("alice"))
	hex := id("pr").String()
	for _, name := range []string{strings.ToUpper(hex), hex[1:], hex + "0", "note1" + hex[5:], hex + "/x", "x/" + hex, "", hex[:63] + "g", " " + hex[1:]} {
		wantVerdict(t, refs.Judge(in, push("refs/nostr/"+strings.ReplaceAll(name, " ", "\x01")+":>1")), "bad_tip_name", "")
	}
	wantVerdict(t, refs.Judge(in, push("refs/nostr/"+hex+":>1")), "ok", "")
}

// Anybody could overwrite or delete the tip of a pull request that was still to come.
func TestPendingTipsStay(t *testing.T) {
	var pd refs.Pending
	in := standing(refs.Projection{}, members("alice"))
	in.Pending = &pd
	first := push(pending("pr") + ":>1")
	v := refs.Judge(in, first)
	wantVerdict(t, v, "ok", "")
	n := pd.Begin(noon, in.Of, at("192.0.2.1"), v.Uploads)
	for range 2 { // under way, then complete
		wantVerdict(t, refs.Judge(in, push(pending("pr")+":>2")), "pending_other", "")
		wantVerdict(t, refs.Judge(in, push(pending("pr")+":1>2")), "pending_other", "")
		wantVerdict(t, refs.Judge(in, push(pending("pr")+":1>")), "tip_deleted", "")
		wantVerdict(t, refs.Judge(in, push(pending("pr")+":>")), "tip_deleted", "")
		wantVerdict(t, refs.Judge(in, first), "ok", "")
		pd.Finish(noon, n, v.Uploads)
	}
	if held := pd.At(in.Of, id("pr")); held != (refs.PendingTip{ID: oid("1"), Complete: true}) {
		t.Errorf("held is %+v", held)
	}
	if v := refs.Judge(in, first); v.Changes() {
		t.Errorf("pushed again: %+v", v)
	}
}

// Uploads that nobody signed for stayed for ever.
func TestUploadsGo(t *testing.T) {
	var pd refs.Pending
	n := pd.Begin(noon, repo("alice", "d"), at("a"), []refs.Tip{{Event: id("pr"), ID: oid("1")}})
	pd.Finish(noon+600, n, []refs.Tip{{Event: id("pr"), ID: oid("1")}})
	end := int64(noon + 600 + 30*60)
	if at := pd.Next(); at != end {
		t.Errorf("ends at %d, want %d", at, end)
	}
	if gone := pd.Expire(end - 1); len(gone) > 0 {
		t.Errorf("gone a second early: %v", gone)
	}
	if gone := pd.Expire(end); len(gone) != 1 || gone[0] != n || pd.Tips() != 0 || pd.Next() != 0 {
		t.Errorf("gone %v, %d tips left", gone, pd.Tips())
	}
	if refs.PendingFor != 30*time.Minute {
		t.Error(refs.PendingFor)
	}
}

// Something expired while it was on its way.
func TestNothingExpiresUnderWay(t *testing.T) {
	var pd refs.Pending
	tips := []refs.Tip{{Event: id("pr"), ID: oid("1")}}
	n := pd.Begin(noon, repo("alice", "d"), at("a"), tips)
	if gone := pd.Expire(noon + 36_000); len(gone) > 0 || pd.Next() != 0 {
		t.Errorf("gone under way: %v", gone)
	}
	if found, gone := pd.Come(pullRequest("pr", 1, "1", "alice")); len(found)+len(gone) > 0 {
		t.Errorf("taken under way: %v, %v", found, gone)
	}
	pd.Finish(noon+36_000, n, tips)
	if gone := pd.Expire(noon + 36_001); len(gone) > 0 {
		t.Errorf("gone at once: %v", gone)
	}
}

// A served repository was deleted when a later announcement at its address expired: one that is served does not wait.
func TestAServedAnnouncementIsReplacedAtOnce(t *testing.T) {
	e := event("a", "alice", 5, nip34.KindRepository, tag("d", "d"))
	if d := refs.Decide(e, refs.About{Hosting: true, Lists: true, Replaces: true}); d.Outcome != refs.Store || d.OK != "" {
		t.Errorf("got %+v", d)
	}
	if d := refs.Decide(e, refs.About{Hosting: true, Lists: true}); d.Outcome != refs.Wait {
		t.Errorf("without one: %+v", d)
	}
}

// A push of ten thousand refs, each of which was looked for among all others.
func TestManyRefsAreAligned(t *testing.T) {
	const n = 100_000 // ten times what a state can have: what is quadratic takes minutes
	var before, after []refs.Ref
	var p refs.Push
	for i := range n {
		name := fmt.Sprintf("refs/heads/%d/%d", i%100, i)
		before = append(before, refs.Ref{Name: name, ID: oid("1")})
		if i%3 == 0 {
			p.Commands = append(p.Commands, gitwire.Command{Ref: name, Old: oid("1")})
			continue
		}
		after = append(after, refs.Ref{Name: name, ID: oid("2")})
		p.Commands = append(p.Commands, gitwire.Command{Ref: name, Old: oid("1"), New: oid("2")})
	}
	m := members("alice")
	now, next := state("now", "alice", 1, ""), state("next", "alice", 2, "")
	now.Refs, next.Refs = refs.NewSet(before), refs.NewSet(after)
	begun := time.Now()
	in := standing(ruled(m, now), m, next)
	if v := refs.Judge(in, p); v.State == nil || v.Refused() {
		t.Fatalf("refused: %q", v.Lines)
	}
	p.Commands = p.Commands[:n/2]
	if v := refs.Judge(in, p); v.State != nil || len(v.Lines) != 11 {
		t.Fatalf("in part: %q", v.Lines)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// A pull request's event that is served under another kind has no tip that could be pushed.
func TestOnlyPullRequestsHaveTips(t *testing.T) {
	in := standing(refs.Projection{}, members("alice"))
	known := refs.Known{Kind: nip34.KindIssue, PullRequest: pullRequest("pr", 1, "1", "alice")}
	in.Known = map[nostr.ID]refs.Known{id("pr"): known}
	wantVerdict(t, refs.Judge(in, push(pending("pr")+":>1")), "no_pull_request", "")
}
