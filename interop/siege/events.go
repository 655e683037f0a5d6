package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// key is that of somebody.
func key(name string) (k nostr.SecretKey) {
	copy(k[:], fmt.Sprintf("%-30.30s", name))
	return k
}

var made atomic.Int64

// sign makes an event of now that is unlike all others.
func sign(by string, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{CreatedAt: time.Now().Unix(), Kind: kind, Tags: tags, Content: fmt.Sprint(content, made.Add(1))}
	if err := key(by).Sign(e, [32]byte{}); err != nil {
		panic(err) // key and event are our own
	}
	return e
}

// announce makes the announcement of a repository that lists graspd, and those relays beside.
func announce(by, d, content string, relays ...string) *nostr.Event {
	return sign(by, 30617, content, nostr.Tag{"d", d}, append(nostr.Tag{"relays", service}, relays...))
}

// issue makes an issue in the repository that an announcement is about.
func issue(by string, repository *nostr.Event) *nostr.Event {
	return sign(by, 1621, "an issue ", nostr.Tag{"a", repository.Address()})
}
