package nostr

import (
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is how deep a value that the scanner skips may nest. A value that it reads has a fixed depth.
const maxDepth = 16

// scanner reads JSON from a string from left to right. It is strict (RFC 8259, valid UTF-8, no lone surrogates). It
// builds nothing but the strings that it is asked for, and a string without escapes is a part of s.
type scanner struct {
	s     string
	i     int  // the next byte to read
	loose bool // whitespace was skipped or a key was written with escapes
	most  int  // strings that the tags of an event may have; 0 for any number
}

// syntaxError says what is wrong with a text and where.
type syntaxError struct {
	what string
	at   int // bytes from the start of the text
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.at) }

func (c *scanner) fail(what string) error { return &syntaxError{what, c.i} }

// next skips whitespace and returns the byte after it without consuming it, 0 at the end.
func (c *scanner) next() byte {
	for c.i < len(c.s) {
		switch b := c.s[c.i]; b {
		case ' ', '\n', '\t', '\r':
			c.loose = true
			c.i++
		default:
			return b
		}
	}
	return 0
}

// take consumes the next byte if it is b.
func (c *scanner) take(b byte) bool {
	if c.next() != b {
		return false
	}
	c.i++
	return true
}

// expect consumes b or says that it is missing.
func (c *scanner) expect(b byte) error {
	if !c.take(b) {
		return c.fail("'" + string(rune(b)) + "' expected")
	}
	return nil
}

// more is called before each element of an open array or object. It consumes the comma, which the first element does not
// have, or the closing byte, and reports whether an element follows.
func (c *scanner) more(first bool, closing byte) (bool, error) {
	if c.take(closing) {
		return false, nil
	}
	if first {
		return true, nil
	}
	err := c.expect(',')
	return err == nil, err
}

// end fails where anything but whitespace is left.
func (c *scanner) end() error {
	if c.next(); c.i < len(c.s) {
		return c.fail("data after the end")
	}
	return nil
}

// key reads a key of an object and its colon.
func (c *scanner) key() (string, error) {
	t, escaped, err := c.quoted()
	if err == nil && escaped {
		c.loose = true
		t, err = c.unescape(t)
	}
	if err != nil {
		return "", err
	}
	return t, c.expect(':')
}

// str reads a string.
func (c *scanner) str() (string, error) {
	t, escaped, err := c.quoted()
	if err == nil && escaped {
		return c.unescape(t)
	}
	return t, err
}

// quoted reads a string and returns the text between its quotes, and whether the text has escapes. quoted leaves the
// escapes as they are.
func (c *scanner) quoted() (t string, escaped bool, err error) {
	if c.next() != '"' {
		return "", false, c.fail("string expected")
	}
	start := c.i + 1
	for i := start; ; {
		i = plainEnd(c.s, i)
		switch {
		case i >= len(c.s):
			return "", false, c.fail("string without end")
		case c.s[i] == '"':
			t = c.s[start:i]
			if !utf8.ValidString(t) {
				return "", false, c.fail("invalid UTF-8 in the string")
			}
			c.i = i + 1
			return t, escaped, nil
		case c.s[i] == '\\':
			escaped = true
			i += 2 // whatever comes next, it does not end the string
		default:
			c.i = i
			return "", false, c.fail("control byte in a string")
		}
	}
}

// plainEnd returns the index of the first byte from i on that cannot stand for itself inside a JSON string: a quote, a
// backslash or a control byte. Where there is none, it returns len(s) or more.
func plainEnd(s string, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		v := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// A byte below n sets its high bit in (v - n*ones) &^ v; the lowest such bit is exact.
		quote, slash := v^'"'*ones, v^'\\'*ones
		found := ((v-' '*ones)&^v | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}
