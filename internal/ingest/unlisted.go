package ingest

import (
	"sync"

	"github.com/graspd/graspd/internal/elsewhere"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/store"
)

// unlisted is what is known of announcements that do not list this relay: the writer counts them, anybody reads.
type unlisted struct {
	mu    sync.Mutex // guards tally
	tally elsewhere.Tally
}

// saw counts an event that was decided for the first time since the start, if it is such an announcement.
func (u *unlisted) saw(it *item, v policy.Verdict) {
	if v.Outcome != policy.Unlisted {
		return
	}
	a, err := nip34.ParseAnnouncement(it.event)
	if err != nil {
		return
	}
	from := ""
	if it.from != store.Direct {
		from = it.src.conf.Label
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tally.Saw(a, from)
}

// Unlisted tells what came since the start of announcements that do not list this relay.
func (d *Door) Unlisted() status.Nothing {
	d.unlisted.mu.Lock()
	defer d.unlisted.mu.Unlock()
	return d.unlisted.tally.Told()
}
