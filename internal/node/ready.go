package node

import (
	"context"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// Pauses between two looks at how far this relay has filled itself.
const (
	readyLook   = 250 * time.Millisecond // at first
	readyLookOn = 10 * time.Second       // once it is ready, or has been at it for long
	readyPart   = 40                     // in between a pause is this part of the time since the start
	readyRest   = 20                     // a pause is at least so many times as long as the look
)

// fills reports whether this relay fills itself from bootstrap relays.
func (n *Node) fills() bool { return n.Engine != nil && len(n.cfg.mirrors()) > 0 }

// Readiness says how much of what the bootstrap relays announce is served here. A relay without any is ready at once.
func (n *Node) Readiness() status.Readiness {
	r := status.Readiness{Ready: !n.fills(), Relays: []grasp.RelayURL{}, Missing: []status.Missing{}}
	if seen := n.readiness.Load(); seen != nil {
		r = *seen
	}
	served := int(n.Store.Stats().Repositories)
	r.Served, r.Announced = served, r.Announced+served-r.Served
	return r
}

// Filled returns the same where this relay fills itself from others, else nil.
func (n *Node) Filled() *status.Readiness {
	if !n.fills() {
		return nil
	}
	return new(n.Readiness())
}

// watchFilling looks again and again how far this relay has filled itself, until ctx ends.
func (n *Node) watchFilling(ctx context.Context) error {
	start := time.Now()
	f := status.NewFilling(start)
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		before, began := n.Readiness(), time.Now()
		s, err := n.sight(ctx, f)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			n.log.Error("what waits for git data cannot be read", "error", err)
		} else {
			f.Look(s)
			n.readiness.Store(new(f.Readiness()))
			n.tellFilling(before)
		}
		t.Reset(untilLook(f.Ready(), time.Since(start), time.Since(began)))
	}
}

// untilLook is the pause after a look that took so long, so long after the start. So a relay that becomes ready soon says so at once, and one that
// never does costs little.
func untilLook(ready bool, since, took time.Duration) time.Duration {
	pause := readyLookOn
	if !ready {
		pause = min(pause, max(readyLook, since/readyPart))
	}
	return max(pause, readyRest*took)
}

// tellFilling logs what has become of the readiness since before.
func (n *Node) tellFilling(before status.Readiness) {
	r := n.Readiness()
	if r.Ready && !before.Ready {
		n.log.Info("initial sync finished", "repositories", r.Announced, "served", r.Served, "took", r.For.Round(time.Second/10), "state", r.String())
	}
	if p := r.Problem(); p != "" && before.Problem() == "" {
		n.log.Warn("not everything is served", "problem", p)
	}
}

// sight looks at everything that a Filling has to know.
func (n *Node) sight(ctx context.Context, f *status.Filling) (status.Sight, error) {
	s := status.Sight{Relays: n.Engine.CaughtUp(ctx, f.Round()), Git: n.Host != nil, At: time.Now()}
	s.Served = int(n.Store.Stats().Repositories)
	_, s.Changed, _, _ = n.Store.Changes(0)
	if n.Host == nil {
		return s, nil
	}
	s.Waits = n.Store.Waits() > 0
	announced, err := n.Host.Awaited()
	if err != nil {
		return s, fmt.Errorf("announcements that wait: %w", err)
	}
	n.missing(ctx, &s, announced)
	s.Back, err = n.served(f.Lapsed())
	return s, err
}

// missing adds the repositories that wait to a Sight, and what was tried for the first of them.
func (n *Node) missing(ctx context.Context, s *status.Sight, announced []hosting.Awaited) {
	through := map[nip34.Address]bool{}
	s.Looked = s.Changed
	if n.GitSync != nil {
		awaited, looked := n.GitSync.Awaited(ctx)
		s.Looked = looked
		for _, x := range awaited {
			through[x.Of] = x.Through
		}
	}
	add := func(of nip34.Address, m status.Missing) {
		m.Address, m.Name, m.Servers = of.String(), status.Text(of.D+" of "+nip19.Npub(of.PubKey)), []status.GitServer{}
		if n.GitSync != nil && len(s.Missing) < status.MissingTold {
			m.Servers = n.GitSync.Repository(ctx, of).Servers
		}
		s.Missing = append(s.Missing, m)
	}
	for _, x := range announced {
		done, looksFor := through[x.Of]
		delete(through, x.Of)
		add(x.Of, status.Missing{Until: status.Unix(x.Until), Through: done || !looksFor})
	}
	for of, done := range through {
		add(of, status.Missing{Served: true, Through: done})
	}
}

// served returns those of the addresses at which an announcement is served.
func (n *Node) served(addresses []string) (out []string, err error) {
	if len(addresses) == 0 {
		return nil, nil
	}
	v := n.Store.View()
	defer v.Close()
	for _, text := range addresses {
		of, err := nip34.ParseAddress(text)
		if err != nil {
			return nil, err
		}
		is, err := v.HasAddress(of.String())
		if err != nil {
			return nil, err
		}
		if is {
			out = append(out, text)
		}
	}
	return out, nil
}
