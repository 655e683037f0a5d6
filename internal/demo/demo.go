package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/progress"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/relaysync"
)

// Config says where and for whom the demo is shown.
type Config struct {
	Out     io.Writer        // gets the text
	Screen  *progress.Screen // draws bars; nil where nobody watches: then the demo is quicker and prints lines instead
	Stay    bool             // go on until ctx ends
	Logger  *slog.Logger
	Version string
}

// Run shows the demo until it is over or ctx ends, which is no error. It leaves nothing behind.
func Run(ctx context.Context, c Config) error {
	dir, err := os.MkdirTemp("", "graspd-demo-")
	if err != nil {
		return err
	}
	d := &show{Config: c, dir: dir}
	err = d.run(ctx)
	d.Screen.Clear()
	return errors.Join(err, os.RemoveAll(dir))
}

// show is one demo: the relay called yours fills from the others.
type show struct {
	Config
	dir string

	bench    bench
	projects []*project
	others   []*neighbour
	address  node.Listeners // of yours
	yours    *node.Node
	written  int      // issues that people have written during the show
	replaced nostr.ID // the state before the push, which relays have to which nobody pushed
}

// run runs the relays and the show until the show is over or ctx ends, which is no error.
func (d *show) run(ctx context.Context) error {
	if err := d.meet(); err != nil {
		return errors.Join(err, d.address.Close(), d.hangUp(), d.closeOthers())
	}
	// The relays outlive the show, which reads their stores.
	nodes, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, failed := errgroup.WithContext(nodes)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(failed, cancel)()
	for _, n := range d.others {
		g.Go(func() error { return n.Run(failed, node.Listeners{Public: n.weather}) })
	}
	g.Go(func() error {
		defer stop()
		err := d.prepare(ctx)
		if err == nil {
			g.Go(func() error { return d.yours.Run(failed, d.address) })
			err = d.play(ctx)
		} else if d.yours == nil {
			err = errors.Join(err, d.address.Close())
		}
		if ctx.Err() != nil && failed.Err() == nil {
			return nil
		}
		return err
	})
	err := g.Wait()
	if d.yours != nil {
		err = errors.Join(err, d.yours.Close())
	}
	return errors.Join(err, d.closeOthers())
}

// meet gives every relay its address, and builds all but yours.
func (d *show) meet() (err error) {
	for _, l := range []*net.Listener{&d.address.Public, &d.address.Admin} {
		if *l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	rates := []int{0, 0, 0}
	if d.Screen != nil {
		rates = []int{30_000, 25_000, 20_000} // slow enough to watch
	}
	for i, name := range []string{"north", "south", "flaky"} {
		n, err := d.neighbour(name, rates[i])
		if err != nil {
			return err
		}
		d.others = append(d.others, n)
	}
	return nil
}

// prepare fills the others, then builds yours, which knows only the first of them.
func (d *show) prepare(ctx context.Context) error {
	fmt.Fprintln(d.Out, "Making some git repositories, with issues and comments about them ...")
	if err := d.fill(ctx); err != nil {
		return err
	}
	// The first connection breaks while yours fetches, the second is refused, the third breaks later.
	d.others[2].weather.expect(fate{after: 8_000}, fate{status: "503 Service Unavailable"}, fate{after: 16_000})
	c, err := d.config("your relay", d.address.Public.Addr())
	if err != nil {
		return err
	}
	c.Sync = &node.Sync{
		Bootstrap: []grasp.RelayURL{d.others[0].Service().RelayURL()}, AllowPrivate: true,
		Engine: relaysync.Config{BatchWindow: 500 * time.Millisecond, Peer: peer.Config{BaseBackoff: 500 * time.Millisecond}},
	}
	c.Git.Sync = &node.GitSync{AllowPrivate: true}
	d.yours, err = node.New(c)
	return err
}

func (d *show) closeOthers() (err error) {
	for _, n := range d.others {
		err = errors.Join(err, n.Close())
	}
	return err
}

// hangUp closes the listeners of the others where they do not run.
func (d *show) hangUp() (err error) {
	for _, n := range d.others {
		err = errors.Join(err, n.weather.Close())
	}
	return err
}
