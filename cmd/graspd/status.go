package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/operate/statustext"
)

// statusTimeout bounds one request; mostStatus what is read of an answer (bytes).
const (
	statusTimeout = 15 * time.Second
	mostStatus    = 64 << 20
)

// statusOptions are the settings of the status command.
type statusOptions struct {
	listener
	json, watch bool
	repos       bool   // by repository
	refused     bool   // list what was not taken
	health      bool   // ask only whether the relay does its work
	retry       string // a relay to connect to at once
	against     string // a relay to compare with
	every       time.Duration
	wide        bool // whole lines, whatever the terminal's width
	width       int  // of tables, in characters; 0 is any
	part
}

// part says which part of a long list is shown.
type part struct {
	find, state string
	most, page  int
}

// mostShown is how many relays or repositories status prints at once, the worst first.
const mostShown = 20

// query returns the query of the URL that asks for the part: the worst first and at most mostShown, but for a document in its own order and
// as many as fit the search.
func (p part) query(document bool) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": p.find, "state": p.state} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if p.page > 1 {
		q.Set("page", strconv.Itoa(p.page))
	}
	if p.most > 0 || !document {
		q.Set("most", strconv.Itoa(cmp.Or(p.most, mostShown)))
	}
	if !document {
		q.Set("order", "worst")
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// more says how many of those that fit the search are not shown; "" where all are.
func (p part) more(shown, matching int, what string) string {
	rest := matching - (p.page-1)*cmp.Or(p.most, mostShown) - shown
	if shown == 0 || rest <= 0 {
		return ""
	}
	return fmt.Sprintf("\nand %d more %s: --page %d shows the next, --most more at once; --find and --state choose\n", rest, what, p.page+1)
}

func (o *statusOptions) settings(env environment) []setting {
	return append(o.listener.settings(env), []setting{
		boolean("json", "false", "print status.json as it is", &o.json),
		boolean("repositories", "false", "show how complete each repository is, and what each relay lacks of it; with --json print repositories.json", &o.repos),
		boolean("refused", "false", "list the last 100 events that the relay did not take, with who, what and why; with --json print refused.json", &o.refused),
		boolean("watch", "false", "print it again and again, until Ctrl-C", &o.watch),
		boolean("health", "false", "ask only whether the relay does its work: for a container's health check", &o.health),
		text("retry", "", "connect at once to the relay with this URL, whatever its failures", &o.retry).as("URL"),
		text("against", "", "compare this relay with the one at this URL, repository by repository: events by kind, refs, pull requests; exit code 0 where nothing is missing here; with --json print all of it", &o.against).as("URL"),
		boolean("wide", "false", "show whole lines on a narrow terminal; where the output is no terminal, lines are whole anyway", &o.wide),
		text("find", "", "show only relays or repositories with this in their name", &o.find).as("WORDS"),
		text("state", "", "show only relays or repositories in this state, as the operator's page calls it", &o.state).as("STATE"),
		number("most", 0, 0, 1000, "show so many at most, the worst first; 0 = 20, and all with --json", &o.most),
		number("page", 1, 1, 1_000_000, "which part to show, where there are more", &o.page),
		duration("interval", 2*time.Second, 100*time.Millisecond, "time between two looks with --watch", &o.every),
	}...)
}

// statusCommand prints the state of a running relay.
func statusCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o statusOptions
	problems, err := parseAlone("status", "", o.settings(env), args, env)
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	switch {
	case o.health:
		return o.printLine(soon, std.out, http.MethodGet, "/healthz", nil)
	case o.retry != "":
		return o.printLine(soon, std.out, http.MethodPost, "/retry", url.Values{"url": {o.retry}})
	case o.refused && o.json:
		return o.printDocument(ctx, std.out, "/refused.json")
	case o.refused:
		var r admin.Refusals
		if _, err := o.read(ctx, "/refused.json", &r); err != nil {
			return err
		}
		return statustext.WriteRefused(std.out, r.Refused, o.room(std.out))
	case o.against != "":
		return o.compare(ctx, std.out)
	case !o.watch:
		o.width = o.room(std.out)
		return o.show(ctx, std.out)
	}
	return o.follow(ctx, std.out)
}

