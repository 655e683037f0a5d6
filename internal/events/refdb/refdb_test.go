package refdb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// hosted is a repository by 1 with main at 1.
func (d *desk) hosted(others ...byte) *nostr.Event {
	d.Helper()
	repo := d.announcement(1, "d", others...)
	d.wants(refs.Wait, repo, d.stateOf(1, "d", "main=1"))
	if v := d.push(repo, 1, branch("main", 0, 1)); v.Refused() {
		d.Fatalf("%+v", v)
	}
	d.are("served", repo)
	d.shows(repo, "main=1")
	return repo
}

func TestAnAnnouncementWhoseStateIsHere(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted(2)
	d.wants(refs.Store, d.announcement(2, "d", 1)) // a maintainer of what is ruled by a state that is here
	d.wants(refs.Wait, d.announcement(3, "d", 1), d.announcement(2, "e", 1))
	d.wants(refs.Store, d.announcement(1, "d", 2))
	if !d.told(repo) {
		t.Error("nobody was told")
	}
}

func TestWhereAStateIsComplete(t *testing.T) {
	d := newDesk(t)
	d.hosted()
	d.wants(refs.Wait, d.announcement(2, "d"))
	d.wants(refs.Wait, d.stateOf(2, "d", "main=1")) // it is in somebody else's repository only
	d.wants(refs.Store, d.stateOf(1, "d", "dev=1"))
	d.wants(refs.Wait, d.stateOf(1, "d", "dev=1 main=2"))
	flawed := d.event(1, nip34.KindState, nostr.Tag{"d", "d"}, nostr.Tag{"refs/heads/main", "abc"})
	d.wants(refs.Wait, flawed)
	other := d.announcement(1, "other")
	d.wants(refs.Wait, other)
	d.wants(refs.Store, d.stateOf(1, "d", "")) // ends no other wait
	d.are("waits", other)
}

func TestAFlawedStateReleasesNothing(t *testing.T) {
	d := newDesk(t)
	repo := d.announcement(1, "d")
	flawed := d.event(1, nip34.KindState, nostr.Tag{"d", "d"}, nostr.Tag{"refs/heads/main", "abc"})
	pr := d.pullRequest(2, 3, repo)
	d.wants(refs.Wait, repo, flawed, pr)
	d.push(repo, 1, command(refs.TipName(pr.ID), 0, 3))
	d.are("served", repo, pr)
	d.are("waits", flawed)
}

func TestPullRequestsNeedTheirTip(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	d.wants(refs.Store, d.pullRequest(2, 1, repo))
	d.shows(repo, "main=1 pr=1")
	pr := d.pullRequest(2, 5, repo)
	update := d.event(2, nip34.KindPullRequestUpdate, nostr.Tag{"c", id(1).String()}, nostr.Tag{"E", pr.ID.String()})
	d.wants(refs.Wait, pr, update) // its tip is here, and what it updates is not served
	lone := d.event(2, nip34.KindPullRequestUpdate, nostr.Tag{"c", id(1).String()}, nostr.Tag{"E", d.event(9, 1).ID.String()})
	d.wants(refs.Wait, lone)
	d.push(repo, 1, command(refs.TipName(pr.ID), 0, 5))
	d.are("served", pr, update)
	d.are("waits", lone)
	if d.kept(repo).Refs.PullRequests.Get(refs.TipName(update.ID)) != id(1) {
		t.Error("the update has no ref")
	}
}

// The ref of an update that leaves it to its pull request to name the repository goes with the update, also when both go.
func TestUpdatesLoseTheirRefs(t *testing.T) {
	for _, both := range []bool{false, true} {
		d := newDesk(t)
		repo := d.hosted()
		pr := d.pullRequest(2, 1, repo)
		update := d.event(2, nip34.KindPullRequestUpdate, nostr.Tag{"c", id(1).String()}, nostr.Tag{"E", pr.ID.String()})
		d.wants(refs.Store, pr, update)
		tip := func(e *nostr.Event) bool { return !d.kept(repo).Refs.PullRequests.Get(refs.TipName(e.ID)).IsZero() }
		if !tip(pr) || !tip(update) {
			t.Fatal("no refs")
		}
		d.must(d.turn(func(turn refdb.Turn) error {
			if both {
				d.must(turn.Remove(pr.ID, store.ReasonDeleted))
			}
			return turn.Remove(update.ID, store.ReasonDeleted)
		}))
		if tip(update) || tip(pr) == both {
			t.Errorf("both went: %v; refs: %v", both, d.kept(repo).Refs.PullRequests)
		}
	}
}

