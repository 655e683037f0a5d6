package ingest

import (
	"errors"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// turn returns the open batch in the form in which the ledger works on it.
func (w *writer) turn() refdb.Turn {
	v := w.view()
	return refdb.Turn{Batch: w.open.batch, Now: w.door.now(), Announced: func(d string) (*policy.Announced, error) {
		return v.Announcements(d, w.rules)
	}, Serves: w.rules.Serves, Left: func(id nostr.ID) bool { return w.away.out[id] }}
}

// hosted returns the final verdict on an event after the rules' verdict v: accepted, or waiting for git data. It also accepts an event that
// the rules refuse only because the event's repository or pull request waits.
func (w *writer) hosted(e *nostr.Event, by policy.Bearer, v policy.Verdict) (policy.Verdict, error) {
	if ends, err := w.endsWait(e, v); ends || err != nil {
		return policy.Verdict{}, err
	}
	if w.ledger == nil || !refdb.Concerns(e.Kind) {
		return v, nil
	}
	claimed := v.Outcome.Orphan() && e.Kind != nip34.KindRepository
	if claimed {
		x, err := w.rules.Decide(e, by, claims{w.view()}, w.door.now())
		if err != nil || x.Outcome != policy.Accept {
			return v, err
		}
	} else if v.Outcome != policy.Accept {
		return v, nil
	}
	if newer, err := w.outwaited(e); newer || err != nil {
		return verdictOutwaited, err
	}
	d, err := w.ledger.Decide(w.turn(), e)
	if err != nil {
		return v, err
	}
	switch {
	case d.Outcome == refs.Wait:
		return policy.Verdict{Outcome: policy.Wait, Reason: d.OK}, nil
	case d.Outcome == refs.Refuse:
		return policy.Verdict{Outcome: policy.Refuse, Reason: d.OK}, nil
	case claimed && e.Kind != nip34.KindState:
		return v, nil // the event needs no git data itself, and nothing that it names is served
	}
	return policy.Verdict{}, nil
}

// outwaited reports whether a newer version of e, at the same address, waits.
func (w *writer) outwaited(e *nostr.Event) (bool, error) {
	address := e.Address()
	if address == "" {
		return false, nil
	}
	s, ok, err := w.open.batch.WaitingAt(address)
	return ok && s.ID != e.ID && s.Newer(e.Stamp()), err
}

// claims shows the rules what they would see if all waiting repositories and pull requests were served.
type claims struct{ view }

// Announcements returns the waiting announcements too.
func (c claims) Announcements(d string, r policy.Rules) (*policy.Announced, error) {
	same, err := c.view.Announcements(d, r)
	if err != nil {
		return nil, err
	}
	waiting, err := c.WaitingAnnouncements(d)
	if err != nil {
		return nil, err
	}
	return same.With(r.ReadAll(waiting)), nil
}

// HasAddress is true also where the announcement of a repository waits at the address.
func (c claims) HasAddress(address string) (bool, error) {
	ok, err := c.view.HasAddress(address)
	if ok || err != nil {
		return ok, err
	}
	a, err := nip34.ParseAddress(address)
	if err != nil || a.Kind != nip34.KindRepository {
		return false, nil
	}
	_, ok, err = c.WaitingAt(address)
	return ok, err
}

// Has is true also where a pull request with that id waits.
func (c claims) Has(id nostr.ID) (bool, error) {
	ok, err := c.view.Has(id)
	if ok || err != nil {
		return ok, err
	}
	w, err := c.Waiting(id)
	return w.Event != nil && w.Event.Kind == nip34.KindPullRequest, err
}

// await makes e a waiting event: its git data has to come within refdb.WaitFor. It does nothing where e waits already.
func (w *writer) await(e *nostr.Event, from store.Source, label string) error {
	out, err := w.open.batch.Wait(e, store.Wait{Source: from, Came: w.door.now().Unix(), Until: w.door.now().Add(refdb.WaitFor).Unix(), From: label})
	if err != nil || out != policy.Wait {
		return err
	}
	if err := w.ledger.Waits(w.turn(), e, label); err != nil {
		return err
	}
	w.lapsing.expect(w.door.now().Add(refdb.WaitFor).Unix(), w.door.now())
	if e.Kind != nip34.KindRepository {
		return nil
	}
	// States of this repository may have come before its announcement, and may be accepted now.
	w.reconsider(e)
	return w.forgets.forgetRepository(e.Tags.D())
}

// accept stores e, and every waiting event whose wait e ends, in the order of the ledger.
func (w *writer) accept(e *nostr.Event, from store.Source) error {
	if w.ledger == nil || !refdb.Concerns(e.Kind) {
		return w.add(e, from)
	}
	ids, err := w.ledger.Release(w.turn(), e)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id == e.ID {
			err = w.add(e, from)
		} else {
			err = w.release(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// release makes a waiting event a served one, because of another event or of git data that has come. Its error is a refdb.Fault: it costs the
// waiting event alone, which release leaves waiting from then on.
func (w *writer) release(id nostr.ID) error {
	if w.away.out[id] {
		return nil
	}
	if err := w.serve(id); err != nil {
		return &refdb.Fault{Event: id, Err: err}
	}
	return nil
}

// serve makes a waiting event a served one. It ends the wait of one that has expired, or that the store may not have for another reason.
func (w *writer) serve(id nostr.ID) error {
	x, err := w.open.batch.Waiting(id)
	if err != nil {
		return err
	}
	if x.Event == nil {
		return errors.New("it does not wait, and is to be served")
	}
	switch out, err := w.open.batch.Outcome(x.Event); {
	case err != nil:
		return err
	case out == policy.Duplicate:
		return errors.New("it waits, and is served")
	case out != policy.Accept:
		return w.open.batch.EndWait(id, out)
	}
	if err := w.add(x.Event, x.Source); err != nil {
		return err
	}
	w.open.released[x.Source]++
	w.open.served = append(w.open.served, id)
	return nil
}

// settle brings the refs of repositories in line with what the batch does to events. The writer calls it last before the commit.
func (w *writer) settle() error {
	if w.ledger == nil || w.open.batch == nil {
		return nil
	}
	return w.ledger.Settle(w.turn())
}
