package ingest

import (
	"context"
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
)

// rulesInForce are rules, and what tells of the next.
type rulesInForce struct {
	policy.Rules
	over chan struct{} // closed when others have come into force
}

// Rules returns the rules in force.
func (d *Door) Rules() policy.Rules { return d.rules.Load().Rules }

// FollowRules returns the rules in force, and a channel that is closed when others have come into force.
func (d *Door) FollowRules() (policy.Rules, <-chan struct{}) {
	r := d.rules.Load()
	return r.Rules, r.over
}

// ruleChange is a change of the rules on its way to the writer.
type ruleChange struct {
	rules policy.Rules
	done  chan error // one slot
}

// SetRules puts new rules into force for all decisions after it returns. Where the new rules are looser, the store forgets the refusals by
// the old rules, so that those events are fetched again, and the writer decides orphans again. No stored event goes. The error is the
// store's, ctx's cause or ErrStopped, and then the old rules stay in force. SetRules waits for the writer, so Run must be running.
func (d *Door) SetRules(ctx context.Context, rules policy.Rules) error {
	r := ruleChange{rules, make(chan error, 1)}
	err := d.sendRules(ctx, r)
	if err != nil {
		return fmt.Errorf("set rules: %w", err)
	}
	return nil
}

// sendRules hands a change of the rules to the writer, and waits for the answer.
func (d *Door) sendRules(ctx context.Context, r ruleChange) error {
	select {
	case d.ruleChanges <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.stop:
		return ErrStopped
	}
	d.nudge()
	select { // not for ctx: the writer may have taken the rules already
	case err := <-r.done:
		return err
	case <-d.stop:
		return ErrStopped
	}
}

// receiveRules puts new rules into force, if any have come. It first commits what was decided by the old rules.
func (w *writer) receiveRules() {
	select {
	case r := <-w.door.ruleChanges:
		if !w.open.idle() {
			w.commit()
		}
		r.done <- w.takeOver(r.rules)
	default:
	}
}

// takeOver stores the fingerprint of the rules in a batch of its own. From then on the writer decides by these rules.
func (w *writer) takeOver(rules policy.Rules) error {
	looser := rules.Loosens(w.rules)
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.open.batch.SetRules(rules.Fingerprint(), looser); err != nil {
		w.abort(err)
		return err
	}
	if _, err := w.open.batch.Commit(); err != nil {
		w.abort(err)
		return err
	}
	w.finish(nil)
	w.rules = rules
	close(w.door.rules.Swap(&rulesInForce{rules, make(chan struct{})}).over)
	w.known.reset()
	if looser {
		w.orphans.each(w.promotion.reconsider)
	}
	return nil
}
