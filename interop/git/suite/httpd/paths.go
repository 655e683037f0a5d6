package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// owner is whose every repository is.
var owner = nostr.PubKey{1}

// below serves what stands under one of git's prefixes: /smart/<directory>/<what> as /<npub>/<directory in hex>.git/<what>.
func below(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prefix, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		to := *r
		switch prefix {
		case "auth", "auth-push", "auth-fetch", "half-auth-complete":
			if !mayPass(w, r, prefix) {
				return
			}
			rest = strings.TrimPrefix(rest, "smart/")
		case "smart", "one_time_perl":
		case "smart_v0":
			to.Header = r.Header.Clone()
			to.Header.Del("Git-Protocol")
		default:
			http.NotFound(w, r)
			return
		}
		for _, what := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack", "/HEAD"} {
			if dir, is := strings.CutSuffix(rest, what); is {
				to.URL = &url.URL{Path: "/" + nip19.Npub(owner) + "/" + hex.EncodeToString([]byte(dir)) + ".git" + what, RawQuery: r.URL.RawQuery}
				next.ServeHTTP(w, &to)
				return
			}
		}
		http.NotFound(w, r)
	})
}

// mayPass asks for the password of git's tests where they want that.
func mayPass(w http.ResponseWriter, r *http.Request, prefix string) bool {
	push := strings.HasSuffix(r.URL.Path, "/git-receive-pack")
	asks := map[string]bool{
		"auth":               true,
		"auth-push":          push,
		"auth-fetch":         strings.HasSuffix(r.URL.Path, "/git-upload-pack"),
		"half-auth-complete": push || r.URL.Query().Get("service") == "git-receive-pack",
	}
	user, password, _ := r.BasicAuth()
	if !asks[prefix] || user == "user@host" && password == "pass@host" {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="git-auth"`)
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

// directory is that of a repository, below www. One with a work tree is served too.
func (h *host) directory(of nip34.Address) (dir string, found bool) {
	name, err := hex.DecodeString(of.D)
	if err != nil || !filepath.IsLocal(string(name)) {
		return "", false
	}
	for _, rest := range []string{"", "/.git", ".git"} { // as git does
		dir := filepath.Join(h.www, string(name)) + rest
		if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil {
			return dir, true
		}
	}
	return "", false
}

// logged notes requests as Apache does, for the tests that look at which there were.
func logged(to io.Writer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &status{ResponseWriter: w, code: http.StatusOK}
		defer func() {
			fmt.Fprintf(to, "127.0.0.1 - - [%s] \"%s %s %s\" %d 1\n", time.Now().Format("02/Jan/2006:15:04:05 -0700"), r.Method, r.RequestURI, r.Proto, s.code)
		}()
		next.ServeHTTP(s, r)
	})
}

// status notes what was answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) { s.code = code; s.ResponseWriter.WriteHeader(code) }

// Unwrap lets http.ResponseController through.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
