package nostr

import "math"

// integer reads a whole number from 0 to limit, written without fraction or exponent.
func (c *scanner) integer(limit int64) (int64, error) {
	b := c.next()
	if b == '-' {
		return 0, c.fail("negative number")
	}
	if !isDigit(b) {
		return 0, c.fail("integer expected")
	}
	var n int64
	start := c.i
	for ; c.i < len(c.s) && isDigit(c.s[c.i]); c.i++ {
		d := int64(c.s[c.i] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, c.fail("number too large")
		}
		n = n*10 + d
	}
	switch {
	case b == '0' && c.i > start+1:
		return 0, c.fail("number with a leading zero")
	case c.at('.') || c.at('e') || c.at('E'):
		return 0, c.fail("number is not an integer")
	case n > limit:
		return 0, c.fail("number too large")
	}
	return n, nil
}

// skipNumber reads a number of any form.
func (c *scanner) skipNumber() error {
	if c.at('-') {
		c.i++
	}
	zero := c.at('0')
	switch n := c.digits(); {
	case n == 0:
		return c.fail("value expected")
	case zero && n > 1:
		return c.fail("number with a leading zero")
	}
	if c.at('.') {
		c.i++
		if c.digits() == 0 {
			return c.fail("digit expected")
		}
	}
	if c.at('e') || c.at('E') {
		c.i++
		if c.at('+') || c.at('-') {
			c.i++
		}
		if c.digits() == 0 {
			return c.fail("digit expected")
		}
	}
	return nil
}

// at reports whether b is the very next byte.
func (c *scanner) at(b byte) bool { return c.i < len(c.s) && c.s[c.i] == b }

// digits skips decimal digits and returns how many there were.
func (c *scanner) digits() int {
	start := c.i
	for c.i < len(c.s) && isDigit(c.s[c.i]) {
		c.i++
	}
	return c.i - start
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
