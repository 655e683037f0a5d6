package refdb

import (
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Release returns the events whose wait is over when e is served, with e, in the order in which to serve them. Its error is a Fault where it is
// over one of those that wait, and not over e.
func (l *Ledger) Release(t Turn, e *nostr.Event) ([]nostr.ID, error) {
	alone := []nostr.ID{e.ID}
	if t.WaitTally(e.PubKey, "").All == 0 {
		return alone, nil
	}
	ids, err := l.endWaits(t, identifiers(e), e, nil)
	if err != nil {
		return nil, fmt.Errorf("what waits for event %s: %w", e.ID, err)
	}
	if !slices.Contains(ids, e.ID) {
		ids = append(alone, ids...)
	}
	return ids, nil
}

// endWaits returns those of the events that concern the identifiers ds whose wait is over, now that e is served or, where e is nil, that
// objects have come. Where only states by some people may be complete by these, it reads no others, as many may wait that have many refs.
func (l *Ledger) endWaits(t Turn, ds []string, e *nostr.Event, by *grasp.Set) ([]nostr.ID, error) {
	g := &gathering{events: l.events, data: l.data, waitIndex: l.waitIndex, t: t, by: by}
	return g.endWaits(ds, e)
}

func (g *gathering) endWaits(ds []string, e *nostr.Event) ([]nostr.ID, error) {
	g.ready, g.seen, g.families = map[nostr.ID]bool{}, map[nostr.ID]bool{}, map[string]*family{}
	for _, d := range append(ds[:len(ds):len(ds)], anonymous) {
		if err := g.identifier(d, e); err != nil {
			return nil, err
		}
	}
	if e != nil && e.Kind != nip34.KindRepository {
		g.ready[e.ID] = true
		if err := g.take(e); err != nil {
			return nil, err
		}
	}
	return g.w.Release(func(id nostr.ID) bool { return g.ready[id] }), nil
}

// Complete returns the events that wait for repositories with that identifier though their git data is here, in the order in which to serve
// them: a kill may have come between the data and the commit. Settle then looks at these repositories anew.
func (l *Ledger) Complete(t Turn, d string) ([]nostr.ID, error) {
	ids, err := l.endWaits(t, []string{d}, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("what waits for nothing in %.40q: %w", d, err)
	}
	if len(ids) > 0 {
		l.inBatch.touch(d).anew = true
	}
	return ids, nil
}

// Complete reports whether Ledger.Complete would find anything.
func (r *Reader) Complete(d string) (bool, error) {
	g := &gathering{events: &r.eventReader, data: r.data, waitIndex: r.waitIndex, t: r}
	ids, err := g.endWaits([]string{d}, nil)
	return len(ids) > 0, err
}

// Waiting returns the identifiers of the hosted repositories with git data for which something waits. Any goroutine may call Waiting.
func Waiting(v *store.View) ([]string, error) {
	waits := map[string]bool{}
	err := v.EachWait(func(w store.Waiting) error {
		for _, d := range identifiers(w.Event) {
			waits[d] = true
		}
		return nil
	})
	if err != nil || len(waits) == 0 {
		return nil, err
	}
	var out []string
	return out, v.EachRow(Prefix, "", func(_ string, row []byte) (bool, error) {
		if r, err := Parse(row); err == nil && !r.Dir.IsZero() && waits[r.Of.D] { // graspd check reports a damaged row
			delete(waits, r.Of.D)
			out = append(out, r.Of.D)
		}
		return true, nil
	})
}

// gathering collects the waiting events, the events that have a say in their release, and which of them are complete.
type gathering struct {
	events    *eventReader
	data      gitData
	waitIndex *waitIndex
	t         snapshot
	by        *grasp.Set // authors of the states that are read; nil is everybody
	w         refs.Waiting
	ready     map[nostr.ID]bool
	seen      map[nostr.ID]bool

	families map[string]*family // by identifier, each made once however many states wait
}

func (g *gathering) of(d string) (*family, error) {
	if f := g.families[d]; f != nil {
		return f, nil
	}
	f, err := g.events.family(g.t, d)
	if err == nil {
		g.families[d] = f
	}
	return f, err
}

func (g *gathering) identifier(d string, e *nostr.Event) error {
	waiting, err := g.waitIndex.of(g.t, d, g.by)
	if err != nil || len(waiting) == 0 {
		return err
	}
	if d != anonymous {
		if err := g.family(d, e); err != nil {
			return err
		}
	}
	for _, x := range waiting {
		if e == nil || x.ID != e.ID {
			if err := g.take(x); err != nil {
				return faultOf(x.ID, err)
			}
		}
	}
	return nil
}

// family gathers the announcements with an identifier, and the states that may release the waiting ones.
func (g *gathering) family(d string, e *nostr.Event) error {
	f, err := g.of(d)
	if err != nil {
		return err
	}
	if e != nil && e.Kind == nip34.KindRepository && e.Tags.D() == d {
		if a, err := refs.ReadAnnouncement(e); err == nil {
			f = f.with(a)
			if g.w.Complete, err = g.data.completeStates(f, e.PubKey); err != nil {
				return err
			}
		}
	}
	g.w.Served = append(g.w.Served, f.served...)
	for _, a := range f.waiting {
		if e == nil || a.ID != e.ID {
			g.w.Announcements = append(g.w.Announcements, a)
		}
	}
	return nil
}

// take gathers an event that waits or is about to be served, and finds out whether its objects are complete.
func (g *gathering) take(e *nostr.Event) error {
	if g.seen[e.ID] {
		return nil
	}
	g.seen[e.ID] = true
	switch e.Kind {
	case nip34.KindState:
		return g.state(e)
	case nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		return g.pullRequest(e)
	}
	return nil
}

func (g *gathering) state(e *nostr.Event) error {
	s, err := refs.ReadState(e)
	if err != nil {
		return nil // a malformed event has no say
	}
	g.w.States = append(g.w.States, s)
	if g.ready[e.ID] {
		return nil
	}
	f, err := g.of(s.D)
	if err != nil {
		return err
	}
	g.ready[e.ID], err = g.data.complete(f, &s)
	return err
}

func (g *gathering) pullRequest(e *nostr.Event) error {
	p, err := g.events.pullRequest(g.t, e)
	if err != nil {
		return err
	}
	g.w.PullRequests = append(g.w.PullRequests, p)
	if g.ready[e.ID] || p.Tip.IsZero() {
		return nil
	}
	g.ready[e.ID], err = g.data.tipIsHere(g.t, p)
	return err
}

// Waits notes an event, brought by from, that waits from the open batch on. It ends waits where there are too many now. For a state it sets
// back the deadlines of the announcements that wait for it.
func (l *Ledger) Waits(t Turn, e *nostr.Event, from string) error {
	l.waitIndex.wait(e)
	if err := l.stir(t, e); err != nil {
		return err
	}
	if err := bound(t, e, from); err != nil {
		return err
	}
	if err := l.waitIndex.boundLarge(t, e); err != nil {
		return err
	}
	if e.Kind == nip34.KindState {
		return l.postpone(t, e.PubKey, e.Tags.D())
	}
	return l.came(t, e)
}

// stir notes the identifiers that a waiting event concerns.
func (l *Ledger) stir(t Turn, e *nostr.Event) error {
	for _, d := range identifiers(e) {
		l.inBatch.stir(d)
	}
	if e.Kind == nip34.KindPullRequestUpdate {
		p, err := l.events.pullRequest(t, e)
		if err != nil {
			return err
		}
		for _, of := range p.Repositories {
			l.inBatch.stir(of.D)
		}
	}
	return nil
}

// came notes a pull request or an update, as uploads may have waited for it.
func (l *Ledger) came(t Turn, e *nostr.Event) error {
	if e.Kind != nip34.KindPullRequest && e.Kind != nip34.KindPullRequestUpdate || l.pending.Tips() == 0 {
		return nil
	}
	p, err := l.events.pullRequest(t, e)
	if err == nil {
		l.inBatch.come(p)
	}
	return err
}

// postpone sets back the deadlines of the announcements that a state by that author may release, as if they had come now.
func (l *Ledger) postpone(t Turn, author nostr.PubKey, d string) error {
	ids, err := l.events.waitFor(t, author, d)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.Postpone(id, t.Now.Add(WaitFor).Unix()); err != nil {
			return err
		}
	}
	return nil
}

