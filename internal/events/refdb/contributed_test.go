package refdb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func forContributors(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.prs = true
	d.restart()
	return d
}

// contribution is a pull request whose commit its signer pushes to their own place.
func (d *desk) contribution(by, commit byte, repos ...*nostr.Event) *nostr.Event {
	e := d.pullRequest(by, commit, repos...)
	e.Tags = append(e.Tags, nostr.Tag{"clone", d.rules.Service.ContributedURL(author(by), repos[0].Tags.D())})
	e.ID = e.ComputeID()
	return e
}

func (d *desk) at(of nip34.Address) refdb.Repository {
	d.Helper()
	v := d.store.View()
	defer v.Close()
	r, err := refdb.Read(v, of)
	d.must(err)
	return r
}

// pulls are the refs of a repository, in the order of some events: "1 - 3" where the second has none.
func (d *desk) pulls(of nip34.Address, events ...*nostr.Event) string {
	d.Helper()
	r := d.at(of)
	var out []string
	for _, e := range events {
		if tip := r.Refs.PullRequests.Get(refs.TipName(e.ID)); tip.IsZero() {
			out = append(out, "-")
		} else {
			out = append(out, fmt.Sprint(tip.AppendRaw(nil)[0]))
		}
	}
	if n := len(r.Refs.All()) - len(strings.Fields(strings.ReplaceAll(strings.Join(out, " "), "-", ""))); n != 0 {
		d.Errorf("%s has %d other refs", of, n)
	}
	return strings.Join(out, " ")
}

// mirrors are what announced repositories lack of what a contributed one has: "owner event" of each.
func (d *desk) unmirrored(of nip34.Address) (out []string) {
	d.Helper()
	_, list, err := d.reader().Unmirrored(of)
	d.must(err)
	for _, m := range list {
		if len(m.Events) != len(m.Tips) {
			d.Errorf("%d events and %d tips", len(m.Events), len(m.Tips))
		}
		for _, id := range m.Events {
			out = append(out, fmt.Sprint(m.To.Of.PubKey[1], " ", id))
		}
	}
	slices.Sort(out)
	return out
}

