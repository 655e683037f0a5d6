package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// clones measures git clone, of graspd and beside it.
func (x *ground) clones(ctx context.Context) error {
	for _, of := range []struct {
		name  string
		m     *made
		times int
		wall  float64 // bound beside file://
		cpu   float64
	}{
		{"small repository (100 commits)", x.small, x.scaled(25, 2), 1.5, 0},
		{fmt.Sprintf("medium repository (%d commits)", x.scaled(10_000, 120)), x.medium, x.scaled(7, 2), 1.1, 1.1},
	} {
		x.say("clones of a %s", of.name)
		p, err := x.place(ctx, of.m)
		if err != nil {
			return err
		}
		theirs, err := x.backend.add(ctx, of.m, fmt.Sprint("clone-", x.places, ".git"))
		if err != nil {
			return err
		}
		var took [3]struct{ wall, cpu []time.Duration }
		for range of.times { // in turns, so that what else the machine does is the same for all
			for i, url := range []string{p.url, x.backend.file(theirs), theirs} {
				c, err := x.clone(ctx, url)
				if err != nil {
					return err
				}
				took[i].wall, took[i].cpu = append(took[i].wall, c.wall), append(took[i].cpu, c.cpu)
			}
		}
		add := func(what, name string, ours, others []time.Duration, bound float64) {
			a, b := median(ours), median(others)
			l := line{what: "clone of a " + of.name + ", " + what, measured: span(a), against: name + ": " + span(b), ratio: a.Seconds() / b.Seconds()}
			if bound > 0 {
				l = atMost(l, bound)
			}
			x.report.add(l)
		}
		add("wall", "`git clone file://`", took[0].wall, took[1].wall, of.wall)
		add("wall", "http-backend", took[0].wall, took[2].wall, 0)
		add("CPU of both sides", "`git clone file://`", took[0].cpu, took[1].cpu, of.cpu)
		add("CPU of both sides", "http-backend", took[0].cpu, took[2].cpu, 0)
	}
	x.report.note("Clones are medians, made in turns. graspd keeps no packs (`--git-cache 0`), so it makes each anew.")
	return nil
}

// clone has git clone a URL. Its cost has what the server takes.
func (x *ground) clone(ctx context.Context, url string) (cost, error) {
	to := x.path("clone")
	before, others := x.g.tree(), children()
	begun := time.Now()
	_, _, err := git(ctx, x.dir, nil, "clone", "-q", "--bare", url, to)
	took := cost{wall: time.Since(begun)}
	if err != nil {
		return took, err
	}
	x.backend.running.Wait()
	if err := x.g.childless(ctx); err != nil {
		return took, err
	}
	took.cpu = x.g.tree() - before + children() - others
	return took, os.RemoveAll(to)
}
