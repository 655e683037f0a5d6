package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/operate/doctor"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// doctorOptions are the settings of the doctor command.
type doctorOptions struct {
	Config
	publish bool
}

func (o *doctorOptions) settings() []setting {
	return []setting{
		text("domain", "", "the relay's --domain, to compare with what the world reaches", &o.Domain).as("HOST[:PORT]"),
		text("data", "./graspd-data", "the relay's directory, to look at its disk", &o.Data).as("DIR"),
		size("disk-floor", 1<<30, 0, "free disk space below which the relay stores nothing", &o.DiskFloor),
		boolean("git", "true", "look at git too", &o.HostsGit),
		text("git-program", "git", "git, 2.39.5 or newer: a path, or a name on PATH", &o.Git.Program).as("PATH"),
		boolean("publish", "true", "publish a test announcement under a key of its own, and withdraw it", &o.publish),
		configSetting(),
	}
}

// world has what the doctor needs to reach the things that it looks at.
type world struct {
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config
}

func thisWorld() world {
	return world{
		resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		dial: (&net.Dialer{}).DialContext,
	}
}

// doctorCommand looks at a relay and at this machine, and prints what to mend.
func doctorCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o doctorOptions
	rest, problems, err := parse("doctor", o.settings(), args, env)
	if err != nil {
		return err
	}
	at := ""
	switch {
	case len(rest) == 1:
		at = rest[0]
	case len(rest) == 0 && o.Domain != "":
		at = "https://" + o.Domain
	default:
		problems = append(problems, fmt.Sprintf("doctor takes the URL of a relay, such as https://git.example.org, or none beside --domain; got %q", rest))
	}
	var domain grasp.Service
	if o.Domain != "" {
		if domain, err = grasp.ParseService(o.Domain); err != nil {
			problems = append(problems, fmt.Sprintf("--domain: %q is not allowed: %v", o.Domain, err))
		}
	}
	if err := misused(problems); err != nil {
		return err
	}
	worst := doctor.Fine
	report := func(f doctor.Finding) { worst = max(worst, f.Level); printFinding(std.out, f) }
	fmt.Fprintln(std.out, "this machine:")
	examineHere(ctx, &o.Config, report)
	fmt.Fprintf(std.out, "\n%s, as its users see it:\n", at)
	if _, err := doctor.Examine(ctx, thisWorld().examine(at, domain, o.HostsGit, o.publish), report); err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return misused([]string{err.Error()})
	}
	if worst == doctor.Fault {
		return findings{"something has to be mended: see FAIL above"}
	}
	return nil
}

// examine returns what the doctor needs to look at a URL from this machine.
func (w world) examine(at string, domain grasp.Service, git, publish bool) doctor.Config {
	var key nostr.SecretKey
	rand.Read(key[:]) // never fails
	return doctor.Config{URL: at, Domain: domain, Git: git, Publish: publish, Resolve: w.resolve, Dial: w.dial, TLS: w.tls, Now: time.Now, Key: key}
}

// printFinding prints a finding in one line, and the advice indented below.
func printFinding(w io.Writer, f doctor.Finding) {
	fmt.Fprintf(w, "  %-4s  %-12s  %s\n", f.Level, f.What, f.Text)
	if f.Mend != "" {
		for line := range strings.Lines(f.Mend) {
			fmt.Fprintf(w, "                      %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

// checkSoon is how long serve --check waits after the start before it looks at itself.
const checkSoon = 5 * time.Second

// checkOnce waits for soon, and then logs what the doctor finds of this relay. It only warns.
func checkOnce(ctx context.Context, c *Config, w world, service grasp.Service, soon <-chan time.Time, log *slog.Logger) {
	select {
	case <-ctx.Done():
		return
	case <-soon:
	}
	log = log.With("component", "check")
	report := func(f doctor.Finding) {
		switch {
		case f.Level < doctor.Warning:
			log.Debug("the check after the start found no fault", "what", f.What, "found", f.Text)
		default:
			log.Warn("the check after the start found a fault", "what", f.What, "found", f.Text, "mend", strings.ReplaceAll(f.Mend, "\n", " "))
		}
	}
	examineHere(ctx, c, report)
	at := cmp.Or(c.Domain, service.String())
	if !strings.HasPrefix(service.WebURL(), "https://") {
		at = service.WebURL()
	}
	if _, err := doctor.Examine(ctx, w.examine(at, service, c.HostsGit, false), report); err != nil && ctx.Err() == nil {
		log.Warn("the check after the start cannot be made", "error", err)
	}
}
