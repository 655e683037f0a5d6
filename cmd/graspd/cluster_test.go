package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// beside is a node in a process of its own, which shares a bucket.
type beside struct {
	*child
	url   grasp.RelayURL
	admin string
}

func serveBeside(t *testing.T, b *bucketServer, dir string, args ...string) *beside {
	t.Helper()
	p := spawn(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--domain", bucketDomain, "--data", dir, "--bucket", b.url,
		"--cluster-listen", "127.0.0.1:0", "--disk-floor", "1MiB", "--store-cache", "1MiB", "--git=false", "--sync=false"}, args...)...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(dir), p.errs)
		}
	})
	u, err := grasp.NormalizeRelay(p.out.await(t, `listens on (ws://\S+)\n`))
	if err != nil {
		t.Fatal(err)
	}
	return &beside{p, u, p.out.await(t, `for the operator: open (http://\S+)/\n`)}
}

// asks is what a path of the private listener answers.
func (n *beside) asks(t *testing.T, path string) (int, string) {
	t.Helper()
	r, err := http.Get(n.admin + path)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(text)
}

// becomes waits until a path of the private listener answers so.
func (n *beside) becomes(t *testing.T, path string, code int, pattern string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	eventually(t, fmt.Sprintf("%s answers %d %s", path, code, pattern), func() bool {
		got, text := n.asks(t, path)
		return got == code && re.MatchString(text)
	})
}

// shows asks for an event until it comes, stored or live.
func (n *beside) shows(t *testing.T, e *nostr.Event) {
	t.Helper()
	c := dial(t, n.url)
	c.send(nostr.AppendReq(nil, "s", nostr.Filter{IDs: []nostr.ID{e.ID}}))
	c.awaitEvent(e)
}

// TestTwoNodesShareABucket: one leads and the other serves what the first took, stored and live, and takes nothing. Whichever way the leader goes, the
// other one leads, and has all that was acknowledged.
func TestTwoNodesShareABucket(t *testing.T) {
	b := newBucket(t)
	events := someEvents(5)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	one := serveBeside(t, b, dirs[0])
	one.becomes(t, "/readyz", http.StatusOK, `this node leads since`)
	c := dial(t, one.url)
	c.publish(events[0])

	two := serveBeside(t, b, dirs[1])
	two.becomes(t, "/readyz", http.StatusOK, `this node follows \S+, which leads since`)
	two.shows(t, events[0])
	live := dial(t, two.url)
	live.send(nostr.AppendReq(nil, "s", nostr.Filter{Authors: []nostr.PubKey{events[1].PubKey}}))
	c.publish(events[1])
	live.awaitEvent(events[1])
	there := dial(t, two.url)
	there.publish(events[2])
	there.send(nostr.AppendReq(nil, "own", nostr.Filter{IDs: []nostr.ID{events[2].ID}}))
	if e, is := there.next().(nostr.RelayEvent); !is || e.Event.ID != events[2].ID {
		t.Errorf("who published at a node that follows, and asks there, gets %+v", e)
	}
	one.shows(t, events[2])
	two.becomes(t, "/status.json", http.StatusOK, `"cluster":\{"node":"http://127.0.0.1:\d+","leads":false,"leader":"[^"]+","leader_url":"http://127.0.0.1:\d+".*"behind":0,`)
	two.becomes(t, "/metrics", http.StatusOK, `graspd_cluster_leads 0`)
	one.becomes(t, "/metrics", http.StatusOK, `graspd_cluster_leads 1`)
	for _, n := range []*beside{one, two} {
		n.becomes(t, "/metrics", http.StatusOK, `graspd_cluster_nodes 2`)
		n.becomes(t, "/", http.StatusOK, `<li>http://127.0.0.1:\d+ (leads|follows) \(graspd `)
	}

	one.kill()
	two.becomes(t, "/readyz", http.StatusOK, `this node leads since`)
	two.becomes(t, "/", http.StatusOK, `<li>the node http://127.0.0.1:\d+ has not been heard of for`)
	two.shows(t, events[0])
	dial(t, two.url).publish(events[4])

	_, told := two.asks(t, "/status.json")
	address := regexp.MustCompile(`"cluster":\{"node":"([^"]+)"`).FindStringSubmatch(told)[1]
	one = serveBeside(t, b, dirs[0])
	one.becomes(t, "/readyz", http.StatusOK, `this node follows`)
	one.shows(t, events[2])
	one.becomes(t, "/", http.StatusOK, regexp.QuoteMeta(address))
	began := time.Now()
	if err := two.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := two.wait(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, two.errs)
	}
	one.becomes(t, "/readyz", http.StatusOK, `this node leads since`)
	t.Logf("a hand-over took %v", time.Since(began))
	if !strings.Contains(two.errs.String(), "another node leads") {
		t.Errorf("it was no hand-over: %s", two.errs)
	}
	one.becomes(t, "/", http.StatusOK, `This node leads since`)
	if _, page := one.asks(t, "/"); strings.Contains(page, address) {
		t.Errorf("a node that has left is told of: %s", page)
	}
	for _, e := range events[:3] {
		one.shows(t, e)
	}
	dial(t, one.url).publish(events[3])
}

