package nostr

import "fmt"

// SignSchnorr is BIP-340 for a message of any length.
func SignSchnorr(k SecretKey, msg []byte, aux [32]byte) (Sig, error) {
	p, err := k.pair()
	if err != nil {
		return Sig{}, err
	}
	return p.sign(msg, aux), nil
}

// ParseFilter reads one filter object. Lists may be empty. Unknown keys (ErrUnsupported), a key given twice, numbers
// that are negative or no integers, and values of ids, authors, #e and #p that are not 64 lower-case hex digits are
// errors. The filter shares no memory with b.
func ParseFilter(b []byte) (Filter, error) {
	c := scanner{s: string(b)}
	f, err := c.filter()
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return Filter{}, fmt.Errorf("parse filter: %w", err)
	}
	return f, nil
}

// IsRegular reports whether every event of this kind is kept.
func (k Kind) IsRegular() bool {
	return !k.IsReplaceable() && !k.IsEphemeral() && !k.IsAddressable()
}

// Equal reports whether f and g ask for the same, whatever the order of their lists.
func (f Filter) Equal(g Filter) bool { return f.Key() == g.Key() }
