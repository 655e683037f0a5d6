package relaysync

import (
	"context"
	"errors"
	"net/http"

	"graspd/internal/plan"
)

// httpRefusal is implemented by dial errors that tell an HTTP status.
type httpRefusal interface {
	error
	HTTPStatus() int
}

// dial connects and reads what the relay tells of itself.
func (p *peer) dial(ctx context.Context, a *attempt) dialResult {
	failed := func(in plan.DialFailed) dialResult { return dialResult{of: a, in: in} }
	select {
	case p.engine.dials <- struct{}{}:
		defer func() { <-p.engine.dials }()
	case <-ctx.Done():
		return failed(plan.DialFailed{Reason: "stopped"})
	}
	conn, err := p.engine.cfg.Dialer.Dial(ctx, p.url)
	if err != nil {
		in := plan.DialFailed{Reason: err.Error()}
		if h, ok := errors.AsType[httpRefusal](err); ok {
			in.SlowIt = h.HTTPStatus() == http.StatusTooManyRequests || h.HTTPStatus() == http.StatusServiceUnavailable
		}
		return failed(in)
	}
	doc, err := p.engine.cfg.Dialer.Info(ctx, p.url)
	if err != nil {
		return dialResult{of: a, conn: conn, in: plan.Connected{}}
	}
	if doc.Self == p.engine.cfg.Self.String() {
		_ = conn.Close("this is ourself")
		return failed(plan.DialFailed{Ourself: true})
	}
	l := doc.Limitation
	return dialResult{of: a, conn: conn, in: plan.Connected{Limits: plan.Limits{
		MaxSubscriptions: l.MaxSubscriptions, MaxMessage: l.MaxMessageLength, MaxLimit: l.MaxLimit,
	}}}
}

// deliver hands a result to the shell, or drops it when nobody waits any more.
func (p *peer) deliver(ctx context.Context, r dialResult) {
	select {
	case p.dialed <- r:
	case <-ctx.Done():
		if r.conn != nil {
			_ = r.conn.Close(errStopped.Error())
		}
	}
}
