package nostr

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// ErrID says that an event's id is not the hash of its content.
var ErrID = errors.New("id does not match the content")

// ErrSig says that an event's signature is not its author's.
var ErrSig = errors.New("signature is invalid")

// Verifier checks signatures. Schnorr is the real one; simulations inject a cheaper one. Verify is a pure function of
// its arguments and may be called from several goroutines.
type Verifier interface {
	Verify(pk PubKey, id ID, sig Sig) bool
}

// CheckID compares the id with the one that the content gives. The error is ErrID.
func (e *Event) CheckID() error {
	if e.ComputeID() != e.ID {
		return ErrID
	}
	return nil
}

// Check proves that an event is genuine: first its id (ErrID), which is cheap, then its signature (ErrSig).
//
// It does not check: the shape, which is ParseEvent's; the age, the expiration (NIP-40), proof of work (NIP-13),
// protection (NIP-70), deletion or any limit on size; whether the kind asks for particular tags; whether anybody wants it.
func Check(e *Event, v Verifier) error { return (&Checker{Verifier: v}).Check(e) }

// Checker checks one event after the other in one buffer. It is for one goroutine.
type Checker struct {
	Verifier Verifier
	buf      []byte
}

// maxKept is how large a buffer is kept for the next event.
const maxKept = 64 << 10

// Check is as the function of that name.
func (c *Checker) Check(e *Event) error {
	if c.buf == nil {
		c.buf = make([]byte, 0, e.canonicalRoom())
	}
	c.buf = e.AppendCanonical(c.buf[:0])
	genuine := sha256.Sum256(c.buf) == e.ID
	if cap(c.buf) > maxKept {
		c.buf = nil
	}
	if !genuine {
		return fmt.Errorf("check event %s: %w", e.ID, ErrID)
	}
	if !c.Verifier.Verify(e.PubKey, e.ID, e.Sig) {
		return fmt.Errorf("check event %s: %w", e.ID, ErrSig)
	}
	return nil
}