func TestWhatWaitsIsFoundAfterARestart(t *testing.T) {
	d := newDesk(t)
	repo := d.announcement(1, "d")
	d.wants(refs.Wait, repo)
	d.restart()
	d.wants(refs.Wait, d.announcement(3, "d"))
	state := d.stateOf(1, "d", "main=1")
	d.wants(refs.Wait, state)
	d.push(repo, 1, branch("main", 0, 1))
	d.are("served", repo, state)
}

func TestWhatComesInOneBatchIsReleasedInIt(t *testing.T) {
	d := newDesk(t)
	repo, empty := d.announcement(1, "d"), d.stateOf(1, "d", "")
	d.must(d.turn(func(turn refdb.Turn) error {
		_, err := turn.Wait(repo, store.Wait{Until: d.now.Add(time.Hour).Unix()})
		d.must(err)
		d.must(d.ledger.Waits(turn, repo, ""))
		d.release(turn, empty)
		return nil
	}))
	d.are("served", repo, empty)
}

func TestAnAnnouncementReleasesThoseItConfirms(t *testing.T) {
	d := newDesk(t)
	d.hosted()
	theirs := d.announcement(2, "d", 1)
	d.wants(refs.Wait, theirs)
	mine := d.announcement(1, "d", 2)
	d.wants(refs.Store, mine) // from now on they decide together, and the state of 1 is here
	d.are("served", mine, theirs)
}

func TestDeadlinesAreSetBack(t *testing.T) {
	d := newDesk(t)
	repo, stranger := d.announcement(1, "d"), d.announcement(3, "d")
	d.wants(refs.Wait, repo, stranger)
	d.now = d.now.Add(20 * time.Minute)
	state := d.stateOf(1, "d", "main=1")
	d.wants(refs.Wait, state)
	if d.until(repo) != refdb.WaitFor || d.until(stranger) > 10*time.Minute {
		t.Errorf("after a state: %v, %v", d.until(repo), d.until(stranger))
	}
	d.now = d.now.Add(20 * time.Minute)
	d.open(addressOf(repo), refs.Push{Commands: []gitwire.Command{branch("main", 0, 1)}})
	if d.until(repo) != refdb.WaitFor || d.until(state) != refdb.WaitFor || d.until(stranger) > 0 {
		t.Errorf("after a push: %v, %v, %v", d.until(repo), d.until(state), d.until(stranger))
	}
}

func TestBoundsOfWhatWaits(t *testing.T) {
	d := newDesk(t)
	var first *nostr.Event
	for i := range refdb.MaxAnnouncements + 1 {
		e := d.announcement(1, string(rune('A'+i)))
		if first == nil {
			first = e
		}
		d.come(e, "here")
	}
	if d.are("lapsed", first); d.store.Waits() != refdb.MaxAnnouncements {
		t.Errorf("%d wait", d.store.Waits())
	}
	for i := range refdb.MaxOfAuthor + 1 {
		d.come(d.event(2, nip34.KindPullRequest, nostr.Tag{"c", id(byte(i)).String() + "x"}), "there")
	}
	if n := d.store.Waits(); n != refdb.MaxAnnouncements+refdb.MaxOfAuthor {
		t.Errorf("%d wait", n)
	}
	for i := range refdb.MaxOfSource + 1 {
		d.come(d.event(byte(10+i/200), nip34.KindPullRequest, nostr.Tag{"c", "none"}), "crowd")
	}
	if n := d.store.Waits(); n != refdb.MaxAnnouncements+refdb.MaxOfAuthor+refdb.MaxOfSource {
		t.Errorf("%d wait", n)
	}
}

func TestWhoDecidesIsServed(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted(2)
	late := d.announcement(2, "d", 1)
	d.wants(refs.Store, late, d.stateOf(2, "d", "main=1 dev=1"))
	d.shows(repo, "dev=1 main=1")
	d.wants(refs.Store, d.announcement(1, "d"))
	d.shows(repo, "main=1")
	// A claim that waits decides nothing that is served.
	d = newDesk(t)
	repo = d.hosted()
	d.wants(refs.Wait, d.announcement(4, "d", 1))
	d.wants(refs.Store, d.announcement(1, "d", 4))
	d.shows(repo, "main=1")
}