// waitFor returns the announcements that wait and that a state by that author may release.
func (r *eventReader) waitFor(t snapshot, author nostr.PubKey, d string) (ids []nostr.ID, err error) {
	f, err := r.family(t, d)
	if err != nil || len(f.waiting) == 0 {
		return nil, err
	}
	mates := f.together(author)
	for _, a := range f.waiting {
		if slices.Contains(mates, a.Author) {
			ids = append(ids, a.ID)
		}
	}
	return ids, nil
}

// patience is how long ago a wait may have been set to its end that is not set back: a push or a fetch just after its event costs no commit.
const patience = time.Minute

// setBack sets back the deadlines of events, but for those that are to wait nearly as long anyway.
func setBack(t Turn, ids []nostr.ID) error {
	for _, id := range ids {
		is, err := late(t, id)
		if err == nil && is {
			err = t.Postpone(id, t.Now.Add(WaitFor).Unix())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inTime reports whether the deadline of none of the events has to be set back.
func inTime(t snapshot, ids []nostr.ID) (bool, error) {
	for _, id := range ids {
		if is, err := late(t, id); is || err != nil {
			return false, err
		}
	}
	return true, nil
}

// late reports whether an event waits whose deadline has to be set back.
func late(t snapshot, id nostr.ID) (bool, error) {
	w, err := t.Waiting(id)
	if err != nil || w.Event == nil {
		return false, err
	}
	until := t.now().Add(WaitFor - patience).Unix()
	if at, ok := w.Event.Expiration(); ok {
		until = min(until, at)
	}
	return w.Until < until, nil
}
