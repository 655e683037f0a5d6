package hosting

import (
	"context"
	"runtime"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Bounds of new repositories.
const (
	NewPerAddress = newPerAddress
	NewPerNetwork = newPerNetwork
	NewPerOwner   = newPerOwner
	NewcomersKept = newKept
)

// LongLeft returns how many more long pushes may be worked on.
func (h *Host) LongLeft() int64 { return h.long.Left() }

// HoldLong takes all turns of long pushes until release is called.
func (h *Host) HoldLong(ctx context.Context) (release func(), err error) {
	g, err := h.long.Wait(ctx, fair.Party{}, max(1, int64(runtime.GOMAXPROCS(0)/2)))
	return g.GiveBack, err
}

// Begun notes a new repository.
func (h *Host) Begun(from refs.From, owner string) {
	h.newcomers.mu.Lock()
	defer h.newcomers.mu.Unlock()
	h.newcomers.count(h.cfg.Now(), newcomersOf(from, owner), 1)
}

// Begin counts a new repository, if one may begin.
func (h *Host) Begin(from refs.From, owner string) (giveBack func(), err error) {
	return h.newcomers.take(h.cfg.Now(), newcomersOf(from, owner), "push this one")
}

// Newcomers is how many are told apart.
func (h *Host) Newcomers() int { return len(h.newcomers.by) }

// RoomForPacks is how many bytes unfinished packs may still take.
func (h *Host) RoomForPacks() int64 { return h.unfinished.Left() }

// GivesWay reports whether an unfinished pack would give way to one of somebody else.
func (h *Host) GivesWay() bool {
	g, _, instead := h.unfinished.Try(fair.Party{Network: "somebody else"}, h.unfinished.Left()+1)
	g.GiveBack()
	return instead != nil
}

// Unreturned names what pushes have not given back: turns of long ones, and, where no upload waits for its event, the disk of unfinished packs.
func (h *Host) Unreturned() []string {
	out := h.long.Unreturned()
	if n, _ := h.uploads.size(); n == 0 {
		out = append(out, h.unfinished.Unreturned()...)
	}
	return out
}

// Align copies to the repositories that follow one.
func (h *Host) Align(ctx context.Context, of nip34.Address) error {
	_, err := h.align(ctx, of, copier{party: unknownPayer})
	return err
}

// Looking looks at all repositories in parts of so many at least, and returns which ones a part has.
func (h *Host) Looking(least int) func(now time.Time) (of []string) {
	r := round{least: least}
	return func(now time.Time) (of []string) {
		h.cfg.Logger.Debug("a part", "error", r.goOn(h, now, func(a nip34.Address) { of = append(of, a.String()) }))
		return of
	}
}

// ShrinkTrash looks whether something has to go from the trash.
func (h *Host) ShrinkTrash(ctx context.Context) error { return h.shrinkTrash(ctx) }

// Visit notes a repository for a look.
func (h *Host) Visit(of nip34.Address) { h.visited.add(of) }

// Visited takes the repository whose turn it is to be looked at.
func (h *Host) Visited() (nip34.Address, bool) { return toLook(0, &h.crowd, &h.visited) }

// Crowded says that packs came to a repository, or are to come.
func (h *Host) Crowded(of nip34.Address, dir refdb.Dir) error { return h.crowded(of, dir) }

// Landing is what has the packs of a quarantine admitted, and what takes back what is counted of them.
func (h *Host) Landing(a refdb.Arrival, q gitrepo.Quarantine) (admit func(refdb.Dir) error, undo func()) {
	x := &arriving{h: h, a: a, q: q, undo: func() {}}
	return x.admit, func() { x.undo() }
}

// Compare brings the objects of packs in line with the manifests.
func (h *Host) Compare(ctx context.Context) error { return h.packs.compare(ctx) }