// TestTwoNodesShareGitData: the one that follows serves clones and the page of what was pushed to the other one, and takes pushes once that is gone.
func TestTwoNodesShareGitData(t *testing.T) {
	b := newBucket(t)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	one := serveBeside(t, b, dirs[0], "--git")
	one.becomes(t, "/readyz", http.StatusOK, `this node leads since`)
	h := &hoster{T: t}
	h.with(one)
	p := h.begin("tool", 1000)
	two := serveBeside(t, b, dirs[1], "--git", "--git-local", "2GiB")
	two.becomes(t, "/readyz", http.StatusOK, `this node follows`)
	p.push("two")
	h.with(two)
	p.awaited()
	p.cloned()
	if text := page(t, h.url(p.d)); !strings.Contains(text, "tool") || !strings.Contains(text, "<html") {
		t.Errorf("the page of the repository: %.300s", text)
	}
	if out, err := gitIn(t, p.dir, "push", h.url(p.d), "HEAD:refs/heads/other"); err == nil || !strings.Contains(out, "no state event for this push") {
		t.Errorf("the node that leads decides no push: %s", out)
	}
	two.becomes(t, "/metrics", http.StatusOK, `graspd_bucket_local_bytes [1-9]`)

	one.kill()
	two.becomes(t, "/readyz", http.StatusOK, `this node leads since`)
	p.cloned()
	p.push("three")
	one = serveBeside(t, b, dirs[0], "--git")
	h.with(one)
	p.awaited()
	p.cloned()
}

// with has the hoster work with a node.
func (h *hoster) with(n *beside) { h.addr = strings.TrimPrefix(string(n.url), "ws://") }

// awaited waits until the node knows of what was pushed last.
func (p *project) awaited() {
	p.h.Helper()
	eventually(p.h.T, "the node shows "+p.tip, func() bool {
		out, err := gitIn(p.h.T, p.dir, "ls-remote", p.h.url(p.d), "refs/heads/main")
		return err == nil && strings.HasPrefix(out, p.tip)
	})
}

// TestWhereNodesReachEachOther: an address that others cannot reach is refused, and a node without a bucket is.
func TestWhereNodesReachEachOther(t *testing.T) {
	const bucket = "s3://name/prefix?endpoint=http://127.0.0.1:1&region=eu-1"
	for _, c := range []struct{ at, bucket, says string }{
		{"7336", bucket, "want host:port"},
		{":7336", bucket, "names no host"},
		{"0.0.0.0:7336", bucket, "names no host"},
		{"[::]:7336", bucket, "names no host"},
		{"10.0.0.1:7336", "", "of no use without --bucket"},
	} {
		code, _, errs := call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--data", t.TempDir(), "--bucket", c.bucket, "--cluster-listen", c.at)
		if code != exitUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%s: %d %s", c.at, code, errs)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"10.0.0.1:0": "http://10.0.0.1:" + port, "[fd00::1]:0": "http://[fd00::1]:" + port, "a.internal:0": "http://a.internal:" + port} {
		if got, err := clusterURL(at, l); err != nil || got != want {
			t.Errorf("%s: %s, %v", at, got, err)
		}
	}
}

// TestWritesAtANodeThatFollows: whoever publishes, pushes or manages the relay there is answered by the node that leads, by way of the one that they ask,
// which has it all then. While one node hands over to another they wait.
func TestWritesAtANodeThatFollows(t *testing.T) {
	b := newBucket(t)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "c")}
	var nodes []*beside
	for _, dir := range dirs {
		n := serveBeside(t, b, dir, "--git")
		does := "follows"
		if len(nodes) == 0 {
			does = "leads" // before another one is there that could
		}
		n.becomes(t, "/readyz", http.StatusOK, `this node `+does)
		nodes = append(nodes, n)
	}
	host := func(n *beside) *hoster { return &hoster{T: t, addr: strings.TrimPrefix(string(n.url), "ws://")} }
	h := host(nodes[1])
	p := h.begin("tool", 100<<10)
	p.cloned()
	p.push("two")
	p.h.addr = host(nodes[2]).addr
	p.push("three")
	p.cloned()

	if err := nodes[0].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.push("four")
	p.push("five")
	p.cloned()
	if code := nodes[0].wait(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, nodes[0].errs)
	}
}

// TestANodeOutOfTouch: a node that follows, and hears neither of the node that leads nor of the bucket, ends subscriptions with a reason, answers no
// request, and is not ready; connections stay. All is as before once it hears again.
func TestANodeOutOfTouch(t *testing.T) {
	b := newBucket(t)
	events := someEvents(1)
	one := serveBeside(t, b, filepath.Join(t.TempDir(), "a"))
	one.becomes(t, "/readyz", http.StatusOK, `this node leads since`)
	dial(t, one.url).publish(events[0])
	two := serveBeside(t, b, filepath.Join(t.TempDir(), "b"))
	two.shows(t, events[0])
	c := dial(t, two.url)
	c.send(nostr.AppendReq(nil, "live", nostr.Filter{Authors: []nostr.PubKey{events[1].PubKey}}))
	if x, is := c.next().(nostr.EOSE); !is {
		t.Fatalf("%+v", x)
	}
	defer func() { _ = one.cmd.Process.Signal(syscall.SIGCONT) }() // so that it ends where the test fails
	if err := one.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.away.Store(true)
	closed := func(id string) {
		t.Helper()
		if x, is := c.next().(nostr.Closed); !is || x.Sub != id || !strings.HasPrefix(x.Reason, "error: this node is out of touch") {
			t.Errorf("%+v", x)
		}
	}
	closed("live")
	c.send(nostr.AppendReq(nil, "again", nostr.Filter{IDs: []nostr.ID{events[0].ID}}))
	closed("again")
	two.becomes(t, "/readyz", http.StatusServiceUnavailable, `has heard neither`)
	b.away.Store(false)
	two.becomes(t, "/readyz", http.StatusOK, ``)
	eventually(t, "it answers again", func() bool {
		c.send(nostr.AppendReq(nil, "then", nostr.Filter{IDs: []nostr.ID{events[0].ID}}))
		_, answers := c.next().(nostr.RelayEvent)
		if answers {
			c.next() // EOSE
		}
		return answers
	})
}
