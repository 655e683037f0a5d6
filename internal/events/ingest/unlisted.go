package ingest

import (
	"cmp"
	"slices"
	"sync"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// Bounds of what is counted, as strangers write all of it. Names and relays beyond them are not counted.
const (
	mostNames  = 64   // names
	mostOfOne  = 10   // values of one announcement that are looked at
	mostRelays = 1000 // relays that bring announcements
)

// mostTold is how many names the operator is told.
const mostTold = 3

// unlisted counts announcements that do not list this relay, and the relays that they list instead, so that an operator whose relay carries
// nothing learns why. The writer counts, and anybody reads.
type unlisted struct {
	mu            sync.Mutex // guards everything below
	announcements uint64
	from          map[string]struct{}
	names         map[string]uint64
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
	u.count(a, from)
}

// count counts an announcement, and each name that it lists once. from is the relay that brought it, or "" for a client.
func (u *unlisted) count(a *nip34.Announcement, from string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.from, u.names = make(map[string]struct{}), make(map[string]uint64)
	}
	u.announcements++
	if from != "" && len(u.from) < mostRelays {
		u.from[from] = struct{}{}
	}
	var seen []string
	for _, raw := range a.Relays[:min(len(a.Relays), mostOfOne)] {
		r, err := grasp.NormalizeRelay(raw)
		if err != nil || slices.Contains(seen, r.Domain()) {
			continue
		}
		seen = append(seen, r.Domain())
		if u.names[r.Domain()] > 0 || len(u.names) < mostNames {
			u.names[r.Domain()]++
		}
	}
}

// Unlisted returns how many announcements since the start do not list this relay, and the names that most of them list. The caller fills in
// what concerns this relay.
func (d *Door) Unlisted() status.Nothing { return d.unlisted.told() }

func (u *unlisted) told() status.Nothing {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := status.Nothing{Announcements: u.announcements, From: len(u.from), Names: []status.NameSeen{}}
	for name, count := range u.names {
		n.Names = append(n.Names, status.NameSeen{Name: name, Announcements: count})
	}
	slices.SortFunc(n.Names, func(a, b status.NameSeen) int {
		return cmp.Or(cmp.Compare(b.Announcements, a.Announcements), cmp.Compare(a.Name, b.Name))
	})
	n.Names = n.Names[:min(len(n.Names), mostTold)]
	return n
}
