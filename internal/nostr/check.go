package nostr

import (
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
func Check(e *Event, v Verifier) error {
	if err := e.CheckID(); err != nil {
		return fmt.Errorf("check event %s: %w", e.ID, err)
	}
	if !v.Verify(e.PubKey, e.ID, e.Sig) {
		return fmt.Errorf("check event %s: %w", e.ID, ErrSig)
	}
	return nil
}
