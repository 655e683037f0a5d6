package nostr

import (
	"math"
	"strings"
)

// negErr reads the reason and the maximum of a NEG-ERR; either may be missing. khatru puts the reason between quotes
// without escaping it, so negErr reads a frame that is not JSON once more as text.
func (c *scanner) negErr(sub string) (RelayMessage, error) {
	again := *c
	m, err := c.strictNegErr(sub)
	ahead := *c
	if err == nil && ahead.rest() == nil {
		return m, nil
	}
	*c = again
	reason, ok := c.unescapedText()
	if !ok {
		return nil, c.fail("reason expected")
	}
	return NegErr{Sub: sub, Reason: reason}, nil
}

func (c *scanner) strictNegErr(sub string) (RelayMessage, error) {
	reason, err := c.text()
	if err != nil {
		return nil, err
	}
	m := NegErr{Sub: sub, Reason: reason}
	ahead := *c
	if ahead.take(',') {
		m.Max, _ = ahead.integer(math.MaxInt64) // 0 if it is something else
	}
	return m, nil
}

// unescapedText reads a last element whose text stands between quotes without escapes: up to the quote before the
// bracket that ends the frame.
func (c *scanner) unescapedText() (string, bool) {
	if !c.take(',') || !c.take('"') {
		return "", false
	}
	end := strings.LastIndexByte(c.s, ']')
	if end < c.i {
		return "", false
	}
	text, ok := strings.CutSuffix(strings.TrimRight(c.s[c.i:end], " \t\r\n"), `"`)
	if !ok {
		return "", false
	}
	c.i = end
	return strings.ToValidUTF8(strings.Clone(text), "\uFFFD"), true
}
