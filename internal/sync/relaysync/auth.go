package relaysync

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
)

// authenticate signs a challenge with this relay's own key, and sends the AUTH event (NIP-42). Where it cannot, it tells the machine why.
func (p *shell) authenticate(l *link, challenge string) {
	e := &nostr.Event{
		Kind: nostr.KindAuth, CreatedAt: p.engine.cfg.Now().Wall.Unix(),
		Tags: nostr.Tags{{"relay", string(p.url)}, {"challenge", challenge}},
	}
	if p.outsider() {
		p.inbox.push(l, peer.Authenticated{Reason: errOutsider.Error()})
		return
	}
	if p.engine.cfg.Sign == nil {
		p.inbox.push(l, peer.Authenticated{Reason: "this relay has no key"})
		return
	}
	if err := p.engine.cfg.Sign(e); err != nil {
		p.inbox.push(l, peer.Authenticated{Reason: fmt.Sprintf("sign: %v", err)})
		return
	}
	l.auth = e.ID
	l.send(nostr.AppendAuth(nil, e))
}

// authAnswer turns the OK to the AUTH event into peer.Authenticated. Any other input stays as it is.
func (l *link) authAnswer(in peer.Input) peer.Input {
	if f, ok := in.(peer.Frame); ok {
		if m, ok := f.Message.(nostr.OK); ok && m.ID == l.auth {
			return peer.Authenticated{OK: m.OK, Reason: m.Reason}
		}
	}
	return in
}
