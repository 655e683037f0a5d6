package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// bucketNode is one graspd of those that share the bucket.
type bucketNode struct {
	*process
	way  *way
	data string
}

// nodes share a bucket.
type nodes struct {
	*world
	bucket string // host and port
	delay  time.Duration
	all    []*bucketNode
	made   int // so far
}

// add starts one more on an empty disk, and tells how long it takes until it is ready.
func (x *nodes) add(ctx context.Context) (time.Duration, error) {
	x.made++
	n := &bucketNode{way: newWay(x.bucket), data: x.path(fmt.Sprint("node-", x.made))}
	x.closers = append(x.closers, func() error { n.way.server.Close(); return nil })
	n.way.delay.Store(int64(x.delay))
	x.all = append(x.all, n)
	return x.begin(ctx, n)
}

// begin starts a node on what it has.
func (x *nodes) begin(ctx context.Context, n *bucketNode) (took time.Duration, err error) {
	private, err := freeAddress()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if n.process, err = x.graspd(ctx, n.data, "--git", "--sync=false", "--git-cache", "0", "--bucket", n.way.url, "--cluster-listen", private); err != nil {
		return 0, err
	}
	within, end := patience(ctx)
	defer end()
	for {
		_, status, err := n.get(within, "/readyz")
		if err != nil {
			return 0, err
		}
		if status == http.StatusOK {
			return time.Since(begun), nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// slow has each request to the bucket take so much longer.
func (x *nodes) slow(d time.Duration) {
	x.delay = d
	for _, n := range x.all {
		n.way.delay.Store(int64(d))
	}
}

// parted are the node that leads, and the others. It waits until one leads and all are level.
func (x *nodes) parted(ctx context.Context) (leader *bucketNode, others []*bucketNode, err error) {
	within, end := context.WithTimeoutCause(ctx, time.Minute, errSlow)
	defer end()
	for ; ; time.Sleep(50 * time.Millisecond) {
		if within.Err() != nil {
			return nil, nil, fmt.Errorf("nodes that are level: %w; %v leads, the others are %d", context.Cause(within), leader != nil, len(others))
		}
		leader, others = nil, nil
		level, at := true, uint64(0)
		for i, n := range x.all {
			s, err := n.status(within)
			if err != nil || s.Cluster == nil {
				return nil, nil, errors.Join(err, errors.New("a node does not say how it stands"))
			}
			if i == 0 {
				at = s.Cluster.Position
			}
			level = level && (s.Cluster.Fresh || s.Cluster.Leads) && s.Cluster.Position == at
			if s.Cluster.Leads {
				leader = n
			} else {
				others = append(others, n)
			}
		}
		if level && leader != nil && len(others) == len(x.all)-1 {
			return leader, others, nil
		}
	}
}

// requests are how many the nodes have made to the bucket, and for packs.
func (x *nodes) requests() (all, packs int64) {
	for _, n := range x.all {
		all, packs = all+n.way.all.Load(), packs+n.way.packs.Load()
	}
	return all, packs
}