// room returns how many characters a line may have; 0 for any number.
func (o statusOptions) room(out io.Writer) int {
	if o.wide {
		return 0
	}
	return tableWidth(out)
}

// follow prints the state again and again until ctx ends. It prints an error in place of the state, and goes on.
func (o statusOptions) follow(ctx context.Context, out io.Writer) error {
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		var page strings.Builder
		o.width = o.room(out)
		err := o.show(ctx, &page)
		if ctx.Err() != nil {
			return nil
		}
		if isTerminal(out) {
			fmt.Fprint(out, clearScreen)
		}
		fmt.Fprint(out, page.String())
		if err != nil {
			fmt.Fprintln(out, err)
		}
		if !o.json {
			fmt.Fprintln(out)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// clearScreen empties a terminal and puts the cursor at its upper left.
const clearScreen = "\x1b[H\x1b[2J"

// show prints the state once, and fails with the relay's problems where it has any.
func (o statusOptions) show(ctx context.Context, out io.Writer) error {
	err := o.print(ctx, out)
	if err != nil {
		return err
	}
	var p admin.Problems
	if _, err = o.read(ctx, "/problems.json", &p); err != nil {
		return err
	}
	if len(p.Problems) > 0 {
		return findings(p.Problems)
	}
	return nil
}

// print prints the relays or the repositories.
func (o statusOptions) print(ctx context.Context, out io.Writer) error {
	var s admin.Status
	var r admin.Repositories
	path, to := "/status.json", any(&s)
	if o.repos {
		path, to = "/repositories.json", &r
	}
	text, err := o.read(ctx, path+o.query(o.json), to)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		_, err = out.Write(text)
	case o.repos:
		if err = statustext.WriteRepositories(out, r, o.width); err == nil {
			_, err = io.WriteString(out, o.more(len(r.Repositories), r.Matching, "repositories"))
		}
	default:
		if err = statustext.Write(out, s, time.Now(), o.width); err == nil {
			_, err = io.WriteString(out, o.more(len(s.Sync.Relays), s.Sync.Matching, "relays"))
		}
	}
	if err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	return nil
}

// read reads a document of the private listener and decodes it; it also returns the text.
func (o statusOptions) read(ctx context.Context, path string, to any) ([]byte, error) {
	text, err := o.get(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return nil, fmt.Errorf("%s%s: %w", o.base, path, err)
	}
	return text, nil
}

// compareTimeout bounds how long the relay may take to compare itself with another one.
const compareTimeout = 31 * time.Minute

// compare has the relay compare itself with another one, and prints what it found. What is missing, or cannot be read, is an error.
func (o statusOptions) compare(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	at := o.listener
	at.keyless = true
	code, b, err := at.get(ctx, http.MethodPost, "/against", []byte(url.Values{"url": {o.against}}.Encode()))
	switch {
	case err != nil:
		return err
	case code == http.StatusBadRequest:
		return misused([]string{strings.TrimSpace(string(b))})
	case code != http.StatusOK:
		return fmt.Errorf("status: %s", strings.TrimSpace(string(b)))
	}
	var r against.Report
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("status: the comparison: %w", err)
	}
	if o.json {
		_, err = out.Write(b)
	} else {
		err = statustext.WriteAgainst(out, r, o.room(out))
	}
	if err == nil && r.Missing+r.Unread > 0 {
		err = findings{fmt.Sprintf("%s are missing here, and the git data of %s could not be read there",
			safetext.Number(r.Missing, "event or ref", "events and refs"), safetext.Number(r.Unread, "repository", "repositories"))}
	}
	return err
}

// get reads one page of the private listener. An answer other than 200 is an error.
func (o statusOptions) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	code, b, err := o.listener.get(ctx, http.MethodGet, path, nil)
	if err == nil && code == http.StatusBadRequest {
		return nil, misused([]string{strings.TrimSpace(string(b))})
	}
	if err == nil && code != http.StatusOK {
		return nil, fmt.Errorf("%s%s: HTTP status %d; is this the private listener of a graspd?", o.base, path, code)
	}
	return b, err
}
