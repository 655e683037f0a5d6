package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
)

// How events are sent.
const (
	senders     = 4 // requests under way
	askPatience = 10 * time.Second
)

// Run sends events until ctx ends, and answers what is left then.
func (x *Carrier) Run(ctx context.Context) error {
	var all errgroup.Group
	for range senders {
		all.Go(func() error { x.send(ctx); return nil })
	}
	err := all.Wait()
	x.mu.Lock()
	x.ended = true
	x.roomy()
	x.mu.Unlock()
	for batch := x.take(); len(batch) > 0; batch = x.take() {
		x.give(batch, verdictEnds)
	}
	x.work.Wait()
	return err
}

// Verdicts on what no node has decided, or this one has not heard of yet.
var (
	verdictAway = policy.Verdict{Outcome: policy.Failed, Reason: "error: " + ingest.NoWriter}
	verdictEnds = policy.Verdict{Outcome: policy.Failed, Reason: "error: this node ends, and does not know whether it was taken; try again"}
	verdictLate = policy.Verdict{Outcome: policy.Failed, Reason: "error: another node has stored it, and this one has not heard of that yet; try again"}
)

func (x *events) give(batch []*event, v policy.Verdict) {
	for _, w := range batch {
		x.answer(w, v)
	}
}

// send is one of the senders.
func (x *Carrier) send(ctx context.Context) {
	for {
		select {
		case <-x.come:
		case <-ctx.Done():
			return
		}
		for batch := x.take(); len(batch) > 0; {
			decided, err := x.ask(ctx, batch)
			switch {
			case err == nil:
				x.tell(ctx, batch, decided)
				batch = nil
			case ctx.Err() != nil:
				x.give(batch, verdictEnds)
				batch = nil
			default:
				x.c.Logger.Debug("events were not decided by the node that leads", "count", len(batch), "error", err)
				batch = x.wait(ctx, batch)
			}
		}
	}
}

// wait waits before a batch is sent again, and answers what has waited for too long.
func (x *Carrier) wait(ctx context.Context, batch []*event) (left []*event) {
	_ = sleep.For(ctx, look) // then ask says so
	for _, w := range batch {
		if time.Since(w.came) >= Patience {
			x.unanswered.Add(1)
			x.answer(w, verdictAway)
			continue
		}
		left = append(left, w)
	}
	return left
}

// tell answers a batch once this node has what the other one has stored of it. Nobody hears OK who would not find the event here.
func (x *Carrier) tell(ctx context.Context, batch []*event, decided decisions) {
	x.decided.Add(uint64(len(batch)))
	stored := slices.ContainsFunc(decided.Verdicts, func(d decision) bool { return policy.Verdict{Outcome: d.Outcome}.OK() })
	has := stored && x.follow(ctx, decided.Position)
	for i, w := range batch {
		d := decided.Verdicts[i]
		v := policy.Verdict{Outcome: d.Outcome, Reason: d.Reason}
		if v.OK() && !has {
			v = verdictLate
		}
		if w.of.conf.Charge != nil && d.Steps > 0 {
			w.of.conf.Charge(d.Steps)
		}
		x.answer(w, v)
	}
}

// follow waits until this node has the commit log up to a position, and returns false where it has not after Patience.
func (x *Carrier) follow(ctx context.Context, position uint64) bool {
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		at, moved := x.c.Nodes.FollowPlace()
		if at.Position >= position {
			return true
		}
		select {
		case <-moved:
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// ask has the node that leads decide a batch.
func (x *Carrier) ask(ctx context.Context, batch []*event) (d decisions, err error) {
	offers := make([]offer, len(batch))
	for i, w := range batch {
		offers[i] = offer{w.of.conf.Label, w.of.conf.Party, w.by, w.e.AppendJSON(nil)}
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // six bytes for one
	if err := to.Encode(offers); err != nil {
		return d, err
	}
	leader := x.c.Nodes.Leader()
	if leader == "" {
		return d, errNotYet
	}
	ctx, end := context.WithTimeout(ctx, askPatience)
	defer end()
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	defer x.watch(leader, cut)()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, leader+eventsPath, &text)
	if err != nil {
		return d, err
	}
	x.c.Nodes.Authorize(r.Header)
	a, err := x.client.Do(r)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, a.Body.Close()) }()
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 200)) // it is for the log alone
		return d, fmt.Errorf("%s: %s", a.Status, text)
	}
	if err := json.NewDecoder(io.LimitReader(a.Body, batchBytes)).Decode(&d); err != nil {
		return d, err
	}
	if len(d.Verdicts) != len(batch) {
		return d, fmt.Errorf("%d of %d events are decided", len(d.Verdicts), len(batch))
	}
	return d, nil
}
