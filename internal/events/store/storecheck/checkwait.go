package storecheck

import (
	"context"
	"encoding/binary"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// waitCounts has what a check counts of events that wait.
type waitCounts struct {
	bytes, slots, repositories int64
	records, rows              int64 // records of waiting events, and their index rows
}

// waits checks that every event that waits is whole, may wait, and has everything that it should have, and that there are no other rows of
// waiting events.
func (c *checker) waits(ctx context.Context) error {
	w := newProver(c.opt.Verifier, func(p proven) error { return c.wait(p) })
	err := c.each(ctx, layout.TableWaiting, func(key, value []byte) error {
		if len(key) != 9 {
			c.problem("what waits: key of %d bytes", len(key))
			return nil
		}
		c.found.bytes += int64(len(value) - layout.LogHeader)
		return w.take(layout.Seq(binary.BigEndian.Uint64(key[1:])), value)
	})
	if err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	for table, want := range map[byte]int64{
		layout.TableWait: c.report.Waiting, layout.TableWaitOver: c.report.Waiting, layout.TableWaitAuthor: c.report.Waiting,
		layout.TableWaitSlot: c.found.slots, layout.TableWaitRepository: c.found.repositories,
	} {
		if err := c.tableCount(ctx, table, want, "rows of what waits"); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) wait(p proven) error {
	if p.err != nil {
		c.problem("event that waits %d: %v", p.Seq, p.err)
	}
	if p.Event == nil {
		return nil
	}
	if p.Seq == 0 || p.Seq > c.counters.Head {
		c.problem("event that waits %d: head is %d", p.Seq, c.counters.Head)
	}
	c.report.Waiting++
	e := p.Event
	if err := c.mayWait(e); err != nil {
		return err
	}
	row, ok, err := c.Reader.Waits(e.ID)
	if err != nil {
		return err
	}
	if !ok || row.Seq != p.Seq {
		c.problem("wait of %s: wrong", e.ID)
		return nil
	}
	if at, ok := e.Expiration(); ok && row.Until > at {
		c.problem("%s waits for longer than it lasts", e.ID)
	}
	if err := c.expect(layout.TimedKey(layout.TableWaitOver, row.Until, e.ID), nil, "end of the wait of %s", e.ID); err != nil {
		return err
	}
	if err := c.expect(layout.WaitAuthorKey(e.PubKey, p.Seq), nil, "%s among what waits of its author", e.ID); err != nil {
		return err
	}
	if err := c.expect(layout.IDKey(layout.TableRecord, e.ID), nil, "record of %s, which waits", e.ID); err != nil {
		return err
	}
	if e.Kind == nip34.KindRepository {
		c.found.repositories++
		if err := c.expect(layout.WaitRepositoryKey(layout.HashOf(e.Tags.D()), p.Seq), nil, "%s among the announcements that wait", e.ID); err != nil {
			return err
		}
	}
	if address := e.Address(); address != "" {
		c.found.slots++
		return c.expect(layout.HashKey(layout.TableWaitSlot, layout.HashOf(address)), layout.AppendStamp(nil, e.Stamp()), "%s as the version that waits", e.ID)
	}
	return nil
}

// mayWait checks that the rules have nothing against an event that waits.
func (c *checker) mayWait(e *nostr.Event) error {
	for what, rule := range map[string]index.Rule{
		"stored": index.IsDuplicate, "deleted": index.IsDeleted, "superseded": index.IsSuperseded, "of an author who vanished": isVanishedAuthors,
	} {
		out, err := rule(c.Reader, e)
		if err != nil {
			return err
		}
		if out != policy.Accept {
			c.problem("%s waits and is %s", e.ID, what)
		}
	}
	return nil
}

// isVanishedAuthors is a Rule like index.IsVanished, but looks only for requests of the event's author.
func isVanishedAuthors(r index.Reader, e *nostr.Event) (policy.Outcome, error) {
	req, ok, err := r.Vanished(e.PubKey)
	if err != nil || !ok || e.CreatedAt > req.Until {
		return policy.Accept, err
	}
	return policy.Vanished, nil
}
