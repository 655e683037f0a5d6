package nostr

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
)

// ErrID says that an event's id is not the hash of its content.
var ErrID = errors.New("id does not match the content")

// ErrSig says that an event's signature is not its author's.
var ErrSig = errors.New("signature is invalid")

// ErrForm says that an event's id is the hash of its content in another form than NIP-01's, and that its author signed it so. Nobody else finds
// the id right, and no other event can have it.
var ErrForm = errors.New("id is the hash of another form of the content")

// Verifier checks signatures. Schnorr is the real one; simulations inject a cheaper one. Verify depends on its arguments alone, and several
// goroutines may call it at once.
type Verifier interface {
	Verify(pk PubKey, id ID, sig Sig) bool
}

// CheckID fails with ErrID where the id is not the hash of the content.
func (e *Event) CheckID() error {
	if e.ComputeID() != e.ID {
		return ErrID
	}
	return nil
}

// Check proves that an event is genuine: first its id (ErrID), which is cheap, then its signature (ErrSig). ErrForm is for an event that is as
// genuine as others, but for the form in which a common relay hashes: see otherForm.
//
// Check looks neither at the shape, which is ParseEvent's, nor at age, expiration (NIP-40), proof of work (NIP-13), protection (NIP-70),
// deletion, size, or the tags that a kind asks for, nor does it say whether anybody wants the event.
func Check(e *Event, v Verifier) error { return (&Checker{Verifier: v}).Check(e) }

// Checker checks one event after the other in one buffer. One goroutine at a time may use a Checker.
type Checker struct {
	Verifier Verifier
	buf      []byte
}

// maxKept is the largest buffer, in bytes, that a Checker keeps for the next event.
const maxKept = 64 << 10

// Check proves that an event is genuine, as the function Check does.
func (c *Checker) Check(e *Event) error {
	if c.buf == nil {
		c.buf = make([]byte, 0, e.canonicalRoom())
	}
	c.buf = e.AppendCanonical(c.buf[:0])
	genuine := sha256.Sum256(c.buf) == e.ID
	other := !genuine && otherForm(c.buf, e.ID)
	if cap(c.buf) > maxKept {
		c.buf = nil
	}
	switch {
	case !genuine && !other:
		return fmt.Errorf("check event %s: %w", e.ID, ErrID)
	case !c.Verifier.Verify(e.PubKey, e.ID, e.Sig):
		return fmt.Errorf("check event %s: %w", e.ID, ErrSig)
	case other:
		return fmt.Errorf("check event %s: %w", e.ID, ErrForm)
	}
	return nil
}

// otherForm reports whether id is the hash of a canonical form in which the byte 0x7f is escaped: so strfry hashes, and stores what is signed so.
// Other programs escape other characters (all but ASCII, U+2028, slashes, <, > and &), but no relay that others use hashes by their forms, so
// their events are stored nowhere. A byte 0x7f stands for itself wherever it stands in UTF-8, and only strings have it.
func otherForm(canonical []byte, id ID) bool {
	const del = "\x7f"
	return bytes.Contains(canonical, []byte(del)) && sha256.Sum256(bytes.ReplaceAll(canonical, []byte(del), []byte(`\u007f`))) == id
}
