package want

import (
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// claimsPerAuthor is how many waiting announcements of one author graspd follows: those that came first.
const claimsPerAuthor = 20

// claims are the announcements that wait for git data. graspd asks the relays that a claim names only for announcements and states, by the
// identifier, to learn where the data is. Claims count for nothing else: they do not decide who maintains what.
type claims struct {
	by       map[nostr.ID]*claim
	ofAuthor map[nostr.PubKey][]*claim // in the order in which they came
}

type claim struct {
	id nostr.ID
	*announced
	repo *repo // nil while it is not followed
}

func newClaims() claims {
	return claims{by: make(map[nostr.ID]*claim), ofAuthor: make(map[nostr.PubKey][]*claim)}
}

// Await takes an announcement that waits for its git data. Remove ends the claim, and so does Add when the relay serves the announcement.
func (d *Desired) Await(e *nostr.Event) {
	if e.Kind != nip34.KindRepository || d.claims.by[e.ID] != nil {
		return
	}
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		return
	}
	c := &claim{id: e.ID, announced: d.kept(a)}
	d.claims.by[c.id] = c
	d.claims.ofAuthor[a.Address.PubKey] = append(d.claims.ofAuthor[a.Address.PubKey], c)
	d.follow(c.at.PubKey)
}

// follow makes graspd ask the relays of an author's first claims, within the bounds of one author.
func (d *Desired) follow(pk nostr.PubKey) {
	used := make(map[URL]struct{})
	for i, c := range d.claims.ofAuthor[pk] {
		if i >= claimsPerAuthor || !c.Founds() {
			d.unfollow(c)
			continue
		}
		if c.repo == nil {
			d.nextOrd++
			c.repo = &repo{ord: d.nextOrd, owner: c.at.PubKey, d: c.at.D, claimed: true}
			c.repo.addrs = []string{c.at.String()}
			d.names, c.repo.item = d.names.addRepo(newClaimed(c.repo.addrs, c.at.D))
			c.repo.want = &RepoWant{Item: c.repo.item, Owner: c.repo.owner, Ord: c.repo.ord}
		}
		c.repo.sources = []*announced{c.announced}
		d.assign(c.repo, d.relaysOf(c.repo, used))
	}
}

func (d *Desired) unfollow(c *claim) {
	if c.repo != nil {
		d.assign(c.repo, nil)
		d.dead++
		c.repo = nil
	}
}

// unclaim forgets an announcement that waits no longer.
func (d *Desired) unclaim(id nostr.ID) {
	c := d.claims.by[id]
	if c == nil {
		return
	}
	delete(d.claims.by, id)
	d.unfollow(c)
	pk := c.at.PubKey
	left := slices.DeleteFunc(d.claims.ofAuthor[pk], func(x *claim) bool { return x == c })
	if len(left) == 0 {
		delete(d.claims.ofAuthor, pk)
		return
	}
	d.claims.ofAuthor[pk] = left
	d.follow(pk)
}

// followAgain looks again at the claims with an identifier, when another announcement with this identifier is served.
func (d *Desired) followAgain(name string) {
	authors := map[nostr.PubKey]struct{}{}
	for _, c := range d.claims.by {
		if c.at.D == name {
			authors[c.at.PubKey] = struct{}{}
		}
	}
	for _, pk := range slices.SortedFunc(maps.Keys(authors), nostr.PubKey.Compare) {
		d.follow(pk)
	}
}

// readClaims looks at all claims again, under new lists.
func (d *Desired) readClaims() {
	for _, pk := range slices.SortedFunc(maps.Keys(d.claims.ofAuthor), nostr.PubKey.Compare) { // in an order, so that a run can be repeated
		for _, c := range d.claims.ofAuthor[pk] {
			c.Announcer = c.Under(d.rules.Lists, c.at, c.relays)
		}
		d.follow(pk)
	}
}
