package admin

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// chooseRelays returns the relays that fit a search: by a part of their URL or of why they fail, by a state, or by "bootstrap" or "mailbox".
func chooseRelays(all []status.Relay, w pageRef) []status.Relay {
	if w.Query == "" && w.State == "" {
		return all
	}
	q := strings.ToLower(w.Query)
	var out []status.Relay
	for i := range all {
		r := &all[i]
		if w.State != "" && r.State() != w.State {
			continue
		}
		if strings.Contains(string(r.URL), q) || q == r.State() || q == "bootstrap" && r.Bootstrap || q == "mailbox" && r.Mailbox > 0 || strings.Contains(strings.ToLower(string(r.Cause)), q) {
			out = append(out, *r)
		}
	}
	return out
}

// mostChosen is how many searches are kept while the repositories stay as they are.
const mostChosen = 64

// chosen is one search of repositories.
type chosen struct{ query, state string }

// choose returns the repositories that fit a search: by a part of their name, the beginning of their owner's key in hex, whatever names an
// author, a repository or an event (grasp.ParseNamed), or the URL of a relay. It keeps the result, so that many pages of one search cost one look. The caller holds the pages' lock.
func (h *holdings) choose(w pageRef, about func(nostr.ID) []nip34.Address) []int {
	c := chosen{w.Query, w.State}
	if out, ok := h.chosen[c]; ok {
		return out
	}
	fits := matcher(w.Query, about)
	out := make([]int, 0, perPage)
	for i := range h.list {
		if r := &h.list[i]; (w.State == "" || w.State == r.State) && fits(r) {
			out = append(out, i)
		}
	}
	if len(h.chosen) >= mostChosen {
		clear(h.chosen)
	}
	h.chosen[c] = out
	return out
}

// matcher returns what tells whether a repository fits a search. about returns the repositories that an event is about.
func matcher(query string, about func(nostr.ID) []nip34.Address) func(r *repository) bool {
	q := strings.ToLower(query)
	if q == "" {
		return func(*repository) bool { return true }
	}
	n, err := grasp.ParseNamed(query)
	switch {
	case err == nil && n.Address != nip34.Address{}:
		address := n.Address.String()
		return func(r *repository) bool { return r.Address == address }
	case err == nil && n.Author != nostr.PubKey{} && !n.Hex():
		return func(r *repository) bool { return r.Owner() == n.Author.String() }
	case err == nil:
		of := about(n.Event)
		return func(r *repository) bool {
			return n.Hex() && r.Owner() == q || slices.ContainsFunc(of, func(a nip34.Address) bool { return a.String() == r.Address })
		}
	case strings.Contains(q, "://"):
		return func(r *repository) bool {
			return slices.ContainsFunc(r.Relays, func(x RepositoryPart) bool { return strings.Contains(x.URL, q) })
		}
	}
	return func(r *repository) bool {
		return strings.Contains(r.folded, q) || len(q) >= 4 && strings.HasPrefix(r.Owner(), q)
	}
}
