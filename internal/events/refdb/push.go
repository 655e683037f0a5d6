package refdb

import (
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
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
	o, _, err := l.judging(t).open(of, p)
	if err == nil && o.Known {
		err = l.Extend(t, o)
	}
	if err == nil && len(o.Uploads) > 0 {
		o.Upload = l.pending.Begin(t.Now.Unix(), of, p.From, o.Uploads)
		l.inBatch.begin(o.Upload)
	}
	return o, wrapPush(of, err)
}

// Open judges a push by what is durable, beside the writer. It reports whether there is no more to do. Else Ledger.Open has to judge the push, in a turn
// of the writer: the push names events that nobody knows, or deadlines have to be set back.
func (r *Reader) Open(of nip34.Address, p refs.Push) (o Opened, done bool, err error) {
	o, done, err = judging{t: r, events: &r.eventReader, data: r.data}.open(of, p)
	if err != nil || !done || !o.Known {
		return o, done, wrapPush(of, err)
	}
	ids, err := o.waits(r, &r.eventReader)
	if err == nil {
		done, err = inTime(r, ids)
	}
	return o, done, wrapPush(of, err)
}

// open judges a push. all reports whether every event that the push names is known.
func (j judging) open(of nip34.Address, p refs.Push) (o Opened, all bool, err error) {
	in, r, known, err := j.standing(of)
	if err != nil || !known {
		return Opened{}, true, err
	}
	o = Opened{Repository: r, Known: true}
	o.Verdict, err = j.judge(&in, p)
	all = !slices.ContainsFunc(p.Events(), func(id nostr.ID) bool { _, ok := in.Known[id]; return !ok })
	return o, all, err
}

// waits returns the events for which a push brings objects, and the announcements that wait for its state.
func (o Opened) waits(t snapshot, events *eventReader) ([]nostr.ID, error) {
	ids := slices.Clone(o.PullRequests)
	if o.State == nil {
		return ids, nil
	}
	more, err := events.waitFor(t, o.State.Author, o.State.D)
	return append(append(ids, more...), o.State.ID), err
}

// Extend sets back the deadlines of the events for which a push brings objects, while the push goes on.
func (l *Ledger) Extend(t Turn, o Opened) error {
	ids, err := o.waits(t, l.events)
	if err != nil {
		return err
	}
	return setBack(t, ids)
}

// Resize notes how many bytes the uploads of a push have by now. If it returns another cause than refs.None, the push has to end.
func (l *Ledger) Resize(upload uint64, bytes int64) refs.Cause {
	return l.pending.Resize(upload, bytes)
}

// Drop forgets uploads whose push has failed, or whose objects have gone into a repository.
func (l *Ledger) Drop(upload uint64) { l.pending.Drop(upload) }

// ExpireUploads forgets the uploads whose events did not come in time, once the open batch is durable. Outcomes has them, after the events that
// came before.
func (l *Ledger) ExpireUploads() { l.inBatch.expire() }

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
	Packs  []Pack // the objects, where they lie in an object store; nil where packs lie on the disk alone

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
	j := l.judging(t)
	in, r, known, err := j.standing(a.Of)
	if err != nil || !known {
		return out, err
	}
	out.Known = true
	if a.Push != nil {
		if out.Verdict, err = j.judge(&in, p); err != nil {
			return out, err
		}
		if out.State == nil && len(out.PullRequests) == 0 {
			l.inBatch.file(p.Upload, out.Uploads)
			return out, nil
		}
	}
	out.Admitted, out.Began = true, r.Dir.IsZero()
	if err := l.admit(t, &r, a); err != nil {
		return out, err
	}
	l.inBatch.file(p.Upload, out.Uploads)
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
	if len(a.Packs) > 0 {
		if err := addPacks(t, r, a.Packs); err != nil {
			return err
		}
	}
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