// TestWhoLeavesOrComesIsNoticed: 3 decides through 2, who no longer lists 1, or keeps out of others' repositories, and then is there again.
func TestWhoLeavesOrComesIsNoticed(t *testing.T) {
	for name, leaves := range map[string]func(d *desk) *nostr.Event{
		"lists others": func(d *desk) *nostr.Event { return d.announcement(2, "d", 3) },
		"declines": func(d *desk) *nostr.Event {
			e := d.announcement(2, "d", 1, 3)
			e.Tags = append(e.Tags, nostr.Tag{"u", addressOf(d.announcement(5, "d")).String()})
			e.ID = e.ComputeID()
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			repo := d.hosted(2)
			d.wants(refs.Store, d.announcement(2, "d", 1, 3), d.announcement(3, "d", 2), d.stateOf(3, "d", "main=1 dev=1"))
			d.shows(repo, "dev=1 main=1")
			d.come(leaves(d))
			d.shows(repo, "main=1")
			d.come(d.announcement(2, "d", 1, 3))
			d.shows(repo, "dev=1 main=1")
		})
	}
}

// An update that leaves it to its pull request to name the repository loses its ref also where the pull request went in a batch before.
func TestUpdatesLoseTheirRefsAfterTheirPullRequests(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	pr := d.pullRequest(2, 1, repo)
	update := d.event(2, nip34.KindPullRequestUpdate, nostr.Tag{"c", id(1).String()}, nostr.Tag{"E", pr.ID.String()})
	other := d.pullRequest(3, 1, repo)
	d.wants(refs.Store, pr, update, other)
	for i, e := range []*nostr.Event{pr, update} {
		d.must(d.turn(func(turn refdb.Turn) error { return turn.Remove(e.ID, store.ReasonBarred) }))
		if got := len(d.kept(repo).Refs.PullRequests); got != 2-i {
			t.Errorf("%d refs of pull requests once %d events went", got, i+1)
		}
	}
}

func TestGoneAndBack(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	pr := d.pullRequest(2, 1, repo)
	d.wants(refs.Store, pr)
	d.changed = nil
	remove := func(e *nostr.Event) {
		d.must(d.turn(func(turn refdb.Turn) error { return turn.Remove(e.ID, store.ReasonDeleted) }))
	}
	remove(pr)
	if d.shows(repo, "main=1"); !d.told(repo) {
		t.Error("nobody was told")
	}
	remove(repo)
	if r := d.kept(repo); r.Gone != d.now.Unix() || !d.told(repo) {
		t.Errorf("%+v", r)
	}
	d.shows(repo, "main=1")
	var dropped bool
	try := func(before int64) {
		d.must(d.turn(func(turn refdb.Turn) (err error) {
			_, dropped, err = d.ledger.Remove(turn, addressOf(repo), before)
			return err
		}))
	}
	if try(d.now.Unix()); dropped {
		t.Error("it has only just gone")
	}
	again := d.announcement(1, "d")
	d.must(d.turn(func(turn refdb.Turn) error { d.add(turn, again); return nil }))
	if r := d.kept(repo); r.Gone != 0 {
		t.Errorf("it came back: %+v", r)
	}
	if try(d.now.Unix() + 1); dropped {
		t.Error("it is here")
	}
	remove(again)
	if try(d.now.Unix() + 1); !dropped || !d.kept(repo).Dir.IsZero() {
		t.Error("it stays")
	}
}

// A pull request loses its ref also where its repository went before it or in the same batch, so that a later announcement does not show it.
func TestPullRequestsLoseTheirRefsInRepositoriesThatAreGone(t *testing.T) {
	for _, together := range []bool{false, true} {
		d := newDesk(t)
		repo := d.hosted()
		pr := d.pullRequest(2, 1, repo)
		d.wants(refs.Store, pr)
		remove := func(events ...*nostr.Event) {
			d.must(d.turn(func(turn refdb.Turn) error {
				for _, e := range events {
					d.must(turn.Remove(e.ID, store.ReasonBarred))
				}
				return nil
			}))
		}
		if together {
			remove(repo, pr)
		} else {
			remove(repo)
			remove(pr)
		}
		if r := d.kept(repo); r.Gone == 0 || len(r.Refs.PullRequests) > 0 {
			t.Errorf("together: %v; %+v", together, r)
		}
		d.must(d.turn(func(turn refdb.Turn) error { d.add(turn, d.announcement(1, "d")); return nil }))
		d.shows(repo, "main=1")
		d.must(d.turn(func(turn refdb.Turn) error { d.add(turn, pr); return nil }))
		d.shows(repo, "main=1 pr=1")
	}
}

