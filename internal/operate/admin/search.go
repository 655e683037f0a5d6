package admin

import (
	"strings"

	"github.com/graspd/graspd/internal/protocol/grasp"
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

// choose returns the repositories that fit a search: by a part of their name, the beginning of their owner's key in hex, an npub, an address in
// any form, or the URL of a relay. It keeps the result, so that many pages of one search cost one look. The caller holds the pages' lock.
func (h *holdings) choose(w pageRef) []int {
	c := chosen{w.Query, w.State}
	if out, ok := h.chosen[c]; ok {
		return out
	}
	fits := matcher(w.Query)
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

func matcher(query string) func(r *repository) bool {
	q := strings.ToLower(query)
	if q == "" {
		return func(*repository) bool { return true }
	}
	if strings.Contains(q, "://") {
		return func(r *repository) bool {
			for i := range r.Relays {
				if strings.Contains(r.Relays[i].URL, q) {
					return true
				}
			}
			return false
		}
	}
	if a, err := grasp.ParseRepository(query); err == nil {
		address := a.String()
		return func(r *repository) bool { return r.Address == address }
	}
	if pk, err := grasp.ParseAuthor(query); err == nil {
		owner := pk.String()
		return func(r *repository) bool { return r.Owner() == owner }
	}
	return func(r *repository) bool {
		return strings.Contains(r.folded, q) || len(q) >= 4 && strings.HasPrefix(r.Owner(), q)
	}
}
