package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Times of the demo.
const (
	poll     = 100 * time.Millisecond
	patience = 2 * time.Minute // after so long something is wrong
	pause    = time.Second     // between live events, for people who watch
	rest     = 8 * time.Second // between live events after the show, with Stay
	lives    = 6               // live events before the storm
)

// play plays the show. It ends early with ctx.
func (d *show) play(ctx context.Context) error {
	if err := d.greet(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := d.converge(ctx, begun); err != nil {
		return err
	}
	if d.Stay {
		fmt.Fprintf(d.Out, "\nClone one:  git clone %s\n", d.projects[0].url(d.yours))
	}
	fmt.Fprintln(d.Out, "\nPeople write, now here, now there; live subscriptions bring it:")
	for i := range lives {
		if err := d.live(ctx, i); err != nil {
			return err
		}
	}
	if err := d.pushed(ctx); err != nil {
		return err
	}
	if err := d.storm(ctx); err != nil {
		return err
	}
	if !d.Stay {
		return d.conclude(ctx)
	}
	return d.goOn(ctx)
}

func (d *show) greet(ctx context.Context) error {
	now, err := d.look(ctx)
	fmt.Fprintf(d.Out, `
Three relays on this machine host %d git repositories and hold %s events about them. Each repository
is on two, none has all events, and the one called flaky hangs up all the time. Your relay is empty,
nobody pushes to it, and it knows the URL of one of them.

  the operator's page of your relay   http://%s/
  its public page                     http://%s/

`, len(d.projects), digits(now.total), d.address.Admin.Addr(), d.address.Public.Addr())
	return err
}

// converge shows how yours fills, until it has everything and follows every relay live.
func (d *show) converge(ctx context.Context, begun time.Time) error {
	late := time.After(patience)
	told := time.Time{}
	for {
		now, err := d.look(ctx)
		if err != nil {
			return err
		}
		d.Screen.Draw(now.bars()...)
		if d.Screen == nil && time.Since(told) >= time.Second || now.complete() {
			told = time.Now()
			d.tell(now, time.Since(begun))
		}
		if now.complete() {
			fmt.Fprintf(d.Out, "complete: your relay has all %s events, and the %d repositories, after %.1f s\n", digits(now.have), now.hosted, time.Since(begun).Seconds())
			return nil
		}
		select {
		case <-time.After(poll):
		case <-late:
			return fmt.Errorf("your relay is not complete after two minutes: %s", now.line())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell prints the standing: each time as a line where no bars are drawn, else the bars once at the end.
func (d *show) tell(now standing, after time.Duration) {
	if d.Screen == nil {
		fmt.Fprintf(d.Out, "%5.1f s  %s\n", after.Seconds(), now.line())
		return
	}
	if now.complete() {
		d.Screen.Clear()
		for _, l := range now.bars() {
			fmt.Fprintln(d.Out, l)
		}
	}
}

// live brings an issue to one of the others and waits until the live subscription has brought it to yours.
func (d *show) live(ctx context.Context, i int) error {
	n := d.others[i%len(d.others)]
	begun := time.Now()
	e, err := d.write(ctx, n)
	if err != nil {
		return err
	}
	if err := d.arrive(ctx, n, e, begun, "live"); err != nil {
		return err
	}
	return d.pause(ctx, pause)
}

// write has a new person write an issue about one of the projects that a relay hosts, and brings it there.
func (d *show) write(ctx context.Context, n *neighbour) (*nostr.Event, error) {
	of := slices.DeleteFunc(slices.Clone(d.projects), func(p *project) bool { return !slices.Contains(p.on, n) })
	e := of[d.written%len(of)].issue(time.Now().Unix(), subjects[d.written%len(subjects)])
	d.written++
	return e, n.publish(ctx, e)
}

// arrive waits until yours has an event, and prints how long that took.
func (d *show) arrive(ctx context.Context, n *neighbour, e *nostr.Event, begun time.Time, how string) error {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := awaitEvent(patient, d.yours.Store, e.ID); err != nil && ctx.Err() == nil {
		return fmt.Errorf("an issue on %s has not come: %w", n.name, err)
	} else if err != nil {
		return err
	}
	d.arrived(n, e, begun, how)
	return nil
}

func (d *show) arrived(n *neighbour, e *nostr.Event, begun time.Time, how string) {
	subject, _ := e.Tags.First("subject")
	fmt.Fprintf(d.Out, "  %s  %-38q on %-5s  here after %s, %s\n", time.Now().Format("15:04:05"), subject, n.name, brief(time.Since(begun)), how)
}

// pushed has a maintainer push a commit to the first of the others that hosts the shown project, and prints when yours, to which nobody has
// pushed, serves the commit.
func (d *show) pushed(ctx context.Context) error {
	p := d.projects[0]
	fmt.Fprintf(d.Out, "\nA maintainer pushes a commit to %s:\n", p.on[0].name)
	d.replaced = p.signed[len(p.signed)-1].ID
	if err := p.commit(ctx, d.bench); err != nil {
		return err
	}
	begun := time.Now()
	if err := p.push(ctx, d.bench, p.on[0]); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if there, err := p.servedBy(d.yours); err != nil {
			return err
		} else if there {
			break
		}
		select {
		case <-time.After(poll):
		case <-patient.Done():
			return fmt.Errorf("%q was pushed elsewhere and has not come: %w", p.address.D, context.Cause(patient))
		}
	}
	fmt.Fprintf(d.Out, "  git clone %s\n  has it after %s, with what was signed for it\n", p.url(d.yours), brief(time.Since(begun)))
	return nil
}

// storm has flaky hang up, and somebody write there before yours reaches it again.
func (d *show) storm(ctx context.Context) error {
	fmt.Fprintln(d.Out, "\nflaky hangs up, and somebody writes there while nobody listens:")
	flaky := d.others[len(d.others)-1]
	begun := time.Now()
	flaky.weather.storm()
	e, err := d.write(ctx, flaky)
	if err != nil {
		return err
	}
	return d.arrive(ctx, flaky, e, begun, "by catching up")
}

// conclude ends the show without Stay: it fails where yours lacks an event, and clones the first project as onlookers may.
func (d *show) conclude(ctx context.Context) error {
	now, err := d.look(ctx)
	if err != nil {
		return err
	}
	if now.have != now.total {
		return fmt.Errorf("your relay lacks something: %s", now.line())
	}
	p, begun := d.projects[0], time.Now()
	fmt.Fprintf(d.Out, "\nYour relay has all %s events of the three.\n", digits(now.have))
	if err := d.bench.clone(ctx, p.url(d.yours), p.commits, filepath.Join(d.dir, "clone")); err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "git clone %s\n  brings the %d commits that were pushed, after %s\n", p.url(d.yours), len(p.commits), brief(time.Since(begun)))
	return nil
}

// goOn goes on until ctx ends: people write now and then, and flaky asks to be left in peace.
func (d *show) goOn(ctx context.Context) error {
	fmt.Fprintln(d.Out, "\nNow flaky hangs up and answers 429, Too Many Requests.\nIt is left in peace for a minute; the others go on.")
	flaky := d.others[len(d.others)-1]
	begun := time.Now()
	flaky.weather.storm(fate{status: "429 Too Many Requests"})
	missed, err := d.write(ctx, flaky)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := d.live(ctx, i%(len(d.others)-1)); err != nil {
			return err
		}
		if err := d.pause(ctx, rest); err != nil {
			return err
		}
		held, err := heldBy(ctx, d.yours.Store)
		if err != nil {
			return err
		}
		if missed != nil && held[missed.ID] {
			d.arrived(flaky, missed, begun, "as it may be asked again")
			missed = nil
		}
	}
}

// pause waits for a time and draws the bars meanwhile. It does not wait where nobody watches, unless with Stay.
func (d *show) pause(ctx context.Context, t time.Duration) error {
	if d.Screen == nil && !d.Stay {
		return ctx.Err()
	}
	over := time.After(t)
	for {
		now, err := d.look(ctx)
		if err != nil {
			return err
		}
		lines := append([]string{""}, now.bars()...)
		d.Screen.Draw(append(lines, "", fmt.Sprintf("  Look at http://%s/   Ctrl-C ends the demo.", d.address.Admin.Addr()))...)
		select {
		case <-time.After(poll):
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