func TestFilesAreDueUntilTheyAreWritten(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	due := func() bool {
		v := d.store.View()
		defer v.Close()
		row, err := v.Row(refdb.DueName(addressOf(repo)))
		d.must(err)
		return row != nil
	}
	written := func(generation uint64) {
		d.must(d.turn(func(turn refdb.Turn) error { return d.ledger.Written(turn, addressOf(repo), generation) }))
	}
	if !due() {
		t.Error("not due after a push")
	}
	written(1)
	if due() {
		t.Error("due though written")
	}
	d.wants(refs.Store, d.stateOf(1, "d", "main=1 dev=1"))
	if written(1); !due() {
		t.Error("not due though older")
	}
	written(2)
	var r refdb.Repository
	d.must(d.turn(func(turn refdb.Turn) (err error) {
		r, err = d.ledger.Peel(turn, addressOf(repo), map[gitwire.ObjectID]gitwire.ObjectID{id(7): id(1)})
		return err
	}))
	if !due() || r.Refs.Generation != 3 || d.kept(repo).Peeled[id(7)] != id(1) {
		t.Errorf("%v %+v", due(), r)
	}
}

func TestTagsArePeeled(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	state := d.event(1, nip34.KindState, nostr.Tag{"d", "d"}, nostr.Tag{"refs/heads/main", id(1).String()}, nostr.Tag{"refs/tags/v1", id(6).String()})
	d.wants(refs.Wait, state)
	p := refs.Push{Commands: []gitwire.Command{command("refs/tags/v1", 0, 6)}}
	d.arrive(refdb.Arrival{Of: addressOf(repo), Push: &p, Bytes: 100, Peeled: map[gitwire.ObjectID]gitwire.ObjectID{id(6): id(1), id(9): id(1)}}, id(6))
	if r := d.kept(repo); len(r.Peeled) != 1 || r.Peeled[id(6)] != id(1) || r.Bytes != 100 {
		t.Errorf("%+v", r)
	}
	d.wants(refs.Store, d.event(1, nip34.KindState, nostr.Tag{"d", "d"}, nostr.Tag{"refs/heads/main", id(1).String()}, nostr.Tag{"refs/tags/v2", id(6).String()}))
	if r := d.kept(repo); r.Peeled[id(6)] != id(1) {
		t.Errorf("%+v", r)
	}
}

func TestAPushIsJudgedAgain(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	d.wants(refs.Wait, d.stateOf(1, "d", "main=2"))
	p := refs.Push{Commands: []gitwire.Command{branch("main", 1, 2)}}
	d.wants(refs.Wait, d.stateOf(1, "d", "main=3")) // while it was on its way
	arrived := d.arrive(refdb.Arrival{Of: addressOf(repo), Push: &p}, id(2))
	if !arrived.Refused() || arrived.Admitted || d.shelf[refdb.Dir{1}][id(2)] {
		t.Errorf("%+v", arrived)
	}
	d.shows(repo, "main=1")
	if v := d.push(d.announcement(8, "nobody's"), 1, branch("main", 0, 1)); len(v.Results) != 0 {
		t.Errorf("%+v", v)
	}
}

// TestAPushReadsOnlyStatesThatMayAllowIt: in the turn of the writer a push that a state allows costs what that state has. Neither the state
// that rules counts, nor those of others with the same identifier, however large they are.
func TestAPushReadsOnlyStatesThatMayAllowIt(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	for by := byte(2); by < 6; by++ {
		theirs := d.announcement(by, "d")
		d.wants(refs.Wait, theirs, d.stateOf(by, "d", "a=1 b=1 c=1 d=1 e=1 f=1"))
		if v := d.push(theirs, by, branch("a", 0, 1), branch("b", 0, 1), branch("c", 0, 1), branch("d", 0, 1), branch("e", 0, 1), branch("f", 0, 1)); v.Refused() {
			t.Fatalf("%+v", v)
		}
	}
	d.wants(refs.Wait, d.stateOf(1, "d", "main=2"))
	opens := func(want string, commands ...gitwire.Command) {
		t.Helper()
		d.looked = 0
		o := d.open(addressOf(repo), refs.Push{Commands: commands})
		if got := fmt.Sprint(o.Results[0].Cause); got != want || d.looked > 0 {
			t.Errorf("%s, and %d objects were looked for; want %s, and none", got, d.looked, want)
		}
	}
	opens("none", branch("main", 1, 2))
	opens("other_state", branch("main", 1, 3))
	opens("not_maintainer", branch("a", 0, 1), branch("b", 0, 1), branch("c", 0, 1), branch("d", 0, 1), branch("e", 0, 1), branch("f", 0, 1), branch("main", 1, 0))
}

