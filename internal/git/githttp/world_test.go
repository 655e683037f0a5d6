package githttp_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

var owner = nostr.PubKey{1, 2, 3}

// repo is a repository that a host serves.
type repo struct {
	dir        string // "" is none
	generation uint64
	refs       *gitwire.Refs
	newest     *gitwire.Refs
}

// host serves repositories of git's own making. What a test sets is called instead.
type host struct {
	t   testing.TB
	git *gitproc.Git

	mu       sync.Mutex
	repos    map[string]*repo // by identifier
	prs      bool             // everybody has contributed repositories, empty but those by owner
	calls    []string         // what was asked of git, and of the host
	settled  func(ctx context.Context) error
	pack     func(ctx context.Context, out io.Writer) error
	packFor  func(ctx context.Context, party string, out io.Writer) error // in place of pack
	push     func(ctx context.Context, p githttp.PushCall) githttp.PushResult
	leads    func(ctx context.Context, party string) error // whether refs lead to something takes so long
	bringing string                                        // what is told of data that comes first
	looks    time.Duration                                 // which looking for objects takes
}

func (h *host) called(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, what)
}

// decides has pushes decided so from now on.
func (h *host) decides(push func(context.Context, githttp.PushCall) githttp.PushResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.push = push
}

// took gives what was called since the last time.
func (h *host) took() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.calls = nil }()
	return strings.Join(h.calls, " ")
}

