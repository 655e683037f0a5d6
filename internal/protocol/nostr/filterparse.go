package nostr

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ErrUnsupported says that a filter asks for something that no index serves: a key that NIP-01 and NIP-50 do not name, or a tag of more
// than one letter. The error that wraps ErrUnsupported names the key.
var ErrUnsupported = errors.New("unknown filter key")

// filter reads a filter object. The Filter keeps nothing of the scanner's text in memory.
func (c *scanner) filter() (Filter, error) {
	var f Filter
	var seen []string // never more than the keys that are allowed
	err := c.object(func(k string) error {
		if slices.Contains(seen, k) {
			return c.fail("key given twice")
		}
		seen = append(seen, k)
		return c.filterField(&f, k)
	})
	if err != nil {
		return Filter{}, err
	}
	f.own()
	return f, nil
}

// filterField reads the value of the key k into f.
func (c *scanner) filterField(f *Filter, k string) (err error) {
	switch k {
	case "ids":
		f.IDs, err = hexList[ID](c)
	case "authors":
		f.Authors, err = hexList[PubKey](c)
	case "kinds":
		f.Kinds, err = c.kinds()
	case "since":
		f.Since, err = c.seconds()
	case "until":
		f.Until, err = c.seconds()
	case "limit":
		f.Limit, err = c.limit()
	case "search":
		f.Search, err = c.str()
	default:
		if len(k) != 2 || k[0] != '#' || !isLetter(k[1]) {
			return ErrUnsupported
		}
		var t TagFilter
		t, err = c.tagFilter(k[1])
		f.Tags = append(f.Tags, t)
	}
	return err
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// hexList reads an array of strings of 64 lower-case hex digits.
func hexList[T ~[32]byte](c *scanner) ([]T, error) {
	list := []T{}
	err := c.list(func() error {
		var v [32]byte
		err := c.hex(v[:])
		list = append(list, T(v))
		return err
	})
	return list, err
}

func (c *scanner) kinds() ([]Kind, error) {
	list := []Kind{}
	err := c.list(func() error {
		n, err := c.integer(math.MaxUint16)
		list = append(list, Kind(n))
		return err
	})
	return list, err
}

func (c *scanner) seconds() (*int64, error) {
	n, err := c.integer(math.MaxInt64)
	return &n, err
}

func (c *scanner) limit() (*int, error) {
	n, err := c.integer(math.MaxInt)
	limit := int(n)
	return &limit, err
}

// tagFilter reads the values of #name. The values of #e and #p must be 64 lower-case hex digits.
func (c *scanner) tagFilter(name byte) (TagFilter, error) {
	ahead := *c
	n, err := ahead.countStrings()
	if err != nil {
		return TagFilter{}, err
	}
	values, err := c.appendStrings(make([]string, 0, n))
	if err != nil {
		return TagFilter{}, err
	}
	if name == 'e' || name == 'p' {
		for _, v := range values {
			if _, err := ParseID(v); err != nil {
				return TagFilter{}, fmt.Errorf("%w: 64 digits wanted", err)
			}
		}
	}
	return TagFilter{name, values}, nil
}

// own moves the strings of the filter into memory of their own, so that a subscription does not keep the frame in which
// it came.
func (f *Filter) own() {
	n := len(f.Search)
	for _, t := range f.Tags {
		for _, v := range t.Values {
			n += len(v)
		}
	}
	if n == 0 {
		return
	}
	var b strings.Builder
	b.Grow(n)
	move := func(s string) string {
		from := b.Len()
		b.WriteString(s)
		return b.String()[from:]
	}
	f.Search = move(f.Search)
	for _, t := range f.Tags {
		for i, v := range t.Values {
			t.Values[i] = move(v)
		}
	}
}