// TestObjectsThatComeEndOnlyWaitsThatTheyMay: in the turn of the writer nothing of a waiting state is read whose author does not decide for the
// repository to which the objects have come, however many such states have its identifier.
func TestObjectsThatComeEndOnlyWaitsThatTheyMay(t *testing.T) {
	d := newDesk(t)
	repo, ours := d.hosted(2), d.announcement(2, "d", 1)
	d.come(ours)
	var theirs []*nostr.Event
	for by := byte(3); by < 6; by++ {
		other := d.announcement(by, "d")
		d.wants(refs.Wait, other, d.stateOf(by, "d", "a=1"))
		if v := d.push(other, by, branch("a", 0, 1)); v.Refused() {
			t.Fatalf("%+v", v)
		}
		theirs = append(theirs, d.stateOf(by, "d", "a=2 b=2 c=2 d=2 e=2 f=2 g=2 h=2"))
	}
	mine, mates := d.stateOf(1, "d", "main=2"), d.stateOf(2, "d", "main=2 b=1")
	d.wants(refs.Wait, append(theirs, mine, mates)...)
	p := refs.Push{Commands: []gitwire.Command{branch("main", 1, 2)}}
	d.looked = 0
	got := d.arrive(refdb.Arrival{Of: addressOf(repo), Push: &p, Dir: refdb.Dir{1}}, id(2))
	if got.Refused() || d.looked > 20 {
		t.Errorf("%+v, and %d objects were looked for", got.Verdict, d.looked)
	}
	d.are("served", ours, mine, mates)
	d.are("waits", theirs...)
}

// TestStatesOfOthersThatExplainAreBounded: of those with many refs only the first are read.
func TestStatesOfOthersThatExplainAreBounded(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	many := func(by byte, value string) {
		tags := nostr.Tags{{"d", "d"}}
		for i := range 6000 {
			tags = append(tags, nostr.Tag{fmt.Sprintf("refs/heads/%d", i), value})
		}
		d.wants(refs.Wait, d.announcement(by, "d"), d.event(by, nip34.KindState, tags...))
	}
	many(2, id(2).String())
	many(3, id(3).String())
	d.wants(refs.Wait, d.announcement(4, "d"), d.stateOf(4, "d", "main=4"))
	if v := d.push(repo, 1, branch("main", 1, 4)); v.Results[0].Cause != refs.NoState {
		t.Errorf("%+v", v)
	}
}

// TestEventsThatComeWhileAPushIsLookedUp: what was unknown when the events of a push were looked up, and has come since, counts as it is.
func TestEventsThatComeWhileAPushIsLookedUp(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	came, other := d.pullRequest(2, 4, repo), d.pullRequest(2, 5, repo)
	p := refs.Push{Commands: []gitwire.Command{command(refs.TipName(came.ID), 0, 4), command(refs.TipName(other.ID), 0, 5)}}
	d.named(&p)
	d.wants(refs.Wait, came)
	opened := d.open(addressOf(repo), p)
	if len(opened.PullRequests) != 1 || opened.PullRequests[0] != came.ID || len(opened.Uploads) != 1 || opened.Uploads[0].Event != other.ID {
		t.Errorf("%+v", opened.Verdict)
	}
	p.Upload = opened.Upload
	d.wants(refs.Wait, other)
	if got := d.arrive(refdb.Arrival{Of: addressOf(repo), Push: &p, Dir: refdb.Dir{1}}, id(4), id(5)); len(got.PullRequests) != 2 || len(got.Uploads) != 0 {
		t.Errorf("%+v", got.Verdict)
	}
	d.are("served", came, other)
}

