package want

import (
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// SetLists puts other lists in force: of the stored repositories graspd follows those that the lists admit. The cost grows with the number
// of announcements.
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
	for pk, mine := range d.byAuthor { // any repository may have lost or won a maintainer by the lists
		for _, r := range mine {
			d.touch(nip34.Address{PubKey: pk, D: r.d}, nil)
		}
	}
}

// fillFrom makes graspd ask these relays for announcements, as it asks bootstrap relays, and no longer the relays of the last call.
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

// carryIfFounded makes a repository of an announcement that lists this service or is archived, and that the lists admit. It removes the
// repository of any other announcement.
func (d *Desired) carryIfFounded(a *announced) {
	if a.Founds() {
		d.carry(a.at)
	} else {
		d.uncarry(a.at)
	}
}

// Councils says who maintains what under an identifier, by the announcements in the fold and the lists in force. The members of the council
// of an author are the confirmed maintainers of that author's repository (NIP-34: each is listed by another member, and lists one). Each
// call works everything out anew, at a cost in proportion to all announcements with the identifier.
func (d *Desired) Councils(name string) *grasp.Councils {
	same := make([]policy.Announcer, 0, len(d.byD[name]))
	for _, a := range d.byD[name] {
		same = append(same, a.Announcer)
	}
	return policy.Family(same, policy.Announcer.Counts).Councils()
}
