package main

import (
	"context"
	"log/slog"
	"net"
	"sync"

	"github.com/graspd/graspd/internal/operate/systemd"
)

// manager is the service manager that started this process, if there is one.
type manager struct {
	socket string // "" is none
	log    *slog.Logger
}

// managerOf finds the service manager and takes its socket out of the environment.
func managerOf(log *slog.Logger) manager {
	socket, err := systemd.Socket()
	if err != nil {
		log.Warn("graspd cannot take NOTIFY_SOCKET out of the environment", "error", err)
	}
	return manager{socket, log}
}

// notify tells the service manager a state. Where that fails it only warns: the relay runs all the same.
func (m manager) notify(state string) {
	if err := systemd.Tell(m.socket, state); err != nil {
		m.log.Warn("graspd cannot tell systemd", "what", state, "error", err)
	}
}

// tellEnd waits until ctx ends, and tells the service manager that graspd stops.
func (m manager) tellEnd(ctx context.Context) {
	<-ctx.Done()
	m.notify(systemd.Stopping)
}

// during calls f, which reads the settings anew, and tells the service manager before and after.
func (m manager) during(f func()) {
	state, err := systemd.Reloading()
	if err != nil {
		m.log.Warn("graspd cannot tell systemd", "what", "RELOADING=1", "error", err)
		f()
		return
	}
	m.notify(state)
	f()
	m.notify(systemd.Ready)
}

// served is a listener that calls first once, before it accepts the first connection.
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
