package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/logs"
	"github.com/graspd/graspd/internal/operate/progress"
	"github.com/graspd/graspd/internal/operate/signin"
	"github.com/graspd/graspd/internal/operate/systemd"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// serveCommand runs one relay until it is told to stop.
func serveCommand(ctx context.Context, args []string, io stdio, env environment) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from the start on, as an early SIGHUP would end the process
	defer signal.Stop(hangups)
	start, problems, err := loadSettings(args, io, env)
	if err = cmp.Or(err, misused(append(problems, nameless(start.Config, env)...))); err != nil {
		return err
	}
	again := func() (loadedSettings, []string) {
		s, problems, err := loadSettings(args, io, env.reload(args))
		if err != nil {
			problems = append(problems, err.Error())
		}
		return s, problems
	}
	c := start.Config
	service, err := c.service()
	if err != nil {
		return err
	}
	l, err := listen(c)
	if err != nil {
		return err
	}
	if c.Domain == "" { // the system may have chosen the port, or the service manager the address
		c.Listen = l.Public.Addr().String()
		if service, err = c.service(); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	boundGarbage(env)
	screen := screenOf(io.err, c.Quiet || c.LogFormat == logs.JSON)
	log := newLogger(c, above(screen, io.err))
	nc := c.node(service, start.resolved, log)
	nc.Read = time.Now()
	if nc.Bucket, err = openBucket(c.Bucket); err != nil {
		return errors.Join(err, l.Close())
	}
	if nc.Bucket != nil {
		nc.Bucket.Commit = c.BucketCommit
	}
	by := managerOf(log)
	greeted := false
	life := func(ctx context.Context, n *node.Node, l node.Listeners) error {
		if !greeted {
			greet(io.out, c, n, l)
			greeted = true
		} else { // the settings may have changed since the start
			select {
			case hangups <- syscall.SIGHUP:
			default: // one waits already
			}
		}
		reload := func(ctx context.Context) { reloadOn(ctx, start, again, n, hangups, by) }
		return serveOn(ctx, c, n, l, screen, log, by, reload)
	}
	for _, flag := range overruled(start.Config, l) {
		log.Warn("systemd listens at another address than this setting says", "setting", flag)
	}
	for _, u := range start.resolved.bootstrap {
		if service.Is(u) {
			log.Warn("a bootstrap relay is this relay itself, which graspd never asks", "relay", u, "mend", "name another address of the relay that is meant (docs/MOVING.md)")
		}
	}
	if c.ClusterListen != "" {
		return errors.Join(withGitAdvice(serveMember(ctx, nc, c.ClusterListen, l, by, screen, life)), l.Close())
	}
	n, err := newNode(ctx, nc, screen, log)
	if err != nil {
		return errors.Join(withGitAdvice(err), l.Close())
	}
	return errors.Join(life(ctx, n, l), n.Close())
}

// withGitAdvice adds to the error of an unfit git program what else the operator can do.
func withGitAdvice(err error) error {
	if unfit := new(gitproc.UnfitError); errors.As(err, &unfit) {
		return fmt.Errorf("%w, name another one with --git-program, or host no repositories with --git=false", err)
	}
	return err
}

// nameless returns what is to be done where a service manager starts a relay without a name: announcements could not list it.
func nameless(c Config, env environment) []string {
	if c.Domain != "" || env["NOTIFY_SOCKET"] == "" {
		return nil
	}
	return []string{"there is no name under which announcements could list this relay: set GRASPD_DOMAIN in /etc/graspd.env (or domain in the file of GRASPD_CONFIG), then systemctl restart graspd"}
}

// serveOn runs the node and what goes on beside it.
func serveOn(ctx context.Context, c Config, n *node.Node, l node.Listeners, screen *progress.Screen, log *slog.Logger, by manager, reload func(context.Context)) error {
	g, gctx := errgroup.WithContext(ctx)
	if c.ClusterListen == "" { // else there is another node after this one
		g.Go(func() error { by.tellEnd(gctx); return nil })
	}
	l.Public = &served{Listener: l.Public, first: func() { by.notify(systemd.Ready) }}
	g.Go(func() error { reload(gctx); return nil })
	g.Go(func() error { returnMemory(gctx, readMemory, debug.FreeOSMemory); return nil })
	g.Go(func() error { warnNothingHosted(gctx, n); return nil })
	if screen != nil && n.Engine != nil {
		g.Go(func() error { showCatchup(gctx, n, c.SyncBatchWindow, screen); return nil })
	}
	if c.Check {
		g.Go(func() error { checkOnce(gctx, &c, thisWorld(), n.Service(), time.After(checkSoon), log); return nil })
	}
	g.Go(func() error { return n.Run(gctx, l) })
	return g.Wait()
}

// newLogger makes a logger that writes to w, for people or for machines.
func newLogger(c Config, w io.Writer) *slog.Logger {
	return logs.New(w, logs.Config{Level: c.LogLevel, Format: c.LogFormat, Terminal: isTerminal(w)})
}

// greet prints the first lines: where graspd listens, where the data is, what to open in a browser, and what to put into an announcement.
func greet(w io.Writer, c Config, n *node.Node, l node.Listeners) {
	addr := l.Public.Addr()
	fmt.Fprintf(w, "graspd %s listens on ws://%s\n", versionString(), addr)
	fmt.Fprintf(w, "data in %s\n", c.Data)
	fmt.Fprintf(w, "open http://%s in a browser\n", addr)
	if l.Admin != nil && l.Admin.Addr().Network() == "unix" {
		fmt.Fprintf(w, "for the operator: graspd status --admin %s%s\n", unixPrefix, l.Admin.Addr())
	} else if l.Admin != nil {
		fmt.Fprintf(w, "for the operator: open http://%s/\n", l.Admin.Addr())
		fmt.Fprintf(w, "for programs: status at http://%s/status.json\n", l.Admin.Addr())
	}
	if n.Remote() {
		fmt.Fprintf(w, "for the operator elsewhere, who signs in: open %s%s\n", n.Service().WebURL(), signin.Path)
	}
	if c.HostsGit {
		fmt.Fprintf(w, "to host a repository, with ngit (https://ngit.dev), in the repository: ngit init --grasp-server %s --defaults, then git push\n", n.Service().ServerName())
		fmt.Fprintf(w, "everybody clones it from %s/<npub>/<identifier>.git, and ngit from nostr://<npub>/%s/<identifier>\n", n.Service().WebURL(), grasp.Escape(n.Service().ServerName()))
	}
	fmt.Fprintf(w, "to have a repository kept here, add this to the relays tag of its announcement: %s\n", n.Service().RelayURL())
	if c.HostsGit {
		fmt.Fprintf(w, "and this to its clone tag: %s/<npub>/<identifier>.git\n", n.Service().WebURL())
	}
	if c.Private {
		fmt.Fprintln(w, "this service is private: only --members read and publish, and sign what they ask for")
	}
	if n.Nothing() != nil {
		fmt.Fprintln(w, "no repository is kept here yet; graspd status says what other relays announce instead")
	}
}
