package demo

import (
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// histories gives each repository a history, by its identifier: the first that asks gets the first one.
type histories struct {
	all     []history
	of      map[string]history
	request map[nostr.ID]history // of a pull request
	keys    map[nostr.PubKey]nostr.SecretKey
	sign    func(nostr.SecretKey, nostr.PubKey, *nostr.Event)
}

func newHistories(all []history) *histories {
	return &histories{all: all, of: make(map[string]history), request: make(map[nostr.ID]history), keys: make(map[nostr.PubKey]nostr.SecretKey), sign: genuine}
}

func genuine(key nostr.SecretKey, _ nostr.PubKey, e *nostr.Event) {
	if err := key.Sign(e, [32]byte{}); err != nil {
		panic("demo: " + err.Error()) // a generated key signs a generated event
	}
}

func (h *histories) at(d string) history {
	if h.of[d] == nil {
		h.of[d] = h.all[len(h.of)%len(h.all)]
	}
	return h.of[d]
}

// finish signs an event of the corpus, and before that makes it name commits that exist.
func (h *histories) finish(key nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) {
	var asked history
	switch e.Kind {
	case nip34.KindRepository:
		h.keys[pk] = key
		h.at(e.Tags.D())
	case nip34.KindState:
		e.Tags = h.at(e.Tags.D()).state(e.Tags.D())
	case nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		asked = h.asked(e)
		for _, t := range e.Tags {
			switch t.Name() {
			case "c": // a commit of the history, as if it was merged since
				t[1] = asked[int(e.CreatedAt)%len(asked)]
			case "merge-base":
				t[1] = asked[0]
			}
		}
	}
	h.sign(key, pk, e)
	if asked != nil {
		h.request[e.ID] = asked
	}
}

// asked returns the history that a pull request or an update is about: that of the first repository that the event names, or that of the
// pull request that it updates.
func (h *histories) asked(e *nostr.Event) history {
	for t := range e.Tags.All("a") {
		if a, err := nip34.ParseAddress(t.Value()); err == nil {
			return h.at(a.D)
		}
	}
	for t := range e.Tags.All("E") {
		if id, err := nostr.ParseID(t.Value()); err == nil && h.request[id] != nil {
			return h.request[id]
		}
	}
	return h.all[0]
}
