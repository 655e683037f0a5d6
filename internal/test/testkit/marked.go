package testkit

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Someone returns the public key of a person who signs with Mark. It depends only on n.
func Someone(n int) nostr.PubKey {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	return nostr.PubKey(sha256.Sum256(append([]byte("someone"), b[:]...)))
}

// Mark makes an event with its right id and, instead of a signature, a mark that Marks takes for one. It costs a hundredth of a signature.
func Mark(author nostr.PubKey, at int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: author, CreatedAt: at, Kind: kind, Tags: tags, Content: content}
	if e.Tags == nil {
		e.Tags = nostr.Tags{}
	}
	e.ID = e.ComputeID()
	e.Sig = mark(e.PubKey, e.ID)
	return e
}

func mark(pk nostr.PubKey, id nostr.ID) nostr.Sig {
	h := sha256.Sum256(append(pk[:], id[:]...))
	var s nostr.Sig
	copy(s[copy(s[:], h[:]):], h[:])
	return s
}

// Marks is a nostr.Verifier that takes marks for signatures, and nothing else.
type Marks struct{}

// Verify reports whether sig is the mark of pk on id.
func (Marks) Verify(pk nostr.PubKey, id nostr.ID, sig nostr.Sig) bool { return sig == mark(pk, id) }
