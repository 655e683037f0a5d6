package gitwire

import (
	"bytes"
	"encoding/hex"
)

// ObjectID names an object. The zero ObjectID is git's null id, forty zeros, which stands for "no object". The functions here make SHA-1
// ids only; the type has room for SHA-256.
type ObjectID struct {
	sum  [32]byte
	long bool // all of sum counts, not its first 20 bytes
}

const (
	sha1Hex   = 40
	sha256Hex = 64
)

// ParseObjectID reads an id as events and the wire have it: 40 lower-case hex digits. The error names SHA-256 where the id is one of
// SHA-256.
func ParseObjectID[T string | []byte](text T) (ObjectID, error) {
	var id ObjectID
	if len(text) != sha1Hex {
		if len(text) == sha256Hex && allHex(text) {
			return ObjectID{}, refuse("%s is an object id of SHA-256; the repositories here are of SHA-1", text)
		}
		return ObjectID{}, noID(text)
	}
	for i := range sha1Hex / 2 {
		high, low := nibble(text[2*i]), nibble(text[2*i+1])
		if high|low > 15 {
			return ObjectID{}, noID(text)
		}
		id.sum[i] = high<<4 | low
	}
	return id, nil
}

// NamesObject reports whether a text is an object id of SHA-1 or SHA-256.
func NamesObject(text string) bool {
	return (len(text) == sha1Hex || len(text) == sha256Hex) && allHex(text)
}

func noID[T string | []byte](text T) error {
	return refuse("%s is no object id of %d lower-case hex digits", quote(text), sha1Hex)
}

func allHex[T string | []byte](text T) bool {
	for i := range len(text) {
		if nibble(text[i]) > 15 {
			return false
		}
	}
	return true
}

// nibble is the value of a lower-case hex digit; 16 or more of anything else.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

// IsZero reports whether the id stands for "no object".
func (id ObjectID) IsZero() bool { return id.sum == [32]byte{} }

// bytes returns the bytes of sum that count.
func (id *ObjectID) bytes() []byte {
	if id.long {
		return id.sum[:]
	}
	return id.sum[:20]
}

// ObjectIDOf makes an id of its 20 bytes, as indexes of packs and rows of stores have them.
func ObjectIDOf(sha1 [20]byte) (id ObjectID) {
	copy(id.sum[:], sha1[:])
	return id
}

// AppendRaw appends the bytes of the id.
func (id ObjectID) AppendRaw(dst []byte) []byte { return append(dst, id.bytes()...) }

// AppendHex appends the hex digits of the id.
func (id ObjectID) AppendHex(dst []byte) []byte { return hex.AppendEncode(dst, id.bytes()) }

func (id ObjectID) String() string { return string(id.AppendHex(nil)) }

// Compare orders ids by their bytes.
func (id ObjectID) Compare(other ObjectID) int { return bytes.Compare(id.bytes(), other.bytes()) }

// ids is a list of object ids in the order in which they came first, each once.
type ids struct {
	list []ObjectID
	seen map[ObjectID]struct{}
}

// add takes an id, and reports whether the list has it now: a list of most ids takes no other one.
func (s *ids) add(id ObjectID, most int) bool {
	if _, ok := s.seen[id]; ok {
		return true
	}
	if len(s.list) >= most {
		return false
	}
	if s.seen == nil {
		s.seen = map[ObjectID]struct{}{}
	}
	s.seen[id] = struct{}{}
	s.list = append(s.list, id)
	return true
}
