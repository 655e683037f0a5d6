package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/test/testkit"
)

// noEnv is an environment that says nothing, but that repositories are not hosted: most tests are about events alone.
var noEnv = environment{"GRASPD_GIT": "false"}

// patience bounds what a test waits for; it is no measure of anything.
const patience = 2 * time.Minute

// running is a graspd that serves in this process.
type running struct {
	url  grasp.RelayURL
	out  *output
	logs *output
	stop func() int // ends it like a signal and returns the exit code
}

// output collects what a command prints and lets a test wait for it.
type output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	grew chan struct{}
}

func newOutput() *output { return &output{grew: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.grew <- struct{}{}:
	default:
	}
	return o.b.Write(p)
}

func (o *output) String() string { o.mu.Lock(); defer o.mu.Unlock(); return o.b.String() }

// await waits for a line that matches and returns its first group.
func (o *output) await(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(patience)
	for {
		if m := re.FindStringSubmatch(o.String()); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-o.grew:
		case <-deadline:
			t.Fatalf("no line matches %s in:\n%s", pattern, o)
		}
	}
}

// start runs a command line in this process until stop.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	out, logs := newOutput(), newOutput()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- run(ctx, args, stdio{strings.NewReader(""), out, logs}, noEnv) }()
	r := &running{out: out, logs: logs, stop: sync.OnceValue(func() int {
		cancel()
		select {
		case c := <-code:
			return c
		case <-time.After(patience):
			t.Errorf("graspd does not stop")
			return -1
		}
	})}
	t.Cleanup(func() {
		if c := r.stop(); c != exitOK {
			t.Errorf("exit code %d, logs:\n%s", c, logs)
		}
	})
	return r
}

// serve runs graspd with the arguments on a free port.
func serve(t *testing.T, args ...string) *running {
	t.Helper()
	r := start(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--disk-floor", "1MiB", "--store-cache", "1MiB", "--sync-allow-private", "--sync-batch-window", "50ms"}, args...)...)
	u, err := grasp.NormalizeRelay(r.out.await(t, `listens on (ws://\S+)\n`))
	if err != nil {
		t.Fatal(err)
	}
	r.url = u
	return r
}

// client is one connection of a plain Nostr client. It reads all the time: a relay that ends waits seconds for the goodbye of a client that
// does not.
type client struct {
	t    *testing.T
	c    *relayconn.Conn
	came chan message
}

// message is what a client has read.
type message struct {
	b   []byte
	err error
}

func dial(t *testing.T, u grasp.RelayURL) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := relayconn.New(relayconn.Config{Net: publicnet.Config{AllowPrivate: true}}).Dial(ctx, u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close("test over") })
	k := &client{t, c, make(chan message, 1<<12)}
	go func() {
		for err := error(nil); err == nil; {
			var b []byte
			b, err = c.Read(t.Context())
			select {
			case k.came <- message{bytes.Clone(b), err}:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return k
}

// read returns the next message as it came, or how the connection has ended.
func (c *client) read() ([]byte, error) {
	c.t.Helper()
	select {
	case m := <-c.came:
		return m.b, m.err
	case <-time.After(patience):
		c.t.Fatal("nothing comes")
		return nil, nil
	}
}

func (c *client) send(b []byte) {
	c.t.Helper()
	if err := c.c.Write(c.t.Context(), b); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next message of the relay but a challenge (NIP-42).
func (c *client) next() nostr.RelayMessage {
	c.t.Helper()
	b, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	m, err := nostr.ParseRelay(b)
	if err != nil {
		c.t.Fatalf("%s: %v", b, err)
	}
	if _, is := m.(nostr.AuthChallenge); is {
		return c.next()
	}
	return m
}

// publish sends an event and requires its OK.
func (c *client) publish(e *nostr.Event) {
	c.t.Helper()
	c.send(nostr.AppendEventMsg(nil, e))
	if ok, is := c.next().(nostr.OK); !is || !ok.OK || ok.ID != e.ID {
		c.t.Fatalf("publish: %+v", ok)
	}
}

// awaitEvent reads until the event has come.
func (c *client) awaitEvent(e *nostr.Event) {
	c.t.Helper()
	for {
		if m, ok := c.next().(nostr.RelayEvent); ok && m.Event.ID == e.ID {
			return
		}
	}
}

// TestCarriesEventsFromARelayToASubscriber is the main path through every
// package: a relay named by an announcement is asked, and its events reach a
// subscriber, stored ones and live ones.
func TestCarriesEventsFromARelayToASubscriber(t *testing.T) {
	source := testkit.Serve(t)
	us := serve(t, "--data", t.TempDir(), "--domain", "relay.example.org", "--bootstrap", string(source.URL), "--sync-batch-window", "50ms")
	now := time.Now().Unix()
	owner, author := testkit.Key(1), testkit.Key(2)
	at := testkit.RepositoryAddress(owner, "proj")
	ann := testkit.Announcement(owner, now-100, "proj", "wss://relay.example.org", string(source.URL))
	issue := testkit.Issue(author, now-50, at, "it breaks")
	source.Add(ann, issue)

	c := dial(t, us.url)
	c.send(nostr.AppendReq(nil, "sub", nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue, nostr.KindComment}}))
	c.awaitEvent(issue)
	comment := testkit.Comment(author, now, issue, "it does")
	source.Add(comment)
	c.awaitEvent(comment)
}

func TestStopsAndStartsAgainWithItsEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data", dir, "--domain", "relay.example.org")
	ann := testkit.Announcement(testkit.Key(1), time.Now().Unix(), "proj", "wss://relay.example.org")
	dial(t, first.url).publish(ann)
	if code := first.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	second := serve(t, "--data", dir, "--domain", "relay.example.org")
	c := dial(t, second.url)
	c.send(nostr.AppendReq(nil, "s", nostr.Filter{IDs: []nostr.ID{ann.ID}}))
	c.awaitEvent(ann)
}

func TestASecondProcessOnTheSameDataIsRefused(t *testing.T) {
	dir := t.TempDir()
	serve(t, "--data", dir)
	var errs bytes.Buffer
	code := run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--data", dir}, stdio{strings.NewReader(""), io.Discard, &errs}, noEnv)
	if code != exitFail || !strings.Contains(errs.String(), dir) {
		t.Fatalf("exit code %d, %s", code, errs.String())
	}
}

func TestASilentConnectionDoesNotSpoilTheStop(t *testing.T) {
	t.Parallel()
	us := serve(t, "--data", t.TempDir())
	c, err := net.Dial("tcp", strings.TrimPrefix(string(us.url), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if code := us.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestTheFirstLinesHostARepository: they have the two commands, as ngit takes them without a question, and both addresses to clone from, with
// this relay in the one of ngit.
func TestTheFirstLinesHostARepository(t *testing.T) {
	for domain, hint := range map[string]string{"git.example.org": "git.example.org", "example.org:8443": "example.org%3A8443", "example.org/git": "example.org%2Fgit"} {
		r := serve(t, "--git", "--sync=false", "--data", t.TempDir(), "--domain", domain)
		for _, line := range []string{
			"ngit init --grasp-server " + domain + " --defaults, then git push\n",
			"everybody clones it from https://" + domain + "/<npub>/<identifier>.git, and ngit from nostr://<npub>/" + hint + "/<identifier>\n",
		} {
			r.out.await(t, regexp.QuoteMeta(line))
		}
	}
}
