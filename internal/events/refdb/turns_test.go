package refdb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWhichPushesAreOpenedInATurn: those for whose events somebody has to wait longer, and those that name events which nobody knows. A Reader opens the
// others.
func TestWhichPushesAreOpenedInATurn(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	of := addressOf(repo)
	opens := func(what string, turns int, commands ...gitwire.Command) {
		t.Helper()
		d.turns = 0
		if d.open(of, refs.Push{Commands: commands}); d.turns != turns {
			t.Errorf("%s: %d turns", what, d.turns)
		}
	}
	opens("nothing is allowed", 0, branch("main", 1, 3))
	opens("nothing changes", 0, branch("main", 0, 1))
	d.wants(refs.Wait, d.stateOf(1, "d", "main=2"))
	d.now = d.now.Add(50 * time.Second)
	opens("a state that has just come", 0, branch("main", 1, 2))
	d.now = d.now.Add(2 * time.Minute)
	opens("a state that has waited for a while", 1, branch("main", 1, 2))
	opens("once more", 0, branch("main", 1, 2))
	pr := d.pullRequest(2, 4, repo)
	opens("a commit before its event", 1, command(refs.TipName(pr.ID), 0, 4))
	opens("a commit of which another one is here", 1, command(refs.TipName(pr.ID), 0, 5))
	d.wants(refs.Wait, pr)
	opens("its event waits", 0, command(refs.TipName(pr.ID), 0, 4))
	d.now = d.now.Add(2 * time.Minute)
	opens("its event has waited for a while", 1, command(refs.TipName(pr.ID), 0, 4))
	opens("among others", 1, branch("main", 1, 2), command(refs.TipName(pr.ID), 0, 4))
	opens("and once more", 0, branch("main", 1, 2), command(refs.TipName(pr.ID), 0, 4))
	of = addressOf(d.announcement(7, "nobody's"))
	opens("nobody has announced it", 0, branch("main", 0, 1))
}

// TestAWaitThatEndsWithItsEvent is set back by no push: an event that expires soon waits for no longer.
func TestAWaitThatEndsWithItsEvent(t *testing.T) {
	d := newDesk(t)
	d.now = time.Unix(4_000_000_000, 0)
	repo := d.hosted()
	pr := d.pullRequest(2, 4, repo)
	pr.Tags = append(pr.Tags, nostr.Tag{"expiration", "4000000600"})
	pr.ID = pr.ComputeID()
	d.wants(refs.Wait, pr)
	d.are("waits", pr)
	d.now = d.now.Add(5 * time.Minute)
	d.open(addressOf(repo), refs.Push{Commands: []gitwire.Command{command(refs.TipName(pr.ID), 0, 4)}})
	if d.turns != 0 {
		t.Error("it takes a turn")
	}
}

// TestAnUploadOfADroppedBatchHasNotBegun: it counts for nothing, not even for what began within an hour.
func TestAnUploadOfADroppedBatchHasNotBegun(t *testing.T) {
	d := newDesk(t)
	repo, broken := d.hosted(), errors.New("broken")
	for range refs.MaxAddressTips + 1 {
		pr := d.pullRequest(2, 4, repo)
		p := refs.Push{Commands: []gitwire.Command{command(refs.TipName(pr.ID), 0, 4)}, From: refs.From{Address: "192.0.2.1"}}
		err := d.turn(func(t refdb.Turn) error {
			o, err := d.ledger.Open(t, addressOf(repo), p)
			if d.must(err); o.Upload == 0 {
				d.Fatalf("%+v", o.Verdict)
			}
			if n, _ := d.ledger.Uploads(); n != 1 {
				d.Errorf("%d uploads in the turn", n)
			}
			return broken
		})
		if n, _ := d.ledger.Uploads(); n != 0 || !errors.Is(err, broken) {
			t.Fatalf("%d uploads, %v", n, err)
		}
	}
}

