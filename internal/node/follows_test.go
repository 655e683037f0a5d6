package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// shared is a bucket that several nodes share.
type shared struct {
	*testing.T
	memory *objecttest.Memory

	mu      sync.Mutex
	fetched []string // objects of packs that somebody asked for
}

func newShared(t *testing.T) *shared {
	s := &shared{T: t, memory: new(objecttest.Memory)}
	s.memory.Fault = func(r objecttest.Request) (f objecttest.Fault) {
		if r.Op == "get" && strings.HasPrefix(r.Name, refdb.ObjectPrefix) && strings.HasSuffix(r.Name, ".pack") {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.fetched = append(s.fetched, r.Name)
		}
		return f
	}
	return s
}

// packs returns how many packs were asked for since the last call.
func (s *shared) packs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.fetched = nil }()
	return len(s.fetched)
}

// joined is a node among those that share a bucket, in a process of its own as it were.
type joined struct {
	*shared
	dir   string
	runs  chan *node.Node // the nodes that run, one after the other
	url   string          // of the one that runs
	admin string          // and of its private listener
	stop  func()          // ends it, and has it hand over
	node  *node.Node
	at    chan string
}

func (s *shared) join(dir string, change func(*node.Config)) *joined {
	s.Helper()
	c := node.Config{Dir: dir, Service: service(s.T), Git: &node.Git{}, Bucket: &node.Bucket{Objects: objects.Watch(s.memory), Name: "b"}, Store: store.Options{Floor: 1, InodeFloor: 1}}
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := node.Prepare(ctx, c, nil); err != nil {
		s.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	m, err := node.Join(ctx, c, "http://"+l.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	j := &joined{shared: s, dir: dir, runs: make(chan *node.Node, 10), at: make(chan string, 10)}
	ended := make(chan error, 1)
	go func() {
		ended <- m.Serve(ctx, l, func(ctx context.Context, n *node.Node) error {
			public, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			admin, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return errors.Join(err, public.Close())
			}
			j.runs <- n
			j.at <- "http://" + public.Addr().String()
			j.at <- "http://" + admin.Addr().String()
			return n.Run(ctx, node.Listeners{Public: public, Admin: admin})
		})
	}()
	j.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	s.Cleanup(j.stop)
	j.next()
	return j
}

// next waits for the next node of the process.
func (j *joined) next() {
	j.Helper()
	select {
	case j.node = <-j.runs:
		j.url, j.admin = <-j.at, <-j.at
	case <-time.After(time.Minute):
		j.Fatal("no node runs")
	}
}

// publish has the node that leads take an event.
func (j *joined) publish(e *nostr.Event) {
	j.Helper()
	source := j.node.Door.Source(ingest.SourceConfig{Label: "test"})
	defer source.Close()
	done := make(chan policy.Verdict, 1)
	if err := source.Submit(j.Context(), e, store.Catchup, func(v policy.Verdict) { done <- v }); err != nil {
		j.Fatal(err)
	}
	if v := <-done; !v.OK() {
		j.Fatalf("kind %d: %+v", e.Kind, v)
	}
}

// tool is a repository, with a clone in which its owner works.
type tool struct {
	*shared
	d    string
	path string
	dir  string
	at   int64
}

func (j *joined) announce(d string) *tool {
	j.Helper()
	owner := testkit.Key(member)
	r := &tool{shared: j.shared, d: d, dir: j.TempDir(), path: "/" + nip19.Npub(owner.PubKey()) + "/" + d + ".git", at: time.Now().Unix() - 1000}
	j.publish(testkit.Sign(owner, r.at, nip34.KindRepository, "", nostr.Tag{"d", d}, nostr.Tag{"description", words}, nostr.Tag{"clone", "https://" + private + r.path}, nostr.Tag{"relays", "wss://" + private}))
	r.git(r.dir, "init", "-q", "-b", "main")
	return r
}

func (s *shared) tries(dir string, args ...string) (string, error) {
	c := exec.CommandContext(s.Context(), "git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "LC_ALL=C")
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (s *shared) git(dir string, args ...string) string {
	s.Helper()
	out, err := s.tries(dir, args...)
	if err != nil {
		s.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// push brings another commit, with so many bytes that no packing makes smaller, to the node that leads.
func (r *tool) push(to *joined, bytes int) (tip string) {
	r.Helper()
	r.at++
	b := make([]byte, bytes)
	f, err := os.Open("/dev/urandom")
	if err == nil {
		_, err = io.ReadFull(f, b)
		err = errors.Join(err, f.Close())
	}
	if err := errors.Join(err, os.WriteFile(filepath.Join(r.dir, "README.md"), fmt.Appendf(nil, "# Commit %d", r.at), 0o600), os.WriteFile(filepath.Join(r.dir, "large"), b, 0o600)); err != nil {
		r.Fatal(err)
	}
	r.git(r.dir, "add", ".")
	r.git(r.dir, "commit", "-q", "-m", fmt.Sprint("commit ", r.at))
	tip = r.git(r.dir, "rev-parse", "HEAD")
	to.publish(testkit.Sign(testkit.Key(member), r.at, nip34.KindState, "", nostr.Tag{"d", r.d}, nostr.Tag{"HEAD", "ref: refs/heads/main"}, nostr.Tag{"refs/heads/main", tip}))
	r.git(r.dir, "push", "-q", to.url+r.path, "main")
	return tip
}

// clones clones a repository, by each protocol, once the node has the commit.
func (j *joined) clones(r *tool, tip string) {
	j.Helper()
	j.eventually("the node has the last commit", func() bool {
		out, err := j.tries(j.dir, "ls-remote", j.url+r.path, "refs/heads/main")
		return err == nil && strings.HasPrefix(out, tip)
	})
	for _, version := range []string{"0", "2"} {
		dir := j.TempDir()
		j.git(dir, "-c", "protocol.version="+version, "clone", "-q", j.url+r.path, "x")
		if got := j.git(filepath.Join(dir, "x"), "rev-parse", "HEAD"); got != tip {
			j.Errorf("a clone by version %s has %s, not %s", version, got, tip)
		}
		j.git(filepath.Join(dir, "x"), "fsck", "--full")
	}
}

func (s *shared) eventually(what string, is func() bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal("it never came to be that ", what)
		}
	}
}

// get asks as a browser does.
func (j *joined) get(path string) (int, string) {
	j.Helper()
	return j.ask(j.url + path)
}

func (j *joined) ask(url string) (int, string) {
	j.Helper()
	q, err := http.NewRequestWithContext(j.Context(), http.MethodGet, url, nil)
	if err != nil {
		j.Fatal(err)
	}
	q.Header.Set("Accept", "text/html")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, err.Error()
	}
	return a.StatusCode, string(b)
}

// files are the files of packs on the node's disk.
func (j *joined) files(kind string) []string {
	j.Helper()
	names, err := filepath.Glob(filepath.Join(node.GitIn(j.dir), "??/??/*/objects/pack/*"+kind))
	if err != nil {
		j.Fatal(err)
	}
	return names
}

// TestGitWhereAnotherNodeWrites: a node that follows serves clones, fetches, archives and pages of what was pushed to the one that leads, also once packs
// were combined there, and takes no push. Packs that were combined go from its disk. It leads when the other one goes, and none of that has a node fetch
// packs that it has.
func TestGitWhereAnotherNodeWrites(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	one := s.join(t.TempDir(), nil)
	one.next() // it leads
	two := s.join(t.TempDir(), nil)
	r := one.announce("tool")
	var tip string
	for range 3 {
		tip = r.push(one, 100)
	}
	if got := len(two.files(".pack")); got > 0 || s.packs() > 0 {
		t.Errorf("%d packs come before anybody reads them", got)
	}
	s.eventually("indexes come", func() bool { return len(two.files(".idx")) == 3 })
	two.clones(r, tip)
	if got := s.packs(); got != 3 {
		t.Errorf("%d packs were fetched", got)
	}
	for path, shows := range map[string]string{r.path: words, r.path + "/tree/refs/heads/main": "README.md", r.path + "/commits/refs/heads/main": "commit ", "/": "tool"} {
		if code, text := two.get(path); code != http.StatusOK || !strings.Contains(text, shows) {
			t.Errorf("%s: %d %.200s", path, code, text)
		}
	}
	if code, text := two.get(r.path + "/archive/refs/heads/main.tar.gz"); code != http.StatusOK || len(text) < 100 {
		t.Errorf("an archive: %d %.200s", code, text)
	}
	if out, err := s.tries(r.dir, "push", two.url+r.path, "HEAD:refs/heads/other"); err == nil || !strings.Contains(out, "no state event for this push") {
		t.Errorf("the node that leads decides no push: %s", out)
	}
	if _, text := two.ask(two.admin + "/metrics"); !regexp.MustCompile(`graspd_git_requests_total\{answer="pack",service="git-upload-pack",version="2"\} [1-9]`).MatchString(text) || !regexp.MustCompile(`graspd_bucket_local_bytes [1-9]`).MatchString(text) {
		t.Errorf("figures: %s", regexp.MustCompile(`(?m)^graspd_(git_requests|bucket_local).*$`).FindAllString(text, -1))
	}
	carried := func(name string) bool { return strings.HasPrefix(name, "pushes ") }
	if got, want := slices.DeleteFunc(names(two.node), carried), names(one.node); !slices.Equal(got, want) {
		t.Errorf("routes %q, and where a node leads %q", got, want)
	}

	clone := filepath.Join(t.TempDir(), "x")
	s.git(t.TempDir(), "clone", "-q", two.url+r.path, clone)
	for range 7 {
		tip = r.push(one, 100)
	}
	one.clones(r, tip) // so that packs are combined
	s.eventually("packs are combined and others go", func() bool {
		return len(one.files(".pack")) == 1 && len(two.files(".idx")) == 1 && len(two.files(".pack")) == 0
	})
	s.git(clone, "pull", "-q")
	if got := s.git(clone, "rev-parse", "HEAD"); got != tip {
		t.Errorf("a fetch brought %s, not %s", got, tip)
	}
	two.clones(r, tip)
	s.packs()

	// A kill came between packs and files of refs.
	refs, err := filepath.Glob(filepath.Join(node.GitIn(two.dir), "??/??/*/packed-refs"))
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	old, err := os.ReadFile(refs[0])
	if err != nil {
		t.Fatal(err)
	}
	tip = r.push(one, 100)
	two.clones(r, tip)
	two.stop()
	if err := os.WriteFile(refs[0], old, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.packs(); got != 1 {
		t.Errorf("%d packs were fetched for one that came", got)
	}
	two = s.join(two.dir, nil)
	two.clones(r, tip)
	if got, err := os.ReadFile(refs[0]); err != nil || !strings.Contains(string(got), tip) {
		t.Errorf("files of refs are %q (%v)", got, err)
	}

	one.stop() // hands over
	two.next()
	two.clones(r, tip)
	tip = r.push(two, 100)
	one = s.join(one.dir, nil)
	one.clones(r, tip)
	if got := s.packs(); got != 1 {
		t.Errorf("%d packs were fetched, and nobody lacked any but the last", got)
	}

	// What is taken down is gone wherever that is known.
	if _, err := two.node.Moderator.Bar(t.Context(), moderation.Order{Subject: moderation.At(nip34.Address{Kind: nip34.KindRepository, PubKey: testkit.Key(member).PubKey(), D: "tool"}), By: "somebody"}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the repository is gone", func() bool {
		code, _ := one.get(r.path + "/info/refs?service=git-upload-pack")
		return code == http.StatusNotFound
	})
	if code, _ := one.get(r.path); code != http.StatusNotFound {
		t.Errorf("its page: %d", code)
	}
}

// TestASignedRequestIsReplayedAfterAChange: what a node that led has taken, or may have taken, the next one does not take again: neither a request to
// manage the relay, nor one to sign in. Who has signed in to the one before is signed in no more.
func TestASignedRequestIsReplayedAfterAChange(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	manage := func(c *node.Config) { c.AdminKeys, c.Git = []nostr.PubKey{testkit.Key(manager).PubKey()}, nil }
	one := s.join(t.TempDir(), manage)
	one.next()
	two := s.join(t.TempDir(), manage)
	signed := func(path, body string, at time.Time) *http.Request {
		auth, err := nip98.Sign(http.MethodPost, "https://"+private+path, []byte(body), at, func(e *nostr.Event) error {
			*e = *testkit.Sign(testkit.Key(manager), e.CreatedAt, e.Kind, e.Content, e.Tags...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/nostr+json+rpc"}, "Authorization": {auth}, "Origin": {"https://" + private}}
		return r
	}
	answer := func(of *joined, r *http.Request) *httptest.ResponseRecorder {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		again := r.Clone(t.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		of.node.Front.Handler().ServeHTTP(w, again)
		return w
	}
	const method = `{"method":"supportedmethods","params":[]}`
	login := "/operator/login"
	used := map[*http.Request]int{signed("/", method, time.Now()): http.StatusOK, signed(login, "sign in to graspd", time.Now().Add(30*time.Second)): http.StatusNoContent}
	var cookies []*http.Cookie
	for r, want := range used {
		w := answer(one, r)
		if w.Code != want {
			t.Errorf("%s at the first node: %d %s", r.URL, w.Code, w.Body)
		}
		cookies = append(cookies, w.Result().Cookies()...)
	}
	page := func(of *joined) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/operator/", nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		return answer(of, r).Code
	}
	if got := page(one); got != http.StatusOK {
		t.Errorf("who has signed in gets %d", got)
	}
	one.stop()
	two.next() // it leads
	for r := range used {
		if w := answer(two, r); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "sign the request again in a minute") {
			t.Errorf("%s again: %d %s", r.URL, w.Code, w.Body)
		}
	}
	if got := page(two); got != http.StatusUnauthorized {
		t.Errorf("who has signed in to the one before gets %d", got)
	}
	s.eventually("a request is taken that the one before cannot have taken", func() bool {
		return answer(two, signed("/", method, time.Now().Add(nip98.Age))).Code == http.StatusOK
	})
}

// TestAMemberIsRemovedAtOneNode: settings that are read again at the node that leads hold at all nodes. One whose own are others says in what, and does
// not lead until they are the same.
func TestAMemberIsRemovedAtOneNode(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	both := policy.PubKeys{testkit.Key(member).PubKey(): {}, testkit.Key(stranger).PubKey(): {}}
	guard := func(c *node.Config) { c.Private, c.Git = &node.Private{Members: both}, nil }
	one := s.join(t.TempDir(), guard)
	one.next()
	two := s.join(t.TempDir(), guard)
	shows := func(j *joined, n int) bool {
		auth, err := nip98.SignStanding("https://"+private, time.Now(), func(e *nostr.Event) error {
			*e = *testkit.Sign(testkit.Key(n), e.CreatedAt, e.Kind, e.Content, e.Tags...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", auth)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		j.node.Front.Handler().ServeHTTP(w, r)
		return w.Code == http.StatusOK
	}
	for _, j := range []*joined{one, two} {
		if !shows(j, member) || !shows(j, stranger) || shows(j, manager) {
			t.Fatal("others are members")
		}
	}
	left := node.Settings{Members: policy.PubKeys{testkit.Key(member).PubKey(): {}}}
	one.node.Set(t.Context(), left)
	s.eventually("the other node shows nothing to who is a member no more", func() bool { return !shows(two, stranger) && shows(two, member) })
	const differs = "this node: its settings differ from those in force at all nodes (members)"
	s.eventually("the other node says what differs", func() bool { _, text := two.ask(two.admin + "/problems.json"); return strings.Contains(text, differs) })
	two.node.Set(t.Context(), node.Settings{Members: both}) // as they were
	if shows(two, stranger) {
		t.Error("settings that are read again at one node hold there")
	}
	again := s.join(t.TempDir(), guard)
	if shows(again, stranger) || !shows(again, member) {
		t.Error("a node that comes shows by its own settings")
	}
	again.stop()

	one.stop()
	select {
	case <-two.runs:
		t.Fatal("a node leads whose settings are others")
	case <-time.After(9 * time.Second):
	}
	two.node.Set(t.Context(), left)
	two.next() // it leads
	if shows(two, stranger) || !shows(two, member) {
		t.Error("the node that leads now has other members")
	}
	if _, text := two.ask(two.admin + "/problems.json"); strings.Contains(text, "differ") {
		t.Error(text)
	}
}

// names are the names of the routes of a node, with what a private service demands there.
func names(n *node.Node) (out []string) {
	for _, r := range n.Front.Routes() {
		out = append(out, fmt.Sprint(r.Name, " ", r.Door))
	}
	return out
}

// TestALittleDiskWhereAnotherNodeWrites: packs go for those that somebody reads now, and what is larger than the bound cannot be read.
func TestALittleDiskWhereAnotherNodeWrites(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	one := s.join(t.TempDir(), nil)
	one.next()
	two := s.join(t.TempDir(), func(c *node.Config) { c.Git.Local, c.Git.Cache = 30_000, -1 })
	tools := []*tool{one.announce("a"), one.announce("b"), one.announce("c")}
	tips := []string{tools[0].push(one, 20_000), tools[1].push(one, 20_000), tools[2].push(one, 40_000)}
	for _, i := range []int{0, 1, 0} {
		two.clones(tools[i], tips[i])
		if got := two.files(".pack"); len(got) != 1 {
			t.Errorf("%q are here", got)
		}
	}
	out, err := s.tries(t.TempDir(), "clone", two.url+tools[2].path)
	if err == nil {
		t.Errorf("a repository came for which there is no room: %s", out)
	}
	if got := len(two.files(".idx")); got != 3 {
		t.Errorf("%d indexes are here", got)
	}
}
