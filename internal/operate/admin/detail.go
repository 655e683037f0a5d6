package admin

import (
	"slices"
	"strconv"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// relay fills the page with everything that is known about one relay.
func (d *document) relay(h *history) error {
	u := d.Of
	if n, err := grasp.NormalizeRelay(u); err == nil {
		u = string(n)
	}
	i := slices.IndexFunc(d.View.Relays, func(r status.Relay) bool { return string(r.URL) == u || d.Key != "" && key(string(r.URL)) == d.Key })
	if i < 0 {
		return unknown("the relay " + cut(mostPlain, d.Of+d.Key))
	}
	r := &d.View.Relays[i]
	d.Title, d.Heading = string(r.URL), string(r.URL)
	d.Relay = &relayRow{Relay: r, May: d.May, Plot: draw(h.day(d.View.At, r.URL))}
	held := d.View.held
	d.Gaps = d.titled(held.gapsOf[r.URL])
	places := held.of[string(r.URL)]
	part := pageOf(d.Page, len(places))
	d.RepositoryList = d.newList(repositoriesPage, part)
	for _, place := range places[part.From:part.To] {
		x := &held.list[place]
		at := slices.IndexFunc(x.Relays, func(x RepositoryPart) bool { return x.URL == string(r.URL) })
		d.RepositoryList.Repositories = append(d.RepositoryList.Repositories, repositoryRow{repository: d.named(*x), With: x.Relays[at]})
	}
	return nil
}

// RelayFacts returns the facts of the page's relay.
func (d *document) RelayFacts() (out []fact) {
	for _, f := range status.Figures() {
		for _, l := range f.Lines {
			out = append(out, fact{l.ID, l.Title, l.Text(d.Relay.Relay, number)})
		}
	}
	return out
}

// repository fills the page with everything that is known about one repository.
func (d *document) repository() error {
	held := d.View.held
	k := d.Key
	if d.Of != "" {
		k = key(d.Of)
		if a, err := grasp.ParseRepository(d.Of); err == nil {
			k = key(a.String())
		}
	}
	i, ok := held.byKey[k]
	if !ok {
		return unknown("the repository " + cut(mostPlain, d.Of+d.Key))
	}
	d.Repo = d.named(held.list[i])
	d.Title, d.Heading = d.Repo.Name(), cut(mostPlain, d.Repo.Name())
	if t := d.Repo.Title; t != "" && t != d.Title {
		d.Heading += " (" + t + ")"
	}
	part := pageOf(d.Page, len(d.Repo.Relays))
	d.RelayList = d.newList(relaysPage, part)
	for _, x := range worstParts(d.Repo.Relays, len(d.Repo.Relays))[part.From:part.To] {
		r := &status.Relay{URL: grasp.RelayURL(x.URL), Phase: status.PhaseIdle}
		if i := slices.IndexFunc(d.View.Relays, func(r status.Relay) bool { return string(r.URL) == x.URL }); i >= 0 {
			r = &d.View.Relays[i]
		}
		d.RelayList.Relays = append(d.RelayList.Relays, relayRow{Relay: r, With: x})
	}
	return nil
}

// RepositoryFacts returns the figures of the page's repository.
func (d *document) RepositoryFacts() []fact {
	r := d.Repo
	owner := r.Owner()
	if pk, err := nostr.ParsePubKey(owner); err == nil {
		owner = nip19.Npub(pk)
	}
	if r.OwnedBy != "" {
		owner = r.OwnedBy + " (" + owner + ")"
	}
	return []fact{
		{"address", "address", cut(2000, r.Address)}, {"owner", "owner", owner}, {"roots", "roots", number(uint64(max(0, r.Roots)))},
		{"relays", "relays that it names", strconv.Itoa(len(r.Relays))},
	}
}
