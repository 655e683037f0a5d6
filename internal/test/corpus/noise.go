package corpus

import (
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// noise makes events that every relay sees and no relay of the corpus wants: events of strangers about repositories elsewhere, or about
// no repository. No relay keeps anything of their authors.
func (g *generator) noise(yield func(Item) bool) {
	r := g.rng("noise", 0)
	for i := range g.o.Noise {
		p := g.person(firstStranger + i)
		e := &nostr.Event{CreatedAt: g.o.Since + r.Int64N(g.o.Until-g.o.Since+1), Tags: nostr.Tags{}}
		elsewhere := nip34.Address{Kind: nip34.KindRepository, PubKey: g.person(firstStranger + r.IntN(i+1)).pk, D: pick(r, nouns)}.String()
		switch k := r.IntN(12); {
		case k < 4:
			e.Kind = nip34.KindRepository
			e.Tags = nostr.Tags{{"d", pick(r, []string{pick(r, nouns), "dotfiles", pick(r, adjectives) + "-" + pick(r, nouns)})}, {"name", sentence(r, 20)},
				{"description", sentence(r, 80)}, {"clone", "https://git.elsewhere.example/" + p.npub() + "/x.git"}, g.otherRelays(i)}
		case k < 5:
			e.Kind, e.Tags = nip34.KindState, stateTags(r, pick(r, nouns))
		case k < 6:
			e.Kind, e.Content = nip34.KindIssue, markdown(r, 500)
			e.Tags = nostr.Tags{{"a", elsewhere}, {"subject", sentence(r, 40)}}
		case k < 7:
			e.Kind, e.Content = nostr.KindComment, prose(r, 200)
			e.Tags = nostr.Tags{{"A", elsewhere}, {"K", "30617"}, {"a", elsewhere}, {"k", "30617"}}
		case k < 8:
			e.Kind, e.Content = nostr.KindReaction, "+"
			e.Tags = nostr.Tags{{"e", hex(r, 64)}, {"p", p.hex}}
		case k < 9:
			e.Kind, e.Content = nostr.KindMetadata, `{"name":"`+p.name+`"}`
		case k < 10:
			e.Kind, e.Tags = nostr.KindDeletion, nostr.Tags{{"e", hex(r, 64)}, {"k", "1"}}
		default:
			e.Kind, e.Content = nostr.KindNote, prose(r, size(r, 20, 60, 200, 40, 800))
		}
		g.o.Sign(p.key, p.pk, e)
		if !yield(Item{Event: e, What: Noise, Fate: Refused}) {
			return
		}
	}
}

// otherRelays makes a relays tag without any relay of the corpus, though some of its hosts look like one.
func (g *generator) otherRelays(i int) nostr.Tag {
	ours := append([]string{}, g.o.Relays...)
	if g.o.Service != "" {
		ours = append(ours, g.o.Service)
	}
	tag := nostr.Tag{"relays", "wss://relay.elsewhere.example"}
	if len(ours) > 0 && i%3 == 0 {
		scheme, host, _ := strings.Cut(ours[i%len(ours)], "://")
		tag = append(tag, scheme+"://not"+host)
	}
	return tag
}
