package corpus

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Repository is a repository that an owner announces.
type Repository struct {
	Address nip34.Address
	Relays  []string // the relays that it lists, as the options spell them
	Roots   int      // events that name it as their first repository
	Deleted bool     // its owner deletes the announcement in the end
}

// repository has what whoever mentions a repository has to know about it.
type repository struct {
	Repository
	owner   *person
	lone    bool // its d is a common one, so it has no maintainers and its owner has nothing else
	address string
	euc     string // earliest unique commit
	created int64
}

// repository makes repository i. It returns the same one for every call.
func (g *generator) repository(i int) *repository {
	r := g.rng("repository", i)
	d, lone := identifier(r, i)
	owner := firstOwner + skewedOwner(r, max(1, g.o.Repositories*3/10))
	if lone {
		owner = firstLoneOwner + i
	}
	p := g.person(owner)
	a := nip34.Address{Kind: nip34.KindRepository, PubKey: p.pk, D: d}
	span := g.o.Until - g.o.Since
	return &repository{
		Repository: Repository{
			Address: a, Relays: g.relays(r), Roots: g.roots[i],
			Deleted: i >= 8 && i%41 == 17 && g.others[i] >= 2,
		},
		owner: p, lone: lone, address: a.String(), euc: hex(r, 40), created: g.o.Since + r.Int64N(span/2),
	}
}

// skewedOwner draws the number of an owner, so that few people have many repositories, yet far fewer than a hundred each.
func skewedOwner(r *rand.Rand, n int) int { return r.IntN(max(1, n>>r.IntN(4))) }

// identifier makes the d tag of repository i. Each is used once in a corpus, but for a few common ones. Those are lone: their owners must own
// nothing else, and they have no maintainers.
func identifier(r *rand.Rand, i int) (d string, lone bool) {
	noun, adjective := nouns[i%len(nouns)], adjectives[i/len(nouns)%len(adjectives)]
	d = adjective + "-" + noun
	if n := i / len(nouns) / len(adjectives); n > 0 {
		d = fmt.Sprintf("%s-%d", d, n)
	}
	switch r.IntN(100) {
	case 0, 1, 2, 3, 4, 5:
		return pick(r, []string{"dotfiles", "website", "notes", "nixos-config", "blog"}), true
	case 6:
		return fmt.Sprintf("%s %s %d", adjective, noun, i), false
	case 7:
		return fmt.Sprintf("org:%s:%d", noun, i), false
	case 8:
		return fmt.Sprintf("%s/%s.%d", adjective, noun, i), false
	case 9:
		return fmt.Sprintf("Größe-%s-🚀-%d", noun, i), false
	case 10:
		return "", true
	case 11, 12, 13, 14, 15, 16:
		return fmt.Sprintf("%s%05x", hex(r, 2), i), false // seven hex digits: one client takes those of the first commit by default
	}
	return d, false
}

// relays draws the relays that a repository lists.
func (g *generator) relays(r *rand.Rand) []string {
	var out []string
	if g.o.Service != "" {
		out = append(out, g.o.Service)
	}
	order := r.Perm(len(g.o.Relays))
	for _, k := range order[:g.o.RelaysEach] {
		out = append(out, g.o.Relays[k])
	}
	return out
}

// announcementTags makes the tags of an announcement (30617) of the repository by p.
func announcementTags(r *rand.Rand, repo *repository, p *person, relays, maintainers []string) nostr.Tags {
	d := repo.Address.D
	tags := nostr.Tags{{"d", d}}
	if !oneIn(r, 20) {
		tags = append(tags, nostr.Tag{"name", strings.ReplaceAll(d, "-", " ")}, nostr.Tag{"description", sentence(r, 40+r.IntN(120))})
	}
	clone := nostr.Tag{"clone"}
	for _, u := range relays[:min(len(relays), 3)] {
		clone = append(clone, cloneURL(u, p, d))
	}
	if oneIn(r, 3) || len(clone) == 1 {
		clone = append(clone, "https://git."+pick(r, nouns)+".example/"+url.PathEscape(d)+".git")
	}
	tags = append(tags, clone)
	if oneIn(r, 2) {
		tags = append(tags, nostr.Tag{"web", "https://git." + pick(r, nouns) + ".example/" + p.npub() + "/" + url.PathEscape(d)})
	}
	if len(relays) > 0 {
		list := nostr.Tag{"relays"}
		for _, u := range relays {
			if oneIn(r, 8) && !strings.HasSuffix(u, "/") {
				u += "/" // names the same relay
			}
			list = append(list, u)
		}
		tags = append(tags, list)
	}
	if !oneIn(r, 2) {
		tags = append(tags, nostr.Tag{"r", repo.euc, "euc"})
	}
	if len(maintainers) > 0 {
		tags = append(tags, append(nostr.Tag{"maintainers"}, maintainers...))
	}
	if oneIn(r, 3) {
		tags = append(tags, nostr.Tag{"t", pick(r, nouns)}, nostr.Tag{"t", pick(r, nouns)})
	}
	return append(tags, nostr.Tag{"alt", "git repository: " + d})
}

// cloneURL returns the clone URL of a repository at the GRASP service with that relay URL.
func cloneURL(relay string, p *person, d string) string {
	base := strings.TrimSuffix(strings.Replace(relay, "ws", "http", 1), "/")
	return base + "/" + p.npub() + "/" + url.PathEscape(d) + ".git"
}

// stateTags makes the tags of a state (30618): branches and tags by ref name, and HEAD.
func stateTags(r *rand.Rand, d string) nostr.Tags {
	branch := "refs/heads/" + pick(r, []string{"main", "main", "main", "master", "trunk"})
	tags := nostr.Tags{{"d", d}, {"HEAD", "ref: " + branch}, {branch, hex(r, 40)}}
	for range r.IntN(1 + r.IntN(8)) {
		tags = append(tags, nostr.Tag{"refs/heads/" + pick(r, verbs) + "-" + pick(r, nouns), hex(r, 40)})
	}
	for i := range r.IntN(1 + r.IntN(12)) {
		ref := fmt.Sprintf("refs/tags/v0.%d.%d", i, r.IntN(10))
		tags = append(tags, nostr.Tag{ref, hex(r, 40)})
		if oneIn(r, 2) {
			tags = append(tags, nostr.Tag{ref + "^{}", hex(r, 40)})
		}
	}
	return tags
}
