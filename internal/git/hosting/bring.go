package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Lacks says which git data that events name a repository lacks, and which servers may have it.
func (h *Host) Lacks(ctx context.Context, of nip34.Address) (lack refdb.Lack, err error) {
	err = h.reading(func(r *refdb.Reader) error {
		if lack, err = r.Lacks(ctx, of); err != nil {
			return err
		}
		return h.nearer(r.View, &lack)
	})
	return lack, err
}

// reading calls do with a Reader of what is durable now.
func (h *Host) reading(do func(*refdb.Reader) error) error {
	v := h.cfg.Store.View()
	defer v.Close()
	return do(h.ledger.Reader(v, h.door.Rules(), h.cfg.Now()))
}

// Announced calls do with the address of each announcement with an identifier, served or waiting, and of each contributed repository with it
// for which a pull request waits; with "" of all. It may call do more than once for one.
func (h *Host) Announced(ctx context.Context, d string, do func(nip34.Address) error) error {
	v := h.cfg.Store.View()
	defer v.Close()
	f := nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}}
	if d != "" {
		f.Tags = []nostr.TagFilter{{Name: 'd', Values: []string{d}}}
	}
	each := func(e *nostr.Event) error {
		if e.Kind != nip34.KindRepository || d != "" && e.Tags.D() != d {
			return nil
		}
		a, err := nip34.ParseAnnouncement(e)
		if err != nil {
			return nil // stored by a graspd that did not yet refuse such addresses
		}
		return do(a.Address)
	}
	for row, err := range v.Query(ctx, f) {
		var e *nostr.Event
		if err == nil {
			e, err = row.Event()
		}
		if err == nil {
			err = each(e)
		}
		if err != nil {
			return fmt.Errorf("announcements of %.40q: %w", d, err)
		}
	}
	return v.EachWait(func(w store.Waiting) error {
		for _, of := range h.ledger.Contributions(w.Event) {
			if d == "" || of.D == d {
				if err := do(of); err != nil {
					return err
				}
			}
		}
		return each(w.Event)
	})
}

// Taking takes packs that other servers sent for what a repository lacks.
type Taking struct {
	h     *Host
	lack  refdb.Lack
	party string
	told  time.Time // when the waits were last prolonged

	Brought []nostr.ID // the events whose git data these packs completed
	close   func()
}

// Close ends the Taking. Until then the waits for its events do not lapse.
func (t *Taking) Close() { t.close() }

// Take begins to take what a repository lacks, until Close. party is the name under which git's processes work for it, where processors are
// shared out.
func (h *Host) Take(ctx context.Context, lack refdb.Lack, party string) (*Taking, error) {
	if err := h.room(ctx, lack.Repository); err != nil {
		return nil, err
	}
	giveBack, err := h.begins(lack.Repository)
	if err != nil {
		return nil, err
	}
	h.ledger.Fetching(lack, 1)
	held := lack
	held.Needs = slices.Clone(lack.Needs)
	t := &Taking{h: h, lack: lack, party: party, told: h.cfg.Now()}
	t.close = sync.OnceFunc(func() {
		if h.ledger.Fetching(held, -1); len(t.Brought) == 0 {
			giveBack()
		}
	})
	return t, nil
}

// TooMuch reports whether a Taking failed because the bounds allow no more data here.
func TooMuch(err error) bool {
	var bound reason
	var pack *gitrepo.PackError
	if GaveWay(err) {
		return false
	}
	return errors.As(err, &bound) || errors.As(err, &pack) && pack.ByLimit
}

// GaveWay reports whether a Taking failed because too much else is under way, or to be combined first: later there may be room.
func GaveWay(err error) bool {
	return errors.Is(err, errShort) || errors.Is(err, errYields) || errors.Is(err, errManyPacks)
}

// MaxBytes returns how many bytes of packs the Taking takes at most.
func (t *Taking) MaxBytes() int64 { return t.h.quotas.limits.Load().Push }

// Haves returns objects that are here with everything that they lead to, for the other server to leave out.
func (t *Taking) Haves() []gitwire.ObjectID {
	ids := t.lack.Refs.All().IDs()
	v := t.h.cfg.Store.View()
	defer v.Close()
	missing, err := objects{t.h.cfg.Disk, t.h.cfg.Kept, t.h.cfg.Logger}.Missing(v, t.lack.Dir, ids)
	if err != nil || len(missing) == len(ids) {
		return nil
	}
	return without(ids, missing)
}

func without(ids, others []gitwire.ObjectID) (out []gitwire.ObjectID) {
	skip := make(map[gitwire.ObjectID]bool, len(others))
	for _, id := range others {
		skip[id] = true
	}
	for _, id := range ids {
		if !skip[id] {
			out = append(out, id)
		}
	}
	return out
}