// serve has the host know a repository, as it is now.
func (h *host) serve(identifier, dir string) {
	refs := &gitwire.Refs{}
	if dir != "" {
		refs = refsOf(h.t, dir)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.repos[identifier]
	if r == nil {
		r = &repo{}
		h.repos[identifier] = r
	}
	h.repos[identifier] = &repo{dir, r.generation + 1, refs, nil}
}

func (h *host) Find(of nip34.Address) (githttp.Repository, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of.D == "fault" {
		return githttp.Repository{}, false, fmt.Errorf("planted")
	}
	r := h.repos[of.D]
	if grasp.IsContributed(of) {
		if r = h.repos["prs/"+of.D]; r == nil || of.PubKey != owner {
			return githttp.Repository{}, h.prs, nil
		}
		return githttp.Repository{Dir: r.dir, Generation: r.generation, Refs: r.refs}, h.prs, nil
	}
	if r == nil || of.PubKey != owner || of.Kind != nip34.KindRepository {
		return githttp.Repository{}, false, nil
	}
	return githttp.Repository{Dir: r.dir, Generation: r.generation, Refs: r.refs, Newest: r.newest}, true, nil
}

func (h *host) AwaitFiles(ctx context.Context, of nip34.Address, generation uint64) error {
	h.called(fmt.Sprint("settled:", generation))
	if h.settled != nil {
		return h.settled(ctx)
	}
	return nil
}

func (h *host) Bringing(string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bringing
}

func (h *host) Missing(dir string, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	if dir == "" {
		return nil, fmt.Errorf("no repository")
	}
	if h.git == nil { // packs are what the test makes of them
		time.Sleep(h.looks)
		return nil, nil
	}
	var missing []gitwire.ObjectID
	for _, id := range ids {
		if _, _, err := tryGit(dir, "", "cat-file", "-e", id.String()); err != nil {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

func (h *host) Unreached(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) (unreached []gitwire.ObjectID, err error) {
	h.called("unreached")
	if h.leads != nil {
		return nil, h.leads(ctx, party)
	}
	if h.git == nil {
		return nil, nil
	}
	var in, out strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&in, id)
	}
	err = h.git.Run(ctx, gitproc.Unreached(), gitproc.Run{Party: party, At: gitproc.Dirs{Repository: dir}, In: strings.NewReader(in.String()), Out: &out})
	for _, id := range ids {
		if strings.Contains(out.String(), id.String()) {
			unreached = append(unreached, id)
		}
	}
	return unreached, err
}

func (h *host) Pack(ctx context.Context, dir string, f *gitwire.Fetch, party string, out io.Writer) error {
	h.called("pack")
	if h.packFor != nil {
		return h.packFor(ctx, party, out)
	}
	if h.pack != nil {
		return h.pack(ctx, out)
	}
	var ids strings.Builder
	for _, id := range f.Tips() {
		fmt.Fprintln(&ids, id)
	}
	return h.git.Run(ctx, gitproc.PackReachable(f.OfsDelta, f.IncludeTag, f.Filter), gitproc.Run{
		Party: party, At: gitproc.Dirs{Repository: dir}, In: strings.NewReader(ids.String()), Out: out,
	})
}

func (h *host) Upload(ctx context.Context, dir string, q gitwire.Request, party string, out io.Writer) error {
	h.called("upload")
	if h.pack != nil {
		return h.pack(ctx, out)
	}
	return h.git.Run(ctx, gitproc.UploadPack(true), gitproc.Run{
		Party: party, At: gitproc.Dirs{Repository: dir}, Protocol: int(q.Version), In: strings.NewReader(string(q.AppendTo(nil))), Out: out,
	})
}

func (h *host) Archive(ctx context.Context, dir string, commit gitwire.ObjectID, name, party string, out io.Writer) error {
	h.called("archive:" + name)
	if h.packFor != nil {
		return h.packFor(ctx, party, out)
	}
	if h.pack != nil {
		return h.pack(ctx, out)
	}
	return h.git.Run(ctx, gitproc.Archive(commit, name), gitproc.Run{Party: party, At: gitproc.Dirs{Repository: dir}, Out: out})
}

func (h *host) Sizes(ctx context.Context, dir string, ids []gitwire.ObjectID, party string) ([]int64, error) {
	h.called("sizes")
	sizes := make([]int64, len(ids))
	for i, id := range ids {
		out, _, err := tryGit(dir, "", "cat-file", "-s", id.String())
		if err != nil {
			sizes[i] = -1
		} else if _, err := fmt.Sscan(out, &sizes[i]); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

func (h *host) Push(ctx context.Context, p githttp.PushCall) githttp.PushResult {
	h.called("push")
	h.mu.Lock()
	push := h.push
	h.mu.Unlock()
	if push == nil {
		return githttp.PushResult{Outcomes: p.Push.RefuseAll("nothing is pushed here")}
	}
	return push(ctx, p)
}

// world is a server and what it serves.
type world struct {
	*host
	server *githttp.Server
	front  *front.Front
	faults *contain.Faults
	http   *http.Server
	addr   string
	panics uint64 // that the test brings about
	url    string // of the repository "r"
}

type settings struct {
	githttp.Config
	front front.Config
	reads bool // nobody takes pushes
}

// begin makes a world that listens nowhere.
func begin(t testing.TB, c settings) *world {
	t.Helper()
	h := &host{t: t, repos: map[string]*repo{}}
	w := &world{host: h, faults: contain.New(nil, nil)}
	c.front.Faults, c.Faults = w.faults, w.faults
	w.front = front.New(c.front)
	c.Front, c.Host, c.Packs = w.front, h, h
	if !c.reads {
		c.Taker = h
	}
	if c.CacheDir == "" {
		c.CacheDir = t.TempDir()
	}
	c.Pushes = cmp.Or(c.Pushes, 32) // of which four are spare
	w.server = githttp.New(c.Config)
	w.front.Handle(w.server.Route())
	w.front.Handle(front.Route{Serve: func(w http.ResponseWriter, _ *http.Request, _ front.Client) { w.WriteHeader(http.StatusTeapot) }})
	w.http = w.front.Server()
	return w
}

// open makes a world that listens on this machine.
func open(t testing.TB, c settings) *world {
	t.Helper()
	w := begin(t, c)
	var err error
	if w.host.git, err = gitproc.Open(t.Context(), gitproc.Config{}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	w.url = "http://" + w.addr + c.Base + path("r")
	served := make(chan error, 1)
	go func() { served <- w.http.Serve(l) }()
	t.Cleanup(func() {
		w.http.Close()
		<-served
		w.end(t)
	})
	return w
}

// end looks whether all was given back, once nobody is served any more.
func (w *world) end(t testing.TB) {
	t.Helper()
	if err := w.front.Drain(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	w.server.Close()
	if left := w.front.Unreturned(); len(left) > 0 {
		t.Errorf("not given back: %s", left)
	}
	if s := w.server.Stats(); s.Cache.Flights+s.Cache.Entries+s.Waiting > 0 || s.Cache.Bytes != 0 {
		t.Errorf("left behind: %+v", s.Cache)
	}
	if n, last := w.faults.Seen(); n != w.panics {
		t.Errorf("%d faults, the last one %+v", n, last)
	}
}

// path is that of a repository.
func path(identifier string) string { return "/" + nip19.Npub(owner) + "/" + identifier + ".git" }

// answers gives how requests were answered, such as "upload-pack 2 log 3", of those that were.
func (w *world) answers() string {
	var all []string
	for _, c := range w.server.Stats().Requests {
		if c.Count > 0 {
			all = append(all, fmt.Sprint(strings.TrimPrefix(c.Service.String(), "git-"), " ", c.Version, " ", c.Answer, " ", c.Count))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// answer is what a request got.
type answer struct {
	status int
	head   http.Header
	body   string
}

// ask sends a request to the repository "r".
func (w *world) ask(t testing.TB, method, rest, body string, head ...string) answer {
	t.Helper()
	return w.askURL(t, method, w.url+rest, body, head...)
}

func (w *world) askURL(t testing.TB, method, url, body string, head ...string) answer {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

// direct asks without a network, from an address.
func (w *world) direct(t testing.TB, method, path, from string) answer {
	t.Helper()
	req := httptest.NewRequest(method, path, nil)
	req.RemoteAddr = from + ":1"
	rec := httptest.NewRecorder()
	w.front.Handler().ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}
