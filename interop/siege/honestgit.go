package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/interop/wire"
)

// contributor is an honest client of git, with a repository of a hundred commits. It pushes and clones from addresses of its own.
type contributor struct {
	place          *place
	pusher, cloner *caller
	reader         *caller // of the repository's page
	line           *line   // on which its states are published
	tip            gitwire.ObjectID
	number         int64
}

func newContributor(ctx context.Context, url string) (*contributor, error) {
	c := &contributor{
		place: newPlace("contributor", "small"), pusher: newCaller(url, on(honestNet, 1), nil), cloner: newCaller(url, on(honestNet, 2), nil),
		reader: newCaller(url, on(honestNet, 3), nil),
		line:   &line{url: url, from: on(honestNet, 1)},
	}
	if err := c.line.up(ctx); err != nil {
		return nil, err
	}
	if ok, err := publish(ctx, c.line.c, c.place.announcement()); !ok || err != nil {
		return nil, fmt.Errorf("the contributor's repository is not taken: %w", err)
	}
	p := &pack{}
	for range 100 {
		c.commit(p)
	}
	return c, c.send(ctx, c.line.c, gitwire.ObjectID{}, p)
}

// commit adds the next commit to a pack: a file of some lines has changed.
func (c *contributor) commit(p *pack) {
	c.number++
	file := blob(fmt.Sprintf("line one\nline two\nthis is version %d of the file\n", c.number))
	dir := tree(file.sum(), "a", "b", "c", "d", "e")
	var parents []gitwire.ObjectID
	if !c.tip.IsZero() {
		parents = append(parents, c.tip)
	}
	next := commit(dir.id(), c.number, parents...)
	for _, o := range []object{file, dir, next} {
		p.add(o.sort, nil, o.body)
	}
	c.tip = next.id()
}

// send publishes the state and pushes a pack for it.
func (c *contributor) send(ctx context.Context, relay *wire.Client, old gitwire.ObjectID, p *pack) error {
	main := ref{mainRef, c.tip}
	if ok, err := publish(ctx, relay, c.place.state(main)); !ok || err != nil {
		return fmt.Errorf("a state is not taken: %w", err)
	}
	return c.pusher.push(ctx, c.place, pushBody(old, p.end(), main))
}

// push is that of one commit, with the state that it is for.
func (c *contributor) push(ctx context.Context, relay *wire.Client) error {
	before, number := c.tip, c.number
	p := &pack{}
	c.commit(p)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.send(ctx, relay, before, p)
	if err != nil {
		c.tip, c.number = before, number
	}
	return err
}

// clone is that of all there is, whatever is pushed meanwhile.
func (c *contributor) clone(ctx context.Context, first gitwire.ObjectID) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.cloner.clone(ctx, c.place, first)
}

// watch pushes, clones and reads the page until asking ends.
func (c *contributor) watch(asking, waiting context.Context, w *watched) {
	var clones, pushes, pages sample
	var beside sync.WaitGroup
	tip := c.tip
	beside.Go(func() { clones = repeat(asking, beat, func() error { return c.clone(waiting, tip) }) })
	beside.Go(func() { pages = repeat(asking, beat, func() error { return c.reader.page(waiting, c.place.path) }) })
	pushes = c.line.repeat(asking, waiting, beat, c.push)
	beside.Wait()
	w.clone, w.push, w.page = clones, pushes, pages
}
