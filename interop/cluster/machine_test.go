package cluster

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
	"github.com/graspd/graspd/interop/wire"
)

// length is how long things go wrong: a machine loses its disk again and again, and three of them come to harm.
var length = flag.Duration("for", time.Minute, "how long machines with a bucket are killed")

const domain = "relay.example.org"

// binary is the graspd under test; TestMain builds it.
var binary string

func TestMain(m *testing.M) { os.Exit(runMain(m)) }

func runMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "graspd-cluster")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "graspd")
	build := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-o", binary, "./cmd/graspd")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build graspd:", err)
		return 1
	}
	return m.Run()
}

// machine runs one graspd with a bucket, and starts it again when it ends, as a service manager does.
type machine struct {
	t             *testing.T
	dir, bucket   string // the data directory; where the bucket is, "" for none
	listen, admin string
	more          []string // of its command line
	logs          lockedBuffer

	mu      sync.Mutex
	process *exec.Cmd
	over    bool
	starts  int
	rest    time.Duration // how long it is down after its end
	ended   chan struct{}
}

// lockedBuffer is the end of what processes print.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	return s[max(0, len(s)-4000):]
}

func (l *lockedBuffer) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.b.Bytes(), []byte(text))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func bucketURL(prefix, address string) string {
	return "s3://name/" + prefix + "?endpoint=http://" + address
}

func newMachine(t *testing.T, bucket string, more ...string) *machine {
	t.Helper()
	m := &machine{t: t, more: more, dir: filepath.Join(t.TempDir(), "data"), bucket: bucket, listen: freeAddress(t), admin: freeAddress(t), ended: make(chan struct{})}
	go m.supervise()
	t.Cleanup(m.stop)
	return m
}

func (m *machine) supervise() {
	defer close(m.ended)
	for {
		m.mu.Lock()
		if m.over {
			m.mu.Unlock()
			return
		}
		args := append([]string{"serve", "--sync=false", "--listen", m.listen, "--admin-listen", m.admin, "--data", m.dir, "--domain", domain, "--disk-floor", "0"}, m.more...)
		if m.bucket != "" {
			args = append(args, "--bucket", m.bucket)
		}
		m.process = exec.Command(binary, args...)
		m.process.Stdout, m.process.Stderr = &m.logs, &m.logs
		if err := m.process.Start(); err != nil {
			m.t.Error(err)
			m.over = true
		}
		m.starts++
		p := m.process
		m.mu.Unlock()
		p.Wait()
		if code := p.ProcessState.ExitCode(); code == 3 {
			m.t.Errorf("it says that another one writes:\n%s", m.logs.tail())
		}
		time.Sleep(m.pause())
	}
}

// pause is how long the machine is down now that its process has ended.
func (m *machine) pause() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := max(m.rest, 100*time.Millisecond)
	m.rest = 0
	return d
}

func (m *machine) kill() { m.signal(syscall.SIGKILL, 0) }

// signal sends the process a signal. Should it end by that, the machine is down for a while.
func (m *machine) signal(s syscall.Signal, rest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rest = rest
	m.process.Process.Signal(s)
}

