package layout

import "fmt"

// Named rows are values that belong to the events: they change in the same commit as the events that change them. To the store they are bytes,
// and no feed tells about them.
const (
	MaxRowName  = 200     // bytes
	MaxRowValue = 4 << 20 // bytes of a value
)

// NamedKey returns the key of a row by its name.
func NamedKey(name string) []byte {
	return append(append(make([]byte, 0, 1+len(name)), TableRow), name...)
}

// BadRow fails with what is wrong with a row's name or size.
func BadRow(name string, size int) error {
	if name == "" || len(name) > MaxRowName {
		return fmt.Errorf("a row's name has 1 to %d bytes, not %d", MaxRowName, len(name))
	}
	if size > MaxRowValue {
		return fmt.Errorf("row %q: a value has at most %d bytes, not %d", name, MaxRowValue, size)
	}
	return nil
}
