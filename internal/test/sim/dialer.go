package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/sync/relaysync"
)

// dialer reaches fake relays frame by frame and everybody else over the network. Each dial takes some time.
type dialer struct {
	from *Graspd
	net  *relayconn.Dialer

	mu     sync.Mutex // guards delays
	delays map[grasp.RelayURL]func() time.Duration
}

func newDialer(g *Graspd) *dialer {
	return &dialer{
		from: g, net: relayconn.New(relayconn.Config{Net: publicnet.Config{DialContext: g.dial}}), delays: make(map[grasp.RelayURL]func() time.Duration),
	}
}

// Dial opens a connection.
func (d *dialer) Dial(ctx context.Context, u grasp.RelayURL) (relaysync.Conn, error) {
	if err := d.wait(ctx, u); err != nil {
		return nil, err
	}
	if d.from.w.Fakes.Has(u) {
		c, err := d.from.w.Fakes.DialFrom(ctx, d.from.Name, u)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	c, err := d.net.Dial(ctx, u)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Info reads the information document.
func (d *dialer) Info(ctx context.Context, u grasp.RelayURL) (nip11.Document, error) {
	if err := d.wait(ctx, u); err != nil {
		return nip11.Document{}, err
	}
	if d.from.w.Fakes.Has(u) {
		return d.from.w.Fakes.ReadInfo(u)
	}
	return d.net.Info(ctx, u)
}

func (d *dialer) wait(ctx context.Context, u grasp.RelayURL) error {
	t := time.NewTimer(d.delay(u))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *dialer) delay(u grasp.RelayURL) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.delays[u] == nil {
		d.delays[u] = d.from.w.Net.Delay(fmt.Sprint(d.from.Name, " dials ", u, d.from.lives))
	}
	return d.delays[u]()
}