func TestUploads(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	pr, wrong := d.pullRequest(2, 4, repo), d.pullRequest(2, 5, repo)
	for _, e := range []*nostr.Event{pr, wrong} {
		if v := d.push(repo, 1, command(refs.TipName(e.ID), 0, 4)); v.Refused() {
			t.Fatalf("%+v", v)
		}
	}
	if n, _ := d.ledger.Uploads(); n != 2 || d.shelf[refdb.Dir{1}][id(4)] {
		t.Errorf("%d uploads", n)
	}
	broken := errors.New("broken")
	err := d.turn(func(turn refdb.Turn) error {
		_, err := turn.Wait(pr, store.Wait{Until: d.now.Add(time.Hour).Unix()})
		d.must(err)
		d.must(d.ledger.Waits(turn, pr, ""))
		return broken
	})
	if !errors.Is(err, broken) || len(d.found)+len(d.dropped) != 0 {
		t.Errorf("%v: found %v, dropped %v", err, d.found, d.dropped)
	}
	d.wants(refs.Wait, d.announcement(5, "e"))
	if len(d.found)+len(d.dropped) != 0 {
		t.Errorf("of a batch that was dropped: found %v, dropped %v", d.found, d.dropped)
	}
	d.wants(refs.Wait, pr)
	if len(d.found) != 1 || d.found[0] != "1 "+pr.ID.String() || len(d.dropped) != 1 {
		t.Errorf("found %v, dropped %v", d.found, d.dropped)
	}
	d.arrive(refdb.Arrival{Of: addressOf(repo), Tips: []nostr.ID{pr.ID}}, id(4))
	d.are("served", pr)
	d.wants(refs.Wait, wrong)
	if len(d.found) != 1 || len(d.dropped) != 2 {
		t.Errorf("another tip: found %v, dropped %v", d.found, d.dropped)
	}
}

func TestWhoFollows(t *testing.T) {
	d := newDesk(t)
	mine, theirs, stranger := d.announcement(1, "d", 2), d.announcement(2, "d", 1), d.announcement(3, "d")
	own, state := d.stateOf(3, "d", "main=2"), d.stateOf(2, "d", "main=1")
	d.wants(refs.Wait, mine, theirs, stranger, state, own)
	d.push(stranger, 3, branch("main", 0, 2))
	d.push(mine, 1, branch("main", 0, 1))
	d.are("served", mine, theirs, stranger, state, own)
	followers := func(of *nostr.Event) (who []byte) {
		_, others, err := d.reader().Followers(addressOf(of))
		d.must(err)
		for _, r := range others {
			who = append(who, r.Of.PubKey[1])
		}
		return who
	}
	if got := followers(mine); string(got) != "\x02" {
		t.Errorf("%v follow", got)
	}
	d.arrive(refdb.Arrival{Of: addressOf(theirs), Dir: refdb.Dir{2}}, id(1))
	d.shows(theirs, "main=1")
	if got := followers(mine); len(got) != 0 {
		t.Errorf("%v follow again", got)
	}
	d.wants(refs.Store, d.announcement(1, "d", 2, 4), d.announcement(4, "d", 1))
	if got := followers(mine); string(got) != "\x04" {
		t.Errorf("%v follow", got)
	}
	d.must(d.turn(func(turn refdb.Turn) error { return turn.Remove(state.ID, store.ReasonDeleted) }))
	if got := followers(mine); len(got) != 0 {
		t.Errorf("%v follow a state that is gone", got)
	}
}

func TestKeptObjects(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	d.wants(refs.Wait, d.stateOf(1, "d", "main=2 dev=3"))
	r, ids, err := d.reader().Kept(addressOf(repo))
	if r.Dir.IsZero() || len(ids) != 3 || err != nil {
		t.Errorf("%+v, %v, %v", r, ids, err)
	}
}

func TestAStateThatLacksAnObjectGoesOnWaiting(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted(2)
	d.wants(refs.Store, d.announcement(2, "d", 1))
	part := d.stateOf(2, "d", "main=2 dev=5")
	d.wants(refs.Wait, part)
	all := d.stateOf(1, "d", "main=2")
	d.wants(refs.Wait, all)
	d.push(repo, 1, branch("main", 1, 2))
	d.are("waits", part)
	d.are("served", all)
	d.shows(repo, "main=2")
	// One that was stored before its repository was hosted rules as soon as it is complete, and not before.
	old := d.stateOf(1, "d", "main=2 dev=6")
	d.must(d.turn(func(turn refdb.Turn) error { d.add(turn, old); return nil }))
	d.shows(repo, "main=2")
	if v := d.push(repo, 1, branch("dev", 0, 6)); v.Refused() {
		t.Errorf("%+v", v)
	}
	d.shows(repo, "dev=6 main=2")
}

func TestAnAnnouncementThatIsServedIsReplaced(t *testing.T) {
	d := newDesk(t)
	d.must(d.turn(func(turn refdb.Turn) error { d.add(turn, d.announcement(1, "d")); return nil }))
	d.wants(refs.Store, d.announcement(1, "d")) // though nothing of its data is here
}

