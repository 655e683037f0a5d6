package want

import (
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/policy"
)

// SetLists has the repositories followed that these lists admit, of those that are stored. Its cost grows with the number of
// announcements.
func (d *Desired) SetLists(l policy.Lists) {
	d.rules.Lists = l
	d.fillFrom(l.Archive.Hosts)
	for _, name := range slices.Sorted(maps.Keys(d.byD)) { // in an order, so that a run can be repeated
		for _, a := range d.byD[name] {
			a.Announcer = a.Under(l, a.at, a.relays)
			d.carryIfFounded(a)
		}
	}
	d.readClaims()
	for pk, mine := range d.byAuthor { // another's announcement may be part of any no more, or again
		for _, r := range mine {
			d.touch(nip34.Address{PubKey: pk, D: r.d}, nil)
		}
	}
}

// fillFrom has the announcements of these relays asked for as of bootstrap relays, and no more of those that it was told before.
func (d *Desired) fillFrom(hosts map[URL]struct{}) {
	for u := range d.archived {
		if _, ok := hosts[u]; !ok {
			d.target(u).bootstrap = false
			d.affected[u] = struct{}{}
			delete(d.archived, u)
		}
	}
	for u := range hosts {
		if t := d.targets[u]; d.rules.Service.Is(u) || t != nil && t.bootstrap {
			continue
		}
		d.target(u).bootstrap = true
		d.affected[u], d.archived[u] = struct{}{}, struct{}{}
	}
}

// carryIfFounded makes a repository of an announcement that lists this service or is archived, and that the lists admit; of others it makes
// none any more.
func (d *Desired) carryIfFounded(a *announced) {
	if a.Founds() {
		d.carry(a.at)
	} else {
		d.uncarry(a.at)
	}
}

// Councils tells who maintains what under an identifier, by the announcements that are folded and the lists in force: the
// members of the council of an author are the confirmed maintainers of that author's repository (NIP-34, each listed by another
// member and listing one). It is worked out at every call, in proportion to all that is announced under the identifier.
func (d *Desired) Councils(name string) *grasp.Councils {
	same := make([]policy.Announcer, 0, len(d.byD[name]))
	for _, a := range d.byD[name] {
		same = append(same, a.Announcer)
	}
	return policy.Group(same, policy.Announcer.Counts).Councils()
}
