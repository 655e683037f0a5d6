package moderator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Errors of decisions about who is allowed.
var (
	ErrNoAllowList = errors.New("everybody who is not banned may publish here: --allow-pubkeys is not set")
	ErrAllowed     = errors.New("a list of the settings allows it: take it out there and let graspd reread the lists")
	ErrManyAllowed = fmt.Errorf("more than %d authors are allowed already: take some out first", moderation.MaxAllowed)
	errOfAnother   = errors.New("the row of an allowed author has another name")
)

// Allow has the relay's allow list take an author in, and lifts a ban of them. When Allow returns, that is durable and in force. Without an
// allow list it fails with ErrNoAllowList, where no ban was lifted. Where the list is full it fails with ErrManyAllowed, and lifts no ban.
func (m *Moderator) Allow(ctx context.Context, pk nostr.PubKey, by, why string) error {
	if _, _, full := m.allows(pk); full {
		return ErrManyAllowed
	}
	lifted, err := m.LiftSubject(ctx, moderation.Of(pk), by, why)
	if err != nil {
		return err
	}
	m.deciding.Lock()
	defer m.deciding.Unlock()
	switch already, open, full := m.allows(pk); {
	case already, open && lifted: // LiftSubject has put in force what is decided
		return nil
	case open:
		return ErrNoAllowList
	case full: // somebody else was taken in meanwhile
		return ErrManyAllowed
	}
	return m.setAllowed(ctx, moderation.Allowed{PubKey: pk, By: by, Why: why, Since: m.cfg.Now().Unix()}, moderation.Admitted)
}

// allows reports how the allow list stands to an author: it has them already, it is open to everybody as the settings have none, or it is
// full and does not have them.
func (m *Moderator) allows(pk nostr.PubKey) (already, open, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, already = m.decided.withAllowed(m.rules.Lists).AllowPubKeys[pk]
	open = len(m.rules.Lists.AllowPubKeys) == 0
	return already, open, !already && !open && len(m.decided.allowed) >= moderation.MaxAllowed
}

// Disallow takes an author out whom a decision allows, and reports whether there was one. Whether there was one or not, it fails with ErrAllowed
// where a list of the settings allows them.
func (m *Moderator) Disallow(ctx context.Context, pk nostr.PubKey, by, why string) (bool, error) {
	m.deciding.Lock()
	defer m.deciding.Unlock()
	m.mu.Lock()
	_, there := m.decided.allowed[pk]
	_, listed := m.rules.Lists.AllowPubKeys[pk]
	m.mu.Unlock()
	switch {
	case !there && listed:
		return false, ErrAllowed
	case !there:
		return false, m.enforce(ctx)
	}
	err := m.setAllowed(ctx, moderation.Allowed{PubKey: pk, By: by, Why: why}, moderation.Excluded)
	if err == nil && listed {
		err = ErrAllowed
	}
	return true, err
}

// setAllowed makes a decision durable, and puts it in force. The caller holds deciding.
func (m *Moderator) setAllowed(ctx context.Context, x moderation.Allowed, did string) error {
	o := moderation.Order{Subject: moderation.Of(x.PubKey), By: x.By, Why: x.Why}
	if err := o.Fit(); err != nil {
		return err
	}
	x.By, x.Why = o.By, o.Why
	title := m.Title(o.Subject)
	m.mu.Lock()
	e := moderation.Entry{N: m.decided.last + 1, At: m.cfg.Now().Unix(), By: x.By, Did: did, Subject: o.Subject.String(), Title: title, Why: x.Why}
	m.mu.Unlock()
	var row []byte
	if did == moderation.Admitted {
		row = moderation.Encode(x)
	}
	err := m.write(ctx, e, nil, func(t *ingest.Exclusive) error { return t.SetRow(allowedPrefix+x.PubKey.String(), row) })
	if err != nil {
		return err
	}
	m.mu.Lock()
	if row == nil {
		delete(m.decided.allowed, x.PubKey)
	} else {
		m.decided.allowed[x.PubKey] = x
	}
	m.mu.Unlock()
	return m.enforce(ctx)
}

// Allowed returns the authors on the allow list in force, by their keys; none where everybody is allowed.
func (m *Moderator) Allowed() (out []moderation.Allowed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pk := range m.decided.withAllowed(m.rules.Lists).AllowPubKeys {
		x, decided := m.decided.allowed[pk]
		if !decided {
			x = moderation.Allowed{PubKey: pk}
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b moderation.Allowed) int { return a.PubKey.Compare(b.PubKey) })
	return out
}
