package nostr

import "math"

// verb reads the opening bracket and the first element of a frame.
func (c *scanner) verb() (string, error) {
	if err := c.expect('['); err != nil {
		return "", err
	}
	return c.str()
}

// rest skips further elements, which some software sends, and reads the end of the frame.
func (c *scanner) rest() error {
	for {
		ok, err := c.more(false, ']')
		if err != nil {
			return err
		}
		if !ok {
			return c.end()
		}
		if err := c.skip(maxDepth); err != nil {
			return err
		}
	}
}

// eventElement reads the event that comes next and notes its id in m, also the id and the time of a bad event if findID finds them.
func (c *scanner) eventElement(m *MessageError) (*Event, error) {
	if err := c.expect(','); err != nil {
		return nil, err
	}
	again := *c
	c.most = MaxStrings
	e, err := c.event()
	if err != nil {
		m.ID, m.HasID, m.At = again.findID()
		return nil, err
	}
	m.ID, m.HasID = e.ID, true
	return e, nil
}

// findID returns the id and the time of an object that is no good event, if they stand before the place where the text stops making sense.
func (c *scanner) findID() (id ID, found bool, at int64) {
	_ = c.object(func(k string) (err error) {
		switch {
		case k == "id" && !found:
			err = c.hex(id[:])
			found = err == nil
		case k == "created_at":
			at, err = c.integer(math.MaxInt64)
		default:
			err = c.skip(maxDepth)
		}
		return err
	})
	return id, found, at
}
