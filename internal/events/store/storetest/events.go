package storetest

import (
	"strconv"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Event makes an event that is well-formed but for its signature, which no store looks at. Authors are numbered.
func Event(author byte, at int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: Author(author), CreatedAt: at, Kind: kind, Tags: tags, Content: content}
	if e.Tags == nil {
		e.Tags = nostr.Tags{}
	}
	e.ID = e.ComputeID()
	return e
}

// Author is the key of a numbered author.
func Author(n byte) nostr.PubKey { return nostr.PubKey{0: 0xa0 + n, 31: n} }

// Address is "kind:author:d".
func Address(author byte, kind nostr.Kind, d string) string {
	return strconv.Itoa(int(kind)) + ":" + Author(author).String() + ":" + d
}

// Announcement is a kind 30617, of which content makes different ones.
func Announcement(author byte, at int64, d, content string) *nostr.Event {
	return Event(author, at, 30617, content, nostr.Tag{"d", d})
}

// Deletion is a kind 5 with the given tags.
func Deletion(author byte, at int64, tags ...nostr.Tag) *nostr.Event {
	return Event(author, at, nostr.KindDeletion, "", tags...)
}
