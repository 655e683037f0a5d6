package main

import (
	"context"
	"log/slog"
	"net"
	"sync"

	"github.com/graspd/graspd/internal/systemd"
)

// manager is the service manager that started this process, if there is one.
type manager struct {
	socket string // "" is none
	log    *slog.Logger
}

// managerOf finds the service manager.
func managerOf(log *slog.Logger) manager {
	socket, err := systemd.Socket()
	if err != nil {
		log.Warn("graspd cannot take NOTIFY_SOCKET out of the environment", "error", err)
	}
	return manager{socket, log}
}

// tell tells it a state. The relay runs all the same where that cannot be.
func (m manager) tell(state string) {
	if err := systemd.Tell(m.socket, state); err != nil {
		m.log.Warn("graspd cannot tell systemd", "what", state, "error", err)
	}
}

// tellEnd tells it when ctx ends.
func (m manager) tellEnd(ctx context.Context) {
	<-ctx.Done()
	m.tell(systemd.Stopping)
}

// during tells it that settings are read anew while f does so.
func (m manager) during(f func()) {
	state, err := systemd.Reloading()
	if err != nil {
		m.log.Warn("graspd cannot tell systemd", "what", "RELOADING=1", "error", err)
		f()
		return
	}
	m.tell(state)
	f()
	m.tell(systemd.Ready)
}

// served is a listener that calls first when the first connection is about to be accepted.
type served struct {
	net.Listener
	once  sync.Once
	first func()
}

// Accept implements net.Listener.
func (s *served) Accept() (net.Conn, error) {
	s.once.Do(s.first)
	return s.Listener.Accept()
}
