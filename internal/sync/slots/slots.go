// Package slots decides which relays get one of a bounded number of slots, and which give theirs up. It computes moves from candidates, and
// knows nothing of connections. Read Candidate, then Assign.
package slots

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// URL is a normalised URL, the identity of a server.
type URL = grasp.RelayURL

// Candidate is a relay that has a slot or waits for one. Bootstrap relays need none.
type Candidate struct {
	URL    URL
	Host   string // "" where the host may have any number of slots
	Owners int    // distinct owners whose repositories name the relay
	// Party is the owner who alone names the relay; "" = several do.
	Party string
	// Mailbox says that no repository names the relay. Such a relay gets a slot only while no other relay has use for it.
	Mailbox bool
	HasSlot bool
	Use     Use
	Last    time.Time // when graspd last dealt with a waiting relay; zero = never
}

// Use says what a relay does, or would do, with a slot.
type Use uint8

// The uses of a slot.
const (
	Trying Use = iota // connecting, or asking for its first items: so every relay begins
	Firm              // connected, with confirmed items
	Stuck             // connected for long, with nothing confirmed
	Unused            // waiting for its next attempt to connect, which needs no slot
)

// Move gives a slot to one relay, and takes it from another where none is free.
type Move struct{ Give, Take URL }

// PerHost is how many slots the relays of one host may have, whatever their ports and paths. So announcements cannot aim hundreds of
// connections at one host.
const PerHost = 4

// PerMailbox is how many slots relays that are only mailboxes may have. graspd visits a mailbox once a day, so a few slots are enough.
const PerMailbox = 16

// Assign decides which relays get one of n slots, and which lose theirs. Relays named by the most owners go first, then relays whose party
// has the fewest slots, then those with the earliest Last.
//
// A slot that is stuck or unused goes to any relay with use for it, so that dead relays have slots only while graspd tries them. No relay
// that a repository names loses a slot in firm use. A relay whose host has PerHost slots gets a slot from a relay of that host, or none.
// Relays that are only mailboxes come last: they take slots only from each other, have at most PerMailbox, and give a slot up, whatever its
// use, to any other relay with use for it.
func Assign(all []Candidate, n int) []Move {
	var waiting, held []Candidate
	for _, c := range all {
		if c.HasSlot {
			held = append(held, c)
		} else {
			waiting = append(waiting, c)
		}
	}
	has := countParties(held)
	inTurn(waiting, has)
	slices.SortFunc(held, func(a, b Candidate) int { // the first to yield in front
		return cmp.Or(order(b.Mailbox, a.Mailbox), cmp.Compare(b.Use, a.Use), a.Owners-b.Owners, has[b.Party]-has[a.Party], cmp.Compare(a.URL, b.URL))
	})
	var moves []Move
	hosts, mailboxes := Hosts(all), 0
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
		i := slices.IndexFunc(held, func(h Candidate) bool { return h.yields(w, has) && (!full || h.Host == w.Host) })
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

// OfHosts has, for each host, how many slots its relays have.
type OfHosts map[string]int

// Hosts counts the slots that relays have now.
func Hosts(all []Candidate) OfHosts {
	s := make(OfHosts)
	for _, c := range all {
		if c.HasSlot {
			s[c.Host]++
		}
	}
	return s
}

// Full reports whether the host of c has PerHost slots.
func (s OfHosts) Full(c Candidate) bool { return c.Host != "" && s[c.Host] >= PerHost }

// order compares two bools, false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// ofParties has, for each party, how many slots its relays have.
type ofParties map[string]int

func countParties(held []Candidate) ofParties {
	has := make(ofParties)
	for _, h := range held {
		has.add(h, 1)
	}
	return has
}

func (s ofParties) add(c Candidate, n int) {
	if c.Party != "" {
		s[c.Party] += n
	}
}

// inTurn sorts the waiting relays in the order of Assign. Each relay of a party ranks as if the party's relays before it had got a slot.
func inTurn(waiting []Candidate, has ofParties) {
	by := func(rank func(Candidate) int) {
		slices.SortFunc(waiting, func(a, b Candidate) int {
			return cmp.Or(order(a.Mailbox, b.Mailbox), cmp.Compare(a.Use, b.Use), b.Owners-a.Owners, rank(a)-rank(b), a.Last.Compare(b.Last), cmp.Compare(a.URL, b.URL))
		})
	}
	by(func(Candidate) int { return 0 })
	before, ranks := maps.Clone(has), make(map[URL]int)
	for _, w := range waiting {
		ranks[w.URL] = before[w.Party]
		before.add(w, 1)
	}
	by(func(c Candidate) int { return ranks[c.URL] })
}

// yields reports whether h gives its slot up to w.
func (h Candidate) yields(w Candidate, has ofParties) bool {
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
		return h.Owners < w.Owners || h.Owners == w.Owners && has[h.Party] > has[w.Party]+1
	}
	return false
}
