package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// question is one about refs: how it is asked over HTTP, and how of a process.
type question struct {
	name, method, path, protocol string
	body                         []byte
	args                         []string
}

func questionsOfRefs() []question {
	ls := gitwire.Request{Version: 2, LsRefs: &gitwire.LsRefs{Peel: true, Symrefs: true, Unborn: true, Prefixes: []string{"HEAD", "refs/heads/", "refs/tags/"}}}
	return []question{
		{"`ls-refs`", http.MethodPost, "/git-upload-pack", "version=2", ls.AppendTo(nil), []string{"upload-pack", "--stateless-rpc"}},
		{"advertisement of fetches (v0)", http.MethodGet, "/info/refs?service=git-upload-pack", "", nil, []string{"upload-pack", "--stateless-rpc", "--advertise-refs"}},
		{"advertisement of pushes", http.MethodGet, "/info/refs?service=git-receive-pack", "", nil, []string{"receive-pack", "--stateless-rpc", "--advertise-refs"}},
	}
}

func (q question) ask(ctx context.Context, url string) (int64, error) {
	return q.askInto(ctx, url, io.Discard)
}

func (q question) askInto(ctx context.Context, url string, w io.Writer) (int64, error) {
	kind := ""
	if q.method == http.MethodPost {
		kind = "application/x-git-upload-pack-request"
	}
	a, err := ask(ctx, q.method, url+q.path, kind, q.protocol, q.body)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	return io.Copy(w, a.Body)
}

// refs measures what tells refs.
func (x *ground) refs(ctx context.Context) error {
	x.report.note("Where one client asks and waits, the server's threads sleep and are woken for each answer: that is half of what those rows show. " +
		"net/http alone is a process that answers each request by the bytes that graspd answered, and does nothing else.")
	plain, err := x.newBare(ctx)
	if err != nil {
		return err
	}
	many := *x.small
	many.refs = map[string]gitwire.ObjectID{mainRef: many.main}
	for i := 1; i < 1000; i++ {
		many.refs[fmt.Sprintf("refs/heads/branch-%d", i)] = many.main
	}
	for _, of := range []struct {
		m     *made
		name  string
		bound float64
	}{{x.small, "1 ref", 0.05}, {&many, "1,000 refs", 0.1}} {
		p, err := x.place(ctx, of.m)
		if err != nil {
			return err
		}
		theirs, err := x.backend.add(ctx, of.m, fmt.Sprint("refs-", len(of.m.refs), ".git"))
		if err != nil {
			return err
		}
		var process time.Duration
		for i, q := range questionsOfRefs() {
			x.say("%s, %s", q.name, of.name)
			ours, took, err := x.askedOften(ctx, q, p.url, filepath.Join(x.backend.root, filepath.Base(theirs)))
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			if i == 0 {
				process = took
			}
			l := line{what: fmt.Sprintf("%s, %s: CPU", q.name, of.name), measured: span(ours), against: fmt.Sprintf("`git %s`: %s", q.args[0], span(took)), ratio: ours.Seconds() / took.Seconds()}
			if len(of.m.refs) > 1 {
				x.report.add(atMost(l, 0.1))
				continue
			}
			x.report.add(l)
			least, err := x.askedOfNobody(ctx, q, p.url, plain)
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			x.report.add(atMost(line{what: l.what + " against net/http", measured: l.measured, against: "the same bytes from net/http alone: " + span(least), ratio: ours.Seconds() / least.Seconds()}, mostOfBare))
		}
		ours, err := x.perSecond(ctx, of.name, p.url, theirs)
		if err != nil {
			return err
		}
		x.report.add(atMost(line{what: fmt.Sprintf("`ls-refs`, %s, asked by 4 clients at once: CPU of each", of.name), measured: span(ours),
			against: fmt.Sprintf("`git upload-pack`: %s", span(process)), ratio: ours.Seconds() / process.Seconds()}, of.bound))
	}
	return nil
}

// mostOfBare is how much more than net/http alone an answer to a client that waits may take: to find the repository, and to read what is asked.
const mostOfBare = 2

// again asks a server a question again and again, as one client, and returns what each answer takes it, and how long it is.
func (x *ground) again(ctx context.Context, q question, of *process, url string) (took time.Duration, bytes int64, err error) {
	if _, err := q.ask(ctx, url); err != nil { // before, since the first one may read something
		return 0, 0, err
	}
	n, before := x.scaled(4000, 20), of.tree()
	for range n {
		if bytes, err = q.ask(ctx, url); err != nil {
			return 0, 0, err
		}
	}
	return each(of.tree()-before, n), bytes, nil
}

// askedOfNobody is what the answer of graspd to a question takes net/http alone.
func (x *ground) askedOfNobody(ctx context.Context, q question, url string, plain *bare) (time.Duration, error) {
	var answer bytes.Buffer
	if _, err := q.askInto(ctx, url, &answer); err != nil {
		return 0, err
	}
	if err := plain.tell(ctx, q, &answer); err != nil {
		return 0, err
	}
	took, _, err := x.again(ctx, q, &plain.process, plain.url)
	return max(took, time.Microsecond), err
}

// askedOften is what a question takes graspd, asked again and again by one client, and what it takes a process of git.
func (x *ground) askedOften(ctx context.Context, q question, url, dir string) (ours, theirs time.Duration, err error) {
	processes := x.scaled(100, 3)
	ours, bytesOurs, err := x.again(ctx, q, x.g, url)
	if err != nil {
		return 0, 0, err
	}
	var env []string
	if q.protocol != "" {
		env = append(env, "GIT_PROTOCOL="+q.protocol)
	}
	var bytesTheirs int
	for range processes {
		out, took, err := gitWith(ctx, dir, gitEnv(env...), bytes.NewReader(q.body), append(q.args, ".")...)
		if err != nil {
			return 0, 0, err
		}
		theirs, bytesTheirs = theirs+took.cpu, len(out)
	}
	if int(bytesOurs) < bytesTheirs*9/10 {
		return 0, 0, fmt.Errorf("graspd tells %d bytes, git %d", bytesOurs, bytesTheirs)
	}
	return ours, each(theirs, processes), nil
}

// perSecond is how often ls-refs is answered to a few clients at once. It returns the CPU that one answer of graspd takes then.
func (x *ground) perSecond(ctx context.Context, name, ours, theirs string) (time.Duration, error) {
	q := questionsOfRefs()[0]
	rates := [2]float64{}
	var took time.Duration
	for i, url := range []string{ours, theirs} {
		const clients = 4
		lasts := time.Duration(x.scaled(4000, 50)) * time.Millisecond
		var n atomic.Int64
		var asking sync.WaitGroup
		var failed atomic.Value
		begun, before := time.Now(), x.g.tree()
		for range clients {
			asking.Go(func() {
				for time.Since(begun) < lasts && failed.Load() == nil {
					if _, err := q.ask(ctx, url); err != nil {
						failed.Store(err)
					}
					n.Add(1)
				}
			})
		}
		asking.Wait()
		if err, is := failed.Load().(error); is {
			return 0, err
		}
		rates[i] = float64(n.Load()) / time.Since(begun).Seconds()
		if url == ours {
			took = each(x.g.tree()-before, int(n.Load()))
		}
	}
	ratio := rates[0] / rates[1]
	x.report.add(line{what: fmt.Sprintf("`ls-refs`, %s, asked by 4 clients at once", name), measured: figures(rates[0]) + " requests/s",
		against: "http-backend: " + figures(rates[1]) + " requests/s", ratio: ratio, target: "≥ 30", met: ratio >= 30})
	return took, nil
}