func TestATipIsShownWhereItIs(t *testing.T) {
	d := newDesk(t)
	mine, theirs := d.hosted(), d.announcement(2, "d")
	d.wants(refs.Wait, theirs, d.stateOf(2, "d", "main=2"))
	d.push(theirs, 2, branch("main", 0, 2))
	pr := d.pullRequest(3, 4, mine, theirs)
	d.wants(refs.Wait, pr)
	d.push(mine, 1, command(refs.TipName(pr.ID), 0, 4))
	d.are("served", pr)
	d.shows(mine, "main=1 pr=4")
	d.shows(theirs, "main=2")
	d.push(theirs, 2, command(refs.TipName(pr.ID), 0, 4))
	d.shows(theirs, "main=2 pr=4")
}

// TestATipThatComesWithABranch: a pull request that is served already, as its tip is in another repository, gets its ref in this one once
// a branch or a fetch brings the commit, over a restart, too.
func TestATipThatComesWithABranch(t *testing.T) {
	for _, way := range []string{"push", "fetch", "restart", "first"} {
		t.Run(way, func(t *testing.T) {
			d := newDesk(t)
			mine, theirs := d.hosted(), d.announcement(2, "d")
			state := d.stateOf(2, "d", "main=2")
			d.wants(refs.Wait, theirs, state)
			if way != "first" { // what comes first is the announcement's own
				d.push(theirs, 2, branch("main", 0, 2))
			}
			pr, other := d.pullRequest(3, 4, mine, theirs), d.pullRequest(3, 5, mine, theirs)
			d.wants(refs.Wait, pr, other)
			d.push(mine, 1, command(refs.TipName(pr.ID), 0, 4))
			d.push(mine, 1, command(refs.TipName(other.ID), 0, 5))
			d.are("served", pr, other)
			a := refdb.Arrival{Of: addressOf(theirs), Dir: refdb.Dir{2}}
			want := "main=6 pr=4"
			switch way {
			case "first":
				want = "main=2 pr=4"
				d.arrive(a, id(2), id(4))
			case "fetch":
				want = "main=2 pr=4"
				d.arrive(a, id(4))
			default:
				if way == "restart" {
					d.restart()
				}
				d.wants(refs.Wait, d.stateOf(2, "d", "main=6"))
				d.put(refdb.Dir{2}, id(4)) // which 6 leads to
				d.push(theirs, 2, branch("main", 2, 6))
			}
			d.shows(theirs, want)
			d.arrive(a, id(5)) // the other one was not forgotten meanwhile
			d.shows(theirs, want+" pr=5")
		})
	}
}

// TestAwaitedTipsAreBounded: of those that a repository awaits it remembers so many, the newest; and none that has gone meanwhile.
func TestAwaitedTipsAreBounded(t *testing.T) {
	d := newDesk(t)
	mine, theirs := d.hosted(), d.announcement(2, "d")
	d.wants(refs.Wait, theirs, d.stateOf(2, "d", "main=2"))
	d.push(theirs, 2, branch("main", 0, 2))
	var all []gitwire.ObjectID
	var last *nostr.Event
	for n := byte(10); n < 10+70; n++ {
		d.put(refdb.Dir{1}, id(n))
		all = append(all, id(n))
		last = d.pullRequest(3, n, mine, theirs)
		d.wants(refs.Store, last)
	}
	d.must(d.turn(func(t refdb.Turn) error { return t.Remove(last.ID, store.ReasonDeleted) }))
	d.arrive(refdb.Arrival{Of: addressOf(theirs), Dir: refdb.Dir{2}}, all...)
	pulls := d.kept(theirs).Refs.PullRequests
	if len(pulls) != 63 || slices.ContainsFunc(pulls, func(p refs.Pull) bool { return p.Tip == id(10) || p.ID == last.ID }) {
		t.Errorf("%d refs of pull requests: %v", len(pulls), pulls)
	}
}

