package testkit

import (
	"errors"
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func (c *fakeConn) negOpen(m nostr.NegOpen) {
	f := c.relay
	if c.barred(m.Sub, nostr.AppendNegErr(nil, m.Sub, AuthText, 0)) {
		return
	}
	if text := f.unkind(m.Filter); text != "" && f.Neg == NegWorks {
		c.refused(m.Sub)
		c.send(nostr.AppendNegErr(nil, m.Sub, text, 0))
		return
	}
	if f.Neg == NegWorks && c.dislikes(m.Sub, true, m.Filter) {
		return
	}
	switch f.Neg {
	case NegNotice:
		c.send(nostr.AppendNotice(nil, "ERROR: bad msg: negentropy disabled"))
	case NegClosed:
		c.refused(m.Sub)
		c.send(nostr.AppendClosed(nil, m.Sub, "error: unknown message"))
	case NegErr:
		c.refused(m.Sub)
		c.send(nostr.AppendNegErr(nil, m.Sub, "blocked: not here", 0))
	case NegError:
		c.refused(m.Sub)
		c.send([]byte(`["NEG-ERROR","` + m.Sub + `","blocked: not "here""]`))
	case NegSilent:
	case NegDrop:
		c.end(errors.New("dropped after NEG-OPEN"))
	default:
		if c.troubled(m.Sub) {
			return
		}
		set, n := c.set(m.Filter)
		if f.NegRecords > 0 && n > f.NegRecords {
			c.refused(m.Sub)
			c.send(nostr.AppendNegErr(nil, m.Sub, "blocked: too many query results", int64(f.NegRecords)))
			return
		}
		c.mu.Lock()
		c.negs[m.Sub] = set
		c.mu.Unlock()
		c.respond(m.Sub, set, m.Msg)
	}
}

func (c *fakeConn) negMsg(m nostr.NegMsg) {
	t := c.relay.temper()
	c.mu.Lock()
	set := c.negs[m.Sub]
	c.mu.Unlock()
	if c.chance(t.Drop) {
		c.end(errors.New("dropped in the middle of a reconciliation"))
		return
	}
	if set == nil || c.chance(t.NegLost) {
		c.mu.Lock()
		delete(c.negs, m.Sub)
		c.mu.Unlock()
		c.refused(m.Sub)
		c.send(nostr.AppendNegErr(nil, m.Sub, "closed: unknown subscription handle", 0))
		return
	}
	c.respond(m.Sub, set, m.Msg)
}

func (c *fakeConn) respond(sub string, set *negentropy.Set, msg []byte) {
	limit := 60_000
	if c.relay.Neg == NegEndless {
		limit = 4096
	}
	reply, err := negentropy.Respond(set, limit, msg)
	if err != nil {
		c.relay.t.Errorf("%s: bad negentropy message: %v", c.relay.URL, err)
		return
	}
	frame := nostr.AppendNegMsg(nil, sub, reply)
	if c.relay.Neg == NegEndless {
		time.AfterFunc(25*time.Second, func() { c.send(frame) })
		return
	}
	c.send(frame)
}
