package store

import "slices"

// cases says in which cases of its name a tag stands with a value. NIP-22 names the root of a thread by E, A, K and P and
// what is answered by e, a, k and p, and mostly both are the same, so these share a row. No other tag does: who looks for
// one case would step over rows that have the other.
type cases byte

const (
	lowerCase cases = 1 << iota
	upperCase

	lowerBit = 'a' - 'A' // turns a letter into the lower case of it
)

// shared is the name under which a tag's rows stand, and its case where they are shared by both; 0 where they are not.
func shared(name byte) (byte, cases) {
	switch name {
	case 'a', 'e', 'k', 'p':
		return name, lowerCase
	case 'A', 'E', 'K', 'P':
		return name | lowerBit, upperCase
	}
	return name, 0
}

// meets reports whether a row with these cases is one of those that are asked for, where 0 asks for all.
func (c cases) meets(asked cases) bool { return asked == 0 || c&asked != 0 }

// append writes them behind the value of a row, where it has them.
func (c cases) append(value []byte) []byte {
	if c != 0 {
		value = append(value, byte(c))
	}
	return value
}

// cutCases takes them off a value. What is none of them makes the rest nil, which is no value.
func cutCases(value []byte) (cases, []byte) {
	last := len(value) - 1
	c := cases(value[last])
	if c < lowerCase || c > lowerCase|upperCase {
		return 0, nil
	}
	return c, value[:last]
}

// casesOf are those of a row by its value.
func casesOf(value []byte, flagged bool) (cases, error) {
	if flagged {
		r, err := parseFlaggedRow(value)
		return r.cases, err
	}
	r, err := parseRow(value)
	return r.cases, err
}

// span is a part of an index: the rows that begin so, of a tag those with the cases that are asked for.
type span struct {
	prefix []byte
	cases  cases
}

func tagSpan(name byte, h hash) span {
	_, c := shared(name)
	return span{tagPrefix(name, h), c}
}

// bothCases are the rows of a tag's value in either case of a name that shares them.
func bothCases(name byte, h hash) span { return span{tagPrefix(name, h), 0} }

func (s span) flagged() span { return span{flagged(slices.Clone(s.prefix)), s.cases} }