func TestAContributedRepository(t *testing.T) {
	d := forContributors(t)
	elsewhere := d.announcement(9, "d") // is not here
	of := grasp.Contributed(author(2), "d")
	one := d.contribution(2, 1, elsewhere)
	d.wants(refs.Wait, one)
	if r := d.at(of); r.Refs.Generation != 0 || !r.Dir.IsZero() || r.Gone != 0 {
		t.Errorf("what waits has %+v", r)
	}
	if v := d.pushTo(grasp.Contributed(author(3), "d"), 3, command(refs.TipName(one.ID), 0, 1)); !v.Refused() {
		t.Error("pushed to somebody else's")
	}
	if v := d.pushTo(grasp.Contributed(author(2), "e"), 3, command(refs.TipName(one.ID), 0, 1)); !v.Refused() {
		t.Error("pushed under another name")
	}
	if v := d.pushTo(of, 2, command(refs.TipName(one.ID), 0, 2)); !v.Refused() {
		t.Error("another commit")
	}
	d.are("waits", one)
	if v := d.pushTo(of, 2, command(refs.TipName(one.ID), 0, 1)); v.Refused() {
		t.Fatalf("%+v", v)
	}
	d.are("served", one)
	if got := d.pulls(of, one); got != "1" {
		t.Error(got)
	}
	if !slices.Contains(d.changed, refdb.RowName(of)) {
		t.Error("nobody is told that its files are to follow")
	}
	// What is contributed again, and has its commit here, is served at once; another commit is waited for.
	same, other := d.contribution(2, 1, elsewhere), d.contribution(2, 5, elsewhere)
	d.wants(refs.Store, same)
	d.wants(refs.Wait, other)
	update := d.event(2, nip34.KindPullRequestUpdate, nostr.Tag{"c", id(6).String()}, nostr.Tag{"E", one.ID.String()}, nostr.Tag{"a", elsewhere.Address()},
		nostr.Tag{"clone", d.rules.Service.ContributedURL(author(2), "d")})
	d.wants(refs.Wait, update)
	d.restart()
	if v := d.pushTo(of, 7, command(refs.TipName(update.ID), 0, 6)); v.Refused() {
		t.Fatalf("%+v", v)
	}
	if got := d.pulls(of, one, same, other, update); got != "1 1 - 6" {
		t.Error(got)
	}
	if d.at(of).Dir != (refdb.Dir{2}) {
		t.Error("it has moved")
	}
	// It goes some time after its last pull request, and not with a restart in between.
	at := d.now.Unix()
	for i, e := range []*nostr.Event{one, same, update} {
		d.wants(refs.Store, d.event(2, nostr.KindDeletion, nostr.Tag{"e", e.ID.String()}))
		if gone := d.at(of).Gone; (gone != 0) != (i == 2) || i == 2 && gone <= at {
			t.Errorf("after %d deletions it is gone since %d", i+1, gone)
		}
	}
	d.restart()
	if _, err := d.at(of), d.turn(func(t refdb.Turn) error {
		_, gone, err := d.ledger.Remove(t, of, at)
		if gone {
			d.Error("removed before its time")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if v := d.pushTo(of, 8, command(refs.TipName(other.ID), 0, 5)); v.Refused() || d.at(of).Gone != 0 {
		t.Errorf("it goes with a pull request in it: %+v", v)
	}
}

// TestNobodyDecidesForAContributedRepository: not even a state and an announcement of the same name by its signer.
func TestNobodyDecidesForAContributedRepository(t *testing.T) {
	d := forContributors(t)
	repo := d.hosted() // by 1
	of := grasp.Contributed(author(1), "d")
	e := d.contribution(1, 4, repo)
	d.wants(refs.Wait, e, d.stateOf(1, "d", "main=2"))
	for _, c := range []string{"refs/heads/main", "refs/tags/v1", "refs/notes/x", "HEAD"} {
		if v := d.pushTo(of, 2, command(c, 0, 2)); !v.Refused() || v.State != nil {
			t.Errorf("%s: %+v", c, v)
		}
	}
	if v := d.pushTo(of, 2, branch("main", 0, 2), command(refs.TipName(e.ID), 0, 4)); !v.Refused() || len(v.PullRequests) != 1 {
		t.Errorf("beside a branch: %+v", v)
	}
	d.pushTo(of, 2, command(refs.TipName(e.ID), 0, 4))
	if got := d.pulls(of, e); got != "4" {
		t.Error(got)
	}
	d.shows(repo, "main=1")
	if _, kept, err := d.reader().Kept(of); len(kept) != 0 || err != nil {
		d.Errorf("it keeps %v (%v)", kept, err)
	}
}

func TestWhatIsNotMirrored(t *testing.T) {
	d := forContributors(t)
	repo, theirs := d.hosted(), d.announcement(5, "d")
	theirs.Tags = slices.DeleteFunc(theirs.Tags, func(t nostr.Tag) bool { return t[0] != "d" }) // lists another service
	theirs.ID = theirs.ComputeID()
	d.wants(refs.Store, theirs) // as an invited maintainer's is, or one that was here before
	of := grasp.Contributed(author(2), "d")
	here, both, there := d.contribution(2, 3, repo), d.contribution(2, 4, repo, theirs), d.contribution(2, 5, theirs)
	for _, e := range []*nostr.Event{here, both, there} {
		d.wants(refs.Wait, e)
		if v := d.pushTo(of, 2, command(refs.TipName(e.ID), 0, e.Tags[0][1][1]-'0')); v.Refused() {
			t.Fatalf("%+v", v)
		}
	}
	want := []string{fmt.Sprint("1 ", here.ID), fmt.Sprint("1 ", both.ID)}
	slices.Sort(want)
	if got := d.unmirrored(of); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	d.restart()
	if got := d.unmirrored(of); !slices.Equal(got, want) {
		t.Errorf("after a restart: %v, want %v", got, want)
	}
	d.arrive(refdb.Arrival{Of: addressOf(repo), Tips: []nostr.ID{here.ID}}, id(3))
	if got := d.unmirrored(of); !slices.Equal(got, []string{fmt.Sprint("1 ", both.ID)}) {
		t.Errorf("one is mirrored: %v", got)
	}
	if got := d.unmirrored(grasp.Contributed(author(3), "d")); len(got) != 0 {
		t.Errorf("of what is not there: %v", got)
	}
	// What is pushed to the announced repository is there alone.
	own := d.contribution(2, 6, repo)
	d.wants(refs.Wait, own)
	d.push(repo, 1, command(refs.TipName(own.ID), 0, 6))
	d.are("served", own)
	if got := d.pulls(of, here, both, there, own); got != "3 4 5 -" {
		t.Errorf("mirrored back: %s", got)
	}
}

// TestWhatAContributedRepositoryLacks: what waits for it alone, and what it had; nothing of what an announced repository here gets.
func TestWhatAContributedRepositoryLacks(t *testing.T) {
	d := forContributors(t)
	repo, elsewhere := d.hosted(), d.announcement(9, "d") // the second is not here
	of := grasp.Contributed(author(2), "d")
	lacks := func(want ...*nostr.Event) {
		t.Helper()
		l := d.lacksAt(of)
		var got, ids []nostr.ID
		for _, n := range l.Needs {
			got = append(got, n.Event)
			if !n.Tip || len(n.IDs) != 1 || n.Author != author(2) {
				t.Errorf("%+v", n)
			}
		}
		for _, e := range want {
			ids = append(ids, e.ID)
		}
		if slices.SortFunc(got, nostr.ID.Compare); !slices.Equal(got, slices.SortedFunc(slices.Values(ids), nostr.ID.Compare)) {
			t.Errorf("it lacks %v, want %v", got, ids)
		}
		if filled := d.at(of).Refs.Generation > 0; l.Hosted != (filled || len(want) > 0) {
			t.Errorf("filled %v, hosted %v with %d needs", filled, l.Hosted, len(want))
		}
	}
	lacks()
	here, both := d.contribution(2, 3, repo), d.contribution(2, 4, elsewhere, repo)
	d.wants(refs.Wait, here, both)
	lacks()
	one, two := d.contribution(2, 5, elsewhere), d.contribution(2, 6, elsewhere)
	d.wants(refs.Wait, one, two, d.contribution(3, 7, elsewhere))
	lacks(one, two)
	d.pushTo(of, 2, command(refs.TipName(one.ID), 0, 5))
	lacks(two)
	d.push(repo, 1, command(refs.TipName(here.ID), 0, 3))
	d.are("served", one, here)
	lacks(two)
	d.restart()
	lacks(two)
}

// TestMirroringGoesInTurns: of very many tips some are mirrored at a time, and the next turn has others.
func TestMirroringGoesInTurns(t *testing.T) {
	d := forContributors(t)
	repo := d.hosted()
	of := grasp.Contributed(author(2), "d")
	var all []*nostr.Event
	for range 300 {
		e := d.contribution(2, 3, repo)
		all = append(all, e)
		if len(all) == 1 {
			d.wants(refs.Wait, e)
			d.pushTo(of, 2, command(refs.TipName(e.ID), 0, 3))
		} else {
			d.wants(refs.Store, e)
		}
	}
	if got := len(d.unmirrored(of)); got != 256 {
		t.Fatalf("%d at once", got)
	}
	var ids []nostr.ID
	for _, s := range d.unmirrored(of) {
		_, s, _ = strings.Cut(s, " ")
		x, err := nostr.ParseID(s)
		d.must(err)
		ids = append(ids, x)
	}
	d.arrive(refdb.Arrival{Of: addressOf(repo), Tips: ids}, id(3))
	if got := len(d.unmirrored(of)); got > 300-256 {
		t.Errorf("%d are left", got)
	}
}

// TestWhereNothingIsContributed: pull requests that name such a place are as any others where that is off.
func TestWhereNothingIsContributed(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	e := d.contribution(2, 3, repo)
	d.wants(refs.Wait, e)
	of := grasp.Contributed(author(2), "d")
	d.must(d.turn(func(t refdb.Turn) error {
		o, err := d.ledger.Open(t, of, refs.Push{})
		if o.Known {
			d.Error("somebody may push there")
		}
		return err
	}))
	d.push(repo, 1, command(refs.TipName(e.ID), 0, 3))
	d.are("served", e)
	if r := d.at(of); r.Refs.Generation != 0 || !r.Dir.IsZero() {
		t.Errorf("%+v", r)
	}
}

var errDisk = errors.New("planted")

func (d *desk) failing(dir refdb.Dir) { d.broken = dir }

// TestAContributedRepositoryThatCannotBeRead fails the batch that asks for it.
func TestAContributedRepositoryThatCannotBeRead(t *testing.T) {
	d := forContributors(t)
	elsewhere := d.announcement(9, "d")
	of := grasp.Contributed(author(2), "d")
	e := d.contribution(2, 1, elsewhere)
	d.wants(refs.Wait, e)
	d.pushTo(of, 2, command(refs.TipName(e.ID), 0, 1))
	d.failing(refdb.Dir{2})
	err := d.turn(func(t refdb.Turn) error {
		_, err := d.ledger.Arrive(t, refdb.Arrival{Of: of, Tips: []nostr.ID{e.ID}, Admit: func(refdb.Dir) error { return nil }})
		if err == nil {
			err = d.ledger.Settle(t)
		}
		return err
	})
	if !errors.Is(err, errDisk) {
		t.Errorf("%v", err)
	}
}
