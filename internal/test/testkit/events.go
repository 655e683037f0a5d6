package testkit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Key returns a secret key that depends only on n.
func Key(n int) nostr.SecretKey {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	return nostr.SecretKey(sha256.Sum256(b[:]))
}

// Sign makes a signed event.
func Sign(key nostr.SecretKey, at int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{CreatedAt: at, Kind: kind, Tags: tags, Content: content}
	if e.Tags == nil {
		e.Tags = nostr.Tags{}
	}
	if err := key.Sign(e, [32]byte{}); err != nil {
		panic(fmt.Sprintf("sign: %v", err))
	}
	return e
}

// Announcement makes a repository announcement that names relays.
func Announcement(key nostr.SecretKey, at int64, d string, relays ...string) *nostr.Event {
	return Sign(key, at, nip34.KindRepository, "", nostr.Tag{"d", d}, nostr.Tag{"name", d}, append(nostr.Tag{"relays"}, relays...))
}

// RepositoryAddress returns the address of a repository.
func RepositoryAddress(key nostr.SecretKey, d string) string {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key.PubKey(), D: d}.String()
}

// Issue makes an issue of the repository at address.
func Issue(key nostr.SecretKey, at int64, address, text string) *nostr.Event {
	return Sign(key, at, nip34.KindIssue, text, nostr.Tag{"a", address}, nostr.Tag{"subject", text})
}

// Comment makes a NIP-22 comment on a root event.
func Comment(key nostr.SecretKey, at int64, root *nostr.Event, text string) *nostr.Event {
	kind := fmt.Sprint(uint16(root.Kind))
	return Sign(key, at, nostr.KindComment, text,
		nostr.Tag{"E", root.ID.String()}, nostr.Tag{"K", kind}, nostr.Tag{"P", root.PubKey.String()},
		nostr.Tag{"e", root.ID.String()}, nostr.Tag{"k", kind}, nostr.Tag{"p", root.PubKey.String()})
}