// Pack reads one pack with these ids to its end. When it returns, the events are served whose git data the pack completed; nothing else of
// the pack is kept. Where the pack has to give way to others, Pack calls stop, which must not wait, and has a Read that is under way end.
func (t *Taking) Pack(ctx context.Context, ids []gitwire.ObjectID, pack io.Reader, stop func(why error)) (err error) {
	needs := t.within(ids)
	if len(needs) == 0 {
		return nil
	}
	if err := t.h.cfg.Kept.bring(ctx, t.lack.Dir, t.party, func(string) {}); err != nil {
		return err
	}
	q, err := t.h.cfg.Disk.Begin(gitrepo.ID(t.lack.Dir))
	if err != nil {
		return err
	}
	reading, disk := begin(ctx, t.h.unfinished, fair.Party{Owner: t.lack.Of.PubKey.String()}, func() { stop(errYields) })
	defer func() {
		err = errors.Join(err, q.Close())
		disk.GiveBack()
	}()
	l := t.h.quotas.limits.Load()
	_, err = q.Receive(reading, pack, gitrepo.Receiving{
		MaxBytes: l.Push, MaxObjects: l.Objects, Party: t.party, Owner: t.lack.Of.PubKey.String(), Whole: disk.whole, Grown: func(n int64) error {
			if err := disk.cover(reading, n); err != nil {
				return err
			}
			return t.grown(ctx, needs)
		},
	})
	if err = disk.read(reading, err); err != nil {
		return err
	}
	proof, err := q.Prove(ctx, t.proving(needs))
	if err == nil {
		return t.land(ctx, q, needs, proof)
	}
	if len(needs) == 1 || !hopeless(err) {
		return err
	}
	return t.parts(ctx, q, needs, err)
}

// within returns the needs all of whose objects are among ids.
func (t *Taking) within(ids []gitwire.ObjectID) (out []refdb.Need) {
	for _, n := range t.lack.Needs {
		if len(without(n.IDs, ids)) == 0 {
			out = append(out, n)
		}
	}
	return out
}

// grown prolongs the waits for data that is on its way.
func (t *Taking) grown(ctx context.Context, needs []refdb.Need) error {
	now := t.h.cfg.Now()
	if now.Sub(t.told) <= time.Minute {
		return nil
	}
	t.told = now
	return t.h.door.Exclusively(ctx, t.party, func(x *ingest.Exclusive) error { return t.h.ledger.Prolong(x.Turn, t.lack.Of, needs) })
}

// partsAtOnce is how many needs parts tries one by one.
const partsAtOnce = 64

// parts lands those needs one by one that are complete, where all together were not. failed is the error of all together.
func (t *Taking) parts(ctx context.Context, of gitrepo.Quarantine, needs []refdb.Need, failed error) error {
	landed := false
	for _, n := range needs[:min(len(needs), partsAtOnce)] {
		one := []refdb.Need{n}
		q, proof, err := t.h.cfg.Disk.Subset(ctx, of, t.proving(one))
		if err == nil {
			err = errors.Join(t.land(ctx, q, one, proof), q.Close())
			landed = landed || err == nil
		}
		if ctx.Err() != nil || errors.Is(err, gitproc.ErrBusy) {
			return err
		}
	}
	if landed {
		return nil
	}
	return failed
}

func (t *Taking) proving(needs []refdb.Need) gitrepo.Proving {
	p := gitrepo.Proving{Haves: t.Haves(), Party: t.party}
	for _, n := range needs {
		if n.Tip {
			p.Commits = append(p.Commits, n.IDs...)
		} else {
			p.Tips = append(p.Tips, n.IDs...)
		}
	}
	return p
}

// land moves the proven objects into the repository, in one commit with the events that are served from then on.
func (t *Taking) land(ctx context.Context, q gitrepo.Quarantine, needs []refdb.Need, proof gitrepo.Proof) error {
	if err := t.h.fits(ctx, t.lack.Repository, proof.Bytes); err != nil {
		return err
	}
	a := refdb.Arrival{Of: t.lack.Of, Bytes: proof.Bytes, Peeled: peeledOf(t.proving(needs).Tips, proof)}
	for _, n := range needs {
		if n.Tip {
			a.Tips = append(a.Tips, n.Event)
		}
	}
	if _, err := t.h.arrive(ctx, t.party, a, q); err != nil {
		return err
	}
	t.lack.Bytes += proof.Bytes
	for _, n := range needs {
		t.Brought = append(t.Brought, n.Event)
	}
	if err := t.h.project(ctx, t.lack.Of); ctx.Err() == nil {
		return err
	}
	return nil // the commit holds, and a job that it queued writes the files
}
