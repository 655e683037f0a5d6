package layout

// Cases says in which cases of its name a tag stands with a value. NIP-22 names the root of a thread by E, A, K and P and
// what is answered by e, a, k and p, and mostly both are the same, so these share a row. No other tag does: who looks for
// one case would step over rows that have the other.
type Cases byte

const (
	LowerCase Cases = 1 << iota
	upperCase

	lowerBit = 'a' - 'A' // turns a letter into the lower case of it
)

// Shared is the name under which a tag's rows stand, and its case where they are shared by both; 0 where they are not.
func Shared(name byte) (byte, Cases) {
	switch name {
	case 'a', 'e', 'k', 'p':
		return name, LowerCase
	case 'A', 'E', 'K', 'P':
		return name | lowerBit, upperCase
	}
	return name, 0
}

// Meets reports whether a row with these cases is one of those that are asked for, where 0 asks for all.
func (c Cases) Meets(asked Cases) bool { return asked == 0 || c&asked != 0 }

// Append appends the cases to the value of a row, where the row has cases.
func (c Cases) Append(value []byte) []byte {
	if c != 0 {
		value = append(value, byte(c))
	}
	return value
}

// cutCases takes the cases off the value of a row. What is none of them makes the rest nil, which is no value.
func cutCases(value []byte) (Cases, []byte) {
	last := len(value) - 1
	c := Cases(value[last])
	if c < LowerCase || c > LowerCase|upperCase {
		return 0, nil
	}
	return c, value[:last]
}

// CasesOf are the cases in the value of a row.
func CasesOf(value []byte, flagged bool) (Cases, error) {
	if flagged {
		r, err := ParseFlaggedRow(value)
		return r.Cases, err
	}
	r, err := ParseRow(value)
	return r.Cases, err
}
