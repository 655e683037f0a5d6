package layout

// Cases says in which cases of its name an event has a tag with a value. NIP-22 names the root of a thread by E, A, K and P, and the answered
// event by e, a, k and p. Mostly both are the same, so these tags share a row. No other tags do: a search for one case would have to step over
// rows that have the other.
type Cases byte

const (
	LowerCase Cases = 1 << iota
	upperCase

	lowerBit = 'a' - 'A' // turns a letter into its lower case
)

// Shared returns the name under which a tag's rows stand, and the tag's case where both cases share them; 0 where they do not.
func Shared(name byte) (byte, Cases) {
	switch name {
	case 'a', 'e', 'k', 'p':
		return name, LowerCase
	case 'A', 'E', 'K', 'P':
		return name | lowerBit, upperCase
	}
	return name, 0
}

// Meets reports whether a row with these cases is wanted. With 0, asked wants all.
func (c Cases) Meets(asked Cases) bool { return asked == 0 || c&asked != 0 }

// Append appends the cases to the value of a row, where the row has cases.
func (c Cases) Append(value []byte) []byte {
	if c != 0 {
		value = append(value, byte(c))
	}
	return value
}

// cutCases takes the cases off the value of a row. Where they are invalid it returns a nil rest, which is no value.
func cutCases(value []byte) (Cases, []byte) {
	last := len(value) - 1
	c := Cases(value[last])
	if c < LowerCase || c > LowerCase|upperCase {
		return 0, nil
	}
	return c, value[:last]
}

// CasesOf returns the cases in the value of a row.
func CasesOf(value []byte, flagged bool) (Cases, error) {
	if flagged {
		r, err := ParseFlaggedRow(value)
		return r.Cases, err
	}
	r, err := ParseRow(value)
	return r.Cases, err
}
