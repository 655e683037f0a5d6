package refdb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Opened says what a push may do, before anybody reads a byte of its pack.
type Opened struct {
	refs.Verdict
	Repository Repository
	Known      bool   // the repository's announcement is served or waits; else there is no verdict
	Upload     uint64 // the number under which Pending counts the push's uploads; 0 if it brings none
}

// Open judges a push to a repository before its pack is read. It sets back the deadlines of the events for which the push brings objects.
func (l *Ledger) Open(t Turn, of nip34.Address, p refs.Push) (Opened, error) {
	in, r, known, err := l.standing(t, of)
	if err != nil || !known {
		return Opened{}, wrapPush(of, err)
	}
	o := Opened{Repository: r, Known: true}
	if o.Verdict, err = l.judge(t, &in, p); err != nil {
		return o, wrapPush(of, err)
	}
	if len(o.Uploads) > 0 {
		o.Upload = l.pending.Begin(t.Now.Unix(), of, p.From, o.Uploads)
	}
	return o, wrapPush(of, l.Extend(t, o))
}

// Extend sets back the deadlines of the events for which a push brings objects, while the push goes on.
func (l *Ledger) Extend(t Turn, o Opened) error {
	until := t.Now.Add(WaitFor).Unix()
	ids := o.PullRequests
	if o.State != nil {
		ids = append(ids[:len(ids):len(ids)], o.State.ID)
		if err := l.postpone(t, o.State.Author, o.State.D); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := t.Postpone(id, until); err != nil {
			return err
		}
	}
	return nil
}

// Resize notes how many bytes the uploads of a push have by now. If it returns another cause than refs.None, the push has to end.
func (l *Ledger) Resize(upload uint64, bytes int64) refs.Cause {
	return l.pending.Resize(upload, bytes)
}

// Drop forgets uploads whose push has failed, or whose objects have gone into a repository.
func (l *Ledger) Drop(upload uint64) { l.pending.Drop(upload) }

// ExpireUploads forgets the uploads whose events did not come in time. Outcomes has them, after the events that came before.
func (l *Ledger) ExpireUploads(t Turn) {
	for _, n := range l.pending.Expire(t.Now.Unix()) {
		l.outcomes.put(Outcome{Upload: n})
	}
}

// Uploads returns for how many events commits wait or are under way, and how many bytes these uploads have.
func (l *Ledger) Uploads() (events int, bytes int64) { return l.pending.Tips(), l.pending.Bytes() }

// Arrival brings objects that are complete and durable beside a repository.
type Arrival struct {
	Of     nip34.Address
	Push   *refs.Push // the push that brought the objects, as it was opened; nil where they came otherwise
	Tips   []nostr.ID // the events whose tips came otherwise than by the push
	Dir    Dir        // the directory for a repository that has none yet
	Bytes  int64      // what the repository then takes on disk
	Peeled map[gitwire.ObjectID]gitwire.ObjectID

	// Admit makes the objects part of the repository in that directory. When it returns nil they are there for good. That does no harm
	// if the batch is dropped.
	Admit func(Dir) error
}

// Arrived says what became of an Arrival in the open batch. The caller then serves the events of Release, in that order.
type Arrived struct {
	refs.Verdict
	Known    bool
	Admitted bool // the objects are in the repository
	Began    bool // the repository had no data before
	Release  []nostr.ID
}

// Arrive judges the arrival again, admits its objects to the repository, and returns the events whose wait is over. Settle then brings the
// refs in line. Its error is a Fault where it is over an event that waits.
func (l *Ledger) Arrive(t Turn, a Arrival) (Arrived, error) {
	out, err := l.takeIn(t, a)
	return out, wrapPush(a.Of, err)
}

func (l *Ledger) takeIn(t Turn, a Arrival) (out Arrived, err error) {
	var p refs.Push
	if a.Push != nil {
		p = *a.Push
	}
	in, r, known, err := l.standing(t, a.Of)
	if err != nil || !known {
		return out, err
	}
	out.Known = true
	if a.Push != nil {
		if out.Verdict, err = l.judge(t, &in, p); err != nil {
			return out, err
		}
		if p.Upload != 0 {
			l.inBatch.file(p.Upload, out.Uploads)
		}
		if out.State == nil && len(out.PullRequests) == 0 {
			return out, nil
		}
	}
	out.Admitted, out.Began = true, r.Dir.IsZero()
	if err := l.admit(t, &r, a); err != nil {
		return out, err
	}
	if x := l.inBatch.touch(a.Of.D); grasp.IsContributed(a.Of) {
		x.contributed = append(x.contributed, a.Of)
	} else {
		x.author(a.Of.PubKey)
	}
	came, err := l.data.arrivedTips(t, a.Of, r.Dir)
	if err != nil {
		return out, err
	}
	if err := l.touchServed(t, slices.Concat(out.PullRequests, a.Tips, came)); err != nil {
		return out, err
	}
	out.Release, err = l.endWaits(t, concerned(a.Of, in.Known, out.PullRequests), nil, in.Members)
	return out, err
}

