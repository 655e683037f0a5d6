package ingest

import (
	"container/list"
	"math"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

const (
	knownIdentifiers = 1000    // identifiers whose announcements announced keeps
	knownKeys        = 400_000 // keys that these announcements name; so many take some 40 MB
	readCost         = 30      // steps of work to read an announcement
	readBytes        = 128     // bytes of an announcement that cost one step more
)

// view shows the open batch to the rules.
type view struct {
	*store.Batch
	w *writer
}

func (w *writer) view() view { return view{w.open.batch, w} }

// Announcements returns the announcements with that d tag. It reads those that it does not know from the open batch.
func (v view) Announcements(d string, r policy.Rules) (*policy.Announced, error) {
	return v.w.known.gather(d, v.Batch, r, v.w.door.now().Unix())
}

// announced keeps what the rules need of announcements, for the identifiers that were asked for last. It reads each announcement
// once, and works out who is welcome once between two changes. The writer owns it, calls changed for every change, and reset when
// a batch is dropped.
type announced struct {
	of    map[string]*identifier
	order list.List     // of *identifier, the last one asked for in front
	keys  int           // keys that all kept announcements name
	steps int           // work since the last call of spent
	asked []*identifier // identifiers asked for since then, as the work of their lookups counts too
}

// identifier has the announcements with one d tag.
type identifier struct {
	d       string
	read    map[store.Seq]announcement
	same    *policy.Announced // nil where something has changed since
	until   int64             // unix time at which the first announcement expires
	keys    int
	element *list.Element
}

type announcement struct {
	policy.Announcer
	readable bool
	expires  int64
}

func (a *announced) reset() {
	a.steps = a.spent()
	a.of, a.order, a.keys = make(map[string]*identifier), list.List{}, 0
}

// changed notes that an announcement with that d tag came or went.
func (a *announced) changed(d string) {
	if x := a.of[d]; x != nil {
		x.same = nil
	}
}

// spent returns the work since its last call, in steps as a store.Meter counts them.
func (a *announced) spent() int {
	n := a.steps
	for _, x := range a.asked {
		if x.same != nil {
			n += x.same.Steps() / 8 // a key in memory costs less than a row on disk
		}
	}
	a.steps, a.asked = 0, nil
	return n
}

// gather returns the announcements with a d tag, after reading what has changed. It then drops the identifiers that were asked for the
// longest ago, until the bounds hold.
func (a *announced) gather(d string, b *store.Batch, r policy.Rules, now int64) (*policy.Announced, error) {
	x := a.of[d]
	if x == nil {
		x = &identifier{d: d}
		x.element = a.order.PushFront(x)
		a.of[d] = x
	}
	a.order.MoveToFront(x.element)
	a.asked = append(a.asked, x)
	if x.same != nil && now < x.until {
		return x.same, nil
	}
	if err := a.renew(x, b, r, now); err != nil {
		a.drop(x)
		return nil, err
	}
	for len(a.of) > 1 && (len(a.of) > knownIdentifiers || a.keys > knownKeys) {
		a.drop(a.order.Back().Value.(*identifier))
	}
	return x.same, nil
}

// renew reads the announcements that x does not know yet, up to policy.MaxAnnouncements that have not expired.
func (a *announced) renew(x *identifier, b *store.Batch, r policy.Rules, now int64) error {
	read, until, keys := make(map[store.Seq]announcement, len(x.read)), int64(math.MaxInt64), len(x.d)/32
	var same []policy.Announcer
	served := 0
	err := b.EachAnnouncement(x.d, func(seq store.Seq) (bool, error) {
		a.steps++
		one, ok := x.read[seq]
		if !ok {
			var err error
			if one, err = a.readOne(seq, b, r); err != nil {
				return false, err
			}
		}
		read[seq] = one
		keys += one.Keys()
		if one.expires <= now {
			return true, nil
		}
		until = min(until, one.expires)
		if one.readable {
			same = append(same, one.Announcer)
		}
		served++
		return served < policy.MaxAnnouncements, nil
	})
	if err != nil {
		return err
	}
	a.keys += keys - x.keys
	x.read, x.until, x.keys, x.same = read, until, keys, policy.NewAnnounced(same)
	return nil
}

func (a *announced) readOne(seq store.Seq, b *store.Batch, r policy.Rules) (announcement, error) {
	e, err := b.Event(seq)
	if err != nil {
		return announcement{}, err
	}
	a.steps += readCost + e.Size()/readBytes
	one := announcement{expires: math.MaxInt64}
	one.Announcer, one.readable = r.Read(e)
	if at, ok := e.Expiration(); ok {
		one.expires = at
	}
	return one, nil
}

func (a *announced) drop(x *identifier) {
	a.keys -= x.keys
	a.order.Remove(x.element)
	delete(a.of, x.d)
}
