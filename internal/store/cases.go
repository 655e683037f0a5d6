package store

import "slices"

// cases says in which cases of its name a tag stands with a value. NIP-22 names the root of a thread by E, A, K and P and
// what is answered by e, a, k and p, and mostly both are the same.
type cases byte

const (
	lowerCase cases = 1 << iota
	upperCase

	lowerBit = 'a' - 'A' // turns a letter into the lower case of it
)

func caseOf(name byte) cases {
	if name&lowerBit != 0 {
		return lowerCase
	}
	return upperCase
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

func tagSpan(name byte, h hash) span { return span{tagPrefix(name, h), caseOf(name)} }

// bothCases are the rows of a tag's value in either case.
func bothCases(name byte, h hash) span { return span{tagPrefix(name, h), 0} }

func (s span) flagged() span { return span{flagged(slices.Clone(s.prefix)), s.cases} }
