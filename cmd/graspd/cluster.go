package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/progress"
)

// cluster returns what is wrong with --cluster-listen.
func (c *Config) cluster() []string {
	if c.ClusterListen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.ClusterListen)
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("--cluster-listen: %q is not allowed: want host:port", c.ClusterListen)}
	case host == "" || ip != nil && ip.IsUnspecified():
		return []string{fmt.Sprintf("--cluster-listen: %q names no host: the other nodes reach this one by it, so name this machine's private address", c.ClusterListen)}
	case c.Bucket == nil:
		return []string{"--cluster-listen: of no use without --bucket, which the nodes share; add that, or leave it out"}
	}
	return nil
}

// serveMember serves as one of the nodes that share a bucket: as a follower, until this one is to lead, and as a follower again once another one does.
// life runs one node after the other, each with listeners of its own on the sockets of l.
func serveMember(ctx context.Context, c node.Config, at string, l node.Listeners, by manager, screen *progress.Screen, life func(context.Context, *node.Node, node.Listeners) error) (err error) {
	private, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("--cluster-listen: %w", err)
	}
	defer func() { err = errors.Join(err, private.Close()) }()
	url, err := clusterURL(at, private)
	if err != nil {
		return err
	}
	p := progress.NewMeter(screen, "filling the data directory from the bucket", "MiB", time.Now)
	defer p.End()
	if err := node.Prepare(ctx, c, showBytes(p)); err != nil {
		return bucketAdvice(err, &c)
	}
	serving, over := context.WithCancel(ctx)
	var told errgroup.Group
	told.Go(func() error { by.tellEnd(serving); return nil })
	defer func() {
		over()
		err = errors.Join(err, told.Wait())
	}()
	for {
		err := serveTerm(ctx, c, url, private, l, p, life)
		if ctx.Err() != nil || !errors.Is(err, store.ErrDeposed) && !errors.Is(err, commitlog.ErrGap) {
			return err
		}
		c.Logger.Warn("this node follows from now on", "error", err)
	}
}

// serveTerm serves as a follower, and then as the one that leads, until another one does.
func serveTerm(ctx context.Context, c node.Config, url string, private net.Listener, l node.Listeners, p *progress.Meter, life func(context.Context, *node.Node, node.Listeners) error) error {
	m, err := node.Join(ctx, c, url)
	if errors.Is(err, commitlog.ErrGap) {
		if err := node.Refill(ctx, c, showBytes(p)); err != nil {
			return err
		}
		m, err = node.Join(ctx, c, url)
	}
	p.End()
	if err != nil {
		return err
	}
	own, err := another(private)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	return m.Serve(ctx, own, func(ctx context.Context, n *node.Node) error {
		var own node.Listeners
		var err error
		if own.Public, err = another(l.Public); err != nil {
			return err
		}
		if l.Admin != nil {
			if own.Admin, err = another(l.Admin); err != nil {
				return errors.Join(err, own.Close())
			}
		}
		return life(ctx, n, own)
	})
}

// clusterURL is by what other nodes reach a listener that was opened at an address.
func clusterURL(at string, l net.Listener) (string, error) {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String()) // the system may have chosen it
	if err != nil {
		return "", err
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// another returns another listener on the same socket, which stays open when that is closed: meanwhile clients wait in the kernel's queue.
func another(l net.Listener) (_ net.Listener, err error) {
	has, ok := l.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("the socket %s cannot be kept", l.Addr())
	}
	f, err := has.File()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return net.FileListener(f)
}
