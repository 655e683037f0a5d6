package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/nip86"
)

// bySettings stands in the journal as the one who ended a change, where the settings did.
const bySettings = "the settings"

// said owns what the relay says of itself: what the settings say, and what somebody changed of that over the public address.
type said struct {
	mu       sync.Mutex // held during a change, also while the change is written
	settings Settings   // those of the start, or of the last Set
	changes  atomic.Pointer[[]nip86.Change]
}

// Changes returns the changes made over the public address that are in force.
func (n *Node) Changes() []nip86.Change {
	if p := n.said.changes.Load(); p != nil {
		return slices.Clone(*p)
	}
	return nil
}

// readChanges reads the changes of earlier lives, and forgets those whose setting has changed since.
func (n *Node) readChanges() error {
	var all []nip86.Change
	v := n.Store.View()
	err := v.EachRow(nip86.ChangeRow, "", func(_ string, row []byte) (bool, error) {
		c, err := nip86.DecodeChange(row)
		all = append(all, c)
		return true, err
	})
	v.Close()
	if err != nil {
		return err
	}
	n.said.settings = Settings{Info: n.cfg.Info, About: n.cfg.About, MinPoW: n.cfg.MinPoW, Lists: n.cfg.Lists}
	_, hold, over := nip86.Apply(n.cfg.Info, all)
	n.said.changes.Store(&hold)
	if len(over) == 0 || n.follows {
		return nil
	}
	return full(store.Update(n.Store, func(b *store.Batch) error {
		for _, c := range over {
			n.log.Info("a change made over the public address no longer holds: the settings say something else now", "setting", c.Setting)
			if err := b.SetRow(nip86.ChangeRow+c.Setting, nil); err != nil {
				return err
			}
		}
		return nil
	}))
}

// full returns err, but nil for a full disk: the next start with room does what could not be done.
func full(err error) error {
	if errors.Is(err, store.ErrFull) {
		return nil
	}
	return err
}

// Change has the relay say value for a setting of nip86 from now on, because by asked for that. The change holds until the
// setting itself says something else; an empty value takes the change back. When Change returns nil, the change is durable, in the journal
// and public.
func (n *Node) Change(ctx context.Context, setting, value, by string) error {
	if err := nip86.CheckValue(setting, value); err != nil {
		return err
	}
	n.said.mu.Lock()
	defer n.said.mu.Unlock()
	s, before := n.said.settings, n.Changes()
	c := nip86.Change{Setting: setting, Value: value, Instead: *nip86.SettingOf(&s.Info, setting), By: by, At: n.cfg.Now().Unix()}
	all := nip86.WithChange(before, c)
	info, hold, _ := nip86.Apply(s.Info, all)
	if was, _, _ := nip86.Apply(s.Info, before); *nip86.SettingOf(&was, setting) == *nip86.SettingOf(&info, setting) && len(all) == len(before) {
		return nil // it is so already
	}
	show, err := n.Relay.Present(n.information(info, s.Lists), s.About, s.MinPoW)
	if err != nil {
		return err
	}
	var row []byte
	if len(all) > 0 && all[len(all)-1] == c {
		row = nip86.EncodeChange(c)
	}
	if err := n.note(ctx, c, row); err != nil {
		return err
	}
	show()
	n.said.changes.Store(&hold)
	n.log.Info("a setting was changed over the public address", "setting", setting, "operator", by)
	return nil
}

// note writes a change into the journal, and the row of the change; a nil row removes it.
func (t *Term) note(ctx context.Context, c nip86.Change, row []byte) error {
	e := moderation.Entry{By: c.By, Did: moderation.Set, Subject: c.Setting, Why: c.Value}
	return t.Moderator.Note(ctx, e, func(t *ingest.Exclusive) error { return t.SetRow(nip86.ChangeRow+c.Setting, row) })
}

// takeOver puts in force what the settings say by now, and forgets the changes that these settings end. The caller holds said.mu.
func (n *Node) takeOver(ctx context.Context, s Settings, hold, over []nip86.Change) {
	n.said.settings = s
	n.said.changes.Store(&hold)
	for _, c := range over {
		n.log.Info("a change made over the public address no longer holds: the settings say something else now", "setting", c.Setting)
		c.By, c.Value = bySettings, *nip86.SettingOf(&s.Info, c.Setting)
		if err := n.note(ctx, c, nil); err != nil { // it holds no more all the same, and the next start forgets it
			n.log.Error("a change made over the public address that no longer holds cannot be removed", "setting", c.Setting, "error", err)
		}
	}
}
