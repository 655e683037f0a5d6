package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// heard is what one connection asked for and was told.
type heard struct {
	mu    sync.Mutex
	subs  map[string]*asked
	sent  map[nostr.ID]int // EVENTs and AUTHs without an OK yet
	negs  map[string]chan []byte
	tally *tally
	wrong string // the first that is not an answer to anything
	cut   string // what is wrong unless nothing follows: the library takes a message that the end of the connection cut for a whole one
}

// asked is what was asked under one subscription id.
type asked struct {
	filters                    []nostr.Filter
	reqs, counts, steps, wrong int // REQs, COUNTs, NEG-OPENs and NEG-MSGs, and messages that are none
	eose, closed               int
	counted, stepped, negErrs  int
	once                       bool // the id is used for one REQ only
	seen                       map[nostr.ID]bool
}

func (a *asked) String() string {
	return fmt.Sprintf("%d REQs, %d COUNTs, %d steps, %d wrong ones, and heard %d EOSE, %d CLOSED, %d counts, %d steps, %d NEG-ERR",
		a.reqs, a.counts, a.steps, a.wrong, a.eose, a.closed, a.counted, a.stepped, a.negErrs)
}

func newHeard(t *tally) *heard {
	return &heard{subs: map[string]*asked{}, sent: map[nostr.ID]int{}, negs: map[string]chan []byte{}, tally: t}
}

// ask notes what is about to be sent.
func (h *heard) ask(sub string, note func(*asked)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.subs[sub]
	if a == nil {
		a = &asked{seen: map[nostr.ID]bool{}}
		h.subs[sub] = a
	}
	note(a)
}

func (h *heard) publish(id nostr.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent[id]++
}

// waits names what has no answer yet, of what must have one.
func (h *heard) waits() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, n := range h.sent {
		if n > 0 {
			out = append(out, "OK of "+id.String())
		}
	}
	for sub, a := range h.subs {
		if a.once && a.eose+a.closed == 0 {
			out = append(out, "EOSE of "+sub)
		}
	}
	return out
}

// frame judges what the relay sends.
func (h *heard) frame(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut != "" {
		h.fail("%s", h.cut)
	}
	m, err := nostr.ParseRelay(b)
	if err != nil {
		h.cut = fmt.Sprintf("%v in %.200q", err, b)
		return
	}
	none := &asked{}
	fits, last := true, none
	of := func(sub string) *asked {
		if a := h.subs[sub]; a != nil {
			last = a
		}
		return last
	}
	switch m := m.(type) {
	case nostr.RelayEvent:
		h.tally.add("heard EVENT", 1)
		a := of(m.Sub)
		fits = slices.ContainsFunc(a.filters, func(f nostr.Filter) bool { return f.Matches(m.Event) })
		if a.once {
			fits = fits && !a.seen[m.Event.ID] && a.closed == 0
			a.seen[m.Event.ID] = true
		}
	case nostr.EOSE:
		h.tally.add("heard EOSE", 1)
		a := of(m.Sub)
		a.eose++
		fits = a.eose <= a.reqs && !(a.once && a.closed > 0)
	case nostr.Closed:
		h.tally.add("heard CLOSED "+prefix(m.Reason), 1)
		a := of(m.Sub)
		a.closed++
		fits = a.closed <= a.reqs+a.counts+a.wrong
	case nostr.CountResult:
		h.tally.add("heard COUNT", 1)
		a := of(m.Sub)
		a.counted++
		fits = a.counted <= a.counts
	case nostr.NegMsg:
		h.tally.add("heard NEG-MSG", 1)
		a := of(m.Sub)
		a.stepped++
		fits = a.stepped <= a.steps
		select {
		case h.negs[m.Sub] <- m.Msg:
		default: // nobody cares any more
		}
	case nostr.NegErr:
		h.tally.add("heard NEG-ERR "+prefix(m.Reason), 1)
		a := of(m.Sub)
		a.negErrs++
		fits = a.negErrs <= a.steps+a.wrong
	case nostr.OK:
		what := "heard OK"
		if !m.OK {
			what = "heard OK false " + prefix(m.Reason)
		}
		h.tally.add(what, 1)
		h.sent[m.ID]--
		fits = h.sent[m.ID] >= 0
	case nostr.AuthChallenge:
		fits = m.Challenge == challenge
	case nostr.Notice:
		h.tally.add("heard NOTICE", 1)
	}
	if !fits {
		h.fail("answers nothing, or again: %.300s; of that it has asked for %s", b, last)
	}
}

func (h *heard) fail(format string, args ...any) {
	if h.wrong == "" {
		h.wrong = fmt.Sprintf(format, args...)
	}
}

// failed is the first that was wrong, or "".
func (h *heard) failed() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wrong
}

func prefix(reason string) string {
	p, _, found := strings.Cut(reason, ":")
	if !found {
		return "without a prefix"
	}
	return p
}
