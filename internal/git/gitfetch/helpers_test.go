package gitfetch_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// git runs git in dir and gives what it prints.
func git(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, nil, strings.NewReader(stdin), args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(dir string, env []string, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, stdin
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
	}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), nil
}

// repository is a bare one with what a stream for fast-import says.
func repository(t testing.TB, stream string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	git(t, "", "", "init", "-q", "--bare", "-b", "main", dir)
	if stream != "" {
		git(t, dir, stream, "fast-import", "--quiet", "--force")
	}
	return dir
}

// commits writes n commits of a branch, marked from first on, after the one marked from, if that is not 0.
func commits(branch string, first, n, from int) string {
	var b strings.Builder
	for i := range n {
		text := fmt.Sprintf("%s %d", branch, i)
		fmt.Fprintf(&b, "commit %s\nmark :%d\ncommitter a <a@example.org> %d +0000\ndata %d\n%s\n", branch, first+i, 1700000000+i, len(text), text)
		if i == 0 && from != 0 {
			fmt.Fprintf(&b, "from :%d\n", from)
		}
		text = strings.Repeat(text+"\n", 20)
		fmt.Fprintf(&b, "M 644 inline f%d\ndata %d\n%s\n", i%7, len(text), text)
	}
	return b.String()
}

func tag(name string, of int) string {
	return fmt.Sprintf("tag %s\nfrom :%d\ntagger a <a@example.org> 1700000000 +0000\ndata 1\nt\n", name, of)
}

// idOf is the object that a revision names.
func idOf(t testing.TB, dir, rev string) gitwire.ObjectID {
	t.Helper()
	return mustID(t, strings.TrimSpace(git(t, dir, "", "rev-parse", rev)))
}

func mustID(t testing.TB, text string) gitwire.ObjectID {
	t.Helper()
	id, err := gitwire.ParseObjectID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// host serves a repository with git itself, in one version of the protocol at most.
type host struct {
	t       testing.TB
	dir     string
	version int
	config  []string                 // name=value
	refuses func(body string) string // a status or a line instead of a pack; nil, and "": none

	mu    sync.Mutex
	asked []string // method, path and version of each request
	last  string   // body of the last one
	from  map[string]bool
}

func (h *host) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		h.t.Error(err)
	}
	h.mu.Lock()
	h.asked = append(h.asked, q.Method+" "+q.URL.Path+" "+q.Header.Get("Git-Protocol"))
	h.last = string(body)
	if h.from == nil {
		h.from = map[string]bool{}
	}
	h.from[q.RemoteAddr] = true
	h.mu.Unlock()
	for name := range q.Header {
		if slices.Contains([]string{"Cookie", "Authorization", "Referer"}, name) {
			h.t.Errorf("%s is sent", name)
		}
	}
	if got := q.Header.Get("Accept-Encoding"); got != "identity" {
		h.t.Errorf("Accept-Encoding: %s", got)
	}
	env := []string(nil)
	if h.version > 0 {
		env = append(env, fmt.Sprintf("GIT_PROTOCOL=version=%d", h.version))
	}
	var args []string
	for _, c := range h.config {
		args = append(args, "-c", c)
	}
	args = append(args, "upload-pack", "--stateless-rpc")
	var head []byte
	switch q.URL.RequestURI() {
	case "/some/r.git/info/refs?service=git-upload-pack":
		args = append(args, "--http-backend-info-refs")
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		if h.version < 2 {
			head = pktline.AppendFlush(pktline.Append(nil, "# service=git-upload-pack\n"))
		}
	case "/some/r.git/git-upload-pack":
		if got := q.Header.Get("Content-Type"); got != "application/x-git-upload-pack-request" {
			h.t.Errorf("a request of type %q", got)
		}
		if h.refuses != nil && strings.Contains(string(body), "want ") {
			switch no := h.refuses(string(body)); {
			case strings.HasPrefix(no, "ERR"):
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				w.Write(pktline.Append(nil, no))
				return
			case no != "":
				code, _ := strconv.Atoi(no)
				w.WriteHeader(code)
				return
			}
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	default:
		http.NotFound(w, q)
		return
	}
	out, err := tryGit("", env, bytes.NewReader(body), append(args, h.dir)...)
	if err != nil && out == "" {
		h.t.Error(err)
	}
	w.Write(append(head, out...))
}

// serve serves a repository, and gives its URL.
func serve(t testing.TB, dir string, version int, config ...string) (*host, string) {
	t.Helper()
	h := &host{t: t, dir: dir, version: version, config: config}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return h, s.URL + "/some/r.git"
}

func local(b gitfetch.Bounds) *gitfetch.Client {
	return gitfetch.New(gitfetch.Config{Net: publicnet.Config{AllowPrivate: true}, Bounds: b, Agent: "graspd/test"})
}

// into gives packs to git in a repository, and notes for which ids they came.
func into(t testing.TB, dir string, packs *[]string) func(context.Context, []gitwire.ObjectID, io.Reader) error {
	return func(_ context.Context, ids []gitwire.ObjectID, pack io.Reader) error {
		var names []string
		for _, id := range ids {
			names = append(names, id.String())
		}
		slices.Sort(names)
		*packs = append(*packs, strings.Join(names, " "))
		_, err := tryGit(dir, nil, pack, "index-pack", "--stdin", "--fix-thin", "--strict")
		return err
	}
}

// has requires that a repository has an object, and all that it leads to.
func has(t testing.TB, dir string, ids ...gitwire.ObjectID) {
	t.Helper()
	for _, id := range ids {
		git(t, dir, "", "rev-list", "--objects", "--quiet", id.String())
	}
}