// admit makes the arrived objects part of the repository, which has a directory from then on.
func (l *Ledger) admit(t Turn, r *Repository, a Arrival) error {
	if r.Dir.IsZero() {
		r.Dir = a.Dir
	}
	if err := a.Admit(r.Dir); err != nil {
		return err
	}
	l.inBatch.peel(a.Peeled)
	r.Bytes += a.Bytes
	return l.inBatch.write(t, *r, false)
}

// touchServed makes Settle set the refs of served pull requests whose tips have come.
func (l *Ledger) touchServed(t Turn, ids []nostr.ID) error {
	for _, id := range ids {
		e, ok, err := t.Get(id)
		if err != nil {
			return err
		}
		if !ok {
			continue // the event waits; its ref comes when the event is released
		}
		p, err := l.events.pullRequest(t, e)
		if err == nil {
			l.inBatch.touchTip(p)
		}
	}
	return nil
}

// concerned returns the identifiers of events that may have waited for objects of a repository.
func concerned(of nip34.Address, known map[nostr.ID]refs.Known, events []nostr.ID) []string {
	ds := []string{of.D}
	for _, id := range events {
		for _, a := range known[id].Repositories {
			ds = append(ds, a.D)
		}
	}
	slices.Sort(ds)
	return slices.Compact(ds)
}

// standing returns what refs.Judge needs for a push, and whether the repository is known.
func (l *Ledger) standing(t Turn, of nip34.Address) (in refs.Standing, r Repository, known bool, err error) {
	if grasp.IsContributed(of) {
		return l.standingContributed(t, of)
	}
	known, err = Known(t, of)
	if err != nil || !known {
		return in, r, known, err
	}
	f, err := l.events.family(t, of.D)
	if err != nil {
		return in, r, true, err
	}
	if r, err = Read(t, of); err != nil {
		return in, r, true, err
	}
	in = refs.Standing{
		Of: of, Members: f.allCouncils.Of(of.PubKey), Projection: r.Refs, Pending: &l.pending, Relay: l.Service.RelayURL(), Now: t.Now.Unix(),
	}
	in.States, err = l.candidates(f, r, in.Members)
	return in, r, true, err
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
func (l *Ledger) candidates(f *family, r Repository, members *grasp.Set) (out []refs.State, err error) {
	for _, pk := range members.Members {
		s, err := f.state(pk, true)
		if err != nil {
			return nil, err
		}
		if s != nil {
			out = append(out, *s)
		}
		if rules, err := l.rules(f, r, pk); err != nil || rules {
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
		complete, err := l.data.completeIn(s, r.Dir)
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
func (l *Ledger) rules(f *family, r Repository, author nostr.PubKey) (bool, error) {
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
func (l *Ledger) others(t Turn, of nip34.Address, members *grasp.Set) ([]refs.State, error) {
	f, err := l.events.family(t, of.D)
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
	known := map[nostr.ID]refs.Known{}
	for _, id := range p.Events() {
		if err := l.name(v, id, known); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// judge judges a push, and sets in.Known. A push that a state allows costs no look at states of others. They are read for one that is refused.
func (l *Ledger) judge(t Turn, in *refs.Standing, p refs.Push) (v refs.Verdict, err error) {
	if v, err = l.judgeBy(t, in, p); err != nil || !v.Unexplained() {
		return v, err
	}
	others, err := l.others(t, in.Of, in.Members)
	if err != nil || len(others) == 0 {
		return v, err
	}
	in.States = append(in.States, others...)
	return refs.Judge(*in, p), nil
}

// judgeBy judges a push by the states that in has. The events that it names were looked up before the turn. Only those of its uploads are looked
// up again, as they may have come since; there are no more than refs.MaxPushTips. An event that has gone since does no harm: nothing is released
// for it.
func (l *Ledger) judgeBy(t Turn, in *refs.Standing, p refs.Push) (v refs.Verdict, err error) {
	if in.Known = maps.Clone(p.Named); p.Named == nil {
		if in.Known, err = l.Named(t, p); err != nil {
			return v, err
		}
	}
	for {
		v = refs.Judge(*in, p)
		before := len(in.Known)
		for _, tip := range v.Uploads {
			if err := l.name(t, tip.Event, in.Known); err != nil {
				return v, err
			}
		}
		if len(in.Known) == before {
			return v, nil
		}
	}
}

// name puts an event into known, if it is served or waits.
func (l *Ledger) name(v Events, id nostr.ID, known map[nostr.ID]refs.Known) error {
	e, ok, err := v.Get(id)
	if err == nil && !ok {
		w, failed := v.Waiting(id)
		e, err = w.Event, failed
	}
	if err != nil || e == nil {
		return err
	}
	k := refs.Known{Kind: e.Kind}
	if pr, err := l.events.pullRequest(v, e); err == nil {
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
