package nostr

import (
	"fmt"
	"math"
	"strings"
)

// ParseRelay reads one message of a relay. ParseRelay bears what real relays write: further elements, a missing reason or one that is no
// string, an OK without its last element, NEG-ERROR for NEG-ERR and a reason in it that is not escaped. Every error is a *MessageError; the
// error of an EVENT with a bad event has the subscription. The message shares no memory with b. Texts are as the relay wrote them: the
// caller cuts and quotes them before logging them.
func ParseRelay(b []byte) (RelayMessage, error) {
	c := scanner{s: string(b)}
	var m MessageError
	msg, err := c.relayMessage(&m)
	if err == nil {
		err = c.rest()
	}
	if err != nil {
		return nil, m.because(err)
	}
	return msg, nil
}

// relayMessage reads a message up to its last element and notes in m what it understood.
func (c *scanner) relayMessage(m *MessageError) (RelayMessage, error) {
	verb, err := c.verb()
	if err != nil {
		return nil, err
	}
	switch verb {
	case "OK":
		m.Verb = verb
		return c.okMessage(m)
	case "NOTICE":
		m.Verb = verb
		text, err := c.text()
		return Notice{text}, err
	case "AUTH":
		m.Verb = verb
		text, err := c.text()
		return AuthChallenge{text}, err
	case "EVENT", "EOSE", "CLOSED", "COUNT", "NEG-MSG", "NEG-ERR", "NEG-ERROR", "NEG-CLOSE":
		m.Verb = verb
		if err := c.expect(','); err != nil {
			return nil, err
		}
		sub, err := c.str()
		if err != nil {
			return nil, fmt.Errorf("subscription id: %w", err)
		}
		m.Sub = strings.Clone(sub)
		return c.relaySubMessage(m)
	}
	return nil, fmt.Errorf("unknown verb %.40q", verb)
}

// relaySubMessage reads what follows the subscription id.
func (c *scanner) relaySubMessage(m *MessageError) (RelayMessage, error) {
	switch m.Verb {
	case "EVENT":
		e, err := c.eventElement(m)
		return RelayEvent{m.Sub, e}, err
	case "EOSE":
		return EOSE{m.Sub}, nil
	case "CLOSED":
		reason, err := c.text()
		return Closed{m.Sub, reason}, err
	case "COUNT":
		return c.countMessage(m.Sub)
	case "NEG-MSG":
		msg, err := c.hexElement()
		return NegMsg{m.Sub, msg}, err
	case "NEG-CLOSE":
		return NegClose{m.Sub}, nil
	}
	return c.negErr(m.Sub)
}

// text reads the element that comes next, if there is one. It returns null as "", and anything else that is no string as it is written.
func (c *scanner) text() (string, error) {
	if c.next() == ']' {
		return "", nil
	}
	if err := c.expect(','); err != nil {
		return "", err
	}
	if c.next() == '"' {
		s, err := c.str()
		return strings.Clone(s), err
	}
	start := c.i
	if err := c.skip(maxDepth); err != nil || c.s[start:c.i] == "null" {
		return "", err
	}
	return strings.Clone(c.s[start:c.i]), nil
}

func (c *scanner) okMessage(m *MessageError) (RelayMessage, error) {
	if err := c.expect(','); err != nil {
		return nil, err
	}
	if err := c.hex(m.ID[:]); err != nil {
		return nil, fmt.Errorf("event id: %w", err)
	}
	m.HasID = true
	if err := c.expect(','); err != nil {
		return nil, err
	}
	word := "false"
	if c.next() == 't' {
		word = "true"
	}
	if err := c.literal(word); err != nil {
		return nil, err
	}
	reason, err := c.text()
	return OK{m.ID, word == "true", reason}, err
}

// countMessage reads {"count": n}, and skips the other keys of NIP-45.
func (c *scanner) countMessage(sub string) (RelayMessage, error) {
	if err := c.expect(','); err != nil {
		return nil, err
	}
	n := int64(-1)
	err := c.object(func(k string) (err error) {
		if k != "count" {
			return c.skip(maxDepth)
		}
		n, err = c.integer(math.MaxInt64)
		return err
	})
	if err == nil && n < 0 {
		err = c.fail("no count in the object that ends")
	}
	return CountResult{sub, n}, err
}