func TestAwaitedTipsGoWithTheRepository(t *testing.T) {
	for _, data := range []bool{true, false} {
		d := newDesk(t)
		mine, theirs := d.hosted(), d.announcement(2, "d")
		d.wants(refs.Wait, theirs)
		if data {
			d.wants(refs.Wait, d.stateOf(2, "d", "main=2"))
			d.push(theirs, 2, branch("main", 0, 2))
		}
		d.put(refdb.Dir{1}, id(4))
		d.wants(refs.Store, d.pullRequest(3, 4, mine, theirs))
		rows := func() (n int) {
			v := d.store.View()
			defer v.Close()
			d.must(v.EachRow(refdb.AwaitedPrefix, "", func(string, []byte) (bool, error) { n++; return true, nil }))
			return n
		}
		if n := rows(); n != 1 {
			t.Errorf("data %t: %d repositories await tips", data, n)
		}
		d.must(d.turn(func(turn refdb.Turn) error { return turn.Remove(theirs.ID, store.ReasonDeleted) }))
		d.must(d.turn(func(turn refdb.Turn) error {
			_, _, err := d.ledger.Remove(turn, addressOf(theirs), d.now.Unix()+1)
			return err
		}))
		if n := rows(); n != 0 {
			t.Errorf("data %t: %d repositories that are gone await tips", data, n)
		}
	}
}

// TestLargeStatesThatWait: they leave the room for what waits to others. The oldest ones of an author, and of all, go.
func TestLargeStatesThatWait(t *testing.T) {
	d := newDesk(t)
	large := func(author byte, name string) *nostr.Event {
		d.come(d.announcement(author, name), "")
		e := d.stateOf(author, name, "main=1")
		e.Content = strings.Repeat("x", 3<<20)
		e.ID = e.ComputeID()
		d.come(e, "")
		return e
	}
	small := d.announcement(1, "small")
	d.wants(refs.Wait, small, d.stateOf(1, "small", "main=1"))
	var all []*nostr.Event
	for author := byte(1); author <= 5; author++ {
		for i := range 6 {
			all = append(all, large(author, string(rune('a'+i))))
		}
		d.are("lapsed", all[len(all)-6])
	}
	d.are("waits", small)
	d.are("lapsed", all[1:5]...)
	d.are("waits", all[8:12]...)
	again := refdb.New(d.ledger.Config)
	d.ledger = again
	all = append(all, large(6, "f"))
	d.are("lapsed", all[5])
	d.are("waits", append(all[7:12:12], all[len(all)-1])...)
}

// However many states of one identifier wait, who decides for whom is worked out as often as if there were two of them.
func TestWhatWaitsOfManyIsJudgedAtOnce(t *testing.T) {
	var asked []int
	for _, many := range []byte{2, 40} {
		d := newDesk(t)
		repo := d.hosted()
		for i := range many {
			d.wants(refs.Wait, d.announcement(10+i, "d"), d.stateOf(10+i, "d", "main=2"))
		}
		d.asked = 0
		if v := d.push(repo, 1, branch("main", 1, 1)); v.Refused() {
			t.Fatalf("%+v", v)
		}
		d.wants(refs.Store, d.stateOf(1, "d", "dev=1"))
		asked = append(asked, d.asked)
	}
	if asked[0] != asked[1] {
		t.Errorf("asked for %d and %d times", asked[0], asked[1])
	}
}

// Of those who come to decide at once, the newest state rules.
func TestTheNewestOfManyStatesRules(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	for by := byte(3); by < 6; by++ {
		theirs, name := d.announcement(by, "d", 1), fmt.Sprint("by", by)
		d.wants(refs.Wait, theirs, d.stateOf(by, "d", name+"=1"))
		if v := d.push(theirs, by, branch(name, 0, 1)); v.Refused() {
			t.Fatalf("%+v", v)
		}
	}
	d.shows(repo, "main=1")
	d.wants(refs.Store, d.announcement(1, "d", 5, 4, 3))
	d.shows(repo, "by5=1")
}

// What is remembered of a state that waits is no longer than the state is to be.
func TestAWaitingStateThatExpires(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	state := d.stateOf(1, "d", "main=2")
	state.Tags = append(state.Tags, nostr.Tag{"expiration", fmt.Sprint(time.Now().Add(time.Hour).Unix())}) // by the store's clock, too
	state.ID = state.ComputeID()
	d.wants(refs.Wait, state)
	for _, want := range []bool{false, true} {
		p := refs.Push{Commands: []gitwire.Command{branch("main", 1, 2)}}
		d.must(d.turn(func(t refdb.Turn) error {
			o, err := d.ledger.Open(t, addressOf(repo), p)
			if o.Refused() != want {
				d.Errorf("refused: %v, %+v", o.Refused(), o.Results)
			}
			return err
		}))
		d.now = time.Now().Add(2 * time.Hour)
	}
}
