package nostr

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// slack is how many bytes of the text around an event may stay in memory with the event.
const slack = 256

// ParseEvent reads one event object. ParseEvent is strict: the seven keys of NIP-01 exactly once, lower-case hex of the right length,
// created_at from 0 to the largest int64, kind from 0 to 65535, tags of strings only, valid UTF-8, no lone surrogate escapes. ParseEvent
// drops unknown keys. ParseEvent checks neither the id nor the signature (see Check), and bounds no length: the caller does. The event
// shares no memory with b.
func ParseEvent(b []byte) (*Event, error) {
	c := scanner{s: string(b)}
	e, err := c.event()
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return nil, fmt.Errorf("parse event: %w", err)
	}
	return e, nil
}

// eventKeys are the keys of an event.
var eventKeys = [...]string{"id", "pubkey", "created_at", "kind", "tags", "content", "sig"}

// event reads an event object. The Event keeps at most slack bytes more in memory than it needs.
func (c *scanner) event() (*Event, error) {
	c.next()
	start := c.i
	c.loose = false
	e := new(Event)
	var seen uint
	err := c.object(func(k string) error {
		i := slices.Index(eventKeys[:], k)
		if i < 0 {
			c.loose = true
			return c.skip(maxDepth)
		}
		if seen&(1<<i) != 0 {
			return c.fail("key given twice")
		}
		seen |= 1 << i
		return c.field(e, k)
	})
	if err != nil {
		return nil, err
	}
	for i, k := range eventKeys {
		if seen&(1<<i) == 0 {
			return nil, fmt.Errorf("%s: %w", k, c.fail("missing in the object that ends"))
		}
	}
	var own scanner
	switch raw := c.s[start:c.i]; {
	case c.loose:
		own.s = string(e.AppendJSON(nil))
	case len(c.s)-len(raw) > slack:
		own.s = strings.Clone(raw)
	default:
		e.raw = raw
		return e, nil
	}
	return own.event()
}

// field reads the value of the key k, one of eventKeys, into e.
func (c *scanner) field(e *Event, k string) (err error) {
	switch k {
	case "id":
		return c.hex(e.ID[:])
	case "pubkey":
		return c.hex(e.PubKey[:])
	case "created_at":
		e.CreatedAt, err = c.integer(math.MaxInt64)
	case "kind":
		var n int64
		n, err = c.integer(math.MaxUint16)
		e.Kind = Kind(n)
	case "tags":
		e.Tags, err = c.tags()
	case "content":
		e.Content, err = c.str()
	case "sig":
		return c.hex(e.Sig[:])
	}
	return err
}

// hex reads a string of lower-case hex that fills dst.
func (c *scanner) hex(dst []byte) error {
	s, err := c.str()
	if err == nil && !decodeHex(dst, s) {
		err = fmt.Errorf("%w: %d digits wanted", ErrHex, 2*len(dst))
	}
	return err
}

// tags reads an array of arrays of strings. It counts them first, so that it allocates two slices of the right size: one
// for the tags and one for the elements of all tags.
func (c *scanner) tags() (Tags, error) {
	ahead := *c
	n, elems, err := ahead.countTags()
	if err != nil {
		return nil, err
	}
	if c.most > 0 && max(n, elems) > c.most {
		return nil, c.fail(fmt.Sprintf("more than %d strings or tags", c.most))
	}
	tags, all := make(Tags, 0, n), make([]string, 0, elems)
	err = c.list(func() (err error) {
		from := len(all)
		all, err = c.appendStrings(all)
		tags = append(tags, Tag(all[from:len(all):len(all)]))
		return err
	})
	return tags, err
}

// countTags reads an array of arrays of strings and returns how many arrays and strings are in it.
func (c *scanner) countTags() (tags, elems int, err error) {
	err = c.list(func() error {
		n, err := c.countStrings()
		tags, elems = tags+1, elems+n
		return err
	})
	return tags, elems, err
}
