package ingest

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// decide finds the verdict on a genuine event and writes what follows from the verdict into the open batch. After an error the caller drops
// the batch.
func (w *writer) decide(it *item) (policy.Verdict, error) {
	if err := w.begin(); err != nil {
		return policy.Verdict{}, err
	}
	x := w.orphans.byID[it.event.ID]
	if x != nil && !x.leaving && !it.src.conf.Direct {
		// The event waits in the buffer, so nothing has changed for it. But if the store has forgotten the event, it is decided
		// again: otherwise comparisons with relays would make graspd fetch it again and again.
		known, err := w.open.batch.Known(it.event.ID)
		if err != nil || known.State == store.Remembered {
			return verdictStored(known.Why), err
		}
	}
	by := it.by
	if x != nil {
		by = max(by, x.by) // the author may have brought the copy in the buffer, and somebody else this copy
	}
	address := it.address
	if it.paid {
		address = ""
	}
	v, err := it.verdict, error(nil)
	if v.Outcome != policy.Refuse {
		v, err = w.verdictOn(it.event, by, address)
	}
	if err == nil {
		it.paid = it.paid || v.OK()
		err = w.apply(it.event, it.from, it.src.conf.Label, v.Outcome)
	}
	if err != nil {
		return v, err
	}
	if x == nil && !it.decided {
		w.door.unlisted.saw(it, v)
	}
	switch {
	case x != nil:
		w.promotion.decidedAgain(x, v.Outcome)
	case v.Outcome.Orphan():
		if x := w.orphans.add(it); x != nil {
			w.promotion.added = append(w.promotion.added, x)
		}
	}
	return v, nil
}

// verdictOn asks the store's rules, then the policy, then the ledger, and last the bounds of the address that brings e. It returns the first
// refusal.
func (w *writer) verdictOn(e *nostr.Event, by policy.Bearer, address string) (policy.Verdict, error) {
	outcome, err := w.open.batch.Outcome(e)
	if err != nil {
		return policy.Verdict{}, fmt.Errorf("decide event %s: %w", e.ID, err)
	}
	switch {
	case outcome == policy.Duplicate && expired(e, w.door.now()):
		return verdictStored(policy.Expired), nil
	case outcome == policy.Superseded:
		return w.outdated(e)
	case outcome != policy.Accept:
		return verdictStored(outcome), nil
	}
	v, err := w.rules.Decide(e, by, w.view(), w.door.now())
	if err == nil {
		v, err = w.hosted(e, by, v)
	}
	if err != nil || v.Outcome != policy.Accept && v.Outcome != policy.Wait {
		return v, err
	}
	if v, err = w.withinAccount(e, address, v); err != nil {
		return v, err
	}
	return warnCredentials(w.door.log, e, v), nil
}

// apply writes into the batch what follows from a verdict. The store remembers an event that is refused for good or for want of another.
func (w *writer) apply(e *nostr.Event, from store.Source, label string, o policy.Outcome) error {
	switch o {
	case policy.Accept:
		return w.accept(e, from)
	case policy.Wait:
		return w.await(e, from, label)
	case policy.Duplicate, policy.Discard, policy.Invalid, policy.Failed:
		return nil
	}
	if err := w.open.batch.Remember(e, o); err != nil {
		return err
	}
	if o.Orphan() && e.Kind == nip34.KindState && w.ledger != nil {
		if err := w.forgets.forgetLapsed(e); err != nil {
			return err
		}
	}
	return w.prune()
}

// reconsider makes the writer decide the orphans again that may have waited for e.
func (w *writer) reconsider(e *nostr.Event) {
	for _, x := range w.orphans.concerned(e) {
		w.promotion.reconsider(x)
	}
}

// add stores e, notes when it expires, and removes announcements that e no longer invites. It forgets refusals for want of e, so that those
// events are fetched again, and makes the writer decide orphans again.
func (w *writer) add(e *nostr.Event, from store.Source) error {
	if e.Kind == nip34.KindRepository {
		// Another version may invite others. An author's first announcement ends nobody's invitation.
		replaces, err := w.open.batch.HasAddress(e.Address())
		if err != nil {
			return err
		}
		if replaces {
			w.open.changed = append(w.open.changed, e.Tags.D())
		}
	}
	out, err := w.open.batch.Add(e, from)
	if err == nil && out != policy.Accept {
		err = fmt.Errorf("event %s was accepted, and is %s by now", e.ID, out)
	}
	if err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		w.known.changed(e.Tags.D())
	}
	if w.ledger != nil {
		if err := w.ledger.Served(w.turn(), e); err != nil {
			return err
		}
	}
	if err := w.forgets.forget(e); err != nil {
		return err
	}
	w.reconsider(e)
	if e.Kind == nostr.KindVanish || w.open.batch.Unfinished() > 0 {
		w.purging.due = true
	}
	if at, ok := e.Expiration(); ok {
		w.expiry.expect(at, w.door.now())
	}
	return w.prune()
}
