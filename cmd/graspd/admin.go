package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"graspd/internal/admin"
	"graspd/internal/grasp"
	"graspd/internal/metrics"
	"graspd/internal/relaysync"
)

// adminHandler serves what the private listener tells.
func (n *node) adminPages() *admin.Pages {
	c := admin.Config{
		URL: n.service.RelayURL(), Version: versionString(), Store: n.store, Door: n.door, Self: n.self, Backup: n.backup, Hosts: n.cfg.AdminHosts,
		Faults:  n.faults,
		Clients: func() (int, int) { s := n.relay.Stats(); return s.Sessions, s.Subscriptions },
	}
	m := metrics.Config{Version: c.Version, Store: n.store, Door: n.door, Relay: n.relay, Faults: n.faults}
	if n.engine != nil {
		c.Sync, m.Sync = engineStatus{n.engine}, engineStatus{n.engine}
	}
	c.Metrics = metrics.Handler(m)
	return admin.New(c)
}

// engineStatus tells how the engine stands.
type engineStatus struct{ *relaysync.Engine }

func (e engineStatus) Relays(ctx context.Context) []admin.Relay {
	all := e.Status(ctx)
	out := make([]admin.Relay, len(all))
	for i, s := range all {
		out[i] = admin.Relay(s)
	}
	return out
}

func (e engineStatus) Details(ctx context.Context) map[grasp.RelayURL]admin.Details {
	out := make(map[grasp.RelayURL]admin.Details)
	for u, d := range e.Engine.Details(ctx) {
		out[u] = admin.Details(d)
	}
	return out
}

// newServer is an HTTP server for the private listener.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serveOn serves until the server is shut down.
func serveOn(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// shutDown gives requests under way a moment. Sessions are hijacked and live on.
func shutDown(s *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close() // what is left has sent no request, or does not read the answer
	}
	return err
}
