package githttp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
)

// Packs being sent take disk: a process does not wait for clients. Together they take no more than Config.FlightBytes, and half of what would be free
// above the floor without them. Where that is short, kept packs go first; then packs that are read slowly; then those of the party that has most.
const (
	sendStep    = 64 << 10         // bytes of disk that are asked for at a time
	sendSlow    = 64 << 10         // bytes a second that the readers of a pack take together; below, others go first
	sendWait    = 20 * time.Second // for which a pack waits for room
	leastRoom   = 8 << 20          // bytes that are there for small packs although the disk is at its floor
	mostParties = 64               // of the readers of one pack that count as its parties
	caughtUp    = 16 * sendSlow    // what a reader counts for that waits for more: it is not slow for some seconds
	lateAfter   = 2 * time.Minute  // behind, after which a reader's pace is looked at
	lateLenient = 4                // how much faster than until then a reader may become
)

// shortage says why a pack is not sent, or not to its end, although nothing is wrong with it.
type shortage string

func (s shortage) Error() string { return string(s) }

const (
	errYields shortage = "the room for packs is short here, and others took less of it or are faster: try again in some minutes"
	errShort  shortage = "there is no room for more packs at the moment: try again in some minutes"
	errLate   shortage = "this connection is so slow that the pack would not come within an hour: fetch less at a time, such as with --depth 1"
)

// room is what packs that are sent or kept take: disk, and open files.
type room struct {
	bytes, files *fair.Account
	reserve      int64        // bytes that are for small packs
	written      atomic.Int64 // bytes that all of them have on disk
}

func newRoom(c Config) *room {
	total := cmp.Or(c.FlightBytes, 4<<30)
	r := &room{reserve: total / 8}
	disk := fair.Config{Name: "bytes of packs being sent", Total: total, Little: max(1, total/64), Slow: sendSlow, Most: sendWait, Patience: time.Second, Places: 256}
	if c.Space != nil {
		disk.Room = func() int64 { return max(leastRoom, (c.Space()+r.written.Load())/2) }
	}
	r.bytes = c.Front.NewAccount(disk)
	r.files = c.Front.NewAccount(fair.Config{Name: "packs being sent", Total: mostSending + mostKept, Address: mostSending / partyFraction, Network: mostSending / 2})
	return r
}

// hold is what one flight takes.
type hold struct {
	room    *room
	file    *fair.Grant
	bytes   *fair.Grant // nil before the first byte
	covered int64       // of bytes; who writes the flight has it
}

// of says who reads the flight. What nobody reads the service keeps.
func (h *hold) of(readers []reader) {
	parties := make([]fair.Party, 0, 1)
	for _, r := range readers {
		if len(parties) < mostParties && !slices.Contains(parties, r.Party) {
			parties = append(parties, r.Party)
		}
	}
	if len(parties) == 0 {
		parties = append(parties, fair.Party{})
	}
	h.file.Of(parties...)
	if h.bytes != nil {
		h.bytes.Of(parties...)
	}
}

func (h *hold) giveBack() {
	h.bytes.GiveBack()
	h.file.GiveBack()
}

// account begins to count the disk of the flight.
func (f *flight) account() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes = f.room.bytes.Open(fair.Party{})
	f.bytes.Revocable(f.yield)
}

// progress notes that a reader has so many bytes more.
func (f *flight) progress(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes != nil {
		f.bytes.Progress(n)
	}
}

// cover asks for the disk of n bytes more. It waits where there is none; drop drops something that is kept, and reports whether there was any.
func (f *flight) cover(ctx context.Context, n int64, drop func() bool) error {
	more := f.length() + n - f.covered
	if f.yielded() {
		return errYields
	}
	if more <= 0 {
		return nil
	}
	more = max(more, sendStep)
	why, _ := f.bytes.TryGrow(more)
	for why == fair.OverAll && f.room.short(more) && drop() {
		why, _ = f.bytes.TryGrow(more)
	}
	if why != fair.Granted && f.bytes.Grow(more) != fair.Granted {
		if err := f.bytes.Wait(ctx, more); err != nil {
			return f.short(err)
		}
	}
	f.covered += more
	return nil
}

// short reports whether so many bytes are more than is left.
func (r *room) short(n int64) bool { return r.bytes.Left() < n+r.reserve }

// short returns the error of a wait for room.
func (f *flight) short(err error) error {
	switch {
	case f.yielded():
		return errYields
	case errors.As(err, new(fair.Refusal)):
		return errShort
	}
	return err
}

// pace is how fast a reader takes what is there for it.
type pace struct {
	since time.Time // when it fell behind
	from  int64     // where it was then
	until time.Time // by when it has to have all
}

// late reports whether a reader that is at a byte, and so many behind, would not have these in time even if it became faster.
func (p *pace) late(now time.Time, at, behind int64) bool {
	if p.until.IsZero() {
		p.until = now.Add(longest)
	}
	if p.since.IsZero() || behind <= 0 {
		p.since, p.from = now, at
		return false
	}
	took := now.Sub(p.since)
	could := lateLenient * float64(at-p.from) * (p.until.Sub(now).Seconds() / took.Seconds())
	return took >= lateAfter && could < float64(behind)
}
