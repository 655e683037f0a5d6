package store

import "github.com/graspd/graspd/internal/events/store/layout"

// SetRow writes a row in this batch, or removes it where value is nil. SetRow copies the value. Readers of Changes hear
// of it.
func (b *Batch) SetRow(name string, value []byte) error {
	if err := layout.BadRow(name, len(value)); err != nil {
		return err
	}
	b.ops++
	b.Tell(name)
	if value == nil {
		return b.delete(layout.NamedKey(name))
	}
	return b.set(layout.NamedKey(name), value)
}

// EachRow calls do with the rows as this batch has them, as that of View does.
func (b *Batch) EachRow(prefix, after string, do func(name string, value []byte) (more bool, err error)) error {
	return b.reader().EachRow(prefix, after, do)
}

// ReadRow calls do with the value of a row, nil where there is none. The value is valid only during the call.
func (v *View) ReadRow(name string, do func(value []byte) error) error {
	return v.Reader().ReadRow(name, do)
}

// EachRow calls do with the rows whose names begin with prefix and come after the name after, in the order of their bytes, until do returns
// false for more. The value is valid only during the call.
func (v *View) EachRow(prefix, after string, do func(name string, value []byte) (more bool, err error)) error {
	return v.Reader().EachRow(prefix, after, do)
}