// burn kills the machine, and takes its disk away: before, or after.
func (m *machine) burn(before bool) {
	if before {
		os.RemoveAll(m.dir)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process.Process.Kill()
	for range 50 { // it may write until it is gone
		if err := os.RemoveAll(m.dir); err == nil {
			if _, err := os.Stat(m.dir); err != nil {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (m *machine) stop() {
	m.mu.Lock()
	m.over = true
	m.process.Process.Signal(os.Interrupt)
	late := time.AfterFunc(20*time.Second, m.kill)
	m.mu.Unlock()
	<-m.ended
	late.Stop()
}

// dial connects as soon as the machine answers.
func (m *machine) dial(ctx context.Context) (*wire.Client, error) {
	for {
		c, err := wire.Dial(ctx, "ws://"+m.listen)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// publish sends an event and returns its answer; ok is false where the connection ended before one came.
func publish(ctx context.Context, c *wire.Client, e *nostr.Event) (answer nostr.OK, ok bool) {
	if c.Send(ctx, nostr.AppendEventMsg(nil, e)) != nil {
		return answer, false
	}
	for {
		m, err := c.Receive(ctx)
		if err != nil {
			return answer, false
		}
		if a, is := m.(nostr.OK); is && a.ID == e.ID {
			return a, true
		}
	}
}

// writer publishes until ctx ends, and returns what heard OK.
func (m *machine) writer(ctx context.Context, n int) (acked []*nostr.Event) {
	at := testkit.RepositoryAddress(testkit.Key(1), "proj")
	for i := 0; ctx.Err() == nil; {
		c, err := m.dial(ctx)
		if err != nil {
			break
		}
		for ctx.Err() == nil {
			i++
			e := testkit.Issue(testkit.Key(n), time.Now().Unix(), at, fmt.Sprint(n, " writes ", i))
			answer, heard := publish(ctx, c, e)
			if !heard {
				break
			}
			if answer.OK {
				acked = append(acked, e)
			}
		}
		c.CloseNow()
	}
	return acked
}

// missing returns which events a relay does not have.
func missing(t *testing.T, m *machine, events []*nostr.Event) (lost []string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	c, err := m.dial(ctx)
	if err != nil {
		t.Fatalf("%v\n%s", err, m.logs.tail())
	}
	defer c.CloseNow()
	for len(events) > 0 {
		some := events[:min(100, len(events))]
		events = events[len(some):]
		want := map[nostr.ID]bool{}
		var ids []string
		for _, e := range some {
			want[e.ID] = true
			ids = append(ids, `"`+e.ID.String()+`"`)
		}
		if err := c.Send(ctx, []byte(`["REQ","s",{"ids":[`+strings.Join(ids, ",")+`]}]`)); err != nil {
			t.Fatal(err)
		}
	answers:
		for {
			x, err := c.Receive(ctx)
			if err != nil {
				t.Fatal(err)
			}
			switch x := x.(type) {
			case nostr.RelayEvent:
				delete(want, x.Event.ID)
			case nostr.EOSE:
				break answers
			}
		}
		for id := range want {
			lost = append(lost, id.String())
		}
	}
	return lost
}

// TestAMachineLosesItsDisk: one machine with a bucket behind a bad proxy is killed again and again while people publish, mostly with its data
// directory, which also goes while it runs. Whatever heard OK, and whatever git said ok to, is there, on an empty disk, with the same key.
func TestAMachineLosesItsDisk(t *testing.T) {
	s := begin(t)
	p, address := newProxy(t, s.address)
	prefix := newPrefix()
	m := newMachine(t, bucketURL(prefix, address))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	repositories := []*repository{newRepository(t, "proj"), newRepository(t, "second")}
	project := repositories[0].announcement()
	if !publishes(ctx, m, project) {
		t.Fatal("it is not announced")
	}
	for repositories[0].said == "" { // what people write about it waits until then
		repositories[0].push(ctx, m)
	}
	key := command(t, "key", "--data", m.dir)

	var all sync.WaitGroup
	var mu sync.Mutex
	acked := []*nostr.Event{project}
	for _, r := range repositories {
		all.Go(func() { r.pushes(ctx, m) })
	}
	for n := range 4 {
		all.Go(func() {
			mine := m.writer(ctx, 2+n)
			mu.Lock()
			defer mu.Unlock()
			acked = append(acked, mine...)
		})
	}
	for range 600 { // from the first kill on, an empty disk begins with a snapshot
		if m.logs.has("a snapshot is in the bucket") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	r := rand.New(rand.NewPCG(1, 2))
	kills, burnt := 0, 0
	for begun := time.Now(); time.Since(begun) < *length; {
		time.Sleep(time.Duration(1+r.IntN(5)) * time.Second)
		switch kills++; r.IntN(4) {
		case 0:
			m.kill()
		default:
			burnt++
			m.burn(r.IntN(2) == 0)
		}
	}
	end()
	all.Wait()
	m.stop()
	logs := m.logs.tail()

	last := newMachine(t, bucketURL(prefix, s.address))
	if lost := missing(t, last, acked); len(lost) > 0 {
		t.Errorf("%d of %d events that heard OK are gone: %.3q\n%s", len(lost), len(acked), lost, logs)
	}
	pushes := 0
	for _, r := range repositories {
		r.isThere(t, last)
		pushes += r.pushed
	}
	last.stop()
	if got := command(t, "key", "--data", last.dir); got != key {
		t.Error("it has another key")
	}
	if out := command(t, "check", "--data", last.dir, "--bucket", last.bucket); !strings.Contains(out, "sound") {
		t.Error(out)
	}
	alone := filepath.Join(t.TempDir(), "alone")
	command(t, "bucket", "export", "--bucket", last.bucket, alone)
	if here, there := command(t, "export", "--data", last.dir), command(t, "export", "--data", alone); here != there {
		t.Error("an export of the bucket has something else")
	}
	if out := command(t, "check", "--data", alone); !strings.Contains(out, "sound") {
		t.Error(out)
	}
	status := command(t, "bucket", "status", "--bucket", last.bucket)
	t.Logf("%d events heard OK, %d pushes ok, %d kills, %d of them with the disk, %d starts, %d requests\n%s", len(acked), pushes, kills, burnt, m.starts, p.requests.Load(), status)
	if len(acked) < 10 || pushes < 4 || burnt < 2 || !strings.Contains(status, "snapshot: position") || !m.logs.has("the data directory is filled from the bucket") {
		t.Errorf("that proves little\n%s", logs)
	}
}

// command runs graspd to its end.
func command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, out, &errs)
	}
	return string(out)
}

// TestTheBucketIsAway: people hear within some fifteen seconds that nothing is stored, reading goes on, the operator is told, and all is well once
// the bucket is back, without a restart.
func TestTheBucketIsAway(t *testing.T) {
	s := begin(t)
	m := newMachine(t, bucketURL(newPrefix(), s.address), "--git=false")
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	c, err := m.dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	project := testkit.Announcement(testkit.Key(1), time.Now().Unix()-100, "proj", "wss://"+domain)
	if a, heard := publish(ctx, c, project); !heard || !a.OK {
		t.Fatalf("%+v", a)
	}
	issue := testkit.Issue(testkit.Key(2), time.Now().Unix(), testkit.RepositoryAddress(testkit.Key(1), "proj"), "away")
	s.kill()
	begun := time.Now()
	a, heard := publish(ctx, c, issue)
	if took := time.Since(begun); !heard || a.OK || a.Reason != "error: no node takes writes at the moment; try again" || took < 14*time.Second || took > 17*time.Second {
		t.Errorf("after %v: %+v", took, a)
	}
	if lost := missing(t, m, []*nostr.Event{project}); len(lost) > 0 {
		t.Error("what is stored cannot be read")
	}
	told := false
	for range 100 {
		if told = strings.Contains(get(t, m, "/problems.json"), "does not answer since"); told {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !told || !strings.Contains(get(t, m, "/readyz"), "does not answer since") {
		t.Errorf("the operator is not told: %s", get(t, m, "/problems.json"))
	}
	s.start(t)
	stored := false
	for range 60 {
		other := testkit.Issue(testkit.Key(2), time.Now().Unix(), testkit.RepositoryAddress(testkit.Key(1), "proj"), "back")
		if a, heard := publish(ctx, c, other); heard && a.OK {
			stored = true
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !stored || m.starts != 1 {
		t.Errorf("stored %v after %d starts\n%s", stored, m.starts, m.logs.tail())
	}
	if a, heard := publish(ctx, c, issue); !heard || !a.OK && !strings.Contains(a.Reason, "duplicate") {
		t.Errorf("%+v", a)
	}
	for range 100 {
		if told = strings.Contains(get(t, m, "/problems.json"), "does not answer"); !told {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the problem stays")
}

func get(t *testing.T, m *machine, path string) string {
	t.Helper()
	r, err := http.Get("http://" + m.admin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
