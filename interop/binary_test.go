package interop

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// node is a running graspd.
type node struct {
	url  string
	t    *testing.T
	cmd  *exec.Cmd
	logs *output
	over bool // stop or kill was called
}

// output collects what a process prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) { o.mu.Lock(); defer o.mu.Unlock(); return o.b.Write(p) }
func (o *output) String() string              { o.mu.Lock(); defer o.mu.Unlock(); return o.b.String() }

// has says whether text was written.
func (o *output) has(text string) bool { return strings.Contains(o.String(), text) }

// tail is the end of the output, for the message of a failed test.
func (o *output) tail() string {
	s := o.String()
	return s[max(0, len(s)-4000):]
}

var listens = regexp.MustCompile(`listens on (ws://\S+)\n`)

// serve starts graspd on a free port and waits until it listens. It is stopped at the end of the test.
func serve(t *testing.T, data, domain string, args ...string) *node {
	t.Helper()
	args = append([]string{"serve", "--git=false", "--listen", "127.0.0.1:0", "--admin-listen=", "--data", data, "--domain", domain, "--disk-floor", "0",
		"--sync-allow-private", "--sync-batch-window", "200ms", "--sync-base-backoff", "200ms",
		"--sync-whole-from", "1000000"}, args...) // what is judged is what filters lead to
	n := &node{t: t, cmd: exec.Command(binary, args...), logs: &output{}}
	out := &output{}
	n.cmd.Stdout, n.cmd.Stderr = out, n.logs
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.stop)
	if !until(patience, func() bool { return listens.MatchString(out.String()) }) {
		t.Fatalf("graspd does not listen: %s%s", out, n.logs.tail())
	}
	n.url = listens.FindStringSubmatch(out.String())[1]
	return n
}

// stop ends graspd as a service manager does and requires that it ends well within ten seconds.
func (n *node) stop() {
	if n.over {
		return
	}
	n.over = true
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Error(err)
	}
	slow := time.AfterFunc(10*time.Second, func() { _ = n.cmd.Process.Kill() })
	defer slow.Stop()
	if err := n.cmd.Wait(); err != nil {
		n.t.Errorf("graspd does not stop properly: %v\n%s", err, n.logs.tail())
	}
}

// kill ends graspd at once, as kill -9 does.
func (n *node) kill() {
	n.over = true
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait() // its error is the signal
}

// graspd runs one command to its end and returns what it printed.
func graspd(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(binary, args...).Output()
	if err != nil {
		var x *exec.ExitError
		if errors.As(err, &x) {
			err = errors.New(string(x.Stderr))
		}
		t.Fatalf("graspd %s: %v", args[0], err)
	}
	return out
}

// export reads all events of a data directory in the order in which they were stored.
func export(t *testing.T, data string) []*nostr.Event {
	t.Helper()
	var events []*nostr.Event
	for line := range strings.Lines(string(graspd(t, "export", "--data", data))) {
		e, err := nostr.ParseEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// load imports events into a data directory.
func load(t *testing.T, data, domain string, events []*nostr.Event) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.jsonl")
	var b bytes.Buffer
	for _, e := range events {
		b.Write(e.AppendJSON(nil))
		b.WriteByte('\n')
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log(strings.TrimSpace(string(graspd(t, "import", "--git=false", "--data", data, "--domain", domain, "--disk-floor", "0", file))))
}

var _ io.Writer = (*output)(nil)
