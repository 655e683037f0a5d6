package want

import (
	"maps"
	"slices"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/policy"
)

// SetLists has the repositories followed that these lists admit, of those that are stored. Its cost grows with the number of
// announcements.
func (d *Desired) SetLists(l policy.Lists) {
	d.lists = l
	for _, name := range slices.Sorted(maps.Keys(d.byD)) { // in an order, so that a run can be repeated
		for _, a := range d.byD[name] {
			d.place(a)
		}
	}
	for pk, mine := range d.byAuthor { // another's announcement may be part of any no more, or again
		for _, r := range mine {
			d.touch(nip34.Address{PubKey: pk, D: r.d}, nil)
		}
	}
}

// place makes a repository of an announcement that lists this service and is admitted, and of no other.
func (d *Desired) place(a *announced) {
	if a.ours && d.lists.Admits(a.Address) {
		d.carry(a.Address)
	} else {
		d.uncarry(a.Address)
	}
}

// part is the announcement of somebody that may be part of a repository with that d, or nil.
func (d *Desired) part(pk nostr.PubKey, name string) *announced {
	if d.lists.Bars(nip34.Address{Kind: nip34.KindRepository, PubKey: pk, D: name}) {
		return nil
	}
	return found(d.byD[name], pk, byAnnouncer)
}
