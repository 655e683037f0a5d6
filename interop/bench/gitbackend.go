package main

import (
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// backend is git's own server, git http-backend, a process of which this one starts for each request.
type backend struct {
	root    string
	server  *httptest.Server
	running sync.WaitGroup
}

func (w *world) newBackend(ctx context.Context) (*backend, error) {
	programs, _, err := git(ctx, w.dir, nil, "--exec-path")
	if err != nil {
		return nil, err
	}
	b := &backend{root: w.path("backend")}
	h := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(programs), "git-http-backend"), Dir: w.dir,
		Env: gitEnv("GIT_PROJECT_ROOT="+b.root, "GIT_HTTP_EXPORT_ALL=1")}
	b.server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		b.running.Add(1)
		defer b.running.Done()
		h.ServeHTTP(out, r)
	}))
	w.closers = append(w.closers, func() error { b.server.Close(); return nil })
	return b, os.MkdirAll(b.root, 0o750)
}

// add has it serve a copy of a repository, of what graspd has of it at first, and returns its URL.
func (b *backend) add(ctx context.Context, m *made, name string) (string, error) {
	dir := filepath.Join(b.root, name)
	pack, err := m.packOf(ctx, m.main, zeroID)
	if err != nil {
		return "", err
	}
	refs := "create " + strings.Join(refLines(m.refs), "\ncreate ") + "\n"
	for _, x := range []struct {
		in   string
		args []string
	}{
		{"", []string{"init", "-q", "--bare", "-b", "main", dir}},
		{string(pack), []string{"-C", dir, "index-pack", "--stdin"}},
		{refs, []string{"-C", dir, "update-ref", "--stdin"}},
		{"", []string{"-C", dir, "pack-refs", "--all"}},
		{"", []string{"-C", dir, "config", "http.receivepack", "true"}},
		{"", []string{"-C", dir, "config", "receive.fsckObjects", "true"}},
		{"", []string{"-C", dir, "config", "receive.autogc", "false"}},
	} {
		if _, _, err := git(ctx, b.root, strings.NewReader(x.in), x.args...); err != nil {
			return "", err
		}
	}
	hook := filepath.Join(dir, "hooks", "pre-receive")
	if err := os.MkdirAll(filepath.Dir(hook), 0o750); err != nil {
		return "", err
	}
	return b.server.URL + "/" + name, os.WriteFile(hook, []byte("#!/bin/sh\nexit 0\n"), 0o700)
}

// file is the URL of the same repository without a server.
func (b *backend) file(url string) string {
	return "file://" + b.root + strings.TrimPrefix(url, b.server.URL)
}
