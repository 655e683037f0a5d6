package hosting

import (
	"context"
	"errors"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/store"
)

// Unfinished packs take disk before anybody knows whether they belong here. They take no more than half of what is free above the floor, so that
// one who begins many and ends none keeps nobody's events out. What they have written already is free no more, so the half is of what is left.
// Whoever brings less than slowPack a second gives way first, and then who has most, with what they began last.
const (
	slowPack = 16 << 10
	packWait = 20 * time.Second // for which a pack waits for room
	packStep = 64 << 10         // bytes of disk that are asked for at a time
	perByte  = 2                // bytes of disk for each of a pack: git writes a second copy, before the first one goes
)

// errYields ends a pack that has to give way.
var errYields = reason{ServerFull, "the disk of this server is short, and others have brought less or are faster: push again in some minutes, some commits at a time"}

// errShort refuses a pack for which there is no room.
var errShort = reason{ServerFull, "the disk of this server has no room for more packs at the moment: push again in some minutes"}

// newUnfinished returns the account of the disk that unfinished packs take. space tells of the disk on which they are.
func newUnfinished(space func() (store.Disk, error), now func() time.Time) *fair.Account {
	return fair.New(fair.Config{
		Name: "bytes of unfinished packs", Total: 1 << 50, Little: 4 << 20, Slow: slowPack, Newest: true, Most: packWait, Patience: time.Second, Places: 256, Now: now,
		Room: func() int64 {
			d, err := space()
			if err != nil || d.Free < d.Floor {
				return 0
			}
			return int64((d.Free - d.Floor) / 2)
		},
	})
}

// space tells of the disk of the git data.
func (c *Config) space() (store.Disk, error) {
	if c.Space != nil {
		if d := c.Space(); d != nil {
			return *d, nil
		}
	}
	return c.Store.Disk()
}

// unfinished is the disk that one unfinished pack takes.
type unfinished struct{ *fair.Grant }

// begin begins an unfinished pack. The context ends, and end is called, when the pack has to give way; end must not wait.
func begin(ctx context.Context, a *fair.Account, of fair.Party, end func()) (context.Context, unfinished) {
	ctx, cancel := context.WithCancelCause(ctx)
	u := unfinished{a.Open(of)}
	u.Revocable(func() {
		cancel(errYields)
		if end != nil {
			end()
		}
	})
	return ctx, u
}

// cover asks for the disk that so many bytes of the pack take. It waits where there is none.
func (u unfinished) cover(ctx context.Context, bytes int64) error {
	more := perByte*bytes - u.Size()
	if more <= 0 {
		return nil
	}
	more = max(more, packStep)
	if u.Grow(more) == fair.Granted {
		return nil
	}
	err := u.Wait(ctx, more)
	var short fair.Refusal
	if errors.As(err, &short) {
		return errShort
	}
	return err
}

// whole notes that the pack is here to its end. What is left to do is this server's work, however long it waits for its turn, and nobody makes it
// give way.
func (u unfinished) whole() { u.Revocable(nil) }

// read notes how the pack was read. It returns err, or errYields where the pack was not read to its end to give way.
func (u unfinished) read(ctx context.Context, err error) error {
	u.Revocable(nil)
	if err != nil && context.Cause(ctx) == error(errYields) {
		return errYields
	}
	return err
}
