package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
)

// Bounds of the private listener, and of the end of both.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	stopTimeout   = time.Second      // for HTTP requests under way
	drainTimeout  = 10 * time.Second // for what serves them, once they were cut
)

// Listeners are where a node answers.
type Listeners struct {
	Public net.Listener
	Admin  net.Listener // nil is nowhere
}

// Close closes the listeners that no server has closed.
func (l Listeners) Close() error {
	var errs []error
	for _, x := range []net.Listener{l.Public, l.Admin} {
		if x == nil {
			continue
		}
		if err := x.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// part is something that runs while the node does, until its context ends.
type part struct {
	name string
	run  func(context.Context) error
}

// parts returns all parts in the order in which they end: a part ends before those to which it hands its data.
func (n *Node) parts(l Listeners) []part {
	pages := n.pages
	public, private := n.Front.Server(), n.adminServer(pages)
	serve := serving(public, n.Front.Listener(n.limited(l.Public)))
	parts := []part{{"public listener", func(ctx context.Context) error {
		err := serve(ctx)
		if n.cfg.Member != nil {
			n.cfg.Member.answers.Retire()
		}
		return errors.Join(err, n.drain())
	}}}
	parts = append(parts, part{"disk", n.watchDisk})
	if n.fills() {
		parts = append(parts, part{"readiness", n.watchFilling})
	}
	if n.Backups != nil {
		parts = append(parts, part{"backups", n.Backups.Run})
	}
	if n.cfg.Member != nil {
		parts = append(parts, part{"member", n.cfg.Member.await(!n.follows)})
	}
	if n.bucket != nil && !n.follows {
		parts = append(parts, part{"bucket", n.bucket.run})
	} else if n.bucket != nil {
		parts = append(parts, part{"bucket", n.bucket.watch})
	}
	if n.reader != nil && n.follows {
		parts = append(parts, part{"git data", n.reader.KeepUp})
	}
	if n.cfg.Member != nil && n.follows {
		parts = append(parts, part{"settings in force", n.cfg.Member.followShared(n)}, part{"touch", n.cfg.Member.withhold(n.Relay)})
	}
	parts = append(parts, part{"relay", n.Relay.Run})
	if n.elsewhere != nil {
		parts = append(parts, part{"carrier", n.elsewhere.Run})
	}
	parts = append(parts, n.Term.parts()...)
	if l.Admin != nil || n.Remote() {
		parts = append(parts, part{"page history", func(ctx context.Context) error { pages.Run(ctx); return nil }})
	}
	if l.Admin != nil {
		parts = append(parts, part{"private listener", serving(private, l.Admin)})
	}
	return parts
}

// Run serves until ctx ends or a part fails, and then ends the parts one after another. Run closes the listeners. A node that writes a bucket
// first has all on the disk by which is decided.
func (n *Node) Run(ctx context.Context, l Listeners) error {
	if n.kept != nil && !n.follows {
		if err := n.bucket.readyPacks(ctx, n.kept); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	if n.cfg.Member != nil && !n.follows {
		n.cfg.Member.answer(n)
	}
	g, over := errgroup.WithContext(ctx)
	type running struct {
		stop context.CancelFunc
		done chan struct{}
	}
	var all []running
	for _, p := range n.parts(l) {
		own, stop := context.WithCancel(context.WithoutCancel(ctx))
		r := running{stop, make(chan struct{})}
		all = append(all, r)
		g.Go(func() error {
			defer close(r.done)
			defer n.log.Debug("ended", "part", p.name)
			return p.run(own)
		})
	}
	g.Go(func() error {
		<-over.Done()
		if n.bucket != nil && !n.follows {
			late := time.AfterFunc(closePatience, n.bucket.log.Close)
			defer late.Stop()
		}
		for _, r := range all {
			r.stop()
			<-r.done
		}
		return nil
	})
	return errors.Join(g.Wait(), l.Close())
}

// limited accepts at most Config.Connections connections at once.
func (n *Node) limited(l net.Listener) net.Listener {
	if n.cfg.Connections == 0 {
		return l
	}
	return netutil.LimitListener(l, n.cfg.Connections)
}

// serving serves on l until its context ends, and then gives requests under way a moment. WebSocket sessions live on.
func serving(s *http.Server, l net.Listener) func(context.Context) error {
	return func(ctx context.Context) error {
		var down errgroup.Group
		ended := make(chan struct{})
		down.Go(func() error {
			select {
			case <-ctx.Done():
				return shutDown(s)
			case <-ended:
				return nil
			}
		})
		err := s.Serve(l)
		close(ended)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		} else {
			err = fmt.Errorf("serve: %w", err)
		}
		return errors.Join(err, down.Wait())
	}
}

// drain waits for the goroutines of requests that were cut, so that none of them outlives the data.
func (n *Node) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := n.Front.Drain(ctx); err != nil {
		return fmt.Errorf("requests are still served %v after they were cut", drainTimeout)
	}
	return nil
}

func shutDown(s *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close() // what is left has sent no request, or does not read the answer
	}
	return err
}

// adminServer makes the HTTP server of the private listener.
func (n *Node) adminServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: n.faults.Handler("a request of the operator", h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug),
	}
}
