// Package slots decides who gets one of a bounded number of slots, and who gives theirs up: relays now, and whatever else is connected
// to at somebody's wish. It is a function from claims to moves, and knows nothing of what a slot is used for. Read Claim, then Assign.
package slots

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/grasp"
)

// URL is a normalised URL, the identity of a server.
type URL = grasp.RelayURL

// Claim is a relay that holds one of a bounded number of slots, or waits for one.
// Bootstrap relays need none.
type Claim struct {
	URL    URL
	Host   string // "" where any number may be connected to
	Owners int    // distinct owners whose repositories name the relay
	// Account is the owner who alone names it; "" = there are several.
	Account string
	// Mailbox says that no repository names it: it gets what nobody else has use for, and gives it up to whoever has.
	Mailbox bool
	Held    bool
	Use     Use
	Last    time.Time // when one that waits last held a slot; zero = never
}

// Use is what a relay makes, or would make, of a slot.
type Use uint8

// The uses of a slot.
const (
	Trying Use = iota // connecting, or asking for the first of its items; what waits would begin so
	Firm              // connected, with confirmed items: it keeps its slot
	Stuck             // connected for long, with nothing confirmed
	Unused            // it waits for its next attempt: nothing happens with a slot
)

// Move gives a slot to one relay, and takes it from another where none is free.
type Move struct{ Give, Take URL }

// PerHost is how many slots relays of one host have at most, whatever their ports
// and paths: announcements are not to aim hundreds of connections at somebody.
const PerHost = 4

// PerMailbox is how many slots relays have at most that are only mailboxes.
const PerMailbox = 16

// Assign decides who gets and who loses one of n slots. Those wanted by most
// owners go first, among as many those whose account has the fewest slots, and
// then those that held a slot longest ago. Nobody
// loses a slot in firm use; one that is stuck or in no use goes to whoever has use
// for it, so that dead relays take no place but while they are tried. Who waits
// while his host has all that it may have gets a slot of that host or none.
// Relays that are only mailboxes come after all others and take no slot from
// them, few have one at a time, and each gives it up to any other that has use for it.
func Assign(claims []Claim, n int) []Move {
	var waiting, held []Claim
	for _, c := range claims {
		if c.Held {
			held = append(held, c)
		} else {
			waiting = append(waiting, c)
		}
	}
	has := accounts(held)
	inTurn(waiting, has)
	slices.SortFunc(held, func(a, b Claim) int { // those that yield first in front
		return cmp.Or(order(b.Mailbox, a.Mailbox), cmp.Compare(b.Use, a.Use), a.Owners-b.Owners, has[b.Account]-has[a.Account], cmp.Compare(a.URL, b.URL))
	})
	var moves []Move
	hosts, mailboxes := Hosts(claims), 0
	for _, h := range held {
		if h.Mailbox {
			mailboxes++
		}
	}
	for free := n - len(held); len(waiting) > 0; waiting = waiting[1:] {
		w := waiting[0]
		full := hosts.Full(w)
		if free > 0 && !full && (!w.Mailbox || mailboxes < PerMailbox) {
			free--
			if w.Mailbox {
				mailboxes++
			}
			moves = append(moves, Move{Give: w.URL})
			has.add(w, 1)
			hosts[w.Host]++
			continue
		}
		i := slices.IndexFunc(held, func(h Claim) bool { return h.yields(w, has) && (!full || h.Host == w.Host) })
		if i >= 0 {
			moves = append(moves, Move{Give: w.URL, Take: held[i].URL})
			has.add(w, 1)
			has.add(held[i], -1)
			hosts[w.Host]++
			hosts[held[i].Host]--
			if held[i].Mailbox && !w.Mailbox {
				mailboxes--
			}
			held = slices.Delete(held, i, i+1)
		}
	}
	return moves
}

// OfHosts counts the slots on each host.
type OfHosts map[string]int

// Hosts counts the slots that are held.
func Hosts(claims []Claim) OfHosts {
	s := make(OfHosts)
	for _, c := range claims {
		if c.Held {
			s[c.Host]++
		}
	}
	return s
}

// Full says whether the host of c has all the slots that it may have.
func (s OfHosts) Full(c Claim) bool { return c.Host != "" && s[c.Host] >= PerHost }

// order puts what is not before what is.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// slotsOf counts the slots on each account.
type slotsOf map[string]int

func accounts(held []Claim) slotsOf {
	has := make(slotsOf)
	for _, h := range held {
		has.add(h, 1)
	}
	return has
}

func (s slotsOf) add(c Claim, n int) {
	if c.Account != "" {
		s[c.Account] += n
	}
}

// inTurn sorts those that wait. Of one account each stands one slot further back than the one before.
func inTurn(waiting []Claim, has slotsOf) {
	by := func(rank func(Claim) int) {
		slices.SortFunc(waiting, func(a, b Claim) int {
			return cmp.Or(order(a.Mailbox, b.Mailbox), cmp.Compare(a.Use, b.Use), b.Owners-a.Owners, rank(a)-rank(b), a.Last.Compare(b.Last), cmp.Compare(a.URL, b.URL))
		})
	}
	by(func(Claim) int { return 0 })
	before, ranks := maps.Clone(has), make(map[URL]int)
	for _, w := range waiting {
		ranks[w.URL] = before[w.Account]
		before.add(w, 1)
	}
	by(func(c Claim) int { return ranks[c.URL] })
}

// yields says whether h gives its slot to w, of the slots that the accounts have.
func (h Claim) yields(w Claim, has slotsOf) bool {
	switch {
	case w.Use == Unused, w.Mailbox && !h.Mailbox:
		return false
	case h.Mailbox && !w.Mailbox:
		return true
	}
	switch h.Use {
	case Unused, Stuck:
		return true
	case Trying:
		return h.Owners < w.Owners || h.Owners == w.Owners && has[h.Account] > has[w.Account]+1
	}
	return false
}
