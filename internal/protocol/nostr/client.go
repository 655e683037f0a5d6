package nostr

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds that ParseClient sets itself. NIP-01 gives the length of a subscription id, in characters. The number of
// filters keeps a frame full of empty filters from growing in memory. The length of the frame bounds all else; the
// caller limits that length.
const (
	MaxSubLength = 64
	MaxFilters   = 256
)

// ParseClient reads one message of a client. Every error is a *MessageError. ParseClient skips further elements where NIP-01 names no more.
// The message shares no memory with b.
func ParseClient(b []byte) (ClientMessage, error) {
	c := scanner{s: string(b)}
	var m MessageError
	msg, err := c.clientMessage(&m)
	if err == nil {
		err = c.rest()
	}
	if err != nil {
		return nil, m.because(err)
	}
	return msg, nil
}

// clientMessage reads a message up to its last element and notes in m what it understood.
func (c *scanner) clientMessage(m *MessageError) (ClientMessage, error) {
	verb, err := c.verb()
	if err != nil {
		return nil, err
	}
	switch verb {
	case "EVENT", "AUTH":
		m.Verb = verb
		e, err := c.eventElement(m)
		if verb == "AUTH" {
			return Auth{e}, err
		}
		return EventMsg{e}, err
	case "REQ", "COUNT", "CLOSE", "NEG-OPEN", "NEG-MSG", "NEG-CLOSE":
		m.Verb = verb
		if m.Sub, err = c.subElement(); err != nil {
			return nil, fmt.Errorf("subscription id: %w", err)
		}
		return c.subMessage(verb, m.Sub)
	}
	return nil, fmt.Errorf("unknown verb %.40q", verb)
}

// subMessage reads what follows the subscription id.
func (c *scanner) subMessage(verb, sub string) (ClientMessage, error) {
	switch verb {
	case "REQ":
		fs, err := c.filterElements()
		return Req{sub, fs}, err
	case "COUNT":
		fs, err := c.filterElements()
		return Count{sub, fs}, err
	case "NEG-OPEN":
		return c.negOpen(sub)
	case "NEG-MSG":
		msg, err := c.hexElement()
		return NegMsg{sub, msg}, err
	case "NEG-CLOSE":
		return NegClose{sub}, nil
	}
	return Close{sub}, nil
}

// subElement reads the subscription id that comes next.
func (c *scanner) subElement() (string, error) {
	if err := c.expect(','); err != nil {
		return "", err
	}
	sub, err := c.str()
	switch {
	case err != nil:
		return "", err
	case sub == "":
		return "", errors.New("empty")
	case utf8.RuneCountInString(sub) > MaxSubLength:
		return "", fmt.Errorf("longer than %d characters", MaxSubLength)
	}
	return strings.Clone(sub), nil
}

// filterElements reads the filters up to the end of the array.
func (c *scanner) filterElements() ([]Filter, error) {
	var fs []Filter
	for c.next() != ']' {
		if err := c.expect(','); err != nil {
			return nil, err
		}
		if len(fs) == MaxFilters {
			return nil, fmt.Errorf("more than %d filters", MaxFilters)
		}
		f, err := c.filter()
		if err != nil {
			return nil, fmt.Errorf("filter %d: %w", len(fs)+1, err)
		}
		fs = append(fs, f)
	}
	if len(fs) == 0 {
		return nil, c.fail("filter expected")
	}
	return fs, nil
}

func (c *scanner) negOpen(sub string) (ClientMessage, error) {
	if err := c.expect(','); err != nil {
		return nil, err
	}
	f, err := c.filter()
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	msg, err := c.hexElement()
	return NegOpen{sub, f, msg}, err
}

// hexElement reads the hex of a NIP-77 message that comes next; it may be upper-case.
func (c *scanner) hexElement() ([]byte, error) {
	if err := c.expect(','); err != nil {
		return nil, err
	}
	s, err := c.str()
	if err != nil {
		return nil, fmt.Errorf("negentropy message: %w", err)
	}
	msg, err := hex.DecodeString(s)
	if err != nil {
		return nil, errors.New("negentropy message: not hex")
	}
	return msg, nil
}
