package hosting

import (
	"context"
	"errors"
	"sync"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// uploads has the quarantines of commits that wait for their events, by the numbers that the ledger has given them.
type uploads struct {
	mu   sync.Mutex
	held map[uint64]*upload
}

type upload struct {
	of    nip34.Address
	q     gitrepo.Quarantine
	tips  []refs.Tip
	party string
	disk  unfinished
	row   string // the name of the row that keeps it; "" where there is none
}

// tipsOf returns the tips of an upload for one event.
func (x *upload) tipsOf(event nostr.ID) (ids []gitwire.ObjectID) {
	for _, t := range x.tips {
		if t.Event == event {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// put holds an upload, unless all together would take more bytes than most returns. most is told how many they are with this one.
func (u *uploads) put(n uint64, x *upload, most func(bytes int64) int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	bytes := x.q.Bytes()
	for _, other := range u.held {
		bytes += other.q.Bytes()
	}
	if bytes > most(bytes) {
		return false
	}
	u.held[n] = x
	return true
}

// heldPart is which part of the disk above its floor uploads may take that wait for their events: one in so many. Nobody makes them give way, and what
// is left has to do for the packs of all pushes; see newUnfinished.
const heldPart = 4

// heldMost returns how many bytes uploads may take that wait for their events, where they take so many.
func (h *Host) heldMost(bytes int64) int64 {
	d, err := h.cfg.space()
	if err != nil || d.Free < d.Floor {
		return 0
	}
	return (int64(min(d.Free-d.Floor, 1<<60)) + bytes) / heldPart
}

func (u *uploads) get(n uint64) *upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held[n]
}

// who returns who pushed the upload of a job: with them it takes turns.
func (u *uploads) who(x job) string {
	if held := u.get(x.upload); held != nil {
		return held.party
	}
	return ""
}

// size returns the number of uploads, and the bytes that they take on disk.
func (u *uploads) size() (n int, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range u.held {
		bytes += x.q.Bytes()
	}
	return len(u.held), bytes
}

// take returns an upload to the first caller, and nil to every later one.
func (u *uploads) take(n uint64) *upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	x := u.held[n]
	delete(u.held, n)
	return x
}

// hear queues what commits mean for uploads, in their order. hearAndLook alone calls it.
func (h *Host) hear() {
	for _, x := range h.ledger.Outcomes() {
		if x.Event == (nostr.ID{}) {
			h.adopts.push(job{kind: dropped, upload: x.Upload})
			continue
		}
		h.adopts.push(job{kind: found, of: x.Of, upload: x.Upload, event: x.Event})
	}
}

// adopt moves the tip of an event that has come out of its upload into the repository, if there is room. Where there is none the event waits
// until its time is over, as it would without the upload. Where packs are to be combined first the upload waits, too.
func (h *Host) adopt(ctx context.Context, of nip34.Address, n uint64, event nostr.ID) (err error) {
	x := h.uploads.get(n)
	if x == nil {
		return nil
	}
	q, bytes := x.q, x.q.Bytes()
	if len(x.tips) > 1 {
		var proof gitrepo.Proof
		if q, proof, err = h.cfg.Disk.Subset(ctx, x.q, gitrepo.Proving{Commits: x.tipsOf(event), Party: x.party}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, q.Close()) }()
		bytes = proof.Bytes
	}
	r, err := readRow(h.cfg.Store, of)
	if err != nil {
		return err
	}
	if err = errors.Join(h.room(ctx, r), h.fits(ctx, r, bytes)); err == nil {
		_, err = h.arrive(ctx, x.party, refdb.Arrival{Of: of, Tips: []nostr.ID{event}, Bytes: bytes}, q)
	}
	var full reason
	if errors.As(err, &full) && full.why != ManyPacks {
		h.refusals.add(refusal(h.cfg.Now(), of, full.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	return h.project(ctx, of)
}

// release drops an upload that no longer waits for any event.
func (h *Host) release(ctx context.Context, n uint64) error {
	if x := h.uploads.take(n); x != nil {
		defer x.disk.GiveBack()
		return errors.Join(x.q.Close(), forget(ctx, h.door, h.ledger, x.row))
	}
	return nil
}

// expireUploads has the uploads dropped whose time is over, after the jobs of the same party that wait: some may take tips whose events came in
// time.
func (h *Host) expireUploads(ctx context.Context) error {
	return h.door.Exclusively(ctx, "", func(*ingest.Exclusive) error {
		h.ledger.ExpireUploads()
		return nil
	})
}
