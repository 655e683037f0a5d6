package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Purge is a removal of an author's events, and says how far it has come. It is on disk, so that a restart goes on with it.
type Purge struct {
	Why    Reason
	Author nostr.PubKey
	Until  int64      // events that were created later stay
	Part   byte       // which of PurgeParts is under way
	Kind   nostr.Kind // where it goes on: the kind, in the part that goes from kind to kind, and then the place
	Next   [OrderLen]byte
}

// PurgeParts is how many parts a purge has.
const PurgeParts = 3

// NewPurge makes a purge at its beginning.
func NewPurge(why Reason, author nostr.PubKey, until int64) Purge {
	return Purge{Why: why, Author: author, Until: until, Next: OrderOf(until, nostr.ID{})}
}

// Begin has the purge go on with a part, or with a kind in it, at the event that was created last.
func (p *Purge) Begin(part byte, k nostr.Kind) {
	p.Part, p.Kind, p.Next = part, k, OrderOf(p.Until, nostr.ID{})
}

// Key returns the key of the purge's row: there is one for each reason and author.
func (p Purge) Key() []byte {
	return append([]byte{TablePurge, byte(p.Why)}, p.Author[:]...)
}

// Append appends the value of the purge's row to dst.
func (p Purge) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Until))
	dst = binary.BigEndian.AppendUint16(append(dst, p.Part), uint16(p.Kind))
	return append(dst, p.Next[:]...)
}

// ParsePurge reads a purge.
func ParsePurge(key, b []byte) (Purge, error) {
	if len(key) != 2+32 || len(b) != 8+1+2+OrderLen || b[8] >= PurgeParts {
		return Purge{}, fmt.Errorf("purge: %w", ErrCorrupt)
	}
	return Purge{
		Reason(key[1]), nostr.PubKey(key[2:]), int64(binary.BigEndian.Uint64(b)), b[8],
		nostr.Kind(binary.BigEndian.Uint16(b[9:])), [OrderLen]byte(b[11:]),
	}, nil
}

// OwnPrefix returns the prefix of the author's own events of the kind at which the purge is.
func (p *Purge) OwnPrefix() []byte { return AuthorKindPrefix(p.Author, p.Kind) }

// WithdrawnPrefix returns the prefix of the author's remembered announcements.
func (p *Purge) WithdrawnPrefix() []byte {
	return Flagged(AuthorKindPrefix(p.Author, nip34.KindRepository))
}

// AddresseePrefix returns the prefix of the events that name the author by a tag p or P.
func (p *Purge) AddresseePrefix() []byte { return TagPrefix('p', HashOf(p.Author.String())) }
