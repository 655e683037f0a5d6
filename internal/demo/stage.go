package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
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
	d.greet()
	begun := time.Now()
	if err := d.converge(ctx, begun); err != nil {
		return err
	}
	if d.Stay {
		fmt.Fprintf(d.Out, "\nClone one:  git clone %s\n", d.shown().url(d.yours))
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

func (d *show) greet() {
	fmt.Fprintf(d.Out, `
Three relays on this machine host %d git repositories and hold %s events about them. Each repository
is on two, none has all events, and the one called flaky hangs up all the time. Your relay is empty,
nobody pushes to it, and it knows the URL of one of them.

  the operator's page of your relay   http://%s/
  its public page                     http://%s/

`, len(d.projects), digits(d.total), d.address.Admin.Addr(), d.address.Public.Addr())
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

// subjects has the subjects of issues and commits.
var subjects = []string{
	"Crash when the remote has no HEAD", "Typo in the manual", "Could the log be shorter?", "Tests fail on big-endian machines",
	"A clone over a slow line never ends", "Please tag a release", "Paths with spaces are cut", "Say which key was refused",
}

// issue makes an issue about one of the repositories that a relay carries, by a new person.
func (d *show) issue(ctx context.Context, n *neighbour) (*nostr.Event, error) {
	v := n.Store.View()
	defer v.Close()
	var about []*nostr.Event
	for row, err := range v.Query(ctx, nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}, Limit: new(20)}) {
		if err != nil {
			return nil, err
		}
		ann, err := row.Event()
		if err != nil {
			return nil, err
		}
		about = append(about, ann)
	}
	if len(about) == 0 {
		return nil, fmt.Errorf("%s carries no repository to write about", n.name)
	}
	ann := about[d.written%len(about)]
	subject := subjects[d.written%len(subjects)]
	d.written++
	return signed(&nostr.Event{
		CreatedAt: time.Now().Unix(), Kind: nip34.KindIssue, Content: "The demo says hello.",
		Tags: nostr.Tags{{"a", ann.Address()}, {"p", ann.PubKey.String()}, {"subject", subject}},
	})
}

// live publishes an issue on one of the others and waits until the live subscription has brought it to yours.
func (d *show) live(ctx context.Context, i int) error {
	n := d.others[i%len(d.others)]
	e, err := d.issue(ctx, n)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := publish(ctx, n.Service().RelayURL(), e); err != nil {
		return err
	}
	if err := d.arrive(ctx, n, e, begun, "live"); err != nil {
		return err
	}
	return d.pause(ctx, pause)
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
	n.holds = append(n.holds, e.ID)
	d.total++
	subject := e.Tags[len(e.Tags)-1][1]
	fmt.Fprintf(d.Out, "  %s  %-38q on %-5s  here after %s, %s\n", time.Now().Format("15:04:05"), subject, n.name, brief(time.Since(begun)), how)
}

// storm has flaky hang up, and somebody write there before yours reaches it again.
func (d *show) storm(ctx context.Context) error {
	fmt.Fprintln(d.Out, "\nflaky hangs up, and somebody writes there while nobody listens:")
	flaky := d.others[len(d.others)-1]
	begun := time.Now()
	e, err := d.cutOff(ctx, flaky)
	if err != nil {
		return err
	}
	return d.arrive(ctx, flaky, e, begun, "by catching up")
}

// cutOff cuts a relay's connections and brings an event to it, which it returns. The next connections get the fates next.
func (d *show) cutOff(ctx context.Context, n *neighbour, next ...fate) (*nostr.Event, error) {
	e, err := d.issue(ctx, n)
	if err != nil {
		return nil, err
	}
	n.weather.storm(next...)
	return e, load(ctx, n.Door, []*nostr.Event{e})
}

// conclude ends the show without Stay: it fails where yours lacks an event, and clones the shown project.
func (d *show) conclude(ctx context.Context) error {
	now, err := d.look(ctx)
	if err != nil {
		return err
	}
	if now.have != now.total {
		return fmt.Errorf("your relay lacks something: %s", now.line())
	}
	fmt.Fprintf(d.Out, "\nYour relay has all %s events of the three.\n", digits(now.have))
	return d.clone(ctx)
}

// goOn goes on until ctx ends: people write now and then, and flaky asks to be left in peace.
func (d *show) goOn(ctx context.Context) error {
	fmt.Fprintln(d.Out, "\nNow flaky hangs up and answers 429, Too Many Requests.\nIt is left in peace for a minute; the others go on.")
	flaky := d.others[len(d.others)-1]
	begun := time.Now()
	missed, err := d.cutOff(ctx, flaky, fate{status: "429 Too Many Requests"})
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