// TestUploadsExpireAfterEventsOfTheirBatch: an event that comes in the batch in which the time of its upload is found to be over comes in time.
func TestUploadsExpireAfterEventsOfTheirBatch(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	pr, never := d.pullRequest(2, 4, repo), d.pullRequest(2, 5, repo)
	for _, e := range []*nostr.Event{pr, never} {
		if v := d.push(repo, 1, command(refs.TipName(e.ID), 0, 4)); v.Refused() {
			t.Fatalf("%+v", v)
		}
	}
	d.now = d.now.Add(time.Hour)
	broken := errors.New("broken")
	if err := d.turn(func(refdb.Turn) error { d.ledger.ExpireUploads(); return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if n, _ := d.ledger.Uploads(); n != 2 {
		t.Errorf("%d uploads after a batch that was dropped", n)
	}
	d.must(d.turn(func(turn refdb.Turn) error {
		_, err := turn.Wait(pr, store.Wait{Until: d.now.Add(time.Hour).Unix()})
		d.must(err)
		d.must(d.ledger.Waits(turn, pr, ""))
		d.ledger.ExpireUploads()
		return nil
	}))
	if n, _ := d.ledger.Uploads(); n != 0 || len(d.found) != 1 || len(d.dropped) != 2 {
		t.Errorf("%d uploads, found %v, dropped %v", n, d.found, d.dropped)
	}
}

// TestWhatIsNotAdmittedIsNotNoted: a turn that admits nothing in the end has noted nothing for the batch, which others may have as well.
func TestWhatIsNotAdmittedIsNotNoted(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	pr := d.pullRequest(2, 4, repo)
	p := refs.Push{Commands: []gitwire.Command{command(refs.TipName(pr.ID), 0, 4)}}
	p.Upload = d.open(addressOf(repo), p).Upload
	d.wants(refs.Wait, pr)
	full := errors.New("no room")
	d.must(d.turn(func(t refdb.Turn) error {
		before, steps := d.ledger.Noted(), t.Steps()
		_, err := d.ledger.Arrive(t, refdb.Arrival{Of: addressOf(repo), Push: &p, Admit: func(refdb.Dir) error { return full }})
		if !errors.Is(err, full) || d.ledger.Noted() != before || t.Steps() != steps {
			d.Errorf("%v, noted %d, %d steps", err, d.ledger.Noted()-before, t.Steps()-steps)
		}
		return nil
	}))
	if n, _ := d.ledger.Uploads(); n != 1 {
		t.Errorf("%d uploads: that push is not at its end", n)
	}
}

// TestSettlingTwiceInABatch is as settling in two: an update whose ref came in the batch loses the ref though its pull request has gone before.
func TestSettlingTwiceInABatch(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	pr := d.pullRequest(2, 1, repo)
	d.wants(refs.Store, pr)
	update := d.event(2, 1619, nostr.Tag{"E", pr.ID.String()}, nostr.Tag{"c", id(1).String()})
	d.must(d.turn(func(t refdb.Turn) error {
		d.add(t, update)
		d.must(d.ledger.Settle(t))
		d.must(t.Remove(pr.ID, store.ReasonBarred))
		d.must(d.ledger.Settle(t))
		r, err := refdb.Read(t, addressOf(repo))
		d.must(err)
		if n := len(r.Refs.PullRequests); n != 1 {
			d.Errorf("%d refs of pull requests", n)
		}
		return t.Remove(update.ID, store.ReasonBarred)
	}))
	d.shows(repo, "main=1")
}

// TestWhatIsCompleteIsFoundBesideTheWriter: a Reader knows where there is anything to serve.
func TestWhatIsCompleteIsFoundBesideTheWriter(t *testing.T) {
	d := newDesk(t)
	d.hosted()
	state := d.stateOf(1, "d", "main=2")
	d.wants(refs.Wait, state)
	complete := func(want bool) {
		t.Helper()
		if is, err := d.reader().Complete("d"); err != nil || is != want {
			t.Errorf("%v, %v", is, err)
		}
	}
	complete(false)
	d.put(refdb.Dir{1}, id(2)) // a kill came before the commit
	complete(true)
	d.must(d.turn(func(t refdb.Turn) error {
		ids, err := d.ledger.Complete(t, "d")
		d.serve(t, ids)
		return err
	}))
	d.are("served", state)
	complete(false)
}
