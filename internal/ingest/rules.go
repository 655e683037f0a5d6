package ingest

import (
	"context"
	"fmt"

	"github.com/graspd/graspd/internal/policy"
)

// ruling is a change of the rules on its way to the writer.
type ruling struct {
	rules policy.Rules
	done  chan error // one slot
}

// SetRules puts rules in the place of those of before. When it returns nil they are in force for all that is decided from
// then on, what the old ones refused and these may take is forgotten, so that it is fetched again, and what waits for other
// events is decided again. Nothing that is stored goes. After an error the old ones are in force: the store's, ctx's cause,
// or ErrStopped. Run must be running.
func (d *Door) SetRules(ctx context.Context, rules policy.Rules) error {
	r := ruling{rules, make(chan error, 1)}
	err := d.rule(ctx, r)
	if err != nil {
		return fmt.Errorf("set rules: %w", err)
	}
	return nil
}

func (d *Door) rule(ctx context.Context, r ruling) error {
	select {
	case d.rulings <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.stop:
		return ErrStopped
	}
	d.nudge()
	select { // on its way it cannot be taken back
	case err := <-r.done:
		return err
	case <-d.stop:
		return ErrStopped
	}
}

// rule takes over other rules, if there are any. What was decided by the old ones is committed first.
func (w *writer) rule() {
	select {
	case r := <-w.door.rulings:
		if !w.round.idle() {
			w.commit()
		}
		r.done <- w.takeOver(r.rules)
	default:
	}
}

func (w *writer) takeOver(rules policy.Rules) error {
	looser := rules.Loosens(w.rules)
	if err := w.open(); err != nil {
		return err
	}
	if err := w.round.batch.SetRules(rules.Fingerprint(), looser); err != nil {
		w.abort(err)
		return err
	}
	if _, err := w.round.batch.Commit(); err != nil {
		w.abort(err)
		return err
	}
	w.finish()
	w.rules = rules
	w.known.reset()
	if looser {
		w.orphans.each(w.promotion.reconsider)
	}
	return nil
}
