package nostr

import "strings"

// skip reads a value of any shape and forgets it. Its arrays and objects may nest depth deep.
func (c *scanner) skip(depth int) error {
	switch b := c.next(); b {
	case '"':
		_, err := c.str()
		return err
	case '[', '{':
		if depth == 0 {
			return c.fail("nested too deep")
		}
		c.i++
		return c.skipContainer(b, depth-1)
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.skipNumber()
}

// skipContainer reads the rest of an array or object whose opening byte is consumed.
func (c *scanner) skipContainer(open byte, depth int) error {
	closing := open + 2 // in ASCII both pairs of brackets are two apart
	for first := true; ; first = false {
		ok, err := c.more(first, closing)
		if err != nil || !ok {
			return err
		}
		if open == '{' {
			if _, err := c.key(); err != nil {
				return err
			}
		}
		if err := c.skip(depth); err != nil {
			return err
		}
	}
}

// literal reads one of JSON's three words.
func (c *scanner) literal(word string) error {
	if !strings.HasPrefix(c.s[c.i:], word) {
		return c.fail("value expected")
	}
	c.i += len(word)
	return nil
}
