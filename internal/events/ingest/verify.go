package ingest

import (
	"errors"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// verify runs one verifier, until the door stops.
func (d *Door) verify() {
	c := nostr.Checker{Verifier: d.verifier}
	for it := d.takeUnchecked(); it != nil; it = d.takeUnchecked() {
		d.check(it, &c)
	}
}

// check recognises the item, or verifies it.
func (d *Door) check(it *item, c *nostr.Checker) {
	if d.recognised(it) {
		return
	}
	if v := d.refused(it.event, c); v != nil {
		d.forged(it)
		d.conclude(it, v)
		return
	}
	d.counts.verified.Add(1)
	for _, w := range d.verified(it) {
		d.adopt(w, it.event)
	}
}

// refused returns the verdict on an event that is not genuine; nil for a genuine one. A fault in checking says nothing about the event, so
// then the verdict is a failure of this relay's own.
func (d *Door) refused(e *nostr.Event, c *nostr.Checker) *policy.Verdict {
	err := d.faults.Run("an event", func() error { return c.Check(e) })
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*contain.Fault](err); ok {
		return &policy.Verdict{Outcome: policy.Failed, Reason: "error: internal"}
	}
	d.counts.forged.Add(1)
	return Forged(err)
}

// Forged returns the verdict on an event of which a nostr.Checker says this; nil where it says nothing.
func Forged(err error) *policy.Verdict {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nostr.ErrForm):
		return &verdictForm
	}
	return invalid(err)
}

// recognised deals with an item that need not be verified, and reports whether it did. It looks at the copies, then the store, then the
// copies again: an id leaves the copies only after its commit, so the copies or the store know it.
func (d *Door) recognised(it *item) bool {
	return d.copied(it, false) || d.recalled(it) || d.copied(it, true)
}

// recalled answers an item from what the store knows of its id, and reports whether it did. For a client it recalls no refusals, and no events
// that have expired: the copy is verified and decided again. It leaves an error of the disk to the writer, which meets the same error.
func (d *Door) recalled(it *item) bool {
	if d.store.Unknown(it.event.ID) {
		return false
	}
	v := d.store.View()
	defer v.Close()
	known, err := v.Known(it.event.ID)
	if err != nil {
		return false
	}
	switch known.State {
	case store.Stored:
		if it.src.conf.Direct && expired(it.event, d.now()) {
			return false // the writer says that it has expired, if the copy is genuine
		}
		it.recalled = true
		d.stand(it, verdictStored(policy.Duplicate))
	case store.Remembered: // by these rules: were the refusal written again, others that have come meanwhile would seem to have refused it
		if it.src.conf.Direct {
			return false
		}
		d.stand(it, verdictStored(known.Why))
	default:
		return false
	}
	d.counts.recognised.Add(1)
	return true
}

// copied deals with an item if the door has another copy of the same id, and reports whether it did.
func (d *Door) copied(it *item, lead bool) bool {
	genuine, waits := d.follow(it, lead)
	if genuine != nil {
		d.adopt(it, genuine)
	}
	return waits || genuine != nil
}

// adopt gives an item the genuine event of its id, so that nobody uses the content of the copy. A client hears when the copy had another
// content: such a copy is a forgery, for example a protected event stripped of its protection.
func (d *Door) adopt(it *item, genuine *nostr.Event) {
	d.counts.recognised.Add(1)
	if it.src.conf.Direct {
		if err := it.event.CheckID(); err != nil {
			d.conclude(it, invalid(err))
			return
		}
	}
	it.event = genuine
	d.conclude(it, nil)
}

// conclude hands the item to the writer: with a verdict v that stands already, or with nil for a decision.
func (d *Door) conclude(it *item, v *policy.Verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case v == nil:
		d.finish(it)
	case v.Outcome == policy.Refuse: // the writer has the store remember it
		it.verdict = *v
		d.finish(it)
	default:
		d.finishWith(it, *v)
	}
}

// stand hands the item to the writer with a verdict that stands already.
func (d *Door) stand(it *item, v policy.Verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finishWith(it, v)
}

// invalid returns the verdict for the sender of a forged event.
func invalid(err error) *policy.Verdict {
	cause := nostr.ErrSig
	if errors.Is(err, nostr.ErrID) {
		cause = nostr.ErrID
	}
	return &policy.Verdict{Outcome: policy.Invalid, Reason: "invalid: " + cause.Error()}
}
