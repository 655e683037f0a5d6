package refdb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// judging judges pushes by one state of the store: by the open batch in a turn of the writer, and by what is durable beside it.
type judging struct {
	t       snapshot
	events  *eventReader
	data    gitData
	pending *refs.Pending // uploads; nil beside the writer, who alone knows them
}

func (l *Ledger) judging(t Turn) judging { return judging{t, l.events, l.data, &l.pending} }

// standing returns what refs.Judge needs for a push, and whether the repository is known.
func (j judging) standing(of nip34.Address) (in refs.Standing, r Repository, known bool, err error) {
	if grasp.IsContributed(of) {
		return j.standingContributed(of)
	}
	known, err = Known(j.t, of)
	if err != nil || !known {
		return in, r, known, err
	}
	f, err := j.events.family(j.t, of.D)
	if err != nil {
		return in, r, true, err
	}
	if r, err = Read(j.t, of); err != nil {
		return in, r, true, err
	}
	in = j.in(of, r, f.allCouncils.Of(of.PubKey))
	in.States, err = j.candidates(f, r, in.Members)
	return in, r, true, err
}

// standingContributed is standing for a contributed repository. There is one at every path, and nobody decides for it.
func (j judging) standingContributed(of nip34.Address) (in refs.Standing, r Repository, known bool, err error) {
	if !j.events.contributors {
		return in, r, false, nil
	}
	if r, err = Read(j.t, of); err != nil {
		return in, r, true, err
	}
	return j.in(of, r, &grasp.Set{}), r, true, nil
}

func (j judging) in(of nip34.Address, r Repository, members *grasp.Set) refs.Standing {
	return refs.Standing{
		Of: of, Members: members, Projection: r.Refs, Pending: j.pending, Relay: j.events.service.RelayURL(), Now: j.t.now().Unix(),
	}
}

// Addresses tells what is served or waits at an address. A batch is one, and a view of what is durable.
type Addresses interface {
	At(address string) (*nostr.Event, bool, error)
	WaitingAt(address string) (nostr.Stamp, bool, error)
}

// Known reports whether the announcement of a repository is served or waits.
func Known(a Addresses, of nip34.Address) (bool, error) {
	address := of.String()
	_, ok, err := a.At(address)
	if !ok && err == nil {
		_, ok, err = a.WaitingAt(address)
	}
	return ok, err
}

// candidates returns the states that a push may mean: waiting ones of those who decide, and served ones that are not complete in the
// repository. The state that rules is complete. Nobody reads it, as it may be large, and most pushes come after one.
func (j judging) candidates(f *family, r Repository, members *grasp.Set) (out []refs.State, err error) {
	for _, pk := range members.Members {
		s, err := f.state(pk, true)
		if err != nil {
			return nil, err
		}
		if s != nil {
			out = append(out, *s)
		}
		if rules, err := rules(f, r, pk); err != nil || rules {
			if err != nil {
				return nil, err
			}
			continue
		}
		if s, err = f.state(pk, false); err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		complete, err := j.data.completeIn(j.t, s, r.Dir)
		if err != nil {
			return nil, err
		}
		if !complete {
			out = append(out, *s)
		}
	}
	return out, nil
}

// rules reports whether the served state of an author is the one that rules the repository.
func rules(f *family, r Repository, author nostr.PubKey) (bool, error) {
	if !r.Refs.Ruled || r.Refs.Author != author {
		return false, nil
	}
	return f.t.Has(r.Refs.ID)
}

// Bounds of the states by people who do not decide, which explain why a push is refused. Anybody may publish such states.
const (
	otherStates = 16
	otherRefs   = 10_000 // refs that these states name: others are left out when there are as many
)

// others returns states by people who do not decide for a repository, those who are invited first.
func (j judging) others(of nip34.Address, members *grasp.Set) ([]refs.State, error) {
	f, err := j.events.family(j.t, of.D)
	if err != nil {
		return nil, err
	}
	var out []refs.State
	asked, named := map[nostr.PubKey]bool{}, 0
	for _, pk := range slices.Concat(members.Invited, f.everybody()) {
		if asked[pk] || members.Has(pk) {
			continue
		}
		if asked[pk] = true; len(asked) > otherStates {
			break
		}
		for _, waiting := range []bool{true, false} {
			s, err := f.state(pk, waiting)
			if err != nil || named >= otherRefs {
				return out, err
			}
			if s != nil {
				out, named = append(out, *s), named+len(s.Refs)
			}
		}
	}
	return out, nil
}

// Events tells of events that are served or wait. A batch is one, and a view of what is durable.
type Events interface {
	Get(nostr.ID) (*nostr.Event, bool, error)
	Waiting(nostr.ID) (store.Waiting, error)
}

// Named looks up the events that a push names by refs/nostr/, for refs.Push.Named. Any goroutine may call it, and does so
// beside the writer, as a push may name many.
func (l *Ledger) Named(v Events, p refs.Push) (map[nostr.ID]refs.Known, error) {
	return l.events.named(v, p)
}

func (r *eventReader) named(v Events, p refs.Push) (map[nostr.ID]refs.Known, error) {
	known := map[nostr.ID]refs.Known{}
	for _, id := range p.Events() {
		if err := r.name(v, id, known); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// judge judges a push, and sets in.Known. A push that a state allows costs no look at states of others. They are read for one that is refused.
func (j judging) judge(in *refs.Standing, p refs.Push) (v refs.Verdict, err error) {
	if v, err = j.judgeBy(in, p); err != nil || !v.Unexplained() {
		return v, err
	}
	others, err := j.others(in.Of, in.Members)
	if err != nil || len(others) == 0 {
		return v, err
	}
	in.States = append(in.States, others...)
	return refs.Judge(*in, p), nil
}

// judgeBy judges a push by the states that in has. The events that it names were looked up before the turn. Only those of its uploads are looked
// up again, as they may have come since; there are no more than refs.MaxPushTips. An event that has gone since does no harm: nothing is released
// for it.
func (j judging) judgeBy(in *refs.Standing, p refs.Push) (v refs.Verdict, err error) {
	if in.Known = maps.Clone(p.Named); p.Named == nil {
		if in.Known, err = j.events.named(j.t, p); err != nil {
			return v, err
		}
	}
	for {
		v = refs.Judge(*in, p)
		before := len(in.Known)
		for _, tip := range v.Uploads {
			if err := j.events.name(j.t, tip.Event, in.Known); err != nil {
				return v, err
			}
		}
		if len(in.Known) == before {
			return v, nil
		}
	}
}

// name puts an event into known, if it is served or waits.
func (r *eventReader) name(v Events, id nostr.ID, known map[nostr.ID]refs.Known) error {
	e, ok, err := v.Get(id)
	if err == nil && !ok {
		w, failed := v.Waiting(id)
		e, err = w.Event, failed
	}
	if err != nil || e == nil {
		return err
	}
	k := refs.Known{Kind: e.Kind}
	if pr, err := r.pullRequest(v, e); err == nil {
		k.PullRequest = pr
	}
	known[id] = k
	return nil
}

func wrapPush(of nip34.Address, err error) error {
	if err != nil {
		return fmt.Errorf("push to %s: %w", of, err)
	}
	return nil
}
