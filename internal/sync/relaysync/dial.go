package relaysync

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// httpRefusal is a dial error that tells an HTTP status.
type httpRefusal interface {
	error
	HTTPStatus() int
}

// slowDial is how long a dial counts among those that may be under way at once. Dials that hang longer make nobody wait: the number of
// slots bounds them.
const slowDial = 500 * time.Millisecond

// beginDial waits until fewer than DialsAtOnce dials have just begun. It returns false when ctx ended first. The caller calls free after the
// dial.
func (e *Engine) beginDial(ctx context.Context) (free func(), ok bool) {
	select {
	case e.dials <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	leave := sync.OnceFunc(func() { <-e.dials })
	slow := time.AfterFunc(slowDial, leave)
	return func() { slow.Stop(); leave() }, true
}

// dial connects to the relay and reads its information document. A fault in dialing is a failed attempt.
func (p *shell) dial(ctx context.Context, a *attempt) (r dialResult) {
	err := p.contained(func() error {
		r = p.connect(ctx, a)
		return nil
	})
	if err != nil {
		return dialResult{of: a, in: peer.DialFailed{Reason: err.Error()}}
	}
	return r
}

// connect does the work of dial, and does not contain faults. A relay without a document has no known limits. A relay whose document has
// this relay's key is this relay itself.
func (p *shell) connect(ctx context.Context, a *attempt) dialResult {
	failed := func(in peer.DialFailed) dialResult { return dialResult{of: a, in: in} }
	free, ok := p.engine.beginDial(ctx)
	if !ok {
		return failed(peer.DialFailed{Reason: "stopped"})
	}
	defer free()
	conn, err := p.engine.cfg.Dialer.Dial(ctx, p.url)
	if err != nil {
		in := peer.DialFailed{Reason: err.Error()}
		if h, ok := errors.AsType[httpRefusal](err); ok {
			in.SlowIt = h.HTTPStatus() == http.StatusTooManyRequests
		}
		return failed(in)
	}
	kept := false
	defer func() {
		if !kept {
			_ = conn.Close(errStopped.Error())
		}
	}()
	doc, err := p.engine.cfg.Dialer.Info(ctx, p.url)
	kept = true
	outsider := p.met(doc, a.of)
	if err != nil {
		return dialResult{of: a, conn: conn, in: peer.Connected{Outsider: outsider}}
	}
	if doc.Self == p.engine.cfg.Self.String() {
		_ = conn.Close("this is ourself")
		return failed(peer.DialFailed{Ourself: true})
	}
	l := doc.Limitation
	return dialResult{of: a, conn: conn, in: peer.Connected{Outsider: outsider, Limits: capacity.Limits{
		MaxSubscriptions: l.MaxSubscriptions, MaxMessage: l.MaxMessageLength, MaxLimit: l.MaxLimit,
	}}}
}

// deliver hands the result of a dial to the shell, or closes its connection when ctx ended first.
func (p *shell) deliver(ctx context.Context, r dialResult) {
	select {
	case p.dialed <- r:
	case <-ctx.Done():
		if r.conn != nil {
			_ = r.conn.Close(errStopped.Error())
		}
	}
}
