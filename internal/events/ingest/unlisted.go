package ingest

import (
	"sync"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// unlisted counts announcements that do not list this relay. The writer counts, and anybody reads.
type unlisted struct {
	mu    sync.Mutex // guards tally
	tally tally
}

// saw counts a decided event, if it is an announcement that does not list this relay. The caller leaves out events from the orphan buffer,
// as saw counted them when they came.
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
	u.tally.saw(a, from)
}

// Unlisted returns the counts of announcements that do not list this relay, since the start.
func (d *Door) Unlisted() status.Nothing {
	d.unlisted.mu.Lock()
	defer d.unlisted.mu.Unlock()
	return d.unlisted.tally.told()
}
