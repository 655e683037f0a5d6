package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"graspd/internal/grasp"
	"graspd/internal/logs"
)

// serveCommand runs one relay until it is told to stop.
func serveCommand(ctx context.Context, args []string, io stdio, env lookup) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from the start on, so that none ends the process
	defer signal.Stop(hangups)
	var c Config
	rows := append(append(c.policySettings(), c.dataSettings()...), c.serveSettings()...)
	rest, problems, err := parse("serve", rows, args, io, env)
	if err != nil {
		return err
	}
	for _, a := range rest {
		problems = append(problems, fmt.Sprintf("serve takes no argument %q; a switch is turned off as --sync=false", a))
	}
	service, err := c.service()
	if err != nil {
		problems = append(problems, err.Error())
	}
	bootstrap, bad := c.bootstrap()
	lists, wrong := c.lists()
	if problems = append(append(problems, bad...), wrong...); len(problems) > 0 {
		return &usageError{problems}
	}
	l, err := listen(c)
	if err != nil {
		return err
	}
	if c.Domain == "" { // the port may have been chosen just now
		if service, err = grasp.ParseService(l.public.Addr().String()); err != nil {
			return errors.Join(err, l.close())
		}
	}
	boundGarbage(env)
	screen := screenOf(io.err, c.Quiet || c.LogFormat == logs.JSON)
	n, err := build(ctx, c, l, service, lists, bootstrap, newLogger(c, above(screen, io.err)))
	if err != nil {
		return err
	}
	n.screen = screen
	n.greet(io.out)
	return n.run(ctx, hangups)
}

// listeners are where a node answers.
type listeners struct {
	public net.Listener
	admin  net.Listener // nil = nowhere
}

func listen(c Config) (l listeners, err error) {
	if l.public, err = net.Listen("tcp", c.Listen); err != nil {
		return l, fmt.Errorf("--listen: %w", err)
	}
	if c.AdminListen == "" {
		return l, nil
	}
	if l.admin, err = net.Listen("tcp", c.AdminListen); err != nil {
		return l, errors.Join(fmt.Errorf("--admin-listen: %w (give another address, or none to do without)", err), l.close())
	}
	return l, nil
}

// close closes those that no server has closed.
func (l listeners) close() error {
	var errs []error
	for _, x := range []net.Listener{l.public, l.admin} {
		if x == nil {
			continue
		}
		if err := x.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// greet prints the first lines: where it listens, where the data is, what to
// open in a browser, and what to put into an announcement.
func (n *node) greet(w io.Writer) {
	addr := n.listen.public.Addr()
	fmt.Fprintf(w, "graspd %s listens on ws://%s\n", versionString(), addr)
	fmt.Fprintf(w, "data in %s\n", n.cfg.Data)
	fmt.Fprintf(w, "open http://%s in a browser\n", addr)
	if n.listen.admin != nil {
		fmt.Fprintf(w, "for the operator: open http://%s/\n", n.listen.admin.Addr())
		fmt.Fprintf(w, "for programs: status at http://%s/status.json\n", n.listen.admin.Addr())
	}
	fmt.Fprintf(w, "to have a repository kept here, add this to the relays tag of its announcement: %s\n", n.service.RelayURL())
}
