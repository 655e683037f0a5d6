package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Targets of pages: half of them have their first byte within, and none has more bytes.
const (
	coldWithin = 300 * time.Millisecond
	warmWithin = 50 * time.Millisecond
	pageBytes  = 300_000
)

// asked is a page, and what of git reads the same, with a commit in the place of %s.
type asked struct {
	what, page string
	git        []string
}

var (
	codePages = []asked{
		{"a folder", "/tree/%s/dir-0", []string{"ls-tree", "-l", "%s:dir-0"}},
		{"a file", "/blob/%s/dir-0/file-0", []string{"cat-file", "blob", "%s:dir-0/file-0"}},
		{"a commit", "/commit/%s", []string{"show", "%s"}},
		{"a history", "/commits/%s", []string{"log", "-30", "%s"}},
	}
	widePages = []asked{{"that folder", "/tree/%s/wide", []string{"ls-tree", "-l", "%s:wide"}}}
)

// pages is (l): how long somebody waits for the first byte of a page of files or commits, beside git that reads the same.
func (w *world) pages(ctx context.Context) error {
	w.report.note("One reader on loopback asks for one page after the other, each of another commit, and then for all of them again: nothing of a cold page was made " +
		"before, and a warm one was kept. The time is that until half of the pages have their first byte, and git's is that of a process that reads the same.")
	x := &ground{world: w}
	for _, r := range []struct {
		name string
		of   recipe
	}{
		{fmt.Sprintf("%d commits", w.scaled(85_000, 120)), recipe{commits: w.scaled(85_000, 120)}},
		{fmt.Sprintf("%d files in a folder", w.scaled(20_000, 120)), recipe{commits: 120, wide: w.scaled(20_000, 120)}},
	} {
		if err := x.pagesOf(ctx, r.name, r.of); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// pagesOf measures the pages of a repository.
func (x *ground) pagesOf(ctx context.Context, name string, of recipe) (err error) {
	m, err := x.makeRepository(ctx, fmt.Sprintf("pages-%d", of.wide), of)
	if err != nil {
		return err
	}
	if err := x.open(ctx, x.path(fmt.Sprintf("reading-%d", of.wide)), "--trusted-proxies", "127.0.0.0/8"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.g.stop()) }()
	p, err := x.place(ctx, m)
	if err != nil {
		return err
	}
	if err := x.g.calm(ctx); err != nil {
		return err
	}
	commits, err := m.some(ctx, x.scaled(40, 3))
	if err != nil {
		return err
	}
	x.say("pages of a repository with %s", name)
	r := &reader{}
	kinds := codePages
	if of.wide > 0 {
		kinds = widePages
	}
	for _, k := range kinds {
		var cold, warm, others []time.Duration
		most := int64(0)
		for _, times := range []*[]time.Duration{&cold, &warm} {
			for _, c := range commits {
				took, n, err := r.read(ctx, p.url+fmt.Sprintf(k.page, c))
				if err != nil {
					return err
				}
				*times, most = append(*times, took), max(most, n)
			}
		}
		for _, c := range commits {
			args := slices.Clone(k.git)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "%s", c.String())
			}
			_, took, err := git(ctx, m.dir, nil, args...)
			if err != nil {
				return err
			}
			others = append(others, took.wall)
		}
		what, beside := fmt.Sprintf("%s (%s)", k.what, name), "`git "+k.git[0]+"`: "+span(median(others))
		x.report.add(within(line{what: what + ", cold", measured: span(median(cold)), against: beside, ratio: median(cold).Seconds() / median(others).Seconds()}, median(cold), coldWithin))
		x.report.add(within(line{what: what + ", warm", measured: span(median(warm)), against: beside, ratio: median(warm).Seconds() / median(others).Seconds()}, median(warm), warmWithin))
		x.report.add(line{what: what + ": the largest page", measured: size(most), target: "≤ " + size(pageBytes), met: most <= pageBytes})
	}
	return nil
}

// within is a line of a time that has a bound.
func within(l line, took, bound time.Duration) line {
	l.target, l.met = "≤ "+span(bound), took <= bound
	return l
}

// some are so many commits of main, from the oldest to the newest, as far apart as they can be. All have what the first one has.
func (m *made) some(ctx context.Context, n int) (ids []gitwire.ObjectID, err error) {
	out, _, err := git(ctx, m.dir, nil, "rev-list", "--reverse", mainRef)
	if err != nil {
		return nil, err
	}
	all := strings.Fields(out)
	for i := range n {
		id, err := gitwire.ParseObjectID(all[i*(len(all)-1)/max(n-1, 1)])
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// reader reads pages, each as from an address of its own, so that no address has had its share.
type reader struct{ asked int }

// read reads a page: how long its first byte took, and how many bytes it has.
func (r *reader) read(ctx context.Context, url string) (first time.Duration, n int64, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, 0, err
	}
	r.asked++
	q.Header.Set("X-Forwarded-For", fmt.Sprintf("198.%d.%d.1", 18+r.asked/256%2, r.asked%256))
	q.Header.Set("Accept", "text/html")
	begun := time.Now()
	a, err := manyConns.Do(q)
	if err != nil {
		return 0, 0, err
	}
	first = time.Since(begun)
	n, err = io.Copy(io.Discard, a.Body)
	if err = errors.Join(err, a.Body.Close()); err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, a.Status)
	}
	return first, n, err
}
