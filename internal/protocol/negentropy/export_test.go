package negentropy

// MaxIdle is how many messages in a row may bring nothing.
const MaxIdle = maxIdle

// SetMaxNeed lowers MaxNeed for one reconciliation.
func (n *Initiator) SetMaxNeed(ids int) { n.maxNeed = ids }

// Fingerprint returns the fingerprint of the items with indexes from..to-1.
func (s *Set) Fingerprint(from, to int) [fingerprintSize]byte { return s.fingerprint(from, to) }

// AppendVarint appends a varint.
func AppendVarint(dst []byte, v uint64) []byte { return appendVarint(dst, v) }

// ReadVarint reads a varint and returns what follows it.
func ReadVarint(b []byte) (v uint64, rest []byte, err error) {
	r := reader{rest: b}
	v, err = r.varint()
	return v, r.rest, err
}
